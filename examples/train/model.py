"""A decoder-only transformer. `ops` is what it is made of: the module plain or the module kernels."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Shape:
    width: int = 128
    hidden: int = 384
    heads: int = 4
    layers: int = 4
    context: int = 128  # the most characters that a text may have


def init(shape: Shape, vocabulary: int, seed: int) -> dict[str, jax.Array]:
    """Weights by name. What ends a layer starts smaller, so that their sum does not grow with their number."""
    keys = iter(jax.random.split(jax.random.key(seed), 3 + 5 * shape.layers))

    def table(rows: int) -> jax.Array:
        return 0.5 * jax.random.normal(next(keys), (rows, shape.width))

    def matrix(rows: int, columns: int, scale: float = 1.0) -> jax.Array:
        return scale / rows**0.5 * jax.random.normal(next(keys), (rows, columns))

    width, hidden, last = shape.width, shape.hidden, (2 * shape.layers) ** -0.5
    weights = {"embedding": table(vocabulary), "position": table(shape.context)}
    for i in range(shape.layers):
        weights |= {
            f"{i}.attention_norm": jnp.ones(width),
            f"{i}.qkv": matrix(width, 3 * width),
            f"{i}.out": matrix(width, width, last),
            f"{i}.mlp_norm": jnp.ones(width),
            f"{i}.gate": matrix(width, hidden),
            f"{i}.up": matrix(width, hidden),
            f"{i}.down": matrix(hidden, width, last),
        }
    return weights | {"norm": jnp.ones(width), "head": matrix(width, vocabulary)}


def logits(ops, weights: dict[str, jax.Array], tokens: jax.Array, heads: int) -> jax.Array:
    """For each place of each text, a row with a number for each character that may follow it."""
    texts, length = tokens.shape
    x = weights["embedding"][tokens] + weights["position"][:length]
    x = x.reshape(texts * length, -1)
    for i in range(sum(name.endswith(".qkv") for name in weights)):
        layer = {name: weights[f"{i}.{name}"] for name in ("attention_norm", "qkv", "out")}
        x = x + _attention(ops, layer, x, texts, heads)
        y = ops.rmsnorm(x, weights[f"{i}.mlp_norm"])
        y = ops.gated(y, weights[f"{i}.gate"], weights[f"{i}.up"])
        x = x + ops.linear(y, weights[f"{i}.down"])
    return ops.linear(ops.rmsnorm(x, weights["norm"]), weights["head"])


def _attention(ops, layer: dict[str, jax.Array], x: jax.Array, texts: int, heads: int) -> jax.Array:
    rows, width = x.shape
    qkv = ops.linear(ops.rmsnorm(x, layer["attention_norm"]), layer["qkv"])
    # Heads of all texts one after the other: 3 x (texts * heads) x length x (width / heads).
    split = qkv.reshape(texts, rows // texts, 3, heads, width // heads).transpose(2, 0, 3, 1, 4)
    q, k, v = split.reshape(3, texts * heads, rows // texts, width // heads)
    o = ops.attention(q, k, v)
    merged = o.reshape(texts, heads, rows // texts, width // heads).transpose(0, 2, 1, 3).reshape(rows, width)
    return ops.linear(merged, layer["out"])


def loss(ops, weights: dict[str, jax.Array], tokens: jax.Array, targets: jax.Array, heads: int) -> jax.Array:
    return ops.cross_entropy(logits(ops, weights, tokens, heads), targets.reshape(-1)).mean()
