"""AdamW, with a learning rate that warms up and then falls as a cosine does."""

import jax
import jax.numpy as jnp

BETA1, BETA2, EPSILON, DECAY, WARM_UP = 0.9, 0.99, 1e-8, 0.01, 50


def init(weights):
    zeros = jax.tree.map(jnp.zeros_like, weights)
    return {"mean": zeros, "square": zeros}


def rate(peak: float, step, steps: int):
    warm = jnp.minimum(1.0, (step + 1) / min(WARM_UP, steps))
    return peak * warm * (0.55 + 0.45 * jnp.cos(jnp.pi * step / steps))


def update(weights, gradients, state, step, learning_rate):
    """The weights and the state after a step, the first of which is 0."""
    mean = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, state["mean"], gradients)
    square = jax.tree.map(lambda s, g: BETA2 * s + (1 - BETA2) * g * g, state["square"], gradients)

    def move(w, m, s):
        m, s = m / (1 - BETA1 ** (step + 1)), s / (1 - BETA2 ** (step + 1))
        return w - learning_rate * (m / (jnp.sqrt(s) + EPSILON) + DECAY * w)

    return jax.tree.map(move, weights, mean, square), {"mean": mean, "square": square}
