"""The TPU kernels that ship in the jax package, called as small as they allow."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from corpus import call, integers, normal

f32, bf16 = jnp.float32, jnp.bfloat16
OPS = "jax.experimental.pallas.ops.tpu"

PHILOX = ((0, 8), "philox of these bits")
SPLASH = ((0, 7, 1), "splash attention for heads of 16")


@call("double")
def _():
    from jax.experimental.pallas.ops.tpu.example_kernel import double

    return double, (normal(0, (8, 128)),)


def matmul_call(dtype, m=16, k=256, n=128, out=None, **how):
    from jax.experimental.pallas.ops.tpu.matmul import matmul

    f = functools.partial(matmul, block_shape=(8, 128), block_k=128, out_dtype=out, **how)
    if dtype == jnp.int8:
        return f, (integers(0, -128, 128, (m, k), dtype), integers(1, -128, 128, (k, n), dtype))
    return f, (normal(0, (m, k), dtype), normal(1, (k, n), dtype))


call("matmul_bf16")(lambda: matmul_call(bf16))
call("matmul_int8")(lambda: matmul_call(jnp.int8, out=jnp.int32))


@call("threefry", since=((0, 6, 1), "kernels of random numbers"))
def _():
    from jax.experimental.pallas.ops.tpu.random.threefry import threefry_2x32_count

    return lambda key: threefry_2x32_count(key, (16, 128), (16, 128), (8, 128)), (jnp.array([1, 2], jnp.uint32),)


def philox_call(**how):
    from jax.experimental.pallas.ops.tpu.random.philox import philox_4x32_kernel

    key = jnp.array([1, 2], jnp.uint32)
    return lambda key: philox_4x32_kernel(key, (16, 128), (16, 120), (8, 128), **how), (key,)


call("philox", since=PHILOX)(lambda: philox_call(fuse_output=True))
call("philox_unfused", since=PHILOX)(lambda: philox_call(fuse_output=False))


@call("all_gather", cannot="the index of a device")
def _():
    from jax.experimental.pallas.ops.tpu.all_gather import all_gather

    mesh = jax.sharding.Mesh(np.array(jax.devices()[:2]), ("x",))
    return functools.partial(all_gather, mesh=mesh, axis_name="x"), (normal(0, (32, 128)),)


# ---- megablox


def groups(dtype, k=64, n=64):
    sizes = jnp.array([5, 0, 19, 8], jnp.int32)
    return normal(0, (32, k), dtype), normal(1, (4, k, n), dtype), sizes


def gmm_call(dtype=f32, k=64, n=64, **how):
    from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm

    lhs, rhs, sizes = groups(dtype, k, n)
    if how.get("transpose_rhs"):
        rhs = rhs.swapaxes(1, 2)
    return functools.partial(gmm, tiling=(8, 32, 32), **how), (lhs, rhs, sizes)


call("gmm_f32")(lambda: gmm_call())
call("gmm_bf16_transposed")(lambda: gmm_call(bf16, transpose_rhs=True))
call("gmm_ragged_k")(lambda: gmm_call(k=50))


@call("gmm_existing_out")
def _():
    from jax.experimental.pallas.ops.tpu.megablox.gmm import gmm

    f, (lhs, rhs, sizes) = gmm_call()

    def existing(lhs, rhs, sizes, out):
        return gmm.__wrapped__(lhs, rhs, sizes, tiling=(8, 32, 32), existing_out=out)

    return existing, (lhs, rhs, sizes, normal(2, (32, 64)))


@call("tgmm")
def _():
    from jax.experimental.pallas.ops.tpu.megablox.gmm import tgmm

    lhs, _, sizes = groups(f32)
    return functools.partial(tgmm, tiling=(8, 32, 32)), (lhs.T, normal(1, (32, 64)), sizes)


# ---- flash attention


def flash_call(
    causal=False, bias=False, segments=False, seq=256, major=128, block=128, dtype=f32, batch=1, d=8, heads=1
):
    from jax.experimental.pallas.ops.tpu.flash_attention import BlockSizes, SegmentIds, flash_attention

    q, k, v = (normal(i, (batch, heads, seq, d), dtype) for i in range(3))
    sizes = BlockSizes(
        block_q=128, block_k_major=major, block_k=block, block_b=batch, block_q_major_dkv=128, block_k_major_dkv=128,
        block_k_dkv=128, block_q_dkv=128, block_k_major_dq=128, block_k_dq=128, block_q_dq=128,
    )  # fmt: skip
    ab = normal(3, (batch, heads, seq, seq)) if bias else None
    ids = jnp.repeat(jnp.arange(4, dtype=jnp.int32), seq // 4)[None].repeat(batch, 0)
    segment = SegmentIds(q=ids, kv=ids) if segments else None
    f = functools.partial(flash_attention, causal=causal, sm_scale=0.35, block_sizes=sizes)
    return f, (q, k, v, ab, segment)


def backward(f, q, k, v, *rest):
    def gradients(q, k, v, do):
        _, transposed = jax.vjp(lambda q, k, v: f(q, k, v, *rest), q, k, v)
        return transposed(do)

    return gradients, (q, k, v, normal(9, q.shape, q.dtype))


def flash_backward(**how):
    f, (q, k, v, *rest) = flash_call(**how)
    return backward(f, q, k, v, *rest)


call("flash_forward")(lambda: flash_call(heads=2))
call("flash_forward_causal_bf16")(lambda: flash_call(causal=True, dtype=bf16, d=32))
call("flash_forward_blocks")(lambda: flash_call(causal=True, major=256, block=128, seq=512, batch=2, d=4))
call("flash_forward_bias_segments")(lambda: flash_call(bias=True, segments=True))
call("flash_forward_one_step")(lambda: flash_call(major=256, block=256))
call("flash_backward_causal_segments")(lambda: flash_backward(causal=True, segments=True))


# ---- splash attention


def splash_call(
    kind="causal", mqa=False, seq=256, bwd=False, fused=False, dtype=f32, soft_cap=None, segments=False, d=16
):
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as kernel
    from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks

    heads, shape = 1, (seq, seq)
    if kind == "numpy":
        array = np.tril(np.ones(shape, bool))
        array[:, 128:] &= np.arange(seq)[:, None] % 3 == 0
        array[:, 0] = True
        one = masks.NumpyMask(array)
    else:
        one = {
            "causal": masks.CausalMask(shape),
            "local": masks.LocalMask(shape, (64, 32), 0),
            "full": masks.FullMask(shape),
        }[kind]
    sizes = kernel.BlockSizes(
        block_q=128, block_kv=256, block_kv_compute=128, block_q_dkv=128, block_kv_dkv=256, block_kv_dkv_compute=128,
        block_q_dq=None if fused else 128, block_kv_dq=None if fused else 256, use_fused_bwd_kernel=fused,
    )  # fmt: skip
    make = kernel.make_splash_mqa if mqa else kernel.make_splash_mha
    f = make(
        mask=masks.MultiHeadMask([one] * heads), head_shards=1, q_seq_shards=1, block_sizes=sizes,
        attn_logits_soft_cap=soft_cap,
    )  # fmt: skip
    q = normal(0, (heads, seq, d), dtype, 0.3)
    k, v = (normal(i, (seq, d) if mqa else (heads, seq, d), dtype) for i in (1, 2))
    if segments:
        ids = jnp.repeat(jnp.arange(4, dtype=jnp.int32), seq // 4)
        whole, segment = f, kernel.SegmentIds(q=ids, kv=ids)
        f = lambda q, k, v: whole(q, k, v, segment)  # noqa: E731
    return backward(f, q, k, v) if bwd else (f, (q, k, v))


call("splash_forward_causal", since=SPLASH)(lambda: splash_call())
call("splash_forward_local_bf16", since=SPLASH)(lambda: splash_call("local", dtype=bf16, soft_cap=10.0))
call("splash_forward_mqa_mask", since=SPLASH)(lambda: splash_call("numpy", mqa=True))
call("splash_forward_segments", since=SPLASH)(lambda: splash_call("full", segments=True))
call("splash_backward", since=SPLASH)(lambda: splash_call(bwd=True))
call("splash_backward_fused", since=SPLASH)(lambda: splash_call("numpy", bwd=True, fused=True))


# ---- paged attention


def paged_call(inline=True, quantized=False):
    from jax.experimental.pallas.ops.tpu.paged_attention import paged_attention
    from jax.experimental.pallas.ops.tpu.paged_attention import quantization_utils as quantization

    batch, heads, d, page, pages, each = 4, 4, 32, 8, 24, 4
    q = normal(0, (batch, heads, d))
    k, v = normal(1, (1, pages, page, d)), normal(2, (1, pages, page, d))
    lengths = jnp.array([25, 0 if inline else 1, 9, 32], jnp.int32)  # the other variant leaves such a block unwritten
    table = jnp.asarray(np.random.default_rng(3).permutation(pages)[: batch * each].reshape(batch, each), jnp.int32)
    how = dict(pages_per_compute_block=2, inline_seq_dim=inline)
    if not quantized:
        return functools.partial(paged_attention, **how), (q, k, v, lengths, table)
    k, v = quantization.quantize_to_int8(k), quantization.quantize_to_int8(v)

    def f(q, kw, ks, vw, vs, lengths, table):
        tensor = quantization.QuantizedTensor
        return paged_attention(q, tensor(kw, ks), tensor(vw, vs), lengths, table, **how)

    return f, (q, k.weight, k.scales, v.weight, v.scales, lengths, table)


call("paged_attention")(lambda: paged_call())
call("paged_attention_grid")(lambda: paged_call(inline=False))
call("paged_attention_int8")(lambda: paged_call(quantized=True))


def ragged_call(dtype, **how):
    from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ragged_paged_attention

    tokens, heads, kv_heads, d, pages, page, sequences, each = 32, 4, 2, 128, 8, 16, 4, 4
    q, kv = normal(0, (tokens, heads, d), dtype), normal(1, (pages, page, 2 * kv_heads, d), dtype)
    lengths, starts = jnp.array([20, 10, 61, 0], jnp.int32), jnp.array([0, 12, 13, 32, 32], jnp.int32)
    table = integers(3, 0, pages, (sequences, each))
    f = functools.partial(
        ragged_paged_attention, num_kv_pages_per_block=2, num_queries_per_block=16, sm_scale=0.09, **how
    )
    return f, (q, kv, lengths, table, starts, jnp.array([3], jnp.int32))


def ragged_reference(**how):
    def reference(*args):
        from jax.experimental.pallas.ops.tpu.ragged_paged_attention import ref_ragged_paged_attention

        return ref_ragged_paged_attention(*args, sm_scale=0.09, **how)

    return reference


window = dict(sliding_window=20, soft_cap=30.0)
call("ragged_paged_attention", reference=ragged_reference())(lambda: ragged_call(f32))
call("ragged_paged_attention_window", reference=ragged_reference(**window))(lambda: ragged_call(f32, **window))
call("ragged_paged_attention_bf16", reference=ragged_reference())(lambda: ragged_call(bf16))
