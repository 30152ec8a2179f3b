"""Tests of your own specs with pytest:

    pytest_plugins = ["kiln.testing"]

    def test_dense(kiln_engines):
        kiln_engines("dense.yaml", x, w, bias, bm=32)
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import _tool, errors
from ._tensors import as_numpy
from .kernel import Kernel, load

#: How far the oracle and a compiled kernel may be apart, relative to the largest element, by type of the output.
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}


def engines_agree(kernel: Kernel | str | os.PathLike[str], *inputs: Any, params: dict[str, Any] | None = None) -> Any:
    """Calls all three engines. AssertionError unless direct and emulated are equal bit by bit, and both are
    close to the interpreter. Gives what direct gave."""
    if not isinstance(kernel, Kernel):
        kernel = load(kernel, **(params or {}))
    results = {mode: kernel(*inputs, mode=mode) for mode in ("direct", "emulate", "interpret")}
    arrays = {mode: result if isinstance(result, tuple) else (result,) for mode, result in results.items()}
    for i, output in enumerate(kernel.signature.outputs):
        direct, emulated, oracle = (as_numpy(arrays[mode][i]) for mode in ("direct", "emulate", "interpret"))
        assert _bits(direct) == _bits(emulated), f"{output.name}: direct and emulated differ in their bits"
        _assert_close(output.name, direct, oracle)
    return results["direct"]


def _bits(array: np.ndarray[Any, Any]) -> tuple[Any, ...]:
    """A NaN is any NaN."""
    raw = np.ascontiguousarray(array)
    if raw.dtype.kind in "fV" or raw.dtype.name == "bfloat16":
        wide = raw.astype(np.float64)
        nan = np.isnan(wide)
        return (raw.shape, nan.tobytes(), np.where(nan, 0, wide).tobytes())
    return (raw.shape, raw.tobytes())


def _assert_close(name: str, got: np.ndarray[Any, Any], want: np.ndarray[Any, Any]) -> None:
    tolerance = TOLERANCE.get(got.dtype.name)
    if tolerance is None or got.size == 0:
        assert np.array_equal(got, want), f"{name}: not what the interpreter computes"
        return
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(b)
    assert np.array_equal(a[~finite], b[~finite], equal_nan=True), f"{name}: other infinities or NaN"
    scale = float(np.max(np.abs(b[finite]), initial=0.0))
    worst = float(np.max(np.abs(a[finite] - b[finite]), initial=0.0))
    assert math.isfinite(worst) and worst <= tolerance * scale, (
        f"{name}: {worst:.3g} from the interpreter, where {tolerance * scale:.3g} is allowed"
    )


def golden(spec: str | os.PathLike[str], *, record: bool = False) -> None:
    """`kiln golden check` of a spec's `golden:` sizes on every engine; with `record`, writes them anew."""
    path = os.fspath(spec)
    if record:
        _tool.run("golden", "record", path)
        return
    try:
        _tool.run("golden", "check", path)
    except errors.Error as error:
        raise AssertionError(f"{Path(path).name}: {error}") from error


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kiln-record", action="store_true", help="write the golden files of specs anew")


@pytest.fixture
def kiln_engines() -> Callable[..., Any]:
    """`kiln_engines(spec or kernel, *inputs, params={})`: see engines_agree."""
    return engines_agree


@pytest.fixture
def kiln_golden(request: pytest.FixtureRequest) -> Callable[[str | os.PathLike[str]], None]:
    """`kiln_golden(spec)`: checks its golden files, or writes them with `pytest --kiln-record`."""
    record = request.config.getoption("--kiln-record")
    return lambda spec: golden(spec, record=record)
