"""Prefetch arrays that the kernel writes become SMEM scratch, which the first step fills."""

from __future__ import annotations

import math

from ..cannot import CannotSay
from ..ir import Kernel, Ref, written
from ..source import Names

#: Elements are copied one by one.
LARGEST = 64


def run(kernel: Kernel, names: Names) -> None:
    changed = {ref for operation in kernel.body.operations for ref in written(operation)}
    for k, ref in enumerate(kernel.prefetch):
        if ref not in changed:
            continue
        if math.prod(ref.shape) > LARGEST:
            raise CannotSay(f"a prefetch array of {math.prod(ref.shape)} elements that the kernel writes")
        start = Ref(names.fresh(f"{ref.name}_start"), ref.dtype, ref.shape, "prefetch")
        kernel.prefetch[k] = start
        ref.memory = "smem"
        kernel.scratch.append(ref)
        kernel.prologue.append((ref, start))
        kernel.notes.append(f"{ref.name} is a prefetch array that the kernel writes: scratch that the first step fills")
