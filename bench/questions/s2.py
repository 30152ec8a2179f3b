"""Decoding with a mixture of experts: grouped products of a few rows each, so that reading the experts is the limit."""

import numpy as np

from questions.families import grouped

TITLE = "grouped products of few rows"
KERNELS = ["gmm_f32", "gmm_bf16", "gmm_i8"]
_K, _N = 2048, 1408


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16", "i8"):
        for groups in (16,) if quick else (8, 16, 64):
            for most in (4,) if quick else (1, 4, 16):
                sizes = few_rows(groups, most)
                label = f"{dtype} {groups} groups of 1 to {most} rows, {int(sizes.sum())} rows in all"
                wanted = {grouped.READS: 0.9, "calls": 1.0}
                yield grouped.gmm(dtype, _K, _N, sizes, cores, peers, wanted, label, by_bytes=True)


def few_rows(groups, most, seed=5):
    """Every eighth group has none."""
    sizes = np.random.default_rng(seed).integers(1, most, groups, endpoint=True).astype("i4")
    sizes[7::8] = 0
    return sizes
