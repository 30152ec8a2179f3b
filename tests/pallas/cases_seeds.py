"""The kernels of the Pallas quickstart and of the pipelining guide."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from harness import case, cdiv, close, normal

f32, bf16 = jnp.float32, jnp.bfloat16
TPU = pltpu.InterpretParams()


def add_kernel(x, y, o):
    o[...] = x[...] + y[...]


# Quickstart


def add_vectors(name, x, y, instance):
    @case(name, "specs/add_vectors.yaml", instance=instance)
    def _():
        o = pl.pallas_call(add_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype), interpret=True)(x, y)
        close(o, np.asarray(x) + np.asarray(y))
        return dict(x=x, y=y), dict(o=o)


add_vectors("seed_add_vectors", jnp.arange(8), jnp.arange(8), "add_vectors")
add_vectors("seed_add_vectors_wrap", jnp.int32([2**31 - 1, -(2**31), 5]), jnp.int32([1, -1, -7]), "add_vectors")
add_vectors("seed_add_vectors_f32", normal(1, 37), normal(2, 37), "add_vectors_f32")
add_vectors("seed_add_vectors_bf16", normal(3, 37, bf16), normal(4, 37, bf16, 9.0), "add_vectors_bf16")


@case("seed_iota", "specs/iota.yaml")
def _():
    def kernel(o):
        i = pl.program_id(0)
        o[i] = i

    o = pl.pallas_call(kernel, grid=(11,), out_shape=jax.ShapeDtypeStruct((11,), jnp.int32), interpret=True)()
    close(o, np.arange(11, dtype=np.int32))
    return dict(n=11), dict(o=o)


def matmul_2x2(x, y, activation=lambda z: z):
    def kernel(x, y, z):
        z[...] = activation(x[...] @ y[...])

    (m, k), n = x.shape, y.shape[1]
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), x.dtype),
        grid=(2, 2),
        in_specs=[
            pl.BlockSpec((cdiv(m, 2), k), lambda i, j: (i, 0)),
            pl.BlockSpec((k, cdiv(n, 2)), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((cdiv(m, 2), cdiv(n, 2)), lambda i, j: (i, j)),
        interpret=True,
    )(x, y)


def matmul_2x2_case(name, spec, m, n, k, batch=None, activation=None, instance=""):
    @case(name, spec, instance=instance, depth=k)
    def _():
        lead = () if batch is None else (batch,)
        x, y = normal(1, (*lead, m, k)), normal(2, (*lead, k, n))
        call = partial(matmul_2x2, activation=activation) if activation else matmul_2x2
        z = (call if batch is None else jax.vmap(call))(x, y)
        want = np.float64(x) @ np.float64(y)
        close(z, np.maximum(want, 0) if activation else want, depth=k)
        return dict(x=x, y=y), dict(z=z)


matmul_2x2_case("seed_matmul_2x2", "specs/matmul_2x2.yaml", 12, 10, 16)
matmul_2x2_case("seed_matmul_2x2_odd", "specs/matmul_2x2.yaml", 13, 7, 9)
matmul_2x2_case("seed_matmul_2x2_activation", "specs/matmul_2x2_activation.yaml", 12, 10, 16, None, jax.nn.relu)
matmul_2x2_case("seed_matmul_2x2_activation_odd", "specs/matmul_2x2_activation.yaml", 5, 3, 8, None, jax.nn.relu)
matmul_2x2_case(
    "seed_matmul_2x2_batched", "specs/matmul_2x2_batched.yaml", 6, 8, 10, 4, jax.nn.relu, "matmul_2x2_batched"
)
matmul_2x2_case(
    "seed_matmul_2x2_batched_plain", "specs/matmul_2x2_batched.yaml", 7, 5, 10, 3, None, "matmul_2x2_batched_plain"
)


# Pipelining


def add_case(name, spec, shape, block=None, dtype=f32, parallel=False, interpret=TPU, instance="", **set):
    """Blocks of rows, or of rows and columns; no block is the whole."""

    @case(name, spec, instance=instance, set=set)
    def _():
        x, y = normal(1, shape, dtype), normal(2, shape, dtype)
        options = {}
        if block and block[1] == shape[1]:
            spec = pl.BlockSpec(block, lambda i: (i, 0))
            options = dict(grid=(cdiv(shape[0], block[0]),), in_specs=[spec, spec], out_specs=spec)
        elif block:
            spec = pl.BlockSpec(block, lambda i, j: (i, j))
            grid = (cdiv(shape[0], block[0]), cdiv(shape[1], block[1]))
            options = dict(grid=grid, in_specs=[spec, spec], out_specs=spec)
        if parallel:
            options["compiler_params"] = pltpu.CompilerParams(dimension_semantics=("parallel",))
        z = pl.pallas_call(
            add_kernel, out_shape=jax.ShapeDtypeStruct(shape, dtype), interpret=interpret, **options
        )(x, y)
        close(z, np.float64(x) + np.float64(y))
        return dict(x=x, y=y), dict(z=z)


add_case("seed_add_matrices", "specs/add_matrices.yaml", (11, 13), interpret=True)
add_case("seed_add_pipelined", "specs/add_pipelined.yaml", (32, 9), (16, 9), bm=16, instance="add_pipelined")
add_case(
    "seed_add_pipelined_bf16", "specs/add_pipelined.yaml", (29, 9), (8, 9), bf16, bm=8, instance="add_pipelined_bf16"
)
add_case("seed_add_2d", "specs/add_2d.yaml", (16, 24), (8, 8), bm=8, bn=8, instance="add_2d")
add_case("seed_add_2d_ragged", "specs/add_2d.yaml", (19, 21), (8, 16), bm=8, bn=16, instance="add_2d")
add_case("seed_add_2d_oversized", "specs/add_2d.yaml", (5, 7), (8, 16), bm=8, bn=16, instance="add_2d")
add_case("seed_add_megacore", "specs/add_megacore.yaml", (29, 9), (8, 9), parallel=True, bm=8)


@case("seed_sum_leading", "specs/sum_leading.yaml", depth=8)
def _():
    def kernel(x, o):
        @pl.when(pl.program_id(axis=0) == 0)
        def _():
            o[...] = jnp.zeros_like(o)

        o[...] += x[...]

    x = normal(1, (8, 9, 11))
    grid, *out_shape = x.shape
    o = pl.pallas_call(
        kernel,
        grid=grid,
        in_specs=[pl.BlockSpec((None, *out_shape), lambda i: (i, 0, 0))],
        out_specs=pl.BlockSpec(out_shape, lambda i: (0, 0)),
        out_shape=jax.ShapeDtypeStruct(out_shape, x.dtype),
        interpret=TPU,
    )(x)
    close(o, np.float64(x).sum(axis=0), depth=8)
    return dict(x=x), dict(o=o)


def sum_kernel(x, o, *, extent, start, axis, minor):
    """Sums the block's `axis`; what is past the edge of the array is left out."""
    first = True
    for a in minor:
        first = first & (pl.program_id(a) == 0)

    @pl.when(first)
    def _():
        o[...] = jnp.zeros_like(o)

    inside = jax.lax.broadcasted_iota(jnp.int32, x.shape, axis) + start() < extent
    o[...] += jnp.where(inside, x[...], 0).sum(axis=axis)


def vector_block(bm):
    return pl.BlockSpec((bm,), lambda i, *_: (i,))


def sum_rows(name, m, n, bm, bn):
    @case(name, "specs/sum_rows.yaml", set=dict(bm=bm, bn=bn), depth=n)
    def _():
        x = normal(1, (m, n))
        o = pl.pallas_call(
            partial(sum_kernel, extent=n, start=lambda: pl.program_id(1) * bn, axis=1, minor=(1,)),
            grid=(cdiv(m, bm), cdiv(n, bn)),
            in_specs=[pl.BlockSpec((bm, bn), lambda i, j: (i, j))],
            out_specs=vector_block(bm),
            out_shape=jax.ShapeDtypeStruct((m,), f32),
            interpret=TPU,
        )(x)
        close(o, np.float64(x).sum(axis=1), depth=n)
        return dict(x=x), dict(o=o)


sum_rows("seed_sum_rows", 16, 24, 8, 8)
sum_rows("seed_sum_rows_ragged", 21, 29, 8, 8)


@case("seed_sum_columns", "specs/sum_columns.yaml", set=dict(bm=8, bn=8), depth=29)
def _():
    m, n, b = 29, 21, 8
    x = normal(1, (m, n))
    o = pl.pallas_call(
        partial(sum_kernel, extent=m, start=lambda: pl.program_id(1) * b, axis=0, minor=(1,)),
        grid=(cdiv(n, b), cdiv(m, b)),
        in_specs=[pl.BlockSpec((b, b), lambda j, i: (i, j))],
        out_specs=vector_block(b),
        out_shape=jax.ShapeDtypeStruct((n,), f32),
        interpret=TPU,
    )(x)
    close(o, np.float64(x).sum(axis=0), depth=m)
    return dict(x=x), dict(o=o)


@case("seed_sum_axes", "specs/sum_axes.yaml", set=dict(bm=8, bn=8), depth=63)
def _():
    batch, m, n, b = 3, 13, 21, 8
    x = normal(1, (batch, m, n))
    o = pl.pallas_call(
        partial(sum_kernel, extent=n, start=lambda: pl.program_id(2) * b, axis=1, minor=(1, 2)),
        grid=(cdiv(m, b), batch, cdiv(n, b)),
        in_specs=[pl.BlockSpec((None, b, b), lambda i, a, j: (a, i, j))],
        out_specs=vector_block(b),
        out_shape=jax.ShapeDtypeStruct((m,), f32),
        interpret=TPU,
    )(x)
    close(o, np.float64(x).sum(axis=(0, 2)), depth=batch * n)
    return dict(x=x), dict(o=o)
