"""Divisions: JAX's truncate, as `quot` and `rem` do; where nothing is negative they are `//` and `%`, and rounding up
is `cdiv`."""

from __future__ import annotations

from ..ir import Block, Kernel, Operation, Value, definitions, walk
from .ranges import Ranges


def run(kernel: Kernel, block: Block) -> None:
    ranges = Ranges(block)
    made = definitions(block)
    for _, operation in walk(block):
        if operation.name in ("divide", "rem") and not operation.inputs[0].is_float:
            _division(operation, ranges)
        if operation.name == "floor_divide" and not operation.inputs[0].is_float:
            _rounding_up(operation, made)
        elif operation.name == "neg":
            _negated(operation, made)


def _division(operation: Operation, ranges: Ranges) -> None:
    if all(map(ranges.not_negative, operation.inputs)):
        operation.name = "floor_divide" if operation.name == "divide" else "remainder"


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
