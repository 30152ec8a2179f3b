"""A lower-triangular mask of the output in blocks: half of the product need not be computed."""

import numpy as np

from kilnbench import native
from kilnbench.race import FLOPS, Case, Ratio, Work

TITLE = "dense times dense under a mask"
KERNELS = ["masked_matmul_512_f32", "masked_matmul_512_bf16", "mm_f32", "mm_bf16"]
_BLOCK = 512


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for n in (4096,) if quick else (4096, 8192):
            yield _case(dtype, n, cores)


def _maps(tiles):
    """The kind of each block (0 none, 1 all, 2 the diagonal), and for blocks without an element those of the next block
    that has some."""
    kind = np.tril(np.ones((tiles, tiles), int), -1) + 2 * np.eye(tiles, dtype=int)
    flat, following, last = kind.reshape(-1), np.zeros(tiles * tiles, int), 0
    for b in reversed(range(tiles * tiles)):
        last = b if flat[b] else last
        following[b] = last
    shaped = following.reshape(tiles, tiles)
    mask = (kind != 0).astype("i4")
    kinds = (flat[following].reshape(tiles, tiles) - 1).astype("i4")
    return mask, kinds, (shaped // tiles).astype("i4"), (shaped % tiles).astype("i4")


def _case(dtype, n, cores):
    tiles = n // _BLOCK
    mask, kinds, rows, columns = _maps(tiles)
    patterns = np.stack([np.ones((_BLOCK, _BLOCK), "i4"), np.tril(np.ones((_BLOCK, _BLOCK), "i4"))])
    x, y = native.random((n, n), dtype, 1), native.random((n, n), dtype, 2)
    out, full = native.aligned((n, n), dtype), native.aligned((n, n), dtype)
    masked = native.Kernel(f"masked_matmul_512_{dtype}", cores).bind(
        *[(a, "i32") for a in (mask, kinds, rows, columns)], (x, dtype), (y, dtype), (patterns, "i32"), (out, dtype))
    dense = native.Kernel(f"mm_{dtype}", cores).bind((x, dtype), (y, dtype), (full, dtype))

    def check():
        masked(), dense()
        if not (np.tril(full) == out).all():
            raise RuntimeError("the answers differ")
    kept = int(mask.sum())
    most = tiles * tiles / kept
    work = Work(2.0 * n**3 / most, x.nbytes + y.nbytes + out.nbytes, dtype)
    return Case(f"{dtype} {n}^3, {kept} of {tiles * tiles} blocks", {"Kiln": masked, "Kiln, dense": dense},
                [Ratio("Kiln", "Kiln, dense", 0.95 * most)], work.operations, FLOPS, cores, check, work,
                amounts={"Kiln, dense": 2.0 * n**3})
