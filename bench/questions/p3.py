"""int8 products, exact in int32, against oneDNN."""

from questions.families import matmul

TITLE = "int8 products"
KERNELS = ["mm_i8"]


def cases(cores, peers, quick):
    for shape in matmul.QUICK if quick else matmul.SHAPES:
        yield matmul.case("mm_i8", "i8", shape, cores, peers, 1.0)
