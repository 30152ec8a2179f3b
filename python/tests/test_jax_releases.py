"""Releases of JAX that Kiln does not know: one message, and which ones it does."""

import json
import os
import re
import subprocess
import sys
import types

import numpy as np
import pytest
from conftest import ROOT

jax = pytest.importorskip("jax")
pl = pytest.importorskip("jax.experimental.pallas")

import kiln.pallas  # noqa: E402
from kiln import _jax_releases  # noqa: E402

X = np.ones((8, 128), np.float32)
MOVED = (
    r"JAX 99\.1\.0 is newer than those Kiln is tested with \([\d.]+ to [\d.]+\), and has moved what Kiln reads "
    r"\({what}\): pip install jax==[\d.]+, or a newer Kiln"
)


def double(x):
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)


def error_of(program):
    """The last line that a program says, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1].removeprefix("kiln._jax_releases.")


@pytest.mark.parametrize("module", ["kiln.jax", "kiln.pallas"])
def test_a_release_that_is_too_old_is_refused_by_name(module):
    program = f"import jax; jax.__version__ = '0.5.3'; import {module}"
    needed = f"Kiln needs JAX {_jax_releases.OLDEST} or later, and this is JAX 0.5.3"
    assert error_of(program) == f"UnknownJax: {needed}: pip install --upgrade jax"


def test_a_newer_release_that_keeps_things_elsewhere_is_named():
    program = """
import sys, jax, jax.experimental.pallas
jax.__version__ = "99.1.0"
del jax._src.core.DropVar
import kiln.pallas
"""
    what = "AttributeError: module 'jax._src.core' has no attribute 'DropVar'"
    assert re.fullmatch(f"UnknownJax: {MOVED.format(what=what)}", error_of(program))


def test_what_a_newer_release_says_otherwise_is_named_when_it_is_read(monkeypatch):
    def grid_of(params):
        return {}["grid_mapping"]

    monkeypatch.setattr(kiln.pallas._jax_internals, "grid_of", grid_of)
    with pytest.raises(KeyError):  # of a release that is known it is a mistake of Kiln's
        kiln.pallas.to_specs(double, X)
    monkeypatch.setattr(_jax_releases, "jax", types.SimpleNamespace(__version__="99.1.0"))
    message = MOVED.format(what="KeyError: 'grid_mapping'")
    with pytest.raises(_jax_releases.UnknownJax, match=f"^{message}$"):
        kiln.pallas.to_specs(double, X)


def test_a_mistake_of_the_traced_function_stays_its_own(monkeypatch):
    monkeypatch.setattr(_jax_releases, "jax", types.SimpleNamespace(__version__="99.1.0"))
    with pytest.raises(AttributeError, match="has no attribute '?nothing"):
        kiln.pallas.to_specs(lambda x: x.nothing, X)


def test_natively_it_is_one_warning_and_jax_interprets(monkeypatch):
    import kiln.jax

    def grid_of(params):
        raise AttributeError("grid")

    monkeypatch.setattr(kiln.pallas._jax_internals, "grid_of", grid_of)
    monkeypatch.setattr(_jax_releases, "jax", types.SimpleNamespace(__version__="99.1.0"))
    with kiln.jax.native(), pytest.warns(kiln.jax.NotNative) as caught:
        assert np.array_equal(jax.jit(double)(X), X * 2)
    (warning,) = caught
    message = f"this Pallas kernel is interpreted: {MOVED.format(what='AttributeError: grid')}"
    assert re.fullmatch(message, str(warning.message))


def test_nothing_else_imports_what_is_private_in_jax():
    package = ROOT / "python" / "kiln"
    private = re.compile(r"\bjax\._src\b|\bfrom jax import _|\bjax\.(lib|interpreters)\b")
    files = [f for f in package.rglob("*.py") if private.search(f.read_text(encoding="utf-8"))]
    assert files == [package / "pallas" / "_jax_internals.py"]


def test_the_releases_that_are_known_are_those_tested():
    summary = json.loads((ROOT / "tests" / "jax_versions" / "summary.json").read_text(encoding="utf-8"))
    passing = [v for v, result in summary.items() if result.get("passed") and not result["failed"]]
    assert (passing[0], passing[-1]) == (_jax_releases.OLDEST, _jax_releases.NEWEST)
    sys.path.insert(0, str(ROOT / "tests" / "jax_versions"))
    import page

    assert page.PAGE.read_text(encoding="utf-8") == page.text(summary)
