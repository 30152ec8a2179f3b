"""Reading: one `pallas_call` becomes a `Kernel` of the IR, with the names of its Python source."""

from __future__ import annotations

import collections
import math
import re
from typing import Any

from . import _jax_internals as jaxi
from . import grids, source
from .cannot import CannotSay
from .dtypes import dtype_name
from .equations import Environment, Reader, constant, placed
from .ir import Block, Kernel, Operand, Ref, Value
from .pipelines import unfold, whole_pipeline


def read(params: dict[str, Any], name: str | None = None) -> tuple[Kernel, source.Names]:
    return _CallReader(params, name).read()


class _CallReader:
    def __init__(self, params: dict[str, Any], name: str | None) -> None:
        self.params, self.jaxpr = params, params["jaxpr"]
        self.grid = jaxi.grid_of(params)
        self.names = source.Names()
        self.notes: list[str] = []
        function, self.place = jaxi.function_place(self.jaxpr)
        self.name = self._kernel_name(name or _call_name(params), function)
        self.function = function
        self.scratch: list[Ref] = []

    def read(self) -> tuple[Kernel, source.Names]:
        if self.jaxpr.constvars:
            raise CannotSay("refs from outside the kernel").at(self.place)
        grid, variables = self.grid, self.jaxpr.invars
        blocks = grid.indices + grid.inputs + grid.outputs
        wanted = self._argument_names()
        names = [self.names.fresh(n) for n in wanted]
        if self.name in names:  # both are names in C++
            self.name = f"{self.name}_kernel"
        axes = [self.names.fresh(a) for a in grid.axis_names()]
        scalars = {k: self.names.fresh(f"steps_{axes[k]}") for k, steps in enumerate(grid.steps) if steps is None}

        prefetch = [self._ref(n, v.aval, "prefetch") for n, v in zip(names, variables[: grid.indices], strict=False)]
        operands = [
            self._operand(block, names[grid.indices + k], variables[grid.indices + k].aval, prefetch)
            for k, block in enumerate(grid.blocks)
        ]
        inputs, outputs = operands[: grid.inputs], operands[grid.inputs :]
        for source_, target in self.params["input_output_aliases"]:
            if not 0 <= source_ - grid.indices < grid.inputs:
                raise CannotSay("an output that takes over a prefetch array").at(self.place)
            outputs[target].alias = inputs[source_ - grid.indices].ref.name
        given = [self.allocate(n, v.aval) for n, v in zip(names[blocks:], variables[blocks:], strict=True)]

        environment: Environment = {}
        for variable, ref in zip(variables, [*prefetch, *(o.ref for o in operands), *given], strict=True):
            environment[variable] = ref
        visible = [k for k in range(len(grid.steps)) if k not in grid.vmapped]
        reader = Reader(visible, self.allocate_named, self.notes)
        reader.named = {name: k for k, name in enumerate(grid.names)}
        pipeline = whole_pipeline(self.jaxpr)
        body = Block() if pipeline else reader.block(self.jaxpr, environment)
        kernel = Kernel(
            name=self.name, source=self.function, place=self.place, axes=axes,
            grid=[scalars[k] if steps is None else steps for k, steps in enumerate(grid.steps)],
            semantics=self._semantics(axes), prefetch=prefetch, scalars=list(scalars.values()), inputs=inputs,
            outputs=outputs, scratch=self.scratch, body=body, vmapped=grid.vmapped, notes=self.notes,
            result_of={o.ref.name: k for k, o in enumerate(outputs)},
        )  # fmt: skip
        if pipeline:
            unfold(kernel, self.names, self.jaxpr, reader, environment)
        return kernel, self.names

    def _kernel_name(self, told: str | None, function: str) -> str:
        told = told or re.sub(r"_?kernel_?", "_", function).strip("_") or source.enclosing(self.place) or "imported"
        told = source.cleaned(told) if told.isascii() else "imported"
        return f"{told}_kernel" if told in source.RESERVED else told

    # ---- operands

    def _ref(self, name: str, aval: Any, memory: str) -> Ref:
        return Ref(name, dtype_name(aval), tuple(aval.shape), memory)

    def _operand(self, block: grids.Block, name: str, aval: Any, prefetch: list[Ref]) -> Operand:
        array = tuple(block.array.shape)
        memory = jaxi.memory_of(aval)
        if memory == "semaphore":
            raise CannotSay("a semaphore that is an operand").at(self.place)
        ref = Ref(name, dtype_name(block.array), tuple(aval.shape), memory, array)
        if memory == "any":
            return Operand(ref, array, None, None)
        index = self._index(block, prefetch)
        _, place = jaxi.function_place(block.index.jaxpr)
        return Operand(ref, array, block.entries, index, block.buffers, place=place)

    def _index(self, block: grids.Block, prefetch: list[Ref]) -> Block:
        axes, (jaxpr, constants) = len(self.grid.steps), jaxi.opened(block.index)
        parameters = [Value("i32") for _ in range(axes)]
        environment: Environment = dict(zip(jaxpr.invars, [*parameters, *prefetch], strict=True))
        reader = Reader(list(range(axes)), self.allocate_named, self.notes)
        for variable, value in constants:
            environment[variable] = constant(value, variable.aval)
        made = reader.block(jaxpr, environment, parameters)
        made.results = placed(made.results, block)
        return made

    def allocate_named(self, name: str, aval: Any) -> Ref:
        return self.allocate(self.names.fresh(name), aval)

    def allocate(self, name: str, aval: Any) -> Ref:
        """Scratch."""
        memory = jaxi.memory_of(aval)
        if memory == "any":
            raise CannotSay("scratch in HBM").at(self.place)
        if memory == "semaphore":
            ref = Ref(name, "semaphore", tuple(aval.shape), memory)
            if jaxi.semaphore_kind(aval) != "dma":
                return ref  # what signals it or waits for it has no word in the language
        else:
            ref = self._ref(name, aval, memory)
        self.scratch.append(ref)
        return ref

    # ---- the grid

    def _semantics(self, axes: list[str]) -> list[str]:
        """Kiln has the parallel axes first; one behind an arbitrary axis is taken as arbitrary."""
        words = list(self.grid.semantics)
        for k in range(1, len(words)):
            if words[k] == "parallel" and "arbitrary" in words[:k]:
                words[k] = "arbitrary"
                self.notes.append(f"axis {axes[k]} is parallel behind an arbitrary one: taken as arbitrary")
        return words

    # ---- names of arguments

    def _argument_names(self) -> list[str]:
        """Where the kernel takes `*args`: what it calls an argument where it is subscripted, else by its role."""
        names = jaxi.argument_names(self.jaxpr)
        votes = self._votes() if any("[" in n for n in names) else {}
        grid, found = self.grid, []
        for k, name in enumerate(names):
            if "[" not in name and "." not in name:
                found.append(name)
            elif votes.get(k):
                found.append(votes[k].most_common(1)[0][0])
            elif not re.match(r"(args|refs|rest|_)\b", name):
                found.append(name)  # `buffers[0]`, `refs.x`: cleaned later
            else:
                found.append(_role(k, grid))
        return found

    def _votes(self) -> dict[int, collections.Counter[str]]:
        votes: dict[int, collections.Counter[str]] = collections.defaultdict(collections.Counter)

        def visit(jaxpr: Any, arguments: dict[Any, int]) -> None:
            for eqn in jaxpr.eqns:
                name = eqn.primitive.name
                if name in ("get", "swap", "addupdate", "masked_load", "masked_swap"):
                    argument = arguments.get(eqn.invars[0]) if not isinstance(eqn.invars[0], jaxi.Literal) else None
                    word = source.subscripted(jaxi.place_of(eqn), storing=name not in ("get", "masked_load"))
                    if argument is not None and word:
                        votes[argument][word] += 1
                for inner, atoms, variables in jaxi.inner_arguments(eqn):
                    visit(inner, {
                        v: arguments[a] for v, a in zip(variables, atoms, strict=False)
                        if not isinstance(a, jaxi.Literal) and a in arguments
                    })  # fmt: skip

        visit(self.jaxpr, {v: k for k, v in enumerate(self.jaxpr.invars)})
        return votes


def _call_name(params: dict[str, Any]) -> str | None:
    """What `name=` said, unless it says nothing."""
    name = params.get("name") or getattr(params.get("name_and_src_info"), "name", None)
    return name if name and name not in ("wrapped", "kernel", "_kernel", "body", "wrapped_fun") else None


def _role(k: int, grid: grids.Grid) -> str:
    for role, count in (("prefetch", grid.indices), ("in", grid.inputs), ("out", grid.outputs), ("scratch", math.inf)):
        if k < count:
            return role if role == "out" and count == 1 else f"{role}{k}"
        k -= int(count)
    raise AssertionError
