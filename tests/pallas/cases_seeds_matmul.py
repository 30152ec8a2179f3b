"""The matmul guide: its kernels in turn, and the exercises it leaves to the reader."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, cdiv, close, integers, normal

f32, bf16, f16, i8 = jnp.float32, jnp.bfloat16, jnp.float16, jnp.int8
TPU = pltpu.InterpretParams()


def roundings(out, terms):
    """The depth of a sum kept in f32: for a narrower output only the last rounding counts."""
    return terms if out == f32 else 1


def zero_tail(block, axis, step, extent):
    """Zeros past the edge of a contracted axis, in place of whatever padding holds."""
    size = block.shape[axis]
    if extent % size == 0:
        return block
    position = jax.lax.broadcasted_iota(jnp.int32, block.shape, axis) + step * size
    return jnp.where(position < extent, block, jnp.zeros_like(block))


def matmul_kernel(*refs, k, transpose_lhs, transpose_rhs, prologue, epilogue, parts):
    lefts, (y_ref, *bias), z_ref, acc_ref = refs[:parts], refs[parts:-2], refs[-2], refs[-1]
    step = pl.program_id(2)

    @pl.when(step == 0)
    def _():
        acc_ref[...] = jnp.zeros_like(acc_ref)

    left_axis, right_axis = 0 if transpose_lhs else 1, 1 if transpose_rhs else 0
    left = prologue(*(zero_tail(x[...], left_axis, step, k) for x in lefts))
    right = zero_tail(y_ref[...], right_axis, step, k)
    acc_ref[...] += jax.lax.dot_general(
        left, right, (((left_axis,), (right_axis,)), ((), ())), preferred_element_type=acc_ref.dtype
    )

    @pl.when(step == pl.num_programs(2) - 1)
    def _():
        z_ref[...] = epilogue(acc_ref[...], *(b[...] for b in bias)).astype(z_ref.dtype)


def matmul(
    lefts,
    y,
    bias=None,
    *,
    bm,
    bn,
    bk,
    transpose_lhs=False,
    transpose_rhs=False,
    prologue=lambda x: x,
    epilogue=lambda acc: acc,
    out=None,
    interpret=TPU,
):
    """The guide's templated matmul. Blocks are of the product: m by k times k by n."""
    k, m = lefts[0].shape if transpose_lhs else lefts[0].shape[::-1]
    n = y.shape[0] if transpose_rhs else y.shape[1]
    left = pl.BlockSpec((bk, bm), lambda i, j, l: (l, i)) if transpose_lhs else pl.BlockSpec(
        (bm, bk), lambda i, j, l: (i, l)
    )
    right = pl.BlockSpec((bn, bk), lambda i, j, l: (j, l)) if transpose_rhs else pl.BlockSpec(
        (bk, bn), lambda i, j, l: (l, j)
    )
    row = [] if bias is None else [pl.BlockSpec((bn,), lambda i, j, l: (j,))]
    return pl.pallas_call(
        partial(
            matmul_kernel,
            k=k,
            transpose_lhs=transpose_lhs,
            transpose_rhs=transpose_rhs,
            prologue=prologue,
            epilogue=epilogue,
            parts=len(lefts),
        ),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=0,
            in_specs=[left] * len(lefts) + [right] + row,
            out_specs=pl.BlockSpec((bm, bn), lambda i, j, l: (i, j)),
            scratch_shapes=[pltpu.VMEM((bm, bn), jnp.int32 if y.dtype == i8 else f32)],
            grid=(cdiv(m, bm), cdiv(n, bn), cdiv(k, bk)),
        ),
        out_shape=jax.ShapeDtypeStruct((m, n), out or lefts[0].dtype),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=interpret,
    )(*lefts, y, *([] if bias is None else [bias]))


def blocks(bm, bn, bk):
    return dict(bm=bm, bn=bn, bk=bk)


# matmul.yaml: with a bias and gelu


def matmul_bias(name, instance, dtype, m, n, k, **set):
    @case(name, "specs/matmul.yaml", instance=instance, set=set, depth=roundings(dtype, k + 4))
    def _():
        x, y, bias = normal(1, (m, k), dtype), normal(2, (k, n), dtype, 0.25), normal(3, n)
        z = matmul([x], y, bias, **set, epilogue=lambda acc, b: jax.nn.gelu(acc + b[None], approximate=False))
        want = np.float64(x) @ np.float64(y) + np.float64(bias)
        close(z, np.float64(jax.scipy.stats.norm.cdf(want)) * want, depth=roundings(dtype, k + 4))
        return dict(x=x, y=y, bias=bias), dict(z=z)


matmul_bias("seed_matmul_bf16", "matmul_bf16", bf16, 16, 24, 32, **blocks(8, 8, 16))
matmul_bias("seed_matmul_bf16_ragged", "matmul_bf16", bf16, 21, 19, 37, **blocks(8, 8, 16))
matmul_bias("seed_matmul_f32", "matmul_f32", f32, 16, 24, 32, **blocks(8, 8, 8))
matmul_bias("seed_matmul_f32_ragged", "matmul_f32", f32, 13, 21, 27, **blocks(8, 8, 8))
matmul_bias("seed_matmul_f32_one_block", "matmul_f32", f32, 5, 6, 7, **blocks(8, 16, 8))


# The guide's own


@case("seed_matmul_first", "specs/matmul_first.yaml", set=blocks(8, 8, 8), depth=24)
def _():
    def kernel(x, y, z):
        @pl.when(pl.program_id(2) == 0)
        def _():
            z[...] = jnp.zeros_like(z)

        z[...] += x[...] @ y[...]

    (m, k, n), b = (16, 24, 16), 8
    x, y = normal(1, (m, k)), normal(2, (k, n))
    z = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        in_specs=[pl.BlockSpec((b, b), lambda i, j, k: (i, k)), pl.BlockSpec((b, b), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((b, b), lambda i, j, k: (i, j)),
        grid=(m // b, n // b, k // b),
        interpret=TPU,
    )(x, y)
    close(z, np.float64(x) @ np.float64(y), depth=k)
    return dict(x=x, y=y), dict(z=z)


def plain(name, spec, dtype, m, n, k, instance="", rhs=None, set=blocks(8, 8, 8), params={}, activation=None):
    """activation: of the array as a function of jax and as one of numpy."""

    @case(name, spec, instance=instance, set=set | params, depth=roundings(dtype, k + 4))
    def _():
        x, y = normal(1, (m, k), dtype), normal(2, (k, n), dtype, 0.5)
        in_jax, in_numpy = activation or (lambda z: z, lambda z: z)
        z = matmul([x], y.T if rhs == "transposed" else y, **set, transpose_rhs=rhs == "transposed", epilogue=in_jax)
        close(z, in_numpy(np.float64(x) @ np.float64(y)), depth=roundings(dtype, k + 4))
        return dict(x=x, y=y.T if rhs == "transposed" else y), dict(z=z)


plain("seed_matmul_first_ragged", "specs/matmul_first.yaml", f32, 13, 19, 21)
plain("seed_matmul_scratch_bf16", "specs/matmul_scratch.yaml", bf16, 16, 24, 32, "matmul_scratch_bf16")
plain("seed_matmul_scratch_bf16_ragged", "specs/matmul_scratch.yaml", bf16, 19, 13, 27, "matmul_scratch_bf16")
plain("seed_matmul_scratch_f16", "specs/matmul_scratch.yaml", f16, 19, 13, 27, "matmul_scratch_f16")
plain("seed_matmul_scratch_f32", "specs/matmul_scratch.yaml", f32, 9, 17, 25, "matmul_scratch_f32")
plain("seed_matmul_scratch_row", "specs/matmul_scratch.yaml", f32, 1, 17, 25, "matmul_scratch_f32")

TRANSPOSED = "specs/matmul_transposed.yaml"
plain("seed_matmul_transposed_bf16", TRANSPOSED, bf16, 16, 24, 32, "matmul_transposed_bf16", "transposed")
plain("seed_matmul_transposed_f32", TRANSPOSED, f32, 13, 19, 21, "matmul_transposed_f32", "transposed")
plain("seed_matmul_untransposed_bf16", TRANSPOSED, bf16, 13, 19, 21, "matmul_untransposed_bf16")


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def gelu_tanh(z):
    return z / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


RELU = jax.nn.relu, lambda z: np.maximum(z, 0)
GELU = partial(jax.nn.gelu, approximate=False), lambda z: z * np.float64(jax.scipy.stats.norm.cdf(z))
GELU_TANH = jax.nn.gelu, gelu_tanh
SILU = jax.nn.silu, lambda z: z * sigmoid(z)
ACTIVATION = "specs/matmul_activation.yaml"
plain("seed_matmul_relu_bf16", ACTIVATION, bf16, 16, 24, 32, "matmul_relu_bf16", activation=RELU)
plain("seed_matmul_relu_f32", ACTIVATION, f32, 13, 19, 21, "matmul_relu_f32", activation=RELU)
plain("seed_matmul_gelu_f32", ACTIVATION, f32, 13, 19, 21, "matmul_gelu_f32", activation=GELU)
plain("seed_matmul_gelu_tanh_bf16", ACTIVATION, bf16, 13, 19, 21, "matmul_gelu_tanh_bf16", activation=GELU_TANH)
plain(
    "seed_matmul_gelu_tanh_f32", ACTIVATION, f32, 13, 19, 21, "matmul_relu_f32",
    params=dict(activation=3), activation=GELU_TANH,
)  # fmt: skip
plain(
    "seed_matmul_silu_transposed_bf16", ACTIVATION, bf16, 13, 19, 21, "matmul_silu_transposed_bf16", "transposed",
    activation=SILU,
)  # fmt: skip
plain("seed_matmul_no_activation", ACTIVATION, f32, 8, 19, 16, "matmul_relu_f32", params=dict(activation=0))


# The exercises


def int8_case(name, m, n, k):
    @case(name, "specs/matmul_int8.yaml", set=blocks(8, 8, 8))
    def _():
        x, y = integers(1, -128, 128, (m, k), i8), integers(2, -128, 128, (k, n), i8)
        z = matmul([x], y, **blocks(8, 8, 8), out=jnp.int32)
        close(z, np.int32(x) @ np.int32(y))
        return dict(x=x, y=y), dict(z=z)


int8_case("seed_matmul_int8", 16, 24, 32)
int8_case("seed_matmul_int8_ragged", 21, 19, 37)


def input_fusion(name, dtype, instance, depth):
    @case(name, "specs/matmul_input_fusion.yaml", instance=instance, set=blocks(8, 8, 8), depth=depth)
    def _():
        m, n, k = 13, 19, 21
        x, gate, y = normal(1, (m, k), dtype), normal(2, (m, k), dtype), normal(3, (k, n), dtype)

        def prologue(x, gate):
            return (jax.nn.silu(x.astype(f32)) * gate.astype(f32)).astype(dtype)

        z = matmul([x, gate], y, **blocks(8, 8, 8), prologue=prologue)
        left = np.float64(x) * sigmoid(np.float64(x)) * np.float64(gate)
        close(z, left @ np.float64(y), depth=depth)
        return dict(x=x, gate=gate, y=y), dict(z=z)


input_fusion("seed_matmul_input_fusion_bf16", bf16, "matmul_input_fusion_bf16", 2)  # left and z
input_fusion("seed_matmul_input_fusion_f32", f32, "matmul_input_fusion_f32", 30)


def batched(name, dtype, instance, batch, m, n, k):
    @case(name, "specs/matmul_batched.yaml", instance=instance, set=blocks(8, 8, 8), depth=roundings(dtype, k))
    def _():
        x, y = normal(1, (batch, m, k), dtype), normal(2, (batch, k, n), dtype)
        z = jax.vmap(lambda x, y: matmul([x], y, **blocks(8, 8, 8), interpret=True))(x, y)
        close(z, np.float64(x) @ np.float64(y), depth=roundings(dtype, k))
        return dict(x=x, y=y), dict(z=z)


batched("seed_matmul_batched_bf16", bf16, "matmul_batched_bf16", 2, 8, 16, 16)
batched("seed_matmul_batched_f32", f32, "matmul_batched_f32", 3, 9, 13, 11)


def gradients(suffix, dtype, m, n, k):
    """Both products of the backward pass, against numpy and against the gradient JAX derives."""
    x, y, dz = normal(1, (m, k), dtype), normal(2, (k, n), dtype), normal(3, (m, n), dtype)

    def derived():
        exact = jax.vjp(jnp.matmul, x.astype(f32), y.astype(f32))[1]
        return exact(dz.astype(f32))

    @case(
        f"seed_matmul_grad_x_{suffix}",
        "specs/matmul_grad_x.yaml",
        f"matmul_grad_x_{suffix}",
        blocks(8, 8, 8),
        roundings(dtype, n),
    )
    def _():
        # As a product of the guide's: m by n times n by k, the right operand transposed.
        dx = matmul([dz], y, bm=8, bn=8, bk=8, transpose_rhs=True)
        close(dx, np.float64(dz) @ np.float64(y).T, depth=roundings(dtype, n))
        close(dx, derived()[0], depth=roundings(dtype, n))
        return dict(dz=dz, y=y), dict(dx=dx)

    @case(
        f"seed_matmul_grad_y_{suffix}",
        "specs/matmul_grad_y.yaml",
        f"matmul_grad_y_{suffix}",
        blocks(8, 8, 8),
        roundings(dtype, m),
    )
    def _():
        dy = matmul([x], dz, bm=8, bn=8, bk=8, transpose_lhs=True)
        close(dy, np.float64(x).T @ np.float64(dz), depth=roundings(dtype, m))
        close(dy, derived()[1], depth=roundings(dtype, m))
        return dict(x=x, dz=dz), dict(dy=dy)


gradients("bf16", bf16, 16, 24, 16)
gradients("f32", f32, 13, 19, 21)
