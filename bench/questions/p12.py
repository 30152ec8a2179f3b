"""What a call costs, and a step of the grid: of the smallest blocks, and of few enough that caches hold the arrays."""

from kilnbench import native
from kilnbench.race import NANOSECONDS, Case, Limit

TITLE = "calls and steps"
CORES = 1
KERNELS = ["add_vectors_f32", "add_steps"]
_CALLS, _STEPS = 1000, 1024


def cases(cores, peers, quick):
    probe = native.Probe()
    small = [(native.random((8,), "f32", s), "f32") for s in (1, 2, 3)]
    contestants = {"Kiln": probe.calls(native.Kernel("add_vectors_f32", 1), small, _CALLS),
                   "an empty function": probe.calls(None, small, _CALLS)}
    yield Case("a call, of 8 elements", contestants, [Limit("Kiln", 1000)], _CALLS, NANOSECONDS)
    arrays = [(native.random((_STEPS, 128), "f32", s), "f32") for s in (1, 2)]
    contestants = {name: native.Kernel("add_steps", 1, emulated=emulated).bind(*arrays)
                   for name, emulated in (("Direct", False), ("Emulated", True))}
    yield Case("a step, of a block of 128", contestants, [Limit("Direct", 60)], _STEPS, NANOSECONDS)
