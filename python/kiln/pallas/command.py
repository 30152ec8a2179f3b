"""The command `kiln import`: the specs of the Pallas kernels that a Python function calls."""

from __future__ import annotations

import argparse
import ast
import functools
import importlib
import os
import re
import sys
from pathlib import Path
from typing import Any

_EXAMPLES = """\
examples:
  kiln import jax.experimental.pallas.ops.tpu.matmul:matmul --shapes "bf16[512, 512]" "bf16[512, 512]"
  kiln import model:attention --shapes "f32[8, 1024, 64]" "f32[8, 1024, 64]" "f32[8, 1024, 64]" --with causal=True
  kiln import model:attention --shapes "f32[256, 64]" "f32[256, 64]" --shapes "f32[640, 64]" "f32[640, 64]" -o specs
                                      traced at two sizes: the spec is for any
"""


def main(words: list[str]) -> int:
    options = _parser().parse_args(words)
    try:
        from . import CannotSay, to_specs
        from .dimensions import CannotGeneralise, to_symbolic_specs
    except ImportError as error:
        return _fail(str(error))
    try:
        f = _function(options.function, dict(options.values))
        lists = [[_shape(text) for text in shapes] for shapes in options.shapes or [[]]]
    except (ImportError, AttributeError, ValueError) as error:
        return _fail(str(error))
    try:
        if len(lists) == 1:
            specs = to_specs(f, *lists[0], init_undefined=options.init_undefined)
        else:
            specs = to_symbolic_specs(f, *lists, init_undefined=options.init_undefined)
    except (CannotSay, CannotGeneralise) as error:
        return _fail(str(error))
    if not specs:
        return _fail(f"{options.function} calls no Pallas kernel at these shapes")
    _write(specs, options.output)
    return 0


def _write(specs: list[Any], folder: str | None) -> None:
    written: set[str] = set()
    for k, spec in enumerate(specs):
        for note in spec.notes:
            print(f"{spec.name}: note: {note}", file=sys.stderr)
        if folder is None:
            print("---" if k else "", end="\n" if k else "")
            print(spec.text, end="")
            continue
        os.makedirs(folder, exist_ok=True)
        name, count = spec.name, 2
        while name in written:  # the same kernel at other sizes
            name, count = f"{spec.name}_{count}", count + 1
        written.add(name)
        path = Path(folder) / f"{name}.yaml"
        path.write_text(spec.text.replace(f"kernel: {spec.name}\n", f"kernel: {name}\n", 1), encoding="utf-8")
        print(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kiln import", description="Writes the specs of the Pallas kernels that a Python function calls.",
        epilog=_EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="what is traced; MODULE may be a file, ./model.py")
    parser.add_argument(
        "--shapes", nargs="*", action="append", metavar="TYPE",
        help='one an argument, as specs have them: "bf16[512, 512]", "i32[]". Given again with other sizes, the'
        " spec has dimensions in place of numbers",
    )  # fmt: skip
    parser.add_argument(
        "--with", dest="values", type=_keyword, action="append", default=[], metavar="NAME=VALUE",
        help="an argument by name, as a Python literal: --with causal=True",
    )  # fmt: skip
    parser.add_argument(
        "-o", dest="output", metavar="FOLDER", help="where NAME.yaml goes; unless given they are printed"
    )
    parser.add_argument(
        "--init-undefined",
        action="store_true",
        help="the kernels leave parts of their outputs unwritten, as Pallas allows",
    )
    return parser


def _keyword(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _function(text: str, values: dict[str, Any]) -> Any:
    module, colon, name = text.rpartition(":")
    if not colon:
        raise ValueError(f"{text!r} is not MODULE:FUNCTION")
    sys.path.insert(0, "")
    if module.endswith(".py"):
        path = Path(module).resolve()
        sys.path.insert(0, str(path.parent))
        module = path.stem
    f: Any = importlib.import_module(module)
    for part in name.split("."):
        f = getattr(f, part)
    return functools.partial(f, **values) if values else f


def _shape(text: str) -> Any:
    import jax

    from .passes.constants import DTYPES

    found = re.fullmatch(r"\s*(\w+)\s*(?:\[([\d,\s]*)\])?\s*", text)
    if found is None or found[1] not in DTYPES:
        raise ValueError(f'{text!r} is no type of an array: write "f32[256, 128]"')
    sizes = [int(n) for n in (found[2] or "").split(",") if n.strip()]
    return jax.ShapeDtypeStruct(tuple(sizes), DTYPES[found[1]])


def _fail(message: str) -> int:
    print(f"kiln import: error: {message}", file=sys.stderr)
    return 1
