"""Reading: loads, stores and copies."""

from __future__ import annotations

from .. import _jax_internals as jaxi
from ..cannot import CannotSay
from ..ir import Index, Range, Value, Window
from .indices import Indices


class Memory(Indices):
    """What `Equation` inherits."""

    def load(self, window: Window) -> Value:
        if window.ref.memory == "any":
            raise CannotSay("a load from HBM")
        held, repeated = _without_repeats(window)
        if not repeated:
            operation = self.emit("load", [])
            operation.windows = [window]
            return operation.output
        shape = self.eqn.outvars[0].aval.shape
        loaded = self.made("load", [], tuple(1 if k in repeated else n for k, n in enumerate(shape)), windows=[held])
        return self.emit("broadcast", [loaded], dimensions=tuple(range(len(shape)))).output

    def read_get(self) -> None:
        ref, *rest = self.eqn.invars
        transforms = jaxi.transforms_of(jaxi.flat(rest, self.params["tree"]))
        arrays = self.arrays_in(transforms)
        if arrays:
            self.load_arrays(ref, arrays)
        else:
            self.load(self.window(ref, transforms))

    def read_swap(self) -> None:
        ref, value, *rest = self.eqn.invars
        transforms = jaxi.transforms_of(jaxi.flat(rest, self.params["tree"]))
        arrays = self.arrays_in(transforms)
        stored = self.value(value)
        if arrays:
            if not isinstance(self.eqn.outvars[0], jaxi.DropVar):
                self.load_arrays(ref, arrays)
            self.store_arrays(ref, arrays, stored)
            return
        window = self.window(ref, transforms)
        if not isinstance(self.eqn.outvars[0], jaxi.DropVar):
            self.load(window)
        self.effect("store", [window], [stored])

    def read_addupdate(self) -> None:
        ref, value, *rest = self.eqn.invars
        window = self.window(ref, jaxi.transforms_of(jaxi.flat(rest, self.params["tree"])))
        self.effect("accumulate", [window], [self.value(value)])

    def read_masked_load(self) -> None:
        ref, transforms, mask, other = jaxi.flat(self.eqn.invars, self.params["args_tree"])
        window = self.window(ref, jaxi.transforms_of(transforms))
        loaded = self.load(window)
        if mask is not None:
            rest = self.value(other) if other is not None else Value(loaded.dtype, loaded.shape, constant=0)
            self.emit("select", [self.value(mask), loaded, rest])

    def read_masked_swap(self) -> None:
        ref, transforms, value, mask = jaxi.flat(self.eqn.invars, self.params["args_tree"])
        window = self.window(ref, jaxi.transforms_of(transforms))
        stored = [self.value(value)] + ([self.value(mask)] if mask is not None else [])
        if not isinstance(self.eqn.outvars[0], jaxi.DropVar):
            self.load(window)
        self.effect("store", [window], stored)

    def read_dma_start(self) -> None:
        source_, target, semaphore, remote = jaxi.copy_parts(self.eqn)
        if remote:
            raise CannotSay("a copy to another device")
        if self.params.get("add"):
            raise CannotSay("a copy that adds")
        self.effect("copy", [self.window(*jaxi.part(side), copied=True) for side in (source_, target, semaphore)])

    def read_dma_wait(self) -> None:
        source_, target, semaphore, remote = jaxi.copy_parts(self.eqn)
        if remote:
            raise CannotSay("a copy to another device")
        self.effect("wait", [self.window(*jaxi.part(side), copied=True) for side in (source_, target, semaphore)])


def _without_repeats(window: Window) -> tuple[Window, set[int]]:
    """The window with one of what it takes again and again, by a stride of 0, and along which dimensions it does."""
    *front, last = window.steps or (None,)
    if not isinstance(last, Index):
        return window, set()
    ranges = [entry for entry in last.entries if isinstance(entry, Range)]
    entries = (Range(e.start, 1) if isinstance(e, Range) and e.stride == 0 else e for e in last.entries)
    return Window(window.ref, (*front, Index(tuple(entries)))), {k for k, e in enumerate(ranges) if e.stride == 0}
