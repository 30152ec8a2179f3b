"""What this machine can do at most, now: dots out of registers and loops over memory, on so many cores together."""

import pathlib
import platform
import statistics
import time

from kilnbench import native, race

_ROUNDS = 7
_FLOATS = 64 << 20  # of an array: past the caches


def measure(cores):
    """Operations a second by type, and bytes a second, both in 1e9. A type that the CPU has no dots of is not there."""
    probe, peaks = native.Probe(), {}
    for dtype in ("f32", "bf16", "i8"):
        calls = [probe.dots(dtype) for _ in range(cores)]
        operations = sum(count for _, count in calls)
        if operations:
            peaks[dtype] = operations / _median(native.together([call for call, _ in calls]), cores) / 1e9
    peaks["bf16"] = max(peaks["f32"], peaks.get("bf16", 0))  # in pairs or widened
    x, y, z = (native.aligned((_FLOATS,), "f32") for _ in "xyz")
    loops = [(3, probe.add(x, y, z, cores)), (2, probe.copy(x, z, cores)), (1, probe.read(x, cores))]
    bandwidth = max(arrays * x.nbytes / _median(loop, cores) for arrays, loop in loops) / 1e9
    return peaks, bandwidth


def model():
    """The CPU's name, as Linux says it."""
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "this CPU"
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), "this CPU")


def _median(function, cores):
    clock = time.process_time if cores == 1 else time.perf_counter
    function()
    return statistics.median(race.turn(function, 1, clock) for _ in range(_ROUNDS))
