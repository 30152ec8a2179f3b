"""Loops: a `scan` or `while` that counts becomes a `for` over its counter; what it carries unchanged is not carried,
and a loop of one turn is that turn.

A `for` has inputs (from, to, carried values …), and a block with the parameters (counter, carried values …).
"""

from __future__ import annotations

from ..ir import Block, Kernel, Operation, Value, replace, uses, walk


def run(kernel: Kernel, block: Block) -> None:
    _visit(block, block)


def _visit(block: Block, whole: Block) -> None:
    operations: list[Operation] = []
    new: dict[Value, Value] = {}  # results of loops that turn once or never
    for operation in block.operations:
        for inner in operation.blocks:
            _visit(inner, whole)
        for counted in _as_for(operation):
            operations.extend(_turned(counted, new))
    block.operations = operations
    replace(whole, new)
    for operation in list(block.operations):
        if operation.name in ("for", "while"):
            _drop_unchanged(operation, whole)
            _drop_unused(operation, whole)


def _counted(body: Block, k: int) -> bool:
    """Whether carried value k is one more after each turn."""
    variable, result = body.parameters[k], body.results[k]
    for operation in body.operations:
        if result in operation.outputs and operation.name == "add":
            a, b = operation.inputs
            return a is variable and b.constant == 1 or b is variable and a.constant == 1
    return False


def _counter_of(body: Block) -> int | None:
    for k, variable in enumerate(body.parameters):
        if variable.shape == () and variable.dtype in ("i32", "i64", "u32") and _counted(body, k):
            return k
    return None


def _as_for(operation: Operation) -> list[Operation]:
    if operation.name == "scan":
        return _scan(operation)
    return _while(operation) if operation.name == "while" else [operation]


def _turned(loop: Operation, new: dict[Value, Value]) -> list[Operation]:
    """What a `for` does that is known to turn once or never; else the loop itself."""
    if loop.name != "for" or any(v.constant is None for v in loop.inputs[:2]):
        return [loop]
    (body,), (start, stop, *carried) = loop.blocks, loop.inputs
    turns = stop.constant - start.constant
    if turns > 1:
        return [loop]
    if turns < 1:
        new.update(zip(loop.outputs, carried, strict=True))
        return []
    replace(body, dict(zip(body.parameters, [start, *carried], strict=True)))
    new.update(zip(loop.outputs, body.results, strict=True))
    return body.operations


def _scan(scan: Operation) -> list[Operation]:
    (body,), length = scan.blocks, scan["length"]
    k = _counter_of(body)
    if k is not None:
        start = scan.inputs[k]
        if start.constant is not None:
            stop = Value(start.dtype, constant=start.constant + length)
            return _for(scan, body, k, start, stop)
        stop = Value(start.dtype)
        end = Operation("add", [start, Value(start.dtype, constant=length)], [stop], place=scan.place)
        return [end, *_for(scan, body, k, start, stop)]
    body.parameters.insert(0, Value("i32", hint="turn"))
    inputs = [Value("i32", constant=0), Value("i32", constant=length), *scan.inputs]
    return [Operation("for", inputs, scan.outputs, blocks=[body], place=scan.place)]


def _while(loop: Operation) -> list[Operation]:
    condition, body = loop.blocks
    bound = _bound(condition, body)
    if bound is None:
        return [loop]
    k, stop = bound
    if stop in condition.parameters:
        stop = loop.inputs[condition.parameters.index(stop)]
    return _for(loop, body, k, loop.inputs[k], stop)


def _bound(condition: Block, body: Block) -> tuple[int, Value] | None:
    """Which carried value is compared with what, where the condition is `i < n` for a counter and an n that stays."""
    if len(condition.operations) != 1 or condition.operations[0].name != "lt":
        return None
    (compare,) = condition.operations
    i, n = compare.inputs
    if condition.results != [compare.output] or i not in condition.parameters:
        return None
    k = condition.parameters.index(i)
    if not _counted(body, k):
        return None
    if n in condition.parameters:
        carried = condition.parameters.index(n)
        if body.results[carried] is not body.parameters[carried]:
            return None
    return k, n


def _for(loop: Operation, body: Block, k: int, start: Value, stop: Value) -> list[Operation]:
    """The loop with carried value k as its counter, and what the counter is afterwards."""
    counter = body.parameters.pop(k)
    body.parameters.insert(0, counter)
    body.results.pop(k)
    inputs = [start, stop, *(v for j, v in enumerate(loop.inputs) if j != k)]
    outputs = [v for j, v in enumerate(loop.outputs) if j != k]
    made = Operation("for", inputs, outputs, blocks=[body], place=loop.place)
    return [made, Operation("max", [start, stop], [loop.outputs[k]], place=loop.place)]


def _carried(loop: Operation) -> tuple[int, int]:
    """Where the carried values are among the inputs, and among the parameters."""
    return (2, 1) if loop.name == "for" else (0, 0)


def _drop_unchanged(loop: Operation, whole: Block) -> None:
    first, parameter = _carried(loop)
    body = loop.blocks[-1]
    for k in reversed(range(len(body.results))):
        variable = body.parameters[parameter + k]
        initial = loop.inputs[first + k]
        result = body.results[k]
        if result is variable or result is initial or _is_same_number(result, initial):
            new = {v.parameters[parameter + k]: initial for v in loop.blocks}
            replace(whole, {loop.outputs[k]: initial})
            for block in loop.blocks:
                replace(block, new)
            _drop(loop, k)


def _is_same_number(a: Value, b: Value) -> bool:
    """Of integers: floats have two zeros."""
    return a.constant is not None and b.constant is not None and not a.is_float and bool(a.constant == b.constant)


def _drop_unused(loop: Operation, whole: Block) -> None:
    """Carried values that nobody takes but for their own next value."""
    _, parameter = _carried(loop)
    taken = uses(whole)
    *condition, body = loop.blocks
    for k in reversed(range(len(body.results))):
        variable = body.parameters[parameter + k]
        if taken.get(loop.outputs[k]) or any(taken.get(b.parameters[k]) for b in condition):
            continue
        feeding = {variable}
        for _, operation in walk(body):
            taking = (*operation.used(), *(r for b in operation.blocks for r in b.results))
            if any(v in feeding for v in taking):
                if operation.blocks or not operation.outputs:
                    break
                feeding.update(operation.outputs)
        else:
            if not any(r in feeding for j, r in enumerate(body.results) if j != k):
                _drop(loop, k)


def _drop(loop: Operation, k: int) -> None:
    first, parameter = _carried(loop)
    loop.inputs.pop(first + k)
    loop.outputs.pop(k)
    for block in loop.blocks:
        block.parameters.pop(parameter + k)
    loop.blocks[-1].results.pop(k)
