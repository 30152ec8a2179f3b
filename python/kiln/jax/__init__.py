"""Kernels inside `jax.jit` on a CPU.

    z = jax.jit(lambda x, y: kiln.jax.call(matmul, x, y))(x, y)

A kernel becomes one custom call of XLA, which `grad`, `vmap`, `scan`, `shard_map` and donation treat as any other
operation. Importing this module makes XLA know it, also where an executable comes from a file or a cache."""

import importlib
from typing import TYPE_CHECKING, Any

from .. import _jax_releases  # noqa: F401 (an exception where JAX is too old)
from ._bridge import calls, load_bridge
from ._call import call
from ._gradient import differentiable

if TYPE_CHECKING:
    from ._native import NotNative, install, native, uninstall

__all__ = ["NotNative", "call", "calls", "differentiable", "install", "native", "uninstall"]

load_bridge()


def __getattr__(name: str) -> Any:
    """What takes over Pallas knows private parts of JAX, which is nothing that `call` has to fail of."""
    if name in __all__:
        return getattr(importlib.import_module("._native", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
