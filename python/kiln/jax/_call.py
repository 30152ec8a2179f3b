"""Calls of kernels on what JAX traces: dtypes and shapes are checked here, and XLA calls the kernel."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .. import errors
from .._library import scalar
from .._signature import Argument, Signature
from .._tensors import DTYPES, numpy_dtype
from ..kernel import MODES, Kernel
from ._batch import Batch
from ._bridge import TARGET, register

_NAMES = {of_numpy: name for name, of_numpy in DTYPES.items()}


def call(kernel: Kernel, *inputs: Any, mode: str = "direct", cores: int | None = None, **named: Any) -> Any:
    """Calls the kernel on arrays of JAX, inside `jax.jit` or not; an array for one output, a tuple for several.

    Inputs go by place or by name, and so do dimensions that they do not decide. An output that aliases an input
    takes over its memory where nothing else needs it (`donate_argnums`), and a copy of it otherwise. `cores` is
    how many threads share the call; they are XLA's. The modes "emulate" and "interpret" are for finding mistakes.

    Under `vmap`, a kernel whose spec has `vmap` takes the whole batch at once, and it may be called with arrays
    that lack that dimension; other kernels are called once for each of the batch."""
    if mode not in MODES:
        raise ValueError(f"mode is {mode!r}, expected one of {', '.join(MODES)}")
    inputs, dims = kernel.arrange(inputs, named)
    results = invoke(kernel, inputs, tuple(dims.items()), mode, cores)
    return results[0] if len(results) == 1 else results


#: Dimensions that inputs do not decide, by name.
Dims = tuple[tuple[str, int], ...]


def invoke(
    kernel: Kernel, inputs: Sequence[Any], dims: Dims = (), mode: str = "direct", cores: int | None = None
) -> tuple[jax.Array, ...]:
    operands = [_operand(kernel.signature, a, x) for a, x in zip(kernel.signature.inputs, inputs, strict=True)]
    function = _function(kernel, mode, cores or 0, dims)
    batch = Batch.of(kernel)
    if batch is not None and batch.is_lacking(operands):
        return batch.squeezed(function(*batch.expanded(operands)))
    return tuple(function(*operands))


@functools.lru_cache(1024)
def _function(kernel: Kernel, mode: str, cores: int, dims: Dims) -> Callable[..., tuple[jax.Array, ...]]:
    """The same function for the same call, as JAX remembers functions."""
    run = _direct(kernel, cores) if mode == "direct" else _elsewhere(kernel, mode, dict(dims))

    def compute(*operands: jax.Array) -> tuple[jax.Array, ...]:
        return tuple(run(_results(kernel.signature, operands, dict(dims)), *operands))

    batch = Batch.of(kernel)
    function = jax.custom_jvp(compute if batch is None else batch.mapped(compute))

    @function.defjvp
    def no_gradient(primals: Any, tangents: Any) -> Any:
        message = f"{kernel.__name__} has no gradient: pair it with kernels that compute it, by kiln.jax.differentiable"
        raise errors.from_call("call", message)

    return function


def _direct(kernel: Kernel, cores: int) -> Callable[..., Sequence[jax.Array]]:
    name, signature = register(kernel), kernel.signature
    places = {a.name: i for i, a in enumerate(signature.inputs)}
    aliases = {places[a.alias]: i for i, a in enumerate(signature.outputs) if a.alias is not None}

    def run(results: list[jax.ShapeDtypeStruct], *operands: jax.Array) -> Sequence[jax.Array]:
        target = jax.ffi.ffi_call(TARGET, results, vmap_method="sequential", input_output_aliases=aliases)
        return target(*operands, kernel=name, cores=np.int32(cores))

    return run


def _elsewhere(kernel: Kernel, mode: str, dims: dict[str, int]) -> Callable[..., Sequence[jax.Array]]:
    """By the program `kiln`, which names the line of the spec where something is wrong."""

    def host(*inputs: Any) -> tuple[np.ndarray[Any, Any], ...]:
        made = kernel(*map(np.asarray, inputs), mode=mode, **dims)
        return made if isinstance(made, tuple) else (made,)

    def run(results: list[jax.ShapeDtypeStruct], *operands: jax.Array) -> Sequence[jax.Array]:
        made: Sequence[jax.Array] = jax.pure_callback(host, tuple(results), *operands, vmap_method="sequential")
        return made

    return run


# ---- what is checked while JAX traces: the rest the kernel checks itself


def _operand(signature: Signature, a: Argument, given: Any) -> jax.Array:
    dtype = numpy_dtype(a.passed_as or a.dtype)
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise _wrong(signature, f"{a.name} is {_NAMES[dtype.name]}, which JAX has with jax_enable_x64 only")
    is_array = hasattr(given, "shape") and hasattr(given, "dtype")
    if a.passed_as is not None:
        if not is_array or not isinstance(given, jax.Array):
            return jnp.asarray(scalar(signature.name, a.name, given, a.passed_as), dtype)
        if given.shape != ():
            raise _wrong(signature, f"{a.name} is of rank {given.ndim}, expected a scalar")
        if given.dtype.kind != dtype.kind and (given.dtype.kind not in "iu" or dtype.kind not in "iuf"):
            raise _wrong(signature, f"{a.name} is {_name(given)}, expected {a.passed_as}")
        return given.astype(dtype)
    if not is_array:
        raise _wrong(signature, f"{a.name} is a {type(given).__name__}, expected an array")
    if given.dtype != dtype:
        raise _wrong(signature, f"{a.name} is {_name(given)}, expected {a.dtype}")
    return jnp.asarray(given)


def _results(signature: Signature, operands: Sequence[jax.Array], known: dict[str, Any]) -> list[jax.ShapeDtypeStruct]:
    arrays = [(a, x.shape) for a, x in zip(signature.inputs, operands, strict=True) if a.role != "scalar"]
    for a, shape in arrays:
        if len(shape) != len(a.shape):
            raise _wrong(signature, f"{a.name} is of rank {len(shape)}, expected rank {len(a.shape)}")
        for size, extent in zip(a.shape, shape, strict=True):
            if size.dim:
                known.setdefault(size.dim, extent)
    for a, shape in arrays:
        if all(size.names <= known.keys() for size in a.shape):
            expected = [size.value(known) for size in a.shape]
            if list(shape) != expected:
                raise _wrong(signature, f"{a.name} has shape {list(shape)}, expected {expected}")
    results = []
    for a in signature.outputs:
        dtype = numpy_dtype(a.dtype)
        if jax.dtypes.canonicalize_dtype(dtype) != dtype:
            raise _wrong(signature, f"{a.name} is {a.dtype}, which JAX has with jax_enable_x64 only")
        results.append(jax.ShapeDtypeStruct(_shape(signature, a, known), dtype))
    return results


def _shape(signature: Signature, a: Argument, known: dict[str, Any]) -> tuple[int, ...]:
    try:
        return tuple(size.value(known) for size in a.shape)
    except KeyError as error:
        missing = error.args[0]
        raise _wrong(signature, f"the inputs do not determine {missing}: pass {missing}=…") from None
    except ZeroDivisionError:
        raise _wrong(signature, "a size divides by 0") from None


def _name(given: Any) -> str:
    """As Kiln calls the dtype of an array."""
    return _NAMES.get(str(given.dtype), str(given.dtype))


def _wrong(signature: Signature, message: str) -> errors.Error:
    return errors.from_call("call", f"{signature.name}: {message}")
