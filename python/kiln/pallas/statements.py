"""Statements: blocks of the IR become the lines of a body, each with the place in Python that it is from.

A value is written where it is used, unless that would compute it twice, would read memory that has changed since, or
hides a variable that the Python source gave a name: then it is a `let`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

from . import expressions as ex
from .cannot import CannotSay
from .expressions import COMPARISON, NOT, OR, SHIFT, Expr, as_type, join, literal, renamed, shape_text, whole
from .ir import Bitcast, Block, Index, Kernel, Operation, Ref, Transpose, Value, Window, has_effects, uses, walk, written
from .lines import Line
from .loops import Loops
from .operations import choose, spell
from .shapes import top_k
from .source import Names
from .windows import Subscript, after, bitcast, copied, loaded, region, semaphore, subscript, width

#: What a Python variable has to cost to stay a name.
WORTH_A_NAME = 3
#: Operations of a branch that is written `a if c else b`.
SHORT = 6


class Body(Loops):
    """Writes the body of a kernel; its `lines` are the text."""

    in_index_map = False

    def __init__(self, kernel: Kernel, names: Names) -> None:
        super().__init__(names)
        self.kernel = kernel
        self._expressions: dict[Value, Expr] = {}
        self._uses: dict[Value, int] = {}
        self._pending: list[dict[Value, int]] = []  # by block: what may become a let, and where it is used last
        self._inline = False
        self._counting = _counting(kernel.body)

    def write(self) -> list[Line]:
        self._uses = uses(self.kernel.body)
        for inner, operation in walk(self.kernel.body):
            if operation.name in ("for", "while"):  # used inside is used often
                for value in set(_taken_inside(operation)) - set(_made_inside(operation)):
                    self._uses[value] = self._uses.get(value, 0) + 1
        self._prologue()
        self._block(self.kernel.body)
        if not self.lines:
            self._line("let nothing = 0")
        return self.lines

    # ---- context of operations

    def axis(self, number: int) -> str:
        return self.kernel.axes[number]

    def atom(self, expr: Expr, operation: Operation) -> Expr:
        if re.fullmatch(r"\w+", expr.text):
            return expr
        return self._let(expr, operation.inputs[0].hint)

    def expr(self, value: Value) -> Expr:
        if value.constant is not None:
            return literal(value.constant, value.dtype)
        return self._expressions[value]

    # ---- names of values

    def _let(self, expr: Expr, hint: str | None, value: Value | None = None) -> Expr:
        if self.in_index_map:
            raise CannotSay("an index map that computes something twice")
        if value is not None and expr.dtype in ex.WEAK and not ex.fits_default(expr, value.dtype):
            expr = ex.cast(expr, value.dtype)
        elif expr.dtype == "int" and expr.constant is None and re.fullmatch(r"\w+", expr.text):
            expr = ex.cast(expr, "i32")
        name = self.names.fresh(hint or ("t" if expr.dtype != "bool" else "mask" if expr.shape else "holds"))
        self._line(f"let {name} = {expr}")
        if expr.dtype in ex.WEAK:
            expr = replace(expr, dtype={"int": "i32", "float": "f32"}[expr.dtype])
        return renamed(expr, name)

    def _name(self, value: Value) -> None:
        self._expressions[value] = self._let(self._expressions[value], value.hint, value)
        for pending in self._pending:
            pending.pop(value, None)

    def _flush(self, refs: set[str], after: int, inside: set[Value] = frozenset()) -> None:  # type: ignore[assignment]
        """Before `refs` are written: what was read of them and is still wanted becomes a let."""
        for value, last in list(self._pending[-1].items()):
            expr = self._expressions[value]
            if expr.reads & refs and (last > after or value in inside):
                self._name(value)

    # ---- blocks

    def _block(self, block: Block) -> None:
        lasts: dict[Value, int] = {}
        for k, operation in enumerate(block.operations):
            for value in (*operation.used(), *_taken_inside(operation)):
                lasts[value] = k
        for value in block.results:
            lasts[value] = len(block.operations)
        self._pending.append({})
        for k, operation in enumerate(block.operations):
            place, self._place = self._place, operation.place or self._place
            try:
                self._operation(operation, k, lasts)
            except CannotSay as error:
                raise error.at(self._place) from None
            self._place = place
        self._pending.pop()

    def _operation(self, operation: Operation, k: int, lasts: dict[Value, int]) -> None:
        if operation.name in ("for", "while", "branch"):
            inside = set(_taken_inside(operation))
            self._flush({ref.name for ref in written(operation)}, k, inside)
            getattr(self, "_" + operation.name)(operation)
            for value in operation.outputs:
                self._pending[-1][value] = lasts.get(value, -1)
        elif operation.name == "top_k":
            self._top_k(operation)
        elif operation.name in ("store", "accumulate", "copy", "wait"):
            getattr(self, "_" + operation.name)(operation, k)
        else:
            self._put(operation, lasts.get(operation.output, -1))

    def _put(self, operation: Operation, last: int) -> None:
        """A value: an expression, or a let."""
        value = operation.output
        if operation.name == "load":
            expr = self._load(operation.windows[0])
        else:
            expr = spell(self, operation, [self.expr(v) for v in operation.inputs])
        self._expressions[value] = expr
        if last < 0 or self._inline:
            return
        often = self._uses.get(value, 0) > 1 and not ex.is_cheap(expr, value)
        if often or value.hint and expr.cost >= WORTH_A_NAME or len(expr.text) > ex.LONGEST:
            self._name(value)
        else:
            self._pending[-1][value] = last

    def _top_k(self, operation: Operation) -> None:
        """Two values of one call have names."""
        if self._inline:
            raise CannotSay("top_k in an expression")
        call = top_k(operation, [self.expr(v) for v in operation.inputs])
        found = []
        for value, word in zip(operation.outputs, ("values", "ids"), strict=True):
            found.append(self.names.fresh(value.hint or word))
            self._expressions[value] = ex.name(found[-1], value.dtype, value.shape)
        self._line(f"let {', '.join(found)} = {call}")

    # ---- memory

    def _load(self, window: Window) -> Expr:
        ref = window.ref
        reads = frozenset() if ref.memory == "prefetch" else frozenset([ref.name])
        return loaded(ex.name(ref.name, ref.dtype, ref.shape, reads), subscript(window, self.expr), self.expr)

    def _store(self, store: Operation, k: int) -> None:
        window, value = store.windows[0], store.inputs[0]
        ref, found = window.ref, subscript(window, self.expr)
        if ref.memory in ("any", "prefetch"):
            raise CannotSay("a store to HBM" if ref.memory == "any" else "a store to a prefetch array")
        expr = self._stored(value, value.dtype)
        if len(store.inputs) == 2:
            self._masked(store, expr, k)
            return
        expr = self._undone(whole(expr, value.shape), window, found) if found.rest else _one_lane(expr, found.shape)
        self._flush({ref.name}, k)
        self._line(f"{ref.name}{found.text()} = {expr}")

    def _stored(self, value: Value, dtype: str) -> Expr:
        expr = as_type(self.expr(value), dtype)
        return expr if expr.constant is not None else _of_type(expr, dtype)

    def _undone(self, expr: Expr, window: Window, found: Subscript) -> Expr:
        """What is stored to a reshaped, transposed or bitcast part, as the memory has it."""
        shapes, kind = [found.shape], window.ref.dtype
        for step in found.rest:
            if isinstance(step, Index):
                raise CannotSay("a store into a part of a reshaped ref")
            shape, kind = after(step, shapes[-1], kind)
            shapes.append(shape)
        for step, shape in zip(reversed(found.rest), reversed(shapes[:-1]), strict=True):
            if isinstance(step, Bitcast):
                expr = bitcast(expr, window.ref.dtype)
            elif isinstance(step, Transpose):
                back = [step.axes.index(k) for k in range(len(shape))]
                expr = join([expr], f"transpose({expr}, {back})", ex.POSTFIX, expr.dtype, shape)
            elif expr.shape != shape:
                expr = join([expr], f"reshape({expr}, {shape_text(shape)})", ex.POSTFIX, expr.dtype, shape)
        return expr

    def _masked(self, store: Operation, expr: Expr, k: int) -> None:
        window, mask = store.windows[0], self.expr(store.inputs[1])
        ref, found = window.ref, subscript(window, self.expr)
        if found.rest:
            old = self._load(window)
            masked = self._undone(whole(choose(self, mask, expr, old), old.shape), window, found)
            self._flush({ref.name}, k)
            self._line(f"{ref.name}{found.text()} = {masked}")
            return
        mask, expr = _one_lane(mask, found.shape), _one_lane(expr, found.shape)
        mask = self.atom(whole(mask, found.shape), replace(store, inputs=[store.inputs[1]]))
        self._flush({ref.name}, k)
        self._line(f"{ref.name}{found.text()}[{mask}] = {expr}")

    def _accumulate(self, store: Operation, k: int) -> None:
        window = store.windows[0]
        found = subscript(window, self.expr)
        if found.rest:
            raise CannotSay("a sum into a part of a reshaped ref")
        expr = _one_lane(self._stored(store.inputs[0], window.ref.dtype), found.shape)
        self._flush({window.ref.name}, k)
        self._line(f"{window.ref.name}{found.text()} {store['operator']}= {expr}")

    def _copy(self, copy: Operation, k: int) -> None:
        source, target, arrived = copy.windows
        self._flush({target.ref.name}, k)
        self._line(f"copy {copied(source, target, self.expr)}, {semaphore(arrived, self.expr)}")

    def _wait(self, wait: Operation, k: int) -> None:
        self._flush({wait.windows[1].ref.name}, k)
        _, target, arrived = wait.windows
        counted = f", {region(target, self.expr)}" if arrived.ref in self._counting else ""
        self._line(f"wait {semaphore(arrived, self.expr)}{counted}")

    def _prologue(self) -> None:
        """Prefetch arrays that become scratch."""
        kernel = self.kernel
        if not kernel.prologue:
            return
        firsts = [f"first({a})" for a, steps in zip(kernel.axes, kernel.grid, strict=True) if steps != 1]
        if firsts:
            self._line(f"when {' and '.join(firsts)}:")
        self._indent += bool(firsts)
        for target, source in kernel.prologue:
            for at in _places(target.shape):
                self._line(f"{target.name}{at} = {source.name}{at}")
        self._indent -= bool(firsts)

    # ---- branches

    def _branch(self, branch: Operation) -> None:
        condition = self.expr(branch.inputs[0])
        if self._as_choice(branch, condition):
            return
        targets = [self._result(value) for value in branch.outputs]
        blocks = branch.blocks
        if len(blocks) != 2:
            self._switch(branch, condition, targets)
        else:
            otherwise, then = blocks
            if condition.dtype != "bool":
                condition = join([condition], f"{condition.inside(SHIFT)} != 0", COMPARISON, "bool")
            if not _says_something(then) and not any(targets):
                self._when(f"when {_opposite(condition)}:", otherwise, targets)
            else:
                self._when(f"when {condition}:", then, targets)
                if _says_something(otherwise) or any(targets):
                    self._when("else:", otherwise, targets)
        for value, target in zip(branch.outputs, targets, strict=True):
            if target is not None:
                self._expressions[value] = ex.name(target, value.dtype, value.shape, frozenset([target]))

    def _as_choice(self, branch: Operation, condition: Expr) -> bool:
        """`a if c else b`, for short scalars or values that are there already; of several results one `let` has all."""
        wanted = [k for k, value in enumerate(branch.outputs) if self._uses.get(value)]
        if len(branch.blocks) != 2 or not wanted or has_effects(branch):
            return False
        short = SHORT if not any(branch.outputs[k].shape for k in wanted) else 0
        if any(len(b.operations) > short or any(o.blocks for o in b.operations) for b in branch.blocks):
            return False
        no, yes = (self._inlined(block) for block in branch.blocks)
        pairs = [ex.spelt([yes[k], no[k]], branch.outputs[k].dtype) for k in wanted]
        if sum(len(e.text) for pair in pairs for e in pair) > ex.LONGEST:
            return False
        if condition.dtype != "bool":
            condition = join([condition], f"{condition.inside(SHIFT)} != 0", COMPARISON, "bool")
        if len(wanted) == 1:
            (value,) = (branch.outputs[k] for k in wanted)
            self._expressions[value] = ex.of_value(choose(self, condition, *pairs[0]), value)
        else:
            self._let_all([branch.outputs[k] for k in wanted], condition, pairs)
        return True

    def _let_all(self, values: list[Value], condition: Expr, pairs: list[list[Expr]]) -> None:
        """`let a, b = (e, f) if c else (g, h)`."""
        typed = [[whole(_of_type(e, v.dtype), v.shape) for e in pair] for v, pair in zip(values, pairs, strict=True)]
        yes, no = (", ".join(pair[k].text for pair in typed) for k in (0, 1))
        names = [self.names.fresh(value.hint or "result") for value in values]
        self._line(f"let {', '.join(names)} = ({yes}) if {condition.inside(OR)} else ({no})")
        for value, name in zip(values, names, strict=True):
            self._expressions[value] = ex.name(name, value.dtype, value.shape)

    def _inlined(self, block: Block) -> list[Expr]:
        """The block's results as expressions, without a statement."""
        kept, self._inline = self._inline, True
        self._block(block)
        self._inline = kept
        return [self.expr(value) for value in block.results]

    def _result(self, value: Value) -> str | None:
        """A variable for a result that somebody takes."""
        if not self._uses.get(value):
            return None
        name = self.names.fresh(value.hint or "result")
        zero = "false" if value.dtype == "bool" else "0.0" if value.is_float else "0"
        self._line(f"var {name}: {value.dtype}{shape_text(value.shape) if value.shape else ''} = {zero}")
        return name

    def _when(self, head: str, block: Block, targets: list[str | None]) -> None:
        self._line(head)
        with self._indented():
            self._block(block)
            self._assign(targets, block.results)

    def _switch(self, branch: Operation, which: Expr, targets: list[str | None]) -> None:
        last = len(branch.blocks) - 1
        for k, block in enumerate(branch.blocks):
            compare = f"{which.inside(SHIFT)} {'<=' if k == 0 else '=='} {k}"
            self._when(
                f"when {compare}:" if k == 0 else "else:" if k == last else f"else when {compare}:", block, targets
            )

    def _assign(self, targets: list[str | None], values: list[Value]) -> None:
        """All at once: what is assigned later and reads what is assigned before is a let first."""
        todo = [(t, self._stored(v, v.dtype)) for t, v in zip(targets, values, strict=True) if t is not None]
        todo = [(t, e) for t, e in todo if e.text != t]
        for k, (target, expr) in enumerate(todo):
            for j in range(k + 1, len(todo)):
                if target in todo[j][1].reads:
                    todo[j] = (todo[j][0], self._let(todo[j][1], f"{todo[j][0]}_next"))
            self._line(f"{target} = {expr}")


def _one_lane(expr: Expr, shape: tuple[int, ...]) -> Expr:
    """Of what is the same in all lanes, where memory has one (passes/lanes.py)."""
    if len(expr.shape) != len(shape) or expr.shape[-1:] == shape[-1:] or shape[-1] != 1:
        return expr
    text = f"{expr.inside(ex.POSTFIX)}[{', '.join([':'] * (len(shape) - 1))}, 0:1]"
    return join([expr], text, ex.POSTFIX, expr.dtype, (*expr.shape[:-1], 1))


def _of_type(expr: Expr, dtype: str) -> Expr:
    """With this type where nothing else decides it."""
    expr = as_type(expr, dtype)
    return ex.cast(expr, dtype) if expr.dtype in ex.WEAK and not ex.fits_default(expr, dtype) else expr


def _taken_inside(operation: Operation) -> Iterator[Value]:
    for block in operation.blocks:
        for _, inner in walk(block):
            yield from inner.used()
            for each in inner.blocks:
                yield from each.results
        yield from block.results


def _made_inside(operation: Operation) -> Iterator[Value]:
    for block in operation.blocks:
        yield from block.parameters
        for _, inner in walk(block):
            yield from inner.outputs
            for each in inner.blocks:
                yield from each.parameters


def _says_something(block: Block) -> bool:
    return any(has_effects(operation) for operation in block.operations)


def _opposite(condition: Expr) -> str:
    if condition.negated is not None:
        return condition.negated
    return f"not {condition.inside(NOT)}"


def _places(shape: tuple[int, ...]) -> Iterator[str]:
    for at in itertools.product(*map(range, shape)):
        yield f"[{', '.join(map(str, at))}]"


def _counting(body: Block) -> set[Ref]:
    """The semaphores on which a wait is not for one copy, as they are not all of one size."""
    sizes: dict[Ref, set[int | None]] = {}
    for _, operation in walk(body):
        if operation.name in ("copy", "wait"):
            target, arrived = operation.windows[1:]
            elements = target.elements
            bits = None if elements is None else elements * width(target.ref.dtype)
            sizes.setdefault(arrived.ref, set()).add(bits)
    return {ref for ref, found in sizes.items() if len(found) > 1 or None in found}
