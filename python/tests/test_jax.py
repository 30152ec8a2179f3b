"""Arrays of JAX, outside of jit; left out where JAX is not installed."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from kiln import errors  # noqa: E402


def test_arrays_of_jax_in_and_out(shifted, both):
    x = jax.numpy.arange(100, dtype=jax.numpy.float32)
    o = shifted(3, x)
    assert isinstance(o, jax.Array) and np.array_equal(o, np.arange(100) * 2 + 3)
    b = jax.numpy.arange(100).astype(jax.numpy.bfloat16)
    o, p = both(b)
    assert o.dtype == jax.numpy.bfloat16 and np.array_equal(o, b + b)
    assert np.array_equal(p, b.astype(jax.numpy.float32) * 3)


def test_an_array_of_jax_is_never_written(shifted):
    x = jax.numpy.arange(100, dtype=jax.numpy.float32)
    with pytest.raises(errors.CallError):
        shifted(3, np.zeros(100, np.float32), out=x)
    assert np.array_equal(x, np.arange(100))
