"""What an epilogue costs, and what it saves over a library's product followed by its elementwise operations."""

from kilnbench import native
from kilnbench.race import FLOPS, Case, Ratio
from questions.families import matmul

TITLE = "fused epilogues"
KERNELS = [f"mm_{t}{k}" for t in ("f32", "bf16") for k in ("", "_relu", "_gelu", "_residual")]
_SHAPES = [(512, 512, 512), (1024, 1024, 1024), (2048, 2048, 2048)]


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for shape in _SHAPES[1:2] if quick else _SHAPES:
            for fused in ("relu", "gelu", "residual"):
                yield case(dtype, shape, fused, cores, peers.get("torch"))


def case(dtype, shape, fused, cores, torch):
    m, n, k = shape
    x, y = matmul.operands(m, n, k, dtype)
    bias, residual = native.random((n,), "f32", 3), native.random((m, n), dtype, 4)
    z, w = native.aligned((m, n), dtype), native.aligned((m, n), dtype)
    rest = [(residual, dtype)] if fused == "residual" else []
    contestants = {
        "Kiln": native.Kernel(f"mm_{dtype}_{fused}", cores).bind((x, dtype), (y, dtype), (bias, "f32"), *rest, (z, dtype)),
        "Kiln, plain": native.Kernel(f"mm_{dtype}", cores).bind((x, dtype), (y, dtype), (z, dtype)),
    }
    goals = [Ratio("Kiln", "Kiln, plain", 0.97)]
    if torch is not None:
        contestants["torch"] = torch.matmul(x, y, w, dtype, fused=fused, bias=bias,
                                            residual=residual if rest else None)
        goals.append(Ratio("Kiln", "torch", 1.1))

    def check():
        contestants["Kiln"]()
        kept = z.copy()  # as the plain product goes there, too
        if torch is not None:
            contestants["torch"]()
            matmul.compare(dtype, kept, matmul.as_float(w, dtype), fused)
    return Case(f"{dtype} {matmul.label(*shape)} {fused}", contestants, goals, 2.0 * m * n * k, FLOPS, cores, check,
                matmul.work(dtype, m, n, k))
