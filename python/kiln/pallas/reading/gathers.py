"""Reading: gathers from a value, as `x[ids]`, `jnp.take` and `jnp.take_along_axis` make them. The dimensions that are
looked up, which are neighbours, become one, from which `take` takes."""

from __future__ import annotations

from math import prod

from .. import _jax_internals as jaxi
from ..cannot import CannotSay
from ..grids import Gather
from ..ir import Value
from .part import Part


class Gathers(Part):
    """What `Equation` inherits."""

    def read_gather(self) -> None:
        x, indices = map(self.value, self.eqn.invars)
        gather = jaxi.gather_of(self.params)
        looked_up = sorted(gather.indexed + gather.batched)
        low, high = looked_up[0], looked_up[-1] + 1
        sizes = (1 if k in looked_up else n for k, n in enumerate(x.shape))
        if tuple(sizes) != gather.sizes or high - low != len(looked_up) or set(gather.indexed) - set(gather.collapsed):
            raise CannotSay("a gather of parts of rows")

        batch = indices.shape[:-1]
        places = {k: self._column(indices, column) for column, k in enumerate(gather.indexed)}
        inside = None
        if gather.mode != "promise":
            checked = {k: self._bounded(place, x.shape[k]) for k, place in places.items()}
            places = {k: place for k, (place, _) in checked.items()}
            inside = [mask for _, mask in checked.values()] if gather.mode == "fill" else None
        for k, dimension in zip(gather.batched, gather.batched_with, strict=True):
            places[k] = self.made("iota", [], batch, dtype=indices.dtype, axis=dimension)

        kept = x.shape[:low], x.shape[high:]
        flat = x if high - low == 1 else self.made("reshape", [x], (*kept[0], prod(x.shape[low:high]), *kept[1]))
        at = self._flat([places[k] for k in looked_up], x.shape[low:high])
        taken = self.made("take", [flat, at], (*kept[0], *batch, *kept[1]), dtype=x.dtype, axis=low)
        self._placed(taken, low, len(batch), gather, inside)

    def _column(self, indices: Value, column: int) -> Value:
        """One coordinate of all indices."""
        *batch, width = indices.shape
        if width > 1:
            starts, limits = (*(0 for _ in batch), column), (*batch, column + 1)
            indices = self.made(
                "slice", [indices], (*batch, 1), starts=starts, limits=limits, strides=(1,) * len(starts)
            )
        return self.made("reshape", [indices], tuple(batch))

    def _bounded(self, place: Value, extent: int) -> tuple[Value, Value]:
        """The nearest place that there is, and whether that is the one."""
        low, high = (Value(place.dtype, place.shape, constant=c) for c in (0, extent - 1))
        bounded = self.made("clamp", [low, place, high], place.shape, dtype=place.dtype)
        return bounded, self.made("eq", [place, bounded], place.shape, dtype="bool")

    def _flat(self, places: list[Value], extents: tuple[int, ...]) -> Value:
        at = places[0]
        for place, extent in zip(places[1:], extents[1:], strict=True):
            scaled = self.made("mul", [at, Value(at.dtype, at.shape, constant=extent)], at.shape)
            at = self.made("add", [scaled, place], at.shape)
        return at

    def _placed(self, taken: Value, low: int, rank: int, gather: Gather, inside: list[Value] | None) -> None:
        """The dimensions of the indices where the result has them, and what stands for places that there are not."""
        own = [k for k in range(len(taken.shape)) if not low <= k < low + rank]
        looked_up = iter(range(low, low + rank))
        axes = tuple(own.pop(0) if k in gather.offsets else next(looked_up) for k in range(len(taken.shape)))
        if not inside:
            self.emit("transpose", [taken], axes=axes)
            return
        shape = tuple(taken.shape[a] for a in axes)
        moved = self.made("transpose", [taken], shape, axes=axes)
        mask = inside[0]
        for other in inside[1:]:
            mask = self.made("and", [mask, other], mask.shape)
        where = tuple(k for k in range(len(shape)) if k not in gather.offsets)
        there = self.made("broadcast", [mask], shape, dimensions=where)
        self.emit("select", [there, moved, Value(taken.dtype, shape, constant=gather.fill(taken.dtype))])
