"""Blocks that data chooses: lists and masks of blocks, dynamic grids."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from calls import ints, prefetched
from harness import SPECS, case, close, integers, iota, normal

f32, bf16, u8, i32 = jnp.float32, jnp.bfloat16, jnp.uint8, jnp.int32


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
