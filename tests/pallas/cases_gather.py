"""Data-driven movement: gather, scatter, segments, ragged sequences, histograms, lists of blocks, experts."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, close, integers, normal, rng

f32, bf16, i32, u8, i16 = jnp.float32, jnp.bfloat16, jnp.int32, jnp.uint8, jnp.int16
SPECS = "tests/pallas/specs/"
SMEM = pltpu.MemorySpace.SMEM


def cdiv(a, b):
    return -(-a // b)


def iota(shape, axis):
    return jax.lax.broadcasted_iota(jnp.int32, shape, axis)


def ints(*values):
    return np.array(values, np.int32)


def prefetched(kernel, prefetch, grid, in_specs, out_specs, out_shape, scratch=(), alias={}):
    """A call whose first arguments are prefetched, scalars among them as arrays of one element."""
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=len(prefetch), grid=grid, in_specs=in_specs,
                                        out_specs=out_specs, scratch_shapes=scratch)
    call = pl.pallas_call(kernel, grid_spec=spec, out_shape=out_shape, input_output_aliases=alias, interpret=True)
    return lambda *inputs: call(*prefetch, *inputs)


def gather_case(name, dtype, d, set={}):
    @case(name, "specs/embedding_gather.yaml", set={"bd": 8} | set, depth=1)
    def _():
        vocab, bd, ids = 7, 8, ints(3, 3, -1, 0, 6, 2, -1, 6, 1)
        table, position = normal(1, (vocab, d), dtype), normal(2, (len(ids), d), dtype)

        def kernel(ids, table, position, o):
            t = pl.program_id(0)
            o[...] = jnp.where(ids[t] >= 0, table[...] + position[...], position[...])

        here = pl.BlockSpec((1, bd), lambda t, j, ids: (t, j))
        o = prefetched(
            kernel, [ids], (len(ids), cdiv(d, bd)),
            [pl.BlockSpec((1, bd), lambda t, j, ids: (jnp.maximum(ids[t], 0), j)), here], here,
            jax.ShapeDtypeStruct((len(ids), d), dtype),
        )(table, position)
        want = np.float64(position) + np.where(ids >= 0, 1, 0)[:, None] * np.float64(table)[ids]
        close(o, want, depth=1)
        return dict(ids=ids, table=table, position=position), dict(o=o)


gather_case("embedding_gather", f32, 19)
gather_case("embedding_gather_bf16", bf16, 16, set={"T": "bf16"})


def take_case(name, dtype, m, n, k, depth=0):
    @case(name, SPECS + "take_rows.yaml", instance=name, depth=depth)
    def _():
        bm, rows = 4, 7
        table, levels = normal(1, (rows, n), dtype), normal(2, (16,), dtype)
        # The spec clamps what is stored to `o` alone, so these are in range.
        ids = np.array(rng(3).integers(0, rows, m), np.int32)
        codes = np.array(rng(4).integers(0, 256, (m, k)), np.uint8)

        def kernel(table, ids, codes, levels, o, evens, z):
            o[...] = jnp.take(table[...], jnp.clip(ids[...], 0, rows - 1), axis=0)
            evens[...] = jnp.take(table[...][:, ::2], ids[...], axis=0)
            z[...] = jnp.take(levels[...], codes[...].astype(i32) % 16, axis=0)
            odd, high = pl.ds(1, bm // 2, 2), codes[0 : bm - 1 : 2].astype(i32) // 16
            z[odd] = (z[odd].astype(f32) + jnp.take(levels[...], high, axis=0).astype(f32)).astype(dtype)

        def rows_of(width):
            return pl.BlockSpec((bm, width), lambda i: (i, 0))

        def whole(x):
            return pl.BlockSpec(x.shape, lambda i: (0,) * x.ndim)

        # Past the edge it reads what the spec pads with.
        padded = [jnp.pad(x, [(0, -m % bm)] + [(0, 0)] * (x.ndim - 1)) for x in (ids, codes)]
        shapes = [jax.ShapeDtypeStruct((m + -m % bm, w), dtype) for w in (n, cdiv(n, 2), k)]
        o, evens, z = (out[:m] for out in pl.pallas_call(
            kernel, grid=(cdiv(m, bm),),
            in_specs=[whole(table), pl.BlockSpec((bm,), lambda i: (i,)), rows_of(k), whole(levels)],
            out_specs=[rows_of(n), rows_of(cdiv(n, 2)), rows_of(k)], out_shape=shapes, interpret=True,
        )(table, *padded, levels))
        close(o, np.asarray(table)[ids])
        close(evens, np.asarray(table)[ids][:, ::2])
        low = np.float64(levels)[codes % 16]
        low[1::2] += np.float64(levels)[codes[0::2] // 16][: m // 2]
        close(z, low, depth=1)
        return dict(table=table, ids=ids, codes=codes, levels=levels), dict(o=o, evens=evens, z=z)


take_case("take_rows", f32, 10, 21, 9, depth=1)
take_case("take_rows_bf16", bf16, 7, 40, 16, depth=1)


def scatter_case(name, rows, n, dtype=i16, set={}):
    @case(name, SPECS + "row_scatter.yaml", set=set)
    def _():
        m, bn = 9, 8
        existing, update = integers(1, -999, 999, (m, n), dtype), integers(2, -999, 999, (len(rows), n), dtype)

        def kernel(rows, existing, update, o):
            o[...] = update[...]

        o = prefetched(
            kernel, [rows], (len(rows), cdiv(n, bn)),
            [pl.BlockSpec(memory_space=pl.ANY), pl.BlockSpec((1, bn), lambda t, j, rows: (t, j))],
            pl.BlockSpec((1, bn), lambda t, j, rows: (rows[t], j)),
            jax.ShapeDtypeStruct((m, n), dtype), alias={1: 0},
        )(existing, update)
        want = np.array(existing)
        want[rows] = update
        close(o, want)
        return dict(rows=rows, existing=existing, update=update), dict(o=o)


scatter_case("row_scatter", ints(7, 2, 0, 8, 5), 19)
scatter_case("row_scatter_one_f32", ints(4), 8, f32, set={"T": "f32"})


def paged_case(name, lengths, d, dtype=f32, set={}):
    @case(name, "specs/paged_gather.yaml", set=set)
    def _():
        slots, page, pages = 6, 8, 3
        table = integers(1, 0, slots, (len(lengths), pages))
        pool = normal(2, (slots, page, d), dtype)

        def kernel(table, lengths, pool, o):
            b, p = pl.program_id(0), pl.program_id(1)
            row = p * page + jax.lax.broadcasted_iota(i32, (page, d), 0)
            o[...] = jnp.where(row < lengths[b], pool[...], 0)

        def at(b, p, table, lengths):
            return table[b, jnp.minimum(p, jnp.maximum(cdiv(lengths[b], page) - 1, 0))], 0, 0

        o = prefetched(
            kernel, [table, lengths], (len(lengths), pages), [pl.BlockSpec((None, page, d), at)],
            pl.BlockSpec((None, page, d), lambda b, p, table, lengths: (b, p, 0)),
            jax.ShapeDtypeStruct((len(lengths), pages * page, d), dtype),
        )(pool)
        rows = pool[table].reshape(len(lengths), pages * page, d)
        want = np.where(np.arange(pages * page)[None, :, None] < np.array(lengths)[:, None, None], rows, 0)
        close(o, want)
        return dict(table=table, lengths=lengths, pool=pool), dict(o=o)


paged_case("paged_gather", ints(11, 0, 24, 8), 5)
paged_case("paged_gather_bf16", ints(17, 1), 16, bf16, set={"T": "bf16"})


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


def histogram_case(name, n, bins, dtype, bn, instance=""):
    @case(name, SPECS + "histogram.yaml", instance=instance)
    def _():
        values = integers(1, 0, bins + 3, (n,), dtype)

        def kernel(values, before, counts):
            i = pl.program_id(0)

            @pl.when(i == 0)
            def _():
                counts[...] = jnp.zeros_like(counts)

            before[...] = counts[...]
            hit = values[...].astype(i32)[:, None] == iota((bn, bins), 1)
            counts[...] += (hit & (i * bn + iota((bn, bins), 0) < n)).astype(i32).sum(axis=0)

        blocks = cdiv(n, bn)
        before, counts = pl.pallas_call(
            kernel,
            grid=(blocks,),
            in_specs=[pl.BlockSpec((bn,), lambda i: (i,))],
            out_specs=[pl.BlockSpec((None, bins), lambda i: (i, 0)), pl.BlockSpec((bins,), lambda i: (0,))],
            out_shape=[jax.ShapeDtypeStruct((blocks, bins), i32), jax.ShapeDtypeStruct((bins,), i32)],
            interpret=True,
        )(values)
        counted = [np.bincount(np.array(values)[: i * bn], minlength=bins + 3)[:bins] for i in range(blocks + 1)]
        close(before, np.array(counted[:-1]))
        close(counts, np.bincount(values, minlength=bins + 3)[:bins])
        return dict(values=values), dict(before=before, counts=counts)


histogram_case("histogram", 75, 9, i32, 16)
histogram_case("histogram_u8", 96, 12, u8, 32, instance="histogram_u8")


@case("histogram_scalar", SPECS + "histogram_scalar.yaml")
def _():
    n, bins, bn = 29, 6, 8
    values = integers(1, -2, bins + 2, (n,))

    def kernel(values, counts, others):
        i = pl.program_id(0)

        @pl.when(i == 0)
        def _():
            others[0] = 0
            for b in range(bins):
                counts[b] = 0

        def step(r, _):
            v = values[r]
            counted = (0 <= v) & (v < bins)

            @pl.when(counted)
            def _():
                counts[v] += 1

            @pl.when(~counted)
            def _():
                others[0] += 1

        jax.lax.fori_loop(0, jnp.minimum(bn, n - i * bn), step, None)

    counts, others = pl.pallas_call(
        kernel,
        grid=(cdiv(n, bn),),
        in_specs=[pl.BlockSpec((bn,), lambda i: (i,), memory_space=SMEM)],
        out_specs=[pl.BlockSpec(memory_space=SMEM), pl.BlockSpec(memory_space=SMEM)],
        out_shape=[jax.ShapeDtypeStruct((bins,), i32), jax.ShapeDtypeStruct((1,), i32)],
        interpret=True,
    )(values)
    v = np.array(values)
    inside = (0 <= v) & (v < bins)
    close(counts, np.bincount(v[inside], minlength=bins))
    close(others[0], (~inside).sum())
    return dict(values=values), dict(counts=counts, others=others[0])


def combine_case(name, dtype, depth, set={}):
    @case(name, SPECS + "moe_combine.yaml", set=set, depth=depth)
    def _():
        place = np.array([[4, 0], [1, 1], [8, 3], [2, 7], [6, 5]], np.int32)
        (tokens, top), rows, d, bd = place.shape, 9, 13, 8
        x, weight = normal(1, (rows, d), dtype), jnp.abs(normal(2, (tokens, top)))

        def kernel(place, x, weight, y, acc):
            t, c = pl.program_id(0), pl.program_id(2)
            acc[...] = jnp.where(c == 0, 0.0, acc[...]) + weight[t, c] * x[...].astype(f32)

            @pl.when(c == pl.num_programs(2) - 1)
            def _():
                y[...] = acc[...].astype(y.dtype)

        y = prefetched(
            kernel, [place], (tokens, cdiv(d, bd), top),
            [pl.BlockSpec((1, bd), lambda t, j, c, place: (place[t, c], j)), pl.BlockSpec(memory_space=SMEM)],
            pl.BlockSpec((1, bd), lambda t, j, c, place: (t, j)),
            jax.ShapeDtypeStruct((tokens, d), dtype), scratch=[pltpu.VMEM((1, bd), f32)],
        )(x, weight)
        close(y, np.einsum("tc,tcd->td", np.float64(weight), np.float64(x)[place]), depth)
        return dict(place=place, x=x, weight=weight), dict(y=y)


combine_case("moe_combine", bf16, 1)
combine_case("moe_combine_f32", f32, 3, set={"T": "f32"})


@case("embedding_bag", SPECS + "embedding_bag.yaml", depth=5)
def _():
    bags, bd, vocab, d = 2, 4, 6, 7
    sizes = [3, 0, 1, 5, 0, 2]
    offsets = np.cumsum([0] + sizes, dtype=np.int32)
    ids = rng(1).integers(0, vocab, offsets[-1]).astype(np.int32)
    table = normal(2, (vocab, d))

    def kernel(offsets, ids, table, o):
        for b in range(bags):
            bag = pl.program_id(0) * bags + b
            o[b] = jax.lax.fori_loop(offsets[bag], offsets[bag + 1], lambda r, total: total + table[ids[r]],
                                     jnp.zeros((bd,), f32))

    o = prefetched(
        kernel, [offsets, ids], (len(sizes) // bags, cdiv(d, bd)),
        [pl.BlockSpec((vocab, bd), lambda i, j, *_: (0, j))], pl.BlockSpec((bags, bd), lambda i, j, *_: (i, j)),
        jax.ShapeDtypeStruct((len(sizes), d), f32),
    )(table)
    want = np.array([np.float64(table)[ids[a:b]].sum(axis=0) for a, b in zip(offsets, offsets[1:])])
    close(o, want, depth=5)
    return dict(offsets=offsets, ids=ids, table=table), dict(o=o)


def update_case(name, count, dtype=f32, set={}):
    @case(name, SPECS + "update_blocks.yaml", set=set)
    def _():
        m, n, b = 10, 14, 4
        rows, cols = ints(2, 0, 1, 2, 0, 1), ints(3, 0, 2, 0, 1, 1)
        x = normal(1, (m, n), dtype)

        def kernel(rows, cols, x, o):
            o[...] = x[...] * 2

        block = pl.BlockSpec((b, b), lambda t, rows, cols: (rows[t], cols[t]))
        o = prefetched(kernel, [rows, cols], (jnp.int32(count),), [block], block,
                       jax.ShapeDtypeStruct((m, n), dtype), alias={2: 0})(x)
        want = np.array(x)
        for r, c in zip(rows[:count], cols[:count]):
            want[r * b : r * b + b, c * b : c * b + b] *= 2
        close(o, want)
        return dict(block_rows=rows, block_cols=cols, count=count, x=x), dict(o=o)


update_case("update_blocks", 4)
update_case("update_blocks_f16", 6, jnp.float16, set={"T": "f16"})
update_case("update_blocks_no_steps", 0)


@case("sparse_rows", SPECS + "sparse_rows.yaml")
def _():
    m, n, b = 14, 18, 4
    column = np.array([[0, 4, 1], [2, 3, 0], [4, 4, 0], [1, 0, 0]], np.int32)
    meta = ints(3, 2)  # one row of blocks and one column of the list stay unused
    x = integers(1, -99, 99, (m, n))

    def kernel(meta, column, x, initial, o):
        i, w = pl.program_id(0), pl.program_id(1)
        v = jnp.where(column[i, w] * b + iota((b, b), 1) < n, x[...], 0)
        total = jnp.where(w == 0, v, o[...] + v)
        o[...] = jnp.where(w == meta[1] - 1, total * meta[1], total)

    o = prefetched(
        kernel, [meta, column], (jnp.int32(3), jnp.int32(2)),
        [pl.BlockSpec((b, b), lambda i, w, meta, column: (i, column[i, w])), pl.BlockSpec(memory_space=pl.ANY)],
        pl.BlockSpec((b, b), lambda i, w, meta, column: (i, 0)),
        jax.ShapeDtypeStruct((m, b), i32), alias={3: 0},
    )(x, jnp.full((m, b), -1, i32))
    padded = np.pad(x, ((0, 2), (0, 2)))
    want = np.full((16, b), -1)
    for i in range(3):
        rows = slice(i * b, i * b + b)
        want[rows] = 2 * sum(padded[rows, c * b : c * b + b] for c in column[i, :2])
    close(o, want[:m])
    return dict(meta=meta, column=column, x=x), dict(o=o)


@case("rotate_blocks", SPECS + "rotate_blocks.yaml")
def _():
    m, n, bm, bn, down, right = 12, 32, 4, 8, 2, -1
    x = integers(1, 0, 256, (m, n), u8)

    def kernel(down, right, x, o):
        o[...] = x[...]

    o = prefetched(
        kernel, [ints(down), ints(right)], (m // bm, n // bn), [pl.BlockSpec((bm, bn), lambda i, j, d, r: (i, j))],
        pl.BlockSpec((bm, bn), lambda i, j, d, r: ((i + d[0]) % (m // bm), (j + r[0]) % (n // bn))),
        jax.ShapeDtypeStruct((m, n), u8),
    )(x)
    close(o, np.roll(x, (down * bm, right * bn), (0, 1)))
    return dict(down=down, right=right, x=x), dict(o=o)


@case("one_hot", SPECS + "one_hot.yaml")
def _():
    ids, classes, bm, bn = ints(0, 12, 7, 8, -1, 13, 3), 13, 4, 8
    m = len(ids)

    def kernel(ids, hot, sign):
        column = pl.program_id(1) * bn + iota((bm, bn), 1)
        hot[...] = column == ids[...][:, None]
        sign[...] = jnp.where(column < ids[...][:, None], jnp.int8(-1), jnp.int8(1))

    block = pl.BlockSpec((bm, bn), lambda i, j: (i, j))
    hot, sign = pl.pallas_call(
        kernel,
        grid=(cdiv(m, bm), cdiv(classes, bn)),
        in_specs=[pl.BlockSpec((bm,), lambda i, j: (i,))],
        out_specs=[block, block],
        out_shape=[jax.ShapeDtypeStruct((m, classes), jnp.bool_), jax.ShapeDtypeStruct((m, classes), jnp.int8)],
        interpret=True,
    )(ids)
    close(hot, np.arange(classes) == ids[:, None])
    close(sign, np.where(np.arange(classes) < ids[:, None], -1, 1))
    return dict(ids=ids), dict(hot=hot, sign=sign)


def top_k_case(name, m, n, dtype, set={}):
    @case(name, SPECS + "top_k.yaml", set=set)
    def _():
        bm, bn, top = 4, 16, 3
        x = jnp.round(normal(1, (m, n), scale=4)).astype(dtype)  # with equal elements

        def kernel(x, value, column):
            def step(r, rest):
                best = jnp.argmax(rest, axis=1).astype(i32)
                column[:, pl.ds(r, 1)] = best[:, None]
                value[:, pl.ds(r, 1)] = rest.max(axis=1, keepdims=True).astype(dtype)
                return jnp.where(iota((bm, bn), 1) == best[:, None], -jnp.inf, rest)

            known = jnp.where(iota((bm, bn), 1) < n, x[...].astype(f32), -jnp.inf)
            jax.lax.fori_loop(0, top, step, known)

        block = pl.BlockSpec((bm, top), lambda i: (i, 0))
        value, column = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm),),
            in_specs=[pl.BlockSpec((bm, bn), lambda i: (i, 0))],
            out_specs=[block, block],
            out_shape=[jax.ShapeDtypeStruct((m, top), dtype), jax.ShapeDtypeStruct((m, top), i32)],
            interpret=True,
        )(x)
        order = np.argsort(-np.float64(x), axis=1, kind="stable")[:, :top]
        close(column, order)
        close(value, np.take_along_axis(np.float64(x), order, axis=1))
        return dict(x=x), dict(value=value, column=column)


top_k_case("top_k", 10, 13, f32)
top_k_case("top_k_bf16", 7, 16, bf16, set={"T": "bf16"})


@case("masked_blocks", SPECS + "masked_blocks.yaml", depth=24)
def _():
    m, n, bm, bn = 11, 37, 4, 8
    use = np.array([[1, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]], bool)
    fetch = np.zeros(use.shape, np.int32)  # the block that was used last, or the first that will be
    for row in range(len(use)):
        used = np.flatnonzero(use[row])
        for j in range(use.shape[1] if len(used) else 0):
            fetch[row, j] = max([u for u in used if u <= j], default=used[0])
    x = normal(1, (m, n), bf16)

    def kernel(use, fetch, x, y, blocks):
        i, j = pl.program_id(0), pl.program_id(1)
        known = jnp.where(fetch[i, j] * bn + iota((bm, bn), 1) < n, x[...].astype(f32), 0.0)
        start = jnp.where(j == 0, 0.0, y[...])
        y[...] = start + jnp.where(use[i, j], known.sum(axis=1), 0.0)
        blocks[...] = jnp.where(j == 0, 0, blocks[...]) + use[i, j].astype(i32)

    one = pl.BlockSpec((bm,), lambda i, j, use, fetch: (i,))
    y, blocks = prefetched(
        kernel, [use, fetch], use.shape,
        [pl.BlockSpec((bm, bn), lambda i, j, use, fetch: (i, fetch[i, j]))], [one, one],
        [jax.ShapeDtypeStruct((m,), t) for t in (f32, i32)],
    )(x)
    selected = np.repeat(np.repeat(use, bm, axis=0)[:m], bn, axis=1)[:, :n]
    close(y, (np.float64(x) * selected).sum(axis=1), depth=24)
    close(blocks, np.repeat(use.sum(axis=1), bm)[:m])
    return dict(use=use, fetch=fetch, x=x), dict(y=y, blocks=blocks)


# Only `sums` is recorded: the rows of `y` behind the last visited block are undefined.
def leading_case(name, count):
    @case(name, SPECS + "leading_blocks.yaml", depth=12)
    def _():
        m, n, bm = 14, 5, 4
        x = normal(1, (m, n))

        def kernel(x, y, sums):
            t = pl.program_id(0)
            known = jnp.where(t * bm + iota((bm, n), 0) < m, x[...], 0.0)
            y[...] = 2 * x[...]
            sums[...] = jnp.where(t == 0, 0.0, sums[...]) + known.sum(axis=0)

        rows = pl.BlockSpec((bm, n), lambda t: (t, 0))
        y, sums = pl.pallas_call(
            kernel, grid=(jnp.int32(count),), in_specs=[rows], out_specs=[rows, pl.BlockSpec((n,), lambda t: (0,))],
            out_shape=[jax.ShapeDtypeStruct((m, n), f32), jax.ShapeDtypeStruct((n,), f32)], interpret=True)(x)
        seen = min(count * bm, m)
        close(y[:seen], 2 * np.float64(x)[:seen])
        close(sums, np.float64(x)[:seen].sum(axis=0), depth=12)
        return dict(count=count, x=x), dict(sums=sums)


leading_case("leading_blocks", 2)
leading_case("leading_blocks_all", 4)
