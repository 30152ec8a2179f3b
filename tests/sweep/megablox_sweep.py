"""Megablox as JAX ships it against specs/gmm.yaml and specs/tgmm.yaml, on random group sizes.

    ./dev sweep                 # 240 vectors of group sizes for each kernel of kernels.json
    ./dev sweep 48 gmm_sweep_b  # fewer, of the kernels whose names begin so

Each vector is run by real megablox in interpret mode, by Kiln's interpreter, and by the generated kernel on every
engine of kiln.engines, which have to agree bit for bit. Integers have to be equal. Floats may differ by what the
roundings of two sums in any order can come to: see `Case.allowed`. A plain product per group, in f64, is a third
opinion on every row, and the only one on rows of no group where JAX leaves garbage. A full run writes summary.json.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "pallas")]

import harness  # first: how XLA is to run
import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm, tgmm

import kiln
import sizes as group_sizes

KERNELS = json.loads((HERE / "kernels.json").read_text())
SUMMARY = HERE / "summary.json"
LIBRARY = ROOT / "build/tests/sweep/libsweep_kernels.so"
BF16 = ml_dtypes.bfloat16
DTYPES = {"f32": np.dtype(np.float32), "bf16": np.dtype(BF16), "int8": np.dtype(np.int8)}
UNIT = {np.dtype(np.float32): 2.0**-24, np.dtype(BF16): 2.0**-8, np.dtype(np.int32): 0.0}  # of one rounding
VECTORS = 240

# m, k, n, groups, first group of the shard, groups in it: jax compiles once for each.
SHAPES = [
    (96, 24, 16, 6, 0, 6),
    (80, 21, 19, 9, 0, 9),  # k and n end inside a tile
    (61, 37, 11, 7, 2, 4),  # m, too; a shard
    (47, 8, 33, 13, 12, 1),  # its last group alone
]


@dataclass
class Case:
    """One vector of group sizes with its arrays, and what everybody makes of them."""

    name: str
    shape: tuple
    sizes: np.ndarray
    lhs: np.ndarray
    rhs: np.ndarray
    existing: np.ndarray | None
    out: np.dtype

    @property
    def transposed_product(self):
        return self.name.startswith("tgmm")

    @property
    def transpose_rhs(self):
        return "_transposed" in self.name

    @property
    def tiling(self):
        params = KERNELS[self.name]["set"]
        return params["tm"], params["tk"], params["tn"]

    def out_shape(self):
        m, k, n, groups, offset, shard = self.shape
        return (shard, k, n) if self.transposed_product else (m, n)

    def inputs(self):
        return [self.lhs, self.rhs] + ([] if self.existing is None else [self.existing])

    def group_rows(self):
        """(group in the shard, its rows)"""
        m, k, n, groups, offset, shard = self.shape
        ends = np.cumsum(self.sizes)
        return [(g, slice(ends[offset + g] - self.sizes[offset + g], ends[offset + g])) for g in range(shard)]

    def product(self, left, right, start):
        """Group by group, in f64, added to what the output starts with."""
        out = start.copy()
        for g, rows in self.group_rows():
            if self.transposed_product:
                out[g] += left[rows].T @ right[rows]
            else:
                out[rows] = left[rows] @ (right[g].T if self.transpose_rhs else right[g])
        return out

    def start(self):
        return np.zeros(self.out_shape()) if self.existing is None else self.existing.astype(np.float64)

    def plain(self):
        return self.product(self.lhs.astype(np.float64), self.rhs.astype(np.float64), self.start())

    def terms(self):
        """Of the longest sum."""
        return (max(self.sizes, default=0) if self.transposed_product else self.shape[1]) + 2

    def allowed(self, got, want):
        """How far two sums of the same terms may be apart, element by element: each addition rounds its partial sum,
        which is no larger than the sum of the terms' magnitudes; then both sums are rounded to the output's dtype."""
        magnitudes = self.product(
            np.abs(self.lhs.astype(np.float64)), np.abs(self.rhs.astype(np.float64)), np.abs(self.start())
        )
        sums = 0.0 if self.out == np.int32 else 2 * self.terms() * 2.0**-24 * magnitudes
        return sums + UNIT[self.out] * (np.abs(got) + np.abs(want))

    def megablox(self):
        """What JAX computes, and for which elements it says anything."""
        m, k, n, groups, offset, shard = self.shape
        spare = -m % self.tiling[0]  # JAX takes whole tiles of rows only; these are in no group
        pad = lambda x: jnp.pad(jnp.asarray(x), ((0, spare), (0, 0)))
        # It refuses int8, whose products are exact in f32.
        lhs, rhs = [x.astype(np.float32) if x.dtype == np.int8 else x for x in (self.lhs, self.rhs)]
        out = np.dtype(np.float32) if self.out == np.int32 else self.out
        options = dict(preferred_element_type=out, tiling=self.tiling, group_offset=jnp.int32(offset), interpret=True)
        sizes = jnp.asarray(self.sizes)
        if self.transposed_product:
            held = None if self.existing is None else jnp.asarray(self.existing)
            got = tgmm(pad(lhs).T, pad(rhs), sizes, num_actual_groups=shard, existing_out=held, **options)
            return np.asarray(got), np.full(self.out_shape(), True)
        held = None if self.existing is None else pad(self.existing)
        got = gmm(pad(lhs), jnp.asarray(rhs), sizes, existing_out=held, transpose_rhs=self.transpose_rhs, **options)
        said = np.full(self.out_shape(), True)
        if self.existing is None and shard == groups:
            said[sum(self.sizes) :] = False  # rows of no group
        return np.asarray(got)[:m], said

    def interpreted(self, folder):
        """By Kiln's interpreter."""
        kernel = KERNELS[self.name]
        arrays = dict(zip(("sizes", "lhs", "rhs", "existing"), [self.sizes, *self.inputs()]))
        words = [f"group_offset={self.shape[4]}"]
        for name, array in arrays.items():
            np.save(f"{folder}/{name}.npy", array.view(np.uint16) if array.dtype == BF16 else array)
            words.append(f"{name}=@{folder}/{name}.npy")
        params = [f"{name}={harness.text(value)}" for name, value in kernel["set"].items()]
        spec = f"specs/{kernel['spec']}.yaml:{kernel['instance']}"
        if self.transposed_product:
            words.append(f"shard={self.shape[5]}")
        command = ["build/kiln", "run", spec, *words, "--set", *params, "-o", folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            return None, done.stdout + done.stderr
        got = np.load(f"{folder}/out.npy")
        return (got.view(BF16) if self.out == BF16 else got), None

    def compiled(self, engine, in_place):
        """By the generated kernel; `in_place`: into the memory of `existing`."""
        out = self.existing.copy() if in_place else np.full(self.out_shape(), 77, self.out)
        inputs = [self.lhs, self.rhs] + ([] if self.existing is None else [out if in_place else self.existing])
        failure = engine.call(self.name, self.sizes, self.shape[4], *inputs, out)
        return out, failure


def random_array(rng, shape, dtype):
    if dtype == np.int8:
        return rng.integers(-128, 128, shape, np.int8)
    return np.asarray(rng.standard_normal(shape), np.float32).astype(dtype)


def cases(name, count):
    rng = np.random.default_rng(list(name.encode()))
    dtype = DTYPES[name.split("_")[2]]
    # As the spec's instance says: f32 unless its name, or ours, has another.
    out = np.dtype(np.int32) if dtype == np.int8 else dtype if "_transposed" in name or "_existing" in name else None
    out = out or np.dtype(np.float32)
    for at, shape in enumerate(SHAPES):
        m, k, n, groups, offset, shard = shape
        share = [*range(at, count, len(SHAPES))]
        for sizes in group_sizes.vectors(rng, len(share), m, groups, KERNELS[name]["set"]["tm"]):
            right = (m, n) if name.startswith("tgmm") else (shard, n, k) if "_transposed" in name else (shard, k, n)
            made = Case(name, shape, np.array(sizes, np.int32), None, None, None, out)
            made.lhs, made.rhs = random_array(rng, (m, k), dtype), random_array(rng, right, dtype)
            if "_existing" in name:
                made.existing = random_array(rng, made.out_shape(), out)
            yield made


class Tally:
    """Of one kernel."""

    def __init__(self):
        self.vectors = self.mismatches = 0
        self.worst = self.worst_share = 0.0

    def complain(self, case, who, what):
        self.mismatches += 1
        print(f"{case.name} {case.shape} sizes {case.sizes.tolist()}: {who}: {what}", flush=True)

    def compare(self, case, who, got, want, said=True):
        got, want = got.astype(np.float64), want.astype(np.float64)
        error = np.where(said, np.abs(got - want), 0)
        allowed = case.allowed(got, np.where(said, want, 0))
        wrong = ~(error <= allowed)
        if wrong.any():
            self.complain(case, who, f"{wrong.sum()} of {wrong.size} elements, by up to {np.nanmax(error):.3g}")
        self.worst = max(self.worst, float(error.max(initial=0)))
        self.worst_share = max(self.worst_share, float((error / np.where(allowed > 0, allowed, 1)).max(initial=0)))

    def check(self, case, engines, folder):
        self.vectors += 1
        jax_got, said = case.megablox()
        plain = case.plain()
        self.compare(case, "jax and plain f64", plain, jax_got, said)

        got, failure = case.interpreted(folder)
        if failure:
            self.complain(case, "interpret", failure)
        else:
            self.compare(case, "interpret and jax", got, jax_got, said)
            self.compare(case, "interpret and plain f64", got, plain)

        first = None
        for engine in engines:
            for in_place in (False, True) if case.existing is not None else (False,):
                got, failure = case.compiled(engine, in_place)
                who = engine.name + (", in place" if in_place else "")
                if failure:
                    self.complain(case, who, failure)
                elif first is None:
                    first = got
                    self.compare(case, f"{who} and jax", got, jax_got, said)
                    self.compare(case, f"{who} and plain f64", got, plain)
                elif got.tobytes() != first.tobytes():
                    self.complain(case, who, "not the bits of the first engine")


def main(arguments):
    count = int(arguments[0]) if arguments else VECTORS
    prefixes = tuple(arguments[1:])
    names = [name for name in KERNELS if not prefixes or name.startswith(prefixes)]
    engines = kiln.engines(str(LIBRARY))
    summary = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            start, tally = time.time(), Tally()
            for case in cases(name, count):
                tally.check(case, engines, folder)
            summary[name] = {
                "vectors": tally.vectors,
                "mismatches": tally.mismatches,
                "largest error": float(f"{tally.worst:.2g}"),
                "largest error, of what is allowed": float(f"{tally.worst_share:.2g}"),
            }
            print(f"{name}: {json.dumps(summary[name])}, {time.time() - start:.0f} s", flush=True)
    if names == list(KERNELS) and count == VECTORS:
        lines = [f' "{name}": {json.dumps(entry)}' for name, entry in summary.items()]
        SUMMARY.write_text("{\n" + ",\n".join(lines) + "\n}\n")
        print(f"wrote {SUMMARY.relative_to(ROOT)}")
    sys.exit(1 if any(entry["mismatches"] for entry in summary.values()) else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
