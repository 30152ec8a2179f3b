"""bf16 products, summed in f32, against oneDNN."""

from questions.families import matmul

TITLE = "bf16 products"
KERNELS = ["mm_bf16"]


def cases(cores, peers, quick):
    for shape in matmul.QUICK if quick else matmul.SHAPES:
        goal = 1.5 if shape[0] <= 32 else 1.04 if min(shape) >= 512 else 1.0
        yield matmul.case("mm_bf16", "bf16", shape, cores, peers, goal)
