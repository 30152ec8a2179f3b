"""Kernels that language models are made of, as people write them in Pallas; docs/gallery.md shows their specs."""

import functools

import jax
import jax.numpy as jnp
from corpus import axes, call, integers, like, normal
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

f32, bf16 = jnp.float32, jnp.bfloat16


# ---- rotary positions


def rope(x, cos, sin, block=8):
    """x[head, position, d], whose first and second half are turned against each other by the position's angles."""

    def rope_kernel(x_ref, cos_ref, sin_ref, o_ref):
        half = x_ref.shape[-1] // 2
        first, second = x_ref[:, :half], x_ref[:, half:]
        cos, sin = cos_ref[...], sin_ref[...]
        o_ref[:, :half] = first * cos - second * sin
        o_ref[:, half:] = second * cos + first * sin

    heads, positions, d = x.shape
    tile = pl.BlockSpec((None, block, d), lambda h, p: (h, p, 0))
    angles = pl.BlockSpec((block, d // 2), lambda h, p: (p, 0))
    return pl.pallas_call(
        rope_kernel, grid=(heads, positions // block), in_specs=[tile, angles, angles], out_specs=tile,
        out_shape=like(x), name="rope",
        compiler_params=axes("parallel", "parallel"),
    )(x, cos, sin)  # fmt: skip


call("rope")(lambda: (rope, (normal(0, (2, 16, 64)), normal(1, (16, 32)), normal(2, (16, 32)))))


# ---- products


def product(kernel, x, weights, specs, blocks, sums=1):
    """kernel on blocks of x and of weights, with the sums in scratch until all of k has been seen."""
    (m, k), n = x.shape, weights[0].shape[1]
    bm, bk, bn = blocks
    return pl.pallas_call(
        kernel, grid=(m // bm, n // bn, k // bk), in_specs=[pl.BlockSpec((bm, bk), lambda i, j, l: (i, l)), *specs],
        out_specs=pl.BlockSpec((bm, bn), lambda i, j, l: (i, j)), out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        scratch_shapes=[pltpu.VMEM((bm, bn), f32)] * sums, name=kernel.__name__.removesuffix("_kernel"),
        compiler_params=axes("parallel", "parallel", "arbitrary"),
    )(x, *weights)  # fmt: skip


def by_columns(rows, bn):
    """Of weights, the block of rows that k is at."""
    return pl.BlockSpec((rows, bn), lambda i, j, l: (l, j))


# ---- SwiGLU


def swiglu(x, gate, up, blocks=(8, 128, 128)):
    """silu(x @ gate) * (x @ up), both sums in scratch until all of k has been seen."""

    def swiglu_kernel(x_ref, gate_ref, up_ref, o_ref, gate_acc, up_acc):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            gate_acc[...] = jnp.zeros_like(gate_acc)
            up_acc[...] = jnp.zeros_like(up_acc)

        x = x_ref[...]
        gate_acc[...] += jnp.dot(x, gate_ref[...], preferred_element_type=f32)
        up_acc[...] += jnp.dot(x, up_ref[...], preferred_element_type=f32)

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            gate = gate_acc[...]
            o_ref[...] = (gate * jax.nn.sigmoid(gate) * up_acc[...]).astype(o_ref.dtype)

    weights = by_columns(*blocks[1:])
    return product(swiglu_kernel, x, [gate, up], [weights, weights], blocks, sums=2)


@call("swiglu")
def _():
    weights = [normal(seed, (256, 128), bf16, scale=0.1) for seed in (1, 2)]
    return swiglu, (normal(0, (16, 256), bf16), *weights)


# ---- weights of a few bits


def quantised_matmul(x, w, scale, blocks=(8, 128, 128)):
    """x @ (w * scale), where w is of integers and each of its columns has a scale."""

    def quantised_matmul_kernel(x_ref, w_ref, scale_ref, o_ref, acc):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        acc[...] += jnp.dot(x_ref[...], w_ref[...].astype(x_ref.dtype), preferred_element_type=f32)

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = (acc[...] * scale_ref[...]).astype(o_ref.dtype)

    _, bk, bn = blocks
    specs = [by_columns(bk, bn), pl.BlockSpec((1, bn), lambda i, j, l: (0, j))]
    return product(quantised_matmul_kernel, x, [w, scale], specs, blocks)


def quantised(low, high):
    scale = jnp.abs(normal(2, (1, 128), scale=0.1)) + 1 / 64
    return normal(0, (16, 256), bf16), integers(1, low, high, (256, 128), jnp.int8), scale


call("matmul_weights_int8")(lambda: (quantised_matmul, quantised(-128, 128)))


def packed_matmul(x, w, scale, blocks=(8, 128, 128)):
    """The same for weights of four bits, two in a byte: k in its low half and k + bk / 2 in its high half."""

    def packed_matmul_kernel(x_ref, w_ref, scale_ref, o_ref, acc):
        k = pl.program_id(2)

        @pl.when(k == 0)
        def _():
            acc[...] = jnp.zeros_like(acc)

        packed = w_ref[...].astype(jnp.int32)
        low, high = (packed << 28) >> 28, packed >> 4
        half = x_ref.shape[1] // 2
        acc[...] += jnp.dot(x_ref[:, :half], low.astype(x_ref.dtype), preferred_element_type=f32)
        acc[...] += jnp.dot(x_ref[:, half:], high.astype(x_ref.dtype), preferred_element_type=f32)

        @pl.when(k == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = (acc[...] * scale_ref[...]).astype(o_ref.dtype)

    _, bk, bn = blocks
    specs = [by_columns(bk // 2, bn), pl.BlockSpec((1, bn), lambda i, j, l: (0, j))]
    return product(packed_matmul_kernel, x, [w, scale], specs, blocks)


@call("matmul_weights_int4")
def _():
    x, w, scale = quantised(-128, 128)
    return packed_matmul, (x, w[:128], scale)


# ---- the loss


def cross_entropy(logits, labels, block=(8, 128)):
    """For each row the loss and the log of the sum of exponentials, by blocks of the vocabulary."""

    def cross_entropy_kernel(logits_ref, labels_ref, loss_ref, lse_ref, largest, total, chosen):
        v = pl.program_id(1)

        @pl.when(v == 0)
        def _():
            largest[...] = jnp.full_like(largest, -jnp.inf)
            total[...] = jnp.zeros_like(total)
            chosen[...] = jnp.zeros_like(chosen)

        logits = logits_ref[...].astype(f32)
        new = jnp.maximum(largest[...], logits.max(axis=1, keepdims=True))
        total[...] = total[...] * jnp.exp(largest[...] - new) + jnp.exp(logits - new).sum(axis=1, keepdims=True)
        largest[...] = new
        columns = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 1) + v * logits.shape[1]
        chosen[...] += jnp.where(columns == labels_ref[...], logits, 0.0).sum(axis=1, keepdims=True)

        @pl.when(v == pl.num_programs(1) - 1)
        def _():
            lse = largest[...] + jnp.log(total[...])
            loss_ref[...] = lse - chosen[...]
            lse_ref[...] = lse

    (m, n), (bm, bn) = logits.shape, block
    column = pl.BlockSpec((bm, 1), lambda i, v: (i, 0))
    shape = jax.ShapeDtypeStruct((m, 1), f32)
    return pl.pallas_call(
        cross_entropy_kernel, grid=(m // bm, n // bn), in_specs=[pl.BlockSpec(block, lambda i, v: (i, v)), column],
        out_specs=[column, column], out_shape=[shape, shape], scratch_shapes=[pltpu.VMEM((bm, 1), f32)] * 3,
        compiler_params=axes("parallel", "arbitrary"), name="cross_entropy",
    )(logits, labels)  # fmt: skip


@call("cross_entropy")
def _():
    return cross_entropy, (normal(0, (16, 512), bf16, scale=3), integers(1, 0, 512, (16, 1)))


def cross_entropy_gradient(logits, labels, lse, dloss, block=(8, 128)):
    """(softmax(logits) - one where the label is) * dloss, from what the loss has kept."""

    def gradient_kernel(logits_ref, labels_ref, lse_ref, dloss_ref, dlogits_ref):
        logits = logits_ref[...].astype(f32)
        columns = jax.lax.broadcasted_iota(jnp.int32, logits.shape, 1) + pl.program_id(1) * logits.shape[1]
        softmax = jnp.exp(logits - lse_ref[...])
        difference = jnp.where(columns == labels_ref[...], softmax - 1.0, softmax)
        dlogits_ref[...] = (difference * dloss_ref[...]).astype(dlogits_ref.dtype)

    (m, n), (bm, bn) = logits.shape, block
    tile, column = pl.BlockSpec(block, lambda i, v: (i, v)), pl.BlockSpec((bm, 1), lambda i, v: (i, 0))
    return pl.pallas_call(
        gradient_kernel, grid=(m // bm, n // bn), in_specs=[tile, column, column, column], out_specs=tile,
        out_shape=like(logits), name="cross_entropy_gradient",
        compiler_params=axes("parallel", "parallel"),
    )(logits, labels, lse, dloss)  # fmt: skip


@call("cross_entropy_gradient")
def _():
    logits, labels = normal(0, (16, 512), bf16, scale=3), integers(1, 0, 512, (16, 1))
    lse = jax.nn.logsumexp(logits.astype(f32), axis=1, keepdims=True)
    return cross_entropy_gradient, (logits, labels, lse, normal(2, (16, 1)))


# ---- normalisation


def rms_norm(x, weight, block=8, eps=1e-6):
    def rms_norm_kernel(x_ref, weight_ref, o_ref, *, eps):
        x = x_ref[...].astype(f32)
        rstd = jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + eps)
        o_ref[...] = (x * rstd * weight_ref[...].astype(f32)).astype(o_ref.dtype)

    tile = pl.BlockSpec((block, x.shape[1]), lambda i: (i, 0))
    return pl.pallas_call(
        functools.partial(rms_norm_kernel, eps=eps), grid=(x.shape[0] // block,), name="rms_norm",
        in_specs=[tile, pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0))], out_specs=tile,
        out_shape=like(x),
        compiler_params=axes("parallel"),
    )(x, weight)  # fmt: skip


call("rms_norm")(lambda: (rms_norm, (normal(0, (16, 256), bf16), normal(1, (1, 256), bf16))))
