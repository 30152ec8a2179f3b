"""The scalar prefetch guide: a dynamic slice, sparse @ dense, dense @ dense under a mask."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, cdiv, close, integers, normal, rng

f32, bf16 = jnp.float32, jnp.bfloat16
TPU = pltpu.InterpretParams()


def roundings(out, terms):
    """The depth of a sum kept in f32: for a narrower output only the last rounding counts."""
    return terms if out == f32 else 1


def dynamic_slice(name, shape, starts, x, **set):
    @case(name, "specs/dynamic_slice.yaml", set=set)
    def _():
        def kernel(_, x, o):
            o[...] = x[...]

        sizes = set["bm"], set["bn"]
        o = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=1,
                grid=(1, 1),
                in_specs=[pl.BlockSpec(sizes, lambda i, j, block: (block[0], block[1]))],
                out_specs=pl.BlockSpec(sizes, lambda *_: (0, 0)),
            ),
            out_shape=jax.ShapeDtypeStruct(sizes, x.dtype),
            interpret=TPU,
        )(jnp.array([starts[0] // sizes[0], starts[1] // sizes[1]], jnp.int32), x)
        close(o, jax.lax.dynamic_slice(x, starts, sizes))
        return dict(starts=jnp.array(starts, jnp.int32), x=x), dict(o=o)


dynamic_slice("seed_dynamic_slice", (32, 32), (8, 16), integers(1, -99, 99, (32, 32)), bm=8, bn=8)
dynamic_slice("seed_dynamic_slice_f32", (29, 37), (16, 24), normal(1, (29, 37)), bm=8, bn=12, T="f32")


def sparse_dense(name, instance, dtype, tiles_m, tiles_k, m, n, k, entries, spare=0, b=8):
    """entries: (row, column) of the nonzero blocks, grouped by row. spare: unused slots behind them."""

    depth = roundings(dtype, b * tiles_k)

    @case(name, "specs/sparse_dense.yaml", instance=instance, set=dict(bm=b, bn=b, bk=b), depth=depth)
    def _():
        count = len(entries)
        idxs_i = jnp.array([i for i, _ in entries], jnp.int32)
        idxs_k = jnp.array([k for _, k in entries], jnp.int32)
        x, y = normal(1, (count, b, b), dtype), normal(2, (k, n), dtype)
        zeros = jnp.zeros((m, n), dtype)

        # As the guide's prose has it: columns are the outer loop.
        def kernel(idxs_i, idxs_k, x, y, _, o, acc):
            t = pl.program_id(1)
            at_end = t == count - 1
            row = idxs_i[t]

            @pl.when((t == 0) | (row != idxs_i[jnp.maximum(t - 1, 0)]))
            def _():
                acc[...] = jnp.zeros_like(acc)

            acc[...] += jnp.dot(x[0, :, :], y[...], preferred_element_type=f32)

            @pl.when(at_end | (row != idxs_i[jnp.minimum(t + 1, count - 1)]))
            def _():
                o[...] = acc[...].astype(o.dtype)

        def out_map(j, t, idxs_i, idxs_k):
            return idxs_i[t], j

        # The last rows of a ragged y would be padding in the kernel.
        whole_y = jnp.pad(y, ((0, tiles_k * b - k), (0, 0)))
        o = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=2,
                grid=(cdiv(n, b), count),
                in_specs=[
                    pl.BlockSpec((1, b, b), lambda j, t, *_: (t, 0, 0)),
                    pl.BlockSpec((b, b), lambda j, t, idxs_i, idxs_k: (idxs_k[t], j)),
                    pl.BlockSpec((b, b), out_map),
                ],
                out_specs=pl.BlockSpec((b, b), out_map),
                scratch_shapes=[pltpu.VMEM((b, b), f32)],
            ),
            out_shape=jax.ShapeDtypeStruct((m, n), dtype),
            input_output_aliases={4: 0},
            # TPU interpret mode cannot lower an aliased output with a ragged edge (jax 0.10.2).
            interpret=TPU if m % b == n % b == 0 else True,
        )(idxs_i, idxs_k, x, whole_y, zeros)

        dense = np.zeros((tiles_m * b, tiles_k * b))
        for (i, l), data in zip(entries, np.float64(x)):
            dense[i * b : (i + 1) * b, l * b : (l + 1) * b] = data
        close(o, dense[:m, :k] @ np.float64(y), depth=depth)

        tail = (0, spare)
        arguments = dict(
            idxs_i=jnp.pad(idxs_i, tail),
            idxs_k=jnp.pad(idxs_k, tail),
            blocks=count,
            x=jnp.pad(x, (tail, (0, 0), (0, 0))),
            y=y,
            zeros=zeros,
        )
        return arguments, dict(o=o)


GROUPED = [(0, 0), (0, 2), (2, 1), (3, 0), (3, 1), (3, 2)]
sparse_dense("seed_sparse_dense_bf16", "sparse_dense_bf16", bf16, 4, 3, 32, 24, 24, GROUPED)
sparse_dense("seed_sparse_dense_f32", "sparse_dense_f32", f32, 4, 3, 32, 16, 24, GROUPED, spare=2)
sparse_dense("seed_sparse_dense_ragged", "sparse_dense_f32", f32, 4, 3, 29, 19, 21, GROUPED)
sparse_dense("seed_sparse_dense_one_column", "sparse_dense_f32", f32, 3, 2, 24, 8, 16, [(0, 1), (1, 0), (1, 1)])


def sparsify_mask(mask, bm, bn):
    """The guide's, without its walk past the last block."""
    tiles = cdiv(mask.shape[0], bm), cdiv(mask.shape[1], bn)
    padded = np.zeros((tiles[0] * bm, tiles[1] * bn), np.int32)
    padded[: mask.shape[0], : mask.shape[1]] = mask
    block_mask, next_kind, next_i, next_j = (np.zeros(tiles, np.int32) for _ in range(4))
    kinds, following = [], (0, tiles[0] - 1, tiles[1] - 1)
    for i in reversed(range(tiles[0])):
        for j in reversed(range(tiles[1])):
            block = padded[i * bm : (i + 1) * bm, j * bn : (j + 1) * bn]
            if block.any():
                kind = next((at for at, other in enumerate(kinds) if (other == block).all()), len(kinds))
                if kind == len(kinds):
                    kinds.append(block)
                following = kind, i, j
            block_mask[i, j] = block.any()
            next_kind[i, j], next_i[i, j], next_j[i, j] = following
    return block_mask, next_kind, next_i, next_j, np.stack(kinds)


def masked_matmul(name, instance, dtype, m, n, k, mask, b=8):
    @case(name, "specs/masked_matmul.yaml", instance=instance, set=dict(bm=b, bn=b, bk=b), depth=roundings(dtype, k))
    def _():
        x, y = normal(1, (m, k), dtype), normal(2, (k, n), dtype)
        *prefetch, kinds = (jnp.array(a) for a in sparsify_mask(mask, b, b))

        def kernel(block_mask, next_kind, next_i, next_j, x, y, mask, o, acc):
            i, j, l = pl.program_id(0), pl.program_id(1), pl.program_id(2)
            last = l == pl.num_programs(2) - 1

            @pl.when(l == 0)
            def _():
                o[...] = jnp.zeros_like(o)
                acc[...] = jnp.zeros_like(acc)

            def inside(axis):
                return jax.lax.broadcasted_iota(jnp.int32, (b, b), axis) + l * b < k

            @pl.when(block_mask[i, j] != 0)
            def _():
                left, right = jnp.where(inside(1), x[...], 0), jnp.where(inside(0), y[...], 0)
                acc[...] += jnp.dot(left.astype(dtype), right.astype(dtype), preferred_element_type=f32)

                @pl.when(last)
                def _():
                    o[...] = (mask[0, ...] * acc[...]).astype(o.dtype)

        def x_map(i, j, l, block_mask, next_kind, next_i, next_j):
            return next_i[i, j], (block_mask[i, j] != 0) * l

        def y_map(i, j, l, block_mask, next_kind, next_i, next_j):
            return (block_mask[i, j] != 0) * l, next_j[i, j]

        def mask_map(i, j, l, block_mask, next_kind, *_):
            return next_kind[i, j], 0, 0

        o = pl.pallas_call(
            kernel,
            grid_spec=pltpu.PrefetchScalarGridSpec(
                num_scalar_prefetch=4,
                grid=(cdiv(m, b), cdiv(n, b), cdiv(k, b)),
                in_specs=[
                    pl.BlockSpec((b, b), x_map),
                    pl.BlockSpec((b, b), y_map),
                    pl.BlockSpec((1, b, b), mask_map),
                ],
                out_specs=pl.BlockSpec((b, b), lambda i, j, *_: (i, j)),
                scratch_shapes=[pltpu.VMEM((b, b), f32)],
            ),
            out_shape=jax.ShapeDtypeStruct((m, n), dtype),
            interpret=TPU,
        )(*prefetch, x, y, kinds)
        close(o, mask * (np.float64(x) @ np.float64(y)), depth=roundings(dtype, k))
        names = "block_mask", "next_kind", "next_i", "next_j"
        return dict(zip(names, prefetch)) | dict(x=x, y=y, mask=kinds), dict(o=o)


def scattered(m, n, b=8):
    """A mask with empty blocks at both ends of the walk and patterns that occur twice."""
    mask = np.zeros((m, n), np.int32)
    noise = rng(7).integers(0, 2, (b, b))
    for i, j in ((0, 1), (1, 1), (2, 0)):
        block = mask[i * b : (i + 1) * b, j * b : (j + 1) * b]
        block[...] = noise[: block.shape[0], : block.shape[1]]
    return mask


def triangle(m, n):
    return np.tril(np.ones((m, n), np.int32))


masked_matmul("seed_masked_matmul_bf16", "masked_matmul_bf16", bf16, 24, 24, 32, triangle(24, 24))
masked_matmul("seed_masked_matmul_f32", "masked_matmul_f32", f32, 24, 24, 16, scattered(24, 24))
masked_matmul("seed_masked_matmul_ragged", "masked_matmul_f32", f32, 29, 21, 19, scattered(29, 21))
