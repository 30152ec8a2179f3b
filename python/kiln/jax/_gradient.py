"""A kernel with the kernels that compute its gradients, as one function that JAX can differentiate."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from .. import errors
from .._gradients import Gradients, pair
from .._signature import Signature
from ..kernel import Kernel, load
from ._call import Dims, invoke

_Spec = Kernel | str | os.PathLike[str]


def differentiable(
    forward: _Spec, backward: _Spec | Sequence[_Spec], *, cores: int | None = None
) -> Callable[..., Any]:
    """A function that calls `forward`, for `jax.grad` and `jax.vjp`.

    The kernels of `backward` compute gradients, and are paired by names: their input `x` or `z` is what the
    forward kernel calls so, `dz` or `d_z` is the gradient of its output z, and their output `dx` or `d_x` is the
    gradient of its input x. A gradient that JAX asks for and that none of them computes is an exception, when it asks;
    so is one that comes in for an output and that none of them reads."""
    kernel = _kernel(forward)
    steps = [_kernel(b) for b in (backward if isinstance(backward, (list, tuple)) else [backward])]
    pairing = _Pairing(kernel, steps, pair(kernel.signature, [s.signature for s in steps]), cores)
    make = functools.lru_cache(1024)(pairing.function)

    def function(*inputs: Any, **named: Any) -> Any:
        placed, dims = kernel.arrange(inputs, named)
        results = make(tuple(dims.items()))(*placed)
        return results[0] if len(results) == 1 else results

    function.__name__ = kernel.__name__
    function.__doc__ = kernel.__doc__
    return function


def _kernel(of: _Spec) -> Kernel:
    return of if isinstance(of, Kernel) else load(of)


@jax.tree_util.register_static
@dataclass(frozen=True)
class _Call:
    """What of a call has no values: for each input whether its gradient is wanted, and its shape."""

    wanted: tuple[bool, ...]
    shapes: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class _Pairing:
    kernel: Kernel
    steps: Sequence[Kernel]
    gradients: Gradients
    cores: int | None

    def function(self, dims: Dims) -> Callable[..., tuple[jax.Array, ...]]:
        """For calls that give these."""

        @jax.custom_vjp
        def function(*inputs: Any) -> tuple[jax.Array, ...]:
            return invoke(self.kernel, inputs, dims, cores=self.cores)

        function.defvjp(functools.partial(self._forward, dims), self._backward, symbolic_zeros=True)
        return function

    def _forward(self, dims: Dims, *given: Any) -> Any:
        wanted = tuple(bool(g.perturbed) for g in given)
        for i, a in enumerate(self.kernel.signature.inputs):
            if wanted[i] and not any(i in paired.targets for paired in self.gradients.kernels):
                message = f"{self.kernel.__name__}: no backward kernel gives the gradient of {a.name}"
                raise self._wrong(message + "; jax.lax.stop_gradient says that none is wanted")
        inputs = [g.value for g in given]
        results = invoke(self.kernel, inputs, dims, cores=self.cores)
        kept = {("input", i): inputs[i] for i in self.gradients.used("input")}
        kept |= {("output", i): results[i] for i in self.gradients.used("output")}
        return results, (list(kept.values()), _Call(wanted, tuple(jnp.shape(x) for x in inputs)))

    def _backward(self, saved: tuple[list[jax.Array], _Call], incoming: Sequence[Any]) -> tuple[Any, ...]:
        kept, told = saved
        read = self.gradients.used("gradient")
        for i, gradient in enumerate(incoming):
            if i not in read and not _is_zero(gradient):
                name = self.kernel.signature.outputs[i].name
                raise self._wrong(f"{self.kernel.__name__}: no backward kernel reads the gradient of {name}")
        names = [(kind, i) for kind in ("input", "output") for i in self.gradients.used(kind)]
        values = dict(zip(names, kept, strict=True))
        values |= {("gradient", i): _value(incoming[i]) for i in read}
        results: list[Any] = [None] * len(told.shapes)
        for paired, step in zip(self.gradients.kernels, self.steps, strict=True):
            if not any(told.wanted[i] for i in paired.targets):
                continue
            dims = _open_dims(step.signature, [told.shapes[i] for i in paired.targets])
            operands = [values[source.kind, source.index] for source in paired.sources]
            made = invoke(step, operands, dims, cores=self.cores)
            for i, gradient in zip(paired.targets, made, strict=True):
                results[i] = gradient
        return tuple(results)

    def _wrong(self, message: str) -> errors.Error:
        return errors.from_call("call", message)


def _is_zero(gradient: Any) -> bool:
    """Known to be zero, as nothing uses the output, or it has none, as integers do."""
    return isinstance(gradient, jax.custom_derivatives.SymbolicZero) or gradient.dtype == jax.dtypes.float0


def _value(gradient: Any) -> jax.Array:
    if isinstance(gradient, jax.custom_derivatives.SymbolicZero):
        return jnp.zeros(gradient.shape, gradient.dtype)
    return gradient


def _open_dims(signature: Signature, shapes: Sequence[tuple[int, ...]]) -> Dims:
    """Dimensions that the inputs of a backward kernel do not determine, of the arrays whose gradients it computes."""
    known = {
        size.dim: extent
        for output, shape in zip(signature.outputs, shapes, strict=True)
        for size, extent in zip(output.shape, shape, strict=True)
    }
    return tuple((dim, known[dim]) for dim in signature.open_dims)
