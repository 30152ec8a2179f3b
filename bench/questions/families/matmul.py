"""What the questions about products share."""

import numpy as np

from kilnbench import native
from kilnbench.race import FLOPS, OPERATIONS, Case, Ratio, Share, Work

SQUARES = [256, 512, 1024, 2048, 4096]
SHAPES = [(n, n, n) for n in SQUARES] + [(m, 4096, 4096) for m in (1, 8, 32, 128)] + [(1000, 997, 1003)]
QUICK = [(512, 512, 512), (1024, 1024, 1024), (32, 4096, 4096)]
OUT = {"f32": "f32", "bf16": "bf16", "i8": "i32"}
_SIZES = {"f32": 4, "bf16": 2, "i8": 1, "i32": 4}
_EPS = {"f32": 2.0**-23, "bf16": 2.0**-8, "i8": 0}


def label(m, n, k):
    return f"{m}^3" if m == n == k else f"{m}x{n}x{k}"


def unit(dtype):
    return OPERATIONS if dtype == "i8" else FLOPS


def work(dtype, m, n, k):
    return Work(2.0 * m * n * k, _SIZES[dtype] * (m * k + k * n) + _SIZES[OUT[dtype]] * m * n, dtype)


def operands(m, n, k, dtype, lhs_transposed=False, rhs_transposed=False):
    x = native.random((k, m) if lhs_transposed else (m, k), dtype, 1)
    y = native.random((n, k) if rhs_transposed else (k, n), dtype, 2)
    return x, y


def as_float(array, dtype):
    return native.from_bf16(array) if dtype == "bf16" else array.astype(np.float64)


def check_close(ours, theirs, dtype, k):
    """Sums of k products of values below a half, added in different orders, and rounded to the output's type."""
    def check():
        ours[1](), theirs[1]()
        a, b = as_float(ours[0], dtype), as_float(theirs[0], dtype)
        bound = 0 if dtype == "i8" else _EPS[dtype] * np.abs(b).max() * 2 + 2.0**-23 * k * 0.25
        worst = float(np.abs(a - b).max())
        if worst > bound:
            raise RuntimeError(f"the answers differ by {worst}, more than {bound}")
    return check


def compare(dtype, ours, want, what):
    """Of answers that were rounded along different ways."""
    error, largest = np.abs(as_float(ours, dtype) - want).max(), np.abs(want).max()
    if not error <= {"f32": 1e-4, "bf16": 0.02}[dtype] * largest:
        raise RuntimeError(f"{what}: the answers differ by {error}, where the largest is {largest}")


def plain(array, dtype):
    """As numpy multiplies it."""
    return native.from_bf16(array) if dtype == "bf16" else array


def case(kernel, dtype, shape, cores, peers, goal, of_peak=None):
    """A plain product against every peer that has one; the goal holds against the best of them."""
    m, n, k = shape
    x, y = operands(m, n, k, dtype)
    z, w = native.aligned((m, n), OUT[dtype]), native.aligned((m, n), OUT[dtype])
    ours = native.Kernel(kernel, cores).bind((x, dtype), (y, dtype), (z, OUT[dtype]))
    contestants, goals = {"Kiln": ours}, [Share("Kiln", of_peak)] if of_peak else []
    for name, peer in peers.items():
        if name == "torch":
            contestants[name] = peer.matmul(x, y, w, dtype)
        elif dtype == "f32":
            contestants[name] = peer.matmul(x, y, w)
        else:
            continue
        goals.append(Ratio("Kiln", name, goal))
    first = next((f for name, f in contestants.items() if name != "Kiln"), None)
    check = check_close((z, ours), (w, first), dtype, k) if first else None
    return Case(f"{dtype} {label(*shape)}", contestants, goals, 2.0 * m * n * k, unit(dtype), cores, check,
                work(dtype, m, n, k))
