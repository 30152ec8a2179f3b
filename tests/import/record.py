"""Reads the kernels of the corpus into specs, runs them in JAX, and writes both where the C++ tests find them.

    python3 tests/import/record.py            # every call
    python3 tests/import/record.py flash_ gm  # those whose names begin with one of these
    python3 tests/import/record.py --specs    # the texts of the specs alone, which takes less time
"""

import json
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "python")]

import corpus
import kiln.pallas
import ml_dtypes
import numpy as np
from evaluate import evaluate, refer

RECORDS = HERE / "records"
RELEASE = (0, 10, 2)  # of the JAX that writes them (./dev, record_pins)
LIMIT = 700_000  # bytes a record; all of them are committed
DEPTH = 64  # 256 eps of the largest value


def main(words):
    prefixes = [word for word in words if word != "--specs"]
    chosen = {n: c for n, c in corpus.load().items() if n.startswith(tuple(prefixes) or "")}
    kept, total = set(), 0
    for name, case in chosen.items():
        if case.cannot or case.refused:
            continue
        if "--specs" in words:
            kept.update(write_specs(name, case))
            continue
        for record, size in write(name, case):
            kept.add(record)
            total += size
            print(f"{record}: {size} bytes", flush=True)
    if not prefixes:
        for folder in RECORDS.iterdir():
            if folder.name not in kept:
                shutil.rmtree(folder)
                print(f"removed {folder.name}")
    print(f"{len(kept)} recorded, {total} bytes")


def record_names(name, count):
    return [name] if count == 1 else [f"{name}_{k + 1}" for k in range(count)]


def write_specs(name, case):
    f, args = case.make()
    specs = kiln.pallas.to_specs(f, *args)
    for record, spec in zip(record_names(name, len(specs)), specs, strict=True):
        for old in (RECORDS / record).glob("*.yaml"):
            old.unlink()
        write_text(record, spec)
        yield record


def write_text(record, spec):
    (RECORDS / record / f"{spec.name}.yaml").write_text(spec.text)


def write(name, case):
    f, args = case.make()
    specs = kiln.pallas.to_specs(f, *args)
    ran = refer(f, args, case.reference) if case.reference else evaluate(f, args)
    for record, spec, one in zip(record_names(name, len(specs)), specs, ran, strict=True):
        yield record, write_record(record, spec, one.operands, one.results)


def write_record(record, spec, operands, results):
    folder = RECORDS / record
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_text(record, spec)
    names = spec.arguments
    given = {
        n: int(operands[k]) if k in spec.scalars else spec.taken(n, operands[k]) for n, k in zip(names, spec.operands)
    }
    outputs = zip(names[len(spec.operands) :], spec.results, strict=True)
    wanted = {n: spec.taken(n, results[k]) for n, k in outputs}
    meta = {
        "spec": f"tests/import/records/{record}/{spec.name}.yaml", "instance": "", "set": {},
        "arguments": {n: value if isinstance(value, int) else f"{n}.npy" for n, value in given.items()},
        "outputs": {n: f"out_{n}.npy" for n in wanted}, "depth": DEPTH,
    }  # fmt: skip
    for n, value in given.items():
        if not isinstance(value, int):
            np.save(folder / f"{n}.npy", bits(value))
    for n, value in wanted.items():
        np.save(folder / f"out_{n}.npy", bits(value))
    (folder / "case.json").write_text(json.dumps(meta, indent=1, allow_nan=False) + "\n")
    size = sum(f.stat().st_size for f in folder.iterdir())
    if size > LIMIT:
        raise ValueError(f"{record}: the record is {size} bytes, more than {LIMIT}")
    return size


def bits(array):
    """Floats of 16 bits as their bit patterns."""
    array = np.array(array, order="C")
    return array.view(np.uint16) if array.dtype in (ml_dtypes.bfloat16, np.float16) else array


if __name__ == "__main__":
    main(sys.argv[1:])
