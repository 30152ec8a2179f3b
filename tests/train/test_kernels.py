"""examples/train: each operation on kernels is what plain JAX computes, forward and backward."""

import functools

import jax
import jax.numpy as jnp
import kernels
import model
import numpy as np
import plain
import pytest
from conftest import ROOT

KERNELS = ROOT / "examples/train/kernels"


def random(seed: int, *shape: int) -> jax.Array:
    return jax.random.normal(jax.random.key(seed), shape)


def targets(rows: int, classes: int) -> jax.Array:
    return jax.random.randint(jax.random.key(0), (rows,), 0, classes)


def assert_close(got: jax.Array, want: jax.Array, terms: int) -> None:
    """Sums of so many terms, in f32 and in another order."""
    allowed = terms * np.finfo(np.float32).eps * max(1.0, float(jnp.max(jnp.abs(want))))
    assert got.shape == want.shape and got.dtype == want.dtype
    assert float(jnp.max(jnp.abs(got - want))) <= allowed


# Sizes that no block divides, and one with more than a block each way.
OPERATIONS = [
    ("linear", [random(1, 70, 33), random(2, 33, 130)], 130),
    ("linear", [random(1, 200, 150), random(2, 150, 300)], 300),
    ("rmsnorm", [random(1, 70, 33), random(2, 33)], 70),
    ("rmsnorm", [random(1, 1, 128), random(2, 128)], 128),
    ("attention", [random(1, 3, 20, 8), random(2, 3, 20, 8), random(3, 3, 20, 8)], 20),
    ("attention", [random(1, 2, 300, 32), random(2, 2, 300, 32), random(3, 2, 300, 32)], 300),
    ("attention", [random(1, 2, 1, 16), random(2, 2, 1, 16), random(3, 2, 1, 16)], 16),
    ("gated", [random(1, 70, 33), random(2, 33, 50), random(3, 33, 50)], 70),
    ("gated", [random(1, 150, 140), random(2, 140, 200), random(3, 140, 200)], 400),
    ("cross_entropy", [random(1, 70, 84), targets(70, 84)], 84),
]


@pytest.mark.parametrize("name, inputs, terms", OPERATIONS)
def test_an_operation_and_its_gradients(name, inputs, terms):
    floats = [i for i, x in enumerate(inputs) if x.dtype == jnp.float32]

    def both(ops):
        function = jax.jit(getattr(ops, name))

        def of_floats(*given):
            placed = dict(zip(floats, given, strict=True))
            return function(*(placed.get(i, x) for i, x in enumerate(inputs)))

        value, pull = jax.vjp(of_floats, *(inputs[i] for i in floats))
        return value, pull(random(9, *value.shape))

    (got, got_gradients), (want, want_gradients) = both(kernels), both(plain)
    assert_close(got, want, terms)
    for one, other in zip(got_gradients, want_gradients, strict=True):
        assert_close(one, other, terms)


def test_the_gradient_of_the_whole_model():
    shape = model.Shape(width=32, hidden=48, heads=2, layers=2, context=20)
    weights = model.init(shape, 11, seed=1)
    tokens = jax.random.randint(jax.random.key(2), (3, shape.context), 0, 11)

    def gradient(ops):
        loss = functools.partial(model.loss, ops)
        return jax.jit(jax.value_and_grad(loss), static_argnums=3)(weights, tokens, jnp.roll(tokens, -1, 1), 2)

    (got, got_gradients), (want, want_gradients) = gradient(kernels), gradient(plain)
    assert_close(got, want, 10)
    assert got_gradients.keys() == want_gradients.keys()
    for name, one in got_gradients.items():
        scale = float(jnp.max(jnp.abs(want_gradients[name])))
        assert scale > 0, name
        # Two layers deep, sums of up to 60 terms.
        assert_close(one / scale, want_gradients[name] / scale, 600)


@pytest.mark.parametrize(
    "name, sizes",
    [
        ("attention", {"h": 3, "m": 150, "n": 150, "d": 16}),
        ("attention", {"h": 2, "m": 1, "n": 130, "d": 8}),  # one token against a cache
        ("attention_dq", {"h": 2, "m": 150, "n": 150, "d": 16}),
        ("attention_dkv", {"h": 2, "m": 150, "n": 150, "d": 16}),
        ("rmsnorm_grad", {"m": 100, "n": 33}),
        ("gated", {"m": 130, "k": 70, "n": 140}),
        ("gated_dx", {"m": 130, "k": 70, "n": 140}),
        ("gated_dw", {"m": 130, "k": 70, "n": 140}),
        ("cross_entropy", {"m": 100, "n": 20}),
        ("cross_entropy_grad", {"m": 100, "n": 20}),
    ],
)
def test_every_engine_computes_the_same(name, sizes, kiln_engines):
    kiln_engines(KERNELS / f"{name}.yaml", **sizes)
