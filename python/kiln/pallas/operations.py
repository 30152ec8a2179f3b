"""How each operation of the IR is spelt as an expression."""

from __future__ import annotations

from . import cannot
from .cannot import CannotSay
from .expressions import (
    AND,
    ATOM,
    BIT_AND,
    BIT_OR,
    BIT_XOR,
    COMPARISON,
    CONDITIONAL,
    FLOATS,
    NOT,
    OR,
    POSTFIX,
    POWER,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    WEAK,
    Expr,
    arithmetic_type,
    as_type,
    cast,
    common_type,
    join,
    literal,
    of_value,
    spelt,
)  # fmt: skip
from .ir import Operation
from .shapes import SHAPES
from .spelling import Context, Spelling
from .windows import bitcast

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
    left, right = a.inside(SHIFT), b.inside(SHIFT)
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
    if operation.inputs[1].dtype != operation.inputs[0].dtype:
        b = cast(b, operation.inputs[0].dtype)
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
        condition = join([condition], f"{condition.inside(SHIFT)} != 0", COMPARISON, "bool")
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
        return join([a], f"{a.inside(SHIFT)} != {zero}", COMPARISON, "bool")
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
    return bitcast(a, operation.output.dtype)


# ---- the grid


def _axis(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
    return Expr(context.axis(operation["axis"]), ATOM, "int")


def _of_axis(word: str, dtype: str) -> Spelling:
    def of(context: Context, operation: Operation, inputs: list[Expr]) -> Expr:
        return Expr(f"{word}({context.axis(operation['axis'])})", POSTFIX, dtype)

    return of


_SPELLINGS: dict[str, Spelling] = {
    "divide": _divide, "pow": _power, "integer_pow": _integer_power, "neg": _negative, "not": _not,
    "rem": _function("rem"), "cdiv": _function("cdiv"), "atan2": _function("atan2"), "max": _keeping("max"),
    "min": _keeping("min"), "shift_right_logical": _logical_shift, "round": _round, "is_finite": _is_finite,
    "select": _select, "clamp": _clamp, "convert": _convert, "bitcast": _bitcast, "program_id": _axis,
    "num_programs": _of_axis("steps", "int"), "first": _of_axis("first", "bool"), "last": _of_axis("last", "bool"),
    **SHAPES,
}  # fmt: skip
