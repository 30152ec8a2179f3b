"""What the questions about grouped products share: gmm and tgmm of some sizes of groups, beside one dense product of as
many operations, a loop that calls a library for each group, XLA's own grouped product, and a loop that reads B."""

import numpy as np

from kilnbench import native
from kilnbench.race import BYTES, Case, Ratio, Work
from questions.families import fused, matmul

DENSE, READS, RAGGED = "Kiln, dense", "a loop that reads B", "XLA ragged_dot"


def irregular(m, groups, seed=3):
    """Sizes that add up to m; every fifth group is empty."""
    rng = np.random.default_rng(seed)
    weights = rng.random(groups) ** 2 * (np.arange(groups) % 5 != 4)
    sizes = np.floor(weights / weights.sum() * m).astype("i4")
    sizes[0] += m - sizes.sum()
    return sizes


def gmm(dtype, k, n, sizes, cores, peers, wanted, label=None, by_bytes=False):
    """`wanted`: for each of DENSE, READS, RAGGED and "calls", a call of a library for each group, how many times as fast."""
    m, groups = int(sizes.sum()), len(sizes)
    out_type = matmul.OUT[dtype]
    lhs, rhs = native.random((m, k), dtype, 1), native.random((groups, k, n), dtype, 2)
    out, other = native.aligned((m, n), out_type), native.aligned((m, n), out_type)
    ours = native.Kernel(f"gmm_{dtype}", cores).bind((sizes, "i32"), 0, (lhs, dtype), (rhs, dtype), (out, out_type))
    contestants, goals, others = {"Kiln": ours}, [], {}
    filled = rhs[0].nbytes * int(np.count_nonzero(sizes))  # of an empty group nothing is wanted

    def add(name, call, least):
        contestants[name] = call
        goals.append(Ratio("Kiln", name, least))
    if DENSE in wanted:
        add(DENSE, _dense(dtype, m, n, k, cores), wanted[DENSE])
    if READS in wanted:
        add(READS, native.Probe().read(rhs.reshape(-1).view("u1")[:filled].view("f4"), cores), wanted[READS])
    calls = _calls(dtype, lhs, rhs, other, sizes, peers) if "calls" in wanted else None
    if calls:
        add(f"{calls[0]}, a call a group", calls[1], wanted["calls"])
        others[calls[0]] = lambda: matmul.as_float(other, out_type)
    if RAGGED in wanted and fused.has_jax():
        ragged = _ragged_dot(lhs, rhs, sizes, dtype)
        add(RAGGED, ragged, wanted[RAGGED])
        others["XLA"] = lambda: np.asarray(ragged()).astype("f8")

    def check():
        for call in contestants.values():
            call()
        answers = matmul.as_float(out, out_type)
        for name, theirs in others.items():
            if np.abs(answers - theirs()).max() > (0.02 if dtype != "i8" else 0) * np.abs(answers).max():
                raise RuntimeError(f"the answers of {name} differ")
    work = Work(2.0 * m * k * n, lhs.nbytes + filled + out.nbytes, dtype)
    amount, unit = (filled, BYTES) if by_bytes else (work.operations, matmul.unit(dtype))
    label = label or f"gmm {dtype} {m}x{k}x{n}, {groups} groups"
    return Case(label, contestants, goals, float(amount), unit, cores, check, work)


def _dense(dtype, m, n, k, cores):
    x, y = matmul.operands(m, n, k, dtype)
    out_type = matmul.OUT[dtype]
    return native.Kernel(f"mm_{dtype}", cores).bind((x, dtype), (y, dtype), (native.aligned((m, n), out_type), out_type))


def _calls(dtype, lhs, rhs, out, sizes, peers):
    """The library's name, and a function; None: there is no library."""
    peer = peers.get("OpenBLAS" if dtype == "f32" else "torch")
    if peer is None:
        return None
    extra, ends = (dtype,) if peer.name == "torch" else (), np.cumsum(sizes)
    calls = [peer.matmul(lhs[end - size:end], rhs[g], out[end - size:end], *extra)
             for g, (end, size) in enumerate(zip(ends, sizes)) if size]
    return peer.name, lambda: [call() for call in calls]


def _ragged_dot(lhs, rhs, sizes, dtype):
    import jax
    import jax.numpy as jnp
    x, y = (jnp.asarray(a.view(jnp.bfloat16) if dtype == "bf16" else a) for a in (lhs, rhs))
    call, groups = jax.jit(jax.lax.ragged_dot), jnp.asarray(sizes)
    return lambda: call(x, y, groups).block_until_ready()


def tgmm(dtype, k, n, sizes, cores, least=0.95, label=None):
    m, groups = int(sizes.sum()), len(sizes)
    lhs, rhs = native.random((m, k), dtype, 1), native.random((m, n), dtype, 2)
    out = native.aligned((groups, k, n), dtype)
    contestants = {
        "Kiln": native.Kernel(f"tgmm_{dtype}", cores).bind((sizes, "i32"), 0, (lhs, dtype), (rhs, dtype), (out, dtype)),
        DENSE: _dense(dtype, m, n, k, cores),
    }

    def check():
        contestants["Kiln"]()
        starts = np.cumsum(sizes) - sizes
        for g in (0, groups - 2):
            rows = slice(starts[g], starts[g] + sizes[g])
            want = matmul.plain(lhs[rows], dtype).T @ matmul.plain(rhs[rows], dtype)
            matmul.compare(dtype, out[g], want, f"group {g}")
    work = Work(2.0 * m * k * n, lhs.nbytes + rhs.nbytes + out.nbytes, dtype)
    label = label or f"tgmm {dtype} {m}x{k}x{n}, {groups} groups"
    return Case(label, contestants, [Ratio("Kiln", DENSE, least)], work.operations, matmul.unit(dtype), cores, check, work)
