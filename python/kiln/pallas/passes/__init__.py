"""The passes between what JAX traced and the statements of a spec, in their order. Each is a function of the kernel
and of one block: the body, or an operand's index map."""

from __future__ import annotations

from collections.abc import Callable

from ..ir import Block, Kernel
from ..source import Names
from . import (
    calls,
    common,
    constants,
    dead,
    divisions,
    functions,
    lanes,
    loops,
    outputs,
    prefetch,
    reductions,
    squeezed,
    steps,
    stores,
    subscripts,
    views,
    waits,
)

Pass = Callable[[Kernel, Block], None]

#: What everything goes through; index maps up to `divisions`.
BLOCK_PASSES: list[tuple[str, Pass]] = [
    ("calls", calls.run),
    ("steps", steps.run),
    ("constants", constants.run),
    ("loops", loops.run),
    ("constants", constants.run),
    ("loops", loops.run),  # whose bounds are known only now
    ("constants", constants.run),
    ("subscripts", subscripts.run),
    ("common", common.run),
    ("constants", constants.run),  # what is compared with itself
    ("waits", waits.run),
    ("functions", functions.run),
    ("dead", dead.run),
    ("divisions", divisions.run),
    ("ends", steps.ends),
    ("reductions", reductions.run),
    ("functions", functions.run),
    ("stores", stores.run),
    ("dead", dead.run),
    ("squeezed", squeezed.run),
    ("lanes", lanes.run),
]
_BODY_ONLY = {"functions", "loops", "ends", "reductions", "stores", "subscripts", "squeezed", "lanes", "waits"}


def run(kernel: Kernel, names: Names, live: tuple[bool, ...]) -> None:
    outputs.run(kernel, live)
    prefetch.run(kernel, names)
    views.run(kernel, names)
    for name, function in BLOCK_PASSES:
        function(kernel, kernel.body)
        for operand in (*kernel.inputs, *kernel.outputs):
            if operand.index is not None and name not in _BODY_ONLY:
                function(kernel, operand.index)
