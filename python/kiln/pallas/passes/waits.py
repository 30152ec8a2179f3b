"""Waits that may be for more than their window has. A wait counts bytes, so that some kernels wait once for several copies,
by a window that is longer than what it is of. As waits add up, they are written as one for each row. A size that a copy
has, or that is read where copies read theirs, is that of one copy."""

from __future__ import annotations

from ..ir import Block, Index, Kernel, Operation, Range, Ref, Value, Window, definitions, walk
from .subscripts import Starts, in_front


def run(kernel: Kernel, block: Block) -> None:
    made = definitions(block)
    copied = {
        _origin(count, made) for _, operation in walk(block) if operation.name == "copy"
        for window in operation.windows for count in _counts(window)
    }  # fmt: skip
    _visit(block, made, copied)


def _origin(count: Value, made: dict[Value, Operation]) -> Value | Ref:
    operation = made.get(count)
    return operation.windows[0].ref if operation is not None and operation.name == "load" else count


def _visit(block: Block, made: dict[Value, Operation], copied: set[Value | Ref]) -> None:
    for k, operation in enumerate(block.operations):
        for inner in operation.blocks:
            _visit(inner, made, copied)
        if operation.name == "wait":
            block.operations[k] = _row_by_row(operation, made, copied)


def _counts(window: Window) -> list[Value]:
    return [entry.count for _, _, entry in _entries(window) if entry.count is not None]


def _entries(window: Window) -> list[tuple[int, int, Range]]:
    """The ranges of a window: in which step, at which place there."""
    return [
        (s, e, entry) for s, step in enumerate(window.steps) if isinstance(step, Index)
        for e, entry in enumerate(step.entries) if isinstance(entry, Range)
    ]  # fmt: skip


def _row_by_row(wait: Operation, made: dict[Value, Operation], copied: set[Value | Ref]) -> Operation:
    source, target, semaphore = wait.windows
    for s, e, entry in _entries(target):
        count = entry.count
        if count is None or _origin(count, made) in copied or _most(count, made) <= entry.size:
            continue
        row = Range(Value("i32", constant=0), 1)
        step = target.steps[s]
        assert isinstance(step, Index)
        steps = (*target.steps[:s], Index((*step.entries[:e], row, *step.entries[e + 1 :])), *target.steps[s + 1 :])
        one = Operation("wait", windows=[source, _as_many(Window(target.ref, steps)), semaphore], place=wait.place)
        body = Block([Value("i32", hint="row")], [one])
        return Operation("for", [Value("i32", constant=0), count], blocks=[body], place=wait.place)
    return wait


def _as_many(window: Window) -> Window:
    """A part of memory with as many bytes, in the shape that the memory has if there is one."""
    starts = Starts()
    moved = in_front(window, starts)
    if starts.made:
        return window
    steps = list(moved.steps)
    while steps and not isinstance(steps[-1], Index):
        steps.pop()
    return Window(window.ref, tuple(steps))


def _most(value: Value, made: dict[Value, Operation]) -> float:
    """What an integer is at most, as far as its own operations tell."""
    if value.constant is not None:
        return float(value.constant)
    operation = made.get(value)
    if operation is None:
        return float("inf")
    inputs = operation.inputs
    if operation.name == "select":
        return max(_most(each, made) for each in inputs[1:])
    if operation.name == "min":
        return min(_most(each, made) for each in inputs)
    if operation.name == "max":
        return max(_most(each, made) for each in inputs)
    if operation.name == "clamp":
        return _most(inputs[2], made)
    if operation.name == "convert":
        return 1 if inputs[0].dtype == "bool" else _most(inputs[0], made)
    return float("inf")
