"""Reading a kernel whose body is one `emit_pipeline` over arrays in HBM: its grid becomes the spec's own, or, in a kernel
that has a grid itself, the spec's `pipeline`."""

from __future__ import annotations

from typing import Any

from . import _jax_internals as jaxi
from . import grids, source
from .equations import Environment, PipelineInside, Reader, known, placed, value_of
from .ir import Block, Kernel, Operand, Ref, Value

_EFFECTS = (
    "swap",
    "addupdate",
    "masked_swap",
    "dma_start",
    "dma_wait",
    "cond",
    "while",
    "scan",
    "run_scoped",
    "emit_pipeline",
)

_Pairs = list[tuple[Any, Any]]


def whole_pipeline(jaxpr: Any) -> Any | None:
    """The equation of a pipeline that is all that a kernel does."""
    doing = [eqn for eqn in jaxpr.eqns if eqn.primitive.name in _EFFECTS]
    return doing[0] if len(doing) == 1 and doing[0].primitive.name == "emit_pipeline" else None


def unfold(kernel: Kernel, names: source.Names, jaxpr: Any, reader: Reader, environment: Environment) -> None:
    _Unfolding(kernel, names, jaxpr, reader, environment).run()


class _Unfolding:
    def __init__(
        self, kernel: Kernel, names: source.Names, jaxpr: Any, reader: Reader, environment: Environment
    ) -> None:
        self.kernel, self.names, self.environment = kernel, names, environment
        self.outer = reader
        eqn = whole_pipeline(jaxpr)
        self.pipeline = jaxi.pipeline_of(eqn)
        self.place = jaxi.place_of(eqn)
        self.before = jaxpr.eqns[: jaxpr.eqns.index(eqn)]
        self.depth = len(kernel.grid)  # axes in front of the pipeline's
        self.inner = Reader(
            [*range(self.depth, self.depth + len(self.pipeline.grid.steps))], reader.allocate, reader.notes
        )
        self.inner.named = reader.named

    def run(self) -> None:
        grid, kernel = self.pipeline.grid, self.kernel
        kernel.grid += [int(steps or 0) for steps in grid.steps]
        kernel.semantics = self._semantics()
        kernel.outside = self.depth
        kernel.axes += [self.names.fresh(word) for word in grid.axis_names()]
        refs = self._operands()

        body = Block()
        outside = dict(self.environment)
        self.outer.equations(self.before, body, outside)
        inside: Environment = dict(zip(self.pipeline.arguments, refs, strict=True))
        for variable, atom in self.pipeline.of_body:
            inside[variable] = known(outside, atom) or value_of(outside, atom)
        self.inner.equations(self.pipeline.body.eqns, body, inside)
        kernel.body = body

    def _semantics(self) -> list[str]:
        words = self.kernel.semantics or ["arbitrary"] * self.depth
        words = words + list(self.pipeline.grid.semantics or ["arbitrary"] * len(self.pipeline.grid.steps))
        first = words.index("arbitrary") if "arbitrary" in words else len(words)
        return words[:first] + ["arbitrary"] * (len(words) - first)

    def _operands(self) -> list[Ref]:
        """The arrays in HBM, now with blocks; the refs that the pipeline's body sees."""
        by_ref = {o.ref: o for o in (*self.kernel.inputs, *self.kernel.outputs)}
        words = jaxi.argument_names(self.pipeline.body)[-len(self.pipeline.arguments) :]
        refs = []
        for (atom, transforms), block, outside, word in zip(
            self.pipeline.refs, self.pipeline.grid.blocks, self.pipeline.of_index_maps, words, strict=True
        ):
            operand = by_ref.pop(known(self.environment, atom), None)
            if operand is None or transforms or operand.ref.memory != "any":
                raise PipelineInside("a pipeline over a part of an array, or twice over one").at(self.place)
            self._fill(operand, block, outside, word)
            refs.append(operand.ref)
        return refs

    def _fill(self, operand: Operand, block: grids.Block, outside: _Pairs, word: str) -> None:
        ref = operand.ref
        if word.isidentifier():
            ref.name = self._renamed(ref.name, word)
        ref.shape = tuple(size or 1 for size, e in zip(block.sizes, block.entries, strict=True) if e != "null")
        ref.memory = "vmem"
        operand.piped = self.depth > 0
        operand.block, operand.buffers = block.entries, block.buffers
        operand.index = self._index(block, outside)
        _, operand.place = jaxi.function_place(block.index.jaxpr)

    def _renamed(self, old: str, word: str) -> str:
        """The body's name of an array, where the kernel's own says less (`x_hbm` and `x`)."""
        new = self.names.fresh(word)
        for operand in (*self.kernel.inputs, *self.kernel.outputs):
            if operand.alias == old:
                operand.alias = new
        self.kernel.result_of = {new if n == old else n: k for n, k in self.kernel.result_of.items()}
        return new

    def _index(self, block: grids.Block, captured: _Pairs) -> Block:
        """The index map with what the kernel computed before the pipeline in front."""
        axes = len(self.kernel.grid)
        made = Block([Value("i32") for _ in range(axes)])
        outside = dict(self.environment)
        self.outer.equations(self.before, made, outside)
        jaxpr = block.index.jaxpr
        inside: Environment = dict(zip(jaxpr.invars, made.parameters[self.depth :], strict=False))
        for variable, atom in captured:
            inside[variable] = known(outside, atom) or value_of(outside, atom)
        self.inner.equations(jaxpr.eqns, made, inside)
        made.results = placed([value_of(inside, v) for v in jaxpr.outvars], block)
        return made
