"""Kernels: made from specs by `load` and `compile`, called as functions."""

from __future__ import annotations

import atexit
import html
import importlib
import itertools
import json
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import _tool, errors
from ._library import Library, scalar
from ._signature import Argument, signature_of
from ._tensors import (
    Packed,
    as_numpy,
    bits_of,
    empty,
    family,
    finished,
    from_numpy,
    is_traced,
    numpy_dtype,
    of_bits,
    tensor,
)
from .report import Prediction, Report

MODES = ("direct", "emulate", "interpret")


class Kernel:
    """A compiled kernel. Call it with its inputs, by place or by name; it gives its outputs."""

    def __init__(
        self, spec: str, options: tuple[str, ...], told: dict[str, Any], make_library: Callable[[], Library]
    ) -> None:
        self.spec = spec
        self.signature = signature_of(told)
        self._make_library = make_library
        self._library: Library | None = None
        self._lock = threading.Lock()
        self.packed: str = told["packed"]
        self.__doc__ = told["doc"] or Kernel.__doc__
        self.__name__ = self.signature.name
        self._options = options
        self._names = tuple(a.name for a in self.signature.inputs)
        self._shapes: dict[Any, list[tuple[int, ...]]] = {}

    @property
    def library(self) -> Library:
        """What was compiled; asking for it compiles it, as the first call does."""
        if self._library is None:
            with self._lock:  # once, whoever else asks
                if self._library is None:
                    self._library = self._make_library()
        return self._library

    def __repr__(self) -> str:
        return f"<kiln.Kernel {self.signature}>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self.signature))}</pre>" + (
            f"<p>{html.escape(self.signature.doc)}</p>" if self.signature.doc else ""
        )

    def __call__(
        self,
        *inputs: Any,
        out: Any = None,
        mode: str = "direct",
        cores: int | None = None,
        machine: str | None = None,
        **named: Any,
    ) -> Any:
        """Calls the kernel; an array for one output, a tuple for several.

        `out` (an array, or a sequence of them) is written instead of new arrays. `mode` is the engine:
        "direct", "emulate" on a TPU of the kind `machine`, or "interpret". `named` holds inputs by name, and
        dimensions that the inputs do not decide."""
        inputs, dims = self.arrange(inputs, named)
        if mode not in MODES:
            raise ValueError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
        if mode != "emulate" and machine is not None:
            raise ValueError(f"machine= has no meaning with mode={mode!r}")
        outputs = self._outputs(out)
        traced = next((x for x in inputs if is_traced(x)), None)
        if outputs is None and machine is None and traced is not None:
            frontend = importlib.import_module(f"{__package__}.{family(traced)}")  # which stands on this module
            return frontend.call(self, *inputs, mode=mode, cores=cores, **dims)
        if mode != "direct":
            return self._run(inputs, outputs, dims, mode, cores, machine)

        kind = "numpy"
        if outputs is None:
            kind = next((family(x) for x in inputs if hasattr(x, "shape")), "numpy")
            shapes = self._output_shapes(inputs, dims)
            outputs = [
                self._new_output(kind, shape, output)
                for shape, output in zip(shapes, self.signature.outputs, strict=True)
            ]
        self._call(inputs, outputs, cores or 0)
        results = [finished(kind, array) for array in outputs] if kind == "jax" else outputs
        return results[0] if len(results) == 1 else tuple(results)

    def _call(self, inputs: Sequence[Any], outputs: Sequence[Any], cores: int) -> None:
        given, written = iter(inputs), iter(outputs)
        passed, alive = [], []
        name = self.__name__
        for argument in self.signature.arguments:
            if argument.passed_as is not None:
                passed.append(scalar(name, argument.name, next(given), argument.passed_as))
                continue
            is_output = argument.role == "output"
            address, capsule = tensor(name, argument.name, next(written if is_output else given), is_output)
            passed.append(address)
            alive.append(capsule)
        self.library.call(passed, cores)
        for held in alive:
            if isinstance(held, Packed) and held.written:
                held.unpack()

    def arrange(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, int]]:
        """All inputs, in their order, and the dimensions that are given by name."""
        dims: dict[str, int] = {}
        if named:
            inputs, dims = self._place(inputs, named)
        if len(inputs) != len(self._names):
            raise self._wrong(f"{len(inputs)} inputs, expected {len(self._names)}: {', '.join(self._names)}")
        return inputs, dims

    def _new_output(self, kind: str, shape: tuple[int, ...], output: Argument) -> Any:
        try:
            return empty(kind, shape, output.dtype)
        except (MemoryError, OverflowError, RuntimeError, TypeError, ValueError) as error:
            wrong = f"{output.name} would have shape {list(shape)}"
            if min(shape, default=0) < 0:
                raise self._wrong(wrong) from None
            rule = errors.of_rule("memory")
            raise rule(f"{self.__name__}: there is no memory for {output.name}: {wrong}") from error

    def _place(self, inputs: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, int]]:
        """Inputs by name take their places; what else is named is a dimension."""
        dims = {name: value for name, value in named.items() if name not in self._names}
        known = {size for a in self.signature.arguments for s in a.shape for size in s.names}
        for name, value in dims.items():
            if name not in known:
                raise self._wrong(f"no input and no dimension is called {name}")
            if not isinstance(value, (int, np.integer)):
                raise self._wrong(f"the dimension {name} is {value!r}, expected an integer")
        placed = list(inputs)
        for name in self._names[len(inputs) :]:
            if name not in named:
                raise self._wrong(f"{name} is missing")
            placed.append(named[name])
        for name in self._names[: len(inputs)]:
            if name in named:
                raise self._wrong(f"{name} is given twice")
        return tuple(placed), {name: int(value) for name, value in dims.items()}

    def _outputs(self, out: Any) -> list[Any] | None:
        if out is None:
            return None
        outputs = list(out) if isinstance(out, (tuple, list)) else [out]
        if len(outputs) != len(self.signature.outputs):
            raise self._wrong(f"out has {len(outputs)} arrays, expected {len(self.signature.outputs)}")
        return outputs

    def _output_shapes(self, inputs: tuple[Any, ...], dims: dict[str, int]) -> list[tuple[int, ...]]:
        """Those of the shapes before are kept: evaluating takes longer than a small kernel."""
        if dims:
            return self.signature.output_shapes(*inputs, **dims)
        key = tuple([x.shape if hasattr(x, "shape") else x for x in inputs])
        try:
            return self._shapes[key]
        except (KeyError, TypeError):
            shapes = self.signature.output_shapes(*inputs)
        if len(self._shapes) < 1000:
            try:
                self._shapes[key] = shapes
            except TypeError:
                pass
        return shapes

    def _wrong(self, message: str) -> errors.Error:
        return errors.from_call("call", f"{self.__name__}: {message}")

    # The other engines are the program's, which places what they find in the spec.

    def _words(self, inputs: Sequence[Any], dims: dict[str, int], folder: str) -> list[str]:
        words = [f"{name}={value}" for name, value in dims.items()]
        for argument, given in zip(self.signature.inputs, inputs, strict=True):
            if argument.role == "scalar":
                value = scalar(self.__name__, argument.name, given, argument.passed_as or "i32")
                words.append(f"{argument.name}={value}")
                continue
            if not hasattr(given, "shape"):
                raise self._wrong(f"{argument.name} is a {type(given).__name__}, expected an array")
            array = as_numpy(given)
            expected = numpy_dtype(argument.dtype)
            if array.dtype != expected:
                raise self._wrong(f"{argument.name} is {array.dtype}, expected {expected}")
            path = os.path.join(folder, argument.name + ".npy")
            np.save(path, np.ascontiguousarray(bits_of(array)).reshape(array.shape))
            words.append(f"{argument.name}=@{path}")
        return words

    def _run(
        self, inputs: Sequence[Any], outputs: list[Any] | None, dims: dict[str, int],
        mode: str, cores: int | None, machine: str | None, *more: str,
    ) -> Any:  # fmt: skip
        if not self.spec:
            raise ValueError(f"mode={mode!r} needs the spec of the kernel")
        kind = next((family(x) for x in inputs if hasattr(x, "shape")), "numpy")
        with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
            words = [*self._words(inputs, dims, folder), f"--mode={mode}", "--format=json", "-o", folder + "/out"]
            if cores is not None:
                words.append(f"--cores={cores}")
            if machine is not None:
                words.append(f"--machine={machine}")
            _tool.run("run", self.spec, *words, *more, *self._options)
            results = []
            for i, output in enumerate(self.signature.outputs):
                array = np.load(f"{folder}/out/{output.name}.npy")
                dtype = numpy_dtype(output.dtype)
                array = of_bits(array, dtype)
                if outputs is None:
                    results.append(from_numpy(kind, array))
                else:
                    np.copyto(as_numpy(outputs[i]), array, casting="no")
                    results.append(outputs[i])
        return results[0] if len(results) == 1 else tuple(results)

    def plan(self) -> str:
        """Every decision about the generated text."""
        return _tool.run("show", "--stage=plan", self.spec, *self._options)

    def source(self) -> str:
        """The generated C++: header and source."""
        return _tool.run("generate", self.spec, "--stdout", *self._options)

    def predict(self, *inputs: Any, machine: str = "v5e", **dims: Any) -> Prediction:
        """How long a TPU would take, by dimensions (and short arrays, on which the steps depend), or by inputs."""
        with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
            words = self._call_words(inputs, dims, folder)
            told = _tool.run("predict", self.spec, *words, f"--machine={machine}", "--json", *self._options)
            text = _tool.run("predict", self.spec, *words, f"--machine={machine}", *self._options)
        return Prediction(json.loads(told), text)

    def report(self, *inputs: Any, machine: str = "v5e", **dims: Any) -> Report:
        """The page of what a call does on a TPU; notebooks show it."""
        with tempfile.TemporaryDirectory(prefix="kiln-") as folder:
            words = self._call_words(inputs, dims, folder)
            page = os.path.join(folder, "report.html")
            _tool.run("report", self.spec, *words, f"--machine={machine}", "-o", page, *self._options)
            return Report(Path(page).read_text(encoding="utf-8"))

    def _call_words(self, inputs: Sequence[Any], dims: dict[str, Any], folder: str) -> list[str]:
        if inputs:
            placed, rest = self._place(tuple(inputs), dict(dims))
            return self._words(placed, rest, folder)
        return [f"{name}={','.join(map(str, np.ravel(value)))}" for name, value in dims.items()]


def _set_words(params: dict[str, Any]) -> tuple[str, ...]:
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    # An option a param: what follows `--set` would be taken for another one.
    return tuple(f"--set={name}={text(value)}" for name, value in params.items())


_copies = itertools.count()
_folder: str | None = None


def _own_folder() -> str:
    """For texts and libraries that are kept nowhere else, as long as this process runs."""
    global _folder
    if _folder is None or not os.path.isdir(_folder):
        _folder = tempfile.mkdtemp(prefix="kiln-")
        owner, folder = os.getpid(), _folder
        atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return _folder


def own_file(name: str) -> str:
    """Where a library is that the cache does not keep."""
    return os.path.join(_own_folder(), name)


def load(spec: str | os.PathLike[str], *, lock: str | None = None, **params: Any) -> Kernel:
    """The kernel of a spec: "specs/matmul.yaml:matmul_bf16", with params set: `load(spec, bm=256)`.

    It is checked now, and compiled by the first call, unless the cache of `kiln` has it; that shows a line of
    progress on standard error."""
    words = _set_words(params) + (() if lock is None else (f"--lock={lock}",))
    spec = os.fspath(spec)
    told = json.loads(_tool.run("compile", spec, "--signature", "--format=json", *words))
    return Kernel(spec, words, told, lambda: _compiled(spec, words, told))


def _compiled(spec: str, words: tuple[str, ...], told: dict[str, Any]) -> Library:
    made = json.loads(_tool.run("compile", spec, "--format=json", *words, progress=True))
    if made["library"] is None:  # there is no cache that can be trusted
        path = own_file(f"{told['name']}-{next(_copies)}.so")
        made = json.loads(_tool.run("compile", spec, "--format=json", "-o", path, *words, progress=True))
    if made["hash"] != told["hash"]:
        raise errors.from_call("call", f"{told['name']}: {spec} has changed since it was loaded: load it again")
    return _library(made["library"], told)


def load_library(
    path: str | os.PathLike[str], spec: str | os.PathLike[str], *, name: str = "", **params: Any
) -> Kernel:
    """The kernel of a shared library made elsewhere, by `kiln_add_module` or by hand, of this very spec. `name` is
    what `kiln_add_kernel` calls it, where that is another name than the spec has."""
    spec, words = os.fspath(spec), _set_words(params)
    told = json.loads(_tool.run("compile", spec, "--signature", "--format=json", *words))
    if name:
        told |= {"name": name, "function": f"kiln_{name}", "packed": f"kiln_packed_{name}"}
    library = _library(os.path.abspath(path), told)
    return Kernel(spec, words, told, lambda: library)


def compile(text: str, instance: str = "", **params: Any) -> Kernel:
    """The kernel of a spec that is a string. Its errors name the file that it is written to meanwhile."""
    return load(write_spec(text) + (f":{instance}" if instance else ""), **params)


def write_spec(text: str) -> str:
    """The file of a spec that is a string."""
    # It is called as its kernel is; where the text names none, that is what the error is about.
    name = re.search(r"^kernel:[ \t]*([A-Za-z_]\w*)", text, re.MULTILINE)
    folder = os.path.join(_own_folder(), str(next(_copies)))
    os.mkdir(folder)
    path = os.path.join(folder, f"{name[1] if name else 'spec'}.yaml")
    Path(path).write_text(text, encoding="utf-8")
    return path


def _library(path: str, told: dict[str, Any]) -> Library:
    return Library(path, told["function"], [a.get("passed_as") for a in told["arguments"]])
