"""How operations on shapes, reductions and dots are spelt."""

from __future__ import annotations

from .cannot import CannotSay
from .expressions import (
    FLOATS,
    POSTFIX,
    WEAK,
    Expr,
    arithmetic_type,
    as_type,
    cast,
    common_type,
    fits_default,
    join,
    shape_text,
    whole,
)  # fmt: skip
from .ir import Operation
from .spelling import Context, Spelling
from .windows import between

_DOT_TYPES = {"f8e4m3fn", "f8e5m2", "bf16", "f16", "f32", "f64", "i8", "u8", "i32"}


def _exact(operation: Operation, inputs: list[Expr], k: int = 0) -> Expr:
    value = operation.inputs[k]
    expr = inputs[k]
    if expr.shape != value.shape and expr.dtype in WEAK:
        expr = as_type(expr, value.dtype) if not fits_default(expr, value.dtype) else expr
        expr = cast(expr, value.dtype) if expr.dtype in WEAK and not fits_default(expr, value.dtype) else expr
    return whole(expr, value.shape)


def _picked_from(operation: Operation, inputs: list[Expr]) -> Expr:
    """What is subscripted has a type of its own."""
    a = _exact(operation, inputs)
    return cast(a, operation.inputs[0].dtype) if a.dtype in WEAK else a


def _broadcast(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,), out = inputs, operation.output
    if not a.shape:
        return a
    source, rank, dimensions = operation.inputs[0].shape, len(out.shape), operation["dimensions"]
    if len(a.shape) != len(source):
        a = _exact(operation, inputs)
    first = dimensions[0] if dimensions else rank
    for k in range(first, rank):  # what is in front broadcasts by itself
        if k not in dimensions:
            shape = (*a.shape[: k - first], 1, *a.shape[k - first :])
            a = join([a], f"expand({a}, {k - first})", POSTFIX, a.dtype, shape, 0)
    return a


def _reshape(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,), out, old = inputs, operation.output.shape, operation.inputs[0].shape
    if not a.shape:
        return a
    a = _exact(operation, inputs)
    if not out:
        a = _picked_from(operation, inputs)
        return join([a], f"{a.inside(POSTFIX)}[{', '.join('0' * len(old))}]", POSTFIX, a.dtype, ())
    dropped = _only_ones(old, out)
    if dropped:
        return join([a], f"squeeze({a}, {_axes(dropped)})", POSTFIX, a.dtype, out)
    added = _only_ones(out, old)
    if added:
        return join([a], f"expand({a}, {_axes(added)})", POSTFIX, a.dtype, out)
    return join([a], f"reshape({a}, {shape_text(out)})", POSTFIX, a.dtype, out)


def _axes(axes: list[int]) -> str:
    return str(axes[0]) if len(axes) == 1 else str(axes)


def _only_ones(longer: tuple[int, ...], shorter: tuple[int, ...]) -> list[int]:
    """The dimensions of extent 1 that make one shape of the other, if that is all that does."""
    found, rest = [], list(shorter)
    for k, n in enumerate(longer):
        if rest and rest[0] == n and not (n == 1 and len(longer) - k > len(rest)):
            rest.pop(0)
        elif n == 1:
            found.append(k)
        else:
            return []
    return found if not rest else []


def _transpose(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    axes, a = operation["axes"], _exact(operation, inputs)
    return transposed(a, axes)


def transposed(a: Expr, axes: tuple[int, ...]) -> Expr:
    shape = tuple(a.shape[k] for k in axes)
    rank = len(axes)
    if axes == tuple(range(rank)):
        return a
    if axes == (1, 0):
        return join([a], f"{a.inside(POSTFIX)}.T", POSTFIX, a.dtype, shape)
    if axes == (*range(rank - 2), rank - 1, rank - 2):
        return join([a], f"{a.inside(POSTFIX)}.mT", POSTFIX, a.dtype, shape)
    return join([a], f"transpose({a}, {list(axes)})", POSTFIX, a.dtype, shape)


def _iota(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    out = operation.output
    return Expr(f"iota({shape_text(out.shape)}, {operation['axis']})", POSTFIX, "i32", out.shape, cost=1)


def _concat(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    parts = [_exact(operation, inputs, k) for k in range(len(inputs))]
    text = f"concat([{', '.join(p.text for p in parts)}], axis={operation['axis']})"
    return join(parts, text, POSTFIX, common_type(parts), operation.output.shape)


def _tile(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,), repeats = inputs, operation["repeats"]
    if not a.shape:
        return a
    if len(a.shape) == len(repeats) and all(r == 1 or n == 1 for r, n in zip(repeats, a.shape, strict=True)):
        return a  # it broadcasts
    a = _exact(operation, inputs)
    for axis, count in enumerate(repeats):
        if count != 1:
            a = context.atom(a, operation)
            shape = (*a.shape[:axis], a.shape[axis] * count, *a.shape[axis + 1 :])
            a = join([a], f"concat([{', '.join([a.text] * count)}], axis={axis})", POSTFIX, a.dtype, shape)
    return a


def _slice(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    """What broadcasts along a dimension is the same in any part of that."""
    a, whole_shape = inputs[0], operation.inputs[0].shape
    if len(a.shape) != len(whole_shape) or a.dtype in WEAK:
        a = _picked_from(operation, inputs)
    ranges = zip(operation["starts"], operation["limits"], operation["strides"], whole_shape, a.shape, strict=True)
    parts, shape = [], []
    for (low, high, stride, n, there), extent in zip(ranges, operation.output.shape, strict=True):
        parts.append(":" if (low, high, stride) == (0, n, 1) or there != n else between(low, high, stride))
        shape.append(extent if there == n else there)
    while parts and parts[-1] == ":":
        parts.pop()
    if not parts:
        return a
    return join([a], f"{a.inside(POSTFIX)}[{', '.join(parts)}]", POSTFIX, a.dtype, tuple(shape))


def _dynamic_slice(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, starts = _picked_from(operation, inputs), inputs[1:]
    parts = [":" if n == m else f"ds({s}, {n})" for s, n, m in zip(starts, operation["sizes"], a.shape, strict=True)]
    text = f"{a.inside(POSTFIX)}[{', '.join(parts)}]"
    return join([a, *starts], text, POSTFIX, a.dtype, operation.output.shape)


def _take(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, ids = _picked_from(operation, inputs), _exact(operation, inputs, 1)
    text = f"take({a}, {ids}, axis={operation['axis']})"
    return join([a, ids], text, POSTFIX, a.dtype, operation.output.shape, 2)


def _element(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a = _picked_from(operation, inputs)
    return join([a], f"{a.inside(POSTFIX)}[{', '.join(map(str, operation['at']))}]", POSTFIX, a.dtype, (), 0)


def _pad(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, value = _exact(operation, inputs), as_type(inputs[1], operation.output.dtype)
    for axis, (low, high) in enumerate(operation["widths"]):
        pieces = []
        for width in (low, None, high):
            if width is None:
                pieces.append(a.text)
            elif width:
                shape = (*a.shape[:axis], width, *a.shape[axis + 1 :])
                pieces.append(f"broadcast({operation.output.dtype}({value}), {shape_text(shape)})")
        if len(pieces) > 1:
            shape = (*a.shape[:axis], a.shape[axis] + low + high, *a.shape[axis + 1 :])
            a = join([a, value], f"concat([{', '.join(pieces)}], axis={axis})", POSTFIX, a.dtype, shape)
    return a


# ---- reductions and dots


def _reduce(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, word = _exact(operation, inputs), operation["function"]
    axes = operation["axes"]
    which = "" if len(axes) == len(a.shape) else f", axis={_axes(list(axes))}"
    keep = ", keep=true" if operation.attributes.get("keep") else ""
    dtype = (
        "i32"
        if word in ("argmax", "argmin")
        else a.dtype
        if word in ("max", "min", "all", "any")
        else arithmetic_type([a])
    )
    return join([a], f"{word}({a}{which}{keep})", POSTFIX, dtype, operation.output.shape, 3)


def _running(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, word = _exact(operation, inputs), operation["function"]
    dtype = a.dtype if word in ("cummax", "cummin") else arithmetic_type([a])
    return join([a], f"{word}({a}, axis={operation['axis']})", POSTFIX, dtype, a.shape, 3)


def _flip(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a = _exact(operation, inputs)
    return join([a], f"flip({a}, {_axes(list(operation['axes']))})", POSTFIX, a.dtype, a.shape, 1)


def _sort(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a = _picked_from(operation, inputs)
    return join([a], f"{operation.name}({a}, axis={operation['axis']})", POSTFIX, operation.output.dtype, a.shape, 4)


def top_k(operation: Operation, inputs: list[Expr]) -> str:
    """The call, which gives two values."""
    return f"top_k({_picked_from(operation, inputs)}, {operation['k']}, axis={operation['axis']})"


def _roll(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, count = _exact(operation, inputs), inputs[1]
    return join([a, count], f"roll({a}, {count}, axis={operation['axis']})", POSTFIX, a.dtype, a.shape)


def _dot(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (left, right), (left_batch, right_batch) = operation["contracted"], operation["batch"]
    # What has 4 bits is no operand of a dot, and each value of it is one of i8.
    types = ["i8" if v.dtype in ("i4", "u4") else v.dtype for v in operation.inputs]
    if any(t not in _DOT_TYPES for t in types):
        raise CannotSay(f"a dot of {types[0]} and {types[1]}")
    if not left:
        raise CannotSay("a dot that contracts nothing")
    sides = [_exact(operation, inputs, k) for k in (0, 1)]
    sides = [cast(side, "i8") if side.dtype in ("i4", "u4") else side for side in sides]
    a, rows = _matrix(sides[0], left_batch, left, last=True)
    b, columns = _matrix(sides[1], right_batch, right, last=False)
    batch = a.shape[:-2]
    dtype = "f64" if "f64" in types else "f32" if types[0] in FLOATS else "i32"
    made = join([a, b], f"dot({a}, {b})", POSTFIX, dtype, (*batch, a.shape[-2], b.shape[-1]), 4)
    wanted = (*batch, *rows, *columns)
    if wanted == made.shape:
        return made
    if not wanted:
        return join([made], f"{made}[0, 0]", POSTFIX, dtype, ())
    dropped = _only_ones(made.shape, wanted)
    if dropped:
        return join([made], f"squeeze({made}, {_axes(dropped)})", POSTFIX, dtype, wanted)
    return join([made], f"reshape({made}, {shape_text(wanted)})", POSTFIX, dtype, wanted)


def _matrix(a: Expr, batch: tuple[int, ...], contracted: tuple[int, ...], last: bool) -> tuple[Expr, tuple[int, ...]]:
    """An operand of a dot as matrices behind its batch dimensions, and the extents of its free dimensions."""
    free = [k for k in range(len(a.shape)) if k not in batch and k not in contracted]
    extents = tuple(a.shape[k] for k in free)
    order = (*batch, *free, *contracted) if last else (*batch, *contracted, *free)
    depth = len(batch)
    if len(free) == 1 and len(contracted) == 1 or order == tuple(range(len(a.shape))):
        a = transposed(a, order)
    elif order != tuple(range(len(a.shape))):
        a = transposed(a, order)
    inner = 1
    for k in range(len(contracted)):
        inner *= a.shape[len(a.shape) - 1 - k] if last else a.shape[depth + k]
    outer = 1
    for n in extents:
        outer *= n
    wanted = (*a.shape[:depth], outer, inner) if last else (*a.shape[:depth], inner, outer)
    if wanted == a.shape:
        return a, extents
    added = _only_ones(wanted, a.shape)
    if added:
        return join([a], f"expand({a}, {_axes(added)})", POSTFIX, a.dtype, wanted), extents
    return join([a], f"reshape({a}, {shape_text(wanted)})", POSTFIX, a.dtype, wanted), extents


SHAPES: dict[str, Spelling] = {
    "broadcast": _broadcast, "reshape": _reshape, "transpose": _transpose, "iota": _iota, "concat": _concat,
    "tile": _tile, "slice": _slice, "dynamic_slice": _dynamic_slice, "element": _element, "take": _take, "pad": _pad,
    "reduce": _reduce, "running": _running, "flip": _flip, "sort": _sort, "argsort": _sort, "roll": _roll, "dot": _dot,
}  # fmt: skip
