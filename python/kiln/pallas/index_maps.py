"""Index maps as text: expressions of axes and prefetch arrays, without statements."""

from __future__ import annotations

from . import expressions as ex
from .cannot import CannotSay
from .expressions import Expr
from .ir import Block, Operation
from .statements import Body


class IndexMap(Body):
    """Writes an index map with what bodies are written with, but that there is nowhere to put a statement."""

    in_index_map = True

    def results(self, block: Block) -> list[Expr]:
        for k, value in enumerate(block.parameters):
            self._expressions[value] = ex.name(self.axis(k), "int")
        self._inline = True
        self._block(block)
        return [self.expr(value) for value in block.results]

    def _branch(self, branch: Operation) -> None:
        if not self._as_choice(branch, self.expr(branch.inputs[0])):
            raise CannotSay("an index map with branches")

    def _line(self, text: str) -> None:
        raise CannotSay("an index map with statements")
