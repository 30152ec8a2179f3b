"""Primitives that have no word in the language but are a few operations that have: each as a function of JAX, which is
traced and read in their place."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .dtypes import dtype_bits


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


#: M. Giles, Approximating the erfinv function, as XLA has it: near 0, and further out by the root of w; highest powers
#: first.
_NEAR = (2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164,
         0.246640727, 1.50140941)  # fmt: skip
_FAR = (-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047,
        1.00167406, 2.83297682)  # fmt: skip


def _erf_inv(x: Any) -> Any:
    """In f32, as a polynomial in w = -log(1 - x * x)."""
    wide = x.astype(jnp.float32)
    w = -jnp.log1p(-wide * wide)
    near = w < 5
    t = jnp.where(near, w - 2.5, jnp.sqrt(w) - 3)
    sum_ = jnp.where(near, _NEAR[0], _FAR[0]).astype(jnp.float32)
    for a, b in zip(_NEAR[1:], _FAR[1:], strict=True):
        sum_ = jnp.where(near, jnp.float32(a), jnp.float32(b)) + sum_ * t
    return jnp.where(abs(wide) == 1, wide * jnp.float32(jnp.inf), sum_ * wide).astype(x.dtype)


def _unpack_elementwise(x: Any, *, index: int, packed_dtype: Any, unpacked_dtype: Any) -> Any:
    """Part `index` of each word, the lowest bits first; bf16 has the upper half of an f32's."""
    packed, wide = jnp.dtype(packed_dtype), jnp.dtype(unpacked_dtype)
    bits, size = dtype_bits(packed), dtype_bits(wide)
    signed = jnp.issubdtype(packed, jnp.signedinteger)
    word = lax.bitcast_convert_type(x, jnp.dtype(f"{'' if signed else 'u'}int{size}"))
    top = word << (size - bits * (index + 1))
    if jnp.issubdtype(packed, jnp.floating):
        return lax.bitcast_convert_type(top & jnp.asarray((2**bits - 1) << (size - bits), word.dtype), wide)
    return lax.bitcast_convert_type(top >> (size - bits), wide)


def _pack_elementwise(*xs: Any, packed_dtype: Any) -> Any:
    """Words whose lowest bits are of the first."""
    packed, size = jnp.dtype(packed_dtype), dtype_bits(xs[0].dtype)
    bits, word = dtype_bits(packed), jnp.dtype(f"uint{size}")
    parts: list[Any] = []
    for x in xs:
        if jnp.issubdtype(packed, jnp.floating):
            part = lax.bitcast_convert_type(x.astype(packed).astype(x.dtype), word) >> (size - bits)
        else:
            part = lax.bitcast_convert_type(x, word) & jnp.asarray(2**bits - 1, word)
        parts.append(part << (bits * len(parts)))
    return functools.reduce(operator.or_, parts)


_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {  # and of how many bytes
    "population_count": (_population_count, (1, 2, 4)), "clz": (_clz, (1, 2, 4)), "nextafter": (_nextafter, (4, 8)),
    "erf_inv": (_erf_inv, (2, 4)), "unpack_elementwise": (_unpack_elementwise, (4,)),
    "pack_elementwise": (_pack_elementwise, (4,)),
}  # fmt: skip


def expanded(name: str, avals: list[Any], params: dict[str, Any]) -> Any | None:
    """The jaxpr of a primitive for these types; None: it is not among them."""
    function, sizes = _FUNCTIONS.get(name, (None, ()))
    if function is None or avals[0].dtype.itemsize not in sizes:
        return None
    known = params if name.endswith("pack_elementwise") else {}
    return jax.make_jaxpr(functools.partial(function, **known))(
        *(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals)
    )
