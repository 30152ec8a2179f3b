"""Reading: subscripts that are arrays of indices. One that counts is a range, another one is `take`; where several are
not ranges, each place is loaded by itself. A store to others than ranges is one for each place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..cannot import CannotSay
from ..grids import Entries, Slice, Transform
from ..ir import Index, Range, Value, Window
from .part import Part

#: So many places are loaded or stored one by one.
MOST_PLACES = 64


@dataclass(frozen=True)
class Arrays:
    """A subscript with arrays of indices, which broadcast to `shape`."""

    before: list[Transform]  # what is done to the ref first
    entries: Entries
    shape: tuple[int, ...]

    def slices(self) -> list[int]:
        return [k for k, entry in enumerate(self.entries) if isinstance(entry, Slice)]

    def order(self) -> list[tuple[str, int]]:
        """What the dimensions of the result are: of slices, and of all arrays together, which stand where they do in
        the subscript if they are neighbours there, else in front."""
        arrays = [k for k, entry in enumerate(self.entries) if not isinstance(entry, Slice)]
        together = arrays[-1] - arrays[0] == len(arrays) - 1
        front = [("slice", k) for k in self.slices() if together and k < arrays[0]]
        return [
            *front,
            *(("array", d) for d in range(len(self.shape))),
            *(("slice", k) for k in self.slices() if ("slice", k) not in front),
        ]

    def extent(self, dimension: tuple[str, int]) -> int:
        kind, k = dimension
        return self.shape[k] if kind == "array" else int(self.entries[k].size)


class Indices(Part):
    """What `Equation` inherits."""

    def arrays_in(self, transforms: list[Transform]) -> Arrays | None:
        """The last subscript, if it has arrays of indices."""
        if not transforms or transforms[-1][0] != "index":
            return None
        entries = transforms[-1][1]
        shapes = [_shape(e) for e in entries if not isinstance(e, Slice)]
        if not any(shapes):
            return None
        places = (self._one_place(e, n) for e, n in zip(entries, entries.extents, strict=True))
        shape = tuple(np.broadcast_shapes(*shapes))
        return Arrays(transforms[:-1], Entries(places, entries.extents), shape)

    def _one_place(self, entry: Any, extent: int) -> Any:
        """The number that an array of equal ones is: JAX gives scalars the shape of the arrays beside them."""
        indices = None if isinstance(entry, Slice) or _shape(entry) == () else self.concrete(entry)
        if indices is None or not indices.size or (indices != indices.flat[0]).any():
            return entry
        return int(indices.flat[0]) + (extent if indices.flat[0] < 0 else 0)

    def load_arrays(self, ref: Any, arrays: Arrays) -> None:
        ranges, taken = self._ranges(arrays), self._taken(arrays)
        if ranges is None and taken is not None:
            return self._take(ref, arrays, taken)
        if ranges is None:
            return self._load_places(ref, arrays)
        window, present = self._window(ref, arrays, ranges)
        extents = tuple(arrays.extent(d) for d in present)
        loaded = self.made("load", [], extents, windows=[window])
        wanted = [d for d in arrays.order() if d in present]
        axes = tuple(present.index(d) for d in wanted)
        moved = self.made("transpose", [loaded], tuple(extents[a] for a in axes), axes=axes)
        self.emit("reshape", [moved])

    def store_arrays(self, ref: Any, arrays: Arrays, stored: Value) -> None:
        ranges = self._ranges(arrays)
        if ranges is None:
            return self._store_places(ref, arrays, stored)
        window, present = self._window(ref, arrays, ranges)
        wanted = [d for d in arrays.order() if d in present]
        flat = self.made("reshape", [stored], tuple(arrays.extent(d) for d in wanted))
        axes = tuple(wanted.index(d) for d in present)
        moved = self.made("transpose", [flat], tuple(flat.shape[a] for a in axes), axes=axes)
        self.effect("store", [window], [moved])

    # ---- arrays that count

    def _ranges(self, arrays: Arrays) -> dict[int, tuple[Value | Range, int | None]] | None:
        """By entry that is no slice: what it is, and along which dimension of the arrays it counts; None if they do not
        count along one dimension each."""
        found: dict[int, tuple[Value | Range, int | None]] = {}
        for k, entry in enumerate(arrays.entries):
            if isinstance(entry, Slice):
                continue
            if _shape(entry) == ():
                found[k] = self.entry(entry), None
                continue
            indices = self.concrete(entry)
            if indices is None:
                return None
            indices = np.where(indices < 0, indices + arrays.entries.extents[k], indices)
            counted = _counted(np.broadcast_to(indices, arrays.shape))
            if counted is None:
                return None
            found[k] = counted
        along = [d for _, d in found.values() if d is not None]
        left = [d for d, n in enumerate(arrays.shape) if n > 1 and d not in along]
        return found if len(set(along)) == len(along) and not left else None

    def _window(
        self, ref: Any, arrays: Arrays, ranges: dict[int, tuple[Value | Range, int | None]]
    ) -> tuple[Window, list[tuple[str, int]]]:
        """The window, and what its dimensions are."""
        entries, present = [], []
        for k, entry in enumerate(arrays.entries):
            if k not in ranges:
                entries.append(self.entry(entry))
                present.append(("slice", k))
                continue
            one, along = ranges[k]
            entries.append(one)
            if along is not None:
                present.append(("array", along))
        base = self.window(ref, arrays.before)
        return Window(base.ref, (*base.steps, Index(tuple(entries)))), present

    # ---- others

    def _taken(self, arrays: Arrays) -> int | None:
        """The entry that is the one array, of indices known at run time, if its dimensions stand in its place."""
        found = [k for k, e in enumerate(arrays.entries) if not isinstance(e, Slice) and _shape(e) != ()]
        in_front = [kind for kind, _ in arrays.order()].index("array")
        if len(found) != 1 or _shape(arrays.entries[found[0]]) != arrays.shape:
            return None
        return found[0] if in_front == sum(s < found[0] for s in arrays.slices()) else None

    def _take(self, ref: Any, arrays: Arrays, k: int) -> None:
        extent = arrays.entries.extents[k]
        everything = Range(Value("i32", constant=0), extent)
        entries = tuple(everything if j == k else self.entry(e) for j, e in enumerate(arrays.entries))
        base = self.window(ref, arrays.before)
        window = Window(base.ref, (*base.steps, Index(entries)))
        shape = tuple(e.size for e in entries if isinstance(e, Range))
        axis = sum(isinstance(e, Range) for e in entries[:k])
        self.emit("take", [self.made("load", [], shape, windows=[window]), self._whole(k, arrays)], axis=axis)

    def _load_places(self, ref: Any, arrays: Arrays) -> None:
        first, kept = self._kept(arrays)
        shape = (*kept[:first], 1, *kept[first:])
        pieces = []
        for _, window in self._places(ref, arrays):
            loaded = self.made("load", [], tuple(kept), windows=[window])
            pieces.append(self.made("reshape", [loaded], shape))
        joined = self.made("concat", pieces, (*kept[:first], len(pieces), *kept[first:]), axis=first)
        self.emit("reshape", [joined])

    def _store_places(self, ref: Any, arrays: Arrays, stored: Value) -> None:
        """One after the other: of places that are the same the last one counts."""
        first, kept = self._kept(arrays)
        rank = len(arrays.shape)
        for at, window in self._places(ref, arrays):
            starts = (*(0 for _ in kept[:first]), *at, *(0 for _ in kept[first:]))
            limits = (*kept[:first], *(k + 1 for k in at), *kept[first:])
            shape = (*kept[:first], *(1,) * rank, *kept[first:])
            piece = self.made("slice", [stored], shape, starts=starts, limits=limits, strides=(1,) * len(shape))
            self.effect("store", [window], [self.made("reshape", [piece], tuple(kept))])

    def _kept(self, arrays: Arrays) -> tuple[int, list[int]]:
        """How many slices are in front of the arrays' dimensions, and the extents of all of them."""
        order = arrays.order()
        first = next(k for k, (kind, _) in enumerate(order) if kind == "array")
        return first, [arrays.extent(d) for d in order if d[0] == "slice"]

    def _places(self, ref: Any, arrays: Arrays) -> Iterator[tuple[tuple[int, ...], Window]]:
        """Each place of the arrays, with the window that their numbers there name."""
        if int(np.prod(arrays.shape)) > MOST_PLACES:
            raise CannotSay("a subscript that is an array of indices")
        base = self.window(ref, arrays.before)
        given = {k: self._whole(k, arrays) for k, e in enumerate(arrays.entries) if not isinstance(e, Slice)}
        slices = {k: self.entry(arrays.entries[k]) for k in arrays.slices()}
        for at in np.ndindex(arrays.shape):
            entries = tuple(
                slices[k] if k in slices else self._element(given[k], at) for k in range(len(arrays.entries))
            )
            yield at, Window(base.ref, (*base.steps, Index(entries)))

    def _element(self, array: Value, at: tuple[int, ...]) -> Value:
        """What an array that broadcasts has at a place."""
        if not array.shape:
            return array
        own = at[len(at) - len(array.shape) :]
        own = tuple(0 if n == 1 else k for k, n in zip(own, array.shape, strict=True))
        return self.made("element", [array], (), at=own)

    def _whole(self, k: int, arrays: Arrays) -> Value:
        """A scalar, or an array of indices, those from the end counted from the start."""
        entry = arrays.entries[k]
        if _shape(entry) == ():
            one = self.entry(entry)
            assert isinstance(one, Value)
            return one
        value = self.value(entry)
        extent = Value(value.dtype, value.shape, constant=arrays.entries.extents[k])
        negative = self.made("lt", [value, Value(value.dtype, value.shape, constant=0)], value.shape, dtype="bool")
        return self.made("select", [negative, self.made("add", [value, extent], value.shape), value], value.shape)


def _shape(entry: Any) -> tuple[int, ...]:
    return tuple(entry.aval.shape) if hasattr(entry, "aval") else tuple(np.shape(entry))


def _counted(indices: np.ndarray) -> tuple[Value | Range, int | None] | None:
    """Indices that are the same everywhere, or a range along one dimension."""
    along = [d for d in range(indices.ndim) if not (indices == indices.take([0], axis=d)).all()]
    if not along:
        return Value("i32", constant=int(indices.flat[0])), None
    if len(along) > 1:
        return None
    line = np.moveaxis(indices, along[0], 0).reshape(indices.shape[along[0]], -1)[:, 0]
    steps = np.diff(line)
    if steps[0] < 1 or (steps != steps[0]).any():
        return None
    return Range(Value("i32", constant=int(line[0])), len(line), int(steps[0])), along[0]
