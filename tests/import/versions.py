"""Which of the corpus's calls import under the JAX that this Python has: the same text as on record, another text that
computes the same, or not at all. One line a call that is not as recorded, and the sums."""

import pathlib
import sys
from collections import Counter

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

import json  # noqa: E402

import corpus  # noqa: E402
import jax  # noqa: E402
import kiln.pallas  # noqa: E402
import numpy as np  # noqa: E402
from compare import difference  # noqa: E402
from kiln import _tool  # noqa: E402
from record import RECORDS, record_names  # noqa: E402


def main():
    count = Counter()
    for name, case in corpus.load().items():
        if case.refused:
            continue
        for record, said in verdicts(name, case):
            count[said.split(":")[0]] += 1
            if said != "as recorded":
                print(f"{record}: {said}", flush=True)
    print(f"jax {jax.__version__}: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(count.items())))


def verdicts(name, case):
    try:
        f, args = case.make()
        specs = kiln.pallas.to_specs(f, *args)
    except kiln.pallas.CannotSay as error:
        yield name, "as recorded" if error.construct == case.cannot else f"cannot say: {error.construct}"
        return
    except Exception as error:  # that release may not have what the call uses
        yield name, f"error: {type(error).__name__}: {str(error).splitlines()[0][:120] if str(error) else ''}"
        return
    for record, spec in zip(record_names(name, len(specs)), specs, strict=True):
        yield record, verdict(record, spec)


def verdict(record, spec):
    folder = RECORDS / record
    if not folder.is_dir():
        return "error: imported, where it cannot be said"
    on_record = next(folder.glob("*.yaml"))
    if on_record.name == f"{spec.name}.yaml" and without_comments(on_record.read_text()) == without_comments(spec.text):
        return "as recorded"
    return another(spec, folder)


def without_comments(text):
    """Lines of JAX's own sources move from release to release."""
    return [line.split("  # ")[0] for line in text.splitlines()]


def another(spec, folder):
    """Whether a spec with another text computes what is on record, from the same inputs in their order."""
    import subprocess
    import tempfile

    meta = json.loads((folder / "case.json").read_text())
    given, wanted = list(meta["arguments"].values()), list(meta["outputs"].values())
    if (len(given), len(wanted)) != (len(spec.operands), len(spec.results)):
        return "error: other arguments"
    with tempfile.TemporaryDirectory() as out:
        path = pathlib.Path(out) / f"{spec.name}.yaml"
        path.write_text(spec.text)
        words = [
            f"{name}=@{folder / value}" if isinstance(value, str) else f"{name}={value}"
            for name, value in zip(spec.arguments, given, strict=False)
        ]
        command = [_tool.find(), "run", str(path), *words, "-o", f"{out}/out"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"refused: {(done.stdout + done.stderr).splitlines()[0]}"
        for name, file in zip(spec.arguments[len(spec.operands) :], wanted, strict=True):
            got, want = np.load(f"{out}/out/{name}.npy"), np.load(folder / file)
            off = None if (got == want).all() else difference(typed(got, spec, name), typed(want, spec, name))
            if off:
                return f"differs: {name}: {off}"
    return "other text, same results"


def typed(array, spec, name):
    """Bit patterns as the floats that they are."""
    k = spec.arguments[len(spec.operands) :].index(name)
    dtype = spec.result_types[spec.results[k]][1]
    return array.view(dtype) if array.dtype == np.uint16 else array


if __name__ == "__main__":
    main()
