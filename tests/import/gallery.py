"""Writes docs/gallery.md: kernels of language models, what they are as specs, and how long a TPU would take for them.

    python3 tests/import/gallery.py    # by a Python that has JAX
"""

import functools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import corpus  # noqa: E402, F401  (sets up JAX)
import calls_models as models  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import kiln.pallas  # noqa: E402

PAGE = ROOT / "docs" / "gallery.md"
HEAD = """\
# Gallery

Kernels that language models are made of, as people write them in Pallas, and what `kiln import` makes of them; nothing is
edited. The Python is in [tests/import](../tests/import/calls_models.py). That the specs give what real Pallas computed, in
the interpreter, compiled and on the emulated TPU, is tested by the records beside them. Times are `kiln predict`'s, of one
core and for the sizes that are named; the specs shown are of the records' small sizes. This page is written by
`tests/import/gallery.py`.

More kernels that are tested by records: [specs/](../specs) has matmuls, grouped matmuls, attention, norms, softmax and
convolutions by hand, and [tests/import/records](../tests/import/records) JAX's own flash attention forward and backward, splash attention
forward and backward, paged and ragged paged attention, and grouped matmuls.

| kernel | sizes | TPU v5e | TPU v6e |
|---|---|---|---|
"""


def of(*shape, dtype=jnp.bfloat16):
    return jax.ShapeDtypeStruct(shape, dtype)


#: By record: what it computes, the sizes that are predicted, the function with large blocks, its arguments.
KERNELS = {
    "rope": (
        "Rotary positions: the halves of each head turned by the position's angles.", "32 heads, 4096 x 128",
        functools.partial(models.rope, block=1024),
        (of(32, 4096, 128), of(4096, 64), of(4096, 64)),
    ),
    "rms_norm": (
        "RMSNorm, with the weight.", "8192 x 4096", functools.partial(models.rms_norm, block=256),
        (of(8192, 4096), of(1, 4096)),
    ),
    "swiglu": (
        "The gated half of an MLP, both products in one kernel.", "4096 x 4096 x 14336",
        functools.partial(models.swiglu, blocks=(1024, 512, 1024)),
        (of(4096, 4096), of(4096, 14336), of(4096, 14336)),
    ),
    "matmul_weights_int8": (
        "A product with int8 weights, scaled by column.", "16 x 4096 x 14336",
        functools.partial(models.quantised_matmul, blocks=(16, 1024, 1024)),
        (of(16, 4096), of(4096, 14336, dtype=jnp.int8), of(1, 14336, dtype=jnp.float32)),
    ),
    "matmul_weights_int4": (
        "The same with weights of four bits, two in a byte.", "16 x 4096 x 14336",
        functools.partial(models.packed_matmul, blocks=(16, 1024, 1024)),
        (of(16, 4096), of(2048, 14336, dtype=jnp.int8), of(1, 14336, dtype=jnp.float32)),
    ),
    "cross_entropy": (
        "The loss of each row and what its gradient needs, in one pass over the logits.", "4096 x 32768",
        functools.partial(models.cross_entropy, block=(256, 2048)),
        (of(4096, 32768), of(4096, 1, dtype=jnp.int32)),
    ),
    "cross_entropy_gradient": (
        "The gradient of the logits, from the kept sums.", "4096 x 32768",
        functools.partial(models.cross_entropy_gradient, block=(256, 2048)),
        (of(4096, 32768), of(4096, 1, dtype=jnp.int32), *[of(4096, 1, dtype=jnp.float32)] * 2),
    ),
}  # fmt: skip


def page():
    rows, sections = [], []
    for name, (what, sizes, function, args) in KERNELS.items():
        (record,) = (HERE / "records" / name).glob("*.yaml")
        times = [predicted(function, args, machine) for machine in ("v5e", "v6e")]
        rows.append(f"| [{name}](#{name}) | {sizes} | {times[0]} | {times[1]} |\n")
        path = record.relative_to(ROOT)
        sections.append(f"\n## {name}\n\n{what} [{path}](../{path})\n\n```yaml\n{record.read_text().strip()}\n```\n")
    return HEAD + "".join(rows + sections)


def predicted(function, args, machine):
    """ "292 us, bound by HBM"."""
    (prediction,) = kiln.pallas.predict(function, *args, machine=machine)
    return str(prediction).splitlines()[0].split(": ", 1)[1]


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"wrote {PAGE.relative_to(ROOT)}")
