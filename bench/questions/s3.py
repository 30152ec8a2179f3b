"""Grouped products of groups of 64 rows and more, by several vectors of sizes."""

import numpy as np

from questions.families import grouped

TITLE = "grouped products by sizes of groups"
KERNELS = [f"{k}_{t}" for k in ("gmm", "tgmm", "mm") for t in ("f32", "bf16")]
_K, _N = 2048, 2048
_SIZES = {
    "16 of 64": [64] * 16,
    "16 of 128": [128] * 16,
    "8 of 512": [512] * 8,
    "64 to 999": [64, 999, 130, 77, 512, 301, 640, 95],
    "one of 2048, 12 of 64": [2048] + [64] * 12,
}


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for name in ("16 of 128",) if quick else _SIZES:
            sizes = np.array(_SIZES[name], "i4")
            wanted = {grouped.DENSE: 0.95, "calls": 1.05}
            yield grouped.gmm(dtype, _K, _N, sizes, cores, peers, wanted, f"gmm {dtype}, {name}")
            yield grouped.tgmm(dtype, _K, _N, sizes, cores, label=f"tgmm {dtype}, {name}")
