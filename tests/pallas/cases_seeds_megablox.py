"""Megablox as JAX ships it: gmm and tgmm, with every option."""
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm, tgmm

from harness import case, close, normal

f32, bf16 = jnp.float32, jnp.bfloat16


def roundings(out, terms):
    """The depth of a sum kept in f32: for a narrower output only the last rounding counts."""
    return terms if out == f32 else 1


def group_slices(sizes, offset, count):
    """(group in the shard, its rows)"""
    ends = np.cumsum(sizes)
    return [(g - offset, slice(ends[g] - sizes[g], ends[g])) for g in range(offset, offset + count)]


def gmm_case(
    name,
    instance,
    sizes,
    m,
    k,
    n,
    tiling=(8, 8, 8),
    dtype=f32,
    out=f32,
    offset=0,
    shard=None,
    transpose=False,
    existing=False,
    **params,
):
    """Rows of no group are garbage in JAX where it has the whole rhs and no `existing`: not for such cases."""
    shard = len(sizes) if shard is None else shard
    assert existing or shard < len(sizes) or sum(sizes) == m
    tm, tk, tn = tiling
    tiles = dict(tm=tm, tk=tk, tn=tn)

    @case(name, "specs/gmm.yaml", instance=instance, set=tiles | params, depth=roundings(out, k + 2))
    def _():
        lhs = normal(1, (m, k), dtype)
        rhs = normal(2, (shard, n, k) if transpose else (shard, k, n), dtype)
        held = normal(3, (m, n), out) if existing else None
        # JAX takes whole tiles of rows only: the rows past m are in no group and are cut off again.
        spare = -m % tm
        whole_held = jnp.pad(held, ((0, spare), (0, 0))) if existing else None
        got = gmm(
            jnp.pad(lhs, ((0, spare), (0, 0))),
            rhs,
            jnp.array(sizes, jnp.int32),
            preferred_element_type=out,
            tiling=tiling,
            group_offset=jnp.int32(offset),
            existing_out=whole_held,
            transpose_rhs=transpose,
            interpret=True,
        )[:m]

        want = np.float64(held) if existing else np.zeros((m, n))
        for g, rows in group_slices(sizes, offset, shard):
            matrix = np.float64(rhs[g])
            want[rows] = np.float64(lhs)[rows] @ (matrix.T if transpose else matrix)
        close(got, want, depth=roundings(out, k + 2))
        arguments = dict(sizes=jnp.array(sizes, jnp.int32), group_offset=offset, lhs=lhs, rhs=rhs)
        return arguments | (dict(existing=held) if existing else {}), dict(out=got)


gmm_case("seed_gmm_even", "gmm_f32", [8, 16, 8], 32, 16, 16)
gmm_case("seed_gmm_inside_tiles", "gmm_f32", [3, 10, 1, 18], 32, 16, 16)
gmm_case("seed_gmm_many_in_a_tile", "gmm_f32", [2, 1, 3, 1, 9], 16, 8, 8)
gmm_case("seed_gmm_empty_groups", "gmm_f32", [0, 5, 0, 0, 19, 0], 24, 16, 8)
gmm_case("seed_gmm_empty_at_edges", "gmm_f32", [8, 0, 8, 0], 16, 8, 8)
gmm_case("seed_gmm_k_n_ragged", "gmm_f32", [7, 0, 17], 24, 21, 19)
gmm_case("seed_gmm_m_ragged", "gmm_f32", [7, 4, 10], 21, 11, 13)
gmm_case("seed_gmm_bf16", "gmm_bf16", [5, 0, 12, 15], 32, 24, 16, dtype=bf16)
gmm_case("seed_gmm_bf16_out", "gmm_bf16", [5, 0, 12, 15], 32, 21, 13, dtype=bf16, out=bf16, O="bf16")
gmm_case(
    "seed_gmm_transposed", "gmm_bf16_transposed", [5, 0, 12, 15], 32, 21, 13, dtype=bf16, out=bf16, transpose=True
)
gmm_case(
    "seed_gmm_transposed_f32", "gmm_f32", [9, 7], 16, 13, 21, (8, 4, 16), transpose=True, transpose_rhs=True
)
gmm_case("seed_gmm_shard", "gmm_f32", [5, 6, 0, 9, 4], 24, 16, 8, offset=1, shard=3)
gmm_case("seed_gmm_shard_last", "gmm_f32", [5, 6, 0, 9, 4], 24, 11, 9, offset=3, shard=2)
gmm_case("seed_gmm_shard_short", "gmm_f32", [5, 3, 9, 2], 40, 8, 8, offset=1, shard=2, partial=True)
gmm_case("seed_gmm_shard_empty", "gmm_f32", [8, 0, 0, 8], 16, 8, 8, offset=1, shard=2)
gmm_case(
    "seed_gmm_existing", "gmm_bf16_existing", [5, 6, 0, 9], 32, 16, 8, dtype=bf16, offset=1, shard=2, existing=True,
    partial=True,
)  # fmt: skip
gmm_case(
    "seed_gmm_existing_short", "gmm_f32", [5, 6, 0], 24, 13, 11, existing=True, keep_existing=True, partial=True
)
gmm_case(
    "seed_gmm_existing_transposed", "gmm_bf16_existing", [3, 8, 13], 24, 13, 11,
    dtype=bf16, out=bf16, transpose=True, existing=True, transpose_rhs=True, O="bf16",
)  # fmt: skip


def tgmm_case(
    name,
    instance,
    sizes,
    m,
    k,
    n,
    tiling=(8, 8, 8),
    dtype=f32,
    out=f32,
    offset=0,
    shard=None,
    existing=False,
    **params,
):
    shard = len(sizes) if shard is None else shard
    tm, tk, tn = tiling
    tiles = dict(tm=tm, tk=tk, tn=tn)
    depth = roundings(out, max(sizes) + 2)

    @case(name, "specs/tgmm.yaml", instance=instance, set=tiles | params, depth=depth)
    def _():
        lhs, rhs = normal(1, (m, k), dtype), normal(2, (m, n), dtype)
        held = normal(3, (shard, k, n), out) if existing else None
        spare = -m % tm
        got = tgmm(
            jnp.pad(lhs, ((0, spare), (0, 0))).T,
            jnp.pad(rhs, ((0, spare), (0, 0))),
            jnp.array(sizes, jnp.int32),
            preferred_element_type=out,
            tiling=tiling,
            group_offset=jnp.int32(offset),
            num_actual_groups=shard,
            existing_out=held,
            interpret=True,
        )

        want = np.float64(held) if existing else np.zeros((shard, k, n))
        for g, rows in group_slices(sizes, offset, shard):
            want[g] += np.float64(lhs)[rows].T @ np.float64(rhs)[rows]
        close(got, want, depth=depth)
        arguments = dict(sizes=jnp.array(sizes, jnp.int32), group_offset=offset, lhs=lhs, rhs=rhs)
        return arguments | (dict(existing=held) if existing else {}), dict(out=got)


tgmm_case("seed_tgmm_even", "tgmm_f32", [8, 16, 8], 32, 8, 16)
tgmm_case("seed_tgmm_inside_tiles", "tgmm_f32", [3, 10, 1, 18], 32, 16, 8)
tgmm_case("seed_tgmm_empty_groups", "tgmm_f32", [0, 5, 0, 0, 11, 0], 16, 8, 8)
tgmm_case("seed_tgmm_k_n_ragged", "tgmm_f32", [7, 0, 9], 16, 11, 13)
tgmm_case("seed_tgmm_m_ragged", "tgmm_f32", [7, 4, 8], 19, 9, 7)
tgmm_case("seed_tgmm_short", "tgmm_f32", [7, 4], 24, 9, 7, partial=True)
tgmm_case("seed_tgmm_bf16", "tgmm_bf16", [5, 0, 12, 7], 24, 16, 8, dtype=bf16)
tgmm_case("seed_tgmm_shard", "tgmm_f32", [5, 6, 0, 9, 4], 24, 9, 8, offset=1, shard=3)
tgmm_case(
    "seed_tgmm_existing", "tgmm_bf16_existing", [5, 6, 0, 5], 16, 11, 9, dtype=bf16, out=bf16, existing=True
)
tgmm_case(
    "seed_tgmm_existing_shard", "tgmm_f32", [5, 6, 0, 5], 16, 9, 8, (8, 4, 8), offset=2, shard=2, existing=True,
    add_existing=True,
)  # fmt: skip
