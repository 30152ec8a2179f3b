"""Kernels inside `jax.jit` on a CPU.

    z = jax.jit(lambda x, y: kiln.jax.call(matmul, x, y))(x, y)

A kernel becomes one custom call of XLA, which `grad`, `vmap`, `scan`, `shard_map` and donation treat as any other
operation. Importing this module makes XLA know it, also where an executable comes from a file or a cache."""

from ._bridge import calls, load_bridge
from ._call import call
from ._gradient import differentiable

__all__ = ["call", "calls", "differentiable"]

load_bridge()
