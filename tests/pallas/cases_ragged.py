"""Segments and ragged sequences."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import ints, prefetched
from harness import SPECS, case, cdiv, close, integers, iota, normal

f32, bf16, i32 = jnp.float32, jnp.bfloat16, jnp.int32
SMEM = pltpu.MemorySpace.SMEM


def segment_case(name, dtype, set={}):
    @case(name, "specs/segment_sum.yaml", set={"bd": 8} | set, depth=8)
    def _():
        ids, segments, d, bd = ints(1, 1, 1, 2, 4, 4, 5, 5, 5, 5), 7, 11, 8
        x = normal(1, (len(ids), d), dtype)

        def kernel(ids, x, zeros, sums):
            t = pl.program_id(1)
            fresh = (t == 0) | (ids[t] != ids[jnp.maximum(t - 1, 0)])
            sums[...] = jnp.where(fresh, 0, sums[...]) + x[...].astype(f32)

        sums = prefetched(
            kernel, [ids], (cdiv(d, bd), len(ids)),
            [pl.BlockSpec((None, bd), lambda j, t, ids: (t, j)), pl.BlockSpec(memory_space=pl.ANY)],
            pl.BlockSpec((None, bd), lambda j, t, ids: (ids[t], j)),
            jax.ShapeDtypeStruct((segments, d), f32), alias={2: 0},
        )(x, jnp.zeros((segments, d), f32))
        want = np.zeros((segments, d))
        np.add.at(want, ids, np.float64(x))
        close(sums, want, depth=8)
        return dict(ids=ids, x=x), dict(sums=sums)


segment_case("segment_sum", f32)
segment_case("segment_sum_bf16", bf16, set={"T": "bf16"})


@case("segment_max", SPECS + "segment_max.yaml")
def _():
    ids, segments, d, bm = ints(2, 0, 0, 3, 2, 2, 3, 0, 5, 2, 3), 6, 5, 4
    n = len(ids)
    x = normal(1, (n, d))

    def kernel(ids, x, top, count):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            top[...] = jnp.full_like(top, -jnp.inf)
            for s in range(segments):
                count[s] = 0

        for r in range(bm):
            @pl.when(i * bm + r < n)
            def _():
                top[ids[r]] = jnp.maximum(top[ids[r]], x[r])
                count[ids[r]] += 1

    top, count = pl.pallas_call(
        kernel,
        grid=(cdiv(n, bm),),
        in_specs=[pl.BlockSpec((bm,), lambda i: (i,), memory_space=SMEM), pl.BlockSpec((bm, d), lambda i: (i, 0))],
        out_specs=[pl.BlockSpec((segments, d), lambda i: (0, 0)), pl.BlockSpec(memory_space=SMEM)],
        out_shape=[jax.ShapeDtypeStruct((segments, d), f32), jax.ShapeDtypeStruct((segments,), i32)],
        interpret=True,
    )(ids, x)
    want = np.full((segments, d), -np.inf)
    np.maximum.at(want, ids, np.float64(x))
    close(top, want)
    close(count, np.bincount(ids, minlength=segments))
    return dict(ids=ids, x=x), dict(top=top, count=count)


def ragged_rows(lengths, capacity):
    """(sequence, row) of every packed place, padded with zeros."""
    sequence, row = np.zeros((2, capacity), np.int32)
    total = sum(lengths)
    sequence[:total] = np.repeat(np.arange(len(lengths)), lengths)
    row[:total] = np.concatenate([np.arange(n) for n in lengths])
    return sequence, row, total


def pack_case(name, lengths, dtype=bf16, set={}):
    @case(name, SPECS + "ragged_pack.yaml", set=set)
    def _():
        longest, capacity, d = max(lengths), 14, 6
        sequence, row, total = ragged_rows(lengths, capacity)
        x = normal(1, (len(lengths), longest, d)).astype(dtype)

        def kernel(sequence, row, x, zeros, packed):
            packed[...] = x[...]

        packed = prefetched(
            kernel, [sequence, row], (jnp.int32(total),),
            [pl.BlockSpec((None, None, d), lambda t, s, r: (s[t], r[t], 0)), pl.BlockSpec(memory_space=pl.ANY)],
            pl.BlockSpec((None, d), lambda t, s, r: (t, 0)),
            jax.ShapeDtypeStruct((capacity, d), dtype), alias={3: 0},
        )(x, jnp.zeros((capacity, d), dtype))
        want = np.zeros((capacity, d), np.float32)
        want[:total] = np.concatenate([np.float32(x)[s, :n] for s, n in enumerate(lengths)])
        close(packed, want)
        return dict(sequence=sequence, row=row, total=total, x=x), dict(packed=packed)


pack_case("ragged_pack", [3, 0, 5, 4])
pack_case("ragged_pack_full_f16", [7, 1, 6], jnp.float16, set={"T": "f16"})


@case("ragged_unpack", SPECS + "ragged_unpack.yaml")
def _():
    lengths, longest, d, bd, fill = [4, 0, 2, 5], 5, 11, 8, -7.5
    offsets = np.cumsum([0] + lengths, dtype=np.int32)
    total = int(offsets[-1])
    packed = normal(1, (total, d))

    def kernel(offsets, fill, packed, x):
        b, r = pl.program_id(0), pl.program_id(1)
        x[...] = jnp.where(r < offsets[b + 1] - offsets[b], packed[...], fill[0])

    x = prefetched(
        kernel, [offsets, jnp.array([fill], f32)], (len(lengths), longest, cdiv(d, bd)),
        [pl.BlockSpec((None, bd), lambda b, r, j, offsets, fill: (jnp.minimum(offsets[b] + r, total - 1), j))],
        pl.BlockSpec((None, None, bd), lambda b, r, j, offsets, fill: (b, r, j)),
        jax.ShapeDtypeStruct((len(lengths), longest, d), f32),
    )(packed)
    want = np.full((len(lengths), longest, d), fill, np.float32)
    for b, n in enumerate(lengths):
        want[b, :n] = packed[offsets[b] : offsets[b + 1]]
    close(x, want)
    return dict(offsets=offsets, fill=fill, packed=packed), dict(x=x)


# pallas_call has no BoundedSlice, so the block is the whole array and the kernel takes the range itself.
@case("ragged_mean", SPECS + "ragged_mean.yaml", depth=8)
def _():
    n, d, longest = 21, 5, 8
    start, size = ints(0, 5, 2, 9, 14, 20), ints(5, 8, 3, 0, 7, 1)
    x = normal(1, (n, d))

    def kernel(start, size, x, o):
        s = pl.program_id(0)
        at = jnp.minimum(start[s], n - longest)  # a slice of a fixed size, moved back into the array
        row = at + iota((longest, d), 0)
        live = (start[s] <= row) & (row < start[s] + size[s])
        o[...] = jnp.where(live, x[pl.ds(at, longest)], 0.0).sum(axis=0) / jnp.maximum(size[s], 1)

    o = prefetched(
        kernel, [start, size], (len(start),), [pl.BlockSpec((n, d), lambda s, *_: (0, 0))],
        pl.BlockSpec((None, d), lambda s, *_: (s, 0)), jax.ShapeDtypeStruct((len(start), d), f32),
    )(x)
    want = [np.float64(x)[a : a + b].sum(axis=0) / max(b, 1) for a, b in zip(start, size)]
    close(o, want, depth=8)
    return dict(start=start, size=size, x=x), dict(o=o)


@case("ragged_concat", SPECS + "ragged_concat.yaml")
def _():
    lengths, longest = [3, 8, 1, 6, 2], 8
    offsets = np.cumsum([0] + lengths, dtype=np.int32)
    total = int(offsets[-1])
    x = integers(1, -50, 50, (len(lengths), longest))

    def kernel(offsets, x, o):
        b = pl.program_id(0)
        for r in range(longest):
            @pl.when(r < offsets[b + 1] - offsets[b])
            def _():
                o[offsets[b] + r] = x[r] * 2 + 1

    o = prefetched(
        kernel, [offsets], (len(lengths),), [pl.BlockSpec((None, longest), lambda b, _: (b, 0))],
        pl.BlockSpec((total,), lambda b, _: (0,)), jax.ShapeDtypeStruct((total,), i32),
    )(x)
    close(o, np.concatenate([np.array(x)[b, :n] for b, n in enumerate(lengths)]) * 2 + 1)
    return dict(offsets=offsets, x=x), dict(o=o)
