"""A kernel between JAX and the text of its spec: values, operations and blocks, with nothing of JAX in them.

A block sees the values of the blocks around it, so branches and loops have no arguments but what they carry. An
operation is named as its jaxpr primitive is, where that has the meaning; what the passes make of it is listed in
docs/design/pallas-import.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from .cannot import Place

_numbers = itertools.count()


@dataclass(eq=False)
class Value:
    """The result of an operation, a parameter of a block, or a constant (the same one in every element)."""

    dtype: str
    shape: tuple[int, ...] = ()
    constant: Any = None
    hint: str | None = None  # the Python variable that it was assigned to
    number: int = field(default_factory=lambda: next(_numbers))

    @property
    def is_float(self) -> bool:
        return self.dtype[0] == "f" or self.dtype == "bf16"


@dataclass(eq=False)
class Ref:
    """Memory that the body reads or writes: a block of an operand, an array in SMEM, scratch, or semaphores."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    memory: str  # "vmem", "smem", "any", "prefetch" or "semaphore"
    array_shape: tuple[int, ...] | None = None  # of the array behind a block


@dataclass(frozen=True)
class Range:
    """`size` places from `start` on, every `stride`-th; with a `count` only so many, `size` at most."""

    start: Value
    size: int
    stride: int = 1
    count: Value | None = None


def from_start(entry: Value | Range, extent: int) -> Value | Range:
    """A number that counts from the end, as Python's do, counted from the start."""
    if isinstance(entry, Range) or not isinstance(entry.constant, int) or entry.constant >= 0:
        return entry
    return Value(entry.dtype, constant=entry.constant + extent)


@dataclass(frozen=True)
class Index:
    """A subscript: a scalar or a range for each dimension."""

    entries: tuple[Value | Range, ...]


@dataclass(frozen=True)
class Reshape:
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Transpose:
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Bitcast:
    dtype: str


@dataclass(frozen=True)
class Window:
    """A part of a ref: what a chain of `.at[…]`, `.reshape(…)` and so on leaves of it."""

    ref: Ref
    steps: tuple[Index | Reshape | Transpose | Bitcast, ...] = ()

    def values(self) -> Iterator[Value]:
        for step in self.steps:
            if isinstance(step, Index):
                for entry in step.entries:
                    yield entry.start if isinstance(entry, Range) else entry
                    if isinstance(entry, Range) and entry.count is not None:
                        yield entry.count

    def replaced(self, new: dict[Value, Value]) -> Window:
        def of(entry: Value | Range) -> Value | Range:
            if isinstance(entry, Range):
                count = None if entry.count is None else new.get(entry.count, entry.count)
                return Range(new.get(entry.start, entry.start), entry.size, entry.stride, count)
            return new.get(entry, entry)

        steps = tuple(Index(tuple(map(of, s.entries))) if isinstance(s, Index) else s for s in self.steps)
        return Window(self.ref, steps)

    @property
    def elements(self) -> int | None:
        """How many it has; None: that is known at run time."""
        shape: list[int | None] = list(self.ref.shape)
        for step in self.steps:
            if isinstance(step, Index):
                ranges = [e for e in step.entries if isinstance(e, Range)]
                shape = [e.size if e.count is None else None for e in ranges]
            elif isinstance(step, Reshape):
                shape = list(step.shape)
        return None if None in shape else prod(n for n in shape if n is not None)


@dataclass(eq=False)
class Block:
    parameters: list[Value] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    results: list[Value] = field(default_factory=list)


@dataclass(eq=False)
class Operation:
    name: str
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Value] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    place: Place | None = None

    def __getitem__(self, attribute: str) -> Any:
        return self.attributes[attribute]

    @property
    def output(self) -> Value:
        return self.outputs[0]

    def used(self) -> Iterator[Value]:
        """What it takes itself, without its blocks."""
        yield from self.inputs
        for window in self.windows:
            yield from window.values()


#: Operations that write: to the ref of their last window (`wait` says that what its copy wrote may be read).
WRITES = {"store": 0, "accumulate": 0, "copy": 1, "wait": 1}


@dataclass
class Operand:
    """An input or output: its array, block and index map."""

    ref: Ref
    array: tuple[int, ...]
    block: tuple[str | int, ...] | None  # numbers are blocks, text is as specs have it; None: it stays in HBM
    index: Block | None
    buffers: int = 2
    alias: str | None = None
    place: Place | None = None  # of the index map
    reshaped: bool = False  # the caller has it in another shape
    piped: bool = False  # a pipeline inside of each step of the grid walks it


@dataclass
class Kernel:
    """A whole `pallas_call`. `order` and what else a caller needs is in `Spec`."""

    name: str
    source: str
    place: Place | None  # of the function
    axes: list[str]
    grid: list[int | str]  # steps; a name is a scalar argument
    semantics: list[str]
    prefetch: list[Ref]
    scalars: list[str]
    inputs: list[Operand]
    outputs: list[Operand]
    scratch: list[Ref]
    body: Block
    vmapped: tuple[int, ...] = ()
    outside: int = 0  # so many axes are outside of the pipeline that is the body; 0: there is none, or nothing outside
    notes: list[str] = field(default_factory=list)
    prologue: list[tuple[Ref, Ref]] = field(default_factory=list)  # (to, from): copied in the first step
    result_of: dict[str, int] = field(default_factory=dict)  # output's name: which result of the call it is


def walk(block: Block) -> Iterator[tuple[Block, Operation]]:
    """All operations of a block and of those inside it, each with the block that it is in."""
    for operation in block.operations:
        yield block, operation
        for inner in operation.blocks:
            yield from walk(inner)


def definitions(block: Block) -> dict[Value, Operation]:
    return {value: operation for _, operation in walk(block) for value in operation.outputs}


def uses(block: Block) -> dict[Value, int]:
    """How often each value is taken, results of blocks included."""
    count: dict[Value, int] = {}

    def visit(inner: Block) -> None:
        for operation in inner.operations:
            for value in operation.used():
                count[value] = count.get(value, 0) + 1
            for each in operation.blocks:
                visit(each)
        for value in inner.results:
            count[value] = count.get(value, 0) + 1

    visit(block)
    return count


def replace(block: Block, new: dict[Value, Value]) -> None:
    """Puts values in the place of others, everywhere in a block."""
    if not new:
        return

    def of(value: Value) -> Value:
        while value in new:
            value = new[value]
        return value

    flat = {value: of(value) for value in new}

    def visit(inner: Block) -> None:
        for operation in inner.operations:
            operation.inputs = [flat.get(v, v) for v in operation.inputs]
            operation.windows = [w.replaced(flat) for w in operation.windows]
            for each in operation.blocks:
                visit(each)
        inner.results = [flat.get(v, v) for v in inner.results]

    visit(block)


def written(operation: Operation) -> set[Ref]:
    """The refs that an operation writes, its blocks included."""
    found = set()
    if operation.name in WRITES:
        found.add(operation.windows[WRITES[operation.name]].ref)
    for block in operation.blocks:
        for _, inner in walk(block):
            if inner.name in WRITES:
                found.add(inner.windows[WRITES[inner.name]].ref)
    return found


def has_effects(operation: Operation) -> bool:
    return operation.name in (*WRITES, "assert") or any(
        has_effects(inner) for block in operation.blocks for inner in block.operations
    )
