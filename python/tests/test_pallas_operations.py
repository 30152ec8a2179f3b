"""Operations and loops of imported Pallas kernels compute what they do there."""

import functools

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax_names import RELEASE, loop, semaphore_signal  # noqa: E402
from pallas_calls import X, interpreted, of  # noqa: E402

import kiln  # noqa: E402
import kiln.pallas  # noqa: E402


def test_a_mask_keeps_only_what_comes_back_the_same():
    # what the mask leaves is not what was there, but that cut to 8 bits
    def cut_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref[...] = jnp.where(x_ref[...] > 0, 1, o_ref[...].astype(jnp.int8).astype(jnp.int32))

    x = np.array([[300, -300, 5, -5] * 32] * 8, np.int32)
    o, body = interpreted(cut_kernel, of(8, 128, dtype=jnp.int32), x)
    assert np.array_equal(o, np.where(x > 0, 1, x.astype(np.int8).astype(np.int32))) and "o[" not in body


def test_a_quotient_floors_only_where_nothing_is_negative():
    def halves_kernel(x_ref, o_ref):
        o_ref[...] = jax.lax.div(x_ref[...].astype(jnp.int32), 2)  # of large u32, negative

    x = np.array([[1, 3, 2**32 - 3, 2**31 + 1] * 32] * 8, np.uint32)
    o, body = interpreted(halves_kernel, of(8, 128, dtype=jnp.int32), x)
    assert np.array_equal(o, np.trunc(x.astype(np.int32) / 2)) and "quot(" in body


def test_a_loop_of_one_turn_is_that_turn():
    def sum_kernel(n, x_ref, o_ref):
        def add(k, total):
            return total + x_ref[pl.ds(k * 8, 8), :]

        o_ref[...] = jax.lax.fori_loop(0, n, add, jnp.zeros((8, 128), jnp.float32))

    x = np.random.default_rng(1).standard_normal((16, 128), np.float32)
    once, body = interpreted(functools.partial(sum_kernel, 1), of(8, 128), x)
    assert np.array_equal(once, x[:8]) and "for" not in body and "x[0:8]" in body
    never, body = interpreted(functools.partial(sum_kernel, 0), of(8, 128), x)
    assert np.array_equal(never, 0 * x[:8]) and "for" not in body
    twice, body = interpreted(functools.partial(sum_kernel, 2), of(8, 128), x)
    assert np.array_equal(twice, x[:8] + x[8:]) and "for k in range(2)" in body


def test_a_loop_of_one_turn_in_another_loop_is_that_turn():
    def sum_kernel(x_ref, o_ref):
        o_ref[...] = jnp.zeros_like(o_ref)

        @loop(0, 1)
        def _(i):
            @loop(i, i + 1)
            def _(k):
                o_ref[...] += x_ref[pl.ds(k * 8, 8), :]

    x = np.random.default_rng(1).standard_normal((8, 128), np.float32)
    o, body = interpreted(sum_kernel, of(8, 128), x)
    assert np.array_equal(o, x) and "for" not in body and "ds(" not in body


def test_the_bound_of_a_loop_under_a_condition_is_there_after_it():
    def count_kernel(n_ref, x_ref, o_ref):
        n = n_ref[0]
        o_ref[...] = x_ref[...]

        @pl.when(n_ref[1] > 0)
        def _():
            @loop(0, n)
            def _(k):
                o_ref[...] += 1.0

        o_ref[0, :] += n.astype(jnp.float32)

    def f(n, x):
        smem = pl.BlockSpec(memory_space=pltpu.SMEM)
        return pl.pallas_call(count_kernel, in_specs=[smem, pl.BlockSpec()], out_shape=of(8, 128))(n, x)

    n, x = np.array([5, 1], np.int32), np.zeros((8, 128), np.float32)
    (spec,) = kiln.pallas.to_specs(f, n, x)
    want = np.full((8, 128), 5, np.float32)
    want[0] += 5
    assert np.array_equal(kiln.compile(spec.text)(n, x, mode="interpret"), want)


def test_a_semaphore_that_nobody_uses_is_not_there():
    def copy_kernel(x_ref, o_ref, semaphore):
        o_ref[...] = x_ref[...]

    def wait_kernel(x_ref, o_ref, semaphore):
        semaphore_signal(semaphore)
        o_ref[...] = x_ref[...]

    def f(kernel, x):
        semaphores = [pltpu.SemaphoreType.REGULAR]
        return pl.pallas_call(kernel, out_shape=of(8, 16), scratch_shapes=semaphores)(x)

    (spec,) = kiln.pallas.to_specs(functools.partial(f, copy_kernel), X)
    assert "scratch:" not in spec.text
    with pytest.raises(kiln.pallas.CannotSay, match="a regular semaphore"):
        kiln.pallas.to_specs(functools.partial(f, wait_kernel), X)


def test_a_kernel_without_outputs_is_named():
    def f(x):
        return pl.pallas_call(lambda x_ref: None, ())(x)

    if not (0, 10, 1) <= RELEASE < (0, 12):  # JAX leaves it out by itself
        assert kiln.pallas.to_specs(f, X) == []
        return
    with pytest.raises(kiln.pallas.CannotSay, match="a kernel without outputs"):
        kiln.pallas.to_specs(f, X)


def test_primitives_without_a_word_are_a_few_operations():
    def count_kernel(x_ref, o_ref, p_ref):
        o_ref[...] = jax.lax.population_count(x_ref[...])
        p_ref[...] = jax.lax.clz(x_ref[...])

    def f(x):
        return pl.pallas_call(count_kernel, out_shape=(of(*x.shape, dtype=x.dtype),) * 2)(x)

    for dtype in (np.int32, np.uint32, np.int16, np.uint8):
        info = np.iinfo(dtype)
        x = np.array([0, 1, 2, 3, 127, info.max, info.min, info.max - 1] * 2, dtype).reshape(2, 8)
        (spec,) = kiln.pallas.to_specs(f, x)
        counts, zeros = kiln.compile(spec.text)(x, mode="interpret")
        assert np.array_equal(counts, jax.lax.population_count(x)) and np.array_equal(zeros, jax.lax.clz(x))


def test_the_next_float_is_that_of_numpy():
    def next_kernel(x_ref, y_ref, o_ref):
        o_ref[...] = jnp.nextafter(x_ref[...], y_ref[...])

    values = np.array([-3.2, -0.0, 0.0, 5.1, np.nan, np.inf, -np.inf, 1e-45, -1e-45, 3.4028235e38], np.float32)
    x, y = (np.ascontiguousarray(v) for v in np.meshgrid(values, values))
    o, _ = interpreted(next_kernel, of(*x.shape), x, y)
    with np.errstate(over="ignore"):
        want = np.nextafter(x, y)
    assert np.array_equal(o, want, equal_nan=True) and np.array_equal(np.signbit(o[o == 0]), np.signbit(want[want == 0]))


def test_rows_are_packed_as_on_a_tpu():
    def pack_kernel(x_ref, o_ref, p_ref):
        words = pltpu.bitcast(x_ref[...], jnp.uint32)
        o_ref[...] = words
        p_ref[...] = x_ref.bitcast(jnp.uint32)[1:3] + pltpu.bitcast(pltpu.bitcast(words, jnp.bfloat16), jnp.uint32)[1:3]

    def f(x, **how):
        out = (of(4, 16, dtype=jnp.uint32), of(2, 16, dtype=jnp.uint32))
        return pl.pallas_call(pack_kernel, out_shape=out, **how)(x)

    x = jnp.asarray(X).astype(jnp.bfloat16)
    (spec,) = kiln.pallas.to_specs(f, x)
    o, p = kiln.compile(spec.text)(np.asarray(x), mode="interpret")
    halves = np.asarray(x).view(np.uint16).astype(np.uint32)
    want = halves[::2] | halves[1::2] << 16
    assert np.array_equal(o, want) and np.array_equal(p, 2 * want[1:3])


def test_a_float_has_powers_of_integers():
    def pow_kernel(x_ref, n_ref, o_ref):
        o_ref[...] = jax.lax.pow(x_ref[...], n_ref[...])

    x, n = np.full((2, 8), 1.5, np.float32), np.arange(16, dtype=np.int32).reshape(2, 8) - 8
    o, _ = interpreted(pow_kernel, of(2, 8), x, n)
    assert np.allclose(o, x**n)


def as_in_jax(compute, x, dtype=jnp.float32):
    """What a kernel of `compute` gives, which is what JAX gives, and its body."""

    def kernel(x_ref, o_ref):
        o_ref[...] = compute(x_ref[...])

    want = np.asarray(compute(x))
    o, body = interpreted(kernel, of(*want.shape, dtype=want.dtype), x)
    assert np.array_equal(o, want, equal_nan=want.dtype.kind == "f")
    return body


MIXED = np.array([[3, -1, 2, 0, 3], [-0.0, np.nan, 0, np.inf, -5], [7, 7, 7, -7, 7]], np.float32)


def test_sorts_and_reversals():
    assert "sort(x, axis=1)" in as_in_jax(lambda x: jnp.sort(x, axis=1), MIXED)
    assert "sort(x, axis=0)" in as_in_jax(lambda x: jnp.sort(x, axis=0), MIXED)
    assert "flip(sort(x, axis=1), 1)" in as_in_jax(lambda x: jnp.sort(x, axis=1, descending=True), MIXED)
    assert "argsort(x, axis=1)" in as_in_jax(lambda x: jnp.argsort(x, axis=1), MIXED)
    assert "flip(x, [0, 1])" in as_in_jax(jnp.flip, MIXED)
    as_in_jax(lambda x: jnp.repeat(x, 3, axis=1), MIXED)
    as_in_jax(lambda x: jnp.repeat(x, 2, axis=0), MIXED)
    body = as_in_jax(lambda x: jax.lax.sort((x, x * 2), num_keys=1)[1], np.abs(MIXED[0]))
    assert "argsort(x, axis=0)" in body and "take(" in body


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("keys", [1, 2, 3])
def test_what_goes_with_keys_is_looked_up_where_they_were(axis, keys):
    x = np.random.default_rng(1).integers(0, 3, (6, 9)).astype(np.float32)
    y = np.random.default_rng(2).integers(0, 3, (6, 9)).astype(np.int32)

    def kernel(x_ref, y_ref, *o_refs):
        z = x_ref[...] * 10 + y_ref[...]
        for o_ref, value in zip(
            o_refs, jax.lax.sort((x_ref[...], y_ref[...], z), dimension=axis, num_keys=keys), strict=True
        ):
            o_ref[...] = value

    want = [np.asarray(w) for w in jax.lax.sort((x, y, x * 10 + y), dimension=axis, num_keys=keys)]
    got, body = interpreted(kernel, [of(*w.shape, dtype=w.dtype) for w in want], x, y)
    assert all(map(np.array_equal, got, want)) and body.count("argsort(") == keys


def test_a_choice_of_several_is_one_by_number():
    def chosen(x):
        which = jax.lax.broadcasted_iota(jnp.int32, (1, 5), 1) % 4
        return jax.lax.select_n(which, *(x * k for k in range(4)))

    body = as_in_jax(chosen, MIXED[2:])
    assert "== 0" in body and "== 2" in body
    as_in_jax(lambda x: jax.lax.select_n(jnp.zeros(x.shape, jnp.int32), x), MIXED)


def test_scans_both_ways():
    x = np.round(np.random.default_rng(1).standard_normal((4, 9), np.float32) * 4)
    for word in ("cumsum", "cummax", "cummin", "cumprod"):
        scan = getattr(jax.lax, word)
        for axis in (0, 1):
            assert f"{word}(x, axis={axis})" in as_in_jax(lambda x, f=scan, a=axis: f(x, axis=a), x)
            body = as_in_jax(lambda x, f=scan, a=axis: f(x, axis=a, reverse=True), x)
            assert f"flip({word}(flip(x, {axis}), axis={axis}), {axis})" in body


def test_the_largest_and_where_they_are():
    def kernel(x_ref, values_ref, ids_ref):
        largest, places = jax.lax.top_k(x_ref[...], 3)
        values_ref[...] = largest
        ids_ref[...] = places

    x = MIXED[[0, 2]]
    (values, ids), body = interpreted(kernel, (of(2, 3), of(2, 3, dtype=jnp.int32)), x)
    assert "let largest, places = top_k(x, 3, axis=1)" in body
    want, at = jax.lax.top_k(x, 3)
    assert np.array_equal(values, want) and np.array_equal(ids, at)


def test_bits_that_are_compared_stand_in_parentheses():
    x = np.arange(8, dtype=np.int32)[None]
    assert "(x & 1) > (x ^ 3)" in as_in_jax(lambda x: jnp.where((x & 1) > (x ^ 3), x, -x), x)

    def kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]

        @pl.when((jnp.max(x_ref[...]) & 1) != 0)
        def _():
            o_ref[...] = -x_ref[...]

    o, body = interpreted(kernel, of(1, 8, dtype=jnp.int32), x)
    assert np.array_equal(o, -x) and "& 1) != 0" in body


def test_comparisons_whose_outcome_is_known_go():
    def kernel(x_ref, k_ref, o_ref):
        k = k_ref[0, 0]
        one = jnp.where(k > 3, 1, 0)
        known = (one == 2) | (k != k) | ((one == 1) & (k - 1 < k - 1))
        o_ref[...] = jnp.where(known, x_ref[...], jnp.where(one == 0, -x_ref[...], x_ref[...] * (one == 1)))

    for k in (3, 4):
        o, body = interpreted(kernel, of(*MIXED.shape), MIXED, np.full((1, 1), k, np.int32))
        assert np.array_equal(o, MIXED if k > 3 else -MIXED, equal_nan=True)
        assert "==" not in body.split("#")[0] and "!=" not in body
