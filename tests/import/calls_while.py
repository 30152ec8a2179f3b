"""Loops that end when the data say so: `lax.while_loop` inside kernels, with all that a condition and a turn may hold.

JAX 0.10.2 interprets a condition with the memory that it reads as it was before the loop, which then may never end: calls
whose turns write what the condition reads have a reference of their own.
"""

import jax
import jax.numpy as jnp
import numpy as np
from corpus import call, integers, normal
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

f32, i32 = jnp.float32, jnp.int32
SMEM = pl.BlockSpec(memory_space=pltpu.SMEM)


def of(*shape, dtype=f32):
    return jax.ShapeDtypeStruct(shape, dtype)


@call("while_early_exit")
def _():
    """Rows are added up until there is enough; how many rows there are, no shape says."""

    def enough_kernel(rows_ref, x_ref, sum_ref, turns_ref):
        i = pl.program_id(0)

        def goes_on(carry):
            row, total = carry
            return (row < rows_ref[i]) & (jnp.sum(total) < 40.0)

        def turn(carry):
            row, total = carry
            return row + 1, total + x_ref[pl.ds(row, 1), :]

        row, total = lax.while_loop(goes_on, turn, (0, jnp.zeros((1, 128), f32)))
        sum_ref[...] = jnp.broadcast_to(total, sum_ref.shape)
        turns_ref[i] = row

    grid = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=(3,), in_specs=[pl.BlockSpec((8, 128), lambda i, rows: (i, 0))],
        out_specs=[pl.BlockSpec((8, 128), lambda i, rows: (i, 0)), SMEM],
    )  # fmt: skip
    x, rows = abs(normal(0, (24, 128), scale=0.2)), jnp.array([8, 2, 0], i32)
    f = pl.pallas_call(enough_kernel, grid_spec=grid, out_shape=[of(24, 128), of(3, dtype=i32)])
    return f, (rows, x)


@call("while_swaps")
def _():
    """Euclid's: what a turn carries depends on all that the turn before did."""

    def gcd_kernel(a_ref, b_ref, o_ref, turns_ref):
        for k in range(4):

            def turn(carry):
                a, b, turns = carry
                return b, lax.rem(a, b), turns + 1

            a, _, turns = lax.while_loop(lambda carry: carry[1] != 0, turn, (a_ref[k], b_ref[k], 0))
            o_ref[k] = a
            turns_ref[k] = turns

    shape = of(4, dtype=i32)
    f = pl.pallas_call(gcd_kernel, in_specs=[SMEM, SMEM], out_specs=[SMEM, SMEM], out_shape=[shape, shape])
    return f, (jnp.array([48, 17, 1071, 0], i32), jnp.array([36, 5, 462, 9], i32))


@call("while_tile")
def _():
    """Newton's square root of a block, until no element moves much; the tile is what is carried."""

    def roots_kernel(x_ref, o_ref, turns_ref):
        x = x_ref[...]

        def moves(carry):
            y, before, turns = carry
            return jnp.any(abs(y - before) > 1e-3 * y) & (turns < 30)

        def turn(carry):
            y, _, turns = carry
            return 0.5 * (y + x / y), y, turns + 1

        y, _, turns = lax.while_loop(moves, turn, (x, jnp.zeros_like(x), 0))
        o_ref[...] = y
        turns_ref[pl.program_id(0)] = turns

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    x = abs(normal(0, (16, 128), scale=4.0)) + 0.25
    shapes = [of(16, 128), of(2, dtype=i32)]
    return pl.pallas_call(roots_kernel, grid=(2,), in_specs=[block], out_specs=[block, SMEM], out_shape=shapes), (x,)


@call("while_nested")
def _():
    """An insertion sort in SMEM: the inner loop ends where a number is in its place."""

    def sort_kernel(x_ref, o_ref):
        for k in range(12):
            o_ref[k] = x_ref[k]

        def insert(i):
            x = o_ref[i]

            def shift(j):
                o_ref[j] = o_ref[j - 1]
                return j - 1

            j = lax.while_loop(lambda j: (j > 0) & (o_ref[jnp.maximum(j - 1, 0)] > x), shift, i)
            o_ref[j] = x
            return i + 1

        lax.while_loop(lambda i: i != 12, insert, 1)

    f = pl.pallas_call(sort_kernel, in_specs=[SMEM], out_specs=SMEM, out_shape=of(12, dtype=i32))
    return f, (integers(0, -50, 50, (12,)),)


def halved(x):
    out = np.array(x)
    for block in (out[8:16], out[24:32]):
        turns = 0
        while abs(block).max() > 1.0:
            block *= np.float32(0.5)
            turns += 1
        block[0] = turns
    return out


@call("while_under_when", reference=halved)
def _():
    """A loop of some steps alone, over scratch that its own turns write and its condition reads."""

    def halve_kernel(x_ref, o_ref, largest):
        i = pl.program_id(0)
        o_ref[...] = x_ref[...]

        @pl.when(i % 2 == 1)
        def _():
            largest[0] = jnp.max(abs(x_ref[...]))

            def turn(turns):
                o_ref[...] = o_ref[...] * 0.5
                largest[0] = largest[0] * 0.5
                return turns + 1

            turns = lax.while_loop(lambda _: largest[0] > 1.0, turn, 0)
            o_ref[0, :] = jnp.full((128,), turns.astype(f32))

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    scratch = [pltpu.SMEM((1,), f32)]
    f = pl.pallas_call(
        halve_kernel, grid=(4,), in_specs=[block], out_specs=block, out_shape=of(32, 128), scratch_shapes=scratch
    )
    return f, (normal(0, (32, 128), scale=3.0),)


def balanced(limits, x):
    out, turns = np.array(x), 0
    while True:
        total = (out * out).sum()
        limit = limits[0] if turns < 4 else limits[turns % 2] * total / (total + 1.0)
        if not (total > limit and total < 1e6 and turns < 50):
            return out
        out, turns = out * np.float32(0.75), turns + 1


@call("while_long_condition", reference=balanced)
def _():
    """A condition that uses a sum twice, and asks a branch: no one expression."""

    def balance_kernel(limits_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...]

        def goes_on(turns):
            total = jnp.sum(o_ref[...] * o_ref[...])
            limit = lax.cond(turns < 4, lambda: limits_ref[0], lambda: limits_ref[turns % 2] * total / (total + 1.0))
            return (total > limit) & (total < 1e6) & (turns < 50)

        def turn(turns):
            o_ref[...] = o_ref[...] * 0.75
            return turns + 1

        lax.while_loop(goes_on, turn, 0)

    whole = pl.BlockSpec((8, 128), lambda: (0, 0))
    f = pl.pallas_call(balance_kernel, in_specs=[SMEM, whole], out_specs=whole, out_shape=of(8, 128))
    return f, (jnp.array([2.0, 0.5], f32), normal(0, (8, 128)))


@call("while_condition_loops")
def _():
    """A condition that holds a loop, and a turn that holds another; what they end by is what the outer one carries."""

    def drift_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * 2.0
        before = o_ref[...]

        def goes_on(carry):
            tile, below, n = carry
            total = lax.fori_loop(0, n, lambda i, s: s + jnp.sum(tile) * 0.001 + i.astype(f32), f32(0))
            return below & (total < 30.0)

        def turn(carry):
            tile, _, n = carry
            root = lax.while_loop(lambda j: j * j < n, lambda j: j + 2, n // 3)
            o_ref[...] = o_ref[...] + root.astype(f32)
            return tile.T + 1.0, n < 20, n + 1

        tile, below, n = lax.while_loop(goes_on, turn, (x_ref[...], True, 0))
        o_ref[...] = o_ref[...] + before + tile + jnp.where(below, 1.0, 0.0) + n.astype(f32)

    return pl.pallas_call(drift_kernel, out_shape=of(8, 8)), (normal(0, (8, 8)),)
