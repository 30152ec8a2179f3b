"""What the questions about fused kernels share: the same function in PyTorch, compiled by inductor and by XLA, beside ours,
and loops that move as many bytes."""

import dataclasses
import typing

import numpy as np

from kilnbench import compiled, native
from kilnbench.race import BYTES, Case, Ratio

STREAM = "STREAM"
TORCH, INDUCTOR, XLA = "torch", "torch.compile", "XLA"
_TOLERANCE = {"f32": 1e-4, "bf16": 0.02}


@dataclasses.dataclass
class Fused:
    """A kernel and what peers compute the same with. `arrays` and `outs` are pairs of an array and its dtype; `torch` takes
    the module and a tensor for each of `arrays`, `jax` an array of JAX for each, and `want` none; they return a value for
    each of `outs`, or one alone."""
    label: str
    ours: typing.Callable
    arrays: list
    outs: list
    want: typing.Callable
    torch: typing.Callable = None
    jax: typing.Callable = None


def peers_of(fused, peers):
    """By name those that are there, and for each of them a function that gives its answers."""
    calls, answers = {}, {}
    for name, made in _makers(fused, peers.get("torch")):
        call = compiled.attempt(name, fused.label, made)
        if call:
            calls[name], answers[name] = call, getattr(call, "answers", call)
    return calls, answers


def _makers(fused, torch):
    """Names, and functions that make the peers."""
    if torch and fused.torch:
        tensors = [torch.view(*a) for a in fused.arrays]
        yield TORCH, lambda: lambda: fused.torch(torch.torch, *tensors)
        outs = [torch.view(native.aligned(array.shape, dtype), dtype) for array, dtype in fused.outs]
        yield INDUCTOR, lambda: compiled.Inductor(torch.torch, fused.torch, tensors, outs)
    if fused.jax and has_jax():
        yield XLA, lambda: compiled.Xla(fused.jax, fused.arrays, fused.outs)


def has_jax():
    try:
        import jax  # noqa: F401
    except ImportError:
        return False
    return True


def checked(fused, calls, answers):
    """A check of ours against `want`, and of each peer's answers against it, too."""
    def check():
        fused.ours()
        want = fused.want()
        want = want if isinstance(want, tuple) else (want,)
        compare("Kiln", [as_float(*out) for out in fused.outs], want, fused.outs)
        for name, answer in answers.items():
            calls[name]()
            compare(name, _floats(answer()), want, fused.outs)
    return check


def _floats(made):
    made = made if isinstance(made, (tuple, list)) else (made,)
    return [value if isinstance(value, np.ndarray) else value.float().numpy() for value in made]


def as_float(array, dtype):
    return native.from_bf16(array) if dtype == "bf16" else array


def compare(who, got, want, outs):
    for place, (a, b, (_, dtype)) in enumerate(zip(got, want, outs)):
        error, largest = np.abs(a - b).max(), np.abs(b).max()
        if not error <= _TOLERANCE[dtype] * max(1.0, largest):
            raise RuntimeError(f"the answers of {who} differ by {error} in output {place}, where the largest is {largest}")


def stream(moved, writes, cores):
    """A loop that moves so many bytes, of which so many are written: it only reads, adds two to a third, or copies."""
    probe, part = native.Probe(), lambda arrays: int(moved / 4 / arrays) // 64 * 64
    if writes < 0.1 * moved:
        return probe.read(native.random((part(1),), "f32", 7), cores)
    if writes < 0.42 * moved:
        x, y, z = (native.random((part(3),), "f32", seed) for seed in (7, 8, 9))
        return probe.add(x, y, z, cores)
    x, z = (native.random((part(2),), "f32", seed) for seed in (7, 9))
    return probe.copy(x, z, cores)


def goals(contestants, wanted):
    """Those against whoever is there; `wanted` are names and how many times as fast as they Kiln is to be."""
    return [Ratio("Kiln", name, least) for name, least in wanted.items() if name in contestants]


def memory_case(fused, peers, cores, moved, written, work, least=0.9):
    """Of a kernel that memory is to limit: beside a loop that moves the same bytes."""
    calls, answers = peers_of(fused, peers)
    contestants = {"Kiln": fused.ours, STREAM: stream(moved, written, cores), **calls}
    wanted = {STREAM: least, TORCH: 1.0, INDUCTOR: 1.0}
    return Case(fused.label, contestants, goals(contestants, wanted), float(moved), BYTES, cores,
                checked(fused, calls, answers), work)
