"""How JAX is made to trace a function for us, and to compute what it gives its `pallas_call`s."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax._src import config as _config
from jax._src import core as _core
from jax._src import source_info_util as _source_info
from jax._src.interpreters import partial_eval as _partial_eval

from ._jax_internals import ClosedJaxpr, DropVar, Jaxpr, Literal, is_source, jaxprs_of, place_of
from .cannot import Place

#: Primitives that call a jaxpr once, and the name of the param that holds it.
CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr", "remat": "jaxpr",
         "checkpoint": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr",
         "custom_vjp_call_jaxpr": "fun_jaxpr", "custom_lin": "jaxpr"}  # fmt: skip

@dataclass(frozen=True)
class Call:
    """A `pallas_call` equation: its params, whether each result is wanted, and where it is called."""

    params: dict[str, Any]
    live: tuple[bool, ...]
    place: Place | None


def calls(f: Callable[..., Any], args: tuple[Any, ...], pipelines: bool = True) -> list[Call]:
    """The `pallas_call`s that f makes on args (arrays, or whatever has a shape and a dtype), in their order."""
    jaxpr, _ = traced(f, args, pipelines)
    return list(_calls_in(jaxpr))


def traced(f: Callable[..., Any], args: tuple[Any, ...], pipelines: bool = False) -> tuple[Jaxpr, list[Any]]:
    """What f does to args, without what nobody reads, and its constants. With `pipelines`, an `emit_pipeline` is one
    equation and not what it expands to."""
    with pipelines_kept() if pipelines else contextlib.nullcontext(), _own_places(), _some_tpu():
        closed = jax.make_jaxpr(f)(*args)
    wanted = [True] * len(closed.jaxpr.outvars)
    jaxpr, _ = _partial_eval.dce_jaxpr(closed.jaxpr, wanted, instantiate=True)
    return jaxpr, closed.consts


@contextlib.contextmanager
def pipelines_kept() -> Iterator[None]:
    """Inside, `emit_pipeline` stays one equation, where JAX can keep it (0.10 and later)."""
    kept = getattr(_config, "use_emit_pipeline_primitive", None)
    with kept(True) if kept is not None else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def _some_tpu() -> Iterator[None]:
    """Inside, kernels that ask for the TPU learn of a v5e where there is none."""
    try:
        from jax._src.pallas.mosaic import tpu_info

        kind = tpu_info.get_device_kind()
        known, version = tpu_info.registry, tpu_info.ChipVersion.TPU_V5E
        info = tpu_info.get_tpu_info_for_chip(version, 1)
    except (ImportError, AttributeError, TypeError):
        yield
        return
    if kind in known or tpu_info.chip_version_from_device_kind(kind) is not None:
        yield
        return
    known[kind] = lambda: info
    try:
        yield
    finally:
        del known[kind]
        tpu_info.get_tpu_info.cache_clear()


def _calls_in(jaxpr: Jaxpr) -> Iterator[Call]:
    used = {v for e in jaxpr.eqns for v in e.invars if not isinstance(v, Literal)}
    used.update(v for v in jaxpr.outvars if not isinstance(v, Literal))
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "pallas_call":
            live = tuple(not isinstance(v, DropVar) and v in used for v in eqn.outvars)
            yield Call(eqn.params, live, place_of(eqn))
            continue
        for inner in jaxprs_of(eqn.params.values()):
            yield from _calls_in(inner)


# ---- source places


def _is_written(traceback: Any) -> bool:
    """Whether the innermost thing that runs is somebody's source, and not a jaxpr that is evaluated again."""
    for frame in traceback.frames:
        if is_source(frame.file_name):
            return True
        if re.search("eval_jaxpr|backward_pass|linearize_jaxpr", frame.function_name):
            return False
    return False


@contextlib.contextmanager
def _own_places() -> Iterator[None]:
    """Inside, what a function with derivatives of its own does keeps its lines: JAX gives it that of its call."""
    original = getattr(_source_info, "current", None)
    try:
        now = _source_info.xla_client.Traceback.get_traceback
    except AttributeError:
        original = None
    if original is None:
        yield
        return

    def current() -> Any:
        told, fresh = original(), now()
        return told.replace(traceback=fresh) if told.traceback is None or _is_written(fresh) else told

    _source_info.current = current
    try:
        yield
    finally:
        _source_info.current = original


# ---- evaluating


def leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree)


AtCall = Callable[[int, dict[str, Any], list[Any]], list[Any]]


def evaluate(f: Callable[..., Any], args: tuple[Any, ...], at_call: AtCall) -> list[Any]:
    """What f gives for args, where `at_call` gives the results of each `pallas_call`: it is given which of `calls` it
    is, its params and its operands."""
    jaxpr, consts = traced(f, args)
    count = iter(range(1_000_000))
    return _evaluate(jaxpr, consts, jax.tree.leaves(args), lambda eqn, given: at_call(next(count), eqn.params, given))


def _evaluate(jaxpr: Jaxpr, consts: list[Any], values: list[Any], at_call: Callable[..., Any]) -> list[Any]:
    environment = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values], strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else environment[atom]

    for eqn in jaxpr.eqns:
        inner = eqn.params.get(CALLS.get(eqn.primitive.name, ""))
        if eqn.primitive.name == "pallas_call":
            results = at_call(eqn, [value(atom) for atom in eqn.invars])
        elif isinstance(inner, ClosedJaxpr):
            results = _evaluate(inner.jaxpr, inner.consts, [value(atom) for atom in eqn.invars], at_call)
        else:
            results = _evaluate_one(jaxpr, eqn, value)
        environment.update(zip(eqn.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]


def _evaluate_one(jaxpr: Jaxpr, eqn: Any, value: Callable[[Any], Any]) -> list[Any]:
    variables = list(dict.fromkeys(atom for atom in eqn.invars if not isinstance(atom, Literal)))
    kept = [v for v in eqn.outvars if not isinstance(v, DropVar)]
    names = jaxpr.debug_info._replace(arg_names=None, result_paths=None)
    one = jaxpr.replace(constvars=[], invars=variables, outvars=kept, eqns=[eqn], debug_info=names, effects=eqn.effects)
    results = dict(zip(kept, _core.eval_jaxpr(one, [], *map(value, variables)), strict=True))
    return [results.get(v) for v in eqn.outvars]
