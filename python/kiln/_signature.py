"""What a kernel takes and gives, as `kiln compile --signature` tells it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import errors
from ._sizes import Size


@dataclass(frozen=True)
class Argument:
    """Of a kernel, in the order of its spec."""

    name: str
    role: str  # "input", "prefetch", "scalar" or "output"
    dtype: str  # as specs spell it: "bf16"
    shape: tuple[Size, ...]
    passed_as: str | None = None  # of scalars: the type of the C parameter
    alias: str | None = None  # the input whose memory an output takes over when it is given both

    def __str__(self) -> str:
        shape = f"[{', '.join(map(str, self.shape))}]" if self.role != "scalar" else ""
        return f"{self.name}: {self.dtype}{shape}"


@dataclass(frozen=True)
class Signature:
    """What a kernel takes and gives."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    arguments: tuple[Argument, ...]  # both, as the C function has them
    params: dict[str, str]
    doc: str
    hash: str  # of the text that is compiled
    vmap: str | None = None  # the dimension of the spec's `vmap`

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))}) -> {', '.join(map(str, self.outputs))}"

    __repr__ = __str__

    @functools.cached_property
    def open_dims(self) -> tuple[str, ...]:
        """Dimensions of outputs that the inputs do not determine: a call names them, or passes `out`."""
        told = {size.dim for a in self.inputs for size in a.shape} | {a.name for a in self.inputs if a.role == "scalar"}
        return tuple(dict.fromkeys(n for a in self.outputs for size in a.shape for n in sorted(size.names - told)))

    def output_shapes(self, *inputs: Any, **dims: int) -> list[tuple[int, ...]]:
        """From arrays (or whatever has a `shape`) and numbers; [call] where they do not decide it."""
        known = dict(dims)
        for argument, given in zip(self.inputs, inputs, strict=True):
            if argument.role == "scalar":
                if isinstance(given, (int, np.integer)):
                    known.setdefault(argument.name, int(given))
                continue
            shape = getattr(given, "shape", None)
            if shape is None or len(shape) != len(argument.shape):
                got = "no array" if shape is None else f"of rank {len(shape)}"
                raise errors.from_call(
                    "call", f"{self.name}: {argument.name} is {got}, expected rank {len(argument.shape)}"
                )
            for size, extent in zip(argument.shape, shape, strict=True):
                if size.dim:
                    known.setdefault(size.dim, extent)
        try:
            return [tuple(size.value(known) for size in output.shape) for output in self.outputs]
        except KeyError as error:
            raise errors.from_call(
                "call", f"{self.name}: the inputs do not determine {error.args[0]}: pass {error.args[0]}=… or out=…"
            ) from None
        except ZeroDivisionError:
            raise errors.from_call("call", f"{self.name}: a size divides by 0") from None


def signature_of(told: dict[str, Any]) -> Signature:
    arguments = tuple(
        Argument(
            a["name"], a["role"], a["dtype"], tuple(Size(s) for s in a["shape"]), a.get("passed_as"), a.get("alias")
        )
        for a in told["arguments"]
    )
    inputs = tuple(a for a in arguments if a.role != "output")
    outputs = tuple(a for a in arguments if a.role == "output")
    vmap = told.get("vmap", {}).get("dim")
    return Signature(told["name"], inputs, outputs, arguments, told["params"], told["doc"], told["hash"], vmap)
