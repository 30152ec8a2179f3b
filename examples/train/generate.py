"""Continues a text with the weights that train.py wrote, on Kiln's kernels or in plain JAX.

The next character is the likeliest one with --temperature 0, and drawn otherwise, by a generator so simple that
examples/infer draws the same."""

import argparse
from pathlib import Path

import data
import jax
import jax.numpy as jnp
import model
import numpy as np


class Draw:
    """Of the characters that may follow, one."""

    def __init__(self, temperature: float, seed: int) -> None:
        self._temperature, self._state = temperature, seed

    def _number(self) -> float:
        """From 0 to 1: a linear congruential generator, as in Numerical Recipes."""
        self._state = (self._state * 1664525 + 1013904223) % 2**32
        return self._state / 2**32

    def __call__(self, logits: np.ndarray) -> int:
        if self._temperature == 0:
            return int(np.argmax(logits))
        likely = np.exp((logits.astype(np.float64) - float(logits.max())) / self._temperature)
        sums = np.cumsum(likely)
        return min(int(np.searchsorted(sums, self._number() * sums[-1], side="right")), len(sums) - 1)


def load(path: Path) -> tuple[np.ndarray, int, dict[str, jax.Array]]:
    with np.load(path) as file:
        arrays = dict(file)
    vocabulary, heads = arrays.pop("vocabulary"), int(arrays.pop("heads"))
    return vocabulary, heads, {name: jnp.asarray(array) for name, array in arrays.items()}


def extend(ops, weights, heads: int, tokens: list[int], count: int, draw: Draw) -> list[int]:
    """The tokens and `count` more, each by a pass over all of the context: examples/infer keeps what it has."""
    context = len(weights["position"])

    @jax.jit
    def row(tokens, place):
        return model.logits(ops, weights, tokens[None], heads)[place]

    padded = np.zeros(context, np.int32)
    padded[: len(tokens)] = tokens
    for place in range(len(tokens), min(len(tokens) + count, context)):
        padded[place] = draw(np.asarray(row(padded, place - 1)))
    return padded[: min(len(tokens) + count, context)].tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path, help="weights.npz of train.py")
    parser.add_argument("prompt", nargs="?", default="HAMLET.\n", help="what the text begins with")
    parser.add_argument("--count", type=int, default=100, help="how many characters, at most as the context has (100)")
    parser.add_argument("--temperature", type=float, default=0.7, help="0: the likeliest (0.7)")
    parser.add_argument("--seed", type=int, default=1, help="of what is drawn (1)")
    parser.add_argument("--plain", action="store_true", help="in plain JAX")
    args = parser.parse_args()

    if args.plain:
        import plain as ops
    else:
        import kernels as ops
    vocabulary, heads, weights = load(args.weights)
    tokens = data.encode(args.prompt.encode(), vocabulary).tolist()
    if not 0 < len(tokens) <= len(weights["position"]):
        parser.error(f"the prompt has {len(tokens)} characters, and may have 1 to {len(weights['position'])}")
    made = extend(ops, weights, heads, tokens, args.count, Draw(args.temperature, args.seed))
    print(vocabulary[made].tobytes().decode())


if __name__ == "__main__":
    main()
