"""Dimensions of 1 that a kernel only ever subscripts with 0 are squeezed: `q[0, 0]` of a block of [1, 1, 128, 64] is `q`."""

from __future__ import annotations

from ..ir import Block, Index, Kernel, Operand, Ref, Value, Window, walk


def run(kernel: Kernel, block: Block) -> None:
    """Of blocks in VMEM and scratch; an output that takes over an input has the blocks that that has."""
    operands = {o.ref: o for o in (*kernel.inputs, *kernel.outputs) if not o.alias}
    taken = {o.alias for o in kernel.outputs if o.alias}
    uses: dict[Ref, list[Window]] = {}
    for _, operation in walk(block):
        for window in operation.windows:
            uses.setdefault(window.ref, []).append(window)
    gone: dict[Ref, list[int]] = {}
    for ref, windows in uses.items():
        operand = operands.get(ref)
        if operand is None and ref not in kernel.scratch or ref.memory != "vmem" or ref.name in taken:
            continue
        dims = [d for d, n in enumerate(ref.shape) if n == 1 and all(_is_at_zero(w, d) for w in windows)]
        dims = dims[: len(ref.shape) - 1]  # something has to stay
        if dims and (operand is None or _squeeze(operand, dims)):
            gone[ref] = dims
    for ref, dims in gone.items():
        ref.shape = _without(ref.shape, dims)
    for _, operation in walk(block):
        operation.windows = [_narrowed(w, gone[w.ref]) if w.ref in gone else w for w in operation.windows]


def _is_at_zero(window: Window, d: int) -> bool:
    if not window.steps or not isinstance(window.steps[0], Index):
        return False
    entry = window.steps[0].entries[d]
    return isinstance(entry, Value) and entry.constant == 0


def _squeeze(operand: Operand, dims: list[int]) -> bool:
    """Whether its block can: one of elements that overlap cannot."""
    assert operand.block is not None
    shown = [k for k, entry in enumerate(operand.block) if entry != "null"]
    places = [shown[d] for d in dims]
    if any(operand.block[k] != 1 for k in places):
        return False
    operand.block = tuple("null" if k in places else entry for k, entry in enumerate(operand.block))
    return True


def _without(entries: tuple, dims: list[int]) -> tuple:  # type: ignore[type-arg]
    return tuple(e for d, e in enumerate(entries) if d not in dims)


def _narrowed(window: Window, dims: list[int]) -> Window:
    first, *rest = window.steps
    assert isinstance(first, Index)
    return Window(window.ref, (Index(_without(first.entries, dims)), *rest))
