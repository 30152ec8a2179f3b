"""The import itself: functions to specs, and one `pallas_call` to one spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .._jax_releases import reading_jax
from . import passes, tracing
from .cannot import NoOutputs, Place
from .equations import PipelineInside
from .grids import Call
from .ir import Kernel
from .printing import print_spec
from .read import read


@dataclass(frozen=True)
class Spec:
    """An imported call. `operands` and `results` say what the kernel's arguments are, in the kernel's order: operand
    number k of the `pallas_call` (with the steps of a dynamic grid in front, as JAX has them), then results."""

    name: str
    text: str
    operands: tuple[int, ...]
    results: tuple[int, ...]  # those that are missing were dead and have become scratch
    scalars: tuple[int, ...]  # which of the operands are passed by value, as i32
    aliases: dict[int, int]  # operand -> the result that takes over its memory
    arguments: tuple[str, ...]  # names: of the operands, then of the results
    prefetch: tuple[str, ...]
    result_types: tuple[tuple[tuple[int, ...], Any], ...]  # of all results of the call
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)  # of arguments that the kernel has in another one
    places: dict[int, Place] = field(default_factory=dict, repr=False)  # line of the text -> line of Python
    notes: tuple[str, ...] = ()  # what is not said as Pallas has it
    place: Place | None = None  # of the call

    def taken(self, name: str, array: Any) -> Any:
        """An argument as the kernel takes it."""
        return array.reshape(self.shapes[name]) if name in self.shapes else array

    def __str__(self) -> str:
        return self.text

    def place_of(self, line: int) -> Place | None:
        """The line of Python that a line of the text is from, or the one before it that has one."""
        while line > 0 and line not in self.places:
            line -= 1
        return self.places.get(line, self.place)


def to_specs(f: Callable[..., Any], *args: Any, init_undefined: bool = False) -> list[Spec]:
    """One spec for each `pallas_call` that f makes on args: arrays, or what has a shape and a dtype.

    Pallas lets a kernel leave parts of its outputs unwritten. A spec has to say so: `init_undefined` does."""
    expanded: list[Call] | None = None
    specs = []
    for k, call in enumerate(tracing.calls(f, args)):
        try:
            specs.append(from_call(call.params, live=call.live, place=call.place, init_undefined=init_undefined))
        except PipelineInside:
            expanded = expanded or tracing.calls(f, args, pipelines=False)
            call = expanded[k]
            specs.append(from_call(call.params, live=call.live, place=call.place, init_undefined=init_undefined))
    return specs


def from_call(
    params: dict[str, Any],
    *,
    name: str | None = None,
    live: tuple[bool, ...] | None = None,
    place: Place | None = None,
    init_undefined: bool = False,
) -> Spec:
    """The spec of a `pallas_call` equation with these params. `live` says which results are read: others may
    become scratch. `CannotSay` if the language lacks something."""
    with reading_jax():
        kernel, names = read(params, name)
    if not kernel.outputs:
        raise NoOutputs(place or kernel.place)
    passes.run(kernel, names, live or (True,) * len(kernel.outputs))
    text, places = print_spec(kernel, names, init_undefined)
    steps, indices = len(kernel.scalars), len(kernel.prefetch)
    inputs = range(steps + indices, steps + indices + len(kernel.inputs))
    return Spec(
        name=kernel.name,
        text=text,
        operands=(*range(steps, steps + indices), *range(steps), *inputs),
        results=tuple(kernel.result_of[o.ref.name] for o in kernel.outputs),
        scalars=tuple(range(steps)),
        aliases=_aliases(kernel, steps),
        arguments=_names(kernel),
        prefetch=tuple(ref.name for ref in kernel.prefetch),
        result_types=tuple((tuple(aval.shape), aval.dtype) for aval in params["out_avals"]),
        shapes=_shapes(kernel),
        places=places,
        notes=tuple(dict.fromkeys(kernel.notes)),
        place=place,
    )


def _aliases(kernel: Kernel, steps: int) -> dict[int, int]:
    number = {o.ref.name: k for k, o in enumerate(kernel.inputs, steps + len(kernel.prefetch))}
    return {number[o.alias]: kernel.result_of[o.ref.name] for o in kernel.outputs if o.alias}


def _shapes(kernel: Kernel) -> dict[str, tuple[int, ...]]:
    return {o.ref.name: o.array for o in (*kernel.inputs, *kernel.outputs) if o.reshaped}


def _names(kernel: Kernel) -> tuple[str, ...]:
    prefetch = (ref.name for ref in kernel.prefetch)
    return (*prefetch, *kernel.scalars, *(o.ref.name for o in (*kernel.inputs, *kernel.outputs)))
