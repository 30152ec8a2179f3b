"""Divisions: JAX's truncate, Kiln's floor; where both agree it is `//`, and rounding up is `cdiv`."""

from __future__ import annotations

from ..ir import Block, Kernel, Operation, Value, definitions, walk
from .ranges import Ranges


def run(kernel: Kernel, block: Block) -> None:
    ranges = Ranges(block)
    made = definitions(block)
    for inner, operation in list(walk(block)):
        if operation.name in ("divide", "rem") and not operation.inputs[0].is_float:
            _division(inner, operation, ranges)
        if operation.name == "floor_divide" and not operation.inputs[0].is_float:
            _rounding_up(operation, made)
        elif operation.name == "neg":
            _negated(operation, made)


def _division(block: Block, operation: Operation, ranges: Ranges) -> None:
    a, b = operation.inputs
    if ranges.not_negative(a) and ranges.not_negative(b):
        operation.name = "floor_divide" if operation.name == "divide" else "remainder"
    elif operation.name == "divide":
        # the dividend less its remainder divides without a rest
        remainder, multiple = Value(a.dtype, a.shape), Value(a.dtype, operation.output.shape)
        at = block.operations.index(operation)
        block.operations[at:at] = [
            Operation("rem", [a, b], [remainder], place=operation.place),
            Operation("sub", [a, remainder], [multiple], place=operation.place),
        ]
        operation.name, operation.inputs = "floor_divide", [multiple, b]


def _rounding_up(operation: Operation, made: dict[Value, Operation]) -> None:
    """(a + (b - 1)) // b"""
    total, b = operation.inputs
    add = made.get(total)
    if b.constant is None or b.constant <= 1 or add is None or add.name != "add":
        return
    for a, other in (add.inputs, reversed(add.inputs)):
        if other.constant == b.constant - 1 and a.constant is None:
            operation.name, operation.inputs = "cdiv", [a, b]
            return


def _negated(operation: Operation, made: dict[Value, Operation]) -> None:
    """-(-a // b)"""
    division = made.get(operation.inputs[0])
    if division is None or division.name != "floor_divide":
        return
    negative = made.get(division.inputs[0])
    if negative is not None and negative.name == "neg" and not negative.inputs[0].is_float:
        operation.name, operation.inputs = "cdiv", [negative.inputs[0], division.inputs[1]]
