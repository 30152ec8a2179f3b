"""Kernels that compute the gradients of a kernel, found by the names of their arguments.

A backward kernel calls the forward kernel's inputs and outputs by their names, and the gradient of `z` `dz` or `d_z`
(`do` is no name of a spec). What it puts out, `dx` or `d_x`, is the gradient of the input x."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from . import errors
from ._signature import Argument, Signature

_FLOATS = ("f8e4m3fn", "f8e5m2", "f8e8m0fnu", "bf16", "f16", "f32", "f64")


def is_float(argument: Argument) -> bool:
    """Of an array: a scalar has no gradient."""
    return argument.role != "scalar" and argument.dtype in _FLOATS


@dataclass(frozen=True)
class Source:
    """What an input of a backward kernel is given."""

    kind: str  # "input", "output" or "gradient", the one of an output
    index: int  # among the forward kernel's inputs or outputs


@dataclass(frozen=True)
class Backward:
    """One backward kernel: a source for each of its inputs, and for each output the input whose gradient it is."""

    sources: tuple[Source, ...]
    targets: tuple[int, ...]


@dataclass(frozen=True)
class Gradients:
    """All backward kernels of a forward kernel."""

    forward: Signature
    kernels: tuple[Backward, ...]

    def used(self, kind: str) -> list[int]:
        """The inputs, outputs or gradients that some backward kernel reads."""
        return sorted({s.index for kernel in self.kernels for s in kernel.sources if s.kind == kind})

    def missing(self, index: int) -> str:
        """Why the input has no gradient; empty where it has one, or no kernel could give one."""
        wanted = self.forward.inputs[index]
        if not is_float(wanted) or any(index in kernel.targets for kernel in self.kernels):
            return ""
        return (
            f"{self.forward.name}: no backward kernel gives d{wanted.name}, the gradient of {wanted.name}; "
            f"detach {wanted.name} if none is wanted"
        )


def _gradient_names(of: Argument) -> tuple[str, str]:
    return f"d{of.name}", f"d_{of.name}"


def pair(forward: Signature, backward: Sequence[Signature]) -> Gradients:
    """[call] where an argument of a backward kernel has no counterpart, or two, or one of another dtype or rank."""
    given: dict[str, list[tuple[Source, Argument]]] = {}
    for i, a in enumerate(forward.inputs):
        given.setdefault(a.name, []).append((Source("input", i), a))
    for i, a in enumerate(forward.outputs):
        given.setdefault(a.name, []).append((Source("output", i), a))
        for name in _gradient_names(a):
            given.setdefault(name, []).append((Source("gradient", i), a))
    wanted = {name: (i, a) for i, a in enumerate(forward.inputs) if is_float(a) for name in _gradient_names(a)}

    kernels = []
    taken: dict[int, str] = {}
    for signature in backward:
        sources = []
        for a in signature.inputs:
            found = given.get(a.name, [])
            if len(found) != 1:
                what = "no argument or gradient" if not found else "more than one argument or gradient"
                raise _wrong(forward, signature, f"its input {a.name} is {what} of", sorted(given))
            _check_like(forward, signature, a, found[0][1])
            sources.append(found[0][0])
        targets = []
        for a in signature.outputs:
            if a.name not in wanted:
                what = f"its output {a.name} is the gradient of no array of floats among the inputs of"
                raise _wrong(forward, signature, what, sorted(wanted))
            index, of = wanted[a.name]
            if index in taken:
                raise _wrong(forward, signature, f"its output {a.name} is one of {taken[index]} already, in the pair with")
            _check_like(forward, signature, a, of)
            taken[index] = signature.name
            targets.append(index)
        kernels.append(Backward(tuple(sources), tuple(targets)))
    return Gradients(forward, tuple(kernels))


def _check_like(forward: Signature, backward: Signature, one: Argument, other: Argument) -> None:
    if (one.dtype, len(one.shape)) != (other.dtype, len(other.shape)):
        raise _wrong(forward, backward, f"its argument {one} does not fit {other} of")


def _wrong(forward: Signature, backward: Signature, what: str, known: Sequence[str] = ()) -> errors.Error:
    list_of = f"; there are {', '.join(known)}" if known else ""
    return errors.from_call("call", f"{backward.name}: {what} {forward.name}{list_of}")
