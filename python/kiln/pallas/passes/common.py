"""Common values: what is computed twice from the same values is computed once. Loads only of what never changes."""

from __future__ import annotations

from typing import Any

from ..ir import Block, Index, Kernel, Operation, Range, Value, Window, has_effects, replace


def run(kernel: Kernel, block: Block) -> None:
    new: dict[Value, Value] = {}
    _visit(block, {}, new)
    replace(block, new)


def _visit(block: Block, known: dict[Any, Value], new: dict[Value, Value]) -> None:
    """Blocks know what the blocks around them have computed so far."""
    known = dict(known)
    kept = []
    for operation in block.operations:
        for inner in operation.blocks:
            _visit(inner, known, new)
        key = _key(operation, new)
        if key in known:
            old = known[key]
            new[operation.output] = old
            old.hint = old.hint or operation.output.hint
            continue
        if key is not None:
            known[key] = operation.output
        kept.append(operation)
    block.operations = kept


def _key(operation: Operation, new: dict[Value, Value]) -> Any:
    if operation.blocks or len(operation.outputs) != 1 or has_effects(operation):
        return None
    if any(window.ref.memory != "prefetch" for window in operation.windows):
        return None

    def of(value: Value) -> Any:
        value = new.get(value, value)
        if value.constant is not None:
            return value.dtype, value.shape, value.constant, str(value.constant)
        return value.number

    out = operation.output
    windows = tuple(_window(window, of) for window in operation.windows)
    attributes = tuple(sorted((k, repr(v)) for k, v in operation.attributes.items()))
    return operation.name, out.dtype, out.shape, tuple(map(of, operation.inputs)), windows, attributes


def _window(window: Window, of: Any) -> Any:
    steps: list[Any] = [window.ref.name]
    for step in window.steps:
        if isinstance(step, Index):
            steps += [(of(e.start), e.size, e.stride) if isinstance(e, Range) else of(e) for e in step.entries]
        else:
            steps.append(step)
    return tuple(steps)
