"""Copies by hand whose sizes only a call knows, and semaphores of several dimensions."""

import jax
import jax.numpy as jnp
from corpus import call, normal
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def sums_of_products(starts, lengths, keys, values):
    """What `ragged_rows_by_hand` computes: JAX 0.10.2 interprets no slices of a size known at run time."""
    bounds = zip(starts.tolist(), (starts + lengths).tolist(), strict=True)
    return jnp.stack([jnp.sum(keys[a:b] * values[a:b], axis=0, keepdims=True) for a, b in bounds])


@call("ragged_rows_by_hand", reference=sums_of_products)
def _():
    """Rows of sequences of any length, two sequences ahead, of two arrays, each with semaphores of its own."""

    def sums_of_rows_kernel(starts_ref, lengths_ref, keys_hbm, values_hbm, total_ref, keys, values, arrived):
        sequence, last = pl.program_id(0), pl.num_programs(0) - 1

        def copies(sequence):
            slot = jax.lax.rem(sequence, 2)
            rows = pl.ds(starts_ref[sequence], lengths_ref[sequence])
            into = pl.ds(0, lengths_ref[sequence])
            return (
                pltpu.make_async_copy(keys_hbm.at[rows], keys.at[slot, into], arrived.at[slot, 0]),
                pltpu.make_async_copy(values_hbm.at[rows], values.at[slot, into], arrived.at[slot, 1]),
            )

        def start(sequence):
            for copy in copies(sequence):
                copy.start()

        pl.when(sequence == 0)(lambda: start(sequence))
        pl.when(sequence < last)(lambda: start(sequence + 1))
        for copy in copies(sequence):
            copy.wait()
        slot = jax.lax.rem(sequence, 2)
        there = jax.lax.broadcasted_iota(jnp.int32, (8, 128), 0) < lengths_ref[sequence]
        product = jnp.where(there, keys[slot] * values[slot], 0.0)
        total_ref[...] = jnp.sum(product, axis=0, keepdims=True)[None]

    def f(starts, lengths, keys, values):
        hbm = pl.BlockSpec(memory_space=pl.ANY)
        return pl.pallas_call(
            sums_of_rows_kernel, out_shape=jax.ShapeDtypeStruct((4, 1, 128), keys.dtype),
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=2, grid=(4,), in_specs=[hbm, hbm],
                out_specs=pl.BlockSpec((1, 1, 128), lambda i, *_: (i, 0, 0)),
                scratch_shapes=[
                    pltpu.VMEM((2, 8, 128), keys.dtype), pltpu.VMEM((2, 8, 128), keys.dtype),
                    pltpu.SemaphoreType.DMA((2, 2)),
                ],
            ),
        )(starts, lengths, keys, values)  # fmt: skip

    starts, lengths = jnp.array([0, 5, 13, 13]), jnp.array([5, 8, 0, 3])
    return f, (starts, lengths, normal(0, (16, 128)), normal(1, (16, 128)))
