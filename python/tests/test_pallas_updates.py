"""Values of imported Pallas kernels of which a part is set: `x.at[...]` and `dynamic_update_slice`."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from pallas_calls import X, interpreted, of  # noqa: E402

import kiln.pallas  # noqa: E402

CONSTANT = {
    "column": (lambda x: x.at[:, 0].set(x[:, 5]), "concat([x[:, 5:6], x[:, 1:16]], axis=1)"),
    "row": (lambda x: x.at[-1].set(x[0]), "concat([x[0:7], x[0:1]], axis=0)"),
    "rows": (lambda x: x.at[1:3].add(1.0), "concat([x[0:1], x[1:3] + 1.0, x[3:8]], axis=0)"),
    "corner": (lambda x: jax.lax.dynamic_update_slice(x, x[:2, :3] * 2, (9, 14)), None),
    "element": (lambda x: x.at[2, 3].min(-1.0).at[3, 2].max(1e9).at[0, 0].subtract(1.0), None),
    "outside": (lambda x: x.at[9].set(0.0), "x"),
    "clipped": (lambda x: x.at[9].set(0.0, mode="clip"), "concat([x[0:7], broadcast(0.0, [1, 16])], axis=0)"),
}


@pytest.mark.parametrize("name", CONSTANT)
def test_a_part_in_a_known_place_stands_between_what_is_around_it(name):
    update, text = CONSTANT[name]

    def update_kernel(x_ref, o_ref):
        o_ref[...] = update(x_ref[...])

    o, body = interpreted(update_kernel, of(8, 16), X)
    assert np.array_equal(o, update(jnp.asarray(X)))
    assert text is None or f" = {text}  #" in body


PLACED = {
    "row": lambda x, i: x.at[i].set(0.0),
    "column": lambda x, i: x.at[:, i].add(1.0),
    "part of a row": lambda x, i: x.at[i, 2:5].multiply(3.0),
    "element": lambda x, i: x.at[i, i].max(1e9),
    "promised": lambda x, i: x.at[jnp.clip(i, 0, 7)].set(7.0, mode="promise_in_bounds"),
    "rows": lambda x, i: jax.lax.dynamic_update_slice(x, x[4:6] * 2, (i, 0)),
    "block": lambda x, i: jax.lax.dynamic_update_slice(x, x[4:6, 1:4] * 2, (i, i)),
}


@pytest.mark.parametrize("name", PLACED)
@pytest.mark.parametrize("place", [0, 3, 7, 8, 15, 16, -1, -9])
def test_a_part_in_a_place_that_a_run_knows_is_set_as_jax_sets_it(name, place):
    update = PLACED[name]

    def update_kernel(i_ref, x_ref, o_ref):
        o_ref[...] = update(x_ref[...], i_ref[0])

    i = np.array([place], np.int32)
    o, _ = interpreted(update_kernel, of(8, 16), i, X)
    assert np.array_equal(o, update(jnp.asarray(X), jnp.int32(place)))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint32"])
def test_a_place_may_be_any_integer(dtype):
    def update_kernel(i_ref, x_ref, o_ref):
        x = x_ref[...].at[i_ref[0]].set(0.0)
        o_ref[...] = jax.lax.dynamic_update_slice(x, x[4:6, 1:4], (i_ref[0], i_ref[0]))

    i = np.array([3], dtype)
    o, _ = interpreted(update_kernel, of(8, 16), i, X)
    x = jnp.asarray(X).at[3].set(0.0)
    assert np.array_equal(o, jax.lax.dynamic_update_slice(x, x[4:6, 1:4], (3, 3)))


def test_the_elements_of_an_index_are_what_it_was_made_of():
    def update_kernel(i_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...].at[i_ref[0], 3].set(0.0)

    _, body = interpreted(update_kernel, of(8, 16), np.array([2], np.int32), X)
    assert "iota([16], 0) == 3" in body and "broadcast(" not in body


def test_a_function_of_a_part_is_named():
    def update_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].at[1].apply(jnp.sin)

    with pytest.raises(kiln.pallas.CannotSay, match="a function applied to a part of a value"):
        interpreted(update_kernel, of(8, 16), X)


def test_a_scatter_to_several_places_is_named():
    def update_kernel(i_ref, x_ref, o_ref):
        o_ref[...] = x_ref[...].at[i_ref[...]].set(0.0)

    with pytest.raises(kiln.pallas.CannotSay, match="a scatter by an array of indices"):
        interpreted(update_kernel, of(8, 16), np.array([2, 3], np.int32), X)
