"""The kernels of JAX's documentation of Pallas, written again and small: quickstart, grids and blocks, pipelining."""

import functools

import jax
import jax.numpy as jnp
from corpus import axes, call, elements, like, normal
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

# ---- quickstart


@call("add_vectors")
def _():
    def add_vectors_kernel(x_ref, y_ref, o_ref):
        x, y = x_ref[...], y_ref[...]
        o_ref[...] = x + y

    return lambda x, y: pl.pallas_call(add_vectors_kernel, out_shape=like(x))(x, y), (normal(0, (8,)), normal(1, (8,)))


@call("iota")
def _():
    def iota_kernel(o_ref):
        i = pl.program_id(0)
        o_ref[i] = i

    whole = pl.BlockSpec(memory_space=pltpu.SMEM)
    shape = jax.ShapeDtypeStruct((8,), jnp.int32)
    return lambda: pl.pallas_call(iota_kernel, out_specs=whole, out_shape=shape, grid=(8,))(), ()


def matmul(x, y, activation=lambda x: x):
    def matmul_kernel(x_ref, y_ref, z_ref, *, activation):
        z_ref[...] = activation(x_ref[...] @ y_ref[...])

    return pl.pallas_call(
        functools.partial(matmul_kernel, activation=activation),
        out_shape=jax.ShapeDtypeStruct((x.shape[0], y.shape[1]), x.dtype),
        grid=(2, 2),
        in_specs=[
            pl.BlockSpec((x.shape[0] // 2, x.shape[1]), lambda i, j: (i, 0)),
            pl.BlockSpec((y.shape[0], y.shape[1] // 2), lambda i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((x.shape[0] // 2, y.shape[1] // 2), lambda i, j: (i, j)),
    )(x, y)


call("matmul_quickstart")(lambda: (matmul, (normal(0, (16, 32)), normal(1, (32, 24)))))
call("matmul_relu")(
    lambda: (functools.partial(matmul, activation=jax.nn.relu), (normal(0, (16, 32)), normal(1, (32, 24))))
)
call("matmul_gelu")(
    lambda: (functools.partial(matmul, activation=jax.nn.gelu), (normal(0, (16, 32)), normal(1, (32, 24), scale=0.2)))
)
call("matmul_batched")(lambda: (jax.vmap(matmul), (normal(0, (3, 8, 16)), normal(1, (3, 16, 8)))))


# ---- grids and blocks


def program_ids(shape, block, grid, index):
    def program_ids_kernel(o_ref):
        axes = 0
        for axis in range(len(grid)):
            axes += pl.program_id(axis) * 10 ** (len(grid) - 1 - axis)
        o_ref[...] = jnp.full(o_ref.shape, axes)

    return lambda: pl.pallas_call(
        program_ids_kernel, out_shape=jax.ShapeDtypeStruct(shape, jnp.int32), grid=grid,
        out_specs=pl.BlockSpec(block, index),
    )()  # fmt: skip


call("blocks")(lambda: (program_ids((8, 6), (2, 3), (4, 2), lambda i, j: (i, j)), ()))
call("blocks_ragged")(lambda: (program_ids((8, 6), (2, 4), (4, 2), lambda i, j: (i, j)), ()))
call("blocks_squeezed")(lambda: (program_ids((4, 6), (None, 3), (4, 2), lambda i, j: (i, j)), ()))


@call("blocks_element")
def _():
    def sums_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[0:8, :] + x_ref[1:9, :] + x_ref[2:10, :]

    def f(x):
        out = pl.BlockSpec((8, 128), lambda i: (i, 0))
        padded = jnp.pad(x, ((1, 1), (0, 0)))
        sizes, paddings = (10, 128), ((0, 0), (0, 0))
        window = elements(sizes, paddings, lambda i: (i * 8, 0))
        return pl.pallas_call(sums_kernel, out_shape=like(x), grid=(2,), in_specs=[window], out_specs=out)(padded)

    return f, (normal(0, (16, 128)),)


# ---- pipelining


def add_matrices_kernel(x_vmem_ref, y_vmem_ref, z_vmem_ref):
    x_vregs = x_vmem_ref[:, :]
    y_vregs = y_vmem_ref[:, :]
    z_vregs = x_vregs + y_vregs
    z_vmem_ref[:, :] = z_vregs


@call("add_matrices")
def _():
    return lambda x, y: pl.pallas_call(add_matrices_kernel, out_shape=like(x))(x, y), (
        normal(0, (16, 128)), normal(1, (16, 128)),
    )  # fmt: skip


@call("add_matrices_pipelined")
def _():
    def f(x, y):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(
            add_matrices_kernel, out_shape=like(x), in_specs=[block, block], out_specs=block, grid=(2,),
            compiler_params=axes("parallel"),
        )(x, y)  # fmt: skip

    return f, (normal(0, (16, 128)), normal(1, (16, 128)))


def sums(x, grid, index, out_index, axis):
    """Adds up matrices along an axis of the grid, which has to be the last one."""

    def sum_kernel(x_ref, o_ref):
        @pl.when(pl.program_id(axis) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...]

    return pl.pallas_call(
        sum_kernel, grid=grid, in_specs=[pl.BlockSpec((None, 8, 128), index)],
        out_specs=pl.BlockSpec((8, 128), out_index), out_shape=jax.ShapeDtypeStruct(x.shape[1:], x.dtype),
    )(x)  # fmt: skip


@call("sum_of_matrices")
def _():
    f = functools.partial(
        sums, grid=(2, 1, 3), index=lambda i, j, k: (k, i, j), out_index=lambda i, j, k: (i, j), axis=2
    )
    return f, (normal(0, (3, 16, 128)),)


@call("sum_of_matrices_wrong", refused="revisit")
def _():
    f = functools.partial(sums, grid=(3, 2), index=lambda i, j: (i, j, 0), out_index=lambda i, j: (j, 0), axis=0)
    return f, (normal(0, (3, 16, 128)),)
