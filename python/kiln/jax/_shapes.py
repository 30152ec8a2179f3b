"""One compiled kernel for calls that differ in their sizes alone.

The first call of a Pallas kernel compiles the spec of its own sizes. The second, of other sizes, compiles the one spec that
both are instances of, if there is one, and later calls use it: each is compared with its own spec first, number by number.
"""

from __future__ import annotations

import functools
import re
import threading
from dataclasses import dataclass, field

from .. import errors
from ..kernel import Kernel, compile
from ..pallas import Spec
from ..pallas.dimensions import CannotGeneralise, generalise
from ._call import Dims

#: So many specs of a kernel at other sizes are compared with a new one.
_KEPT = 4


@dataclass
class _Family:
    """Specs that are the same but for their numbers."""

    specs: list[Spec] = field(default_factory=list)
    refused: set[str] = field(default_factory=set)  # texts for any size that the checker does not accept


_families: dict[str, _Family] = {}
_lock = threading.Lock()


def kernel_of(spec: Spec) -> tuple[Kernel, Dims]:
    """The kernel that computes a spec, and the dimensions that its inputs do not determine."""
    with _lock:
        family = _families.setdefault(_skeleton(spec.text), _Family())
        others = [s for s in family.specs if s.text != spec.text]
        if not family.specs or family.specs[0].text != spec.text:
            found = _general(family, [*others, spec]) if others else None
            if len(others) == len(family.specs) < _KEPT:
                family.specs.append(spec)
            if found is not None:
                return found
        return _checked(spec.text), ()


def _general(family: _Family, specs: list[Spec]) -> tuple[Kernel, Dims] | None:
    try:
        general, sizes = generalise(specs)
    except CannotGeneralise:
        return None
    if general.text in family.refused:
        return None
    try:
        kernel = _checked(general.text)
    except errors.Error:
        family.refused.add(general.text)
        return None
    told = {size.dim for argument in kernel.signature.inputs for size in argument.shape}
    return kernel, tuple((name, n) for name, n in sizes[-1].items() if name not in told)


def _skeleton(text: str) -> str:
    """Without numbers, and without comments, which have lines of Python."""
    return re.sub(r"\d+", "0", re.sub(r"#.*", "", text))


@functools.lru_cache(4096)
def _checked(text: str) -> Kernel:
    return compile(text)
