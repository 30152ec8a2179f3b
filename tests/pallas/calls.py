"""Calls, blocks and windows that several files of cases make."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import cdiv, iota

f32, bf16, f16 = jnp.float32, jnp.bfloat16, jnp.float16
i8, u8, i16, u16, i32 = jnp.int8, jnp.uint8, jnp.int16, jnp.uint16, jnp.int32


def short(dtype):
    return dtype.__name__.replace("bfloat", "bf").replace("float", "f").replace("uint", "u").replace("int", "i")


def tiles(body, block, inputs, out_types, shape=None):
    """Runs `body` on every block. Inputs that lack the leading dimensions are blocked along the ones they have."""
    shape = shape or inputs[0].shape
    grid = tuple(cdiv(s, b) for s, b in zip(shape, block))

    def spec(rank):
        skip = len(block) - rank
        return pl.BlockSpec(block[skip:], lambda *g: g[skip:])

    def kernel(*refs):
        ins, outs = refs[: len(inputs)], refs[len(inputs) :]
        for ref, value in zip(outs, body(*(r[...] for r in ins))):
            ref[...] = value.astype(ref.dtype)

    return pl.pallas_call(
        kernel, grid=grid, in_specs=[spec(x.ndim) for x in inputs], out_specs=[spec(len(block))] * len(out_types),
        out_shape=[jax.ShapeDtypeStruct(shape, t) for t in out_types], interpret=True)(*inputs)


def wide(x):
    """What functions compute in: f32 for the 16-bit floats, at least i32 for integers."""
    if x.dtype in (bf16, f16):
        return x.astype(f32)
    return x.astype(i32) if x.dtype in (i8, u8, i16, u16, jnp.bool_) else x


def float_to_int(x, dtype):
    info = np.iinfo(dtype)
    v = np.nan_to_num(np.float64(x), nan=0, posinf=1e300, neginf=-1e300)
    return np.array([min(max(int(e), info.min), info.max) for e in v], dtype)


def known(ref, k, start, axis):
    """The block with zeros past the end of the dimension of the contraction."""
    v = ref[...]
    return jnp.where(start + iota(v.shape, axis) < k, v, jnp.zeros_like(v))


def dot(a, b, out=f32):
    return jnp.dot(a, b, preferred_element_type=out)


def zero_at(condition, *refs):
    @pl.when(condition)
    def _():
        for ref in refs:
            ref[...] = jnp.zeros_like(ref)


def tiled(m, n, k, bm, bn, bk):
    """Grid and blocks of the usual product."""
    grid = (cdiv(m, bm), cdiv(n, bn), cdiv(k, bk))
    x = pl.BlockSpec((bm, bk), lambda i, j, l: (i, l))
    y = pl.BlockSpec((bk, bn), lambda i, j, l: (l, j))
    z = pl.BlockSpec((bm, bn), lambda i, j, l: (i, j))
    return grid, x, y, z


def ints(*values):
    return np.array(values, np.int32)


def prefetched(kernel, prefetch, grid, in_specs, out_specs, out_shape, scratch=(), alias={}):
    """A call whose first arguments are prefetched, scalars among them as arrays of one element."""
    spec = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=len(prefetch), grid=grid, in_specs=in_specs,
                                        out_specs=out_specs, scratch_shapes=scratch)
    call = pl.pallas_call(kernel, grid_spec=spec, out_shape=out_shape, input_output_aliases=alias, interpret=True)
    return lambda *inputs: call(*prefetch, *inputs)


def halo(block, steps, size, before=1, after=1):
    """An element dimension of `block` elements and a halo, padded up to where its last block ends: interpret=True moves
    a block that would run past the padded array back into it, where Kiln reads on (undefined, or `pad`)."""
    return pl.Element(before + block + after, padding=(before, steps * block - size + after))


def within(start, size, shape, axis):
    place = start + iota(shape, axis)
    return (0 <= place) & (place < size)
