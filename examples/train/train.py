"""Trains a small transformer on Shakespeare twice, on Kiln's kernels and in plain JAX, and compares the two.

Both begin with the same weights and see the same text, in turns, a step each."""

import argparse
import functools
import statistics
import time
from pathlib import Path

import adam
import data
import jax
import kernels
import model
import numpy as np
import plain
import plot


class Run:
    """The training of one of the two."""

    def __init__(self, ops, weights, heads: int, peak: float, steps: int) -> None:
        self.weights, self.state = weights, adam.init(weights)
        self.losses: list[float] = []
        self.seconds: list[float] = []
        loss = functools.partial(model.loss, ops)

        @jax.jit
        def step(weights, state, number, tokens, targets):
            value, gradients = jax.value_and_grad(loss)(weights, tokens, targets, heads)
            return value, *adam.update(weights, gradients, state, number, adam.rate(peak, number, steps))

        self._step = step

    def step(self, tokens, targets) -> None:
        start = time.perf_counter()
        made = self._step(self.weights, self.state, len(self.losses), tokens, targets)
        value, self.weights, self.state = jax.block_until_ready(made)
        self.seconds.append(time.perf_counter() - start)
        self.losses.append(float(value))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1000, help="how many batches (1000)")
    parser.add_argument("--batch", type=int, default=16, help="texts a step (16)")
    parser.add_argument("--rate", type=float, default=2e-3, help="the largest learning rate (0.002)")
    parser.add_argument("--seed", type=int, default=1, help="of the weights and of the batches (1)")
    parser.add_argument("--nudged", action="store_true", help="a third curve: plain, one weight moved by a rounding")
    parser.add_argument("-o", "--out", type=Path, default=Path("."), help="the folder of what is written (.)")
    shape = model.Shape()
    for name, value in vars(shape).items():
        parser.add_argument(f"--{name}", type=int, default=value, help=f"of the model ({value})")
    return parser.parse_args()


def main() -> None:
    args = arguments()
    shape = model.Shape(args.width, args.hidden, args.heads, args.layers, args.context)
    text = data.read()
    vocabulary = np.unique(np.frombuffer(text, np.uint8))
    batches = data.Batches(data.encode(text, vocabulary), args.batch, shape.context, args.seed)
    weights = model.init(shape, len(vocabulary), args.seed)
    count = sum(w.size for w in weights.values())
    print(f"{len(text):,} characters, {len(vocabulary)} different ones; {count:,} weights; "
          f"{args.batch} x {shape.context} characters a step")  # fmt: skip

    begin = {"kiln": (kernels, weights), "plain": (plain, weights)}
    if args.nudged:
        begin["nudged"] = (plain, nudged(weights))
    runs = {name: Run(ops, first, shape.heads, args.rate, args.steps) for name, (ops, first) in begin.items()}
    kiln, other = runs["kiln"], runs["plain"]
    for step in range(args.steps):
        batch = batches.next()
        for run in runs.values():
            run.step(*batch)
        if step % max(1, args.steps // 20) == 0 or step == args.steps - 1:
            far = kiln.losses[-1] - other.losses[-1]
            print(f"step {step:5}  loss {kiln.losses[-1]:.4f} by kernels, {other.losses[-1]:.4f} plain ({far:+.1e})  "
                  f"{1e3 * kiln.seconds[-1]:6.1f} ms and {1e3 * other.seconds[-1]:6.1f} ms", flush=True)  # fmt: skip

    write(args.out, runs, vocabulary, shape.heads)
    for name, run in runs.items():
        apart = max(abs(a - b) for a, b in zip(run.losses, other.losses, strict=True))
        median = statistics.median(run.seconds[1:] or run.seconds)  # the first step compiles
        print(f"{name:6}  {1e3 * median:6.1f} ms a step (median), at most {apart:.1e} from the curve of plain")


def nudged(weights: dict[str, jax.Array]) -> dict[str, jax.Array]:
    """One of them moved to the next number. What comes of it shows how far a rounding takes a curve by itself."""
    first = weights["embedding"]
    return weights | {"embedding": first.at[0, 0].set(np.nextafter(first[0, 0], np.float32(np.inf)))}


def write(folder: Path, runs: dict[str, Run], vocabulary: np.ndarray, heads: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: np.asarray(value) for name, value in runs["kiln"].weights.items()}
    np.savez(folder / "weights.npz", vocabulary=vocabulary, heads=np.int32(heads), **weights)
    curves = {name: run.losses for name, run in runs.items()}
    rows = zip(*curves.values(), strict=True)
    table = [",".join(("step", *curves))] + [f"{i},{','.join(f'{x:.7f}' for x in row)}" for i, row in enumerate(rows)]
    (folder / "losses.csv").write_text("\n".join(table) + "\n")
    (folder / "losses.svg").write_text(plot.curves(curves))
    print(f"wrote weights.npz, losses.csv and losses.svg in {folder}")


if __name__ == "__main__":
    main()
