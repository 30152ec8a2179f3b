"""Primitives that have no word in the language but are a few operations that have: each as a function of JAX, which is
traced and read in their place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def _population_count(x: Any) -> Any:
    """By sums of neighbouring bits, pairs and nibbles; of 32 bits, whatever the type."""
    n = x.astype(jnp.uint32) & jnp.uint32(2**jnp.iinfo(x.dtype).bits - 1)
    n = n - ((n >> 1) & jnp.uint32(0x55555555))
    n = (n & jnp.uint32(0x33333333)) + ((n >> 2) & jnp.uint32(0x33333333))
    n = (n + (n >> 4)) & jnp.uint32(0x0F0F0F0F)
    return ((n * jnp.uint32(0x01010101)) >> 24).astype(x.dtype)


def _clz(x: Any) -> Any:
    """The bits that are 0 once all those below the first 1 are 1."""
    bits = jnp.iinfo(x.dtype).bits
    n = x.astype(jnp.uint32) & jnp.uint32(2**bits - 1)
    for shift in (1, 2, 4, 8, 16):
        n = n | (n >> shift)
    return (bits - _population_count(n).astype(jnp.int32)).astype(x.dtype)


def _nextafter(x: Any, y: Any) -> Any:
    """The bits of floats of one sign count as they do; beyond 0 is the least float of the other sign."""
    size = 8 * x.dtype.itemsize
    whole = jnp.dtype(f"int{size}")
    bits = lax.bitcast_convert_type(x, whole)
    away = (x < y) == (x > 0)
    next_ = lax.bitcast_convert_type(bits + jnp.where(away, 1, -1).astype(whole), x.dtype)
    least = lax.bitcast_convert_type(jnp.where(y > 0, 1, -(2 ** (size - 1)) + 1).astype(whole), x.dtype)
    moved = jnp.where(x == 0, least, next_)
    return jnp.where((x != x) | (y != y), x + y, jnp.where(x == y, y, moved))


_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {  # and of how many bytes
    "population_count": (_population_count, (1, 2, 4)), "clz": (_clz, (1, 2, 4)), "nextafter": (_nextafter, (4, 8)),
}  # fmt: skip


def expanded(name: str, avals: list[Any]) -> Any | None:
    """The jaxpr of a primitive for these types; None: it is not among them."""
    function, sizes = _FUNCTIONS.get(name, (None, ()))
    if function is None or avals[0].dtype.itemsize not in sizes:
        return None
    return jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals))
