"""Whether a spec is the one on record. Another release of JAX than that of the records may trace a kernel to other
statements, and so to another text, which then has to compute what is on record from the same inputs."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from compare import difference
from kiln import _tool
from record import RECORDS


def without_comments(text):
    """Lines of JAX's own sources, which stand in comments, move from release to release."""
    return [line.split("  # ")[0] for line in text.splitlines()]


def is_recorded(record, spec):
    """The text on record, its comments apart."""
    file = RECORDS / record / f"{spec.name}.yaml"
    return file.is_file() and without_comments(file.read_text()) == without_comments(spec.text)


def difference_of(record, spec):
    """Between what a spec gives in the interpreter and what is on record; "" if there is none."""
    folder = RECORDS / record
    meta = json.loads((folder / "case.json").read_text())
    given, wanted = list(meta["arguments"].values()), list(meta["outputs"].values())
    if (len(given), len(wanted)) != (len(spec.operands), len(spec.results)):
        return f"{len(spec.operands)} inputs and {len(spec.results)} outputs, not {len(given)} and {len(wanted)}"
    inputs, outputs = spec.arguments[: len(given)], spec.arguments[len(given) :]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / f"{spec.name}.yaml"
        path.write_text(spec.text)
        words = [f"{n}=@{folder / v}" if isinstance(v, str) else f"{n}={v}" for n, v in zip(inputs, given, strict=True)]
        command = [_tool.find(), "run", str(path), *words, "-o", f"{scratch}/out"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"refused: {done.stdout}{done.stderr}"
        for k, (name, file) in enumerate(zip(outputs, wanted, strict=True)):
            dtype = spec.result_types[spec.results[k]][1]
            got, want = (_typed(np.load(f), dtype) for f in (f"{scratch}/out/{name}.npy", folder / file))
            off = None if got.tobytes() == want.tobytes() else difference(got, want)
            if off:
                return f"{name}: {off}"
    return ""


def _typed(array, dtype):
    """Bit patterns as the floats that they are."""
    return array.view(dtype) if array.dtype == np.uint16 else array
