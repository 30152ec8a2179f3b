"""Calls: those of functions that the language has become one operation, all others what they do."""

from __future__ import annotations

from ..ir import Block, Kernel, Operation, Value, replace

#: Jitted functions of JAX by their name, and the IR's word.
FUNCTIONS = {"floor_divide": "floor_divide", "remainder": "remainder", "mod": "remainder", "relu": "relu",
             "silu": "silu", "gelu": "gelu", "softplus": "softplus"}  # fmt: skip


def run(kernel: Kernel, block: Block) -> None:
    _inline(block)


def _inline(block: Block) -> None:
    operations: list[Operation] = []
    new: dict[Value, Value] = {}
    for operation in block.operations:
        if operation.name != "call":
            for inner in operation.blocks:
                _inline(inner)
            operations.append(operation)
            continue
        known = _known(operation)
        if known:
            operations.extend(known)
            continue
        (inner,) = operation.blocks
        _inline(inner)
        operations.extend(inner.operations)
        new.update(zip(operation.outputs, inner.results, strict=True))
        for out, result in zip(operation.outputs, inner.results, strict=True):
            result.hint = result.hint if out.hint is None else out.hint
    block.operations = operations
    replace(block, new)


def _known(call: Operation) -> list[Operation] | None:
    """The call as one operation, in front of it what brings its inputs to the result's type."""
    name = FUNCTIONS.get(call["function"])
    if name is None or len(call.outputs) != 1:
        return None
    out = call.output
    if len(call.inputs) != (2 if name in ("floor_divide", "remainder") else 1):
        return None
    if name == "gelu":
        inside = {operation.name for operation in _all(call.blocks[0])}
        name = "gelu_tanh" if "tanh" in inside else "gelu"
    operations = []
    inputs = []
    for value in call.inputs:
        if value.dtype != out.dtype:
            if value.constant is not None:
                value = Value(out.dtype, value.shape, constant=value.constant)
            else:
                converted = Value(out.dtype, value.shape)
                operations.append(Operation("convert", [value], [converted], place=call.place))
                value = converted
        inputs.append(value)
    return [*operations, Operation(name, inputs, call.outputs, place=call.place)]


def _all(block: Block) -> list[Operation]:
    return [o for operation in block.operations for o in (operation, *(i for b in operation.blocks for i in _all(b)))]
