"""Tests of your own specs with pytest:

    pytest_plugins = ["kiln.testing"]  # in conftest.py

    def test_dense(kiln_engines):
        y = kiln_engines("dense.yaml", x, w, bias, params={"bm": 32})
        assert np.allclose(y, x @ w + bias)

    def test_sizes(kiln_engines):
        for rows in (1, 63, 64, 65):
            kiln_engines("dense.yaml", rows=rows, ins=100, outs=70)  # of random arrays

    def test_golden(kiln_golden):
        kiln_golden("dense.yaml")
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from . import _tool, errors
from ._tensors import as_numpy, bits_of, numpy_dtype
from .kernel import Kernel, load

__all__ = ["engines_agree", "golden", "kiln_engines", "kiln_golden", "random_inputs"]


def engines_agree(
    kernel: Kernel | str | os.PathLike[str],
    *inputs: Any,
    params: dict[str, Any] | None = None,
    machine: str | None = None,
    seed: int = 1,
    **named: Any,
) -> Any:
    """Computes with all three engines, and gives what direct gave. AssertionError unless direct and emulated are
    equal bit by bit, and both as close to the interpreter as the roundings of the body allow (`kiln run --compare`).

    `kernel` is a spec, made with `params`, or a kernel. `named` are inputs by name and dimensions; inputs that are
    not given are random ones of these dimensions, see `random_inputs`."""
    if not isinstance(kernel, Kernel):
        kernel = load(kernel, **(params or {}))
    elif params:
        raise ValueError("params= is for specs: a kernel has its own already")
    names = [a.name for a in kernel.signature.inputs]
    if len(inputs) < len(names):
        named = random_inputs(kernel, seed=seed, **dict(zip(names, inputs, strict=False)), **named)
        inputs = ()
    placed, dims = kernel.arrange(inputs, named)
    more: dict[str, Any] = {**dims}
    direct = kernel(*placed, **more)
    try:
        emulated = kernel._run(placed, None, dims, "emulate", None, machine, "--compare")
    except errors.Error as error:
        if error.diagnostics and error.diagnostics[0].rule == "compare":
            raise AssertionError(f"{kernel.__name__}, emulated and interpreted: {error}") from None
        raise
    for output, one, other in zip(kernel.signature.outputs, _tuple(direct), _tuple(emulated), strict=True):
        _assert_same_bits(f"{kernel.__name__}: {output.name}", as_numpy(one), as_numpy(other))
    return direct


def _tuple(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


def _assert_same_bits(name: str, direct: np.ndarray[Any, Any], emulated: np.ndarray[Any, Any]) -> None:
    """A NaN is any NaN."""
    differ = bits_of(direct) != bits_of(emulated)
    if direct.dtype.kind not in "iub":
        one, other = direct.astype(np.float64), emulated.astype(np.float64)
        differ = (one != other) | (np.signbit(one) != np.signbit(other))
        differ &= ~(np.isnan(one) & np.isnan(other))
    if differ.any():
        place = tuple(int(i) for i in np.argwhere(differ)[0])
        raise AssertionError(
            f"{name}{list(place)} is {direct[place]} direct and {emulated[place]} emulated, "
            f"the first of {int(differ.sum())} elements that differ"
        )


def random_inputs(kernel: Kernel, *, seed: int = 1, **named: Any) -> dict[str, Any]:
    """The inputs of a call by name, with random arrays of numpy for those that are not `named`, and the dimensions.

    Floats are of a normal distribution, integers from -8 to 7 or from 0 to 15. Scalars and prefetch arrays, on which
    indices depend, have to be named."""
    sizes = {name: int(value) for name, value in named.items() if isinstance(value, (int, np.integer))}
    random = np.random.default_rng(seed)
    for a in kernel.signature.inputs:
        for size, extent in zip(a.shape, getattr(named.get(a.name), "shape", ()), strict=False):
            if size.dim:
                sizes.setdefault(size.dim, int(extent))
    made: dict[str, Any] = {}
    for a in kernel.signature.inputs:
        if a.name in named:
            made[a.name] = named[a.name]
            continue
        if a.role != "input":
            raise errors.from_call("call", f"{kernel.__name__}: {a.name} is a {a.role}, of which no random one is made")
        try:
            shape = tuple(size.value(sizes) for size in a.shape)
        except KeyError as error:
            raise errors.from_call(
                "call", f"{kernel.__name__}: {a.name} is {a}, and {error.args[0]} is not given"
            ) from None
        dtype = numpy_dtype(a.dtype)
        if dtype.kind in "iu" or dtype.name in ("int4", "uint4"):
            low = 0 if dtype.name.startswith("u") else -8
            whole = {"int4": np.int8, "uint4": np.uint8}.get(dtype.name, dtype)
            made[a.name] = random.integers(low, low + 16, shape, whole).astype(dtype)
        elif dtype.kind == "b":
            made[a.name] = random.integers(0, 2, shape).astype(bool)
        elif dtype.name == "float8_e8m0fnu":
            made[a.name] = np.exp2(random.integers(-8, 9, shape)).astype(dtype)
        else:
            made[a.name] = random.standard_normal(shape).astype(dtype)
    told = {size.dim for a in kernel.signature.inputs for size in a.shape}
    return made | {name: size for name, size in sizes.items() if name not in made and name not in told}


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
    """`kiln_engines(spec or kernel, *inputs, params={}, **named)`: see `engines_agree`."""
    return engines_agree


@pytest.fixture
def kiln_golden(request: pytest.FixtureRequest) -> Callable[[str | os.PathLike[str]], None]:
    """`kiln_golden(spec)`: checks its golden files, or writes them with `pytest --kiln-record`."""
    record = request.config.getoption("--kiln-record")
    return lambda spec: golden(spec, record=record)
