"""Stores: a select between something and what is there is a store under a mask, a sum with what is there is `+=`."""

from __future__ import annotations

from ..ir import Block, Index, Kernel, Operation, Value, Window, definitions, uses, walk, written

_ACCUMULATING = {"add": "+", "sub": "-", "mul": "*"}
_WHOLE = {"f32", "f64", "i32", "i64", "u32"}  # types whose arithmetic has their own type


def run(kernel: Kernel, block: Block) -> None:
    made, used = definitions(block), uses(block)
    for inner, operation in walk(block):
        if operation.name == "store" and len(operation.inputs) == 1:
            _masked(inner, operation, made)
        if operation.name == "store" and len(operation.inputs) == 1:
            _accumulated(inner, operation, made, used)
        elif operation.name == "accumulate":
            operation.attributes.setdefault("operator", "+")


def _is_there(value: Value, window: Window, block: Block, store: Operation, made: dict[Value, Operation]) -> bool:
    """Whether the value is what the window holds just before the store, perhaps by way of wider types."""
    origin = made.get(value)
    while origin is not None and origin.name == "convert" and _widens(origin.inputs[0].dtype, origin.output.dtype):
        origin = made.get(origin.inputs[0])
    if origin is None or origin.name != "load" or not same_window(origin.windows[0], window):
        return False
    if origin not in block.operations:
        return False
    between = block.operations[block.operations.index(origin) : block.operations.index(store)]
    return not any(window.ref in written(operation) for operation in between)


_WIDER = {
    "f32": ("bf16", "f16", "f8e4m3fn", "f8e5m2", "f8e8m0fnu"),
    "f64": ("f32", "bf16", "f16", "f8e8m0fnu"),
    "bf16": ("f8e8m0fnu",),
    "i8": ("i4", "u4"),
    "u8": ("u4",),
    "i32": ("i4", "u4", "i8", "u8", "i16", "u16"),
    "i64": ("i32", "u32", "i4", "u4", "i8", "u8", "i16", "u16"),
}


def _widens(narrow: str, wide: str) -> bool:
    """Whether each value of a type is one of another, so that it comes back the same."""
    return narrow == wide or narrow in _WIDER.get(wide, ())


def same_window(a: Window, b: Window) -> bool:
    if a.ref is not b.ref:
        return False

    def key(window: Window) -> list[object]:
        steps: list[object] = []
        for step in window.steps:
            if not isinstance(step, Index):
                steps.append(step)
                continue
            entries = []
            for entry, size in zip(step.entries, window.ref.shape, strict=False):
                if isinstance(entry, Value):
                    entries.append(_same(entry))
                elif not (entry.start.constant == 0 and entry.size == size):
                    entries.append((_same(entry.start), entry.size, entry.stride))
                else:
                    entries.append("all")
            if any(e != "all" for e in entries):
                steps.append(tuple(entries))
        return steps

    return key(a) == key(b)


def _same(value: Value) -> object:
    return value.constant if value.constant is not None else value.number


def _masked(block: Block, store: Operation, made: dict[Value, Operation]) -> None:
    select = made.get(store.inputs[0])
    casts = []
    while select is not None and select.name == "convert":
        casts.append(select)
        select = made.get(select.inputs[0])
    if select is None or select.name != "select" or select.inputs[0].dtype != "bool" or not select.inputs[0].shape:
        return
    mask, new, old = select.inputs
    if not _is_there(old, store.windows[0], block, store, made):
        return
    for cast in reversed(casts):
        converted = Value(cast.output.dtype, new.shape, hint=None)
        block.operations.insert(
            block.operations.index(store), Operation("convert", [new], [converted], place=store.place)
        )
        new = converted
    store.inputs = [new, mask]


def _accumulated(block: Block, store: Operation, made: dict[Value, Operation], used: dict[Value, int]) -> None:
    value, window = store.inputs[0], store.windows[0]
    sum_ = made.get(value)
    if sum_ is None or sum_.name not in _ACCUMULATING or window.ref.dtype not in _WHOLE or used[value] != 1:
        return
    if sum_ not in block.operations:
        return
    a, b = sum_.inputs
    for old, other in ((a, b), (b, a)) if sum_.name != "sub" else ((a, b),):
        if old is not other and _is_there(old, window, block, store, made) and made[old].name == "load":
            store.name, store.inputs = "accumulate", [other]
            store.attributes = {"operator": _ACCUMULATING[sum_.name]}
            return
