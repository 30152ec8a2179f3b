"""Scratch whose last dimension holds one value everywhere has one there: kernels for TPUs keep the largest and the sum of a
row in all 128 lanes, and a spec need not.

What is loaded keeps the shape that the jaxpr gives it, as a value that broadcasts does.
"""

from __future__ import annotations

from ..ir import Block, Index, Kernel, Operation, Range, Ref, Value, Window, walk

#: What computes each element by itself.
_ELEMENTWISE = frozenset(
    """add sub mul max min neg not and or xor eq ne lt le gt ge exp exp2 log log1p tanh erf sqrt rsqrt sin cos tan asin acos
    atan sinh cosh asinh acosh atanh erfc expm1 cbrt atan2 floor ceil abs sign pow is_finite rem sigmoid divide shift_left
    shift_right_logical shift_right_arithmetic convert select clamp floor_divide remainder integer_pow square relu silu
    softplus tile slice""".split()
)

_LANES = 128


def run(kernel: Kernel, block: Block) -> None:
    uses: dict[Ref, list[tuple[Operation, Window]]] = {}
    for _, operation in walk(block):
        for window in operation.windows:
            uses.setdefault(window.ref, []).append((operation, window))
    same = {ref for ref in kernel.scratch if ref.memory == "vmem" and ref in uses and _may_be(ref, uses[ref])}
    while same:
        varying = _Varying(block, same)
        wrong = {ref for ref in same for operation, _ in uses[ref] if any(varying.is_so(v) for v in operation.inputs)}
        if not wrong:
            break
        same -= wrong
    for _, operation in walk(block):
        operation.windows = [_of_one(w) if w.ref in same else w for w in operation.windows]
    for ref in same:
        ref.shape = (*ref.shape[:-1], 1)


def _may_be(ref: Ref, uses: list[tuple[Operation, Window]]) -> bool:
    """It is loaded and stored by one subscript at most, and stored whole in its last dimension; and a TPU's VMEM has as much
    for one column as for all."""
    if len(ref.shape) < 2 or not 1 < ref.shape[-1] <= _LANES:
        return False
    return all(
        operation.name in ("load", "store", "accumulate")
        and len(window.steps) <= 1
        and all(isinstance(step, Index) for step in window.steps)
        and (operation.name == "load" or not window.steps or _is_whole(window.steps[0], ref.shape[-1]))
        for operation, window in uses
    )


def _is_whole(index: object, extent: int) -> bool:
    last = index.entries[-1] if isinstance(index, Index) else None
    return isinstance(last, Range) and last.start.constant == 0 and (last.size, last.stride) == (extent, 1)


def _of_one(window: Window) -> Window:
    if not window.steps:
        return window
    (index,) = window.steps
    assert isinstance(index, Index)
    zero = Value("i32", constant=0)
    last = Range(zero, 1) if isinstance(index.entries[-1], Range) else zero
    return Window(window.ref, (Index((*index.entries[:-1], last)),))


class _Varying:
    """The values that may differ along their last dimension, if loads of these refs do not."""

    def __init__(self, block: Block, same: set[Ref]) -> None:
        self.same = same
        self.found: set[Value] = set()
        before = -1
        while len(self.found) != before:  # a loop's values may be found by what its turns give
            before = len(self.found)
            for _, operation in walk(block):
                self._visit(operation)

    def is_so(self, value: Value) -> bool:
        return value in self.found and value.constant is None

    def _mark(self, values: list[Value], when: bool = True) -> None:
        if when:
            self.found.update(v for v in values if v.shape and v.shape[-1] != 1)

    def _visit(self, operation: Operation) -> None:
        name, inputs, outputs = operation.name, operation.inputs, operation.outputs
        if operation.blocks:
            self._visit_blocks(operation)
        elif name == "load":
            self._mark(outputs, operation.windows[0].ref not in self.same or _loses_last(operation.windows[0]))
        elif name in _ELEMENTWISE:
            self._mark(outputs, any(self.is_so(v) for v in inputs))
        elif name == "broadcast":
            self._mark(outputs, self._varies_behind(operation))
        elif outputs:
            self._mark(outputs)

    def _varies_behind(self, broadcast: Operation) -> bool:
        """Where the last dimension is the input's own."""
        (value,), dimensions = broadcast.inputs, broadcast["dimensions"]
        last = len(broadcast.output.shape) - 1
        if last not in dimensions or value.constant is not None:
            return False
        k = dimensions.index(last)
        return value.shape[k] != 1 and (k != len(value.shape) - 1 or self.is_so(value))

    def _visit_blocks(self, operation: Operation) -> None:
        """Branches give one of their results; a loop's values are what it begins with and what a turn gives."""
        if operation.name == "branch":
            for k, output in enumerate(operation.outputs):
                self._mark([output], any(self.is_so(b.results[k]) for b in operation.blocks))
            return
        if operation.name not in ("for", "while"):
            self._mark([*operation.outputs, *(p for b in operation.blocks for p in b.parameters)])
            return
        carried = operation.inputs[2:] if operation.name == "for" else operation.inputs
        for k, (first, output) in enumerate(zip(carried, operation.outputs, strict=True)):
            parameters = [b.parameters[k - len(carried)] for b in operation.blocks]
            turned = operation.blocks[-1].results[k]
            self._mark([*parameters, output], self.is_so(first) or self.is_so(turned))


def _loses_last(window: Window) -> bool:
    """A place of the last dimension: what is then last may be anything."""
    return bool(window.steps) and not isinstance(window.steps[0].entries[-1], Range)  # type: ignore[union-attr]
