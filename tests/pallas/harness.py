"""What a file of cases needs: `@case(...)` registers one run of a real Pallas kernel, and `record`
writes its arguments and its results where the C++ tests find them.

    @case("softmax_online", spec="tests/pallas/specs/softmax_online.yaml", set={"bn": 8}, depth=40)
    def _():
        x = normal(1, (13, 21))
        o = pl.pallas_call(..., interpret=True)(x)
        close(o, jax.nn.softmax(x, axis=1), depth=40)
        return dict(x=x), dict(o=o)

The function returns two mappings, by the names that the spec uses: the arguments (arrays; Python numbers
for scalars and dimensions) and the outputs. See README.md for the files.
"""
import json
import os
import pathlib
import sys
from dataclasses import dataclass, field
from typing import Callable

# One thread and one instruction set for XLA, so that a record does not depend on the machine it was made on.
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np

SPECS = "tests/pallas/specs/"  # of the specs that do not ship
RECORDS = pathlib.Path(__file__).parent / "records"
LIMIT = 30_000  # bytes a record; all of them are committed


@dataclass
class Case:
    name: str
    spec: str
    run: Callable
    instance: str = ""
    set: dict = field(default_factory=dict)
    depth: int = 0
    x64: bool = False


cases: dict[str, Case] = {}


def case(name, spec, instance="", set={}, depth=0, x64=False):
    """Registers the decorated function as the case `name`.

    depth: how many roundings an element of a floating output went through, counted generously: the tests
    allow 4 * eps * depth * magnitude. 0 means exact: values are moved, compared, cast, or rounded once.
    x64: run it with JAX's 64-bit types switched on.
    """

    def register(run):
        if name in cases:
            raise ValueError(f"two cases are called {name}")
        cases[name] = Case(name, spec, run, instance, {k: text(v) for k, v in set.items()}, depth, x64)
        return run

    return register


def rng(seed):
    return np.random.default_rng(seed)


def normal(seed, shape, dtype=jnp.float32, scale=1.0):
    """Normal values on a grid of 1/64, so that short sums of them round the same in any order."""
    x = np.round(rng(seed).standard_normal(shape) * scale * 64) / 64
    return jnp.asarray(x).astype(dtype)


def cdiv(a, b):
    return -(-a // b)


def iota(shape, axis):
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


def integers(seed, low, high, shape, dtype=jnp.int32):
    return jnp.asarray(rng(seed).integers(low, high, shape), dtype=dtype)


def text(value):
    """A parameter as it would follow `--set name=`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def eps(dtype):
    return float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.floating) else 0.0


def close(got, want, depth=0):
    """Asserts the tolerance that the tests will use, or equality for everything that is not floating."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, (got.shape, want.shape)
    if not jnp.issubdtype(got.dtype, jnp.floating):
        np.testing.assert_array_equal(got, want)
        return
    unit = eps(got.dtype)
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    magnitude = finite.max() if finite.size else 1.0
    np.testing.assert_allclose(got, want, rtol=0, atol=4 * unit * depth * magnitude)


def record(c: Case):
    """Runs a case and writes its record. Returns the size of the record in bytes."""
    with jax.enable_x64(c.x64):
        arguments, outputs = c.run()
        arguments = {name: plain(value) for name, value in arguments.items()}
        outputs = {name: plain(value) for name, value in outputs.items()}
    folder = RECORDS / c.name
    folder.mkdir(parents=True, exist_ok=True)
    files = {"case.json": None}
    meta = {
        "spec": c.spec,
        "instance": c.instance,
        "set": c.set,
        "arguments": {name: entry(name, value, files) for name, value in arguments.items()},
        "outputs": {name: entry(name, value, files) for name, value in outputs.items()},
        "depth": c.depth,
    }
    for old in folder.iterdir():
        if old.name not in files:
            old.unlink()
    for name, array in files.items():
        if array is not None:
            np.save(folder / name, array)
    (folder / "case.json").write_text(json.dumps(meta, indent=1, allow_nan=False) + "\n")
    size = sum(f.stat().st_size for f in folder.iterdir())
    if size > LIMIT:
        raise ValueError(f"{c.name}: the record is {size} bytes, more than {LIMIT}")
    return size


def plain(value):
    """A Python number, or a C-ordered numpy array whose 16-bit floats are bit patterns."""
    if isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    array = np.array(value, order="C")
    if array.dtype in (jnp.bfloat16, np.float16):
        array = array.view(np.uint16)
    return array


def entry(name, value, files):
    """What case.json says of one value. Notes the array that goes to a file of its own."""
    if not isinstance(value, np.ndarray):
        return value
    file = f"{name}.npy"
    # Arguments and outputs share the folder. An output called like an argument (an in-place kernel whose
    # spec uses one name) must not overwrite it.
    while file in files:
        file = "out_" + file
    files[file] = value
    return file


if __name__ == "__main__":
    sys.exit("harness.py is a library; run record.py")
