"""Pallas kernels that run compiled on a CPU: `kiln.jax.native`."""

import functools
import inspect
import math
import re
import warnings

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pl = pytest.importorskip("jax.experimental.pallas")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import PartitionSpec  # noqa: E402
from jax_names import CompilerParams, InterpretParams, needs, shard_map  # noqa: E402

import kiln  # noqa: E402
import kiln.jax  # noqa: E402
import kiln.pallas  # noqa: E402
from kiln import errors  # noqa: E402

BLOCK = pl.BlockSpec((8, 128), lambda i: (i, 0))
X = np.random.default_rng(1).standard_normal((32, 128), np.float32)


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def rows(kernel, *arrays, **options):
    """By blocks of 8 rows."""
    grid, blocks = (arrays[0].shape[0] // 8,), [BLOCK] * len(arrays)
    call = pl.pallas_call(kernel, grid=grid, in_specs=blocks, out_specs=BLOCK, out_shape=like(arrays[0]), **options)
    return call(*arrays)


def add_kernel(x_ref, y_ref, o_ref):
    o_ref[...] = x_ref[...] + y_ref[...]


def gamma_kernel(x_ref, o_ref):
    o_ref[...] = jax.lax.lgamma(x_ref[...])


add = functools.partial(rows, add_kernel)
gamma = functools.partial(rows, gamma_kernel)


def calls_in(function, *arguments):
    return jax.jit(function).lower(*arguments).as_text().count("custom_call @kiln_call")


# who lowers a call -------------------------------------------------------------------------------


def test_only_inside_is_a_call_native():
    function = jax.jit(add)
    for _ in range(2):
        with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
            function(X, X)
        with kiln.jax.native(strict=True):
            assert np.array_equal(function(X, X), X + X)
            assert np.array_equal(add(X, X), X + X)
            assert calls_in(add, X, X) == 1


def test_installed_it_is_everywhere():
    kiln.jax.install(strict=True)
    try:
        assert np.array_equal(jax.jit(add)(X, X), X + X)
    finally:
        kiln.jax.uninstall()
    with pytest.raises(ValueError, match="Only interpret mode is supported on CPU backend"):
        jax.jit(add)(X, X)


def test_interpret_is_taken_over_and_other_interpreters_are_not():
    with kiln.jax.native():
        assert calls_in(functools.partial(add, interpret=True), X, X) == 1
        if InterpretParams is not None:
            assert calls_in(functools.partial(add, interpret=InterpretParams()), X, X) == 0
    assert calls_in(functools.partial(add, interpret=True), X, X) == 0


@pytest.mark.parametrize("mode", ["emulate", "interpret"])
def test_the_other_engines(mode):
    with kiln.jax.native(strict=True, mode=mode):
        assert np.array_equal(jax.jit(add)(X, X), X + X)
        assert calls_in(add, X, X) == 0


def test_a_mode_that_is_none():
    with pytest.raises(ValueError, match="mode is 'fast', expected one of direct, emulate, interpret"):
        with kiln.jax.native(mode="fast"):
            pass


# what is around it stays JAX's own ---------------------------------------------------------------


def test_batches_shards_and_loops():
    with kiln.jax.native(strict=True):
        batch = np.stack([X, -X, X * 2])
        assert np.array_equal(jax.jit(jax.vmap(add, (0, None)))(batch, X), batch + X)
        scanned = jax.jit(lambda x: jax.lax.scan(lambda c, _: (add(c, X), ()), x, None, length=3)[0])
        assert np.array_equal(scanned(np.zeros_like(X)), X + X + X)
        mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
        both, part = np.concatenate([X, -X]), PartitionSpec("d")
        shards = shard_map(add, mesh, part, part, check_vma=False)
        assert np.array_equal(jax.jit(shards)(both, both), both + both)


def test_an_alias_is_written_in_place_where_its_array_is_donated():
    in_place = functools.partial(add, input_output_aliases={0: 0})
    with kiln.jax.native(strict=True):
        kept = jnp.asarray(X)
        assert np.array_equal(jax.jit(in_place)(kept, X), X + X) and np.array_equal(kept, X)
        given = jnp.asarray(X) + 0
        place = given.unsafe_buffer_pointer()
        o = jax.jit(in_place, donate_argnums=0)(given, X)
        assert o.unsafe_buffer_pointer() == place and np.array_equal(o, X + X)


def test_the_steps_of_a_grid_may_be_known_at_the_call_only():
    def double_kernel(x_ref, _, o_ref):
        o_ref[...] = x_ref[...] * 2

    def double(n, x):
        call = pl.pallas_call(
            double_kernel, grid=(n,), in_specs=[BLOCK, BLOCK], out_specs=BLOCK, out_shape=like(x),
            input_output_aliases={1: 0},
        )  # fmt: skip
        return call(x, x)

    with kiln.jax.native(strict=True):
        for n in (2, 4):
            assert np.array_equal(jax.jit(double)(n, X), np.concatenate([X[: n * 8] * 2, X[n * 8 :]]))


def test_an_output_that_nobody_reads_is_scratch():
    def sums_kernel(x_ref, o_ref, sum_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...]
        o_ref[...] = sum_ref[...]

    def sums(x):
        whole = pl.BlockSpec((8, 128), lambda i: (0, 0))
        shapes = (like(x), jax.ShapeDtypeStruct((8, 128), x.dtype))
        return pl.pallas_call(sums_kernel, grid=(4,), in_specs=[BLOCK], out_specs=(BLOCK, whole), out_shape=shapes)(x)

    want = np.cumsum(X.reshape(4, 8, 128), axis=0)
    with kiln.jax.native(strict=True):
        o, last = jax.jit(sums)(X)
        assert np.array_equal(o, want.reshape(32, 128)) and np.array_equal(last, want[-1])
        alone = jax.jit(lambda x: sums(x)[0])
        assert np.array_equal(alone(X), o)
        if jax.__version_info__ >= (0, 7):  # an equation of 0.6 has no place to say who reads
            assert "-> tensor<32x128xf32>" in alone.lower(X).as_text().split("kiln_call")[1].splitlines()[0]
        assert np.array_equal(jax.jit(jax.vmap(lambda x: sums(x)[1]))(np.stack([X, -X])), [want[-1], -want[-1]])


# what Kiln cannot say, or refuses ----------------------------------------------------------------


def line_of(function, text):
    lines, first = inspect.getsourcelines(function)
    return first + next(i for i, line in enumerate(lines) if text in line)


def test_what_cannot_be_said_is_interpreted_with_one_warning_at_its_line():
    with kiln.jax.native(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            assert np.allclose(jax.jit(lambda x: gamma(x))(X), np.vectorize(math.lgamma)(X), rtol=1e-4, atol=1e-4)
        assert calls_in(gamma, X) == 0
    (warning,) = [w for w in caught if issubclass(w.category, kiln.jax.NotNative)]
    line = line_of(gamma_kernel, "lgamma")
    assert (warning.filename, warning.lineno) == (__file__, line)
    text = f"this Pallas kernel is interpreted: test_jax_native.py:{line}: Kiln's language cannot say lgamma"
    assert str(warning.message) == text


def test_strictly_it_is_an_exception():
    with kiln.jax.native(strict=True), pytest.raises(kiln.pallas.CannotSay, match="cannot say lgamma$") as caught:
        jax.jit(gamma)(X)
    assert caught.value.place == (__file__, line_of(gamma_kernel, "lgamma"))


def race_kernel(x_ref, o_ref):
    o_ref[...] = x_ref[...]


def race(x):
    everywhere = pl.BlockSpec((8, 128), lambda i: (0, 0))
    return pl.pallas_call(
        race_kernel, grid=(4,), in_specs=[BLOCK], out_specs=everywhere, out_shape=jax.ShapeDtypeStruct((8, 128), x.dtype),
        compiler_params=CompilerParams(dimension_semantics=("parallel",)),
    )(x)  # fmt: skip


def test_a_kernel_that_the_checker_refuses_is_interpreted_too():
    with kiln.jax.native(), pytest.warns(kiln.jax.NotNative, match="is interpreted: Kiln refuses it: .*race|parallel"):
        assert np.array_equal(jax.jit(race)(X), X[-8:])
    with kiln.jax.native(strict=True), pytest.raises(errors.RaceError):
        jax.jit(race)(X)


def test_diagnostics_are_warnings_at_the_line():
    def short(x):
        return pl.pallas_call(race_kernel, grid=(3,), in_specs=[BLOCK], out_specs=BLOCK, out_shape=like(x))(x)

    with kiln.jax.native(check=True, strict=True), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert np.array_equal(jax.jit(short)(X)[:24], X[:24])
        assert np.array_equal(jax.jit(add)(X, X), X + X)
    (warning,) = [w for w in caught if issubclass(w.category, kiln.pallas.KilnWarning)]
    assert str(warning.message) == (
        "error[coverage]: no step visits block (3, 0) of `o` (rows 24..31, columns 0..127)"
        " (hint: axis `i` has 3 steps, 4 are needed)"
    )
    assert warning.filename == __file__
    assert open(__file__).read().splitlines()[warning.lineno - 1].startswith("BLOCK = ")  # whose index map is short


# what kernels may have ----------------------------------------------------------------------------


def test_a_kernel_without_outputs_does_nothing():
    with kiln.jax.native(strict=True):
        assert pl.pallas_call(lambda x_ref: None, ())(X) == ()


@pytest.mark.parametrize("dtype", ["int4", "uint4", "int2", "uint2"])
def test_integers_of_a_few_bits_are_those_of_jax(dtype):
    def narrow_kernel(x_ref, n_ref, y_ref, o_ref):
        wide = n_ref[...].astype(dtype)
        y_ref[...] = x_ref[...].astype(dtype)
        o_ref[...] = jnp.where(n_ref[...] > 2, wide * wide + y_ref[...], wide)

    def f(x, n):
        shape = jax.ShapeDtypeStruct(x.shape, dtype)
        return pl.pallas_call(narrow_kernel, out_shape=(shape, shape))(x, n)

    numbers = np.array([0, 1, 3, 7, 8, 9, 15, 16, 100, 200, -1, -2, -8, -9, -16, -200], np.int32).reshape(2, 8)
    x = numbers + np.float32(0.7)
    with kiln.jax.native(strict=True):
        y, o = jax.jit(f)(x, numbers)
        assert calls_in(f, x, numbers) == 1
    narrowed, wide = jnp.asarray(x).astype(dtype), jnp.asarray(numbers).astype(dtype)
    assert y.dtype == o.dtype == narrowed.dtype
    assert np.array_equal(y, narrowed)
    assert np.array_equal(o, jnp.where(numbers > 2, wide * wide + narrowed, wide))


def test_operands_may_be_integers_of_a_few_bits():
    def wide_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...].astype(jnp.float32)

    x = jnp.arange(-8, 8).reshape(2, 8).astype(jnp.int4)
    with kiln.jax.native(strict=True):
        wide = pl.pallas_call(wide_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, jnp.float32))(x)
    assert np.array_equal(wide, x.astype(jnp.float32))


def kernels_in(function, *arguments):
    """The names of compiled kernels in what is lowered."""
    return re.findall(r'kernel = "([^"]+)"', jax.jit(function).lower(*arguments).as_text())


def test_scales_of_blocks_are_powers_of_two():
    """As microscaling has them: 32 elements of a row share one."""
    needs((0, 8, 0), "casts to 8 bits that are rounded once")

    def quantise_kernel(x_ref, q_ref, s_ref):
        blocks = x_ref[...].reshape(8, 4, 32)
        scales = (jnp.max(jnp.abs(blocks), axis=2) / 256).astype(jnp.float8_e8m0fnu)  # may be rounded down
        s_ref[...] = scales
        q_ref[...] = (blocks / scales.astype(jnp.float32)[:, :, None]).reshape(8, 128).astype(jnp.float8_e4m3fn)

    def restore_kernel(q_ref, s_ref, o_ref):
        blocks = q_ref[...].reshape(8, 4, 32).astype(jnp.float32)
        o_ref[...] = (blocks * s_ref[...].astype(jnp.float32)[:, :, None]).reshape(8, 128)

    def both(x):
        scales = pl.BlockSpec((8, 4), lambda i: (i, 0))
        shapes = (jax.ShapeDtypeStruct(x.shape, jnp.float8_e4m3fn), jax.ShapeDtypeStruct((32, 4), jnp.float8_e8m0fnu))
        options = {"grid": (4,), "interpret": True}
        quantise = pl.pallas_call(
            quantise_kernel, in_specs=[BLOCK], out_specs=(BLOCK, scales), out_shape=shapes, **options
        )
        restore = pl.pallas_call(
            restore_kernel, in_specs=[BLOCK, scales], out_specs=BLOCK, out_shape=like(x), **options
        )
        q, s = quantise(x)
        return q, s, restore(q, s)

    want = jax.jit(both)(X)
    with kiln.jax.native(strict=True):
        got = jax.jit(both)(X)
        assert calls_in(both, X) == 2
    for one, other in zip(got, want, strict=True):
        assert one.dtype == other.dtype and np.array_equal(np.asarray(one), np.asarray(other))
    assert np.abs(np.asarray(got[2]) - X).max() < 0.25


def test_calls_of_other_sizes_share_one_kernel():
    def two_kernel(x_ref, y_ref, o_ref):
        o_ref[...] = x_ref[...] + y_ref[...] * 2

    def f(x, y):
        return rows(two_kernel, x, y)

    def arrays(m, n):
        x = np.random.default_rng(m).standard_normal((m, n), np.float32)
        return x, x[::-1]

    def rows(kernel, x, y):
        m, n = x.shape
        block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        grid, blocks = (m // 8, n // 128), [block, block]
        return pl.pallas_call(kernel, grid=grid, in_specs=blocks, out_specs=block, out_shape=like(x))(x, y)

    made = []
    with kiln.jax.native(strict=True):
        for m, n in ((16, 256), (40, 384), (64, 640), (24, 512), (16, 256)):
            x, y = arrays(m, n)
            assert np.array_equal(jax.jit(f)(x, y), x + y * 2)
            made += kernels_in(f, x, y)
    assert len(made) == 5 and made[0] == made[4] and made[1] == made[2] == made[3] != made[0]


def test_sizes_that_inputs_do_not_have_are_passed():
    def wide_kernel(x_ref, o_ref):
        o_ref[...] = jnp.broadcast_to(x_ref[...], o_ref.shape)

    def f(x, n):
        block = pl.BlockSpec((8, 128), lambda i, j: (i, j))
        return pl.pallas_call(
            wide_kernel, grid=(x.shape[0] // 8, n // 128), in_specs=[pl.BlockSpec((8, 1), lambda i, j: (i, 0))],
            out_specs=block, out_shape=jax.ShapeDtypeStruct((x.shape[0], n), x.dtype),
        )(x)  # fmt: skip

    made = []
    with kiln.jax.native(strict=True):
        for m, n in ((16, 256), (40, 384), (64, 640)):
            x = np.arange(m, dtype=np.float32)[:, None]
            assert np.array_equal(f(x, n), np.broadcast_to(x, (m, n)))
            made += kernels_in(lambda x: f(x, n), x)  # noqa: B023
    assert made[0] != made[1] == made[2]


def test_kernels_that_differ_in_more_than_sizes_are_others():
    def scaled_kernel(by, x_ref, o_ref):
        o_ref[...] = x_ref[...] * by

    made = []
    with kiln.jax.native(strict=True):
        for by in (2, 3, 5):
            made += kernels_in(lambda x: rows(functools.partial(scaled_kernel, by), x), X)  # noqa: B023
            assert np.array_equal(rows(functools.partial(scaled_kernel, by), X), X * by)
    assert len(set(made)) == 3
