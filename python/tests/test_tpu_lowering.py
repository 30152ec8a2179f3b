"""What `kiln check --tpu` refuses is what JAX's lowering for TPUs refuses, which runs without one."""

import json
import os
import subprocess

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax_names import RELEASE  # noqa: E402

# Other releases lower more, or less: the rules are those of the one that this is tested with.
pytestmark = pytest.mark.skipif(RELEASE != (0, 10, 2), reason="the rules are of JAX 0.10.2")

FLOATS = {
    "floor": jnp.floor, "ceil": jnp.ceil, "round": jnp.round, "exp": jnp.exp, "exp2": jnp.exp2, "expm1": jnp.expm1,
    "log": jnp.log, "log2": jnp.log2, "log1p": jnp.log1p, "sinh": jnp.sinh, "cosh": jnp.cosh, "tanh": jnp.tanh,
    "asinh": jnp.arcsinh, "acosh": jnp.arccosh, "atanh": jnp.arctanh, "erf": jax.lax.erf, "erfc": jax.lax.erfc,
    "sigmoid": jax.nn.sigmoid, "sqrt": jnp.sqrt, "rsqrt": jax.lax.rsqrt, "cbrt": jnp.cbrt, "sin": jnp.sin,
    "cos": jnp.cos, "tan": jnp.tan, "asin": jnp.arcsin, "acos": jnp.arccos, "atan": jnp.arctan, "silu": jax.nn.silu,
    "gelu_tanh": jax.nn.gelu, "softplus": jax.nn.softplus,
}  # fmt: skip

NUMBERS = {
    "abs(x)": jnp.abs,
    "sign(x)": jnp.sign,
    "x // x": lambda x: x // x,
    "x % x": lambda x: x % x,
    "max(x, axis=1)": lambda x: jnp.max(x, axis=1, keepdims=True),
    "min(x, axis=0)": lambda x: jnp.min(x, axis=0, keepdims=True),
    "max(x)": jnp.max,
    "prod(x, axis=1)": lambda x: jnp.prod(x, axis=1, keepdims=True, dtype=x.dtype),
    "any(x > 0)": lambda x: jnp.any(x > 0),
    "argmax(x, axis=1)": lambda x: jnp.argmax(x, axis=1, keepdims=True),
    "cumsum(x, axis=1)": lambda x: jnp.cumsum(x, axis=1, dtype=x.dtype),
    "cumprod(x, axis=1)": lambda x: jnp.cumprod(x, axis=1, dtype=x.dtype),
    "cummax(x, axis=1)": lambda x: jax.lax.cummax(x, 1),
    "sort(x, axis=1)": lambda x: jnp.sort(x, axis=1),
    "argsort(x, axis=1)": lambda x: jnp.argsort(x, axis=1),
    "flip(x, 1)": lambda x: jnp.flip(x, 1),
    "take(x, i32(x)[0], axis=0)": lambda x: jnp.take(x, x.astype(jnp.int32)[0], axis=0)[:8],
}

TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16, "i32": jnp.int32, "i8": jnp.int8, "u32": jnp.uint32}


@pytest.fixture(autouse=True)
def a_tpu(monkeypatch):
    """What the lowering asks of the device."""
    monkeypatch.setattr("jax._src.pallas.mosaic.tpu_info.get_device_kind", lambda: "TPU v5 lite")
    monkeypatch.setattr("jax._src.pallas.mosaic.tpu_info.get_num_device_cores", lambda: 1)


def refused_lines(path, text):
    """The lines of a spec that the tool refuses for a TPU."""
    path.write_text(text)
    command = [os.environ["KILN_TOOL"], "check", str(path), "--tpu", "--format=json"]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    errors = [d for d in found if d["severity"] == "error"]
    assert all(d["rule"] == "tpu" for d in errors), [d["message"] for d in errors]
    return {d["line"] for d in errors}


def lowers(kernel, *arguments, out=jnp.float32, **spaces):
    call = pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct((8, 128), out), **spaces)
    try:
        jax.export.export(jax.jit(call), platforms=["tpu"])(*arguments)
    except (NotImplementedError, ValueError):
        return False
    return True


def lowers_function(function, dtype):
    def kernel(x_ref, o_ref):
        value = function(x_ref[...])
        value = jnp.where(value, 1.0, 0.0) if value.dtype == jnp.bool_ else value.astype(jnp.float32)
        o_ref[...] = jnp.broadcast_to(value, (8, 128))

    return lowers(kernel, jnp.zeros((8, 128), dtype))


@pytest.mark.parametrize("dtype", TYPES)
def test_functions(dtype, tmp_path):
    calls = {f"{name}(x)": f for name, f in FLOATS.items()} if dtype in ("f32", "bf16") else {}
    calls |= NUMBERS
    head = f'kernel: t\ninputs:\n  x: "{dtype}[8, 128]"\noutputs:\n  o: f32[8, 128]\nbody: |\n  o = 0\n'
    text = head + "".join(f"  let v{n} = {call}\n" for n, call in enumerate(calls))
    lines = refused_lines(tmp_path / "t.yaml", text)
    first = head.count("\n") + 1
    refused = {call for n, call in enumerate(calls) if first + n in lines}
    assert refused == {call for call, f in calls.items() if not lowers_function(f, TYPES[dtype])}


SMEM = {"in_specs": [pl.BlockSpec(memory_space=pltpu.SMEM)], "out_specs": pl.BlockSpec(memory_space=pltpu.VMEM)}
INTO_SMEM = {"in_specs": [pl.BlockSpec(memory_space=pltpu.VMEM)], "out_specs": pl.BlockSpec(memory_space=pltpu.SMEM)}


@pytest.mark.parametrize(
    "of_x, of_o, statement, kernel, spaces",
    [
        ("smem", "vmem", "o = x", lambda x, o: o.__setitem__(..., x[...]), SMEM),
        ("smem", "vmem", "o = x[3, 5]", lambda x, o: o.__setitem__(..., jnp.full((8, 128), x[3, 5])), SMEM),
        ("vmem", "smem", "o = 0", lambda x, o: o.__setitem__(..., jnp.zeros((8, 128))), INTO_SMEM),
        ("vmem", "smem", "o[3, 5] = x[1, 2]", lambda x, o: o.__setitem__((3, 5), x[1, 2]), INTO_SMEM),
        ("vmem", "vmem", "o[3, 5] = x[1, 2]", lambda x, o: o.__setitem__((3, 5), x[1, 2]), {}),
        ("vmem", "vmem", "o[3] = x[1]", lambda x, o: o.__setitem__(3, x[1]), {}),
        ("vmem", "vmem", "o[x > 0] = x", lambda x, o: pltpu.store(o.at[...], x[...], mask=x[...] > 0), {}),
    ],
)
def test_memory(of_x, of_o, statement, kernel, spaces, tmp_path):
    text = (
        f'kernel: t\ninputs:\n  x: {{array: "f32[8, 128]", memory: {of_x}}}\n'
        f'outputs:\n  o: {{array: "f32[8, 128]", memory: {of_o}, init: 0}}\nbody: |\n  {statement}\n'
    )
    refused = bool(refused_lines(tmp_path / "t.yaml", text))
    assert refused != lowers(kernel, np.zeros((8, 128), np.float32), **spaces)
