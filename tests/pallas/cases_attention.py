"""Attention: plain and causal flash attention, block lists, pages, segments, and the linear kind."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, cdiv, close, normal

f32 = jnp.float32


def softmax_rows(s, v):
    p = np.exp(s - s.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True) @ v


def flash(q, k, v, scale, bq, bk, causal):
    heads, m, d = q.shape
    n = k.shape[1]

    def kernel(scale, q, k, v, o, top, total, acc):
        i, j = pl.program_id(1), pl.program_id(2)

        @pl.when(j == 0)
        def _():
            top[...] = jnp.full_like(top, -jnp.inf)
            total[...] = jnp.zeros_like(total)
            acc[...] = jnp.zeros_like(acc)

        @pl.when(jnp.logical_or(not causal, j * bk < (i + 1) * bq))
        def _():
            row = i * bq + jax.lax.broadcasted_iota(jnp.int32, (bq, bk), 0)
            col = j * bk + jax.lax.broadcasted_iota(jnp.int32, (bq, bk), 1)
            live = col < n
            if causal:
                live = live & (col <= row)
            inside = j * bk + jax.lax.broadcasted_iota(jnp.int32, (bk, d), 0) < n
            s = jax.lax.dot_general(q[...], k[...], (((1,), (1,)), ((), ())), preferred_element_type=f32)
            s = jnp.where(live, s * scale[0], -jnp.inf)
            new_top = jnp.maximum(top[...], s.max(axis=1, keepdims=True))
            p = jnp.exp(s - new_top)
            fade = jnp.exp(top[...] - new_top)
            total[...] = total[...] * fade + p.sum(axis=1, keepdims=True)
            values = jnp.where(inside, v[...], jnp.zeros_like(v))
            acc[...] = acc[...] * fade + jnp.dot(p.astype(v.dtype), values, preferred_element_type=f32)
            top[...] = new_top

        @pl.when(j == pl.num_programs(2) - 1)
        def _():
            o[...] = (acc[...] / total[...]).astype(o.dtype)

    def keys(h, i, j, _):
        return h, jnp.minimum(j, ((i + 1) * bq - 1) // bk) if causal else j, 0

    return pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(heads, cdiv(m, bq), cdiv(n, bk)),
            in_specs=[
                pl.BlockSpec((None, bq, d), lambda h, i, j, _: (h, i, 0)),
                pl.BlockSpec((None, bk, d), keys),
                pl.BlockSpec((None, bk, d), keys),
            ],
            out_specs=pl.BlockSpec((None, bq, d), lambda h, i, j, _: (h, i, 0)),
            scratch_shapes=[pltpu.VMEM((bq, 1), f32), pltpu.VMEM((bq, 1), f32), pltpu.VMEM((bq, d), f32)],
        ),
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        interpret=True,
    )(jnp.array([scale], f32), q, k, v)


def flash_case(name, heads, m, n, d, depth, bq=8, bk=8, causal=False, dtype=f32, instance="", set={}):
    @case(name, "tests/pallas/specs/flash_attention.yaml", instance=instance, set=set, depth=depth)
    def _():
        q, k, v = (normal(s, (heads, size, d), dtype) for s, size in ((1, m), (2, n), (3, n)))
        scale = 0.375
        o = flash(q, k, v, scale, bq, bk, causal)
        s = np.einsum("hmd,hnd->hmn", np.float64(q), np.float64(k)) * scale
        if causal:
            s = np.where(np.arange(n) <= np.arange(m)[:, None], s, -np.inf)
        close(o, softmax_rows(s, np.float64(v)), depth)
        return dict(scale=scale, q=q, k=k, v=v), dict(o=o)


flash_case("flash_attention", 2, 13, 19, 5, depth=24)
flash_case("flash_attention_even", 1, 16, 32, 8, depth=40, set={"bk": 16}, bk=16)
flash_case("flash_attention_causal", 2, 21, 21, 6, depth=27, bk=4, causal=True, set={"bk": 4, "causal": True})
flash_case("flash_attention_causal_wide", 1, 19, 14, 3, depth=17, bq=4, causal=True, set={"bq": 4, "causal": True})
flash_case("flash_attention_bf16", 2, 35, 37, 8, depth=2, bq=16, bk=16, dtype=jnp.bfloat16,
           instance="flash_attention_bf16")
flash_case("flash_attention_bf16_causal", 1, 33, 33, 16, depth=2, bq=16, bk=16, causal=True, dtype=jnp.bfloat16,
           instance="flash_attention_bf16", set={"causal": True})


@case("local_attention", "tests/pallas/specs/local_attention.yaml", depth=30)
def _():
    n, d, bq, bk, window = 22, 6, 4, 4, 5
    tiles, width = cdiv(n, bq), 5
    blocks, used = np.zeros((tiles, width), np.int32), np.zeros(tiles, np.int32)
    for i in range(tiles):
        lo = max(0, i * bq - window) // bk
        hi = min(n - 1, i * bq + bq - 1 + window) // bk
        ids = list(range(lo, hi + 1))[::-1]  # any order will do
        used[i] = len(ids)
        blocks[i] = ids + [ids[-1]] * (width - len(ids))
    q, k, v = (normal(s, (n, d)) for s in (1, 2, 3))

    def kernel(blocks, used, q, k, v, o, top, total, acc):
        i, w = pl.program_id(0), pl.program_id(1)

        @pl.when(w == 0)
        def _():
            top[...] = jnp.full_like(top, -jnp.inf)
            total[...] = jnp.zeros_like(total)
            acc[...] = jnp.zeros_like(acc)

        @pl.when(w < used[i])
        def _():
            row = i * bq + jax.lax.broadcasted_iota(jnp.int32, (bq, bk), 0)
            col = blocks[i, w] * bk + jax.lax.broadcasted_iota(jnp.int32, (bq, bk), 1)
            valid = blocks[i, w] * bk + jax.lax.broadcasted_iota(jnp.int32, (bk, d), 0) < n
            near = (jnp.abs(row - col) <= window) & (col < n)
            s = jnp.where(near, q[...] @ k[...].T, -jnp.inf)
            new_top = jnp.maximum(top[...], s.max(axis=1, keepdims=True))
            base = jnp.where(new_top == -jnp.inf, 0.0, new_top)
            p = jnp.exp(s - base)
            fade = jnp.exp(top[...] - base)
            total[...] = fade * total[...] + p.sum(axis=1, keepdims=True)
            acc[...] = fade * acc[...] + p @ jnp.where(valid, v[...], 0.0)
            top[...] = new_top

        @pl.when(w == pl.num_programs(1) - 1)
        def _():
            o[...] = acc[...] / total[...]

    o = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(tiles, width),
            in_specs=[
                pl.BlockSpec((bq, d), lambda i, w, blocks, used: (i, 0)),
                pl.BlockSpec((bk, d), lambda i, w, blocks, used: (blocks[i, w], 0)),
                pl.BlockSpec((bk, d), lambda i, w, blocks, used: (blocks[i, w], 0)),
            ],
            out_specs=pl.BlockSpec((bq, d), lambda i, w, blocks, used: (i, 0)),
            scratch_shapes=[pltpu.VMEM((bq, 1), f32), pltpu.VMEM((bq, 1), f32), pltpu.VMEM((bq, d), f32)],
        ),
        out_shape=jax.ShapeDtypeStruct(q.shape, f32),
        interpret=True,
    )(blocks, used, q, k, v)
    s = np.float64(q) @ np.float64(k).T
    far = np.abs(np.arange(n)[:, None] - np.arange(n)) > window
    close(o, softmax_rows(np.where(far, -np.inf, s), np.float64(v)), depth=30)
    return dict(blocks=blocks, used=used, q=q, k=k, v=v), dict(o=o)


def paged_case(name, dtype, depth, set={}):
    @case(name, "tests/pallas/specs/paged_attention.yaml", set=set, depth=depth)
    def _():
        lengths = np.array([11, 0, 16, 5], np.int32)
        batch, pages, slots, page, heads, d = 4, 4, 12, 4, 3, 8
        table = np.array([[7, 2, 9, 9], [0, 0, 0, 0], [1, 11, 3, 4], [5, 8, 8, 8]], np.int32)
        q = normal(1, (batch, heads, d), dtype)
        k_pages, v_pages = normal(2, (slots, page, d), dtype), normal(3, (slots, page, d), dtype)

        def kernel(table, lengths, q, k, v, o, top, total, acc):
            b, p = pl.program_id(0), pl.program_id(1)

            @pl.when(p == 0)
            def _():
                top[...] = jnp.full_like(top, -jnp.inf)
                total[...] = jnp.zeros_like(total)
                acc[...] = jnp.zeros_like(acc)

            @pl.when(p * page < lengths[b])
            def _():
                position = p * page + jax.lax.broadcasted_iota(jnp.int32, (heads, page), 1)
                s = jnp.dot(q[...], k[...].T, preferred_element_type=f32)
                s = jnp.where(position < lengths[b], s, -jnp.inf)
                new_top = jnp.maximum(top[...], s.max(axis=1, keepdims=True))
                weight = jnp.exp(s - new_top)
                fade = jnp.exp(top[...] - new_top)
                total[...] = fade * total[...] + weight.sum(axis=1, keepdims=True)
                acc[...] = fade * acc[...] + jnp.dot(weight.astype(v.dtype), v[...], preferred_element_type=f32)
                top[...] = new_top

            @pl.when(p == pl.num_programs(1) - 1)
            def _():
                o[...] = (acc[...] / jnp.maximum(total[...], 1e-30)).astype(o.dtype)

        by_page = pl.BlockSpec((None, page, d), lambda b, p, table, lengths: (table[b, p], 0, 0))
        by_query = pl.BlockSpec((None, heads, d), lambda b, p, table, lengths: (b, 0, 0))
        o = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=2,
                grid=(batch, pages),
                in_specs=[by_query, by_page, by_page],
                out_specs=by_query,
                scratch_shapes=[pltpu.VMEM((heads, 1), f32), pltpu.VMEM((heads, 1), f32), pltpu.VMEM((heads, d), f32)],
            ),
            out_shape=jax.ShapeDtypeStruct(q.shape, dtype),
            interpret=True,
        )(table, lengths, q, k_pages, v_pages)
        want = np.zeros((batch, heads, d))
        for b, length in enumerate(lengths):
            if length:
                k = np.float64(k_pages)[table[b]].reshape(-1, d)[:length]
                v = np.float64(v_pages)[table[b]].reshape(-1, d)[:length]
                want[b] = softmax_rows(np.float64(q)[b] @ k.T, v)
        close(o, want, depth)
        return dict(table=table, lengths=lengths, q=q, k_pages=k_pages, v_pages=v_pages), dict(o=o)


paged_case("paged_attention", f32, depth=30)
paged_case("paged_attention_bf16", jnp.bfloat16, depth=2, set={"T": "bf16"})


@case("linear_attention", "tests/pallas/specs/linear_attention.yaml", depth=40)
def _():
    heads, n, d, e, chunk = 2, 14, 3, 5, 4
    q, k, v = normal(1, (heads, n, d)), normal(2, (heads, n, d)), normal(3, (heads, n, e))

    def kernel(q, k, v, o, state):
        t = pl.program_id(0)

        @pl.when(t == 0)
        def _():
            state[...] = jnp.zeros_like(state)

        valid = t * chunk + jax.lax.broadcasted_iota(jnp.int32, (chunk, 1), 0) < n
        keys, values = jnp.where(valid, k[...], 0.0), jnp.where(valid, v[...], 0.0)
        rows, cols = (jax.lax.broadcasted_iota(jnp.int32, (chunk, chunk), a) for a in (0, 1))
        inner = jnp.where(rows >= cols, q[...] @ keys.T, 0.0)
        o[...] = inner @ values + q[...] @ state[...]
        state[...] += keys.T @ values

    def one_head(q, k, v):
        return pl.pallas_call(
            kernel,
            grid=(cdiv(n, chunk),),
            in_specs=[pl.BlockSpec((chunk, size), lambda t: (t, 0)) for size in (d, d, e)],
            out_specs=pl.BlockSpec((chunk, e), lambda t: (t, 0)),
            out_shape=jax.ShapeDtypeStruct((n, e), f32),
            scratch_shapes=[pltpu.VMEM((d, e), f32)],
            interpret=True,
        )(q, k, v)

    o = jax.vmap(one_head)(q, k, v)
    past = np.tril(np.ones((n, n)))
    close(o, np.einsum("hid,hjd,ij,hje->hie", np.float64(q), np.float64(k), past, np.float64(v)), depth=40)
    return dict(q=q, k=k, v=v), dict(o=o)


def segment_case(name, dtype, depth, set={}):
    @case(name, "tests/pallas/specs/segment_attention.yaml", set=set, depth=depth)
    def _():
        m, n, d, bm, bn, cap = 21, 18, 8, 8, 8, 4.0
        q, k, v = normal(1, (m, d), dtype), normal(2, (n, d), dtype), normal(3, (n, d), dtype)
        q_segment = np.repeat([0, 1, 2], [6, 11, 4]).astype(np.int32)
        k_segment = np.repeat([0, 1, 2], [3, 9, 6]).astype(np.int32)

        def kernel(q, k, v, q_segment, k_segment, o, top, total, acc):
            j = pl.program_id(1)

            @pl.when(j == 0)
            def _():
                top[...] = jnp.full_like(top, -1e30)
                total[...] = jnp.zeros_like(total)
                acc[...] = jnp.zeros_like(acc)

            valid = j * bn + jax.lax.broadcasted_iota(jnp.int32, (bn, 1), 0) < n
            same = (q_segment[...][:, None] == k_segment[...]) & valid.T
            s = jnp.dot(q[...], k[...].T, preferred_element_type=f32)
            s = jnp.where(same, cap * jnp.tanh(s / cap), -1e30)
            new_top = jnp.maximum(top[...], s.max(axis=1))
            p = jnp.where(same, jnp.exp(s - new_top[:, None]), 0.0)
            fade = jnp.exp(top[...] - new_top)
            total[...] = total[...] * fade + p.sum(axis=1)
            values = jnp.where(valid, v[...], jnp.zeros_like(v))
            acc[...] = acc[...] * fade[:, None] + jnp.dot(p.astype(v.dtype), values, preferred_element_type=f32)
            top[...] = new_top

            @pl.when(j == pl.num_programs(1) - 1)
            def _():
                o[...] = (acc[...] / total[...][:, None]).astype(o.dtype)

        o = pl.pallas_call(
            kernel,
            grid=(cdiv(m, bm), cdiv(n, bn)),
            in_specs=[
                pl.BlockSpec((bm, d), lambda i, j: (i, 0)),
                pl.BlockSpec((bn, d), lambda i, j: (j, 0)),
                pl.BlockSpec((bn, d), lambda i, j: (j, 0)),
                pl.BlockSpec((bm,), lambda i, j: (i,)),
                pl.BlockSpec((bn,), lambda i, j: (j,)),
            ],
            out_specs=pl.BlockSpec((bm, d), lambda i, j: (i, 0)),
            out_shape=jax.ShapeDtypeStruct((m, d), dtype),
            scratch_shapes=[pltpu.VMEM((bm,), f32), pltpu.VMEM((bm,), f32), pltpu.VMEM((bm, d), f32)],
            interpret=True,
        )(q, k, v, q_segment, k_segment)
        s = cap * np.tanh(np.float64(q) @ np.float64(k).T / cap)
        s = np.where(q_segment[:, None] == k_segment, s, -np.inf)
        close(o, softmax_rows(s, np.float64(v)), depth)
        return dict(q=q, k=k, v=v, q_segment=q_segment, k_segment=k_segment), dict(o=o)


segment_case("segment_attention", jnp.bfloat16, depth=2)
segment_case("segment_attention_f16", jnp.float16, depth=4, set={"T": "f16"})
segment_case("segment_attention_f32", f32, depth=40, set={"T": "f32"})


def gqa_case(name, n, lengths, dtype, depth, set={}):
    @case(name, "tests/pallas/specs/gqa_decode.yaml", set=set, depth=depth)
    def _():
        kv_heads, group, d, bk = 2, 2, 8, 4
        lengths_array = np.array(lengths, np.int32)
        batch = len(lengths)
        q = normal(1, (batch, kv_heads * group, d), dtype)
        k, v = normal(2, (batch, n, kv_heads, d), dtype), normal(3, (batch, n, kv_heads, d), dtype)

        def kernel(lengths, q, k, v, o, top, total, acc):
            b, j = pl.program_id(0), pl.program_id(2)

            @pl.when(j == 0)
            def _():
                top[...] = jnp.full_like(top, -jnp.inf)
                total[...] = jnp.zeros_like(total)
                acc[...] = jnp.zeros_like(acc)

            @pl.when(j * bk < lengths[b])
            def _():
                live = j * bk + jax.lax.broadcasted_iota(jnp.int32, (1, bk), 1) < lengths[b]
                s = jnp.where(live, jnp.dot(q[...], k[...].T, preferred_element_type=f32), -jnp.inf)
                new_top = jnp.maximum(top[...], s.max(axis=1, keepdims=True))
                fade, p = jnp.exp(top[...] - new_top), jnp.exp(s - new_top)
                total[...] = fade * total[...] + p.sum(axis=1, keepdims=True)
                values = jnp.where(live.T, v[...], jnp.zeros_like(v))
                acc[...] = fade * acc[...] + jnp.dot(p.astype(dtype), values, preferred_element_type=f32)
                top[...] = new_top

            @pl.when(j == pl.num_programs(2) - 1)
            def _():
                o[...] = (acc[...] / total[...]).astype(o.dtype)

        heads = pl.BlockSpec((None, group, d), lambda b, h, j, lengths: (b, h, 0))
        keys = pl.BlockSpec((None, bk, None, d),
                            lambda b, h, j, lengths: (b, jnp.minimum(j, (lengths[b] - 1) // bk), h, 0))
        o = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1, grid=(batch, kv_heads, cdiv(n, bk)), in_specs=[heads, keys, keys],
                out_specs=heads, scratch_shapes=[pltpu.VMEM((group, w), f32) for w in (1, 1, d)]),
            out_shape=jax.ShapeDtypeStruct(q.shape, dtype),
            interpret=True,
        )(lengths_array, q, k, v)
        s = np.einsum("bhgd,bnhd->bhgn", np.float64(q).reshape(batch, kv_heads, group, d), np.float64(k))
        s = np.where(np.arange(n) < lengths_array[:, None, None, None], s, -np.inf)
        p = np.exp(s - s.max(axis=-1, keepdims=True))
        want = np.einsum("bhgn,bnhd->bhgd", p / p.sum(axis=-1, keepdims=True), np.float64(v))
        close(o, want.reshape(q.shape), depth)
        return dict(lengths=lengths_array, q=q, k=k, v=v), dict(o=o)


gqa_case("gqa_decode", 14, [14, 1, 6], jnp.bfloat16, depth=2)
gqa_case("gqa_decode_f32", 8, [8, 3], f32, depth=20, set={"T": "f32"})
