"""What the language page says of values, in jax.numpy: written specs are made of these names."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

bool_, i8, u8, i16, u16, i32, u32, i64, u64 = (
    jnp.bool_, jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32, jnp.uint32, jnp.int64, jnp.uint64)
i4, u4 = jnp.int4, jnp.uint4
f8e4m3fn, f8e5m2, f8e8m0fnu = jnp.float8_e4m3fn, jnp.float8_e5m2, jnp.float8_e8m0fnu
bf16, f16, f32, f64 = jnp.bfloat16, jnp.float16, jnp.float32, jnp.float64
inf, nan = float("inf"), float("nan")


# ---- values ----

def cast(x, to):
    x = jnp.asarray(x)
    return x != 0 if to is bool_ else x.astype(to)


# What a subnormal number of a bitcast becomes, "normal": the least that is none; None: XLA takes it for 0 on a CPU as soon as it is
# looked at.
subnormal = None


def bitcast(x, to):
    y = jax.lax.bitcast_convert_type(x, to)
    if subnormal is None or not jnp.issubdtype(to, jnp.floating):
        return y
    info = jnp.finfo(to)
    bits = jax.lax.bitcast_convert_type(x, {8: u64, 4: u32, 2: u16, 1: u8}[y.dtype.itemsize])
    if to == f8e8m0fnu:  # whose least power is subnormal as an f32, and which has no infinity
        instead = 2.0**-126 if subnormal == "normal" else min(subnormal, 2.0**127)
        return jnp.where(bits == 0, jnp.asarray(instead, f32).astype(to), y)
    instead = info.smallest_normal if subnormal == "normal" else subnormal
    magnitude = bits & bits.dtype.type(2 ** (info.bits - 1) - 1)
    return jnp.where((magnitude != 0) & (magnitude < 2**info.nmant), jnp.asarray(instead, to), y)


def keeping_nan(reduce):
    """jnp.min and jnp.max, of which XLA's on a CPU forgets NaN in large arrays where it does not optimise."""

    def reduced(x, axis=None, keepdims=False):
        found = reduce(x, axis=axis, keepdims=keepdims)
        if not jnp.issubdtype(found.dtype, jnp.floating):
            return found
        return jnp.where(jnp.any(jnp.isnan(x), axis=axis, keepdims=keepdims), jnp.asarray(jnp.nan, found.dtype), found)

    return reduced


def keeping_zeros(arctan2):
    """jnp.arctan2, of which XLA's on a CPU makes NaN of two zeros in loops that it does not optimise."""

    def angle(y, x):
        y, x = jnp.broadcast_arrays(y, x)
        zero = jnp.copysign(jnp.where(jnp.signbit(x), jnp.asarray(np.pi, y.dtype), jnp.zeros_like(y)), y)
        return jnp.where((y == 0) & (x == 0), zero, arctan2(y, x))

    return angle


def of_powers(look):
    """What looks for the largest or the least, of f8e8m0fnu as of f32: JAX's begins with an infinity, which that type does not have,
    and so with NaN."""

    def looked(x, *given, **named):
        x = jnp.asarray(x)
        return look(x.astype(f32), *given, **named).astype(f8e8m0fnu) if x.dtype == f8e8m0fnu else look(x, *given, **named)

    return looked


def quot(a, b):
    return jax.lax.div(*jnp.broadcast_arrays(a, b))


def rem(a, b):
    return jax.lax.rem(*jnp.broadcast_arrays(a, b))


def ceil_divide(a, b):
    """pl.cdiv negates, which the lowest integer does not survive."""
    return a // b + (a % b != 0).astype(a.dtype)


def choose(condition, then, otherwise, shape):
    return jax.lax.cond(condition, lambda: jnp.broadcast_to(then(), shape),
                        lambda: jnp.broadcast_to(otherwise(), shape))


def dot(a, b, dtype):
    """Of two types, both in the one that the result has: it holds either exactly."""
    if a.dtype != b.dtype:
        a, b = a.astype(dtype), b.astype(dtype)
    return jnp.matmul(a, b, preferred_element_type=dtype)


def iota(shape, axis):
    return jax.lax.broadcasted_iota(i32, shape, axis)


class part:
    """Subscripts of a value, written like those of a ref."""

    def __init__(self, x):
        self.x = x

    def __getitem__(self, subscripts):
        if subscripts is ...:
            return self.x
        subscripts = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        starts, sizes, strides, kept = [], [], [], []
        for extent, s in zip(self.x.shape, subscripts):
            sliced, ranged = isinstance(s, pl.Slice), isinstance(s, (slice, pl.Slice))
            starts.append(s.start if sliced else 0 if ranged else s)
            strides.append(s.stride if sliced else 1)
            count = s.size if sliced else extent if ranged else 1
            sizes.append((count - 1) * strides[-1] + 1)
            kept += [count] if ranged else []
        window = jax.lax.dynamic_slice(self.x, [cast(s, i32) for s in starts], sizes)
        return window[tuple(slice(None, None, s) for s in strides)].reshape(kept)


# ---- positions ----

def block(*index):
    """The result of an index map."""
    return tuple(cast(i, i32) for i in index)


def inside(shape, *ranges):
    """Which elements of a block are within its array: a start and an end for each axis of the view."""
    mask = jnp.full(shape, True)
    for axis, (start, end) in enumerate(ranges):
        place = iota(shape, axis) + cast(start, i32)
        mask = mask & (0 <= place) & (place < cast(end, i32))
    return mask


def at(shape, axis, start):
    return iota(shape, axis) + cast(start, i32)


def stay(index, ids, steps, parallel, host):
    """Whether this step is the first and the last of its stay: the neighbours in the grid's order have the same
    block and the same coordinates of the parallel axes, which are the first."""

    def neighbour(by):
        there, carry = [], True
        for i, n in zip(reversed(ids), reversed(steps)):
            moved = jnp.where(carry, i + by, i)
            carry = (moved < 0) | (moved >= n)
            there.append(jnp.where(carry, n - 1 if by < 0 else 0, moved))
        there.reverse()
        other = jnp.asarray(carry)
        for a, b in zip(there[:parallel], ids):
            other = other | (a != b)
        for a, b in zip(index(*there, *host), index(*ids, *host)):
            other = other | (a != b)
        return other

    return neighbour(-1), neighbour(1)


# ---- by hand around a call ----

def undefined(dtype):
    return nan if jnp.issubdtype(dtype, jnp.floating) else True if dtype == np.bool_ else jnp.iinfo(dtype).max


def filled(shape, value):
    return np.full(shape, np.asarray(value))


def edges(array, widths, pad=None):
    """More elements around an array: `pad`, or what must not be looked at."""
    value = undefined(array.dtype) if pad is None else np.asarray(pad)
    whole = np.full([low + n + high for n, (low, high) in zip(array.shape, widths)], value, array.dtype)
    whole[tuple(slice(low, low + n) for n, (low, high) in zip(array.shape, widths))] = array
    return whole


def cut(array, widths):
    array = np.asarray(array)
    return array[tuple(slice(low, n - high) for n, (low, high) in zip(array.shape, widths))]
