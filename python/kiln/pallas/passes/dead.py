"""Dead code: what nobody takes and what has no effect goes, loads too."""

from __future__ import annotations

from ..ir import Block, Kernel, has_effects, uses


def run(kernel: Kernel, block: Block) -> None:
    while _once(block):
        pass


def _once(block: Block) -> bool:
    used = uses(block)
    gone = False

    def visit(inner: Block) -> None:
        nonlocal gone
        kept = []
        for operation in inner.operations:
            if not has_effects(operation) and not any(used.get(v) for v in operation.outputs):
                gone = True
                continue
            for each in operation.blocks:
                visit(each)
            kept.append(operation)
        inner.operations = kept

    visit(block)
    return gone
