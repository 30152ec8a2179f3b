"""Constants: operations on known numbers are done here, and those that change nothing go."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ..ir import Block, Kernel, Operation, Value, definitions, replace

DTYPES: dict[str, Any] = {
    "f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i8": np.int8, "u8": np.uint8,
    "i16": np.int16, "u16": np.uint16, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "bool": np.bool_,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e8m0fnu": ml_dtypes.float8_e8m0fnu, "i4": ml_dtypes.int4, "u4": ml_dtypes.uint4,
}  # fmt: skip

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum, "neg": np.negative,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "eq": operator.eq,
    "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge, "abs": np.abs,
    "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "floor_divide": np.floor_divide, "remainder": np.remainder,
    "shift_left": lambda x, n: np.left_shift(x, n) if n < 8 * x.itemsize else x * 0,
    "shift_right_arithmetic": np.right_shift,
    "select": lambda c, a, b: a if c else b, "clamp": lambda x, low, high: np.minimum(np.maximum(x, low), high),
}  # fmt: skip
_UNSIGNED = {"shift_right_logical": lambda x, n: np.right_shift(x, n) if n < 8 * x.itemsize else x * 0}
_OF_THE_SAME = {"eq": True, "le": True, "ge": True, "ne": False, "lt": False, "gt": False}
_DIVISIONS = ("floor_divide", "remainder", "rem", "divide")


def run(kernel: Kernel, block: Block) -> None:
    while _once(block):
        pass


def _once(block: Block) -> bool:
    """Whether anything was simpler than before."""
    new: dict[Value, Value] = {}
    made = definitions(block)

    def visit(inner: Block) -> None:
        operations = []
        for operation in inner.operations:
            for each in operation.blocks:
                visit(each)
            _bare_condition(operation, made)
            taken = _taken_branch(operation)
            if taken is not None:
                operations.extend(taken.operations)
                new.update(zip(operation.outputs, taken.results, strict=True))
                continue
            simpler = _simpler(operation, made) if len(operation.outputs) == 1 and not operation.blocks else None
            if simpler is None:
                operations.append(operation)
            elif isinstance(simpler, Operation):
                operations.append(simpler)
                new[operation.output] = simpler.output
            else:
                if simpler.hint is None and simpler.constant is None:
                    simpler.hint = operation.output.hint
                new[operation.output] = simpler
        inner.operations = operations

    visit(block)
    replace(block, new)
    return bool(new)


def _bare_condition(operation: Operation, made: dict[Value, Operation]) -> None:
    """A branch takes the bool itself, and not a number made of it."""
    if operation.name == "branch" and len(operation.blocks) == 2:
        origin = made.get(operation.inputs[0])
        if origin and origin.name == "convert" and origin.inputs[0].dtype == "bool":
            operation.inputs = [origin.inputs[0]]


def _taken_branch(operation: Operation) -> Block | None:
    if operation.name != "branch" or operation.inputs[0].constant is None:
        return None
    return operation.blocks[min(max(int(operation.inputs[0].constant), 0), len(operation.blocks) - 1)]


def _simpler(operation: Operation, made: dict[Value, Operation]) -> Value | Operation | None:
    folded = _folded(operation)
    if folded is not None:
        return Value(operation.output.dtype, operation.output.shape, constant=folded)
    if operation.name in ("add", "sub") and not operation.output.is_float:
        _gathered(operation, made)
    same = _unchanged(operation, made)
    if same is None or same.shape == operation.output.shape:
        return same
    return Operation(
        "broadcast",
        [same],
        [_copy(operation.output)],
        {"dimensions": _trailing(operation, same)},
        place=operation.place,
    )


def _gathered(operation: Operation, made: dict[Value, Operation]) -> None:
    """x + a + b and x + a - b, of integers, are x and one number."""
    x, b = operation.inputs
    inner = made.get(x)
    if operation.output.dtype not in ("i32", "u32", "i64"):
        return
    if inner is None or inner.name not in ("add", "sub") or b.constant is None or x.shape != operation.output.shape:
        return
    y, a = inner.inputs
    if a.constant is None or y.constant is not None or y.shape != x.shape:
        return
    total = (a.constant if inner.name == "add" else -a.constant) + (
        b.constant if operation.name == "add" else -b.constant
    )
    if abs(total) < 2**15:
        operation.name = "add" if total >= 0 else "sub"
        operation.inputs = [y, Value(b.dtype, b.shape, constant=abs(total))]


def _trailing(operation: Operation, value: Value) -> tuple[int, ...]:
    rank = len(operation.output.shape)
    return tuple(range(rank - len(value.shape), rank))


def _copy(value: Value) -> Value:
    return Value(value.dtype, value.shape, hint=value.hint)


def _folded(operation: Operation) -> Any:
    """The number that it gives, if that is known."""
    inputs, out = operation.inputs, operation.output
    if not inputs or any(v.constant is None for v in inputs):
        return None
    if operation.name in ("broadcast", "reshape", "transpose", "slice", "tile", "dynamic_slice", "element"):
        return inputs[0].constant
    with np.errstate(all="ignore"):
        if operation.name == "convert":
            return _converted(inputs[0], out)
        numbers = [bool(v.constant) if v.dtype == "bool" else DTYPES[v.dtype](v.constant) for v in inputs]
        if operation.name in _DIVISIONS and not inputs[0].is_float:
            if int(inputs[1].constant) == 0:
                return None
            if operation.name in ("divide", "rem"):
                a, b = int(inputs[0].constant), int(inputs[1].constant)
                quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
                return DTYPES[out.dtype](quotient if operation.name == "divide" else a - quotient * b).item()
        if operation.name == "divide":
            return DTYPES[out.dtype](numbers[0] / numbers[1]).item()
        function = _FUNCTIONS.get(operation.name) or (_UNSIGNED.get(operation.name) if out.dtype[0] == "u" else None)
        if function is None:
            return None
        result = function(*numbers) if operation.name != "not" or out.dtype != "bool" else not numbers[0]
        return np.asarray(result).astype(DTYPES[out.dtype]).item()


def _converted(value: Value, out: Value) -> Any:
    if value.is_float and not out.is_float and out.dtype != "bool":
        return None if value.constant != value.constant or abs(value.constant) > 2**30 else int(value.constant)
    return np.asarray(value.constant).astype(DTYPES[value.dtype]).astype(DTYPES[out.dtype]).item()


def _element(array: Value, at: tuple[int, ...], made: dict[Value, Operation]) -> Value | None:
    """The scalar that an array has at a place, where the array is put together of scalars."""
    origin = made.get(array)
    if not array.shape or origin is None:
        return None if array.shape else array
    if origin.name == "concat":
        *front, k = at[: origin["axis"] + 1]
        for piece in origin.inputs:
            extent = piece.shape[origin["axis"]]
            if k < extent:
                return _element(piece, (*front, k, *at[len(front) + 1 :]), made)
            k -= extent
    (inner, *_) = origin.inputs or [array]
    if origin.name == "reshape":
        return _element(inner, tuple(map(int, np.unravel_index(np.ravel_multi_index(at, array.shape), inner.shape))), made)
    if origin.name == "broadcast":
        places = (at[d] for d in origin["dimensions"])
        return _element(inner, tuple(0 if n == 1 else k for k, n in zip(places, inner.shape, strict=True)), made)
    return None


def _unchanged(operation: Operation, made: dict[Value, Operation]) -> Value | None:
    """The input that it gives back, if it does."""
    name, inputs, out = operation.name, operation.inputs, operation.output
    if name in ("convert", "bitcast") and inputs[0].dtype == out.dtype:
        return inputs[0]
    if name in ("broadcast", "reshape", "tile") and inputs[0].shape == out.shape:
        return inputs[0]
    if name == "transpose" and operation["axes"] == tuple(range(len(out.shape))):
        return inputs[0]
    if name == "element":
        return _element(inputs[0], operation["at"], made)
    if name == "slice" and inputs[0].shape == out.shape:
        return inputs[0]
    if name in ("reshape", "slice"):
        return _put_together(operation, made.get(inputs[0]))
    if name == "lt" and inputs[1].constant is not None and inputs[1].constant <= 0:  # from the end? positions never are
        origin = made.get(inputs[0])
        if origin and origin.name == "iota":
            return Value("bool", out.shape, constant=False)
    if name == "select":
        if inputs[0].constant is not None:
            return inputs[1] if inputs[0].constant else inputs[2]
        if inputs[1] is inputs[2]:
            return inputs[1]
        if (inputs[1].constant, inputs[2].constant) == (True, False) and out.dtype == "bool":
            return inputs[0]
    if name in _OF_THE_SAME and not inputs[0].is_float and inputs[0] is inputs[1]:
        return Value("bool", out.shape, constant=_OF_THE_SAME[name])
    if name in ("eq", "ne") and inputs[1].constant is not None:
        return _of_choice(operation, made.get(inputs[0]))
    if name == "ne" and inputs[1].constant == 0:  # a bool that went through a number
        origin = made.get(inputs[0])
        if origin and origin.name == "convert" and origin.inputs[0].dtype == "bool":
            return origin.inputs[0]
    return _neutral(name, inputs, out.dtype) if len(inputs) == 2 else None


def _of_choice(comparison: Operation, choice: Operation | None) -> Value | None:
    """A number compared with a choice of two others: it says which, or neither."""
    if choice is None or choice.name != "select":
        return None
    which, *cases = choice.inputs
    number, out = comparison.inputs[1].constant, comparison.output
    if any(c.constant is None for c in cases) or which.shape != out.shape:
        return None
    equal = [(c.constant == number) == (comparison.name == "eq") for c in cases]
    if equal == [True, False]:
        return which
    return Value("bool", out.shape, constant=equal[0]) if equal[0] == equal[1] else None


def _put_together(operation: Operation, origin: Operation | None) -> Value | None:
    """What had this shape before dimensions of extent 1 were added, or before it was joined to others."""
    out = operation.output
    if origin is None:
        return None
    if operation.name == "reshape":
        (whole,) = origin.inputs[:1] or (None,)
        same = whole is not None and whole.shape == out.shape and math.prod(origin.output.shape) == math.prod(out.shape)
        return whole if same and origin.name in ("reshape", "broadcast") else None
    if origin.name != "concat" or any(s != 1 for s in operation["strides"]):
        return None
    at, axis = 0, origin["axis"]
    for part in origin.inputs:
        if operation["starts"][axis] == at and part.shape == out.shape:
            return part
        at += part.shape[axis]
    return None


def _neutral(name: str, inputs: list[Value], dtype: str) -> Value | None:
    a, b = inputs
    whole = not a.is_float
    for x, other, right in ((a, b, True), (b, a, False)):
        number = other.constant
        if number is None:
            continue
        commutes = right or name in ("add", "mul", "and", "or", "xor", "max", "min")
        if not commutes:
            continue
        if name in ("add", "sub", "or", "xor") and whole and number == 0:
            return x
        if name in ("max", "min") and number == (-math.inf if name == "max" else math.inf):
            return x
        if name in ("shift_left", "shift_right_logical", "shift_right_arithmetic") and number == 0:
            return x
        if name in ("mul", "divide", "floor_divide") and number == 1 and number is not True:
            return x
        if name == "and" and dtype == "bool" and number is True:
            return x
        if dtype == "bool" and (name, number) in (("and", False), ("or", True)):
            return other
        if name in ("mul", "and") and whole and number == 0 and number is not False:
            return other
    return None
