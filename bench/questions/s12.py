"""What a second core adds where steps are not alike: ragged groups, causal attention, products of some blocks only. As in
P10 the measure is what dots out of registers gain."""

import numpy as np

from kilnbench import native
from questions import p7, p10
from questions.families import attention, grouped

TITLE = "two cores over one, of uneven work"
CORES = 2
KERNELS = [f"{kernel}_{dtype}" for dtype in ("f32", "bf16") for kernel in ("gmm", "attention_causal", "sparse_dense_512")]


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        yield _ragged(dtype)
        for width in (128,) if quick else (64, 128):
            yield _causal(dtype, width)
        yield _sparse(dtype, 4096 if quick else 8192)


def _ragged(dtype, m=4096, k=2048, n=2048):
    """One group has half of all rows."""
    sizes = np.concatenate([[m // 2], grouped.irregular(m // 2, 15)]).astype("i4")
    out = native.aligned((m, n), dtype)
    calls = p10.both(f"gmm_{dtype}", (sizes, "i32"), 0, (native.random((m, k), dtype, 1), dtype),
                     (native.random((len(sizes), k, n), dtype, 2), dtype), (out, dtype))
    return p10.product(f"gmm {dtype}, 16 groups, one with half of {m} rows", calls, 2.0 * m * k * n, out, dtype)


def _causal(dtype, width):
    problem = attention.Problem("causal", dtype, 2048, width)
    calls = p10.by_cores(problem.forward)
    return p10.product(f"attention {problem.label}", calls, problem.work(2, ()).operations, problem.o, dtype)


def _sparse(dtype, n):
    arguments, out, _, operations = p7.operands(dtype, n)
    calls = p10.both(f"sparse_dense_512_{dtype}", *arguments)
    return p10.product(f"block-sparse {dtype} {n}x{n}", calls, operations, out, dtype)
