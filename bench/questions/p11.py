"""The emulated mode with its checks, against the two interpreters of Pallas on the same grid. In real time, two cores."""

import numpy as np

from kilnbench import native
from kilnbench.race import Case

TITLE = "the emulator against Pallas' interpreters"
KERNELS = ["mm_f32_128", "mm_f32_256", "mm_f32"]
_SIZE = 1024


def cases(cores, peers, peaks, quick):
    try:
        import jax
    except ImportError:
        return
    for block, kernel in ((128, "mm_f32_128"), (256, "mm_f32_256"), (512, "mm_f32")):
        x, y = native.random((_SIZE, _SIZE), "f32", 1), native.random((_SIZE, _SIZE), "f32", 2)
        z = native.aligned((_SIZE, _SIZE), "f32")
        ours = native.Kernel(kernel, 2, emulated=True).bind((x, "f32"), (y, "f32"), (z, "f32"))
        tpu, hlo = (_pallas(jax, block, x, y, tpu) for tpu in (True, False))

        def check(z=z, ours=ours, hlo=hlo):
            ours()
            if np.abs(z - np.asarray(hlo())).max() > 1e-3:
                raise RuntimeError("the answers differ")
        yield Case("P11", f"f32 {_SIZE}^3 in blocks of {block}", {"Kiln": ours, "TPU interpreter": tpu, "HLO interpreter": hlo},
                   [("Kiln", "TPU interpreter", 10), ("Kiln", "HLO interpreter", 2)], 2.0 * _SIZE**3, "GF", 2, check)


def _pallas(jax, block, x, y, tpu):
    import jax.numpy as jnp
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import tpu as pltpu

    def body(x_ref, y_ref, z_ref, acc_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            acc_ref[...] = jnp.zeros_like(acc_ref)
        acc_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=jnp.float32)

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            z_ref[...] = acc_ref[...]

    steps = _SIZE // block
    call = jax.jit(pl.pallas_call(
        body, grid=(steps, steps, steps),
        in_specs=[pl.BlockSpec((block, block), lambda i, j, l: (i, l)), pl.BlockSpec((block, block), lambda i, j, l: (l, j))],
        out_specs=pl.BlockSpec((block, block), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((_SIZE, _SIZE), jnp.float32),
        scratch_shapes=[pltpu.VMEM((block, block), jnp.float32)],
        interpret=pltpu.InterpretParams() if tpu else True))
    a, b = jnp.asarray(x), jnp.asarray(y)
    return lambda: call(a, b).block_until_ready()
