"""Reductions: where what is reduced gets its dimensions back as 1 (`x.sum(1)[:, None]`), the reduction keeps them."""

from __future__ import annotations

from ..ir import Block, Kernel, Operation, Value, replace, uses, walk

_KEEPING = ("sum", "max", "min", "prod", "all", "any", "argmax", "argmin", "mean")


def run(kernel: Kernel, block: Block) -> None:
    used = uses(block)
    takers: dict[Value, list[Operation]] = {}
    for _, operation in walk(block):
        for value in operation.used():
            takers.setdefault(value, []).append(operation)
    for inner, operation in list(walk(block)):
        if operation.name != "reduce" or operation["function"] not in _KEEPING or operation.attributes.get("keep"):
            continue
        kept = tuple(1 if k in operation["axes"] else n for k, n in enumerate(operation.inputs[0].shape))
        wanting = [t for t in takers.get(operation.output, []) if _restores(t, kept, operation["axes"])]
        if wanting and operation.output.shape != kept:
            _keep(block, inner, operation, kept, wanting, used[operation.output] - len(wanting))


def _restores(taker: Operation, kept: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    if taker.name == "reshape":
        return taker.output.shape == kept
    if taker.name == "broadcast":
        return len(taker.output.shape) == len(kept) and taker["dimensions"] == tuple(
            k for k in range(len(kept)) if k not in axes
        )
    return False


def _keep(
    whole: Block, block: Block, operation: Operation, kept: tuple[int, ...], wanting: list[Operation], others: int
) -> None:
    """The reduction with its dimensions; takers that want them take it, the others what is squeezed."""
    old = operation.output
    out = Value(old.dtype, kept, hint=old.hint)
    operation.outputs, operation.attributes = [out], {**operation.attributes, "keep": True}
    same: dict[Value, Value] = {}
    for taker in wanting:
        if taker.output.shape == kept:
            out.hint = out.hint or taker.output.hint
            same[taker.output] = out
        else:
            taker.name, taker.inputs = "broadcast", [out]
            taker.attributes = {"dimensions": tuple(range(len(kept)))}
    if others:
        at = block.operations.index(operation) + 1
        block.operations.insert(at, Operation("reshape", [out], [old], place=operation.place))
    replace(whole, same)
