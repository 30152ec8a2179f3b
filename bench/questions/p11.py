"""The emulated mode with its checks: against the two interpreters of Pallas on the grids of its guides, in real time, as
they compute in threads of their own, and on as many CPUs for all; against Direct; and what it costs to keep a record."""

import time

import numpy as np

from kilnbench import native
from kilnbench.race import FLOPS, NANOSECONDS, Case, Ratio
from questions.families import matmul

TITLE = "the emulator (beside Pallas in real time)"
KERNELS = ["mm_f32_128", "mm_f32_256", "mm_f32", "mm_bf16_guide", "mm_bf16", "mm_i8", "add_2d", "add_steps"]
_SIZE, _STEPS, _CALLS = 1024, 1 << 14, 16
_GRIDS = (("f32", "mm_f32_128", (128, 128, 128)), ("f32", "mm_f32_256", (256, 256, 256)), ("f32", "mm_f32", (512, 512, 512)),
          ("bf16", "mm_bf16_guide", (512, 1024, 1024)))


def cases(cores, peers, quick):
    try:
        import jax
    except ImportError:
        jax = None
    if jax is not None:
        for dtype, kernel, blocks in _GRIDS[1:3] if quick else _GRIDS:
            yield _product(jax, dtype, kernel, blocks, cores)
        yield _sum(jax, 2048, 256, cores)
    for dtype, kernel in (("f32", "mm_f32"), ("bf16", "mm_bf16"), ("i8", "mm_i8")):
        yield _beside_direct(dtype, kernel, cores)
    yield _steps()


def _steps():
    """What a record costs that is kept, in so many calls a round."""
    arrays = [(native.random((_STEPS, 128), "f32", s), "f32") for s in (1, 2)]

    def calls(kernel, recorded):
        call = native.Kernel(kernel, 1, emulated=True, recorded=recorded).bind(*arrays)
        return lambda: [call() for _ in range(_CALLS)]
    contestants = {"Kiln": calls("add_steps", False), "Kiln, recording": calls("add_steps", True)}
    goals = [Ratio("Kiln", "Kiln, recording", 1.0)]
    return Case(f"{_STEPS} steps of a block of 128", contestants, goals, _STEPS * _CALLS, NANOSECONDS)


def _beside_direct(dtype, kernel, cores):
    x, y = matmul.operands(_SIZE, _SIZE, _SIZE, dtype)
    z = native.aligned((_SIZE, _SIZE), matmul.OUT[dtype])
    contestants = {name: native.Kernel(kernel, cores, emulated=emulated).bind((x, dtype), (y, dtype), (z, matmul.OUT[dtype]))
                   for name, emulated in (("Emulated", True), ("Direct", False))}

    def check():
        contestants["Direct"]()
        direct = z.copy()
        contestants["Emulated"]()
        if not (z == direct).all():
            raise RuntimeError("Direct and Emulated differ")
    return Case(f"{dtype} {_SIZE}^3", contestants, [Ratio("Emulated", "Direct", 0.8)], 2.0 * _SIZE**3, matmul.unit(dtype),
                cores, check, matmul.work(dtype, _SIZE, _SIZE, _SIZE))


def _product(jax, dtype, kernel, blocks, cores):
    operands = matmul.operands(_SIZE, _SIZE, _SIZE, dtype)
    label = f"{dtype} {_SIZE}^3 in blocks of {'x'.join(map(str, blocks))}"
    work = matmul.work(dtype, _SIZE, _SIZE, _SIZE)
    return _against_pallas(label, dtype, kernel, operands, _pallas_product(jax, dtype, *blocks), 2.0 * _SIZE**3, cores, work)


def _sum(jax, size, block, cores):
    x, y = (native.random((size, size), "f32", s) for s in (1, 2))
    label = f"add, f32 {size}x{size} in blocks of {block}x{block}"
    return _against_pallas(label, "f32", "add_2d", (x, y), _pallas_sum(jax, size, block), float(size**2), cores)


def _against_pallas(label, dtype, kernel, operands, made_by, operations, cores, work=None):
    """`made_by` of the way to interpret is a function of the operands."""
    import jax.numpy as jnp
    from jax.experimental.pallas import tpu as pltpu
    z = native.aligned(operands[0].shape, dtype)
    ours = native.Kernel(kernel, cores, emulated=True).bind(*[(a, dtype) for a in (*operands, z)])
    theirs = [jnp.asarray(a.view(jnp.bfloat16) if dtype == "bf16" else a) for a in operands]
    contestants = {"Kiln": ours}
    for name, how in (("TPU interpreter", pltpu.InterpretParams()), ("HLO interpreter", True)):
        contestants[name] = lambda call=made_by(how): call(*theirs).block_until_ready()

    def check():
        ours()
        for name, call in contestants.items():
            if name != "Kiln":
                want = np.asarray(call()).astype("f8")
                error = np.abs(matmul.as_float(z, dtype) - want).max()
                if error > (1e-5 if dtype == "f32" else 0.01) * np.abs(want).max():
                    raise RuntimeError(f"{label}: the answers of the {name} differ")
    goals = [Ratio("Kiln", "TPU interpreter", 10), Ratio("Kiln", "HLO interpreter", 2)]
    return Case(label, contestants, goals, operations, FLOPS, cores, check, work, clock=time.perf_counter)


def _pallas_product(jax, dtype, bm, bn, bk):
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
            z_ref[...] = acc_ref[...].astype(z_ref.dtype)

    return lambda how: jax.jit(pl.pallas_call(
        body, grid=(_SIZE // bm, _SIZE // bn, _SIZE // bk),
        in_specs=[pl.BlockSpec((bm, bk), lambda i, j, l: (i, l)), pl.BlockSpec((bk, bn), lambda i, j, l: (l, j))],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, l: (i, j)),
        out_shape=jax.ShapeDtypeStruct((_SIZE, _SIZE), jnp.bfloat16 if dtype == "bf16" else jnp.float32),
        scratch_shapes=[pltpu.VMEM((bm, bn), jnp.float32)], interpret=how))


def _pallas_sum(jax, size, block):
    import jax.numpy as jnp
    from jax.experimental import pallas as pl

    def body(x_ref, y_ref, z_ref):
        z_ref[...] = x_ref[...] + y_ref[...]

    spec = pl.BlockSpec((block, block), lambda i, j: (i, j))
    return lambda how: jax.jit(pl.pallas_call(
        body, grid=(size // block, size // block), in_specs=[spec, spec], out_specs=spec,
        out_shape=jax.ShapeDtypeStruct((size, size), jnp.float32), interpret=how))
