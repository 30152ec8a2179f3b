"""Pallas kernels with a planted mistake: each has to be refused by the rule that names it, at its line of Python.

The line is the one with the comment `# mistake`.
"""

import functools

import jax
import jax.numpy as jnp
from calls_docs import sums
from corpus import axes, like, normal
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

MISTAKES = {}
f32 = jnp.float32


def mistake(rule):
    def register(make):
        MISTAKES[make.__name__] = (rule, make)
        return make

    return register


@mistake("revisit")
def a_reduction_over_the_outer_axis():
    index = lambda i, j: (i, j, 0)  # noqa: E731
    out_index = lambda i, j: (j, 0)  # mistake  # noqa: E731
    return functools.partial(sums, grid=(3, 2), index=index, out_index=out_index, axis=0), (normal(0, (3, 16, 128)),)


@mistake("undefined")
def a_sum_without_a_first_step():
    def kernel(x_ref, o_ref, acc_ref):
        acc_ref[...] += x_ref[...]  # mistake

        @pl.when(pl.program_id(0) == 1)
        def _():
            o_ref[...] = acc_ref[...]

    def f(x):
        return pl.pallas_call(
            kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)), out_shape=jax.ShapeDtypeStruct((8, 128), f32),
            scratch_shapes=[pltpu.VMEM((8, 128), f32)],
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("index-range")
def a_block_past_the_end():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def f(x):
        return pl.pallas_call(
            kernel, grid=(2,), out_shape=like(x), out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
            in_specs=[pl.BlockSpec((8, 128), lambda i: (i + 1, 0))],  # mistake
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("index-range")
def a_subscript_past_the_end():
    def kernel(ids_ref, x_ref, o_ref):
        i = pl.program_id(0)
        o_ref[...] = x_ref[pl.ds(ids_ref[i], 8), :]  # mistake

    def f(ids, x):
        whole = pl.BlockSpec((24, 128), lambda i, ids: (0, 0))
        grid_spec = pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=1, grid=(2,), in_specs=[whole],
            out_specs=pl.BlockSpec((8, 128), lambda i, ids: (i, 0)),
        )  # fmt: skip
        return pl.pallas_call(kernel, grid_spec=grid_spec, out_shape=jax.ShapeDtypeStruct((16, 128), f32))(ids, x)

    return f, (jnp.array([3, 17], jnp.int32), normal(0, (24, 128)))


@mistake("race")
def a_parallel_axis_that_is_summed_over():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    def f(x):
        return pl.pallas_call(
            kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i: (0, 0)),  # mistake
            out_shape=jax.ShapeDtypeStruct((8, 128), f32),
            compiler_params=axes("parallel"),
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("tail")
def a_sum_over_a_ragged_edge():
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...].sum(axis=0, keepdims=True)  # mistake

    def f(x):
        return pl.pallas_call(
            kernel, grid=(2,), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((1, 128), lambda i: (0, 0)), out_shape=jax.ShapeDtypeStruct((1, 128), f32),
        )(x)  # fmt: skip

    return f, (normal(0, (13, 128)),)


@mistake("coverage")
def a_block_that_is_not_written():
    def kernel(x_ref, o_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            o_ref[...] = x_ref[...]

    def f(x):
        return pl.pallas_call(
            kernel, grid=(2,), out_shape=like(x), in_specs=[pl.BlockSpec((8, 128), lambda i: (i, 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),  # mistake
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("sync")
def a_read_before_the_wait():
    def kernel(x_hbm_ref, o_ref, buffer_ref, arrived):
        copy = pltpu.make_async_copy(x_hbm_ref.at[pl.ds(0, 8)], buffer_ref, arrived)
        copy.start()
        o_ref[...] = buffer_ref[...]  # mistake
        copy.wait()

    def f(x):
        return pl.pallas_call(
            kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=jax.ShapeDtypeStruct((8, 128), f32),
            scratch_shapes=[pltpu.VMEM((8, 128), f32), pltpu.SemaphoreType.DMA],
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("sync")
def a_wait_for_nothing():
    def kernel(x_hbm_ref, o_ref, buffer_ref, arrived):
        copy = pltpu.make_async_copy(x_hbm_ref.at[pl.ds(0, 8)], buffer_ref, arrived)
        copy.start()
        copy.wait()
        copy.wait()  # mistake
        o_ref[...] = buffer_ref[...]

    def f(x):
        return pl.pallas_call(
            kernel, in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_shape=jax.ShapeDtypeStruct((8, 128), f32),
            scratch_shapes=[pltpu.VMEM((8, 128), f32), pltpu.SemaphoreType.DMA],
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("alias")
def an_input_that_is_read_after_its_memory_was_written():
    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1

    def f(x):
        return pl.pallas_call(
            kernel, grid=(2,), out_shape=like(x), out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
            in_specs=[pl.BlockSpec((8, 128), lambda i: (1 - i, 0))],  # mistake
            input_output_aliases={0: 0},
        )(x)  # fmt: skip

    return f, (normal(0, (16, 128)),)


@mistake("tier")
def more_than_vmem_holds():
    def kernel(x_ref, o_ref, big_ref):  # mistake
        big_ref[...] = jnp.zeros_like(big_ref)
        o_ref[...] = x_ref[...] + big_ref[0:8, 0:128]

    def f(x):
        return pl.pallas_call(kernel, out_shape=like(x), scratch_shapes=[pltpu.VMEM((4096, 2048), f32)])(x)

    return f, (normal(0, (8, 128)),)
