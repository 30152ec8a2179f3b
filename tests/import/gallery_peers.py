"""Times the shipped kernels beside what XLA makes of the plain text, on one core, for docs/gallery.md.

    python3 tests/import/gallery_peers.py [NAME...]    # by a Python that has JAX; rewrites docs/gallery/peers.json

Both have the same arrays, and take turns in one process that stays on one CPU; what counts is the median of the ratios of
the turns. The answers are compared before anything is timed. Results are in memory that the process has had before: asking
the system for it anew, page by page, takes several times as long as a kernel that only reads and writes rows.
"""

import json
import os
import pathlib
import statistics
import sys
import time

KEPT = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 34), "MALLOC_TOP_PAD_": str(1 << 28)}
if not KEPT.items() <= os.environ.items():  # glibc reads them once
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEPT})
os.environ["JAX_PLATFORMS"] = "cpu"
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before JAX counts the cores

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import gallery_shipped  # noqa: E402
import jax  # noqa: E402
import kiln  # noqa: E402
import numpy as np  # noqa: E402

RESULTS = ROOT / "docs" / "gallery" / "peers.json"
ROUNDS = 7


def loaded(spec, **params):
    """A shipped kernel inside `jax.jit`, so that XLA allocates the results of both."""
    kernel = kiln.load(f"{ROOT}/specs/{spec}.yaml", **params)
    return jax.jit(lambda *inputs, **named: kernel(*inputs, cores=1, **named))


def same(got, want):
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (got, want)), strict=True):
        a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
        if not np.allclose(a.reshape(b.shape), b, rtol=0, atol=1e-4 * np.abs(b).max()):
            raise SystemExit(f"the answers differ by {np.abs(a.reshape(b.shape) - b).max()}")


def seconds(call):
    start = time.perf_counter()
    jax.block_until_ready(call())
    return time.perf_counter() - start


def measured(race):
    ours, theirs = race.run(loaded), race.plain
    same(ours(), theirs())
    turns = [(seconds(ours), seconds(theirs)) for _ in range(ROUNDS)]
    ratio = statistics.median(b / a for a, b in turns)
    return dict(sizes=race.sizes, milliseconds=round(1e3 * min(a for a, _ in turns), 3), ratio=round(ratio, 2))


def main(names):
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    done = {}
    for name in names or gallery_shipped.ENTRIES:
        make = gallery_shipped.ENTRIES[name].race
        if make not in done:
            done[make] = measured(make())
        results[name] = done[make]
        print(name, results[name], flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    kept = {name: results[name] for name in gallery_shipped.ENTRIES if name in results}
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
