"""What tests of imported Pallas kernels share; to be imported where JAX is."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

import kiln
import kiln.pallas

X = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)


def of(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def interpreted(kernel, out, *args):
    """What a kernel without a grid gives, by Kiln's interpreter, and its spec's body."""

    def f(*args):
        return pl.pallas_call(kernel, out_shape=out)(*args)

    (spec,) = kiln.pallas.to_specs(f, *args)
    return kiln.compile(spec.text)(*args, mode="interpret"), spec.text.split("body: |")[1]
