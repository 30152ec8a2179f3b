"""Windows as text: chains of subscripts become one, reshaped refs are reshapes of what is loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod

from .cannot import CannotSay
from .expressions import POSTFIX, Expr, join, plus, shape_text
from .ir import Bitcast, Index, Range, Reshape, Transpose, Value, Window

ToExpr = Callable[[Value], Expr]


@dataclass
class Dimension:
    """What is taken of one dimension of `extent`: everything, one place, or `size` (at most) from `start` on."""

    extent: int
    start: Expr | None = None
    size: int | None = None  # None with a start: one place
    stride: int = 1
    count: Expr | None = None  # how many, if that is known at run time

    @property
    def is_place(self) -> bool:
        return self.start is not None and self.size is None

    @property
    def length(self) -> int:
        return self.extent if self.size is None else self.size


@dataclass
class Subscript:
    """A window's part that is one subscript of the ref, and the steps behind it that are not."""

    dimensions: list[Dimension]
    rest: list[Index | Reshape | Transpose | Bitcast] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(d.length for d in self.dimensions if not d.is_place)

    @property
    def strided(self) -> bool:
        return any(d.stride != 1 for d in self.dimensions)

    @property
    def starts(self) -> list[Expr]:
        return [d.start for d in self.dimensions if d.start is not None]

    def text(self) -> str:
        """`[i, 0:8]`; nothing where everything is taken."""
        parts = [_entry(d) for d in self.dimensions]
        while parts and parts[-1] == ":":
            parts.pop()
        return f"[{', '.join(parts)}]" if parts else ""


def _entry(d: Dimension) -> str:
    if d.start is None:
        return ":"
    if d.size is None:
        return d.start.text
    if d.count is not None:
        return f"ds({d.start.text}, {d.count.text}, most={d.size})"
    if d.start.constant is not None:
        return between(d.start.constant, d.start.constant + (d.size - 1) * d.stride + 1, d.stride)
    return f"ds({d.start.text}, {d.size}{f', stride={d.stride}' if d.stride != 1 else ''})"


def between(low: int, high: int, stride: int = 1) -> str:
    return f"{low}:{high}" if stride == 1 else f"{low}:{high}:{stride}"


def subscript(window: Window, expr: ToExpr) -> Subscript:
    found = Subscript([Dimension(n) for n in window.ref.shape])
    for step in window.steps:
        if isinstance(step, Index) and not found.rest:
            found.dimensions = _indexed(found.dimensions, step, expr)
        else:
            found.rest.append(step)
    return found


def _indexed(dimensions: list[Dimension], index: Index, expr: ToExpr) -> list[Dimension]:
    entries = iter(index.entries)
    return [d if d.is_place else _taken(d, next(entries), expr) for d in dimensions]


def _taken(d: Dimension, entry: Value | Range, expr: ToExpr) -> Dimension:
    start = expr(entry.start if isinstance(entry, Range) else entry)
    if d.stride != 1:
        raise CannotSay("a subscript of a strided slice")
    if d.count is not None:
        raise CannotSay("a subscript of a slice of a size known at run time")
    if d.start is not None:
        start = plus(d.start, start)
    if not isinstance(entry, Range):
        return Dimension(d.extent, start)
    if entry.count is not None:
        return Dimension(d.extent, start, entry.size, count=expr(entry.count))
    if entry.stride != 1:
        return Dimension(d.extent, start, entry.size, entry.stride)
    if start.constant == 0 and entry.size == d.extent:
        return Dimension(d.extent)
    return Dimension(d.extent, start, entry.size)


def loaded(base: Expr, found: Subscript, expr: ToExpr) -> Expr:
    """What a window of the base (a name, or any tile) holds."""
    text = found.text()
    value = base
    if text or any(d.is_place for d in found.dimensions):
        value = join([base, *found.starts], base.inside(POSTFIX) + text, POSTFIX, base.dtype, found.shape, 0)
    for step in found.rest:
        if isinstance(step, Reshape):
            value = join([value], f"reshape({value}, {shape_text(step.shape)})", POSTFIX, value.dtype, step.shape)
        elif isinstance(step, Transpose):
            shape = tuple(value.shape[k] for k in step.axes)
            value = join([value], f"transpose({value}, {list(step.axes)})", POSTFIX, value.dtype, shape)
        elif isinstance(step, Bitcast):
            value = bitcast(value, step.dtype)
        else:
            inner = Subscript(_indexed([Dimension(n) for n in value.shape], step, expr))
            value = loaded(value, inner, expr)
    return value


def bitcast(value: Expr, dtype: str) -> Expr:
    """The bits as another type's; between widths, rows become more or fewer."""
    shape = value.shape
    if width(dtype) != width(value.dtype):
        if len(shape) < 2 or shape[-2] * width(value.dtype) % width(dtype):
            raise CannotSay("a bitcast between widths of a part of a packed row")
        shape = (*shape[:-2], shape[-2] * width(value.dtype) // width(dtype), shape[-1])
    return join([value], f"bitcast({dtype}, {value})", POSTFIX, dtype, shape)


def after(
    step: Index | Reshape | Transpose | Bitcast, shape: tuple[int, ...], dtype: str
) -> tuple[tuple[int, ...], str]:
    """Shape and type of what a step makes of memory of this shape and type."""
    if isinstance(step, Reshape):
        return step.shape, dtype
    if isinstance(step, Transpose):
        return tuple(shape[k] for k in step.axes), dtype
    if isinstance(step, Bitcast):
        if width(dtype) == width(step.dtype):
            return shape, step.dtype
        return (*shape[:-2], shape[-2] * width(dtype) // width(step.dtype), shape[-1]), step.dtype
    return tuple(e.size for e in step.entries if isinstance(e, Range)), dtype


def width(dtype: str) -> int:
    return 8 if dtype == "bool" or dtype.startswith("f8") else int(dtype.lstrip("biuf"))


def semaphore(window: Window, expr: ToExpr) -> str:
    """`arrived[slot]`; one that has no others needs no subscript."""
    if prod(window.ref.shape) == 1:
        return window.ref.name
    places = []
    for d in subscript(window, expr).dimensions:
        if not d.is_place and d.length != 1:
            raise CannotSay("a copy with an array of semaphores")
        places.append("0" if d.start is None else d.start.text)
    return f"{window.ref.name}[{', '.join(places)}]"


def copied(source: Window, target: Window, expr: ToExpr) -> str:
    """`x[i] -> rows`. A size known at run time is at most what either end has."""
    ends = [_region(window, expr) for window in (source, target)]
    taken = [[d for d in end.dimensions if not d.is_place] for end in ends]
    for a, b in zip(*taken, strict=True):
        if (a.count is None) != (b.count is None):
            raise CannotSay("a copy of which only one end has a size known at run time")
        if a.count is not None:
            a.size = b.size = min(a.length, b.length)
    return " -> ".join(w.ref.name + end.text() for w, end in zip((source, target), ends, strict=True))


def region(window: Window, expr: ToExpr) -> str:
    """What a wait counts the bytes of."""
    return window.ref.name + _region(window, expr).text()


def _region(window: Window, expr: ToExpr) -> Subscript:
    """A side of a copy."""
    found = subscript(window, expr)
    if found.rest:
        raise CannotSay("a copy of a reshaped ref")
    if found.strided:
        raise CannotSay("a strided copy")
    return found
