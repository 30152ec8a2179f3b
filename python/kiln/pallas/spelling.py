"""What spelling an operation as an expression may ask for, and the form of the functions that do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .expressions import Expr
from .ir import Operation


class Context(Protocol):
    """What spelling an operation may ask for."""

    in_index_map: bool

    def axis(self, number: int) -> str: ...

    def atom(self, expr: Expr, operation: Operation) -> Expr:
        """The expression as a name, by a let if it is not one."""
        ...


Spelling = Callable[[Context, Operation, list[Expr]], Expr]
