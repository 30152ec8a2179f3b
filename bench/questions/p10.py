"""What a second core adds. In real time: other programs on the machine count."""

from kilnbench import native
from kilnbench.race import Case
from questions import matmul, p6

TITLE = "two cores over one"
KERNELS = ["mm_f32", "mm_bf16", "gmm_f32", "gmm_bf16", "add_2d", "sum_rows"]


def cases(cores, peers, peaks, quick):
    for dtype in ("f32", "bf16"):
        for shape in matmul.QUICK if quick else [(n, n, n) for n in (512, 1024, 2048, 4096)] + [(32, 4096, 4096)]:
            m, n, k = shape
            x, y = matmul.operands(m, n, k, dtype)
            yield _case(f"{dtype} {matmul.label(*shape)}", f"mm_{dtype}",
                        ((x, dtype), (y, dtype), (native.aligned((m, n), dtype), dtype)), 2.0 * m * n * k, "GF", 1.9)
        m, k, n, groups = 4096, 2048, 2048, 32
        sizes = p6.group_sizes(m, groups)
        arrays = ((sizes, "i32"), 0, (native.random((m, k), dtype, 1), dtype),
                  (native.random((groups, k, n), dtype, 2), dtype), (native.aligned((m, n), dtype), dtype))
        yield _case(f"gmm {dtype}, {groups} groups", f"gmm_{dtype}", arrays, 2.0 * m * k * n, "GF", 1.9)
    big = [native.random((8192, 8192), "f32", s) for s in (1, 2)] + [native.aligned((8192, 8192), "f32")]
    yield _case("add, 768 MiB", "add_2d", tuple((a, "f32") for a in big), 3.0 * big[0].nbytes, "GB/s", 1.0)
    yield _case("sum of rows, 256 MiB", "sum_rows", ((big[0], "f32"), (native.aligned((8192,), "f32"), "f32")),
                1.0 * big[0].nbytes, "GB/s", 1.0)


def _case(label, kernel, arguments, amount, unit, goal):
    contestants = {f"Kiln, {c} core{'s'[:c - 1]}": native.Kernel(kernel, c).bind(*arguments) for c in (1, 2)}
    return Case("P10", label, contestants, [("Kiln, 2 cores", "Kiln, 1 core", goal)], amount, unit, 2)
