"""What a second core adds, in real time: other programs on the machine count. Two cores of a virtual machine may be less
than twice one, so the measure is what dots out of registers gain, or, where memory is the limit, loops over it."""

from kilnbench import native
from kilnbench.race import BYTES, FLOPS, Case, Ratio
from questions.families import grouped, matmul

TITLE = "two cores over one"
CORES = 2
KERNELS = ["mm_f32", "mm_bf16", "gmm_f32", "gmm_bf16", "add_megacore", "sum_rows"]
_ONE, _TWO = "Kiln, 1 core", "Kiln, 2 cores"


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for shape in matmul.QUICK if quick else [(n, n, n) for n in (512, 1024, 2048, 4096)] + [(32, 4096, 4096)]:
            m, n, k = shape
            x, y = matmul.operands(m, n, k, dtype)
            z = native.aligned((m, n), dtype)
            contestants = both(f"mm_{dtype}", (x, dtype), (y, dtype), (z, dtype))
            yield product(f"{dtype} {matmul.label(*shape)}", contestants, 2.0 * m * n * k, z, dtype)
        m, k, n, groups = (2048, 1024, 1024, 8) if quick else (4096, 2048, 2048, 32)
        out = native.aligned((m, n), dtype)
        contestants = both(f"gmm_{dtype}", (grouped.irregular(m, groups), "i32"), 0, (native.random((m, k), dtype, 1), dtype),
                            (native.random((groups, k, n), dtype, 2), dtype), (out, dtype))
        yield product(f"gmm {dtype} {m}x{k}x{n}, {groups} groups", contestants, 2.0 * m * k * n, out, dtype)
    side, probe = 4096 if quick else 8192, native.Probe()
    x, y, z = (native.random((side, side), "f32", s) for s in (1, 2, 3))
    row = native.aligned((side,), "f32")
    contestants = both("add_megacore", (x, "f32"), (y, "f32"), (z, "f32"))
    yield _memory("add", contestants, lambda c: probe.add(x, y, z, c), 3 * x.nbytes, z)
    yield _memory("sum of rows", both("sum_rows", (x, "f32"), (row, "f32")), lambda c: probe.read(x, c), x.nbytes, row)


def by_cores(make):
    """`make` of a number of cores is a call."""
    return {name: make(cores) for cores, name in ((1, _ONE), (2, _TWO))}


def both(kernel, *arguments):
    return by_cores(lambda cores: native.Kernel(kernel, cores).bind(*arguments))


def product(label, contestants, operations, out, dtype):
    probe, check = native.Probe(), _same(contestants, out)
    dtype = dtype if probe.dots(dtype, 1)[1] else "f32"  # the CPU may have no dots of this type
    steps = int(operations / probe.dots(dtype, 1)[1])
    half = probe.dots(dtype, steps // 2)[0]
    pair = ("registers, 2 cores", "registers, 1 core")
    contestants = {**contestants, pair[1]: probe.dots(dtype, steps)[0], pair[0]: native.together([half, half])}
    return Case(label, contestants, [Ratio(_TWO, _ONE, 0.95, beside=pair)], operations, FLOPS, 2, check)


def _same(contestants, out):
    def check():
        contestants[_ONE]()
        alone = out.copy()
        out.reshape(-1)[:] = 0
        contestants[_TWO]()
        if not (out == alone).all():
            raise RuntimeError("two cores give another answer than one")
    return check


def _memory(label, contestants, stream, moved, out):
    pair = ("STREAM, 2 cores", "STREAM, 1 core")
    check = _same(contestants, out)
    contestants = {**contestants, pair[1]: stream(1), pair[0]: stream(2)}
    goals = [Ratio(_TWO, _ONE, 0.95, beside=pair)]
    return Case(f"{label}, {moved >> 20} MiB", contestants, goals, float(moved), BYTES, 2, check)
