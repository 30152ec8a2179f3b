"""How each operation of the IR is spelt as an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from . import cannot
from .cannot import CannotSay
from .expressions import (
    AND, ATOM, BIT_AND, BIT_OR, BIT_XOR, COMPARISON, CONDITIONAL, FLOATS, NOT, OR, POSTFIX, POWER, PRODUCT, SHIFT, SUM,
    UNARY, WEAK, Expr, arithmetic_type, as_type, cast, common_type, join, literal, of_value, shape_text, spelt, whole,
)  # fmt: skip
from .ir import Operation
from .windows import Dimension, strided


class Context(Protocol):
    """What spelling an operation may ask for."""

    in_index_map: bool

    def axis(self, number: int) -> str: ...

    def atom(self, expr: Expr, operation: Operation) -> Expr:
        """The expression as a name, by a let if it is not one."""
        ...


Spelling = Callable[[Context, Operation, list[Expr]], Expr]

FUNCTIONS = {
    name: name
    for name in """exp exp2 expm1 log log1p tanh erf erfc sigmoid sqrt rsqrt cbrt sin cos tan asin acos atan sinh cosh
    asinh acosh atanh floor ceil relu silu gelu gelu_tanh softplus""".split()
}
KEEPING = {"abs": "abs", "sign": "sign"}
INFIX = {"add": ("+", SUM), "sub": ("-", SUM), "mul": ("*", PRODUCT), "floor_divide": ("//", PRODUCT),
         "remainder": ("%", PRODUCT), "shift_left": ("<<", SHIFT), "shift_right_arithmetic": (">>", SHIFT),
         "and": ("&", BIT_AND), "xor": ("^", BIT_XOR), "or": ("|", BIT_OR)}  # fmt: skip
COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_DOT_TYPES = {"f8e4m3fn", "f8e5m2", "bf16", "f16", "f32", "f64", "i8", "u8", "i32"}


def spell(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    """The operation's output, with the type that its value has."""
    name, out = operation.name, operation.output
    if name in FUNCTIONS:
        (x,) = spelt(inputs, operation.inputs[0].dtype)
        expr = join([x], f"{FUNCTIONS[name]}({x})", POSTFIX, arithmetic_type([x]))
    elif name in KEEPING:
        (x,) = inputs
        expr = join([x], f"{KEEPING[name]}({x})", POSTFIX, arithmetic_type([x]))
    elif name in INFIX:
        expr = _infix(context, operation, inputs)
    elif name in COMPARE:
        expr = _compare(operation, inputs)
    elif name in _SPELLINGS:
        expr = _SPELLINGS[name](context, operation, inputs)
    else:
        raise CannotSay(cannot.primitive(name))
    return of_value(expr, out)


def _infix(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    symbol, precedence = INFIX[operation.name]
    a, b = spelt(inputs, operation.output.dtype)
    dtype = arithmetic_type([a, b])
    if operation.output.dtype == "bool":
        dtype = "bool"
        if symbol in "&|" and not operation.output.shape and not context.in_index_map:
            word, precedence = ("and", AND) if symbol == "&" else ("or", OR)
            return join([a, b], f"{a.inside(precedence)} {word} {b.inside(precedence + 1)}", precedence, "bool")
        return join([a, b], f"{a.inside(precedence)} {symbol} {b.inside(precedence + 1)}", precedence, "bool")
    if symbol in ("+", "-") and b.constant is not None and b.text.startswith("-") and b.text != "-inf":
        symbol, b = "-" if symbol == "+" else "+", literal(-b.constant, "f32" if b.dtype == "float" else "i32")
    return join([a, b], f"{a.inside(precedence)} {symbol} {b.inside(precedence + 1)}", precedence, dtype)


def _compare(operation: Operation, inputs: list[Expr]) -> Expr:
    symbol = COMPARE[operation.name]
    a, b = spelt(inputs, operation.inputs[0].dtype)
    if a.constant is not None and b.constant is None:  # 0 < x reads better as x > 0
        a, b = b, a
        symbol = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(symbol, symbol)
    left, right = a.inside(BIT_OR), b.inside(BIT_OR)
    expr = join([a, b], f"{left} {symbol} {right}", COMPARISON, "bool")
    turns = symbol in ("==", "!=") or not operation.inputs[0].is_float  # NaN is neither less nor not less
    return Expr(expr.text, expr.precedence, "bool", expr.shape, expr.reads, expr.cost,
                negated=f"{left} {OPPOSITE[symbol]} {right}" if turns else None)  # fmt: skip


# ---- arithmetic


def _divide(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    if operation.output.dtype not in FLOATS:
        return _function("quot")(context, operation, inputs)
    a, b = spelt(inputs, operation.output.dtype)
    return join([a, b], f"{a.inside(PRODUCT)} / {b.inside(UNARY)}", PRODUCT, arithmetic_type([a, b]))


def _function(word: str) -> Spelling:
    def of(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
        parts = spelt(inputs, operation.output.dtype)
        return join(parts, f"{word}({', '.join(p.text for p in parts)})", POSTFIX, arithmetic_type(parts))

    return of


def _keeping(word: str) -> Spelling:
    def of(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
        parts = spelt(inputs, operation.output.dtype)
        return join(parts, f"{word}({', '.join(p.text for p in parts)})", POSTFIX, common_type(parts))

    return of


def _power(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, b = inputs
    return join([a, b], f"{a.inside(POSTFIX)} ** {b.inside(POSTFIX)}", POWER, arithmetic_type([a]))


def _integer_power(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,) = inputs
    return join([a], f"{a.inside(POSTFIX)} ** {operation['exponent']}", POWER, arithmetic_type([a]))


def _negative(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,) = inputs
    return join([a], f"-{a.inside(UNARY)}", UNARY, arithmetic_type([a]))


def _not(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,) = inputs
    if operation.output.dtype != "bool":
        return join([a], f"~{a.inside(UNARY)}", UNARY, a.dtype)
    if a.negated is not None:
        return Expr(a.negated, COMPARISON, "bool", a.shape, a.reads, a.cost, negated=a.text)
    if operation.output.shape or context.in_index_map:
        return join([a], f"~{a.inside(UNARY)}", UNARY, "bool")
    return join([a], f"not {a.inside(NOT)}", NOT, "bool")


def _logical_shift(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, b = inputs
    dtype = operation.output.dtype
    if dtype[0] == "u":
        return join([a, b], f"{a.inside(SHIFT)} >> {b.inside(SHIFT + 1)}", SHIFT, arithmetic_type([a]))
    if dtype != "i32":
        raise CannotSay(f"a logical shift of {dtype}")
    count = b.text if b.constant is not None else f"u32({b})"
    return join([a, b], f"bitcast(i32, bitcast(u32, {as_type(a, 'i32')}) >> {count})", POSTFIX, "i32")


def _round(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,) = inputs
    if operation["to_even"]:
        return join([a], f"round({a})", POSTFIX, arithmetic_type([a]))
    x = context.atom(a, operation)
    dtype = arithmetic_type([x])
    half = f"{'f64' if dtype == 'f64' else 'f32'}(abs({x}) - floor(abs({x})) >= 0.5)"
    return join([x], f"sign({x}) * (floor(abs({x})) + {half})", PRODUCT, dtype)


def _is_finite(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,) = inputs
    return join([a], f"abs({a}) < inf", COMPARISON, "bool")


def _select(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    condition, yes, no = inputs
    yes, no = spelt([yes, no], operation.output.dtype)
    if operation.inputs[0].dtype != "bool":
        condition = join([condition], f"{condition.inside(BIT_OR)} != 0", COMPARISON, "bool")
    return choose(context, condition, yes, no)


def choose(context: Context, condition: Expr, yes: Expr, no: Expr) -> Expr:
    """`where` evaluates both; what subscripts in a scalar is only evaluated where it is wanted."""
    dtype = common_type([yes, no])
    scalar = not (condition.shape or yes.shape or no.shape)
    if scalar and not context.in_index_map and "[" in yes.text + no.text:
        text = f"{yes.inside(OR)} if {condition.inside(OR)} else {no.inside(CONDITIONAL)}"
        return join([condition, yes, no], text, CONDITIONAL, dtype)
    return join([condition, yes, no], f"where({condition}, {yes}, {no})", POSTFIX, dtype)


def _clamp(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    parts = spelt(inputs, operation.output.dtype)
    return join(parts, f"clamp({', '.join(p.text for p in parts)})", POSTFIX, common_type(parts))


def _convert(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,), dtype = inputs, operation.output.dtype
    origin = operation.inputs[0]
    if dtype == "bool":
        zero = "0.0" if origin.is_float else "0"
        return join([a], f"{a.inside(BIT_OR)} != {zero}", COMPARISON, "bool")
    if a.dtype == "int" and dtype in ("i32", "i64") and a.constant is None and origin.dtype in ("i32", "i64"):
        return a  # an axis or a counter takes the other side's type
    if context.in_index_map:
        return a if origin.dtype != "bool" else join([a], f"where({a}, 1, 0)", POSTFIX, "int")
    if origin.dtype == "bool" and a.dtype != "bool":
        return cast(a, dtype)
    return a if a.dtype == dtype and a.constant is None else cast(a, dtype)


def _bitcast(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (a,) = inputs
    a = as_type(a, operation.inputs[0].dtype) if a.dtype not in WEAK else cast(a, operation.inputs[0].dtype)
    dtype = operation.output.dtype
    return join([a], f"bitcast({dtype}, {a})", POSTFIX, dtype)


# ---- shapes


def _exact(operation: Operation, inputs: list[Expr], k: int = 0) -> Expr:
    value = operation.inputs[k]
    expr = inputs[k]
    if expr.shape != value.shape and expr.dtype in WEAK:
        expr = as_type(expr, value.dtype) if not fits_default(expr, value.dtype) else expr
        expr = cast(expr, value.dtype) if expr.dtype in WEAK and not fits_default(expr, value.dtype) else expr
    return whole(expr, value.shape)


def fits_default(expr: Expr, dtype: str) -> bool:
    """Whether a weak expression that nothing decides has this type."""
    return {"int": "i32", "float": "f32"}.get(expr.dtype) == dtype


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
    a, out = _exact(operation, inputs), operation.output
    strides = operation["strides"]
    parts = [
        ":" if (low, high) == (0, n) or stride != 1 else f"{low}:{high}"
        for low, high, stride, n in zip(operation["starts"], operation["limits"], strides, a.shape, strict=True)
    ]
    while parts and parts[-1] == ":":
        parts.pop()
    if parts:
        shape = tuple(n if s != 1 else o for n, o, s in zip(a.shape, out.shape, strides, strict=True))
        a = join([a], f"{a.inside(POSTFIX)}[{', '.join(parts)}]", POSTFIX, a.dtype, shape)
    for axis, stride in enumerate(strides):
        if stride != 1:
            start = literal(operation["starts"][axis], "i32")
            a = strided(a, axis, Dimension(a.shape[axis], start, out.shape[axis], stride))
    return a


def _dynamic_slice(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, starts = _exact(operation, inputs), inputs[1:]
    parts = [":" if n == m else f"ds({s}, {n})" for s, n, m in zip(starts, operation["sizes"], a.shape, strict=True)]
    text = f"{a.inside(POSTFIX)}[{', '.join(parts)}]"
    return join([a, *starts], text, POSTFIX, a.dtype, operation.output.shape)


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
    dtype = "i32" if word in ("argmax", "argmin") else a.dtype if word in ("max", "min", "all", "any") else arithmetic_type([a])
    return join([a], f"{word}({a}{which}{keep})", POSTFIX, dtype, operation.output.shape, 3)


def _cumsum(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a = _exact(operation, inputs)
    return join([a], f"cumsum({a}, axis={operation['axis']})", POSTFIX, arithmetic_type([a]), a.shape, 3)


def _roll(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    a, count = _exact(operation, inputs), inputs[1]
    return join([a, count], f"roll({a}, {count}, axis={operation['axis']})", POSTFIX, a.dtype, a.shape)


def _dot(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    (left, right), (left_batch, right_batch) = operation["contracted"], operation["batch"]
    types = [v.dtype for v in operation.inputs]
    if any(t not in _DOT_TYPES for t in types):
        raise CannotSay(f"a dot of {types[0]} and {types[1]}")
    if not left:
        raise CannotSay("a dot that contracts nothing")
    a, rows = _matrix(_exact(operation, inputs, 0), left_batch, left, last=True)
    b, columns = _matrix(_exact(operation, inputs, 1), right_batch, right, last=False)
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


# ---- the grid


def _axis(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    return Expr(context.axis(operation["axis"]), ATOM, "int")


def _of_axis(word: str, dtype: str) -> Spelling:
    def of(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
        return Expr(f"{word}({context.axis(operation['axis'])})", POSTFIX, dtype)

    return of


_SPELLINGS: dict[str, Spelling] = {
    "divide": _divide, "pow": _power, "integer_pow": _integer_power, "neg": _negative, "not": _not,
    "rem": _function("rem"), "cdiv": _function("cdiv"), "atan2": _function("atan2"), "max": _keeping("max"), "min": _keeping("min"),
    "shift_right_logical": _logical_shift, "round": _round, "is_finite": _is_finite, "select": _select,
    "clamp": _clamp, "convert": _convert, "bitcast": _bitcast, "broadcast": _broadcast, "reshape": _reshape,
    "transpose": _transpose, "iota": _iota, "concat": _concat, "tile": _tile, "slice": _slice,
    "dynamic_slice": _dynamic_slice, "pad": _pad, "reduce": _reduce, "cumsum": _cumsum, "roll": _roll, "dot": _dot,
    "program_id": _axis, "num_programs": _of_axis("steps", "int"), "first": _of_axis("first", "bool"),
    "last": _of_axis("last", "bool"),
}  # fmt: skip
