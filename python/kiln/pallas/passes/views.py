"""Memory that is copied in another shape than it is declared in has that shape: a copy has no word for a reshape, and what
the caller hands over can be reshaped without moving an element."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir import WRITES, Index, Kernel, Operand, Operation, Range, Ref, Reshape, Value, Window, walk, written
from ..source import Names


def run(kernel: Kernel, names: Names) -> None:
    _write_outputs(kernel, names)
    for refs, operands in _memories(kernel):
        shape = _copied_as(kernel, refs)
        if shape is not None and all(_may_change(*use) for use in _uses(kernel, refs)):
            _change(kernel, refs, shape)
            for operand in operands:
                operand.array, operand.reshaped = shape, True


def _write_outputs(kernel: Kernel, names: Names) -> None:
    """Where an output in HBM takes over an input's memory, a kernel may write it by the input's name, which it gets."""
    changed = {ref for operation in kernel.body.operations for ref in written(operation)}
    by_name = {operand.ref.name: operand.ref for operand in kernel.inputs}
    for output in kernel.outputs:
        taken = by_name.get(output.alias or "")
        if taken is None or taken not in changed or output.ref.memory != "any":
            continue
        for _, operation in walk(kernel.body):
            operation.windows = [Window(output.ref, w.steps) if w.ref is taken else w for w in operation.windows]
        kernel.result_of[taken.name] = kernel.result_of.pop(output.ref.name)
        output.ref.name = taken.name
        taken.name = output.alias = names.fresh(f"{taken.name}_before")


def _memories(kernel: Kernel) -> Iterator[tuple[list[Ref], list[Operand]]]:
    """Refs that are one memory, with the operands among them: an output in HBM and what it takes over, or scratch."""
    outputs = [operand for operand in kernel.outputs if operand.ref.memory == "any"]
    taken = {operand.alias: operand for operand in outputs}
    for operand in kernel.inputs:
        if operand.ref.memory == "any":
            same = [operand, *filter(None, [taken.pop(operand.ref.name, None)])]
            yield [o.ref for o in same], same
    for operand in taken.values():
        if operand.alias is None:
            yield [operand.ref], [operand]
    for ref in kernel.scratch:
        if ref.memory in ("vmem", "smem"):
            yield [ref], []


def _uses(kernel: Kernel, refs: list[Ref]) -> Iterator[tuple[Operation, Window]]:
    for _, operation in walk(kernel.body):
        for window in operation.windows:
            if window.ref in refs:
                yield operation, window


def _copied_as(kernel: Kernel, refs: list[Ref]) -> tuple[int, ...] | None:
    """The one shape that copies see the memory in."""
    shapes = {_reshaped(window) for operation, window in _uses(kernel, refs) if operation.name in ("copy", "wait")}
    return shapes.pop() if len(shapes) == 1 else None


def _reshaped(window: Window) -> tuple[int, ...] | None:
    return window.steps[0].shape if window.steps and isinstance(window.steps[0], Reshape) else None


def _may_change(operation: Operation, window: Window) -> bool:
    """Loads can reshape what they load, and stores of everything what they store."""
    if operation.name in ("store", "accumulate"):
        return _is_everything(window) and len(operation.inputs) == 1
    return operation.name not in WRITES or _reshaped(window) is not None


def _is_everything(window: Window) -> bool:
    """`ref[...]`, which some releases of JAX spell out."""
    return not window.steps or (
        len(window.steps) == 1
        and isinstance(window.steps[0], Index)
        and all(
            isinstance(e, Range) and (e.start.constant, e.size, e.stride) == (0, n, 1)
            for e, n in zip(window.steps[0].entries, window.ref.shape, strict=True)
        )
    )


def _change(kernel: Kernel, refs: list[Ref], shape: tuple[int, ...]) -> None:
    old = refs[0].shape
    for block, operation in list(walk(kernel.body)):
        if not any(window.ref in refs for window in operation.windows):
            continue
        if operation.name in ("store", "accumulate"):
            (value,) = operation.inputs
            stored = Value(value.dtype, shape, constant=value.constant)
            if value.constant is None:
                reshape = Operation("reshape", [value], [stored], place=operation.place)
                block.operations.insert(block.operations.index(operation), reshape)
            operation.inputs = [stored]
            operation.windows = [Window(window.ref) for window in operation.windows]
        else:
            operation.windows = [_seen(w, shape, old) if w.ref in refs else w for w in operation.windows]
    for ref in refs:
        ref.shape = shape
        ref.array_shape = ref.array_shape and shape


def _seen(window: Window, shape: tuple[int, ...], old: tuple[int, ...]) -> Window:
    """The same part of memory that has the new shape."""
    if _reshaped(window) == shape:
        return Window(window.ref, window.steps[1:])
    return Window(window.ref, (Reshape(old), *window.steps))
