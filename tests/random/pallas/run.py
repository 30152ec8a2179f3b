"""Random specs against real Pallas: `random_pallas` writes them as pallas_calls with what Kiln's interpreter makes
of the same arrays, JAX interprets them here, and the results are compared.

    tests/random/pallas/run.py BUILD [N [FIRST]]

Without N it runs what summary.json is a record of, and rewrites it. Start at `main`.
"""
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

# One thread. No fused multiplication, as exact outputs are compared to the last bit; nor is a rounding to 16 bits
# left out, or a division by a constant made a multiplication. Each function runs once: what XLA saves by not optimising is most of the time.
os.environ["XLA_FLAGS"] = (
    "--xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX --xla_allow_excess_precision=false "
    "--xla_disable_hlo_passes=algsimp --xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import language

jax.config.update("jax_enable_x64", True)
jax.numpy.min, jax.numpy.max = (language.of_powers(language.keeping_nan(reduce)) for reduce in (jax.numpy.min, jax.numpy.max))
jax.numpy.arctan2 = language.keeping_zeros(jax.numpy.arctan2)
jax.lax.cummin, jax.lax.cummax = map(language.of_powers, (jax.lax.cummin, jax.lax.cummax))

RECORDED, BATCH = 3000, 50
#: What JAX's interpreter says of what it lacks, whatever the numbers.
UNINTERPRETED = {
    "does not support custom element sizes on non-sub-byte types": "XLA puts no integers of 4 bits in order",
    "Invalid type of idxer": "JAX interprets no constant subscript beside a strided slice",
    "Shapes must be 1D sequences of concrete values": "JAX interprets no slice of a size known at run time",
}
SLOW = 30  # seconds of a spec that are worth a word


# ---- comparing ----

def wide(array):
    """Floats as f64, where those that XLA takes for 0 on a CPU are 0."""
    least = {8: 2.0**-1022, 4: 2.0**-126}.get(array.dtype.itemsize, 0)
    if array.dtype == language.bf16:
        least = 2.0**-126
    x = array.astype(np.float64)
    return np.where(np.abs(x) < least, 0.0, x)


def difference(got, want, of):
    """(how it is not as it may be, or None; whether it is the same)."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"{got.dtype}{got.shape} instead of {want.dtype}{want.shape}", False
    if not jax.numpy.issubdtype(want.dtype, np.floating):
        off, allowed = got != want, 0
        same = not off.any()
    else:
        a, b = wide(got), wide(want)
        finite = np.isfinite(b)
        largest = np.abs(b[finite]).max(initial=0)
        allowed = of["absolute"] + of["magnitude"] * largest + of["relative"] * np.where(finite, np.abs(b), 0)
        with np.errstate(invalid="ignore"):
            distance = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        distance = np.where(np.isnan(distance), np.inf, distance)
        off, same = distance > allowed, not distance.any()
    if not off.any():
        return None, same
    at = tuple(np.argwhere(off)[0])
    place = f"the first is {list(map(int, at))}: {got[at]} instead of {want[at]}"
    return f"{off.sum()} of {off.size} elements differ; {place}", False


# ---- one spec ----

class Batch:
    """The files that `random_pallas` has written."""

    def __init__(self, path):
        self.entries = json.loads(path.with_suffix(".json").read_text())
        self.bytes = np.load(path.with_suffix(".npy")).tobytes()
        self.functions = {}
        exec(compile(path.with_suffix(".py").read_text(), str(path.with_suffix(".py")), "exec"), self.functions)

    def array(self, of):
        dtype = np.dtype(language.bool_ if of["dtype"] == "bool" else getattr(language, of["dtype"]))
        count = int(np.prod(of["shape"], dtype=np.int64))
        return np.frombuffer(self.bytes, dtype, count, of["at"]).reshape(of["shape"]).copy()

    def results(self, entry):
        arguments = {name: self.array(of) for name, of in entry["arguments"].items()}
        results = self.functions[entry["function"]](arguments)
        return {name: np.asarray(result) for name, result in results.items()}

    def depends_on_subnormals(self, entry, results):
        """Whether it gives something else when those of bitcasts are NaN, larger than anything, or no longer subnormal."""
        for instead in (language.nan, np.inf, "normal"):
            language.subnormal = instead
            try:
                others = self.results(entry)
            finally:
                language.subnormal = None
            if any(others[name].tobytes() != results[name].tobytes() for name in results):
                return True
        return False


def outcome_of(batch, entry):
    """What becomes of one spec: a dict with `run` (whether it is the same to the last bit), `skipped` (why) or
    `mismatch` (what), and why which of its outputs are not compared."""
    if "skipped" in entry:
        return {"skipped": entry["skipped"]}
    try:
        results = batch.results(entry)
    except Exception as error:  # whatever JAX says of it
        for said, why in UNINTERPRETED.items():
            if said in str(error):
                return {"skipped": why}
        lines = traceback.format_exception_only(error)
        return {"mismatch": "JAX does not run it: " + "".join(lines)[:1500]}
    uncompared = [of for of in entry["outputs"].values() if isinstance(of, str)]
    wrong, same = [], True
    for name, of in entry["outputs"].items():
        if isinstance(of, str):
            continue
        off, equal = difference(results[name], batch.array(of), of)
        same = same and equal
        if off:
            wrong.append(f"`{name}`: {off}")
    if wrong and batch.depends_on_subnormals(entry, results):
        return {"skipped": "subnormal numbers, which XLA takes for 0"}
    if wrong:
        return {"mismatch": "\n".join(wrong), "uncompared": uncompared}
    if len(uncompared) == len(entry["outputs"]):
        return {"skipped": "no output can be compared", "uncompared": uncompared}
    return {"run": same, "uncompared": uncompared}


# ---- a batch, in a process of its own ----

def work(path, first):
    """Prints the outcome of each spec from the one at `first` on, a line each."""
    batch = Batch(pathlib.Path(path))
    for entry in batch.entries[int(first):]:
        began = time.time()
        outcome = outcome_of(batch, entry)
        print(json.dumps({**outcome, "seconds": time.time() - began}), flush=True)


def outcomes(path, entries):
    """Of all specs of a batch. XLA aborts in some: the one behind the last that was reported is skipped."""
    done = []
    while len(done) < len(entries):
        worker = subprocess.run([sys.executable, __file__, "--work", path, str(len(done))], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        done += [json.loads(line) for line in worker.stdout.splitlines()]
        if worker.returncode == 0:
            break
        if worker.returncode > 0:
            sys.exit(worker.stderr)
        said = re.search(r"Check failed: .*", worker.stderr)
        print(f"XLA aborts in spec {entries[len(done)]['number']}: {said.group() if said else worker.stderr[-500:]}")
        done.append({"skipped": "XLA aborts", "seconds": 0})
    return done


# ---- many ----

class Tally:
    def __init__(self):
        self.run = self.exact = 0
        self.skipped, self.uncompared, self.coverage = Counter(), Counter(), Counter()
        self.mismatches = []

    def add(self, entry, outcome):
        self.uncompared.update(outcome.get("uncompared", []))
        if "skipped" in outcome:
            self.skipped[outcome["skipped"]] += 1
        elif "mismatch" in outcome:
            self.mismatches.append(entry["number"])
        else:
            self.run += 1
            self.exact += outcome["run"]
            self.coverage.update(entry["used"])

    def summary(self, first, count):
        by_number = lambda of: dict(sorted(of.items(), key=lambda pair: (-pair[1], pair[0])))
        return {
            "jax": importlib.metadata.version("jax"), "numpy": np.__version__, "first": first, "specs": count,
            "run": self.run, "equal": self.exact, "within tolerance": self.run - self.exact,
            "mismatches": sorted(self.mismatches), "skipped": by_number(self.skipped),
            "outputs not compared": by_number(self.uncompared),
            "coverage": dict(sorted(self.coverage.items())),
        }


def write(build, first, count):
    folder = build / "pallas"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"specs_{first}"
    subprocess.run([build / "tests/random/pallas/random_pallas", str(count), str(first), path], check=True)
    return path


def report(path, entry, outcome):
    if "mismatch" in outcome:
        kept = path.parent / f"mismatch_{entry['number']}.yaml"
        kept.write_text(entry["text"])
        print(f"\nspec {entry['number']}: {outcome['mismatch']}")
        print(f"kept in {kept}; as Pallas it is {entry['function']} in {path}.py", flush=True)
    if outcome["seconds"] > SLOW:
        print(f"spec {entry['number']} took {outcome['seconds']:.0f} s", flush=True)


def run_batch(build, first, count):
    path = write(build, first, count)
    entries = json.loads(path.with_suffix(".json").read_text())
    return path, list(zip(entries, outcomes(path, entries)))


def main(build, count=None, first=1):
    total, start, tally = count or RECORDED, time.time(), Tally()
    starts = range(first, first + total, BATCH)
    done = 0
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        for path, pairs in threads.map(lambda at: run_batch(build, at, min(BATCH, first + total - at)), starts):
            for entry, outcome in pairs:
                tally.add(entry, outcome)
                report(path, entry, outcome)
            done += len(pairs)
            left = (time.time() - start) / done * (total - done)
            print(f"{done} of {total} specs, {tally.run} run, {len(tally.mismatches)} mismatches, "
                  f"{left / 60:.0f} min left", flush=True)
    summary = tally.summary(first, total)
    print(json.dumps({k: v for k, v in summary.items() if k != "coverage"}, indent=1))
    if count is None:
        (HERE / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    return 1 if tally.mismatches else 0


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        sys.exit(work(*sys.argv[2:]))
    sys.exit(main(pathlib.Path(sys.argv[1]).resolve(), *map(int, sys.argv[2:])))
