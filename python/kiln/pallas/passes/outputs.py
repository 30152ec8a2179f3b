"""Outputs that nobody reads and that have one block are scratch: Pallas kernels use them so."""

from __future__ import annotations

from ..ir import Kernel, Operand


def run(kernel: Kernel, live: tuple[bool, ...]) -> None:
    if not any(live):
        return
    for output in list(kernel.outputs):
        if live[kernel.result_of[output.ref.name]] or output.alias or not _one_block(output):
            continue
        kernel.outputs.remove(output)
        kernel.scratch.append(output.ref)
        kernel.notes.append(f"nobody reads {output.ref.name}, which has one block: it is scratch")


def _one_block(output: Operand) -> bool:
    if output.ref.memory == "any":
        return False
    return output.index is None or all(result.constant is not None for result in output.index.results)
