"""A kernel with kernels that compute its gradients, under `jax.grad`."""

from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax.test_util import check_grads  # noqa: E402
from shared_specs import TANH_PRODUCT, TANH_PRODUCT_DX, TANH_PRODUCT_DY  # noqa: E402

import kiln  # noqa: E402
import kiln.jax  # noqa: E402
from kiln import errors  # noqa: E402

# Integers have no gradient; how many columns x has, only x itself says.
TAKEN = """\
kernel: taken
prefetch: {ids: "i32[m]"}
grid: {i: m}
inputs: {x: {array: "f32[n, k]", block: "1, k", index: "ids[i], 0"}}
outputs: {o: {array: "f32[m, k]", block: "1, k", index: "i, 0"}}
body: |
  o = x
"""
TAKEN_BACK = """\
kernel: taken_dx
inputs: {ids: "i32[m]", d_o: "f32[m, k]"}
outputs: {dx: "f32[n, k]"}
body: |
  dx = dot(f32(expand(ids, 0) == iota([n, m], 0)), d_o)
"""


@pytest.fixture(scope="module")
def kernels():
    return kiln.compile(TANH_PRODUCT), kiln.compile(TANH_PRODUCT_DX), kiln.compile(TANH_PRODUCT_DY)


@pytest.fixture(scope="module")
def function(kernels):
    return kiln.jax.differentiable(kernels[0], kernels[1:])


def plain(s, x, y):
    return jnp.tanh(x @ y) * s


def operands():
    random = np.random.default_rng(1)
    return random.standard_normal((37, 11), np.float32), random.standard_normal((11, 5), np.float32)


def assert_close(got, want):
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert a.dtype == b.dtype and np.max(np.abs(a - b)) < 64 * np.finfo(np.float32).eps * np.max(np.abs(b))


X, Y = operands()


def test_gradients_are_those_of_differences(function):
    check_grads(lambda x, y: function(0.5, x, y)[0], (X, Y), order=1, modes=["rev"], atol=2e-2, rtol=2e-2)


def test_gradients_are_those_of_jax_and_of_the_kernels(function, kernels):
    def loss(f):
        return jax.jit(jax.value_and_grad(lambda x, y: (f(x, y) ** 2).sum(), argnums=(0, 1)))

    before = [max(kiln.jax.calls(kernel), 0) for kernel in kernels]
    got = loss(lambda x, y: function(0.5, x, y)[0])(X, Y)
    assert_close(got, loss(lambda x, y: plain(0.5, x, y))(X, Y))
    assert [kiln.jax.calls(kernel) for kernel in kernels] == [count + 1 for count in before]
    assert function.__name__ == "tanh_product"


def test_a_gradient_that_is_not_used_is_not_computed(function, kernels):
    before = kiln.jax.calls(kernels[2])
    gradient = jax.jit(jax.grad(lambda x: function(0.5, x, Y)[0].sum()))(X)
    assert_close(gradient, jax.grad(lambda x: plain(0.5, x, Y).sum())(X))
    assert kiln.jax.calls(kernels[2]) == before
    got, rest = jax.jit(lambda x: function(s=0.5, x=x, y=Y))(X)
    assert_close(got, plain(0.5, X, Y))


def test_batches_loops_and_recomputation(function):
    def scanned(f):
        def step(c, _):
            return c + f(c, Y) @ Y.T * 0.1, None

        return lambda x: jax.lax.scan(step, x, None, length=3)[0].sum()

    def ours(x, y):
        return function(0.5, x, y)[0]

    def theirs(x, y):
        return plain(0.5, x, y)

    assert_close(jax.jit(jax.grad(scanned(ours)))(X), jax.grad(scanned(theirs))(X))
    batch = np.stack([X, X * 2])
    for x, y, axes in ((batch, Y, (0, None)), (X, np.stack([Y, -Y, Y * 3]), (None, 0))):
        of_one = [jax.grad(lambda x, y, f=f: f(x, y).sum(), argnums=(0, 1)) for f in (ours, theirs)]
        got, want = (jax.vmap(f, axes)(x, y) for f in of_one)
        assert_close(got, want)
    again = jax.grad(lambda x: jax.checkpoint(ours)(x, Y).sum())(X)
    assert_close(again, jax.grad(lambda x: theirs(x, Y).sum())(X))


def test_integers_and_dimensions_that_only_an_input_has():
    function = kiln.jax.differentiable(kiln.compile(TAKEN), kiln.compile(TAKEN_BACK))
    ids = np.array([3, 0, 3, 2], np.int32)

    def ours(x):
        return (function(ids, x) ** 2).sum()

    assert_close(jax.grad(ours)(X), jax.grad(lambda x: (x[ids] ** 2).sum())(X))


def test_a_gradient_that_is_not_there_is_an_exception(function):
    with pytest.raises(errors.CallError, match="^tanh_product: no backward kernel gives the gradient of s; "):
        jax.grad(lambda s: function(s, X, Y)[0].sum())(0.5)
    with pytest.raises(errors.CallError, match="^tanh_product: no backward kernel reads the gradient of t$"):
        jax.grad(lambda x: function(0.5, x, Y)[1].sum())(X)
    with pytest.raises(errors.CallError, match="has no gradient: pair it with kernels that compute it"):
        jax.grad(lambda x: jax.grad(lambda x: function(0.5, x, Y)[0].sum())(x).sum())(X)
    kept = jax.grad(lambda s: function(jax.lax.stop_gradient(s), X, Y)[0].sum() + s)(0.5)
    assert kept == 1


# ---- the shipped kernels that have gradients


def shipped(*names, **params):
    folder = Path(__file__).parents[2] / "specs"
    forward, *backward = (kiln.load(str(folder / f"{name}.yaml"), **params.get(name, {})) for name in names)
    return kiln.jax.differentiable(forward, backward)


def normal(*shape):
    return np.random.default_rng(len(shape)).standard_normal(shape, np.float32)


def test_shipped_attention_has_gradients():
    heads = {"T": "f32", "group": 2, "bq": 16, "bk": 32}
    attention = shipped(
        "attention", "attention_dq", "attention_dkv",
        attention=heads | {"keep": True}, attention_dq=heads, attention_dkv=heads,
    )  # fmt: skip
    q, k, v = normal(4, 40, 8), normal(2, 40, 8), normal(2, 40, 8)

    def plain(q, k, v):
        s = jnp.einsum("hmd,hnd->hmn", q, k.repeat(2, 0)) * 0.5
        p = jax.nn.softmax(jnp.where(jnp.tri(40, dtype=bool), s, -jnp.inf))
        return jnp.einsum("hmn,hnd->hmd", p, v.repeat(2, 0))

    def loss(f):
        return jax.grad(lambda *x: jnp.sum(jnp.sin(f(*x))), argnums=(0, 1, 2))

    assert_close(loss(lambda *x: attention(0.5, *x)[0])(q, k, v), loss(plain)(q, k, v))


def test_shipped_rmsnorm_has_gradients():
    rows = {"T": "f32", "bm": 8}
    norm = shipped("rmsnorm", "rmsnorm_grad", rmsnorm=rows, rmsnorm_grad=rows)
    x, weight = normal(20, 37), normal(37)

    def plain(x, weight):
        return x * jax.lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-6) * weight

    def loss(f):
        return jax.grad(lambda *x: jnp.sum(jnp.sin(f(*x))), argnums=(0, 1))

    assert_close(loss(norm)(x, weight), loss(plain)(x, weight))


def test_the_shipped_loss_has_a_gradient():
    rows = {"T": "f32", "bm": 8, "bn": 64}
    cross_entropy = shipped("cross_entropy", "cross_entropy_grad", cross_entropy=rows, cross_entropy_grad=rows)
    logits, target = normal(20, 100) * 3, np.arange(20, dtype=np.int32)[:, None] * 5

    def plain(logits):
        return jax.nn.logsumexp(logits, axis=1, keepdims=True) - jnp.take_along_axis(logits, target, axis=1)

    want = jax.grad(lambda x: jnp.sum(plain(x) ** 2))(logits)
    assert_close(jax.grad(lambda x: jnp.sum(cross_entropy(x, target)[0] ** 2))(logits), want)
