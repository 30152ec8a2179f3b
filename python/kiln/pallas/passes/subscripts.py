"""A subscript of a reshaped or bitcast ref goes in front of the reshape or bitcast where it can: it then takes a part of
memory, and not of all that the memory holds, and may be stored to."""

from __future__ import annotations

import itertools
from math import prod

from ..ir import Bitcast, Block, Index, Kernel, Operation, Range, Reshape, Transpose, Value, Window, walk
from ..windows import after, width

Step = Index | Reshape | Transpose | Bitcast
Entry = Value | Range


def run(kernel: Kernel, block: Block) -> None:
    for inner, operation in list(walk(block)):
        if operation.name not in ("load", "store", "accumulate"):
            continue
        starts = Starts()
        operation.windows = [in_front(window, starts) for window in operation.windows]
        at = inner.operations.index(operation)
        inner.operations[at:at] = starts.operations(operation)


class Starts:
    """Where ranges begin that only a run knows: a value, times a number, plus a number."""

    def __init__(self) -> None:
        self.made: dict[Value, tuple[Value, int, int]] = {}

    def of(self, value: Value, factor: int, offset: int) -> Value:
        value, inner, more = self.made.get(value, (value, 1, 0))
        factor, offset = inner * factor, more * factor + offset
        if (factor, offset) == (1, 0):
            return value
        start = Value("i32")
        self.made[start] = value, factor, offset
        return start

    def scaled(self, start: Value, by: int, over: int) -> Value | None:
        """`start * by / over`; None: that may leave a rest."""
        if start.constant is not None:
            return None if start.constant * by % over else _number(start.constant * by // over)
        value, factor, offset = self.made.get(start, (start, 1, 0))
        if factor * by % over or offset * by % over:
            return None
        return self.of(value, factor * by // over, offset * by // over)

    def operations(self, user: Operation) -> list[Operation]:
        """What computes those that the operation's windows take."""
        found = []
        for start in dict.fromkeys(value for window in user.windows for value in window.values()):
            if start not in self.made:
                continue
            value, factor, offset = self.made[start]
            product = value if factor == 1 else start if offset == 0 else Value("i32")
            if product is not value:
                found.append(Operation("mul", [value, _number(factor)], [product], place=user.place))
            if offset:
                found.append(Operation("add", [product, _number(offset)], [start], place=user.place))
        return found


def in_front(window: Window, starts: Starts) -> Window:
    """Each index as far to the front as it gets."""
    steps: list[Step] = []
    shapes: list[tuple[int, ...]] = []  # before each of the steps
    dtypes: list[str] = []
    todo = list(window.steps)
    while todo:
        step = todo.pop(0)
        shape, dtype = after(steps[-1], shapes[-1], dtypes[-1]) if steps else (window.ref.shape, window.ref.dtype)
        if isinstance(step, Index) and all(map(_is_whole, step.entries, shape)):
            continue
        if isinstance(step, Index) and steps and not isinstance(steps[-1], (Index, Transpose)):
            swapped = _swapped(step, steps[-1], shapes[-1], dtypes[-1], starts)
            if swapped:
                steps.pop(), shapes.pop(), dtypes.pop()
                todo[:0] = swapped
                continue
        steps.append(step)
        shapes.append(shape)
        dtypes.append(dtype)
    return Window(window.ref, tuple(steps))


def _swapped(
    index: Index, step: Step, shape: tuple[int, ...], dtype: str, starts: Starts
) -> list[Step] | None:
    """An index in front of a step on memory of this shape, then the step; None: it has to stay."""
    if any(isinstance(e, Range) and e.count is not None for e in index.entries):
        return None
    if isinstance(step, Bitcast):
        return _before_bitcast(index, step, shape, dtype, starts)
    entries = _unravelled(index.entries, step.shape, shape, starts) if isinstance(step, Reshape) else None
    if entries is None:
        return None
    left = tuple(e.size for e in index.entries if isinstance(e, Range))
    there = tuple(e.size for e in entries if isinstance(e, Range))
    return [Index(entries), *([Reshape(left)] if left != there else [])]


def _before_bitcast(
    index: Index, step: Bitcast, shape: tuple[int, ...], dtype: str, starts: Starts
) -> list[Step] | None:
    """Between widths a row stands for several, or several for one; columns and what is in front of both stay."""
    if width(dtype) == width(step.dtype):
        return [index, step]
    *front, rows, columns = index.entries
    seen, _ = after(step, shape, dtype)
    if not isinstance(columns, Range):
        return None
    taken = _rows(rows, shape[-2], seen[-2], starts)
    if taken is not None:
        squeezed = [] if isinstance(rows, Range) else [Reshape(after(index, seen, dtype)[0])]
        return [Index((*front, taken, columns)), step, *squeezed]
    if _is_whole(columns, shape[-1]) and all(_is_whole(e, n) for e, n in zip(front, shape, strict=False)):
        return None
    behind = [_whole(e.size) for e in front if isinstance(e, Range)]
    before = Index((*front, _whole(shape[-2]), columns))
    return [before, step, Index((*behind, rows, _whole(columns.size)))]


def _rows(entry: Entry, before: int, seen: int, starts: Starts) -> Range | None:
    """The rows before a bitcast of what is taken of those behind it."""
    start, size = (entry.start, entry.size) if isinstance(entry, Range) else (entry, 1)
    if isinstance(entry, Range) and entry.stride != 1 or size * before % seen:
        return None
    start = starts.scaled(start, before, seen)
    return None if start is None else Range(start, size * before // seen)


def _whole(extent: int) -> Range:
    return Range(Value("i32", constant=0), extent)


def _is_whole(entry: Entry, extent: int) -> bool:
    return isinstance(entry, Range) and entry.start.constant == 0 and (entry.size, entry.stride) == (extent, 1)


def _unravelled(
    entries: tuple[Entry, ...], now: tuple[int, ...], before: tuple[int, ...], starts: Starts
) -> tuple[Entry, ...] | None:
    """The same elements by a subscript of the shape before: dimensions that were merged, split or kept, group by group."""
    found: list[Entry] = []
    for old, new in _groups(before, now):
        of = entries[new.start : new.stop]
        shapes = before[old.start : old.stop], now[new.start : new.stop]
        part = _of_group(of, *shapes, starts)
        if part is None:
            return None
        found += part
    return tuple(found)


def _groups(before: tuple[int, ...], now: tuple[int, ...]) -> list[tuple[range, range]]:
    """The least runs of dimensions that hold as many elements on both sides."""
    found, i, j = [], 0, 0
    while i < len(before) or j < len(now):
        a, b = i, j
        left = right = 1
        while a == i and b == j or left != right:
            if (left <= right and a < len(before)) or b == len(now):
                left *= before[a]
                a += 1
            else:
                right *= now[b]
                b += 1
        found.append((range(i, a), range(j, b)))
        i, j = a, b
    return found


def _of_group(
    entries: tuple[Entry, ...], old: tuple[int, ...], new: tuple[int, ...], starts: Starts
) -> list[Entry] | None:
    """By the least dimensions that make up those of both shapes."""
    if old == new:
        return list(entries)
    least = _least(old, new)
    if least is None:
        return None
    fine: list[Entry] = []
    for entry, of in zip(entries, _portions(least, new), strict=True):
        parts = _unmerged(entry, of)
        if parts is None:
            return None
        fine += parts
    found: list[Entry] = []
    for of in _portions(least, old):
        part = _merged(fine[: len(of)], of, starts)
        if part is None:
            return None
        found.append(part)
        del fine[: len(of)]
    return found


def _least(old: tuple[int, ...], new: tuple[int, ...]) -> list[int] | None:
    """Extents whose products are those of both shapes, if one divides the other at each step."""
    ends = sorted({prod(shape[k:]) for shape in (old, new) for k in range(len(shape))} | {1}, reverse=True)
    if any(a % b for a, b in itertools.pairwise(ends)):
        return None
    return [a // b for a, b in itertools.pairwise(ends)] or [1]


def _portions(least: list[int], shape: tuple[int, ...]) -> list[list[int]]:
    """The least extents of each dimension; none for those of 1."""
    found, rest = [], list(least)
    for extent in shape:
        taken: list[int] = []
        while prod(taken) < extent:
            taken.append(rest.pop(0))
        found.append(taken)
    return found


def _unmerged(entry: Entry, of: list[int]) -> list[Entry] | None:
    """Of one dimension: the same of each of some of the first extent; or every one of the first and a place of the others; or
    a part of one place of the first."""
    if len(of) == 1:
        return [entry]
    start = entry.start if isinstance(entry, Range) else entry
    if not of or start.constant is None:
        return [] if not of and (not isinstance(entry, Range) or _is_whole(entry, 1)) else None
    inner = prod(of[1:])
    at, below = divmod(start.constant, inner)
    if not isinstance(entry, Range):
        behind = _unmerged(_number(below), of[1:])
        return None if behind is None else [_number(at), *behind]
    if entry.stride % inner == 0:
        behind = _unmerged(_number(below), of[1:])
        return None if behind is None else [Range(_number(at), entry.size, entry.stride // inner), *behind]
    each = inner // entry.stride
    if inner % entry.stride == 0 and below < entry.stride and entry.size % each == 0:
        behind = _unmerged(Range(_number(below), each, entry.stride), of[1:])
        return None if behind is None else [Range(_number(at), entry.size // each), *behind]
    if below + (entry.size - 1) * entry.stride < inner:
        behind = _unmerged(Range(_number(below), entry.size, entry.stride), of[1:])
        return None if behind is None else [_number(at), *behind]
    return None


def _merged(entries: list[Entry], of: list[int], starts: Starts) -> Entry | None:
    """Places, of which one may be known at run time alone, then a range, then whole ones, as one range."""
    if len(of) == 1:
        return entries[0]
    start, size, stride = 0, 1, 1
    value, factor = None, 0
    for entry, extent in zip(entries, of, strict=True):
        if size > 1 and not _is_whole(entry, extent) or stride != 1:
            return None
        start, factor = start * extent, factor * extent
        first = entry.start if isinstance(entry, Range) else entry
        if first.constant is not None:
            start += first.constant
        elif value is None and first.dtype == "i32":
            value, factor = first, 1
        else:
            return None
        if isinstance(entry, Range):
            size, stride = size * entry.size, entry.stride
    places = not any(isinstance(entry, Range) for entry in entries)
    begin = _number(start) if value is None else starts.of(value, factor, start)
    return begin if places and of else Range(begin, size, stride)


def _number(value: int) -> Value:
    return Value("i32", constant=value)
