"""Expressions of a spec as text, each with its precedence, Kiln's type of it and what it reads."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ir import Value

# Precedences, the tightest first.
ATOM, POSTFIX, POWER, UNARY, PRODUCT, SUM, SHIFT, BIT_AND, BIT_XOR, BIT_OR, COMPARISON, NOT, AND, OR, CONDITIONAL = (
    range(100, 85, -1)
)

FLOATS = ("f32", "bf16", "f16", "f64", "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "float")
#: The type that arithmetic on a type computes in, where it is another one.
COMPUTES_IN = {"bf16": "f32", "f16": "f32", "f8e4m3fn": "f32", "f8e5m2": "f32", "f8e8m0fnu": "f32",
               "i4": "i32", "u4": "i32", "i8": "i32", "u8": "i32", "i16": "i32", "u16": "i32", "bool": "i32"}  # fmt: skip
#: Types of literals, axes and counters, which take the other side's type.
WEAK = ("int", "float")
#: An expression that is longer than this becomes a let.
LONGEST = 88


@dataclass(frozen=True)
class Expr:
    text: str
    precedence: int
    dtype: str  # Kiln's, or weak
    shape: tuple[int, ...] = ()  # that of the text; it broadcasts to the value's
    reads: frozenset[str] = frozenset()  # the memory that may change under it
    cost: int = 0
    constant: Any = None
    negated: str | None = None  # the text of the opposite, of comparisons

    def __str__(self) -> str:
        return self.text

    def inside(self, precedence: int) -> str:
        """The text as an operand of something that binds as tightly."""
        return f"({self.text})" if self.precedence < precedence else self.text


def join(
    parts: Sequence[Expr], text: str, precedence: int, dtype: str, shape: tuple[int, ...] | None = None, cost: int = 1
) -> Expr:
    """An expression made of parts, of their broadcast shape unless one is given."""
    if shape is None:
        shape = tuple(np.broadcast_shapes(*(p.shape for p in parts)))
    reads = frozenset().union(*(p.reads for p in parts))
    return Expr(text, precedence, dtype, shape, reads, sum(p.cost for p in parts) + cost)


def name(text: str, dtype: str, shape: tuple[int, ...] = (), reads: frozenset[str] = frozenset()) -> Expr:
    return Expr(text, ATOM, dtype, shape, reads)


def literal(constant: Any, dtype: str) -> Expr:
    if dtype == "bool":
        return Expr("true" if constant else "false", ATOM, "bool", constant=bool(constant))
    if dtype not in FLOATS:
        whole = int(constant)
        return Expr(str(whole), ATOM if whole >= 0 else UNARY, "int", constant=whole)
    number = float(constant)
    if math.isnan(number):
        return Expr("nan", ATOM, "float", constant=number)
    text = _float_text(number, dtype)
    return Expr(text, UNARY if text.startswith("-") else ATOM, "float", constant=number)


def _float_text(number: float, dtype: str) -> str:
    """The shortest decimal that is this number in its type, with a point."""
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    text = repr(number)
    if dtype != "f64":
        for digits in range(1, 10):
            shorter = f"{number:.{digits}g}"
            if np.float32(float(shorter)) == np.float32(number):
                text = shorter
                break
    if "e" in text:
        mantissa, exponent = text.split("e")
        if -5 < int(exponent) < 10:
            text = np.format_float_positional(float(text), trim="0")
        else:
            return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent)}"
    return text if "." in text else text + ".0"


def shape_text(shape: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, shape)) + "]"


def common_type(parts: Sequence[Expr]) -> str:
    """Of operations that keep their operands' type."""
    strong = [p.dtype for p in parts if p.dtype not in WEAK]
    if strong:
        return strong[0]
    return "float" if any(p.dtype == "float" for p in parts) else "int"


def arithmetic_type(parts: Sequence[Expr]) -> str:
    dtype = common_type(parts)
    return COMPUTES_IN.get(dtype, dtype)


def cast(expr: Expr, dtype: str) -> Expr:
    return join([expr], f"{dtype}({expr.text})", POSTFIX, dtype)


def fits(expr: Expr, dtype: str) -> bool:
    """Whether the expression has this type without a cast."""
    if expr.dtype == dtype or expr.dtype == "int" and dtype == "i32" or expr.dtype == "float" and dtype == "f32":
        return True
    return expr.constant is not None and expr.dtype in WEAK


def fits_default(expr: Expr, dtype: str) -> bool:
    """Whether a weak expression that nothing decides has this type."""
    return {"int": "i32", "float": "f32"}.get(expr.dtype) == dtype


def as_type(expr: Expr, dtype: str) -> Expr:
    """The expression with this type; a literal takes it from the other side, or is spelt for it."""
    if expr.constant is not None and dtype in FLOATS and expr.dtype == "int":
        return literal(expr.constant, dtype)
    return expr if fits(expr, dtype) else cast(expr, dtype)


def of_value(expr: Expr, value: Value) -> Expr:
    return as_type(expr, value.dtype)


def spelt(parts: Sequence[Expr], dtype: str) -> list[Expr]:
    """Integer literals in arithmetic of floats get a point."""
    return [
        literal(p.constant, dtype) if p.constant is not None and p.dtype == "int" and dtype in FLOATS else p
        for p in parts
    ]


def whole(expr: Expr, shape: tuple[int, ...]) -> Expr:
    """The expression with exactly this shape."""
    if expr.shape == shape:
        return expr
    dtype = {"int": "i32", "float": "f32"}.get(expr.dtype, expr.dtype)
    return join([expr], f"broadcast({expr.text}, {shape_text(shape)})", POSTFIX, dtype, shape)


def plus(a: Expr, b: Expr) -> Expr:
    """A sum of subscripts."""
    if a.constant is not None and b.constant is not None:
        return literal(a.constant + b.constant, "i32")
    if a.constant == 0:
        return b
    if b.constant == 0:
        return a
    return join([a, b], f"{a.inside(SUM)} + {b.inside(SUM + 1)}", SUM, common_type([a, b]))


def times(a: Expr, factor: int) -> Expr:
    if a.constant is not None:
        return literal(a.constant * factor, "i32")
    return a if factor == 1 else join([a], f"{a.inside(PRODUCT)} * {factor}", PRODUCT, a.dtype)


def renamed(expr: Expr, text: str) -> Expr:
    """The same value by the name of a let."""
    return dataclasses.replace(expr, text=text, precedence=ATOM, reads=frozenset(), cost=0, negated=None)


def is_cheap(expr: Expr, value: Value) -> bool:
    """Whether a value may be computed twice."""
    return expr.cost == 0 or not value.shape and expr.cost <= 1 and not expr.reads
