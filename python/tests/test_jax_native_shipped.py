"""Pallas kernels that ship in JAX, compiled on a CPU by `kiln.jax.native`."""

import functools

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("jax.experimental.pallas")

import jax.numpy as jnp  # noqa: E402

import kiln.jax  # noqa: E402


def normal(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def assert_close(got, want):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert np.max(np.abs(a - b)) < 256 * np.finfo(np.float32).eps * np.max(np.abs(b))


def test_matmul_of_jax():
    from jax.experimental.pallas.ops.tpu.matmul import matmul

    x, y = normal(1, 256, 256), normal(2, 256, 128)
    with kiln.jax.native(strict=True):
        z = jax.jit(functools.partial(matmul, block_shape=(128, 128), block_k=128))(x, y)
    assert_close(z, x @ y)


def test_flash_attention_of_jax_and_its_gradients():
    from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention

    q, k, v, do = (normal(i, 1, 2, 256, 128) for i in range(4))

    def plain(q, k, v):
        s = jnp.einsum("bhqd,bhkd->bhqk", q, k, precision="highest") * 0.09
        s = jnp.where(jnp.tril(jnp.ones(s.shape[-2:], bool)), s, -1e30)
        return jnp.einsum("bhqk,bhkd->bhqd", jax.nn.softmax(s), v, precision="highest")

    def both_ways(f):
        def step(q, k, v, do):
            o, back = jax.vjp(f, q, k, v)
            return o, back(do)

        return jax.jit(step)

    flash = both_ways(functools.partial(flash_attention, causal=True, sm_scale=0.09))
    with kiln.jax.native(strict=True):
        got = flash(q, k, v, do)
        assert flash.lower(q, k, v, do).as_text().count("custom_call @kiln_call") == 3
    assert_close(got, both_ways(plain)(q, k, v, do))


def test_grouped_matmul_of_jax():
    from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm

    x, w, sizes = normal(1, 256, 128), normal(2, 4, 128, 128), np.array([60, 0, 100, 96], np.int32)
    ends = np.cumsum(sizes)
    want = np.concatenate([x[e - n : e] @ w[i] for i, (e, n) in enumerate(zip(ends, sizes, strict=True))])
    with kiln.jax.native(strict=True):
        assert_close(jax.jit(functools.partial(gmm, tiling=(128, 128, 128)))(x, w, sizes), want)


def test_paged_attention_of_jax():
    from jax.experimental.pallas.ops.tpu.paged_attention.paged_attention_kernel import paged_attention

    lengths, pages = np.array([5, 40], np.int32), np.arange(8, dtype=np.int32).reshape(2, 4)[:, ::-1]
    q, k, v = normal(1, 2, 8, 128), normal(2, 1, 8, 16, 128), normal(3, 1, 8, 16, 128)
    with kiln.jax.native(strict=True):
        function = functools.partial(paged_attention, pages_per_compute_block=2)
        got = jax.jit(function)(q, k, v, lengths, pages)
    k, v = (a.astype(ml_dtypes.bfloat16).astype(np.float32) for a in (k, v))  # as the kernel has them
    for b, length in enumerate(lengths):
        keys, values = (a[0, pages[b]].reshape(-1, 128)[:length] for a in (k, v))
        assert_close(got[b], jax.nn.softmax(q[b] @ keys.T, axis=-1) @ values)
