"""Kernels inside `jax.jit`, and arrays of JAX outside of it; left out where JAX is not installed."""

import ml_dtypes
import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.sharding import PartitionSpec  # noqa: E402
from jax_names import shard_map  # noqa: E402
from shared_specs import SPREAD  # noqa: E402
from stress import assert_nothing_is_kept, run_threads  # noqa: E402

import kiln  # noqa: E402
import kiln.jax  # noqa: E402
from kiln import errors  # noqa: E402

ADD_TO = """\
kernel: add_to
require: ["n % 2 == 0"]
inputs: {x: "f32[n]", y: "f32[n]"}
outputs: {o: {array: "f32[n]", alias: x}}
body: |
  o = x + y
"""
# Every dtype that JAX has without 64 bits, each with a value of its own behind it.
TYPES = (
    "bool", "i4", "u4", "i8", "i16", "i32", "u8", "u16", "u32", "f8e4m3fn", "f8e5m2", "f8e8m0fnu", "bf16", "f16",
    "f32",
)  # fmt: skip
ALL_TYPES = (
    "kernel: all_types\ngrid: {i: n}\ninputs:\n"
    + "".join(f"  x_{t}: {{array: '{t}[n, m]', block: '1, m', index: 'i, 0'}}\n" for t in TYPES)
    + "outputs:\n"
    + "".join(f"  o_{t}: {{array: '{t}[n, m]', block: '1, m', index: 'i, 0'}}\n" for t in TYPES)
    + "body: |\n"
    + "".join(f"  o_{t} = {f'~x_{t}' if t == 'bool' else f'{t}(x_{t} * 2)'}\n" for t in TYPES)
)
SCALED = """\
kernel: scaled
grid: {i: "cdiv(m, 8)"}
inputs:
  x: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
  w: {array: "f32[n]", block: n}
outputs:
  o: {array: "f32[m, n]", block: "8, all", index: "i, 0"}
body: |
  o = x * w
vmap: {axis: b, dim: batch, over: {x: 0, o: 1}}
"""
DOUBLED = "kernel: doubled\ninputs: {x: 'f64[n]'}\noutputs: {o: 'f64[n]'}\nbody: |\n  o = x + x\n"


@pytest.fixture(scope="module")
def add_to():
    return kiln.compile(ADD_TO)


@pytest.fixture(scope="module")
def scaled():
    return kiln.compile(SCALED)


def calls_in(function, *arguments):
    """Of kernels in the optimised HLO."""
    return jax.jit(function).lower(*arguments).compile().as_text().count('custom_call_target="kiln_call"')


X = np.arange(100, dtype=np.float32)


# outside of jit ----------------------------------------------------------------------------------


def test_arrays_of_jax_in_and_out(shifted, both):
    x = jnp.asarray(X)
    o = shifted(3, x)
    assert isinstance(o, jax.Array) and np.array_equal(o, X * 2 + 3)
    b = jnp.arange(100).astype(jnp.bfloat16)
    o, p = both(b)
    assert o.dtype == jnp.bfloat16 and np.array_equal(o, b + b)
    assert np.array_equal(p, b.astype(jnp.float32) * 3)


def test_an_array_of_jax_is_never_written(shifted):
    x = jnp.asarray(X)
    with pytest.raises(errors.CallError):
        shifted(3, np.zeros(100, np.float32), out=x)
    assert np.array_equal(x, X)


# inside of it ------------------------------------------------------------------------------------


def test_a_call_is_one_custom_call(shifted, both):
    def function(by, x):
        return kiln.jax.call(shifted, by, x) + 1

    before = max(kiln.jax.calls(shifted), 0)
    assert np.array_equal(jax.jit(function)(3, X), X * 2 + 4)
    assert np.array_equal(function(3, X), X * 2 + 4)
    assert kiln.jax.calls(shifted) == before + 2
    assert calls_in(function, 3, X) == 1
    o, p = jax.jit(lambda x: kiln.jax.call(both, x=x))(X.astype(ml_dtypes.bfloat16))
    assert o.dtype == jnp.bfloat16 and np.array_equal(o, X + X) and np.array_equal(p, X * 3)


def test_a_kernel_can_be_called_as_it_is(shifted):
    assert np.array_equal(jax.jit(shifted)(3, X), X * 2 + 3)
    assert np.array_equal(jax.jit(lambda by: shifted(by, X, cores=2))(3), X * 2 + 3)
    assert np.array_equal(jax.jit(lambda x: shifted(x=x, by=3))(X), X * 2 + 3)


@pytest.mark.parametrize("mode", ["emulate", "interpret"])
def test_the_other_engines(shifted, mode):
    assert np.array_equal(jax.jit(lambda x: kiln.jax.call(shifted, 3, x, mode=mode))(X), X * 2 + 3)
    with pytest.raises(ValueError, match="mode is 'fast', expected one of direct, emulate, interpret"):
        kiln.jax.call(shifted, 3, X, mode="fast")


def test_every_dtype():
    kernel = kiln.compile(ALL_TYPES)
    numbers = np.arange(15).reshape(3, 5) % 2
    # A power of two is never 0.
    given = [jnp.asarray(numbers + (t == "f8e8m0fnu"), kiln._tensors.numpy_dtype(t)) for t in TYPES]
    for x, o in zip(given, jax.jit(kernel)(*given), strict=True):
        want = ~x if x.dtype == bool else (x.astype(jnp.float32) * 2).astype(x.dtype)
        assert o.dtype == x.dtype and np.array_equal(o, want), x.dtype


def test_64_bits_need_the_flag_of_jax():
    kernel = kiln.compile(DOUBLED)
    with pytest.raises(errors.CallError, match="^doubled: x is f64, which JAX has with jax_enable_x64 only$"):
        kiln.jax.call(kernel, X.astype(np.float64))
    enable_x64 = jax.enable_x64 if hasattr(jax, "enable_x64") else jax.experimental.enable_x64  # before 0.8
    with enable_x64(True):
        o = jax.jit(kernel)(jnp.asarray(X, np.float64))
        assert o.dtype == np.float64 and np.array_equal(o, X * 2)


def test_zero_sizes(shifted, scaled):
    assert jax.jit(shifted)(3, jnp.zeros(0)).shape == (0,)
    assert jax.jit(scaled)(jnp.zeros((0, 8, 3)), jnp.zeros(3)).shape == (8, 0, 3)


def test_dimensions_that_no_input_has():
    kernel = kiln.compile(SPREAD)
    assert np.array_equal(jax.jit(lambda x: kiln.jax.call(kernel, x, n=3))(X), np.stack([X] * 3, 1))
    with pytest.raises(errors.CallError, match="^spread: the inputs do not determine n: pass n=…$"):
        jax.jit(kernel)(X)


def test_sizes_may_be_symbols(shifted):
    export = pytest.importorskip("jax.export")
    (n,) = export.symbolic_shape("n")
    unchecked = [export.DisabledSafetyCheck.custom_call("kiln_call")]
    shapes = jax.ShapeDtypeStruct((), np.int32), jax.ShapeDtypeStruct((n,), np.float32)
    exported = export.export(jax.jit(shifted), disabled_checks=unchecked)(*shapes)
    for size in (5, 64, 100):
        assert np.array_equal(exported.call(np.int32(3), X[:size]), X[:size] * 2 + 3)


def test_a_donated_array_is_written_in_place(add_to):
    y = jnp.ones(100)
    kept = jnp.asarray(X)
    assert np.array_equal(jax.jit(add_to)(kept, y), X + 1) and np.array_equal(kept, X)
    given = jnp.asarray(X) + 0
    place = given.unsafe_buffer_pointer()
    o = jax.jit(add_to, donate_argnums=0)(given, y)
    assert o.unsafe_buffer_pointer() == place and given.is_deleted() and np.array_equal(o, X + 1)


def test_loops(add_to):
    y = jnp.ones(100)
    scanned = jax.jit(lambda x: jax.lax.scan(lambda c, _: (add_to(c, y), c[0]), x, None, length=5))
    last, firsts = scanned(jnp.asarray(X))
    assert np.array_equal(last, X + 5) and np.array_equal(firsts, np.arange(5))
    counted = jax.jit(lambda x, n: jax.lax.fori_loop(0, n, lambda i, c: add_to(c, y), x))
    assert np.array_equal(counted(X, 7), X + 7)
    chosen = jax.jit(lambda c, x: jax.lax.cond(c, lambda x: add_to(x, y), lambda x: x, x))
    assert np.array_equal(chosen(True, X), X + 1) and np.array_equal(chosen(False, X), X)


def test_shards_of_two_devices(shifted, add_to):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("d",))
    part, whole = PartitionSpec("d"), PartitionSpec()
    function = jax.jit(shard_map(lambda x: shifted(3, x), mesh, part, part))
    assert len(jax.devices()) == 2 and np.array_equal(function(X), X * 2 + 3)
    assert function(X).sharding.spec == part

    def summed(x, y):
        return jax.lax.psum(add_to(x, y), "d")

    o = jax.jit(shard_map(summed, mesh, (part, part), whole))(X, X)
    assert np.array_equal(o, (X[:50] + X[50:]) * 2)


# vmap --------------------------------------------------------------------------------------------


def test_a_batch_by_a_loop_where_the_spec_has_no_vmap(shifted):
    x = np.stack([X, -X, X * 3])
    by = np.arange(3, dtype=np.int32)
    assert np.array_equal(jax.vmap(shifted)(by, x), x * 2 + by[:, None])
    assert np.array_equal(jax.vmap(shifted, (None, 1), 1)(3, x.T), x.T * 2 + 3)


def test_a_batch_by_the_vmap_of_the_spec(scaled):
    random = np.random.default_rng(1)
    x, w = random.standard_normal((4, 6, 9, 5), np.float32), random.standard_normal((4, 5), np.float32)
    want = x[0] * w[0]
    assert scaled.signature.vmap == "batch"
    assert np.array_equal(jax.jit(scaled)(x[0], w[0]), want.transpose(1, 0, 2))
    before = kiln.jax.calls(scaled)
    one = jax.jit(lambda x, w: kiln.jax.call(scaled, x, w))  # of one: without the dimension
    assert np.array_equal(one(x[0, 0], w[0]), want[0])
    assert np.array_equal(jax.vmap(one, (0, None))(x[0], w[0]), want)
    assert np.array_equal(jax.vmap(one, (1, None), 1)(x[0].transpose(1, 0, 2), w[0]), want.transpose(1, 0, 2))
    assert np.array_equal(jax.vmap(jax.vmap(one, (0, None)), (0, None))(x, w[0]), x * w[0])
    assert kiln.jax.calls(scaled) == before + 4  # each with its whole batch
    assert np.array_equal(jax.vmap(jax.vmap(one, (0, None)))(x, w), x * w[:, None, None])
    assert kiln.jax.calls(scaled) == before + 8  # w is no operand of the spec's vmap
    assert np.array_equal(jax.vmap(lambda x: kiln.jax.call(scaled, x, w[0]), 0, 2)(x), (x * w[0]).transpose(2, 1, 0, 3))


# what is wrong -----------------------------------------------------------------------------------

WRONG = [
    (lambda k: k(3, X.astype(np.int32)), "shifted: x is i32, expected f32"),
    (lambda k: k(3, X.astype(np.complex64)), "shifted: x is complex64, expected f32"),
    (lambda k: k(3, X.reshape(10, 10)), "shifted: x is of rank 2, expected rank 1"),
    (lambda k: k(3), "shifted: 1 inputs, expected 2: by, x"),
    (lambda k: k(3, [1.0, 2.0]), "shifted: x is a list, expected an array"),
    (lambda k: k(2.5, X), "shifted: by is 2.5, expected i32"),
    (lambda k: k(2**31, X), "shifted: by is 2147483648, expected i32"),
    (lambda k: k(jnp.float32(3), X), "shifted: by is f32, expected i32"),
    (lambda k: k(jnp.asarray([1, 2]), X), "shifted: by is of rank 1, expected a scalar"),
    (lambda k: k(3, X, rows=3), "shifted: no input and no dimension is called rows"),
]


@pytest.mark.parametrize("call, message", WRONG, ids=[m for _, m in WRONG])
def test_a_wrong_call_is_an_exception_while_jax_traces(shifted, call, message):
    with pytest.raises(errors.CallError) as caught:
        jax.jit(lambda: call(lambda *x, **named: kiln.jax.call(shifted, *x, **named)))()
    assert str(caught.value) == message


def test_shapes_that_do_not_fit_each_other(add_to, scaled):
    with pytest.raises(errors.CallError, match=r"^add_to: y has shape \[99\], expected \[100\]$"):
        jax.jit(add_to)(X, X[1:])
    with pytest.raises(errors.CallError, match="^scaled: x is of rank 4, expected rank 3$"):
        jax.jit(scaled)(np.zeros((2, 2, 2, 2), np.float32), np.zeros(2, np.float32))


def test_what_the_kernel_itself_refuses_is_an_exception_of_jax(add_to):
    message = r"^INVALID_ARGUMENT: error\[call\]: add_to: `n % 2 == 0` must hold, but n is 3"
    message += r"(\n=== Source Location Trace|$)"  # which JAX adds from 0.12 on
    with pytest.raises(jax.errors.JaxRuntimeError, match=message):
        jax.block_until_ready(jax.jit(add_to)(X[:3], X[:3]))


def test_a_kernel_alone_has_no_gradient(add_to):
    message = "^add_to has no gradient: pair it with kernels that compute it, by kiln.jax.differentiable$"
    with pytest.raises(errors.CallError, match=message):
        jax.grad(lambda x: add_to(x, X).sum())(X)
    # What does not depend on x needs none.
    assert np.array_equal(jax.grad(lambda x: (x * add_to(X, X)).sum())(X), X * 2)


def test_a_library_made_elsewhere_lacks_a_function_that_jax_needs(tmp_path, shifted):
    import subprocess

    (tmp_path / "other.c").write_text("int kiln_shifted(void) { return 0; }\n")
    subprocess.run(["cc", "-shared", "-fPIC", "other.c", "-o", "other.so"], cwd=tmp_path, check=True)
    kernel = kiln.load_library(tmp_path / "other.so", shifted.spec, b=32)
    with pytest.raises(kiln.Error, match="has no function kiln_packed_shifted, which JAX needs"):
        kiln.jax.call(kernel, 3, X)


# threads and memory ------------------------------------------------------------------------------


def test_large_calls_have_threads_of_jax_and_the_same_result():
    """In more calls at once than there are threads, so that calls wait for each other's."""
    kernel = kiln.load("specs/matmul.yaml:matmul_f32")
    random = np.random.default_rng(1)
    x, y = (random.standard_normal((400, 300), np.float32) for _ in range(2))
    bias = np.zeros(400, np.float32)
    alone = jax.jit(lambda x, y: kiln.jax.call(kernel, x, y, bias, cores=1))(x, y.T)
    shared = jax.jit(lambda x, y: kiln.jax.call(kernel, x, y, bias, cores=4))
    results = [shared(x, y.T) for _ in range(20)]
    assert all(np.array_equal(result, alone) for result in results)


def test_eight_threads(shifted):
    function = jax.jit(shifted)
    wrong = []

    def work(by):
        for _ in range(200):
            if not np.array_equal(function(by, X), X * 2 + by):
                wrong.append(by)

    run_threads(work)
    assert not wrong


def test_100000_calls_take_no_memory(shifted):
    function, x = jax.jit(shifted), jnp.asarray(X)

    def calls(count):
        for _ in range(count):
            o = function(3, x)
        return jax.block_until_ready(o)

    assert_nothing_is_kept(calls, 5000, 100000, 4000, x)
