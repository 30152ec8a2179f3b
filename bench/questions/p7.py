"""A block-sparse operand: how much of the tenfold is left when a tenth of its blocks is there."""

import numpy as np

from kilnbench import native
from kilnbench.race import FLOPS, Case, Ratio, Work
from questions.families import matmul

TITLE = "block-sparse times dense"
KERNELS = ["sparse_dense_512_f32", "sparse_dense_512_bf16", "mm_f32", "mm_bf16"]
_BLOCK, _DENSITY, _COLUMNS = 512, 0.1, 4096


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for n in (8192,) if quick else (8192, 16384):
            yield _case(dtype, n, cores)


def operands(dtype, n):
    """What the kernel takes, its output, the blocks that are there (their rows, their columns, themselves and B), and how
    many operations they are."""
    tiles = n // _BLOCK
    rng = np.random.default_rng(7)
    chosen = np.sort(rng.permutation(tiles * tiles)[:round(_DENSITY * tiles * tiles)])
    rows, columns = (chosen // tiles).astype("i4"), (chosen % tiles).astype("i4")
    blocks = native.random((len(chosen), _BLOCK, _BLOCK), dtype, 1)
    y, out = native.random((n, _COLUMNS), dtype, 2), native.aligned((n, _COLUMNS), dtype)
    arguments = [(rows, "i32"), (columns, "i32"), len(chosen), (blocks, dtype), (y, dtype), (out, dtype), (out, dtype)]
    return arguments, out, (rows, columns, blocks, y), 2.0 * len(chosen) * _BLOCK**2 * _COLUMNS


def _case(dtype, n, cores):
    tiles = n // _BLOCK
    arguments, out, (rows, columns, blocks, y), operations = operands(dtype, n)
    sparse = native.Kernel(f"sparse_dense_512_{dtype}", cores).bind(*arguments)
    zeros = native.aligned((n, _COLUMNS), dtype)
    dense = native.Kernel(f"mm_{dtype}", cores).bind((native.random((n, n), dtype, 3), dtype), (y, dtype), (zeros, dtype))
    most = tiles * tiles / len(rows)

    def check():
        sparse()
        row = rows[0]  # of blocks
        mine = [(blocks[b], y[columns[b] * _BLOCK:(columns[b] + 1) * _BLOCK]) for b in np.flatnonzero(rows == row)]
        want = sum(matmul.plain(block, dtype) @ matmul.plain(part, dtype) for block, part in mine)
        matmul.compare(dtype, out[row * _BLOCK:(row + 1) * _BLOCK], want, f"row {row} of blocks")
    work = Work(operations, blocks.nbytes + y.nbytes + out.nbytes, dtype)
    return Case(f"{dtype} {n}x{n} in {len(rows)} of {tiles * tiles} blocks", {"Kiln": sparse, "Kiln, dense": dense},
                [Ratio("Kiln", "Kiln, dense", 0.9 * most)], work.operations, FLOPS, cores, check, work,
                amounts={"Kiln, dense": 2.0 * n * n * _COLUMNS})
