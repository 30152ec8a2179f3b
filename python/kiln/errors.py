"""What Kiln says is wrong, as exceptions: one class a rule, all of them `kiln.Error`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["RULES", "Diagnostic", "Error", "Note", "of_rule"]


@dataclass(frozen=True)
class Note:
    """What else there is to say of a diagnostic, and the place that it is about."""

    message: str
    path: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong, and where: from `line` and `column` to `end_line` and `end_column`, which is behind it."""

    rule: str
    message: str
    path: str = ""
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    hint: str = ""
    severity: str = "error"
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}: " if self.path else ""
        lines = [f"{place}{self.severity}[{self.rule}]: {self.message}", *self._excerpt()]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def _excerpt(self) -> list[str]:
        """The line of the spec, with a caret below it; nothing where the file has gone."""
        if not self.path:
            return []
        try:
            text = Path(self.path).read_text(encoding="utf-8").splitlines()[self.line - 1]
        except (OSError, IndexError, UnicodeDecodeError):
            return []
        end = self.end_column if self.end_line == self.line else len(text) + 1
        width = max(end - self.column, 1)
        return [f"{self.line:4} | {text}", "     | " + " " * (self.column - 1) + "^" + "~" * (width - 1)]


class Error(Exception):
    """What Kiln refuses. `rule` is its label (`kiln explain RULE` says more), empty where none applies;
    `path`, `line` and `column` are its place in the spec, where it has one."""

    rule: str = ""

    def __init__(self, message: str, diagnostics: tuple[Diagnostic, ...] = ()) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics
        first = diagnostics[0] if diagnostics else Diagnostic(self.rule, message)
        self.message, self.hint = first.message, first.hint
        self.path, self.line, self.column = first.path, first.line, first.column


# A class a rule of `kiln explain`. Some have names of Python's own exceptions: import the module, not these.


class UndefinedError(Error):
    """error[undefined]"""

    rule = "undefined"


class TailError(Error):
    """error[tail]"""

    rule = "tail"


class RevisitError(Error):
    """error[revisit]"""

    rule = "revisit"


class RaceError(Error):
    """error[race]"""

    rule = "race"


class CoverageError(Error):
    """error[coverage]"""

    rule = "coverage"


class AliasError(Error):
    """error[alias]"""

    rule = "alias"


class IndexRangeError(Error):
    """error[index-range]"""

    rule = "index-range"


class TierError(Error):
    """error[tier]"""

    rule = "tier"


class SyncError(Error):
    """error[sync]"""

    rule = "sync"


class CallError(Error):
    """error[call]"""

    rule = "call"


class SyntaxError(Error):
    """error[syntax]"""

    rule = "syntax"


class YamlSplitError(Error):
    """error[yaml-split]"""

    rule = "yaml-split"


class KeyError(Error):
    """error[key]"""

    rule = "key"


class NameError(Error):
    """error[name]"""

    rule = "name"


class TypeError(Error):
    """error[type]"""

    rule = "type"


class ShapeError(Error):
    """error[shape]"""

    rule = "shape"


class AssertError(Error):
    """error[assert]"""

    rule = "assert"


class ReferenceError(Error):
    """error[reference]"""

    rule = "reference"


class TpuError(Error):
    """error[tpu]"""

    rule = "tpu"


class MemoryError(Error):
    """error[memory], of calls alone"""

    rule = "memory"


_classes: dict[str, type[Error]] = {cls.rule: cls for cls in Error.__subclasses__()}

#: The rules of `kiln explain`, and `memory`, which is of calls alone.
RULES: tuple[str, ...] = tuple(_classes)


def of_rule(rule: str) -> type[Error]:
    """The class of a rule's errors: `of_rule("index-range")` is `kiln.errors.IndexRangeError`."""
    return _classes.get(rule, Error)


def from_call(rule: str, message: str) -> Error:
    """Of a call's status."""
    return of_rule(rule)(message, (Diagnostic(rule, message),))


def from_json(text: str) -> Error | None:
    """Of what the program prints with `--format=json`; None: that is no list with an error."""
    try:
        entries: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(entries, list):
        return None
    found = tuple(
        Diagnostic(
            rule=entry["rule"], message=entry["message"], path=entry["path"], line=entry["line"],
            column=entry["column"], end_line=entry["end_line"], end_column=entry["end_column"],
            hint=entry["hint"], severity=entry["severity"],
            notes=tuple(
                Note(note["message"], note["path"], note["line"], note["column"]) for note in entry["notes"]
            ),
        )
        for entry in entries
        if entry["severity"] == "error"
    )  # fmt: skip
    if not found:
        return None
    return of_rule(found[0].rule)("\n".join(map(str, found)), found)
