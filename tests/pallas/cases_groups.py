"""Products by expert, by group and by head."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.megablox.gmm import make_group_metadata

from calls import dot, known, zero_at
from harness import SPECS, case, cdiv, close, iota, normal

f32, bf16, f16, i32 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int32


@case("expert_matmul", SPECS + "expert_matmul.yaml", depth=1)
def _():
    m, n, k, experts, bm, bn, bk = 18, 13, 21, 3, 4, 8, 8
    expert = np.array([2, 0, -1, 0, 1], np.int32)
    x, w = normal(1, (m, k), f16), normal(2, (experts, k, n), f16)

    def kernel(expert, x, w, z, acc):
        i, l = pl.program_id(0), pl.program_id(2)
        zero_at(l == 0, acc)

        @pl.when(expert[i] >= 0)
        def _():
            acc[...] += dot(known(x, k, l * bk, 1), known(w, k, l * bk, 0))

        @pl.when(l == pl.num_programs(2) - 1)
        def _():
            z[...] = jax.nn.relu(acc[...]).astype(f16)

    z = pl.pallas_call(
        kernel,
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1,
            grid=(len(expert), cdiv(n, bn), cdiv(k, bk)),
            in_specs=[
                pl.BlockSpec((bm, bk), lambda i, j, l, e: (i, l)),
                pl.BlockSpec((None, bk, bn), lambda i, j, l, e: (jnp.maximum(e[i], 0), l, j)),
            ],
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, l, e: (i, j)),
            scratch_shapes=[pltpu.VMEM((bm, bn), f32)],
        ),
        out_shape=jax.ShapeDtypeStruct((m, n), f16),
        interpret=True,
    )(expert, x, w)
    of_row = np.repeat(expert, bm)[:m]
    want = np.einsum("mk,mkn->mn", np.float64(x), np.float64(w)[of_row]).clip(0) * (of_row >= 0)[:, None]
    close(z, want, depth=1)
    return dict(expert=expert, x=x, w=w), dict(z=z)


def group_scale_case(name, sizes):
    @case(name, SPECS + "group_scale.yaml", depth=1)
    def _():
        tm, bn, n = 4, 8, 13
        m, groups = sum(sizes), len(sizes)
        x, scale = normal(1, (m, n)), normal(2, (groups, n))
        (offsets, ids, tiles), visits = make_group_metadata(
            group_sizes=jnp.array(sizes, i32), m=m, tm=tm, start_group=jnp.int32(0), num_nonzero_groups=groups,
            visit_empty_groups=False)

        def kernel(offsets, ids, tiles, x, scale, y):
            v = pl.program_id(1)
            row = tiles[v] * tm + iota((tm, bn), 0)
            mine = (offsets[ids[v]] <= row) & (row < offsets[ids[v] + 1])
            y[...] = jnp.where(mine, x[...] * scale[...], y[...])

        y = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=3,
                grid=(cdiv(n, bn), visits),
                in_specs=[
                    pl.BlockSpec((tm, bn), lambda j, v, offsets, ids, tiles: (tiles[v], j)),
                    pl.BlockSpec((None, bn), lambda j, v, offsets, ids, tiles: (ids[v], j)),
                ],
                out_specs=pl.BlockSpec((tm, bn), lambda j, v, offsets, ids, tiles: (tiles[v], j)),
            ),
            out_shape=jax.ShapeDtypeStruct((m, n), f32),
            interpret=True,
        )(offsets, ids, tiles, x, scale)
        close(y, np.float64(x) * np.float64(scale)[np.repeat(np.arange(groups), sizes)], depth=1)
        return dict(sizes=np.array(sizes, np.int32), x=x, scale=scale), dict(y=y)


group_scale_case("group_scale", [3, 0, 6, 1, 6])
group_scale_case("group_scale_aligned", [4, 8, 0, 0, 4])


def group_sum_case(name, sizes, m):
    @case(name, SPECS + "group_sum.yaml", depth=8)
    def _():
        tm, bn, n = 4, 8, 11
        groups = len(sizes)
        x = normal(1, (m, n))
        (offsets, ids, tiles), visits = make_group_metadata(
            group_sizes=jnp.array(sizes, i32), m=m, tm=tm, start_group=jnp.int32(0), num_nonzero_groups=groups,
            visit_empty_groups=True)

        def kernel(offsets, ids, tiles, x, total):
            v = pl.program_id(1)
            g = ids[v]
            row = tiles[v] * tm + iota((tm, bn), 0)
            part = jnp.where((offsets[g] <= row) & (row < offsets[g + 1]), x[...], 0.0).sum(axis=0)
            fresh = (v == 0) | (g != ids[jnp.maximum(v - 1, 0)])
            total[...] = jnp.where(fresh, 0.0, total[...]) + part

        total = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=3,
                grid=(cdiv(n, bn), visits),
                in_specs=[pl.BlockSpec((tm, bn), lambda j, v, offsets, ids, tiles: (tiles[v], j))],
                out_specs=pl.BlockSpec((None, bn), lambda j, v, offsets, ids, tiles: (ids[v], j)),
            ),
            out_shape=jax.ShapeDtypeStruct((groups, n), f32),
            interpret=True,
        )(offsets, ids, tiles, x)
        want, end = np.zeros((groups, n)), np.cumsum(sizes)
        for g, size in enumerate(sizes):
            want[g] = np.float64(x)[end[g] - size : end[g]].sum(axis=0)
        close(total, want, depth=8)
        return dict(sizes=np.array(sizes, np.int32), x=x), dict(total=total)


group_sum_case("group_sum", [0, 5, 0, 2, 6, 3], 16)
group_sum_case("group_sum_rows_left", [4, 0, 7], 20)


@case("head_scores", SPECS + "head_scores.yaml", depth=6)
def _():
    batch, heads, m, n, d, bb, bk = 3, 2, 4, 5, 21, 2, 8
    q, k = normal(1, (batch, heads, m, d), bf16), normal(2, (batch, heads, n, d), bf16)

    def kernel(q, k, s):
        l = pl.program_id(1)
        zero_at(l == 0, s)
        part = jnp.einsum("bhmd,bhnd->bhmn", known(q, d, l * bk, 3), known(k, d, l * bk, 3),
                          preferred_element_type=f32)
        s[...] = (s[...].astype(f32) + part).astype(bf16)

    def block(rows):
        return pl.BlockSpec((bb, heads, rows, bk), lambda b, l: (b, 0, 0, l))

    s = pl.pallas_call(
        kernel, grid=(cdiv(batch, bb), cdiv(d, bk)), in_specs=[block(m), block(n)],
        out_specs=pl.BlockSpec((bb, heads, m, n), lambda b, l: (b, 0, 0, 0)),
        out_shape=jax.ShapeDtypeStruct((batch, heads, m, n), bf16), interpret=True)(q, k)
    close(s, np.einsum("bhmd,bhnd->bhmn", np.float64(q), np.float64(k)), depth=6)
    return dict(q=q, k=k), dict(s=s)
