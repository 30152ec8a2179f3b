"""What is known of the signs of integers."""

from __future__ import annotations

from ..ir import Block, Operation, Value, definitions, walk

_SAME_SIGN = {"rem", "shift_right_arithmetic", "shift_right_logical", "broadcast", "reshape", "transpose", "slice"}


class Ranges:
    """Of the values of a block; `axes` are values that count steps."""

    def __init__(self, block: Block) -> None:
        self._made = definitions(block)
        self._counters: dict[Value, Value] = {}
        for _, operation in walk(block):
            if operation.name == "for":
                self._counters[operation.blocks[0].parameters[0]] = operation.inputs[0]
        self._steps = set(block.parameters)  # of index maps
        self._known: dict[Value, bool] = {}

    def not_negative(self, value: Value) -> bool:
        if value not in self._known:
            self._known[value] = False  # of itself, on the way
            self._known[value] = self._find(value)
        return self._known[value]

    def _find(self, value: Value) -> bool:
        if value.dtype[0] == "u" or value.dtype == "bool" or value in self._steps:
            return True
        if value.constant is not None:
            return bool(value.constant >= 0)
        if value in self._counters:
            return self.not_negative(self._counters[value])
        operation = self._made.get(value)
        return operation is not None and self._of(operation)

    def _of(self, operation: Operation) -> bool:
        name, inputs = operation.name, operation.inputs
        if name in ("program_id", "num_programs", "iota", "abs", "steps"):
            return True
        if name in ("add", "mul", "min", "divide", "floor_divide", "cdiv", "or"):
            return all(map(self.not_negative, inputs))
        if name in ("max", "and"):
            return any(map(self.not_negative, inputs))
        if name == "convert":  # a large u32 is a negative i32
            wide = inputs[0].dtype == "u32" and operation.output.dtype == "i32"
            return not inputs[0].is_float and not wide and self.not_negative(inputs[0])
        if name in _SAME_SIGN:
            return not inputs[0].is_float and self.not_negative(inputs[0])
        if name == "remainder":
            return self.not_negative(inputs[1])
        if name == "clamp":
            return self.not_negative(inputs[1])
        if name == "select":
            return all(map(self.not_negative, inputs[1:]))
        return False
