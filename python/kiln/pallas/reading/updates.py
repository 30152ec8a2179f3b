"""Reading: arrays of which one part is another, as `x.at[1:3].set(y)`, `.add(y)` and so on and `dynamic_update_slice` make
them. A part whose place is known stands between what is in front of it and what is behind it; of one whose place only a
run knows, each element is looked up where it is inside."""

from __future__ import annotations

from math import prod

import numpy as np

from .. import _jax_internals as jaxi
from .. import cannot
from ..cannot import CannotSay
from ..grids import Scatter
from ..ir import Value
from .part import Part

#: What is made of an element that is there and the one that comes.
FOLDS = {"scatter-add": "add", "scatter-sub": "sub", "scatter-mul": "mul", "scatter-min": "min", "scatter-max": "max"}


class Updates(Part):
    """What `Equation` inherits."""

    def read_dynamic_update_slice(self) -> None:
        x, part, *starts = map(self.value, self.eqn.invars)
        bounded = [self._within(s, n - m)[0] for s, n, m in zip(starts, x.shape, part.shape, strict=True)]
        self.emit("reshape", [self._updated(x, part, bounded)])

    def read_scatter(self) -> None:
        x, given = (self.value(self.eqn.invars[k]) for k in (0, 2))
        scatter = jaxi.scatter_of(self.params)
        if self.eqn.primitive.name == "scatter" and not jaxi.scatter_replaces(self.params):
            raise CannotSay("a function applied to a part of a value")
        if scatter.batched or prod(self.eqn.invars[1].aval.shape[:-1]) != 1:
            raise CannotSay(cannot.primitive("scatter"))
        sizes = (given.shape[k] for k in scatter.window)
        part = self.made("reshape", [given], tuple(1 if k in scatter.inserted else next(sizes) for k in range(len(x.shape))))
        starts = [Value("i32", constant=0)] * len(x.shape)
        inside: list[Value] = []
        for k, start in zip(scatter.indexed, self._index(scatter), strict=True):
            starts[k] = start
            if scatter.mode != "promise":
                starts[k], there = self._within(start, x.shape[k] - part.shape[k])
                inside += [there] if scatter.mode == "fill" else []
        updated = self._updated(x, part, starts)
        for there in inside:
            if there.constant is None:
                everywhere = self.made("broadcast", [there], x.shape, dimensions=())
                updated = self.made("select", [everywhere, updated, x], x.shape)
            elif not there.constant:
                updated = x
        self.emit("reshape", [updated])

    read_scatter_add = read_scatter_sub = read_scatter_mul = read_scatter_min = read_scatter_max = read_scatter

    def _index(self, scatter: Scatter) -> list[Value]:
        """The one index, as scalars."""
        numbers = self.concrete(self.eqn.invars[1])
        if numbers is not None:
            return [Value("i32", constant=int(n)) for n in np.ravel(numbers)]
        indices = self.value(self.eqn.invars[1])
        flat = self.made("reshape", [indices], (len(scatter.indexed),))
        return [self.made("element", [flat], (), at=(k,)) for k in range(len(scatter.indexed))]

    def _within(self, start: Value, most: int) -> tuple[Value, Value]:
        """The nearest place from 0 to `most`, and whether that is the one."""
        if start.constant is not None:
            bounded = min(max(start.constant, 0), most)
            return Value("i32", constant=bounded), Value("bool", constant=bounded == start.constant)
        low, high = (Value(start.dtype, constant=c) for c in (0, most))
        bounded = self.made("clamp", [low, start, high], (), dtype=start.dtype)
        return bounded, self.made("eq", [start, bounded], (), dtype="bool")

    def _updated(self, x: Value, part: Value, starts: list[Value]) -> Value:
        """`x` where `part` is from these places on."""
        differ = [k for k, (n, m) in enumerate(zip(x.shape, part.shape, strict=True)) if n != m]
        if not differ:
            fold = FOLDS.get(self.eqn.primitive.name)
            return self.made(fold, [x, part], x.shape) if fold else part
        axis = min(differ, key=lambda k: starts[k].constant is None)
        extent, size = x.shape[axis], part.shape[axis]
        if starts[axis].constant is None:
            return self._updated_somewhere(x, part, starts, axis)
        low, high = starts[axis].constant, starts[axis].constant + size
        middle = self._updated(self._rows(x, axis, low, high), part, starts)
        around = [self._rows(x, axis, a, b) if a < b else None for a, b in ((0, low), (high, extent))]
        pieces = [piece for piece in (around[0], middle, around[1]) if piece is not None]
        return self.made("concat", pieces, x.shape, axis=axis)

    def _updated_somewhere(self, x: Value, part: Value, starts: list[Value], axis: int) -> Value:
        extent, size = x.shape[axis], part.shape[axis]
        sizes = tuple(size if k == axis else n for k, n in enumerate(x.shape))
        corner = [starts[k] if k == axis else Value("i32", constant=0) for k in range(len(x.shape))]
        old = self.made("dynamic_slice", [x, *corner], sizes, dtype=x.dtype, sizes=sizes)
        middle = self._updated(old, part, starts)
        counted = self.made("iota", [], (extent,), dtype="i32", axis=0)
        start = starts[axis]
        if start.dtype != "i32":
            start = self.made("convert", [start], (), dtype="i32")
        start = self.made("broadcast", [start], (extent,), dimensions=())
        if size == 1:
            inside = self.made("eq", [counted, start], (extent,), dtype="bool")
            spread = self.made("broadcast", [middle], x.shape, dimensions=tuple(range(len(x.shape))))
        else:
            place = self.made("sub", [counted, start], (extent,))
            low, high = (Value("i32", (extent,), constant=c) for c in (0, size - 1))
            bounded = self.made("clamp", [low, place, high], (extent,), dtype="i32")
            inside = self.made("eq", [place, bounded], (extent,), dtype="bool")
            spread = self.made("take", [middle, bounded], x.shape, dtype=x.dtype, axis=axis)
        there = self.made("broadcast", [inside], x.shape, dimensions=(axis,))
        return self.made("select", [there, spread, x], x.shape)

    def _rows(self, x: Value, axis: int, low: int, high: int) -> Value:
        if (low, high) == (0, x.shape[axis]):
            return x
        starts = tuple(low if k == axis else 0 for k in range(len(x.shape)))
        limits = tuple(high if k == axis else n for k, n in enumerate(x.shape))
        shape = tuple(b - a for a, b in zip(starts, limits, strict=True))
        return self.made("slice", [x], shape, starts=starts, limits=limits, strides=(1,) * len(x.shape))
