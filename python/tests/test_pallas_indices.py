"""Subscripts of imported Pallas kernels: slices, strides, masks, arrays of indices."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from jax_names import needs  # noqa: E402
from pallas_calls import X, interpreted, of  # noqa: E402

import kiln  # noqa: E402
import kiln.pallas  # noqa: E402

COUNTED = {
    "all": (lambda x: x[jnp.arange(8)[:, None], jnp.arange(16)[None, :]], "x"),
    "turned": (lambda x: x[jnp.arange(8)[None, :], jnp.arange(16)[:, None]], "x.T"),
    "rows": (lambda x: x[2 + jnp.arange(4)], "x[2:6]"),
    "columns": (lambda x: x[:, 2 + jnp.arange(4)], "x[:, 2:6]"),
    "row and columns": (lambda x: x[3, 2 + jnp.arange(4)], "x[3, 2:6]"),
    "from the end": (lambda x: x[jnp.arange(4) - 4], "x[4:8]"),
}


@pytest.mark.parametrize("name", COUNTED)
def test_indices_that_count_are_a_slice(name):
    taken, text = COUNTED[name]

    def take_kernel(x_ref, o_ref):
        o_ref[...] = taken(x_ref)

    want = taken(X)
    o, body = interpreted(take_kernel, of(*want.shape), X)
    assert np.array_equal(o, want) and body.startswith(f"\n  o = {text}  #")


def test_a_stride_of_0_takes_one_place_again_and_again():
    needs((0, 8, 3), "strides of 0")

    def take_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[pl.ds(3, 8, 0), 4:8] + x_ref.at[1:5][pl.ds(1, 8, stride=0), 0:4]

    o, body = interpreted(take_kernel, of(8, 4), X)
    assert np.array_equal(o, np.tile(X[3:4, 4:8] + X[2:3, 0:4], (8, 1))) and "x[3:4, 4:8]" in body


def test_numbers_count_from_the_end_of_what_they_subscript():
    def take_kernel(x_ref, o_ref):
        o_ref[0] = x_ref[-1]
        o_ref[1] = x_ref.at[2:6][-2]
        o_ref[-1] = x_ref[:, -3][0] + jnp.zeros(16, jnp.float32)

    o, body = interpreted(take_kernel, of(3, 16), X)
    assert np.array_equal(o, [X[7], X[4], np.full(16, X[0, 13])]) and "o[0] = x[7]" in body


def test_indices_that_count_may_be_stored_to():
    def swap_kernel(x_ref, o_ref):
        o_ref[jnp.arange(4)] = x_ref[4 + jnp.arange(4)]
        o_ref[4 + jnp.arange(4)] = x_ref[jnp.arange(4)]

    o, body = interpreted(swap_kernel, of(8, 16), X)
    assert np.array_equal(o, np.roll(X, 4, axis=0)) and "o[0:4] = x[4:8]" in body


@pytest.mark.parametrize(
    "taken",
    [
        lambda x, a: x[:, a],
        lambda x, a: x[a],
        lambda x, a: x[a, 2],
        lambda x, a: x[a, a],
        lambda x, a: x[a[:, None], a],
    ],
)
def test_other_indices_are_loaded_one_by_one(taken):
    def take_kernel(x_ref, a_ref, o_ref):
        o_ref[...] = taken(x_ref, a_ref[...])

    a = np.array([3, 0, -1, 2], np.int32)
    want = taken(X, a)
    o, _ = interpreted(take_kernel, of(*want.shape), X, a)
    assert np.array_equal(o, want)


@pytest.mark.parametrize(
    "subscript",
    [
        lambda a: (slice(None), a),
        lambda a: a,
        lambda a: (a, 2),
        lambda a: (a, slice(2, 6)),
        lambda a: (a, a),
        lambda a: (a[:, None], a),
    ],
)
def test_other_indices_are_stored_one_by_one(subscript):
    def store_kernel(x_ref, y_ref, a_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[subscript(a_ref[...])] = y_ref[...]

    a = np.array([3, 0, -1, 2], np.int32)
    want = X.copy()
    y = np.arange(want[subscript(a)].size, dtype=np.float32).reshape(want[subscript(a)].shape)
    want[subscript(a)] = y
    o, _ = interpreted(store_kernel, of(8, 16), X, y, a)
    assert np.array_equal(o, want)


def test_of_places_that_are_the_same_the_last_one_is_kept():
    def store_kernel(x_ref, a_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)
        o_ref[a_ref[...]] = x_ref[0:4]

    o, _ = interpreted(store_kernel, of(8, 16), X, np.array([3, 0, 3, 3], np.int32))
    assert np.array_equal(o[3], X[3]) and np.array_equal(o[0], X[1]) and not o[[1, 2, 4, 5, 6, 7]].any()


def test_too_many_places_by_indices_are_named():
    def load_kernel(x_ref, a_ref, o_ref):
        o_ref[...] = x_ref[a_ref[...], a_ref[...]]

    def store_kernel(x_ref, a_ref, o_ref):
        o_ref[a_ref[...], a_ref[...]] = x_ref[...]

    many = np.zeros(65, np.int32)
    for kernel, out, x in (load_kernel, of(65), X), (store_kernel, of(8, 16), np.zeros(65, np.float32)):
        with pytest.raises(kiln.pallas.CannotSay, match="a subscript that is an array of indices"):
            interpreted(kernel, out, x, many)


def test_rows_of_a_value_may_be_unstacked_and_constants_subscripted():
    def rows_kernel(x_ref, o_ref, p_ref):
        first, second = jnp.unstack(x_ref[0:2])
        low = jnp.where(x_ref[...] > 20, 1.0, 0.0)[1:2, :]
        o_ref[...] = first - second
        p_ref[...] = low

    def f(x):
        return pl.pallas_call(rows_kernel, out_shape=(of(16), of(1, 16)))(x)

    (spec,) = kiln.pallas.to_specs(f, X)
    o, p = kiln.compile(spec.text)(X, mode="interpret")
    assert np.array_equal(o, X[0] - X[1]) and np.array_equal(p, np.where(X[1:2] > 20, 1, 0))


def test_strides_are_those_of_the_source():
    needs((0, 9, 1), "strides of values that are no gather")

    def strides_kernel(x_ref, o_ref, p_ref):
        o_ref[...] = x_ref[1:7:3, pl.ds(2, 4, stride=2)]
        p_ref[...] = jnp.zeros_like(p_ref)
        p_ref[::2] = x_ref[1::2] + x_ref[...][::2]

    def f(x):
        return pl.pallas_call(strides_kernel, out_shape=(of(2, 4), of(8, 16)))(x)

    (spec,) = kiln.pallas.to_specs(f, X)
    o, p = kiln.compile(spec.text)(X, mode="interpret")
    want = np.zeros((8, 16), np.float32)
    want[::2] = X[1::2] + X[::2]
    assert np.array_equal(o, X[1:7:3, 2:10:2]) and np.array_equal(p, want)
    assert "  o = x[1:5:3, 2:9:2]" in spec.text and "p[0:7:2] = x[1:8:2] + x[0:8:2]" in spec.text


def test_a_part_is_stored_under_a_mask():
    def mask_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        part = o_ref[2:4]
        o_ref[2:4] = jnp.where(x_ref[2:4] > 40, 0.0, part)

    o, body = interpreted(mask_kernel, of(8, 16), X)
    want = X.copy()
    want[2:4] = np.where(X[2:4] > 40, 0, X[2:4])
    assert np.array_equal(o, want) and "o[2:4][mask] = 0.0" in body


def test_indices_of_run_time_are_taken():
    def take_kernel(x_ref, a_ref, o_ref):
        o_ref[...] = x_ref[2, a_ref[...]]

    a = np.arange(96, dtype=np.int32).reshape(8, 12) % 16
    o, body = interpreted(take_kernel, of(8, 12), X, a)
    assert np.array_equal(o, X[2, a]) and "take(x[2], " in body
