"""What a call costs, and a step of the grid."""

from kilnbench import native
from kilnbench.race import Case

TITLE = "calls and steps"
KERNELS = ["add_vectors_f32", "add_steps"]
_CALLS = 1000


def cases(cores, peers, peaks, quick):
    probe = native.Probe()
    small = [(native.random((8,), "f32", s), "f32") for s in (1, 2, 3)]
    kernel = native.Kernel("add_vectors_f32", 1)
    yield Case("P12", "a call of 8 elements, 1e9 a second", {"Kiln": probe.calls(kernel, small, _CALLS)}, [], _CALLS,
               "calls", 1)
    for name, cores_ in (("direct", False), ("emulated", True)):
        steps = 1 << 16
        arrays = [(native.random((steps, 128), "f32", s), "f32") for s in (1, 2)]
        call = native.Kernel("add_steps", 1, emulated=cores_).bind(*arrays)
        yield Case("P12", f"a step of a block of 128, {name}", {"Kiln": call}, [], steps, "steps", 1)
