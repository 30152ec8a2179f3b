"""Rows and elements that data chooses: gather, scatter, pages, bags, histograms, the largest."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from calls import ints, prefetched
from harness import SPECS, case, cdiv, close, integers, iota, normal, rng

f32, bf16, u8, i16, i32 = jnp.float32, jnp.bfloat16, jnp.uint8, jnp.int16, jnp.int32
SMEM = pltpu.MemorySpace.SMEM


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
