"""The text of a body: lines with their indent, each with the place in Python that it is from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from .cannot import Place
from .source import Names


@dataclass
class Line:
    indent: int
    text: str
    place: Place | None = None


class Lines:
    """What `Body` inherits: where its text grows."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.lines: list[Line] = []
        self._indent = 0
        self._place: Place | None = None

    def _line(self, text: str) -> None:
        self.lines.append(Line(self._indent, text, self._place))

    @contextmanager
    def _indented(self) -> Iterator[None]:
        self._indent += 1
        self.names.enter()
        count = len(self.lines)
        yield
        if len(self.lines) == count:
            self._line(f"let {self.names.fresh('nothing')} = 0")
        self.names.leave()
        self._indent -= 1
