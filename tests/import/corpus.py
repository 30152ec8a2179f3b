"""What the corpus is made of: calls, each of them a function and its arguments, small, and what is expected of it.

    @call("gmm")
    def _():
        from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm
        return functools.partial(gmm, tiling=(8, 128, 128)), (lhs, rhs, sizes)
"""

import os
from dataclasses import dataclass
from typing import Any, Callable

# One thread and one instruction set for XLA, so that a record does not depend on the machine it was made on.
os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=2 --xla_cpu_multi_thread_eigen=false --xla_cpu_max_isa=AVX2"
)
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax_names import CompilerParams, DeviceIdType, elements, semaphore_signal, shard_map  # noqa: F401


@dataclass
class Case:
    name: str
    make: Callable[[], tuple[Callable, tuple]]
    cannot: str  # the construct that the language lacks; then there is no record
    refused: str  # the rule that the checker refuses it by; then there is no record
    reference: Callable[..., Any] | None  # where JAX cannot interpret the kernel: what it should give
    since: tuple[tuple[int, ...], str]  # the release of JAX from which it has what the call needs, and what that is


CASES: dict[str, Case] = {}


def call(name, cannot="", refused="", reference=None, since=((0, 6), "")):
    def register(make):
        assert name not in CASES, name
        CASES[name] = Case(name, make, cannot, refused, reference, since)
        return make

    return register


def load():
    """All of them, in the order of the files."""
    import calls_copies  # noqa: F401
    import calls_docs  # noqa: F401
    import calls_docs_tpu  # noqa: F401
    import calls_jax  # noqa: F401
    import calls_models  # noqa: F401
    import calls_values  # noqa: F401
    import calls_views  # noqa: F401
    import calls_while  # noqa: F401

    return CASES


def normal(seed, shape, dtype=jnp.float32, scale=1.0):
    """On a grid of 1/64, so that files of them are small when compressed."""
    x = np.round(np.random.default_rng(seed).standard_normal(shape) * scale * 64) / 64
    return jnp.asarray(x, jnp.float32).astype(dtype)


def integers(seed, low, high, shape, dtype=jnp.int32):
    return jnp.asarray(np.random.default_rng(seed).integers(low, high, shape), dtype)


def like(x, dtype=None):
    return jax.ShapeDtypeStruct(x.shape, dtype or x.dtype)


def axes(*semantics):
    return CompilerParams(dimension_semantics=semantics)
