"""f32 products against OpenBLAS and MKL."""

from questions.families import matmul

TITLE = "f32 products"
KERNELS = ["mm_f32"]


def cases(cores, peers, quick):
    for shape in matmul.QUICK if quick else matmul.SHAPES:
        m = shape[0]
        goal = 1.5 if m in (8, 32) else 1.05 if min(shape) >= 512 else 1.0
        yield matmul.case("mm_f32", "f32", shape, cores, peers, goal, of_peak=0.95 if min(shape) >= 1024 else None)
