"""The Pallas kernels of tests/pallas, imported: their specs compute what the kernels did.

    python3 tests/import/round_trip.py            # every case
    python3 tests/import/round_trip.py flash_ ge  # the cases whose names begin with one of these
"""

import importlib
import os
import pathlib
import subprocess
import sys
import tempfile
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "pallas"), str(HERE.parents[1] / "python")]

import harness  # noqa: E402
import jax  # noqa: E402
import kiln.pallas  # noqa: E402
import numpy as np  # noqa: E402
from compare import difference  # noqa: E402
from jax._src.pallas.pallas_call import pallas_call_p  # noqa: E402
from kiln import _tool  # noqa: E402
from record import bits  # noqa: E402

os.environ.setdefault("KILN_TOOL", str(HERE.parents[1] / "build" / "kiln"))


def main(prefixes):
    for file in sorted((HERE.parent / "pallas").glob("cases_*.py")):
        importlib.import_module(file.stem)
    calls = kept_calls()
    count = Counter()
    for name, case in sorted(harness.cases.items()):
        if prefixes and not name.startswith(tuple(prefixes)):
            continue
        calls.clear()
        with jax.enable_x64(case.x64), jax.disable_jit():  # so that each call passes here with its values
            case.run()
        assert calls, name
        verdict = next(filter(None, (wrong(*call) for call in calls)), "equal")
        count[verdict.split(":")[0]] += 1
        if verdict != "equal":
            print(f"{name}: {verdict}", flush=True)
    print(", ".join(f"{n} {verdict}" for verdict, n in count.items()))


def kept_calls():
    """A list that every `pallas_call` from now on is added to: params, operands, results."""
    found, original = [], pallas_call_p.impl

    def keeping(*operands, **params):
        results = original(*operands, **params)
        found.append((params, [np.asarray(v) for v in operands], [np.asarray(v) for v in results]))
        return results

    pallas_call_p.impl = keeping
    return found


def wrong(params, operands, results):
    """What is wrong with the import of a call; None: nothing."""
    try:
        said = run(kiln.pallas.from_call(params), operands, results)
        if said and "[coverage]" in said:  # Pallas lets a kernel leave parts unwritten
            said = run(kiln.pallas.from_call(params, init_undefined=True), operands, results)
        return said
    except kiln.pallas.CannotSay as error:
        return f"cannot say: {error}"


def run(spec, operands, results):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{spec.name}.yaml"
        path.write_text(spec.text)
        words = []
        for name, k in zip(spec.arguments, spec.operands, strict=False):
            if k in spec.scalars:
                words.append(f"{name}={int(operands[k])}")
            else:
                np.save(f"{folder}/{name}.npy", bits(spec.taken(name, operands[k])))
                words.append(f"{name}=@{folder}/{name}.npy")
        command = [_tool.find(), "run", str(path), *words, "-o", f"{folder}/out"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"refused: {done.stdout}{done.stderr}"
        for name, k in zip(spec.arguments[len(spec.operands) :], spec.results, strict=True):
            off = difference(np.load(f"{folder}/out/{name}.npy"), spec.taken(name, results[k]))
            if off:
                return f"differs: {name}: {off}"
    return None


if __name__ == "__main__":
    main(sys.argv[1:])
