"""What pytest loads beside JAX's tests: Pallas is native, and each test writes a line of JSON to `KILN_OUTCOMES`."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

_OUTCOMES = Path(os.environ["KILN_OUTCOMES"])
_CHECKOUT = Path(os.environ["KILN_JAX_CHECKOUT"])
_native_calls = 0


def pytest_configure(config):
    _load_helpers()
    import kiln.jax
    from kiln.jax import _native

    def counted(*arguments, **named):
        global _native_calls
        _native_calls += 1
        return run(*arguments, **named)

    run, _native._run = _native._run, counted
    kiln.jax.install(strict=True, cores=1, mode=os.environ["KILN_JAX_MODE"])


def _load_helpers():
    """Two modules that tests import and that JAX's packages come without."""
    for name in ("jax._src.hypothesis_test_util", "jax._src.pallas.pallas_test_util"):
        if importlib.util.find_spec(name) is None:
            spec = importlib.util.spec_from_file_location(name, _CHECKOUT / (name.replace(".", "/") + ".py"))
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            spec.loader.exec_module(module)
            parent, _, child = name.rpartition(".")
            setattr(sys.modules[parent], child, module)


def _report(**what):
    with _OUTCOMES.open("a") as file:
        print(json.dumps(what), file=file)


def _name(item):
    return "::".join([Path(item.fspath).stem, *item.nodeid.split("::")[1:]])


def pytest_collection_modifyitems(config, items):
    """Those of the interpreter, and not again what has an outcome."""
    done = {json.loads(line)["test"] for line in _OUTCOMES.read_text().splitlines()} if _OUTCOMES.exists() else set()
    items[:] = [i for i in items if i.cls is not None and "Interpret" in i.cls.__name__ and _name(i) not in done]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    global _native_calls
    _native_calls = 0
    _report(test=_name(item), outcome="started")
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if call.excinfo is not None or report.when == "call":
        outcome, reason = _outcome(report, call)
        _report(test=_name(item), outcome=outcome, reason=reason, native=_native_calls)
    return report


def _outcome(report, call):
    if report.skipped:
        return "skipped", str(call.excinfo.value)
    return _reason(call.excinfo.value) if report.failed else ("passed", "")


def _reason(error):
    """Of a failure: what Kiln says, or what the test's own assertion does."""
    from kiln import errors
    from kiln.pallas import CannotSay

    chain = [error]
    while (inner := chain[-1].__cause__ or chain[-1].__context__) is not None and inner not in chain:
        chain.append(inner)
    for each in chain:
        if isinstance(each, CannotSay):
            return "cannot", each.construct
        if isinstance(each, errors.Error):
            return "refused", f"[{each.rule}] {each.message}" if each.rule else each.message
    return "failed", f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
