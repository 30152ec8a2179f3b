"""Steps: of an axis with one step nothing is asked, and its ends are `first` and `last`."""

from __future__ import annotations

from ..ir import Block, Kernel, Operation, Value, definitions, replace, walk


def run(kernel: Kernel, block: Block) -> None:
    """What `program_id` and `num_programs` are known to be."""
    new: dict[Value, Value] = {}
    for _, operation in walk(block):
        if operation.name == "program_id" and kernel.grid[operation["axis"]] == 1:
            new[operation.output] = Value("i32", constant=0)
        elif operation.name == "num_programs" and isinstance(kernel.grid[operation["axis"]], int):
            new[operation.output] = Value("i32", constant=kernel.grid[operation["axis"]])
    for k, variable in enumerate(block.parameters):  # of an index map
        if kernel.grid[k] == 1:
            new[variable] = Value("i32", constant=0)
    replace(block, new)


def ends(kernel: Kernel, block: Block) -> None:
    """`i == 0` and `i == steps(i) - 1`."""
    made = definitions(block)
    for _, operation in walk(block):
        if operation.name != "eq":
            continue
        for a, b in (operation.inputs, list(reversed(operation.inputs))):
            step = made.get(a)
            if step is None or step.name != "program_id":
                continue
            axis = step["axis"]
            if b.constant == 0 and b.constant is not False:
                operation.name, operation.inputs, operation.attributes = "first", [], {"axis": axis}
            elif _is_last(kernel, axis, b, made):
                operation.name, operation.inputs, operation.attributes = "last", [], {"axis": axis}
            else:
                continue
            break


def _is_last(kernel: Kernel, axis: int, value: Value, made: dict[Value, Operation]) -> bool:
    steps = kernel.grid[axis]
    if isinstance(steps, int):
        return value.constant == steps - 1 and value.constant is not None
    less = made.get(value)
    if less is None or less.name not in ("sub", "add") or less.inputs[1].constant != (1 if less.name == "sub" else -1):
        return False
    count = made.get(less.inputs[0])
    return count is not None and count.name == "num_programs" and count["axis"] == axis
