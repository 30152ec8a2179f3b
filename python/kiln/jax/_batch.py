"""The `vmap` of a spec, as that of JAX: a batch is a dimension of the kernel's own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from .._signature import Argument
from ..kernel import Kernel

_Function = Callable[..., tuple[jax.Array, ...]]


@dataclass(frozen=True)
class Batch:
    """Where the arguments have the dimension; None: an input lacks it, and is the same for all of the batch."""

    ranks: tuple[int, ...]  # of the inputs
    inputs: tuple[int | None, ...]
    outputs: tuple[int, ...]

    @staticmethod
    @functools.lru_cache(1024)
    def of(kernel: Kernel) -> Batch | None:
        """None: its spec has no `vmap`."""
        signature = kernel.signature
        if signature.vmap is None:
            return None

        def place(a: Argument) -> int | None:
            return next((i for i, size in enumerate(a.shape) if size.dim == signature.vmap), None)

        outputs = tuple(p for p in map(place, signature.outputs) if p is not None)  # every output has it
        return Batch(tuple(len(a.shape) for a in signature.inputs), tuple(map(place, signature.inputs)), outputs)

    def is_lacking(self, operands: Sequence[Any]) -> bool:
        """Whether these are operands of one of a batch."""
        mapped = [(x.ndim, rank) for x, rank, p in zip(operands, self.ranks, self.inputs, strict=True) if p is not None]
        return bool(mapped) and all(got == rank - 1 for got, rank in mapped)

    def expanded(self, operands: Sequence[jax.Array]) -> list[jax.Array]:
        return [x if p is None else jnp.expand_dims(x, p) for x, p in zip(operands, self.inputs, strict=True)]

    def squeezed(self, results: Sequence[jax.Array]) -> tuple[jax.Array, ...]:
        return tuple(jnp.squeeze(x, p) for x, p in zip(results, self.outputs, strict=True))

    def mapped(self, compute: _Function) -> _Function:
        """`compute`, which under `jax.vmap` is called once, with a batch as large as both together."""
        function = jax.custom_batching.custom_vmap(compute)

        @function.def_vmap
        def rule(size: int, is_batched: Sequence[bool], *operands: jax.Array) -> Any:
            if any(b and p is None for b, p in zip(is_batched, self.inputs, strict=True)):
                results = _one_by_one(function, is_batched, operands)
            else:
                together = [
                    x if p is None else _merged(x if b else jnp.broadcast_to(x, (size, *x.shape)), p)
                    for x, b, p in zip(operands, is_batched, self.inputs, strict=True)
                ]
                results = function(*together)
                results = tuple(_split(x, p, size) for x, p in zip(results, self.outputs, strict=True))
            return results, (True,) * len(results)

        return function


def _one_by_one(function: _Function, is_batched: Sequence[bool], operands: Sequence[jax.Array]) -> Any:
    def one(batched: Sequence[jax.Array]) -> tuple[jax.Array, ...]:
        of_this = iter(batched)
        return function(*(next(of_this) if b else x for x, b in zip(operands, is_batched, strict=True)))

    return jax.lax.map(one, [x for x, b in zip(operands, is_batched, strict=True) if b])


def _merged(x: jax.Array, place: int) -> jax.Array:
    """The first dimension goes into the one that was at `place` before there was a first one."""
    x = jnp.moveaxis(x, 0, place)
    return x.reshape(*x.shape[:place], x.shape[place] * x.shape[place + 1], *x.shape[place + 2 :])


def _split(x: jax.Array, place: int, size: int) -> jax.Array:
    x = x.reshape(*x.shape[:place], size, x.shape[place] // size, *x.shape[place + 1 :])
    return jnp.moveaxis(x, place, 0)
