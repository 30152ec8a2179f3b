"""Pallas kernels read into specs. The corpus is in tests/import; this holds the interface."""

import numpy as np
import pytest

import kiln

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

import kiln.pallas  # noqa: E402


def scaled(x, factor=2.0):
    def scale_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * factor

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(scale_kernel, grid=(x.shape[0] // 8,), in_specs=[spec], out_specs=spec, out_shape=shape)(x)


def test_a_call_is_a_spec_with_the_names_of_its_source():
    (spec,) = kiln.pallas.to_specs(scaled, jax.ShapeDtypeStruct((32, 128), jnp.float32))
    head, body = spec.text.split("body: |\n")
    assert head == """\
kernel: scale
doc: Imported from scale_kernel.

grid:
  i: 4

inputs:
  x:
    array: f32[32, 128]
    block: 8, all
    index: i, 0

outputs:
  o:
    array: f32[32, 128]
    block: 8, all
    index: i, 0

"""
    assert body.startswith("  o = x * 2.0  # test_pallas.py:")
    assert (spec.operands, spec.results, spec.scalars, spec.aliases) == ((0,), (0,), (), {})


def test_the_spec_computes_what_the_kernel_does():
    x = np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
    (spec,) = kiln.pallas.to_specs(scaled, x)
    kernel = kiln.compile(spec.text)
    assert np.array_equal(kernel(x, mode="interpret"), 2 * x)


def test_every_line_knows_its_line_of_python():
    (spec,) = kiln.pallas.to_specs(scaled, jax.ShapeDtypeStruct((32, 128), jnp.float32))
    line = spec.text.splitlines().index(next(t for t in spec.text.splitlines() if "o = x" in t)) + 1
    file, number = spec.places[line]
    assert file == __file__
    assert "o_ref[...] = " in open(file).read().splitlines()[number - 1]


def test_what_the_language_lacks_is_named_with_its_line():
    def f(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = jnp.cbrt(x_ref[...])

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(kiln.pallas.CannotSay) as error:
        kiln.pallas.to_specs(f, jax.ShapeDtypeStruct((8, 128), jnp.float32))
    assert error.value.construct == "cbrt"
    assert str(error.value) == f"test_pallas.py:{error.value.place[1]}: Kiln's language cannot say cbrt"
    assert "jnp.cbrt" in open(__file__).read().splitlines()[error.value.place[1] - 1]
