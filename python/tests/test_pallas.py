"""Pallas kernels read into specs. The corpus is in tests/import; this holds the interface."""

import functools

import numpy as np
import pytest

import kiln

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from jax.experimental.pallas import tpu as pltpu  # noqa: E402

import kiln.pallas  # noqa: E402


def scaled(x, factor=2.0):
    def scale_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...] * factor

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(scale_kernel, grid=(x.shape[0] // 8,), in_specs=[spec], out_specs=spec, out_shape=shape)(x)


def test_a_call_is_a_spec_with_the_names_of_its_source():
    (spec,) = kiln.pallas.to_specs(scaled, jax.ShapeDtypeStruct((32, 128), jnp.float32))
    head, body = spec.text.split("body: |\n")
    assert head == """\
kernel: scale
doc: The Pallas kernel scale_kernel of test_pallas.py.

grid:
  i: 4

inputs:
  x:
    array: f32[32, 128]
    block: 8, all
    index: i, 0

outputs:
  o:
    array: f32[32, 128]
    block: 8, all
    index: i, 0

"""
    assert body.startswith("  o = x * 2.0  # test_pallas.py:")
    assert (spec.operands, spec.results, spec.scalars, spec.aliases) == ((0,), (0,), (), {})


def test_the_spec_computes_what_the_kernel_does():
    x = np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
    (spec,) = kiln.pallas.to_specs(scaled, x)
    kernel = kiln.compile(spec.text)
    assert np.array_equal(kernel(x, mode="interpret"), 2 * x)


def test_every_line_knows_its_line_of_python():
    (spec,) = kiln.pallas.to_specs(scaled, jax.ShapeDtypeStruct((32, 128), jnp.float32))
    line = spec.text.splitlines().index(next(t for t in spec.text.splitlines() if "o = x" in t)) + 1
    file, number = spec.places[line]
    assert file == __file__
    assert "o_ref[...] = " in open(file).read().splitlines()[number - 1]


def test_what_the_language_lacks_is_named_with_its_line():
    def f(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = jax.lax.lgamma(x_ref[...])

        return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)

    with pytest.raises(kiln.pallas.CannotSay) as error:
        kiln.pallas.to_specs(f, jax.ShapeDtypeStruct((8, 128), jnp.float32))
    assert error.value.construct == "lgamma"
    assert str(error.value) == f"test_pallas.py:{error.value.place[1]}: Kiln's language cannot say lgamma"
    assert "jax.lax.lgamma" in open(__file__).read().splitlines()[error.value.place[1] - 1]


def summed(x):
    """Rows of blocks of 8, summed along the grid."""

    def sum_kernel(x_ref, o_ref):
        @pl.when(pl.program_id(1) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += x_ref[...].sum(axis=1, keepdims=True)

    m, n = x.shape
    return pl.pallas_call(
        sum_kernel, grid=(m // 8, n // 128), in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        out_specs=pl.BlockSpec((8, 1), lambda i, j: (i, 0)), out_shape=jax.ShapeDtypeStruct((m, 1), x.dtype),
    )(x)  # fmt: skip


def of(*shape, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def test_two_sizes_make_a_spec_for_any():
    (spec,) = kiln.pallas.to_symbolic_specs(summed, [of(16, 256)], [of(40, 896)])
    assert "dims:\n  m: {multiple_of: 8}\n  n: {multiple_of: 128}\n" in spec.text
    assert "grid:\n  i: cdiv(m, 8)\n  j: cdiv(n, 128)\n" in spec.text
    assert "array: f32[m, n]" in spec.text and "array: f32[m, 1]" in spec.text
    x = np.arange(24 * 384, dtype=np.float32).reshape(24, 384)
    kernel = kiln.compile(spec.text)
    assert np.allclose(kernel(x, mode="interpret"), x.sum(axis=1, keepdims=True))
    with pytest.raises(kiln.Error, match="multiple of 128"):
        kernel(np.ones((24, 385), np.float32))


def test_sizes_that_tell_too_little_are_refused():
    # 2 and 5 are rows of a batch, and blocks of 8 in 16 and 40
    def f(x):
        return jax.vmap(summed)(x)

    with pytest.raises(kiln.pallas.CannotGeneralise, match="trace at one more list of sizes"):
        kiln.pallas.to_symbolic_specs(f, [of(2, 16, 256)], [of(5, 40, 896)])
    (spec,) = kiln.pallas.to_symbolic_specs(f, [of(2, 16, 256)], [of(5, 40, 896)], [of(3, 56, 384)])
    assert "array: f32[m, n, k]" in spec.text or "array: f32[m, n, p]" in spec.text


def test_statements_that_depend_on_the_size_are_refused_with_their_line():
    def f(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...]
            if x.shape[0] > 8:
                o_ref[0, :] = x_ref[1, :]

        return pl.pallas_call(kernel, out_shape=of(*x.shape))(x)

    with pytest.raises(kiln.pallas.CannotGeneralise, match="depend on the sizes"):
        kiln.pallas.to_symbolic_specs(f, [of(8, 128)], [of(16, 128)])


def test_findings_need_no_arrays_where_shapes_tell_enough():
    def f(x):
        def kernel(x_ref, o_ref):
            o_ref[...] = x_ref[...]

        block = pl.BlockSpec((8, 128), lambda i: (i + 1, 0))
        return pl.pallas_call(kernel, grid=(2,), in_specs=[block], out_specs=block, out_shape=of(*x.shape))(x)

    with pytest.warns(kiln.pallas.KilnWarning) as said:
        found = kiln.pallas.check(f, of(16, 128))
    assert {each.rule for each in found} == {"index-range"}
    line = open(__file__).read().splitlines()[found[0].place[1] - 1]
    assert "lambda i: (i + 1, 0)" in line and said[0].lineno == found[0].place[1]
    assert kiln.pallas.check(summed, of(16, 256)) == []


def test_predictions_and_reports_are_of_each_call():
    def twice(x):
        return summed(summed(x) * x)

    predictions = kiln.pallas.predict(twice, of(16, 256), machine="v6e")
    assert [p.text.split(" on ")[0] for p in predictions] == ["sum_", "sum_"] or len(predictions) == 2
    assert all("v6e" in p.text for p in predictions)
    assert all("<html" in report.html for report in kiln.pallas.report(twice, of(16, 256)))


def test_the_command_writes_specs(tmp_path):
    import subprocess
    import sys

    (tmp_path / "model.py").write_text(
        "import jax, jax.numpy as jnp\n"
        "from jax.experimental import pallas as pl\n"
        "def scaled(x, by=2.0):\n"
        "    def scale_kernel(x_ref, o_ref):\n"
        "        o_ref[...] = x_ref[...] * by\n"
        "    return pl.pallas_call(scale_kernel, out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype))(x)\n"
    )
    root = str(kiln.__path__[0]).removesuffix("/kiln")

    def run(*words):
        command = [sys.executable, "-m", "kiln", "import", *words]
        return subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": root, "JAX_PLATFORMS": "cpu", "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    done = run("model:scaled", "--shapes", "f32[8, 128]", "--with", "by=3.0")
    assert done.returncode == 0 and "o = x * 3.0  # model.py:5" in done.stdout
    done = run("./model.py:scaled", "--shapes", "f32[8, 128]", "--shapes", "f32[24, 256]", "-o", "specs")
    assert done.returncode == 0 and done.stdout == "specs/scale.yaml\n"
    assert "x: f32[m, n]" in (tmp_path / "specs" / "scale.yaml").read_text()
    for words, message in (
        (["model", "--shapes", "f32[8]"], "'model' is not MODULE:FUNCTION"),
        (["model:other"], "has no attribute 'other'"),
        (["model:scaled", "--shapes", "float[8]"], "'float[8]' is no type of an array"),
        (["nowhere:f"], "No module named 'nowhere'"),
    ):
        done = run(*words)
        assert done.returncode == 1 and message in done.stderr and "Traceback" not in done.stderr


def interpreted(kernel, out, *args):
    """What a kernel without a grid gives, by Kiln's interpreter, and its spec's body."""

    def f(*args):
        return pl.pallas_call(kernel, out_shape=out)(*args)

    (spec,) = kiln.pallas.to_specs(f, *args)
    return kiln.compile(spec.text)(*args, mode="interpret"), spec.text.split("body: |")[1]


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

        @pl.loop(0, 1)
        def _(i):
            @pl.loop(i, i + 1)
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
            @pl.loop(0, n)
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


X = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
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


def test_what_a_store_or_many_places_by_indices_lack_is_named():
    def store_kernel(x_ref, a_ref, o_ref):
        o_ref[a_ref[...]] = x_ref[0:4]

    def load_kernel(x_ref, a_ref, o_ref):
        o_ref[...] = x_ref[a_ref[...], a_ref[...]]

    with pytest.raises(kiln.pallas.CannotSay, match="a store by an array of indices"):
        interpreted(store_kernel, of(8, 16), X, np.array([3, 0, 1, 2], np.int32))
    with pytest.raises(kiln.pallas.CannotSay, match="a subscript that is an array of indices"):
        interpreted(load_kernel, of(65), X, np.zeros(65, np.int32))


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


def test_a_semaphore_that_nobody_uses_is_not_there():
    def copy_kernel(x_ref, o_ref, semaphore):
        o_ref[...] = x_ref[...]

    def wait_kernel(x_ref, o_ref, semaphore):
        pltpu.semaphore_signal(semaphore)
        o_ref[...] = x_ref[...]

    def f(kernel, x):
        semaphores = [pltpu.SemaphoreType.REGULAR]
        return pl.pallas_call(kernel, out_shape=of(8, 16), scratch_shapes=semaphores)(x)

    (spec,) = kiln.pallas.to_specs(functools.partial(f, copy_kernel), X)
    assert "scratch:" not in spec.text
    with pytest.raises(kiln.pallas.CannotSay, match="a regular semaphore"):
        kiln.pallas.to_specs(functools.partial(f, wait_kernel), X)


def test_a_kernel_without_outputs_is_named():
    with pytest.raises(kiln.pallas.CannotSay, match="a kernel without outputs"):
        kiln.pallas.to_specs(lambda x: pl.pallas_call(lambda x_ref: None, ())(x), X)


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


def test_strides_are_those_of_the_source():
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


def test_indices_of_run_time_are_taken():
    def take_kernel(x_ref, a_ref, o_ref):
        o_ref[...] = x_ref[2, a_ref[...]]

    a = np.arange(96, dtype=np.int32).reshape(8, 12) % 16
    o, body = interpreted(take_kernel, of(8, 12), X, a)
    assert np.array_equal(o, X[2, a]) and "take(x[2], " in body


def test_a_float_has_powers_of_integers():
    def pow_kernel(x_ref, n_ref, o_ref):
        o_ref[...] = jax.lax.pow(x_ref[...], n_ref[...])

    x, n = np.full((2, 8), 1.5, np.float32), np.arange(16, dtype=np.int32).reshape(2, 8) - 8
    o, _ = interpreted(pow_kernel, of(2, 8), x, n)
    assert np.allclose(o, x**n)
