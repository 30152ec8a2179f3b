"""Statements: loops. What they carry are variables, assigned at the end of each turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import expressions as ex
from .expressions import Expr, shape_text
from .ir import Block, Operation, Value, has_effects, walk
from .lines import Lines


class Loops(Lines):
    """What `Body` inherits: a method for each kind of loop."""

    if TYPE_CHECKING:  # of Body
        _expressions: dict[Value, Expr]
        _pending: list[dict[Value, int]]
        _uses: dict[Value, int]

        def expr(self, value: Value) -> Expr: ...
        def _assign(self, targets: list[str | None], values: list[Value]) -> None: ...
        def _block(self, block: Block) -> None: ...
        def _inlined(self, block: Block) -> list[Expr]: ...
        def _let(self, expr: Expr, hint: str | None, value: Value | None = None) -> Expr: ...
        def _name(self, value: Value) -> None: ...
        def _stored(self, value: Value, dtype: str) -> Expr: ...

    def _for(self, loop: Operation) -> None:
        (body,) = loop.blocks
        start, stop, *carried = loop.inputs
        first, last = map(self._bound, (start, stop))
        counter, *variables = body.parameters
        targets = self._variables(variables, carried, body)
        name = self.names.fresh(counter.hint or "k")
        self._expressions[counter] = ex.name(name, "int")
        self._line(f"for {name} in range({last if first.constant == 0 else f'{first}, {last}'}):")
        with self._indented():
            self._block(body)
            self._assign(list(targets), body.results)
        self._carried_out(loop, targets)

    def _bound(self, value: Value) -> Expr:
        """A `let` where it reads memory; after this block, a value of one further out has its own expression again."""
        expr = self.expr(value)
        if not expr.reads:
            return expr
        if value not in self._pending[-1]:
            return self._let(expr, value.hint, value)
        self._name(value)
        return self.expr(value)

    def _while(self, loop: Operation) -> None:
        """The condition stands in the head if it is one expression; else a variable holds it, renewed by each turn."""
        condition, body = loop.blocks
        targets = self._variables(body.parameters, loop.inputs, body)
        carried = [self._expressions[value] for value in body.parameters]

        def asked() -> Expr:
            """The condition of the variables as they are, whatever was a `let` of them before."""
            self._expressions.update(zip(condition.parameters, carried, strict=True))
            self._block(condition)
            return self.expr(condition.results[0])

        self._expressions.update(zip(condition.parameters, carried, strict=True))
        again, head = None, self._one_expression(condition)
        if head is None:
            first = asked()
            again = self.names.fresh(condition.results[0].hint or "again")
            self._line(f"var {again} = {first}")
        self._line(f"while {head or again}:")
        with self._indented():
            self._block(body)
            self._assign(list(targets), body.results)
            if again is not None:
                self._line(f"{again} = {asked()}")
        self._carried_out(loop, targets)

    def _one_expression(self, block: Block) -> Expr | None:
        """The block's one result, if that takes no statement and computes nothing twice."""
        if any(has_effects(inner) or inner.name in ("for", "while") for _, inner in walk(block)):
            return None
        lines = len(self.lines)
        self.names.enter()
        (expr,) = self._inlined(block)
        self.names.leave()
        made = {v: self._expressions[v] for operation in block.operations for v in operation.outputs}
        twice = any(self._uses.get(v, 0) > 1 and not ex.is_cheap(e, v) for v, e in made.items())
        if twice or len(self.lines) > lines or len(expr.text) > ex.LONGEST:
            del self.lines[lines:]
            return None
        return expr

    def _carried_out(self, loop: Operation, targets: list[str]) -> None:
        for value, target in zip(loop.outputs, targets, strict=True):
            self._expressions[value] = ex.name(target, value.dtype, value.shape, frozenset([target]))

    def _variables(self, carried: list[Value], initial: list[Value], body: Block) -> list[str]:
        return [self._variable(v, i, r) for v, i, r in zip(carried, initial, body.results, strict=True)]

    def _variable(self, value: Value, initial: Value, result: Value) -> str:
        name = self.names.fresh(result.hint or value.hint or "carried")
        expr = self._stored(initial, value.dtype)
        if expr.shape != value.shape or expr.dtype in ex.WEAK:
            kind = f"{value.dtype}{shape_text(value.shape) if value.shape else ''}"
            self._line(f"var {name}: {kind} = {expr}")
        else:
            self._line(f"var {name} = {expr}")
        self._expressions[value] = ex.name(name, value.dtype, value.shape, frozenset([name]))
        return name
