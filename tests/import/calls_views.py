"""Memory that a kernel sees in several shapes and types: reshaped and bitcast refs, packed words, an input that is written."""

import jax
import jax.numpy as jnp
from corpus import call, integers, normal
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

ROWS = 8  # of a page


def cache_after(tables, positions, new, cache):
    """What `rows_into_pages` does: JAX 0.10.2 interprets no slices of a size known at run time."""
    flat = cache.reshape(-1, cache.shape[-1])
    for k, (page, (at, count)) in enumerate(zip(tables.tolist(), positions.tolist(), strict=True)):
        start = page * ROWS + at
        flat = flat.at[start : start + count].set(new[k, :count])
    return flat.reshape(cache.shape)


@call("rows_into_pages", reference=cache_after)
def _():
    """Some rows of each block go into a page of a cache, which is written by the name of the input that it takes over."""

    def update_kernel(tables_ref, positions_ref, new_ref, cache_hbm, _, staged, arrived):
        k = pl.program_id(0)
        start, count = tables_ref[k] * ROWS + positions_ref[k, 0], positions_ref[k, 1]
        staged[...] = new_ref[...]
        rows = cache_hbm.reshape(cache_hbm.shape[0] * ROWS, cache_hbm.shape[-1])
        flat = staged.reshape(ROWS, staged.shape[-1])
        copy = pltpu.make_async_copy(flat.at[pl.ds(0, count)], rows.at[pl.ds(start, count)], arrived)
        copy.start()
        copy.wait()

    def f(tables, positions, new, cache):
        hbm = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            update_kernel, out_shape=jax.ShapeDtypeStruct(cache.shape, cache.dtype),
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=2, grid=(3,),
                in_specs=[pl.BlockSpec((1, ROWS, 128), lambda k, *_: (k, 0, 0)), hbm], out_specs=hbm,
                scratch_shapes=[pltpu.VMEM((1, ROWS, 128), cache.dtype), pltpu.SemaphoreType.DMA],
            ),
            input_output_aliases={3: 0},
        )(tables, positions, new, cache)  # fmt: skip

    return f, (
        jnp.array([4, 0, 2]), jnp.array([[1, 5], [0, 8], [6, 2]]), normal(0, (3, ROWS, 128)), normal(1, (6, ROWS, 128)),
    )  # fmt: skip


def stored(x):
    """What `stores_through_views` computes: JAX 0.10.2 interprets no stores to reshaped refs."""
    held = jnp.stack([x, x * 2], axis=1).reshape(16, 128).at[12:16].set(x[0:4] - 1)
    return held + held[3:4]


@call("stores_through_views", reference=stored)
def _():
    """Every second row of a reshaped scratch, some rows of a merged one, and a column of what was split."""

    def views_kernel(x_ref, o_ref, held):
        rows = held.reshape(16, 128)
        rows[pl.ds(0, 8, 2)] = x_ref[...]
        rows[pl.ds(1, 8, 2)] = x_ref[...] * 2.0
        held.reshape(2, 2, 4, 128)[1, 1] = x_ref[0:4] - 1.0
        o_ref[...] = held[...].reshape(16, 128) + held.reshape(16, 128)[pl.ds(3, 1)]

    def f(x):
        return pl.pallas_call(
            views_kernel, out_shape=jax.ShapeDtypeStruct((16, 128), x.dtype),
            scratch_shapes=[pltpu.VMEM((4, 4, 128), x.dtype)],
        )(x)  # fmt: skip

    return f, (normal(0, (8, 128)),)


def halves_swapped(words, x):
    """What `packed_elementwise` computes: JAX 0.10.2 lowers these for TPUs alone."""
    low, high = ((words << shift) >> 16 for shift in (16, 0))
    halves = (x[0:8] * 2).astype(jnp.bfloat16), x[8:16].astype(jnp.bfloat16)
    return high + low, jnp.stack(halves, axis=1).reshape(16, 128), jnp.uint32(low & 0xFFFF) << 16 | jnp.uint32(high & 0xFFFF)


@call("packed_elementwise", reference=halves_swapped, since=((0, 10, 2), "pack_elementwise of integers of either sign"))
def _():
    """Two numbers a word, taken apart and put together; floats go into the words that a bitcast ref has."""

    def halves_kernel(words_ref, x_ref, sum_ref, pairs_ref, swapped_ref):
        halves = [
            pltpu.unpack_elementwise(words_ref[...], index=k, packed_dtype=jnp.int16, unpacked_dtype=jnp.int32)
            for k in (0, 1)
        ]
        sum_ref[...] = halves[0] + halves[1]
        swapped_ref[...] = pltpu.pack_elementwise(halves[::-1], packed_dtype=jnp.int16)
        words = pairs_ref.bitcast(jnp.uint32)
        for k in range(0, 8, 4):
            floats = [x_ref[k : k + 4] * 2, x_ref[8 + k : 12 + k]]
            words[k : k + 4] = pltpu.pack_elementwise(floats, packed_dtype=jnp.bfloat16)

    def f(words, x):
        return pl.pallas_call(
            halves_kernel, out_shape=[
                jax.ShapeDtypeStruct(words.shape, jnp.int32), jax.ShapeDtypeStruct(x.shape, jnp.bfloat16),
                jax.ShapeDtypeStruct(words.shape, jnp.uint32),
            ],
        )(words, x)  # fmt: skip

    return f, (integers(0, -(2**31), 2**31 - 1, (8, 128)), normal(1, (16, 128)))
