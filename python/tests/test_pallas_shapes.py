"""What imported kernels keep in more places than they need: dimensions of 1, and rows of lanes that hold one value."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from pallas_calls import X, of  # noqa: E402

import kiln  # noqa: E402
import kiln.pallas  # noqa: E402


def read(kernel, scratch, out=(8, 16), block=None, array=X):
    """The spec of a kernel of one input with scratch, and what it gives in the interpreter."""
    specs = {} if block is None else {"in_specs": [block], "out_specs": block}

    def f(x):
        return pl.pallas_call(kernel, out_shape=of(*out), scratch_shapes=[pltpu.VMEM(scratch, jnp.float32)], **specs)(x)

    (spec,) = kiln.pallas.to_specs(f, array)
    return kiln.compile(spec.text)(array, mode="interpret"), spec.text


def test_scratch_with_one_value_a_row_has_one_column():
    def norm_kernel(x_ref, o_ref, largest):
        largest[...] = jnp.zeros_like(largest)
        top = jnp.max(jnp.abs(x_ref[...]), axis=1, keepdims=True)
        largest[...] = jnp.maximum(largest[...], jnp.broadcast_to(top, largest.shape))
        o_ref[...] = x_ref[...] / jnp.tile(largest[...], (1, 2)) + largest[:, 0:1]

    o, text = read(norm_kernel, (8, 8))
    top = np.abs(X).max(axis=1, keepdims=True)
    assert "largest: f32[8, 1]" in text and np.array_equal(o, X / top + top)


def test_values_of_loops_and_branches_are_followed():
    def sums_kernel(x_ref, o_ref, total):
        total[...] = jnp.zeros_like(total)

        def column(k, sums):
            here = jnp.broadcast_to(x_ref[:, pl.ds(k, 1)], (8, 16))
            total[...] += jax.lax.cond(k % 2 == 0, lambda: here, lambda: sums)
            return sums + here

        sums = jax.lax.fori_loop(0, 16, column, jnp.zeros((8, 16)))
        o_ref[...] = total[...] * x_ref[...] + sums

    o, text = read(sums_kernel, (8, 16))
    total, sums = np.zeros((8, 1)), np.zeros((8, 1))
    for k in range(16):
        total += sums if k % 2 else X[:, k : k + 1]
        sums += X[:, k : k + 1]
    assert "total: f32[8, 1]" in text and np.array_equal(o, total * X + sums)


@pytest.mark.parametrize(
    "store",
    [
        lambda x, held: held.__setitem__(..., x[...]),
        lambda x, held: held.__setitem__((slice(None), 3), jnp.zeros((8,))),
        lambda x, held: held.__setitem__((slice(None), pl.ds(0, 8)), jnp.zeros((8, 8))),
        lambda x, held: held.__setitem__(..., jnp.broadcast_to(x[0:1, :], held.shape)),
        lambda x, held: held.__setitem__(..., jnp.cumsum(jnp.ones((8, 16)), axis=1)),
    ],
)
def test_scratch_with_other_rows_keeps_its_columns(store):
    def held_kernel(x_ref, o_ref, held):
        held[...] = jnp.ones_like(held)
        store(x_ref, held)
        o_ref[...] = held[...]

    _, text = read(held_kernel, (8, 16))
    assert "held: f32[8, 16]" in text


def test_a_sum_of_lanes_counts_each_of_them():
    def count_kernel(x_ref, o_ref, held):
        held[...] = jnp.broadcast_to(x_ref[:, 0:1], held.shape)
        o_ref[...] = x_ref[...] + jnp.sum(held[...], axis=1, keepdims=True)

    o, _ = read(count_kernel, (8, 16))
    assert np.array_equal(o, X + 16 * X[:, 0:1])


def test_dimensions_of_one_that_are_subscripted_with_0_are_squeezed():
    def double_kernel(x_ref, o_ref, held):
        held[0] = x_ref[0, 0] * 2
        o_ref[0, 0] = held[0]

    block = pl.BlockSpec((1, 1, 8, 16), lambda *_: (0, 0, 0, 0))
    array = X[None, None]
    o, text = read(double_kernel, (1, 8, 16), (1, 1, 8, 16), block, array)
    assert np.array_equal(o, array * 2) and "held: f32[8, 16]" in text and "block: null, null, all, all" in text
    assert "held = x * 2.0" in text and "o = held" in text


def test_dimensions_of_one_that_are_taken_otherwise_stay():
    def double_kernel(x_ref, o_ref, held):
        held[0] = x_ref[0] * 2
        o_ref[...] = held[...]

    block = pl.BlockSpec((1, 8, 16), lambda *_: (0, 0, 0))
    o, text = read(double_kernel, (1, 8, 16), (1, 8, 16), block, X[None])
    assert np.array_equal(o, X[None] * 2) and "held: f32[1, 8, 16]" in text
