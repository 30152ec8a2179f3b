"""Grouped products: what irregular groups cost over one dense product of as many operations, over a loop that calls a
library for each group, and over XLA's own grouped product."""

import numpy as np

from kilnbench import native
from kilnbench.race import FLOPS, Case, Ratio, Work
from questions import matmul

TITLE = "grouped products"
KERNELS = [f"{k}_{t}" for k in ("gmm", "tgmm", "mm") for t in ("f32", "bf16")]
_SHAPES = [(2048, 1024, 1024, 8), (4096, 2048, 2048, 32), (8192, 4096, 4096, 64)]


def group_sizes(m, groups, seed=3):
    """Irregular ones that add up to m; every fifth group is empty."""
    rng = np.random.default_rng(seed)
    weights = rng.random(groups) ** 2 * (np.arange(groups) % 5 != 4)
    sizes = np.floor(weights / weights.sum() * m).astype("i4")
    sizes[0] += m - sizes.sum()
    return sizes


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for shape in _SHAPES[:1] if quick else _SHAPES:
            yield _gmm(dtype, shape, cores, peers)
            yield _tgmm(dtype, shape, cores)


def _dense(dtype, shape, cores):
    m, k, n, _ = shape
    x, y = matmul.operands(m, n, k, dtype)
    return native.Kernel(f"mm_{dtype}", cores).bind((x, dtype), (y, dtype), (native.aligned((m, n), dtype), dtype))


def _gmm(dtype, shape, cores, peers):
    m, k, n, groups = shape
    sizes = group_sizes(m, groups)
    lhs, rhs = native.random((m, k), dtype, 1), native.random((groups, k, n), dtype, 2)
    out, other = native.aligned((m, n), dtype), native.aligned((m, n), dtype)
    contestants = {
        "Kiln": native.Kernel(f"gmm_{dtype}", cores).bind((sizes, "i32"), 0, (lhs, dtype), (rhs, dtype), (out, dtype)),
        "Kiln, dense": _dense(dtype, shape, cores),
    }
    goals = [Ratio("Kiln", "Kiln, dense", 0.95)]
    peer = peers.get("OpenBLAS" if dtype == "f32" else "torch")
    if peer is not None:
        ends = np.cumsum(sizes)
        calls = []
        for g in range(groups):
            rows = slice(ends[g] - sizes[g], ends[g])
            if sizes[g]:
                extra = (dtype,) if peer.name == "torch" else ()
                calls.append(peer.matmul(lhs[rows], rhs[g], other[rows], *extra))
        contestants[f"{peer.name}, a call a group"] = lambda: [call() for call in calls]
        goals.append(Ratio("Kiln", f"{peer.name}, a call a group", 1.0))

    ragged = _ragged_dot(lhs, rhs, sizes, dtype) if shape == _SHAPES[0] else None  # the others take it minutes
    if ragged is not None:
        contestants["XLA ragged_dot"] = ragged
        goals.append(Ratio("Kiln", "XLA ragged_dot", 10))

    def check():
        for call in contestants.values():
            call()
        a, b = matmul.as_float(out, dtype), matmul.as_float(other, dtype)
        others = {peer.name: b} if peer is not None else {}
        if ragged is not None:
            others["XLA"] = np.asarray(ragged()).astype("f8")
        for name, theirs in others.items():
            if np.abs(a - theirs).max() > 0.02 * np.abs(theirs).max():
                raise RuntimeError(f"the answers of {name} differ")
    wanted = rhs[0].nbytes * int(np.count_nonzero(sizes))  # of an empty group nothing is
    work = Work(2.0 * m * k * n, lhs.nbytes + wanted + out.nbytes, dtype)
    return Case(f"gmm {dtype} {m}x{k}x{n}, {groups} groups", contestants, goals, work.operations, FLOPS, cores, check, work)


def _ragged_dot(lhs, rhs, sizes, dtype):
    """None: there is no JAX."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    x, y = (jnp.asarray(a.view(jnp.bfloat16) if dtype == "bf16" else a) for a in (lhs, rhs))
    call, groups = jax.jit(jax.lax.ragged_dot), jnp.asarray(sizes)
    return lambda: call(x, y, groups).block_until_ready()


def _tgmm(dtype, shape, cores):
    m, k, n, groups = shape
    sizes = group_sizes(m, groups)
    lhs, rhs = native.random((m, k), dtype, 1), native.random((m, n), dtype, 2)
    out = native.aligned((groups, k, n), dtype)
    contestants = {
        "Kiln": native.Kernel(f"tgmm_{dtype}", cores).bind((sizes, "i32"), 0, (lhs, dtype), (rhs, dtype), (out, dtype)),
        "Kiln, dense": _dense(dtype, shape, cores),
    }

    def check():
        contestants["Kiln"]()
        starts = np.cumsum(sizes) - sizes
        for g in (0, groups - 2):
            rows = slice(starts[g], starts[g] + sizes[g])
            want = matmul.plain(lhs[rows], dtype).T @ matmul.plain(rhs[rows], dtype)
            matmul.compare(dtype, out[g], want, f"group {g}")
    work = Work(2.0 * m * k * n, lhs.nbytes + rhs.nbytes + out.nbytes, dtype)
    return Case(f"tgmm {dtype} {m}x{k}x{n}, {groups} groups", contestants, [Ratio("Kiln", "Kiln, dense", 0.95)],
                work.operations, FLOPS, cores, check, work)
