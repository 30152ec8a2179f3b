"""Lookups in values, branches that give several values, and functions that the language has no word for."""

import jax
import jax.numpy as jnp
from corpus import axes, call, integers, normal
from jax.experimental import pallas as pl

f32 = jnp.float32


def whole(body, shape, name):
    """A kernel of one step: `body` of all inputs."""

    def kernel(*refs):
        *inputs, out = refs
        out[...] = body(*(ref[...] for ref in inputs))

    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(shape, f32), name=name)


@call("gather_rows")
def _():
    def gather_rows(x_ref, ids_ref, o_ref):
        x, ids = x_ref[...], ids_ref[...]
        o_ref[...] = x[ids]

    f = pl.pallas_call(gather_rows, out_shape=jax.ShapeDtypeStruct((4, 16), f32), name="gather_rows")
    return f, (normal(0, (8, 16)), integers(1, -8, 8, 4))


call("gather_columns")(
    lambda: (
        whole(lambda x, ids: jnp.take(x, ids, axis=1, mode="clip"), (8, 2, 3), "gather_columns"),
        (normal(0, (8, 16)), integers(1, -20, 40, (2, 3))),
    )
)
call("gather_filled")(
    lambda: (
        whole(lambda x, ids: jnp.take(x, ids, axis=0, fill_value=-1.0), (6, 16), "gather_filled"),
        (normal(0, (8, 16)), jnp.array([7, 8, -8, -9, 0, 99], jnp.int32)),
    )
)
call("gather_along_axis")(
    lambda: (
        whole(lambda x, ids: jnp.take_along_axis(x, ids, axis=1), (8, 4), "gather_along_axis"),
        (normal(0, (8, 16)), integers(1, 0, 16, (8, 4))),
    )
)
call("gather_pairs")(
    lambda: (
        whole(lambda x, rows, columns: x[:, rows, columns], (3, 5), "gather_pairs"),
        (normal(0, (3, 8, 16)), integers(1, 0, 8, 5), integers(2, 0, 16, 5)),
    )
)
call("diagonal")(lambda: (whole(jnp.diagonal, (8,), "diagonal"), (normal(0, (8, 16)),)))
call("erf_inv")(
    lambda: (whole(jax.lax.erf_inv, (8, 32), "erf_inv"), (jnp.linspace(-1, 1, 256, dtype=f32).reshape(8, 32),))
)


@call("platform_dependent")
def _():
    def body(x):
        return jax.lax.platform_dependent(x, tpu=lambda x: x * 2, cpu=lambda x: x + 1, default=jnp.negative)

    return whole(body, (8, 16), "platform_dependent"), (normal(0, (8, 16)),)


@call("choice_of_several")
def _():
    """Blocks of x in an order that wraps round at `turn`, each with a factor of its own."""

    def choice_of_several(turn_ref, x_ref, o_ref):
        i = pl.program_id(0)
        block, factor = jax.lax.cond(
            i < turn_ref[0], lambda: (turn_ref[0] - 1 - i, f32(0.5)), lambda: (i, f32(2))
        )
        o_ref[...] = x_ref[pl.ds(block * 8, 8), :] * factor

    return pl.pallas_call(
        choice_of_several, grid=(4,), in_specs=[pl.BlockSpec((1,), lambda i: (0,)), pl.BlockSpec((32, 16), lambda i: (0, 0))],
        out_specs=pl.BlockSpec((8, 16), lambda i: (i, 0)), out_shape=jax.ShapeDtypeStruct((32, 16), f32),
        compiler_params=axes("arbitrary"), name="choice_of_several",
    ), (jnp.array([3], jnp.int32), normal(0, (32, 16)))  # fmt: skip
