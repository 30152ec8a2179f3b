"""Grouped products: what irregular groups cost over one dense product of as many operations, over a loop that calls a
library for each group, and over XLA's own grouped product."""

from questions.families import grouped

TITLE = "grouped products"
KERNELS = [f"{k}_{t}" for k in ("gmm", "tgmm", "mm") for t in ("f32", "bf16")]
_SHAPES = [(2048, 1024, 1024, 8), (4096, 2048, 2048, 32), (8192, 4096, 4096, 64)]


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for m, k, n, groups in _SHAPES[:1] if quick else _SHAPES:
            sizes = grouped.irregular(m, groups)
            wanted = {grouped.DENSE: 0.95, "calls": 1.0}
            if (m, k, n, groups) == _SHAPES[0]:  # the others take it minutes
                wanted[grouped.RAGGED] = 10
            yield grouped.gmm(dtype, k, n, sizes, cores, peers, wanted)
            yield grouped.tgmm(dtype, k, n, sizes, cores)
