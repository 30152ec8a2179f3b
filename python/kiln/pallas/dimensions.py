"""Dimensions: the same function traced at several sizes gives specs that differ in numbers, which become expressions.

Each tuple of numbers at one place of the texts is one unknown: (256, 640) in a shape is a dimension `m`, and (2, 5) in
the grid is then `cdiv(m, 128)`. Numbers that are equal at all sizes stay what they are.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from .cannot import Place
from .source import RESERVED
from .spec import Spec, to_specs

_TOKEN = re.compile(r"#.*|\d+\.\d+(?:e-?\d+)?|\d+|[A-Za-z_]\w*|\s+|.")
Sizes = dict[str, int]
_LETTERS = ("m", "n", "k", "p", "r", "s", "u", "v", "w")


class CannotGeneralise(Exception):
    """The texts at several sizes differ in more than numbers, or a number is no simple function of the dimensions."""

    def __init__(self, why: str, place: Place | None) -> None:
        self.place = place
        where = f"{place[0]}:{place[1]}: " if place else ""
        super().__init__(where + why)


def to_symbolic_specs(
    f: Callable[..., Any], *argument_lists: Sequence[Any], init_undefined: bool = False
) -> list[Spec]:
    """Specs for any sizes, from two or more lists of arguments of different sizes; three are more certain."""
    if len(argument_lists) < 2:
        raise ValueError("one list of arguments says nothing of other sizes: pass two or three")
    traced = [to_specs(f, *args, init_undefined=init_undefined) for args in argument_lists]
    if len({len(specs) for specs in traced}) != 1:
        raise CannotGeneralise("the number of kernels depends on the sizes", None)
    return [generalise(same)[0] for same in zip(*traced, strict=True)]


def generalise(specs: Sequence[Spec]) -> tuple[Spec, list[Sizes]]:
    """The spec that each of these is at its sizes, and the sizes; `CannotGeneralise` if there is none."""
    made = _Generalised(list(specs))
    return made.spec(), [{name: values[k] for name, values in made.dims.items()} for k in range(len(specs))]


@dataclass(frozen=True)
class _Candidate:
    """An expression of dimensions that a number may be."""

    text: str
    value: Callable[[Sizes], int | None]  # None: it is none there
    divides: tuple[str, int] | None = None  # a dimension, and what it is divided by


class _Generalised:
    def __init__(self, specs: list[Spec]) -> None:
        self.specs = specs
        self.lines = [spec.text.splitlines() for spec in specs]
        self.dims: dict[str, tuple[int, ...]] = {}
        self.known: dict[tuple[int, ...], str] = {}
        self.multiples: dict[str, int] = {}

    def spec(self) -> Spec:
        if len({len(lines) for lines in self.lines}) != 1:
            raise CannotGeneralise("statements or operands depend on the sizes", self._first_difference())
        rows = [self._row(k) for k in range(len(self.lines[0]))]
        self.constants = self._constants(rows)
        taken = set(RESERVED) | {text for row in rows for token in row for text in token}
        self.names = iter(n for n in (*_LETTERS, *(f"d{k}" for k in range(100))) if n not in taken)
        self.blocks = _blocks(rows)
        self._find_dims(rows)
        lines = [_bare("".join(self._token(token, k) for token in row)) for k, row in enumerate(rows)]
        extra = self._constraints()
        lines[2:2] = extra
        places = {line + len(extra) * (line > 2): place for line, place in self.specs[0].places.items()}
        return dataclasses.replace(self.specs[0], text="\n".join(lines) + "\n", places=places)

    def _row(self, k: int) -> list[tuple[str, ...]]:
        """Line k as tuples of tokens, one of each text."""
        tokens = [_TOKEN.findall(lines[k]) for lines in self.lines]
        if len({len(t) for t in tokens}) != 1:
            raise CannotGeneralise("an expression depends on the sizes", self.specs[0].place_of(k + 1))
        row = list(zip(*tokens, strict=True))
        for token in row:
            if len(set(token)) > 1 and _numbers(token) is None and not token[0].startswith("#"):
                what = " and ".join(dict.fromkeys(token))
                raise CannotGeneralise(f"{what} at different sizes", self.specs[0].place_of(k + 1))
        return row

    def _first_difference(self) -> Place | None:
        for k, same in enumerate(itertools.zip_longest(*self.lines), 1):
            if len({re.sub(r"\d+", "0", line or "") for line in same}) > 1:
                return self.specs[0].place_of(k)
        return None

    # ---- what the numbers are

    def _constants(self, rows: list[list[tuple[str, ...]]]) -> list[int]:
        """Numbers that stay, and may be blocks."""
        found = {int(token[0]) for row in rows for token in row if token[0].isdigit() and len(set(token)) == 1}
        return sorted(found - {0, 1}, reverse=True)

    def _find_dims(self, rows: list[list[tuple[str, ...]]]) -> None:
        """Extents of arrays that differ are dimensions, unless they follow from those before."""
        for k, row in enumerate(rows):
            texts = [token[0] for token in row]
            if texts[:1] in (["scratch"], ["body"]):
                return
            for token in row[texts.index("[") :] if "[" in texts and texts[-1] == "]" else ():
                numbers = _numbers(token)
                if numbers and len(set(numbers)) > 1 and numbers not in self.known:
                    # two sizes are too few to show that one extent follows from another
                    follows = self._follows(numbers, k) if len(self.specs) > 2 else None
                    self.known[numbers] = follows or self._new_dim(numbers)

    def _new_dim(self, numbers: tuple[int, ...]) -> str:
        name = next(self.names)
        self.dims[name] = numbers
        return name

    def _token(self, token: tuple[str, ...], line: int) -> str:
        numbers = _numbers(token)
        if numbers is None or len(set(numbers)) == 1:
            return token[0]
        if numbers not in self.known or self.known[numbers] in self.dims:
            found = self._follows(numbers, line)
            if found is None:
                what = ", ".join(map(str, numbers))
                raise CannotGeneralise(f"{what} follow from no dimension", self.specs[0].place_of(line + 1))
            self.known[numbers] = found
        return self.known[numbers]

    def _follows(self, numbers: tuple[int, ...], line: int) -> str | None:
        """The expression of dimensions that has these values; an error if several have that differ elsewhere."""
        for candidates in (self._usual(), self._others()):
            found = self._chosen(candidates, numbers, line)
            if found is not None:
                return found
        return None

    def _chosen(self, candidates: Iterator[_Candidate], numbers: tuple[int, ...], line: int) -> str | None:
        sizes = [{name: values[k] for name, values in self.dims.items()} for k in range(len(self.specs))]
        fitting = [c for c in candidates if all(c.value(s) == n for s, n in zip(sizes, numbers, strict=True))]
        if not fitting:
            return None
        first = fitting[0]
        for other in fitting[1:]:
            if any(first.value(s) != other.value(s) for s in self._probes()):
                what = ", ".join(map(str, numbers))
                raise CannotGeneralise(
                    f"{what} may be {first.text} or {other.text}: trace at one more list of sizes",
                    self.specs[0].place_of(line + 1),
                )
        if first.divides:
            name, by = first.divides
            if all(n % by == 0 for n in self.dims[name]):
                self.multiples[name] = math.lcm(self.multiples.get(name, 1), by)
        return first.text

    def _probes(self) -> list[Sizes]:
        """Other sizes, which have the divisors that all of those traced have."""
        random = Random(1)
        return [
            {name: math.gcd(*values) * random.randint(3, 60) for name, values in self.dims.items()} for _ in range(8)
        ]

    def _usual(self) -> Iterator[_Candidate]:
        """What grids and bounds are: dimensions, and their numbers of blocks."""
        for d, numbers in self.dims.items():
            yield _Candidate(d, lambda s, d=d: s[d])
            for c in self.blocks.get(numbers, ()):
                yield _Candidate(f"cdiv({d}, {c})", lambda s, d=d, c=c: -(-s[d] // c), (d, c))
                yield _Candidate(f"(cdiv({d}, {c}) - 1)", lambda s, d=d, c=c: -(-s[d] // c) - 1, (d, c))

    def _others(self) -> Iterator[_Candidate]:
        """The simplest first."""
        for d, c in itertools.product(self.dims, self.constants):
            yield _Candidate(f"cdiv({d}, {c})", lambda s, d=d, c=c: -(-s[d] // c), (d, c))
            yield _Candidate(f"({d} // {c})", lambda s, d=d, c=c: s[d] // c, (d, c))
            yield _Candidate(f"({d} * {c})", lambda s, d=d, c=c: s[d] * c)
        for d, c in itertools.product(self.dims, (1, *self.constants)):
            yield _Candidate(f"({d} - {c})", lambda s, d=d, c=c: s[d] - c)
            yield _Candidate(f"({d} + {c})", lambda s, d=d, c=c: s[d] + c)
        for d, numbers in self.dims.items():
            for b, c in itertools.product(self.blocks.get(numbers, ()), (1, *self.constants)):
                yield _Candidate(f"(cdiv({d}, {b}) * {c})", lambda s, d=d, b=b, c=c: -(-s[d] // b) * c, (d, b))
                yield _Candidate(f"(cdiv({d}, {b}) + {c})", lambda s, d=d, b=b, c=c: -(-s[d] // b) + c, (d, b))
        for a, b in itertools.combinations(self.dims, 2):
            yield _Candidate(f"({a} * {b})", lambda s, a=a, b=b: s[a] * s[b])
            yield _Candidate(f"({a} + {b})", lambda s, a=a, b=b: s[a] + s[b])
        for a, b in itertools.permutations(self.dims, 2):
            yield _Candidate(f"({a} // {b})", lambda s, a=a, b=b: s[a] // s[b] if s[b] and s[a] % s[b] == 0 else None)
            for c in self.blocks.get(self.dims[b], ()):
                yield _Candidate(f"({a} * cdiv({b}, {c}))", lambda s, a=a, b=b, c=c: s[a] * -(-s[b] // c), (b, c))

    def _constraints(self) -> list[str]:
        """Where a dimension is divided, and was a multiple at all sizes, others were not tried."""
        if not self.multiples:
            return []
        return ["", "dims:", *(f"  {name}: {{multiple_of: {by}}}" for name, by in self.multiples.items())]


def _blocks(rows: list[list[tuple[str, ...]]]) -> dict[tuple[int, ...], list[int]]:
    """By the extents of a dimension at the sizes: its blocks, as `block:` below `array:` has them."""
    found: dict[tuple[int, ...], list[int]] = {}
    array: list[tuple[str, ...]] = []
    for row in rows:
        words = [token for token in row if not token[0].isspace()]
        key = words[0][0] if words else ""
        if key == "array":
            array = [token for token in words[words.index(("[",) * len(words[0])) + 1 :] if token[0] not in (",", "]")]
        elif key == "block":
            entries = _entries([token[0] for token in words[2:]])
            for entry, token in zip(entries, array, strict=False):
                numbers = _numbers(token)
                if numbers and entry.isdigit() and int(entry) > 1 and len(set(numbers)) > 1:
                    found.setdefault(numbers, []).append(int(entry))
    return {numbers: sorted(set(blocks)) for numbers, blocks in found.items()}


def _entries(words: list[str]) -> list[str]:
    """What is between the commas that are in no parentheses."""
    entries, depth = [""], 0
    for word in words:
        depth += (word in "([") - (word in ")]")
        if word == "," and depth == 0:
            entries.append("")
        else:
            entries[-1] += word
    return entries


def _bare(line: str) -> str:
    """Without parentheses where nothing is around them."""
    return re.sub(r"(?<=[\[,(:])( ?)\(([^()]*)\)(?=[\],)]|$)", r"\1\2", line)


def _numbers(token: tuple[str, ...]) -> tuple[int, ...] | None:
    return tuple(map(int, token)) if all(t.isdigit() for t in token) else None
