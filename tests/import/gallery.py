"""Writes docs/gallery.md: kernels of language models, what they are as specs, and how long a TPU would take for them.

    python3 tests/import/gallery.py    # by a Python that has JAX

gallery_shipped.py lists those of specs/, gallery_peers.py times them.
"""

import functools
import json
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

import corpus  # noqa: E402, F401  (sets up JAX)
import calls_models as models  # noqa: E402
import gallery_pictures as pictures  # noqa: E402
import gallery_shipped as shipped  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import kiln.pallas  # noqa: E402
import numpy as np  # noqa: E402
from kiln import _tool  # noqa: E402

PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "gallery"
HEAD = """\
# Gallery

Kernels that language models are made of: those that [ship](../specs), written by hand, and Pallas kernels as people write
them, as `kiln import` reads them. This page is written by `tests/import/gallery.py`; times are `kiln predict`'s, of one
core and for the sizes that are named.

## Kernels that ship

Each is compared with its `reference`, if it has one, with the interpreter on every engine, and with what Pallas computed:
JAX's own flash attention with its gradients, splash attention, paged attention and megablox, and for what JAX does not ship
the kernels of [tests/import](../tests/import/calls_models.py) ([tests/pallas](../tests/pallas) has the records). JAX's ragged
paged attention is run by none of its interpreters: its record is of the plain function that JAX has beside it.

Times on a TPU are of bf16 and of the params that are named. *Beside XLA* is how many times as fast the compiled kernel is
as what XLA makes of the plain text, on one core of a CPU, in f32 and at smaller sizes, which are named
(`tests/import/gallery_peers.py`).

| kernel | sizes | TPU v5e | TPU v6e | beside XLA |
|---|---|---|---|---|
"""
READ = """
## Kernels read from Pallas

What follows is read by `kiln import`, and nothing is edited. The Python is in
[tests/import](../tests/import/calls_models.py). That the specs give what real Pallas computed, in the interpreter,
compiled and on the emulated TPU, is tested by the records beside them; the specs shown are of the records' small sizes.
[tests/import/records](../tests/import/records) has JAX's own flash attention forward and backward, splash attention
forward and backward, paged and ragged paged attention, and grouped matmuls, read the same way.

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


def files():
    """The page and the pictures on it, by path."""
    raced = json.loads((PICTURES / "peers.json").read_text())
    rows, sections, drawn = [], [], {}
    for name, entry in shipped.ENTRIES.items():
        told = {machine: predicted_spec(name, entry, machine) for machine in ("v5e", "v6e")}
        drawn[PICTURES / f"{name}.svg"] = pictures.bars(told)
        times = " | ".join(pictures.said(each) for each in told.values())
        rows.append(f"| [{name}](#{name}) | {entry.sizes} | {times} | {raced[name]['ratio']:.2f} |\n")
        sections.append(section(name, entry, raced[name]))
    return {PAGE: HEAD + "".join(rows + sections) + READ + read()} | drawn


def section(name, entry, race):
    params = ", ".join(f"{k}: {word(v)}" for k, v in entry.params.items())
    return (
        f"\n### {name}\n\n{entry.what} [specs/{name}.yaml](../specs/{name}.yaml)\n\n"
        f"![where the time goes](gallery/{name}.svg)\n\n"
        f"The picture is of {entry.sizes}{f', with `{params}`' if params else ''}. "
        f"Beside XLA: {race['sizes']}, {race['milliseconds']:.3g} ms.\n"
    )


def word(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def predicted_spec(name, entry, machine):
    with tempfile.TemporaryDirectory() as folder:
        words = []
        for key, value in entry.call.items():
            if isinstance(value, np.ndarray):
                np.save(f"{folder}/{key}.npy", value)
                value = f"@{folder}/{key}.npy"
            words.append(f"{key}={value}")
        sets = [f"--set={k}={word(v)}" for k, v in entry.params.items()]
        spec = str(ROOT / "specs" / f"{name}.yaml")
        return json.loads(_tool.run("predict", spec, *words, *sets, f"--machine={machine}", "--no-advice", "--json"))


def read():
    rows, sections = [], []
    for name, (what, sizes, function, args) in KERNELS.items():
        (record,) = (HERE / "records" / name).glob("*.yaml")
        times = [predicted(function, args, machine) for machine in ("v5e", "v6e")]
        rows.append(f"| [{name}](#{anchor(name)}) | {sizes} | {times[0]} | {times[1]} |\n")
        path = record.relative_to(ROOT)
        sections.append(f"\n### {name}\n\n{what} [{path}](../{path})\n\n```yaml\n{record.read_text().strip()}\n```\n")
    return "".join(rows + sections)


def anchor(name):
    """The second heading of a name has a number."""
    return f"{name}-1" if name in shipped.ENTRIES else name


def predicted(function, args, machine):
    """ "292 us, bound by HBM"."""
    (prediction,) = kiln.pallas.predict(function, *args, machine=machine)
    return str(prediction).splitlines()[0].split(": ", 1)[1]


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(ROOT)}")
