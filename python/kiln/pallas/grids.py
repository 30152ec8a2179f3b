"""What a call says of its grid, blocks and subscripts, whatever the release of JAX: `_jax_internals.py` fills these in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .cannot import Place


@dataclass(frozen=True)
class Block:
    """One operand's block: entries, the index map's jaxpr, and how many buffers the pipeline has for it."""

    entries: tuple[str | int, ...]  # numbers are blocks, text is written as it stands
    sizes: tuple[int | None, ...]
    array: Any
    index: Any  # a closed jaxpr
    places: tuple[Any, ...]  # of its results or numbers: a start for each dimension, a size for each bounded one
    buffers: int
    axes: tuple[str, ...]  # what the index map calls the grid's axes, and what else it takes


@dataclass(frozen=True)
class Result:
    """Of an index map, by its number."""

    number: int


@dataclass(frozen=True)
class Grid:
    steps: tuple[int | None, ...]  # None: known at the call only
    vmapped: tuple[int, ...]
    semantics: tuple[str, ...]
    blocks: tuple[Block, ...]
    indices: int  # scalar-prefetch operands
    inputs: int
    outputs: int
    names: tuple[Any, ...] = ()  # of the axes, by which a kernel may ask for them; none: by number

    def axis_names(self) -> list[str]:
        """Their own, or those of the index map that has the longest ones."""
        count = len(self.steps)
        if len(self.names) == count and all(str(n).isidentifier() for n in self.names):
            return list(map(str, self.names))
        best: list[str] = []
        for block in self.blocks:
            names = block.axes[:count]
            if len(names) == count and all(n.isidentifier() for n in names):
                words = [n.strip("_") or "_" for n in names]
                if len(set(words)) == count and "_" not in words and sum(map(len, words)) > sum(map(len, best)):
                    best = words
        return best or (list("ijlt"[:count]) if count <= 4 else [f"i{k}" for k in range(count)])


@dataclass(frozen=True)
class Pipeline:
    """An `emit_pipeline` over `refs`, for which its body has `arguments`; what that and the index maps take from outside
    are pairs of a variable and an atom."""

    grid: Grid
    body: Any
    arguments: list[Any]
    of_body: list[tuple[Any, Any]]
    of_index_maps: list[list[tuple[Any, Any]]]
    refs: list[tuple[Any, list[Transform]]]


#: What may be subscripted by: ("index", entries) | ("reshape", shape) | ("transpose", axes) | ("bitcast", dtype).
Transform = tuple[str, Any]


@dataclass(frozen=True)
class Slice:
    start: Any
    size: Any
    stride: int


class Entries(list[Any]):
    """Of a subscript, with the extents that they are taken of."""

    def __init__(self, entries: Iterable[Any], extents: tuple[int, ...]) -> None:
        super().__init__(entries)
        self.extents = extents


@dataclass(frozen=True)
class Call:
    """A `pallas_call` equation: its params, whether each result is wanted, and where it is called. While it is
    lowered, `interpret` is apart from the params."""

    params: dict[str, Any]
    live: tuple[bool, ...]
    place: Place | None
    interpret: Any = None


@dataclass(frozen=True)
class Gather:
    """Of the operand's dimensions, those that indices look up, those that go along with dimensions of the indices; and
    which of the result's dimensions are the operand's other ones."""

    indexed: tuple[int, ...]
    batched: tuple[int, ...]
    batched_with: tuple[int, ...]
    collapsed: tuple[int, ...]
    offsets: tuple[int, ...]
    sizes: tuple[int, ...]
    mode: str  # "promise", "clip" or "fill"
    value: Any

    def fill(self, dtype: str) -> Any:
        """What stands for an element that there is not: JAX's own choice, unless it was given one."""
        if self.value is not None:
            return self.value
        if dtype[0] == "i":
            return -(2 ** (int(dtype[1:]) - 1))
        return 2 ** int(dtype[1:]) - 1 if dtype[0] == "u" else True if dtype == "bool" else float("nan")


@dataclass(frozen=True)
class Scatter:
    """Of the operand's dimensions, those whose place indices say, those that go along with dimensions of the indices, and
    those that the update lacks; and which of the update's dimensions are the operand's other ones."""

    indexed: tuple[int, ...]
    batched: tuple[int, ...]
    inserted: tuple[int, ...]
    window: tuple[int, ...]
    mode: str  # "promise", "clip" or "fill"
