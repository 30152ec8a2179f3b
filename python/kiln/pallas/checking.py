"""What Kiln finds wrong with Pallas kernels, at the lines of their Python; predictions and reports of them."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .. import _tool, errors
from .._tensors import as_numpy, of_bits
from ..report import Prediction, Report
from . import tracing
from .cannot import CannotSay, Place
from .dtypes import as_held
from .spec import Spec, to_specs


class KilnWarning(UserWarning):
    """What is wrong with a Pallas kernel."""


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong with a Pallas kernel, and where: `place` is in Python, `line` in the imported spec."""

    rule: str
    message: str
    hint: str
    severity: str
    kernel: str
    line: int
    place: Place | None

    def __str__(self) -> str:
        where = f"{self.place[0]}:{self.place[1]}: " if self.place else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{where}{self.severity}[{self.rule}]: {self.kernel}: {self.message}{hint}"

    def warn(self) -> None:
        """As a warning at its line of Python."""
        file, line = self.place or ("<kernel>", 1)
        hint = f" (hint: {self.hint})" if self.hint else ""
        warnings.warn_explicit(f"{self.severity}[{self.rule}]: {self.message}{hint}", KilnWarning, file, line)


def check(f: Callable[..., Any], *args: Any, run: bool = False, init_undefined: bool = False) -> list[Diagnostic]:
    """What is wrong with the Pallas kernels that f calls on args, each also as a warning at its line of Python.

    Where args are arrays, index maps and conditions are evaluated over the whole grid; with `run` the kernels are also
    interpreted, which finds what only shows in values. Where args have only shapes, what follows from these is found.
    What the language cannot say is a diagnostic of the rule "cannot"."""
    found: list[Diagnostic] = []
    try:
        specs = to_specs(f, *args, init_undefined=init_undefined)
    except CannotSay as error:
        found.append(Diagnostic("cannot", str(error), "", "warning", "", 0, error.place))
        specs = []
    with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
        for spec, words in _calls(f, args, specs, folder, found, run):
            found += diagnostics_of(spec, "check", spec_path(spec, folder), *words)
    found = list(dict.fromkeys(found))
    for diagnostic in found:
        diagnostic.warn()
    return found


def predict(f: Callable[..., Any], *args: Any, machine: str = "v5e") -> list[Prediction]:
    """How long a TPU would take for each Pallas kernel that f calls on args."""

    def of(spec: Spec, path: str, words: list[str]) -> Prediction:
        told = _tool.run("predict", path, *words, f"--machine={machine}", "--json")
        return Prediction(json.loads(told), _tool.run("predict", path, *words, f"--machine={machine}"))

    return _each(f, args, of)


def report(f: Callable[..., Any], *args: Any, machine: str = "v5e") -> list[Report]:
    """The page of what each Pallas kernel that f calls on args does on a TPU."""

    def of(spec: Spec, path: str, words: list[str]) -> Report:
        page = path.removesuffix(".yaml") + ".html"
        _tool.run("report", path, *words, f"--machine={machine}", "-o", page)
        return Report(Path(page).read_text(encoding="utf-8"))

    return _each(f, args, of)


def _each(f: Callable[..., Any], args: tuple[Any, ...], of: Callable[[Spec, str, list[str]], Any]) -> list[Any]:
    specs = to_specs(f, *args, init_undefined=True)
    with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
        return [of(spec, spec_path(spec, folder), words) for spec, words in _calls(f, args, specs, folder, [], False)]


def spec_path(spec: Spec, folder: str) -> str:
    path = os.path.join(folder, f"{spec.name}.yaml")
    Path(path).write_text(spec.text, encoding="utf-8")
    return path


def _calls(
    f: Callable[..., Any], args: tuple[Any, ...], specs: list[Spec], folder: str, found: list[Diagnostic], run: bool
) -> list[tuple[Spec, list[str]]]:
    """Each spec with the words that name its prefetch arrays and scalars to the program, as far as they are known."""
    if not specs or not all(_is_array(leaf) for leaf in tracing.leaves(args)):
        return [(spec, []) for spec in specs]
    words: dict[int, list[str]] = {}

    def at_call(k: int, params: dict[str, Any], operands: list[Any]) -> list[Any]:
        spec = specs[k]
        words[k] = _words(spec, operands, os.path.join(folder, str(k)), everything=False)
        if run:
            results = _interpreted(spec, operands, os.path.join(folder, str(k)), found)
            if results is not None:
                return results
        return [np.zeros(aval.shape, aval.dtype) for aval in params["out_avals"]]

    tracing.evaluate(f, args, at_call)
    return [(spec, words.get(k, [])) for k, spec in enumerate(specs)]


def _is_array(leaf: Any) -> bool:
    return isinstance(leaf, (int, float, bool, np.generic)) or hasattr(leaf, "__array__")


def _words(spec: Spec, operands: list[Any], folder: str, everything: bool) -> list[str]:
    os.makedirs(folder, exist_ok=True)
    words = []
    for name, k in zip(spec.arguments, spec.operands, strict=False):
        if k in spec.scalars:
            words.append(f"{name}={int(operands[k])}")
        elif everything or name in spec.prefetch:
            array = spec.taken(name, as_held(as_numpy(np.asarray(operands[k]))))
            narrow = array.dtype.itemsize == 2 and array.dtype.kind in "fV"
            path = os.path.join(folder, f"{name}.npy")
            np.save(path, np.ascontiguousarray(array.view(np.uint16) if narrow else array).reshape(array.shape))
            words.append(f"{name}=@{path}")
    return words


def _interpreted(spec: Spec, operands: list[Any], folder: str, found: list[Diagnostic]) -> list[Any] | None:
    """The call's results by the interpreter; None, and what it found, if it refuses."""
    path = spec_path(spec, folder) if os.path.isdir(folder) else ""
    words = _words(spec, operands, folder, everything=True)
    wrong = diagnostics_of(spec, "run", path, *words, "-o", f"{folder}/out")
    if wrong:
        found += wrong
        return None
    results = [np.zeros(shape, dtype) for shape, dtype in spec.result_types]
    for name, k in zip(spec.arguments[len(spec.operands) :], spec.results, strict=True):
        array = np.load(f"{folder}/out/{name}.npy")
        results[k] = of_bits(array, results[k].dtype).reshape(results[k].shape)
    return results


def diagnostics_of(spec: Spec, command: str, path: str, *words: str) -> list[Diagnostic]:
    """What a command of the program says of a spec."""
    done = subprocess.run(
        [_tool.find(), command, path, *words, "--format=json"], stdin=subprocess.DEVNULL, capture_output=True,
        encoding="utf-8", errors="replace", check=False,
    )  # fmt: skip
    try:
        entries = json.loads(done.stdout or "[]")
    except ValueError:
        entries = []
    entries = entries if isinstance(entries, list) else []
    if done.returncode != 0 and not entries:
        raise errors.Error(done.stderr.strip() or f"kiln {command} failed")
    return [
        Diagnostic(
            entry["rule"], entry["message"], entry["hint"], entry["severity"], spec.name, entry["line"],
            spec.place_of(entry["line"]),
        )
        for entry in entries
    ]  # fmt: skip
