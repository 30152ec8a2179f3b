"""What mypy says of a program that uses the package: nothing, but for the lines that say otherwise."""

from pathlib import Path
from typing import Any

import kiln
import kiln.errors
import kiln.testing
import numpy as np

k: kiln.Kernel = kiln.load(Path("specs/sum_rows.yaml"), lock=None, bm=64)
text: str = k.plan() + k.source() + str(k.signature) + (k.__doc__ or "")
names: list[str] = [argument.name for argument in k.signature.inputs + k.signature.outputs]
shapes: list[tuple[int, ...]] = k.signature.output_shapes(np.zeros((3, 4), np.float32))
result: Any = k(np.zeros((3, 4), np.float32), mode="direct", cores=2)
seconds: dict[str, Any] = k.predict(m=4096, n=4096, machine="v5e").data
k.report(m=4096, n=4096).save("report.html")
other: kiln.Kernel = kiln.load_library("mine.so", "specs/sum_rows.yaml")

try:
    kiln.compile("kernel: none")
except kiln.errors.NoSuchError:  # error: attr-defined
    pass
except kiln.errors.TailError as tail:
    line: int = tail.line
except kiln.Error as error:
    rules: list[str] = [diagnostic.rule for diagnostic in error.diagnostics]
    notes: list[str] = [note.message for diagnostic in error.diagnostics for note in diagnostic.notes]

kiln.load(3)  # error: arg-type
k(np.zeros(3), mode=3)  # error: arg-type
k(np.zeros(3), cores="two")  # error: arg-type
k.signature.inputs = ()  # error: misc
wrong: int = k.plan()  # error: assignment
kiln.lode("x.yaml")  # error: attr-defined
kiln.testing.golden(3)  # error: arg-type
