"""Sizes of a signature: "m", "2*k + 1", "cdiv(m, 8)"."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

_FUNCTIONS: dict[str, Callable[..., int]] = {
    "cdiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "abs": abs,
    "where": lambda condition, a, b: a if condition else b,
}
_NODES = (
    ast.Expression, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.UnaryOp, ast.USub,
    ast.Not, ast.Compare, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq, ast.BoolOp, ast.And, ast.Or,
    ast.IfExp, ast.Call, ast.Name, ast.Load, ast.Constant,
)  # fmt: skip


class Size:
    """An extent of an array."""

    def __init__(self, text: str) -> None:
        self.text = text
        #: The dimension that it is, alone; else empty.
        self.dim = text if text.isidentifier() else ""
        tree = ast.parse(text, mode="eval")
        for node in ast.walk(tree):
            if not isinstance(node, _NODES):
                raise ValueError(f"a size of another kind: {text}")
        self.names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} - _FUNCTIONS.keys()
        self._code = compile(tree, "<size>", "eval")

    def value(self, known: Mapping[str, int]) -> int:
        """KeyError: a name is not known. Of sizes that are symbols of a tracer it is a symbol, too."""
        for name in self.names:
            if name not in known:
                raise KeyError(name)
        value: int = eval(self._code, {"__builtins__": {}, **_FUNCTIONS}, dict(known))  # noqa: S307
        return int(value) if isinstance(value, bool) else value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text
