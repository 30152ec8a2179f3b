"""Operands that lie transposed cost what the others cost."""

from kilnbench import native
from kilnbench.race import FLOPS, Case, Ratio
from questions import matmul

TITLE = "transposed operands"
KERNELS = [f"mm_{t}{k}" for t in ("f32", "bf16") for k in ("", "_xt", "_yt")]


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for n in (1024,) if quick else (512, 1024, 2048):
            contestants = {}
            for name, kernel, flags in (("Kiln", "", (False, False)), ("Kiln, x.T", "_xt", (True, False)),
                                        ("Kiln, y.T", "_yt", (False, True))):
                x, y = matmul.operands(n, n, n, dtype, *flags)
                z = native.aligned((n, n), dtype)
                bound = native.Kernel(f"mm_{dtype}{kernel}", cores).bind((x, dtype), (y, dtype), (z, dtype))
                contestants[name] = bound
            goals = [Ratio("Kiln, x.T", "Kiln", 0.97), Ratio("Kiln, y.T", "Kiln", 0.97)]
            yield Case(f"{dtype} {n}^3", contestants, goals, 2.0 * n**3, FLOPS, cores, work=matmul.work(dtype, n, n, n))
