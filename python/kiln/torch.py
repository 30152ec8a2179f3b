"""Kernels as operators of PyTorch, for eager mode, `torch.compile`, `torch.export` and autograd.

    matmul = kiln.torch.operator("product.yaml", backward=["product_dx.yaml", "product_dy.yaml"])
    z = matmul(x, y)
    z.sum().backward()
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch

from . import errors
from ._gradients import Gradients, is_float, pair
from ._signature import Signature
from ._tensors import DTYPES
from .kernel import Kernel, load

__all__ = ["Operator", "operator"]

_SCALARS = {"i32": "SymInt", "u32": "SymInt", "i64": "SymInt", "f32": "float", "f64": "float", "bool": "bool"}
_hardware_cores = len(os.sched_getaffinity(0))
_library = torch.library.Library("kiln", "FRAGMENT")
_operators: dict[str, Operator] = {}  # by name: PyTorch keeps an operator as long as the process runs


class Operator:
    """A kernel as `torch.ops.kiln.NAME`. Call it with tensors and numbers, by place or by name."""

    def __init__(self, kernel: Kernel, name: str, in_place: bool) -> None:
        self.kernel = kernel
        self.name = name
        self.schema = name + _schema(kernel.signature, in_place)
        _library.define(self.schema)
        #: What `torch.library.opcheck` and graphs of `torch.compile` know it by.
        self.op: Any = getattr(torch.ops.kiln, name).default
        self.__doc__ = kernel.__doc__
        self.__name__ = name

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Gives a tensor for one output and a tuple for several. Dimensions that the inputs do not determine come last."""
        return self.op(*inputs, **named)

    def __repr__(self) -> str:
        return f"<kiln.torch.Operator {self.op}: {self.kernel.signature}>"


def operator(
    kernel: Kernel | str | os.PathLike[str],
    *,
    backward: Sequence[Kernel | Operator | str | os.PathLike[str]] = (),
    in_place: bool = False,
) -> Operator:
    """The operator of a kernel: one of `kiln.load`, or a spec.

    `backward` are kernels that compute gradients. They are paired by names: a backward kernel's input `x` or `z` is
    what the forward kernel calls so, `dz` or `d_z` is the gradient of its output z, and an output `dx` or `d_x` is the
    gradient of its input x. Outputs whose gradient no kernel reads are not differentiable. An input that lacks a
    gradient is an exception, once autograd asks for it.

    An operator makes new outputs: one that aliases an input starts as a copy of it. With `in_place` the kernel
    writes over its aliased inputs instead, and the operator returns only what else it computes.

    Tensors are passed without a copy where their last dimension has stride 1, and are copied where not. A kernel
    uses as many cores as PyTorch has threads (`torch.set_num_threads`). `torch.vmap` calls it once for each of a batch."""
    kernel = _kernel(kernel)
    if in_place and backward:
        raise ValueError("in_place has no gradients: what they need is written over")
    steps = [b if isinstance(b, Operator) else operator(_kernel(b)) for b in backward]
    gradients = pair(kernel.signature, [step.kernel.signature for step in steps])
    if in_place and not _aliases(kernel.signature):
        raise ValueError(f"in_place: no output of {kernel.__name__} aliases an input")

    # By what it computes: caches of compiled graphs then stay valid from process to process.
    parts = [kernel.signature.hash, *(step.name for step in steps), str(in_place)]
    name = f"{kernel.__name__}_{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:12]}"
    known = _operators.get(name)
    if known is not None:
        return known
    made = Operator(kernel, name, in_place)
    _library.impl(name, _call_in_place(kernel) if in_place else _call(kernel), "CPU")
    torch.library.register_fake(f"kiln::{name}", _fake(kernel.signature, in_place), lib=_library)
    if not in_place:
        torch.library.register_autograd(
            f"kiln::{name}", _backward(gradients, steps), setup_context=_save(gradients), lib=_library
        )
        torch.library.register_vmap(f"kiln::{name}", _one_by_one(made), lib=_library)
    return _operators.setdefault(name, made)


def _kernel(of: Kernel | str | os.PathLike[str]) -> Kernel:
    return of if isinstance(of, Kernel) else load(of)


def _aliases(signature: Signature) -> dict[int, int]:
    """By output, the input that it takes over."""
    places = {a.name: i for i, a in enumerate(signature.inputs)}
    return {i: places[a.alias] for i, a in enumerate(signature.outputs) if a.alias is not None}


def _schema(signature: Signature, in_place: bool) -> str:
    written = _aliases(signature) if in_place else {}
    letters = {index: chr(ord("a") + i) for i, index in enumerate(written.values())}
    arguments = []
    for i, a in enumerate(signature.inputs):
        kind = f"Tensor({letters[i]}!)" if i in letters else "Tensor" if a.passed_as is None else _SCALARS[a.passed_as]
        arguments.append(f"{kind} {a.name}")
    arguments += [f"SymInt {dim}" for dim in signature.open_dims]
    outputs = ["Tensor"] * (len(signature.outputs) - len(written))
    return f"({', '.join(arguments)}) -> {outputs[0] if len(outputs) == 1 else '(' + ', '.join(outputs) + ')'}"


# ---- what runs ----


def _cores() -> int:
    """As many as PyTorch may have; 0, where that is all, lets small calls stay on one."""
    threads = torch.get_num_threads()
    return 0 if threads >= _hardware_cores else threads


def _readable(given: Any) -> Any:
    """A tensor that the kernel reads in place, a copy where it cannot be; numbers as they are."""
    if not isinstance(given, torch.Tensor):
        return given
    given = given.detach()
    return given if given.dim() == 0 or given.size(-1) <= 1 or given.stride(-1) == 1 else given.contiguous()


def _call(kernel: Kernel) -> Callable[..., Any]:
    count, dims = len(kernel.signature.inputs), kernel.signature.open_dims

    def call(*given: Any) -> Any:
        inputs = [_readable(g) for g in given[:count]]
        return kernel(*inputs, cores=_cores(), **dict(zip(dims, given[count:], strict=True)))

    return call


def _call_in_place(kernel: Kernel) -> Callable[..., Any]:
    signature = kernel.signature
    written = _aliases(signature)

    def call(*given: Any) -> Any:
        count = len(signature.inputs)
        for index in written.values():
            if given[index].requires_grad and torch.is_grad_enabled():
                name = signature.inputs[index].name
                raise errors.from_call("call", f"{signature.name}: {name} requires grad, and is written in place")
        inputs = [g.detach() if i in written.values() else _readable(g) for i, g in enumerate(given[:count])]
        shapes = signature.output_shapes(*inputs, **dict(zip(signature.open_dims, given[count:], strict=True)))
        outputs = [
            inputs[written[i]] if i in written else torch.empty(shape, dtype=_dtype(a.dtype))
            for i, (a, shape) in enumerate(zip(signature.outputs, shapes, strict=True))
        ]
        kernel(*inputs, out=outputs, cores=_cores())
        return _results([o for i, o in enumerate(outputs) if i not in written])

    return call


def _results(outputs: list[Any]) -> Any:
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _dtype(name: str) -> torch.dtype:
    dtype: torch.dtype = getattr(torch, DTYPES[name])
    return dtype


# ---- what tracing runs: shapes and dtypes alone ----


def _fake(signature: Signature, in_place: bool) -> Callable[..., Any]:
    written = _aliases(signature) if in_place else {}

    def fake(*given: Any) -> Any:
        known = _extents(signature, given)
        device = next((g.device for g in given if isinstance(g, torch.Tensor)), torch.device("cpu"))
        return _results(
            [
                torch.empty([s.value(known) for s in a.shape], dtype=_dtype(a.dtype), device=device)
                for i, a in enumerate(signature.outputs)
                if i not in written
            ]
        )

    return fake


def _extents(signature: Signature, given: Sequence[Any]) -> dict[str, Any]:
    """By dimension, maybe as symbols; what the kernel would refuse is refused here, while a graph is made."""
    count = len(signature.inputs)
    known: dict[str, Any] = dict(zip(signature.open_dims, given[count:], strict=True))
    for a, tensor in zip(signature.inputs, given[:count], strict=True):
        if a.passed_as is not None:
            known.setdefault(a.name, tensor)
            continue
        if tensor.dtype != _dtype(a.dtype):
            raise _wrong(signature, f"{a.name} is {tensor.dtype}, expected {_dtype(a.dtype)}")
        if tensor.dim() != len(a.shape):
            raise _wrong(signature, f"{a.name} is of rank {tensor.dim()}, expected rank {len(a.shape)}")
        for size, extent in zip(a.shape, tensor.shape, strict=True):
            if size.dim:
                known.setdefault(size.dim, extent)
    for a, tensor in zip(signature.inputs, given[:count], strict=True):
        for d, size in enumerate(a.shape):
            if size.names <= known.keys() and tensor.shape[d] != size.value(known):
                raise _wrong(signature, f"{a.name} has shape {list(tensor.shape)}, expected {list(a.shape)}")
    return known


def _wrong(signature: Signature, message: str) -> errors.Error:
    return errors.from_call("call", f"{signature.name}: {message}")


# ---- batches ----


def _one_by_one(operator: Operator) -> Callable[..., tuple[Any, Any]]:
    """The rule of `torch.vmap`: a call for each of the batch."""

    def rule(info: Any, in_dims: tuple[int | None, ...], *given: Any) -> tuple[Any, Any]:
        def one(i: int) -> tuple[torch.Tensor, ...]:
            made = operator(*(g if d is None else g.select(d, i) for g, d in zip(given, in_dims, strict=True)))
            return made if isinstance(made, tuple) else (made,)

        stacked = [torch.stack(outputs) for outputs in zip(*map(one, range(info.batch_size)), strict=True)]
        return _results(stacked), 0 if len(stacked) == 1 else (0,) * len(stacked)

    return rule


# ---- gradients ----


def _save(gradients: Gradients) -> Callable[..., None]:
    signature = gradients.forward
    numbers = [i for i, a in enumerate(signature.inputs) if a.passed_as is not None]
    arrays = [i for i in gradients.used("input") if i not in numbers]
    outputs, differentiated = gradients.used("output"), gradients.used("gradient")

    def save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        made = output if isinstance(output, tuple) else (output,)
        ctx.save_for_backward(*(inputs[i] for i in arrays), *(made[i] for i in outputs))
        ctx.saved = [("input", i) for i in arrays] + [("output", i) for i in outputs]
        ctx.numbers = {("input", i): inputs[i] for i in numbers}
        ctx.shapes = [getattr(x, "shape", None) for x in inputs]
        ctx.made = [(x.shape, x.dtype, x.device) for x in made]
        if gradients.kernels:
            ctx.mark_non_differentiable(*(x for i, x in enumerate(made) if i not in differentiated))
        else:
            ctx.mark_non_differentiable(*(x for i, x in enumerate(made) if not is_float(signature.outputs[i])))

    return save


def _backward(gradients: Gradients, steps: Sequence[Operator]) -> Callable[..., tuple[Any, ...]]:
    def backward(ctx: Any, *incoming: Any) -> tuple[Any, ...]:
        results: list[Any] = [None] * len(ctx.shapes)
        for i, needed in enumerate(ctx.needs_input_grad):
            why = gradients.missing(i) if needed else ""
            if why:
                raise errors.from_call("call", why)
        values = ctx.numbers | dict(zip(ctx.saved, ctx.saved_tensors, strict=True))
        for i in gradients.used("gradient"):
            shape, dtype, device = ctx.made[i]
            no_gradient = incoming[i] is None  # of an output that nothing used
            values["gradient", i] = torch.zeros(shape, dtype=dtype, device=device) if no_gradient else incoming[i]
        for kernel, step in zip(gradients.kernels, steps, strict=True):
            if not any(ctx.needs_input_grad[i] for i in kernel.targets):
                continue
            inputs = [values[source.kind, source.index] for source in kernel.sources]
            made = step(*inputs, *_open_dims(step.kernel.signature, kernel.targets, ctx.shapes))
            for i, gradient in zip(kernel.targets, made if isinstance(made, tuple) else (made,), strict=True):
                results[i] = gradient
        return tuple(results)

    return backward


def _open_dims(signature: Signature, targets: Sequence[int], shapes: Sequence[Any]) -> list[Any]:
    """Dimensions that the inputs of a backward kernel do not determine, of the arrays whose gradients it computes."""
    known = {
        size.dim: extent
        for a, target in zip(signature.outputs, targets, strict=True)
        for size, extent in zip(a.shape, shapes[target], strict=True)
    }
    return [known[dim] for dim in signature.open_dims]
