"""Transposed operands cost what the others cost."""

from kilnbench import native
from kilnbench.race import FLOPS, Case, Ratio
from questions.families import matmul

TITLE = "transposed operands"
KERNELS = [f"mm_{t}{k}" for t in ("f32", "bf16") for k in ("", "_xt", "_yt")]


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for n in (1024,) if quick else (512, 1024, 2048):
            contestants, checks = {}, []
            for name, kernel, flags in (("Kiln", "", (False, False)), ("Kiln, x.T", "_xt", (True, False)),
                                        ("Kiln, y.T", "_yt", (False, True))):
                x, y = matmul.operands(n, n, n, dtype, *flags)
                z = native.aligned((n, n), dtype)
                bound = native.Kernel(f"mm_{dtype}{kernel}", cores).bind((x, dtype), (y, dtype), (z, dtype))
                contestants[name] = bound
                checks.append((bound, z, plain_product(dtype, x, y, *flags), name))
            goals = [Ratio("Kiln, x.T", "Kiln", 0.97), Ratio("Kiln, y.T", "Kiln", 0.97)]
            yield Case(f"{dtype} {n}^3", contestants, goals, 2.0 * n**3, FLOPS, cores,
                       lambda dtype=dtype, checks=checks: check(dtype, checks), matmul.work(dtype, n, n, n))


def plain_product(dtype, x, y, lhs_transposed, rhs_transposed):
    x, y = matmul.plain(x, dtype), matmul.plain(y, dtype)
    return (x.T if lhs_transposed else x) @ (y.T if rhs_transposed else y)


def check(dtype, checks):
    for call, z, want, name in checks:
        call()
        matmul.compare(dtype, z, want, name)
