"""Pallas kernels that ship in JAX, run by `kiln.jax.native` and by JAX's two interpreters: time of all threads of the process, as
the interpreters have some of their own."""

import functools
import unittest.mock

import numpy as np

from kilnbench import native
from kilnbench.race import SECONDS, Case, Ratio

TITLE = "Pallas on a CPU, natively"
CORES = 1
KERNELS = []
_SIZE = 1024
_GOALS = [Ratio("Kiln", "HLO interpreter", 2), Ratio("Kiln", "TPU interpreter", 100)]


def cases(cores, peers, quick):
    try:
        import jax
    except ImportError:
        return
    native.package()
    for label, function, arguments in _calls(jax):
        yield _case(jax, label, function, arguments)


def _calls(jax):
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.tpu.flash_attention import BlockSizes, flash_attention
    from jax.experimental.pallas.ops.tpu.matmul import matmul
    from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm

    def normal(seed, *shape, dtype=jnp.float32):
        return jnp.asarray(np.random.default_rng(seed).standard_normal(shape, np.float32), dtype)

    for dtype in (jnp.float32, jnp.bfloat16):
        for block in (128, 512):
            operands = [normal(seed, _SIZE, _SIZE, dtype=dtype) for seed in (1, 2)]
            blocks = {"block_shape": (block, block), "block_k": block}
            yield f"matmul, {dtype.__name__} {_SIZE}^3 by {block}", functools.partial(matmul.__wrapped__, **blocks), operands
    sizes = jnp.asarray([100, 300, 424, 200], jnp.int32)
    for block in (128, 512):
        grouped = functools.partial(gmm.__wrapped__, tiling=(block, block, block))
        operands = [normal(1, _SIZE, _SIZE), normal(2, 4, _SIZE, _SIZE), sizes]
        yield f"gmm, float32 {_SIZE}^3 by {block}, 4 groups", grouped, operands
    for block in (128, 512):
        blocks = BlockSizes(block_q=block, block_k_major=block, block_k=block, block_b=1)
        attention = functools.partial(flash_attention.__wrapped__, causal=True, sm_scale=0.09, block_sizes=blocks)
        operands = [normal(i, 1, 4, _SIZE, 128) for i in range(3)]
        yield f"flash attention, float32 4x{_SIZE}x128 by {block}, causal", attention, operands


def _case(jax, label, function, arguments):
    import kiln.jax
    from jax.experimental.pallas import tpu as pltpu
    with kiln.jax.native(strict=True, cores=CORES):
        compiled = {"Kiln": _compiled(jax, function, arguments)}
    for name, how in (("HLO interpreter", True), ("TPU interpreter", pltpu.InterpretParams())):
        compiled[name] = _interpreted(jax, function, arguments, how)

    def check():
        want = np.asarray(compiled["HLO interpreter"](*arguments), np.float64)
        for name, call in compiled.items():
            error = np.abs(np.asarray(call(*arguments), np.float64) - want).max()
            if error > (0.02 if "bfloat16" in label else 1e-4) * np.abs(want).max():
                raise RuntimeError(f"the answers of {name} differ")
    contestants = {name: functools.partial(_wait, jax, call, arguments) for name, call in compiled.items()}
    return Case(label, contestants, _GOALS, 1, SECONDS, check=check)


def _compiled(jax, function, arguments):
    return jax.jit(lambda *given: function(*given)).lower(*arguments).compile()  # a function of its own each time


def _interpreted(jax, function, arguments, how):
    from jax.experimental import pallas as pl
    call = pl.pallas_call
    with unittest.mock.patch.object(pl, "pallas_call", lambda *given, **named: call(*given, **{**named, "interpret": how})):
        jax.clear_caches()
        return _compiled(jax, function, arguments)


def _wait(jax, call, arguments):
    jax.block_until_ready(call(*arguments))
