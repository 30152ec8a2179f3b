"""The text of a spec, and which line of it is from which line of Python."""

from __future__ import annotations

import re
from pathlib import Path

from .cannot import Place
from .expressions import shape_text
from .index_maps import IndexMap
from .ir import Kernel, Operand, Ref
from .lines import Line
from .source import Names
from .statements import Body


def print_spec(kernel: Kernel, names: Names, init_undefined: bool) -> tuple[str, dict[int, Place]]:
    printer = _Printer(kernel, names)
    printer.header()
    for operand in kernel.inputs:
        printer.operand("inputs", operand, False)
    for operand in kernel.outputs:
        printer.operand("outputs", operand, init_undefined)
    body = Body(kernel, names).write()  # before the scratch that it may ask for
    for ref in kernel.scratch:
        printer.scratch(ref)
    if kernel.outside:
        printer.pipeline(init_undefined)
    return printer.body(body)


class _Printer:
    def __init__(self, kernel: Kernel, names: Names) -> None:
        self.kernel, self.names = kernel, names
        self.lines: list[str] = []
        self.places: dict[int, Place] = {}
        self._section = ""

    def _from(self, first: int, place: Place | None) -> None:
        """The lines from number `first` on are from a place."""
        if place is not None:
            self.places |= {k: place for k in range(first, len(self.lines) + 1)}

    def _begin(self, section: str) -> None:
        if self._section != section:
            self.lines += ["", f"{section}:"]
            self._section = section

    def header(self) -> None:
        kernel = self.kernel
        where = f" of {_plain(Path(kernel.place[0]).name)}" if kernel.place else ""
        self.lines += [f"kernel: {kernel.name}", f"doc: The Pallas kernel {_plain(kernel.source)}{where}."]
        for ref in kernel.prefetch:
            self._begin("prefetch")
            self.lines.append(f"  {ref.name}: {ref.dtype}{shape_text(ref.shape)}")
        for name in kernel.scalars:
            self._begin("scalars")
            self.lines.append(f"  {name}: i32")
        grid = self._grid(0, kernel.outside or len(kernel.axes))
        self.lines += ["", *grid] if grid else []
        self._from(1, kernel.place)

    def _grid(self, first: int, end: int) -> list[str]:
        kernel = self.kernel
        axes = [f"  {a}: {steps}" for a, steps in zip(kernel.axes[first:end], kernel.grid[first:end], strict=True)]
        words = kernel.semantics[first:end]
        lines = ["grid:", *axes] if axes else []
        return lines + ([f"dimension_semantics: {', '.join(words)}"] if "parallel" in words else [])

    def operand(self, section: str, operand: Operand, init_undefined: bool) -> None:
        self._begin(section)
        ref, first = operand.ref, len(self.lines) + 1
        array = f"{ref.dtype}{shape_text(operand.array)}"
        alias = [("alias", operand.alias)] if operand.alias else []
        keys = [("memory", "any"), *alias] if operand.piped else self._window(operand, alias, init_undefined)
        if keys:
            self.lines += [f"  {ref.name}:", f"    array: {array}", *(f"    {key}: {value}" for key, value in keys)]
        else:
            self.lines.append(f"  {ref.name}: {array}")
        self._from(first, operand.place or self.kernel.place)

    def _window(self, operand: Operand, alias: list[tuple[str, str]], init_undefined: bool) -> list[tuple[str, str]]:
        ref = operand.ref
        keys: list[tuple[str, str]] = []
        if operand.index is not None and operand.block is not None:
            keys += self._block(operand)
        if ref.memory != "vmem":
            keys.append(("memory", ref.memory))
        if operand.buffers != 2:
            keys.append(("buffers", str(operand.buffers)))
        keys += alias
        if init_undefined and ref.memory != "any":
            keys.append(("init", "undefined"))
        return keys

    def pipeline(self, init_undefined: bool) -> None:
        """What it walks, in front of its body."""
        kernel = self.kernel
        grid = self._grid(kernel.outside, len(kernel.axes)) or ["grid: {}"]
        self.lines += ["", "pipeline:", *("  " + line for line in grid), "  over:"]
        for operand in (*kernel.inputs, *kernel.outputs):
            if not operand.piped:
                continue
            keys = self._window(operand, [], init_undefined and operand in kernel.outputs)
            first = len(self.lines) + 1
            self.lines += [f"    {operand.ref.name}:" + ("" if keys else " {}"), *(f"      {k}: {v}" for k, v in keys)]
            self._from(first, operand.place)

    def _block(self, operand: Operand) -> list[tuple[str, str]]:
        assert operand.block is not None and operand.index is not None
        index = IndexMap(self.kernel, self.names).results(operand.index)
        starts, sizes = index[: len(operand.block)], iter(index[len(operand.block) :])
        block = [
            "all" if entry == size and at.constant == 0 else str(entry)
            for entry, size, at in zip(operand.block, operand.array, starts, strict=True)
        ]
        if all(entry == "all" for entry in block):
            return []
        places = [f"ds({at}, {next(sizes)})" if e.startswith("bounded") else at.text for e, at in zip(block, starts, strict=True)]
        text = ", ".join(block)
        return [("block", f"[{text}]" if text == "null" else text), ("index", ", ".join(places))]

    def scratch(self, ref: Ref) -> None:
        self._begin("scratch")
        if ref.memory == "semaphore":
            counts = ", ".join(map(str, ref.shape))
            self.lines += [f"  {ref.name}:", "    semaphore: dma"] + ([f"    count: {counts}"] if ref.shape else [])
        elif ref.memory == "smem":
            self.lines += [f"  {ref.name}:", f"    array: {ref.dtype}{shape_text(ref.shape)}", "    memory: smem"]
        else:
            self.lines.append(f"  {ref.name}: {ref.dtype}{shape_text(ref.shape)}")

    def body(self, body: list[Line]) -> tuple[str, dict[int, Place]]:
        """Comments name the Python lines where blocks begin; the table has them all."""
        inside = "  " if self.kernel.outside else ""
        self.lines += [f"{inside}body: |"] if inside else ["", "body: |"]
        commented: Place | None = None
        for k, line in enumerate(body):
            text = inside + "  " * (line.indent + 1) + line.text
            begins = k == 0 or line.text.endswith(":")
            if begins and line.place is not None and line.place != commented:
                text += f"  # {_plain(Path(line.place[0]).name)}:{line.place[1]}"
                commented = line.place
            self.lines.append(text)
            self._from(len(self.lines), line.place)
        return "\n".join(self.lines) + "\n", self.places


def _plain(name: str) -> str:
    """The name of a function or a file with nothing in it that YAML minds."""
    return re.sub(r"[^\w.<>-]+", "_", name, flags=re.ASCII)
