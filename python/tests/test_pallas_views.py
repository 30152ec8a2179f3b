"""Memory that imported kernels see in other shapes and types than it has, and what they do with it."""

import random
from math import prod

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = jax.numpy
pl = pytest.importorskip("jax.experimental.pallas")

import calls_views as views  # noqa: E402
from jax.experimental.pallas import tpu as pltpu  # noqa: E402
from jax_names import needs  # noqa: E402
from pallas_calls import X, interpreted, of  # noqa: E402

import kiln.jax  # noqa: E402
import kiln.pallas  # noqa: E402
from kiln.pallas.ir import Bitcast, Index, Operation, Range, Ref, Reshape, Value, Window  # noqa: E402
from kiln.pallas.passes import subscripts  # noqa: E402

# subscripts in front of reshapes and bitcasts -----------------------------------------------------


def number(n):
    return Value("i32", constant=n)


def some_number(n, known):
    """As a number or as a value that is known at run time alone."""
    if random.random() < 0.7:
        return number(n)
    value = Value("i32")
    known[value] = n
    return value


def factors(n, count):
    found = []
    for _ in range(count - 1):
        found.append(random.choice([d for d in range(1, n + 1) if n % d == 0]))
        n //= found[-1]
    return tuple(random.sample([*found, n], count))


def some_entry(extent, rank, known):
    start, stride = random.randrange(extent), random.choice([1, 1, 1, 2, 3, 4, 6])
    if random.random() < 0.4:
        return Range(number(0), extent)
    if random.random() < 0.3 and rank > 2:
        return some_number(start, known)
    return Range(some_number(start, known), random.randint(1, (extent - 1 - start) // stride + 1), stride)


def some_steps(shape, known):
    steps, dtype = [], "u16"
    for _ in range(random.randint(1, 4)):
        kind = random.random()
        if kind < 0.4:
            shape = factors(prod(shape), random.randint(1, 4))
            steps.append(Reshape(shape))
        elif kind < 0.55 and dtype == "u16" and len(shape) > 1 and shape[-2] % 2 == 0:
            shape, dtype = (*shape[:-2], shape[-2] // 2, shape[-1]), "u32"
            steps.append(Bitcast(dtype))
        elif shape:
            steps.append(Index(tuple(some_entry(n, len(shape), known) for n in shape)))
            shape = tuple(e.size for e in steps[-1].entries if isinstance(e, Range))
    return tuple(steps)


def taken(array, steps, known):
    for step in steps:
        if isinstance(step, Reshape):
            array = array.reshape(step.shape)
        elif isinstance(step, Bitcast):
            array = array[..., 0::2, :].astype(np.uint32) | array[..., 1::2, :].astype(np.uint32) << 16
        else:
            array = array[tuple(numpys(entry, known) for entry in step.entries)]
    return array


def numpys(entry, known):
    if not isinstance(entry, Range):
        return known.get(entry, entry.constant)
    start = known.get(entry.start, entry.start.constant)
    return slice(start, start + (entry.size - 1) * entry.stride + 1, entry.stride)


def compute(operations, known):
    for operation in operations:
        a, b = (known.get(value, value.constant) for value in operation.inputs)
        known[operation.output] = a * b if operation.name == "mul" else a + b


def test_a_subscript_takes_the_same_in_front_of_a_reshape():
    random.seed(1)
    moved = computed = 0
    for _ in range(6000):
        shape, known = factors(random.choice([24, 36, 48, 64]), random.randint(2, 4)), {}
        window = Window(Ref("x", "u16", shape, "vmem"), some_steps(shape, known))
        starts = subscripts.Starts()
        found = subscripts.in_front(window, starts)
        operations = starts.operations(Operation("load", windows=[found]))
        compute(operations, known)
        array = np.arange(prod(shape), dtype=np.uint16).reshape(shape)
        assert np.array_equal(taken(array, found.steps, known), taken(array, window.steps, known)), (shape, window.steps)
        moved += found.steps != window.steps
        computed += bool(operations)
    assert moved > 1000 and computed > 50


def test_a_part_of_a_reshaped_ref_is_a_part_of_memory():
    def take_kernel(x_ref, o_ref):
        o_ref[...] = x_ref.reshape(2, 4, 16)[1, 1:3]

    o, body = interpreted(take_kernel, of(2, 16), X)
    assert np.array_equal(o, X[5:7]) and "o = x[5:7]" in body


def test_a_place_that_a_run_knows_is_a_part_of_memory():
    """Four bytes a number: a byte's rows are one row of the numbers."""

    def store_kernel(x_ref, o_ref):
        rows = o_ref.bitcast(jnp.uint8).reshape(8, 4, 16)
        words = o_ref.reshape(4, 2, 16)

        @pl.loop(0, 8)
        def _(d):
            rows[d] = pltpu.bitcast(x_ref[pl.ds(7 - d, 1)], jnp.uint8)

        @pl.loop(0, 4)
        def _(d):
            words[d, 1] = words[d, 1] + 1

    o, body = interpreted(store_kernel, of(8, 16), X)
    wanted = X[::-1].copy()
    wanted[1::2] += 1
    assert np.array_equal(o, wanted)
    assert "bitcast(f32, bitcast(u8," in body and "idx_2 * 2 + 1" in body


def test_a_part_of_a_bitcast_ref_is_stored_under_a_mask():
    def store_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        words = o_ref.bitcast(jnp.uint32)
        words[2:4] = jnp.where(x_ref[2:4] > 40, jnp.uint32(0), words[2:4])

    o, body = interpreted(store_kernel, of(8, 16), X)
    wanted = X.copy()
    wanted[2:4] = np.where(X[2:4] > 40, 0, X[2:4])
    assert np.array_equal(o, wanted) and "o[2:4] = bitcast(f32, where(" in body


def test_what_no_subscript_says_cannot_be_stored():
    def store_kernel(x_ref, o_ref):
        o_ref[...] = x_ref[...]
        o_ref.reshape(128)[13:19] = x_ref[0, 0:6]

    with pytest.raises(kiln.pallas.CannotSay, match="a store into a part of a reshaped ref"):
        interpreted(store_kernel, of(8, 16), X)


# copies ------------------------------------------------------------------------------------------


def test_arrays_that_a_kernel_copies_in_another_shape_are_passed_in_it():
    from corpus import CASES

    update, arguments = CASES["rows_into_pages"].make()
    tables, positions, new, cache = arguments
    with kiln.jax.native(strict=True):
        got = jax.jit(update)(*arguments)
    assert got.shape == cache.shape and np.array_equal(got, views.cache_after(*arguments))
    (spec,) = kiln.pallas.to_specs(update, *arguments)
    assert spec.shapes == {"cache_hbm_before": (48, 128), "cache_hbm": (48, 128)}
    kiln.pallas.check(update, *arguments)


def test_memory_that_is_copied_in_two_shapes_is_named():
    def copy_kernel(x_hbm, o_ref, held, arrived):
        for source in (x_hbm.reshape(4, 2, 128), x_hbm.reshape(2, 4, 128)):
            pltpu.make_async_copy(source.at[0, 0:2], held, arrived).start()
            pltpu.make_async_copy(source.at[0, 0:2], held, arrived).wait()
        o_ref[...] = held[...]

    def f(x):
        return pl.pallas_call(
            copy_kernel, out_shape=of(2, 128), in_specs=[pl.BlockSpec(memory_space=pl.ANY)],
            scratch_shapes=[pltpu.VMEM((2, 128), jnp.float32), pltpu.SemaphoreType.DMA],
        )(x)  # fmt: skip

    with pytest.raises(kiln.pallas.CannotSay, match="a copy of a reshaped ref"):
        kiln.pallas.to_specs(f, of(8, 128))


# what kernels of serving do besides ---------------------------------------------------------------


def test_a_carried_value_that_only_a_branch_gives_back_is_carried():
    def scan_kernel(x_ref, o_ref):
        def row(k, state):
            started = jax.lax.cond(k % 3 == 0, lambda: jnp.zeros((16,)), lambda: state)
            o_ref[k] = started
            return started + x_ref[k]

        jax.lax.fori_loop(0, 8, row, jnp.zeros((16,)))

    o, _ = interpreted(scan_kernel, of(8, 16), X)
    want = [sum((X[j] for j in range(k - k % 3, k)), np.zeros(16)) for k in range(8)]
    assert np.array_equal(o, want)


def test_a_pipeline_with_scratch_of_its_own_is_what_it_expands_to():
    needs((0, 8), "`scratches` of a pipeline")

    def add_kernel(x_hbm, o_hbm, held):
        def step(x_ref, o_ref, held):
            held[...] = x_ref[...] * 2
            o_ref[...] = held[...] + 1

        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        pipeline = pltpu.emit_pipeline(step, grid=(4,), in_specs=[block], out_specs=[block])
        pipeline(x_hbm, o_hbm, scratches=[held])

    def f(x):
        hbm = pl.BlockSpec(memory_space=pl.ANY)
        held = [pltpu.VMEM((8, 128), jnp.float32)]
        return pl.pallas_call(add_kernel, out_shape=of(32, 128), in_specs=[hbm], out_specs=hbm, scratch_shapes=held)(x)

    (spec,) = kiln.pallas.to_specs(f, of(32, 128))
    x = np.arange(32 * 128, dtype=np.float32).reshape(32, 128)
    assert np.array_equal(kiln.compile(spec.text)(x, mode="interpret"), x * 2 + 1)


def test_a_kernel_has_another_name_than_its_arguments():
    def shift_kernel(x_ref, shift_ref, o_ref):
        o_ref[...] = x_ref[...] + shift_ref[...]

    def f(x, shift):
        return pl.pallas_call(shift_kernel, out_shape=of(*X.shape))(x, shift)

    with kiln.jax.native(strict=True):
        assert np.array_equal(jax.jit(f)(X, X), X + X)
    assert kiln.pallas.to_specs(f, X, X)[0].name == "shift_kernel"
