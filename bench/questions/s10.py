"""Products from 1024 on, against what dots out of registers reach."""

from questions.families import matmul

TITLE = "large products of the peak"
KERNELS = ["mm_f32", "mm_bf16", "mm_i8"]
_SHAPES = [(1024, 1024, 1024), (2048, 2048, 2048), (1536, 4096, 1024), (1000, 3000, 2000), (4096, 4096, 4096)]


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16", "i8"):
        for shape in _SHAPES[:2] if quick else _SHAPES:
            yield matmul.case(f"mm_{dtype}", dtype, shape, cores, peers, 1.0, of_peak=0.95)
