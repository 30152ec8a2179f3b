"""Functions: JAX spells some out that the language has a word for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import Block, Kernel, Operation, Value, definitions, uses, walk
from .constants import DTYPES

# A pattern is a number, "x" (the same value wherever it stands), or an operation's name and its inputs.
Pattern = Any
_TANH = ("tanh", ("mul", 0.7978845608, ("add", "x", ("mul", 0.044715, ("integer_pow", "x")))))

PATTERNS: dict[str, list[Pattern]] = {
    "gelu_tanh": [
        ("mul", "x", ("mul", 0.5, ("add", 1.0, _TANH))),
        ("mul", ("mul", 0.5, "x"), ("add", 1.0, _TANH)),
    ],
    "gelu": [
        ("mul", ("mul", 0.5, "x"), ("erfc", ("mul", ("neg", "x"), 0.7071067812))),
        ("mul", ("mul", 0.5, "x"), ("add", 1.0, ("erf", ("mul", "x", 0.7071067812)))),
        ("mul", ("mul", "x", 0.5), ("add", ("erf", ("divide", "x", 1.4142135624)), 1.0)),
    ],
}  # fmt: skip
_COMMUTE = ("add", "mul")


def run(kernel: Kernel, block: Block) -> None:
    made, used = definitions(block), uses(block)
    for _, operation in walk(block):
        if operation.name in ("max", "min") and operation.inputs[0].constant is not None:
            operation.inputs.reverse()
        if operation.name == "min":
            _clamped(operation, made)
        elif operation.name == "divide" and used[operation.inputs[0]] == 1:
            _mean(operation, made)
        if operation.name != "mul" or not operation.output.is_float:
            continue
        for word, patterns in PATTERNS.items():
            for pattern in patterns:
                bound: dict[str, Value] = {}
                if _matches_operation(operation, pattern, made, bound) and bound["x"].constant is None:
                    operation.name, operation.inputs, operation.attributes = word, [bound["x"]], {}
                    break


def _clamped(operation: Operation, made: dict[Value, Operation]) -> None:
    """min(max(x, low), high)"""
    x, high = operation.inputs
    inner = made.get(x)
    if high.constant is None or inner is None or inner.name != "max" or x.shape != operation.output.shape:
        return
    y, low = inner.inputs
    if low.constant is not None and y.constant is None and y.shape == x.shape:
        operation.name, operation.inputs = "clamp", [y, low, high]


def _mean(operation: Operation, made: dict[Value, Operation]) -> None:
    """sum(x) / n"""
    total, count = operation.inputs
    inner = made.get(total)
    if inner is None or inner.name != "reduce" or inner["function"] != "sum" or total.dtype not in ("f32", "f64"):
        return
    x = inner.inputs[0]
    if count.constant == math.prod(x.shape[k] for k in inner["axes"]) and x.dtype == total.dtype:
        operation.name, operation.inputs = "reduce", [x]
        operation.attributes = {**inner.attributes, "function": "mean"}


def _matches(value: Value, pattern: Pattern, made: dict[Value, Operation], bound: dict[str, Value]) -> bool:
    if pattern == "x":
        return bound.setdefault("x", value) is value
    if isinstance(pattern, float):
        return value.constant is not None and DTYPES[value.dtype](value.constant) == DTYPES[value.dtype](
            np.float32(pattern)
        )
    operation = made.get(value)
    return operation is not None and _matches_operation(operation, pattern, made, bound)


def _matches_operation(
    operation: Operation, pattern: Pattern, made: dict[Value, Operation], bound: dict[str, Value]
) -> bool:
    word, *parts = pattern
    if operation.name != word or len(operation.inputs) != len(parts):
        return False
    if word == "integer_pow" and operation["exponent"] != 3:
        return False
    orders = [operation.inputs, operation.inputs[::-1]] if word in _COMMUTE else [operation.inputs]
    for inputs in orders:
        trial = dict(bound)
        if all(_matches(v, p, made, trial) for v, p in zip(inputs, parts, strict=True)):
            bound.update(trial)
            return True
    return False
