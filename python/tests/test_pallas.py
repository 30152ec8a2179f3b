"""Pallas kernels read into specs. The corpus is in tests/import; this holds the interface."""

import numpy as np
import pytest

import kiln

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from pallas_calls import of  # noqa: E402

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


def test_sizes_that_determine_too_little_are_refused():
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


def test_diagnostics_need_no_arrays_where_shapes_are_enough():
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
