"""Which release of JAX this is, and names that releases have in different places."""

import re

import jax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

RELEASE = tuple(map(int, re.findall(r"\d+", jax.__version__)[:3]))

CompilerParams = getattr(pltpu, "CompilerParams", None) or pltpu.TPUCompilerParams  # 0.6.0
InterpretParams = getattr(pltpu, "InterpretParams", None) or getattr(pltpu, "TPUInterpretParams", None)  # 0.6; 0.6.0
DeviceIdType = getattr(pl, "DeviceIdType", None) or pltpu.DeviceIdType
semaphore_signal = getattr(pl, "semaphore_signal", None) or pltpu.semaphore_signal


def needs(since, what):
    """Skips a test in releases before that one, which lack what it says."""
    import pytest

    if since > RELEASE:
        pytest.skip(f"JAX has {what} from {'.'.join(map(str, since))} on")


def loop(low, high):
    """`pl.loop`, which 0.6 has not."""
    if hasattr(pl, "loop"):
        return pl.loop(low, high)
    return lambda body: jax.lax.fori_loop(low, high, lambda i, _: body(i), None)


def elements(sizes, paddings, index_map):
    """A block whose index map counts elements."""
    if hasattr(pl, "Element"):
        return pl.BlockSpec(tuple(map(pl.Element, sizes, paddings)), index_map)
    return pl.BlockSpec(sizes, index_map, indexing_mode=pl.Unblocked(paddings))  # 0.6.0


def shard_map(f, mesh, in_specs, out_specs, check_vma=True):
    if hasattr(jax, "shard_map"):
        return jax.shard_map(f, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=check_vma)
    from jax.experimental.shard_map import shard_map  # 0.6.0

    return shard_map(f, mesh, in_specs, out_specs, check_rep=check_vma)
