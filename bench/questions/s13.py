"""The kernels of S5 in the emulated mode, with all its checks, beside Direct."""

from kilnbench.race import BYTES, FLOPS, Case, Ratio
from questions import s5
from questions.families import attention

TITLE = "attention on the emulated TPU"
KERNELS = s5.KERNELS


def cases(cores, peers, quick):
    for dtype in ("f32", "bf16"):
        for kind in attention.KINDS[:1] if quick else attention.KINDS:
            problem = attention.Problem(kind, dtype, 1024, 128)
            calls = {name: problem.forward(cores, emulated) for name, emulated in (("Emulated", True), ("Direct", False))}
            yield _case(problem.label, calls, (problem.o,), problem.work(2, (problem.q, problem.k, problem.v, problem.o)),
                        cores)
        problem = attention.Problem("causal", dtype, 1024, 128)
        emulated, direct = problem.backward(cores, emulated=True), problem.backward(cores)
        for place, products, name in ((0, 3, "dq"), (1, 4, "dk and dv")):
            calls = {"Emulated": emulated[place], "Direct": direct[place]}
            yield _case(f"{problem.label}, {name}", calls, emulated[2], problem.work(products, (problem.q, problem.k)), cores,
                        direct[2])
        paged = attention.Paged(dtype, batch=8, longest=1024)
        calls = {name: paged.call(cores, emulated) for name, emulated in (("Emulated", True), ("Direct", False))}
        yield _case(paged.label, calls, (paged.o,), paged.work(), cores, unit=BYTES)


def _case(label, calls, outs, work, cores, others=None, unit=FLOPS):
    """`others`: what Direct writes, where that is not what Emulated writes."""
    def check():
        calls["Direct"]()
        direct = [array.copy() for array in others or outs]
        calls["Emulated"]()
        if any((a != b).any() for a, b in zip(outs, direct)):
            raise RuntimeError("Direct and Emulated differ")
    amount = work.operations if unit is FLOPS else work.bytes
    return Case(label, calls, [Ratio("Emulated", "Direct", 0.5)], amount, unit, cores, check, work)
