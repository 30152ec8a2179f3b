"""Kernels over a mesh of cores, pipelines inside of a grid, and waits for more than one copy."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax_names import needs  # noqa: E402
from pallas_calls import of  # noqa: E402

import kiln.jax  # noqa: E402
import kiln.pallas  # noqa: E402

X = np.arange(16 * 128, dtype=np.float32).reshape(16, 128)
HBM = pl.BlockSpec(memory_space=pl.ANY)


def cores(count):
    needs((0, 10, 2), "`out_type` of pl.kernel")
    made = getattr(pltpu, "TensorCoreMesh", None) or pltpu.create_tensorcore_mesh
    return made(axis_name="core", num_cores=count)


def in_every_engine(f, *args):
    """What f gives in each of Kiln's engines."""
    found = []
    for mode in ("interpret", "direct", "emulate"):
        with kiln.jax.native(strict=True, mode=mode):
            found.append(np.asarray(jax.jit(f)(*args)))
    assert all(np.array_equal(found[0], other) for other in found)
    return found[0]


def doubled_by_core(x_hbm, o_hbm, rows):
    own = pl.ds(jax.lax.axis_index("core") * 8, 8)
    pltpu.sync_copy(x_hbm.at[own], rows)
    rows[...] *= 2
    pltpu.sync_copy(rows, o_hbm.at[own])


def test_a_mesh_of_cores_is_a_parallel_axis():
    mesh = cores(2)
    kernel = pl.kernel(
        doubled_by_core, out_type=of(16, 128), mesh=mesh, scratch_types=[pltpu.VMEM((8, 128), jnp.float32)]
    )
    (spec,) = kiln.pallas.to_specs(lambda x: kernel(x), X)
    assert "grid:\n  core: 2\ndimension_semantics: parallel\n" in spec.text
    assert np.array_equal(in_every_engine(lambda x: kernel(x), X), X * 2)


def test_cores_that_write_the_same_rows_are_refused():
    def all_write(x_hbm, o_hbm):
        pltpu.sync_copy(x_hbm, o_hbm)

    mesh = cores(2)
    kernel = pl.kernel(all_write, out_type=of(16, 128), mesh=mesh)
    (spec,) = kiln.pallas.to_specs(lambda x: kernel(x), X)
    with pytest.raises(kiln.errors.Error) as error:
        kiln.compile(spec.text)(X, mode="interpret")
    assert error.value.rule == "race"


def plus_one(x_ref, o_ref):
    o_ref[...] = x_ref[...] + 1


def halves(rows_of):
    """A pipeline for each step of a grid, over blocks that `rows_of` names."""

    def kernel(x_hbm, o_hbm):
        half = pl.program_id(0)
        block = pl.BlockSpec((8, 128), lambda i: (rows_of(half, i), 0))
        pltpu.emit_pipeline(plus_one, grid=(2,), in_specs=[block], out_specs=[block])(x_hbm, o_hbm)

    def f(x):
        return pl.pallas_call(kernel, grid=(2,), out_shape=of(32, 128), in_specs=[HBM], out_specs=HBM)(x)

    return f


def test_a_pipeline_inside_of_a_grid_stays_one():
    needs((0, 10, 2), "emit_pipeline as an equation")
    x = np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
    f = halves(lambda half, i: half * 2 + i)
    (spec,) = kiln.pallas.to_specs(f, x)
    grid, pipeline = spec.text.split("\npipeline:\n")
    assert "grid:\n  i: 2\n" in grid and grid.count("memory: any") == 2
    assert "    x:\n      block: 8, all\n      index: i * 2 + i_2, 0\n" in pipeline
    assert np.array_equal(kiln.compile(spec.text)(x, mode="interpret"), x + 1)
    assert np.array_equal(in_every_engine(f, x), x + 1)


def test_what_a_pipeline_leaves_is_lost():
    """Rows that the pipelines of two steps visit: the second does not find what the first wrote."""
    needs((0, 10, 2), "emit_pipeline as an equation")
    (spec,) = kiln.pallas.to_specs(halves(lambda half, i: half + i), of(32, 128))
    with pytest.raises(kiln.errors.Error) as error:
        kiln.compile(spec.text)
    assert error.value.rule == "revisit"


def test_blocks_of_a_size_known_at_run_time():
    needs((0, 10, 2), "emit_pipeline as an equation")

    def kernel(rows_ref, x_hbm, o_hbm):
        rows = rows_ref[0]
        block = pl.BlockSpec((pl.BoundedSlice(8), 128), lambda i: (pl.ds(i * 8, jnp.minimum(8, rows - i * 8)), 0))
        pltpu.emit_pipeline(plus_one, grid=(2,), in_specs=[block], out_specs=[block])(x_hbm, o_hbm)

    def f(rows, x):
        grid = pltpu.PrefetchScalarGridSpec(num_scalar_prefetch=1, grid=(), in_specs=[HBM], out_specs=HBM)
        return pl.pallas_call(kernel, grid_spec=grid, out_shape=of(16, 128))(rows, x)

    rows = np.array([13], np.int32)
    (spec,) = kiln.pallas.to_specs(f, rows, X, init_undefined=True)
    assert "block: bounded(8), all\n    index: ds(i * 8, min(8, rows[0] - i * 8)), 0\n" in spec.text
    kernel_ = kiln.compile(spec.text)
    for mode in ("interpret", "direct", "emulate"):
        assert np.array_equal(kernel_(rows, X, mode=mode)[:13], X[:13] + 1)


def gathered(x_hbm, starts, o_ref, rows, arrived):
    """One wait for several copies, by a window that is longer than what it is of."""
    for k in range(3):
        pltpu.make_async_copy(x_hbm.at[pl.ds(starts[k], k + 1)], rows.at[k, pl.ds(0, k + 1)], arrived).start()
    count = starts[0] * 0 + starts[3]
    pltpu.make_async_copy(rows.at[0, pl.ds(0, count)], rows.at[0, pl.ds(0, count)], arrived).wait()
    o_ref[...] = rows[:, 0, :]


def test_one_wait_for_several_copies():
    def f(x, starts):
        return pl.pallas_call(
            gathered, out_shape=of(3, 128), in_specs=[HBM, pl.BlockSpec(memory_space=pltpu.SMEM)],
            scratch_shapes=[pltpu.VMEM((3, 3, 128), jnp.float32), pltpu.SemaphoreType.DMA],
        )(x, starts)  # fmt: skip

    starts = np.array([5, 9, 2, 1 + 2 + 3], np.int32)
    (spec,) = kiln.pallas.to_specs(f, X, starts)
    assert "for row in range(" in spec.text and "  wait arrived, rows[0, 0:1]" in spec.text
    assert np.array_equal(in_every_engine(f, X, starts), X[starts[:3]])


def test_a_wait_that_sees_the_memory_in_another_shape():
    """What it waits for is known at run time, so that it is a wait for each row of what it sees."""

    def kernel(n_ref, x_ref, o_ref, held, arrived):
        for k in range(2):
            pltpu.make_async_copy(x_ref.at[pl.ds(8 * k, 8)], held.at[k, 1], arrived).start()
        rows = held.reshape(32, 128).at[pl.ds(0, 2 * n_ref[0])]
        pltpu.make_async_copy(rows, rows, arrived).wait()
        o_ref[0:8] = held[0, 1]
        o_ref[8:16] = held[1, 1]

    def f(n, x):
        return pl.pallas_call(
            kernel, out_shape=of(16, 128), in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM), HBM],
            scratch_shapes=[pltpu.VMEM((2, 2, 8, 128), jnp.float32), pltpu.SemaphoreType.DMA],
        )(n, x)  # fmt: skip

    n = np.array([8], np.int32)
    (spec,) = kiln.pallas.to_specs(f, n, X)
    assert "wait arrived, held[0, 0, 0:1]" in spec.text
    assert np.array_equal(in_every_engine(f, n, X), X)


def test_a_kernel_that_asks_for_the_tpu_learns_of_one():
    needs((0, 9, 1), "get_tpu_info of a CPU")

    def f(x):
        rows = pltpu.get_tpu_info().num_sublanes
        block = pl.BlockSpec((rows, 128), lambda i: (i, 0))
        return pl.pallas_call(plus_one, grid=(16 // rows,), in_specs=[block], out_specs=block, out_shape=of(16, 128))(x)

    assert np.array_equal(in_every_engine(f, X), X + 1)
    with pytest.raises(ValueError, match="Unsupported TPU device kind"):
        pltpu.get_tpu_info()
