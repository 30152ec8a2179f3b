"""Reading: the equations of a jaxpr become operations of the IR, one for one but for what only JAX needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _jax_internals as jaxi
from . import cannot, grids, source
from .cannot import CannotSay
from .dtypes import dtype_name, narrow_bits
from .expansions import expanded
from .grids import Slice, Transform
from .ir import Bitcast, Block, Index, Operation, Range, Ref, Reshape, Transpose, Value, Window, from_start
from .reading.gathers import Gathers
from .reading.memory import Memory
from .reading.narrow import Narrow
from .reading.primitives import Parameters
from .reading.sorts import Sorts
from .reading.updates import Updates

Environment = dict[Any, "Value | Ref"]

#: Primitives that compute each element by itself, and the IR's word for them where it is another one.
ELEMENTWISE = {
    name: name
    for name in """add sub mul max min neg not and or xor eq ne lt le gt ge exp exp2 log log1p tanh erf sqrt rsqrt sin
    cos tan asin acos atan sinh cosh asinh acosh atanh erfc expm1 cbrt atan2 floor ceil abs sign pow is_finite rem
    shift_left shift_right_logical shift_right_arithmetic""".split()
} | {"add_any": "add", "logistic": "sigmoid", "div": "divide"}

#: Primitives that change no value.
IDENTITIES = {"multiple_of", "stop_gradient", "copy", "copy_p", "optimization_barrier", "pvary", "pcast",
              "with_memory_space_constraint", "layout_constraint", "trace_value"}  # fmt: skip
#: Primitives that do nothing here, each with what is said of it.
IGNORED = {"touch": "", "add_dependency": "", "delay": "", "debug_callback": "a debug callback is left out",
           "debug_print": "a debug print is left out", "check": "a check is left out",
           "trace_start": "", "trace_stop": "", "assume": ""}  # fmt: skip
REDUCTIONS = {"reduce_sum": "sum", "reduce_max": "max", "reduce_min": "min", "reduce_prod": "prod", "reduce_and": "all",
              "reduce_or": "any", "argmax": "argmax", "argmin": "argmin"}  # fmt: skip


class Reader:
    """Reads the jaxprs of one call. `axes` are the grid's axes that the body knows: vmapped ones are hidden."""

    def __init__(self, axes: list[int], allocate: Callable[[str, Any], Ref], notes: list[str]) -> None:
        self.axes, self.allocate, self.notes = axes, allocate, notes
        self.named: dict[Any, int] = {}  # name of an axis, where the grid is a mesh of cores -> its number
        self.made: dict[Any, Any] = {}  # variable -> its equation
        self.given: dict[Any, Any] = {}  # variable of an inner jaxpr -> the atom that it stands for

    def block(self, jaxpr: Any, environment: Environment, parameters: list[Value] | None = None) -> Block:
        """The equations of a jaxpr, whose variables from outside the environment knows."""
        body = Block(list(parameters or ()))
        environment = dict(environment)
        self.equations(jaxpr.eqns, body, environment)
        body.results = [value_of(environment, v) for v in jaxpr.outvars if not isinstance(known(environment, v), Ref)]
        return body

    def equations(self, eqns: list[Any], body: Block, environment: Environment) -> None:
        """Equations at the end of a block; the environment learns their variables."""
        hints = _hints(eqns)
        for eqn in eqns:
            self.made.update(dict.fromkeys(eqn.outvars, eqn))
            try:
                Equation(self, body, environment, eqn, hints).read()
            except CannotSay as error:
                raise error.at(jaxi.place_of(eqn)) from None

    def parameters(self, variables: list[Any], names: list[str | None]) -> list[Value]:
        found = []
        for variable, name in zip(variables, names, strict=False):
            hint = name if name and name.isidentifier() else None
            found.append(Value(dtype_name(variable.aval), tuple(variable.aval.shape), hint=hint))
        return found


def _hints(eqns: list[Any]) -> dict[Any, str]:
    """The Python variables of each statement's last equation."""
    last: dict[tuple[str, int], Any] = {}
    names: dict[tuple[str, int], tuple[str, ...]] = {}
    for eqn in eqns:
        place = jaxi.place_of(eqn)
        statement = source.assigned(place)
        if place and statement and eqn.outvars:
            key = (place[0], statement[0])
            last[key], names[key] = eqn.outvars, statement[1]
    found: dict[Any, str] = {}
    for key, variables in last.items():
        if len(variables) == len(names[key]):
            found.update(zip(variables, names[key], strict=True))
    return {variable: name for variable, name in found.items() if not isinstance(variable, jaxi.DropVar)}


def known(environment: Environment, atom: Any) -> Any:
    return None if isinstance(atom, jaxi.Literal) else environment.get(atom)


def placed(results: list[Value], block: grids.Block) -> list[Value]:
    """An index map's results in our order: starts, then the sizes of bounded dimensions."""
    return [
        results[p.number] if isinstance(p, grids.Result) else Value("i32", constant=int(p)) for p in block.places
    ]


def value_of(environment: Environment, atom: Any) -> Value:
    if isinstance(atom, jaxi.Literal):
        return constant(atom.val, atom.aval)
    found = environment[atom]
    if isinstance(found, Ref):
        raise CannotSay("a ref where a value belongs")
    return found


def constant(value: Any, aval: Any) -> Value:
    array = np.asarray(value)
    if array.size != 1 and not (array == array.flat[0]).all():
        raise CannotSay("an array constant")
    return Value(dtype_name(aval), tuple(aval.shape), constant=array.flat[0].item())


class PipelineInside(CannotSay):
    """An `emit_pipeline` that is not the grid: it can be read as what it expands to."""


class Equation(Parameters, Sorts, Memory, Gathers, Updates, Narrow):
    """One equation on its way into a block."""

    def __init__(self, reader: Reader, body: Block, environment: Environment, eqn: Any, hints: dict[Any, str]) -> None:
        self.reader, self.body, self.environment, self.eqn, self.hints = reader, body, environment, eqn, hints
        self.params = eqn.params
        self.place = jaxi.place_of(eqn)

    def read(self) -> None:
        name = self.eqn.primitive.name
        own = getattr(self, "read_" + name.replace("-", "_"), None)
        if own is not None:
            own()
        elif name in ELEMENTWISE:
            self.emit(ELEMENTWISE[name])
        elif name in REDUCTIONS:
            self.emit("reduce", function=REDUCTIONS[name], axes=tuple(self.params["axes"]))
        elif name in jaxi.CALLS:
            self.read_call(self.params.get(jaxi.CALLS[name]) or self.params["call_jaxpr"])
        elif name in IDENTITIES:
            for atom, out in zip(self.eqn.invars, self.eqn.outvars, strict=True):
                self.environment[out] = known(self.environment, atom) or self.value(atom)
        elif name in IGNORED:
            if IGNORED[name]:
                self.reader.notes.append(IGNORED[name])
        else:
            jaxpr = expanded(name, [atom.aval for atom in self.eqn.invars], self.params)
            if jaxpr is None:
                raise CannotSay(cannot.primitive(name))
            self.read_call(jaxpr)
        self.narrow()

    # ---- pieces

    def value(self, atom: Any) -> Value:
        return value_of(self.environment, atom)

    def ref(self, atom: Any) -> Ref:
        found = known(self.environment, atom)
        if not isinstance(found, Ref):
            raise CannotSay("a ref that is not an argument of the kernel")
        return found

    def concrete(self, atom: Any) -> np.ndarray | None:
        """The numbers of a value that depends on nothing."""
        if isinstance(atom, jaxi.Literal):
            return np.asarray(atom.val)
        if not hasattr(atom, "aval"):
            return np.asarray(atom)
        if atom in self.reader.given:
            return self.concrete(self.reader.given[atom])
        eqn = self.reader.made.get(atom)
        if eqn is None or eqn.effects:
            return None
        inputs = [self.concrete(a) for a in eqn.invars]
        if any(v is None for v in inputs):
            return None
        return jaxi.evaluated(eqn, inputs)[eqn.outvars.index(atom)]

    def window(self, ref: Any, transforms: list[Transform], copied: bool = False) -> Window:
        """`copied`: a side of a copy, the only ones to have sizes known at run time."""
        steps: list[Any] = []
        for kind, what in transforms:
            if kind == "index":
                found = (self.entry(entry, n if copied else None) for entry, n in zip(what, what.extents, strict=True))
                steps.append(Index(tuple(map(from_start, found, what.extents))))
            else:
                if kind == "bitcast" and narrow_bits(ref.aval):
                    raise CannotSay("a bitcast between widths")
                steps.append({"reshape": Reshape, "transpose": Transpose, "bitcast": Bitcast}[kind](what))
        return Window(self.ref(ref), tuple(steps))

    def entry(self, entry: Any, most: Any = None) -> Value | Range:
        if not isinstance(entry, Slice):
            return self.number(entry)
        start, stride = self.number(entry.start), int(entry.stride)
        if isinstance(entry.size, (int, np.integer)):
            return Range(start, int(entry.size), stride)
        if stride != 1 or not isinstance(most, (int, np.integer)):
            raise CannotSay("a slice of a size known at run time")
        return Range(start, int(most), count=self.number(entry.size))

    def number(self, what: Any) -> Value:
        if hasattr(what, "aval") and not hasattr(what, "addressable_shards"):
            found = self.value(what)
        elif np.shape(what) == ():
            found = Value("i32", constant=int(what))
        else:
            raise CannotSay("a subscript that is an array of indices")
        if found.shape != ():
            raise CannotSay("a subscript that is an array of indices")
        return found

    def emit(self, name: str, inputs: list[Value] | None = None, **attributes: Any) -> Operation:
        """An operation with this equation's outputs."""
        if inputs is None:
            inputs = [self.value(atom) for atom in self.eqn.invars]
        operation = Operation(name, inputs, [], attributes, place=self.place)
        operation.outputs = [self.out(variable) for variable in self.eqn.outvars]
        self.body.operations.append(operation)
        return operation

    def out(self, variable: Any) -> Value:
        made = Value(dtype_name(variable.aval), tuple(variable.aval.shape), hint=self.hints.get(variable))
        if not isinstance(variable, jaxi.DropVar):
            self.environment[variable] = made
        return made

    def effect(self, name: str, windows: list[Window], inputs: list[Value] | None = None, **attributes: Any) -> None:
        self.body.operations.append(Operation(name, inputs or [], [], attributes, windows, place=self.place))

    def made(
        self, name: str, inputs: list[Value], shape: tuple[int, ...], windows: list[Window] | None = None,
        dtype: str | None = None, **attributes: Any,
    ) -> Value:  # fmt: skip
        """An operation with one new value: of this type, of that of the loaded memory, or of the last input's."""
        value = Value(dtype or (windows[0].ref.dtype if windows else inputs[-1].dtype), shape)
        self.body.operations.append(Operation(name, inputs, [value], attributes, windows or [], place=self.place))
        return value

    # ---- the grid, calls, branches and loops

    def read_emit_pipeline(self) -> None:
        raise PipelineInside("a pipeline that is not all that the kernel does")

    def inner(self, closed: Any) -> tuple[Any, Environment]:
        """A jaxpr of this equation, and an environment with its constants."""
        jaxpr, constants = jaxi.opened(closed)
        environment = dict(self.environment)
        for variable, value in constants:
            environment[variable] = constant(value, variable.aval)
        return jaxpr, environment

    def bind(self, variables: list[Any], atoms: list[Any], environment: Environment) -> None:
        """Variables of an inner jaxpr that stand for what this equation is given."""
        for variable, atom in zip(variables, atoms, strict=True):
            environment[variable] = known(self.environment, atom) or self.value(atom)
            self.reader.given[variable] = atom

    def structured(self, name: str, blocks: list[Block], inputs: list[Value], **attributes: Any) -> None:
        operation = self.emit(name, inputs, **attributes)
        operation.blocks = blocks

    def read_call(self, closed: Any) -> None:
        jaxpr, environment = self.inner(closed)
        self.bind(jaxpr.invars, self.eqn.invars, environment)
        name = self.params.get("name") or ""
        if not name and len(jaxpr.eqns) == 1:  # a custom_jvp_call of one jitted function
            name = jaxpr.eqns[0].params.get("name", "") if jaxpr.eqns[0].primitive.name in jaxi.CALLS else ""
        inputs = [self.value(a) for a in self.eqn.invars if not isinstance(known(self.environment, a), Ref)]
        self.structured("call", [self.reader.block(jaxpr, environment)], inputs, function=name)

    def read_threefry2x32(self) -> None:
        self.read_call(jaxi.threefry_jaxpr([atom.aval for atom in self.eqn.invars]))

    def read_platform_index(self) -> None:
        self.environment[self.eqn.outvars[0]] = Value("i32", (), constant=jaxi.platform_index(self.params))

    def read_cond(self) -> None:
        which, *operands = self.eqn.invars
        blocks = []
        for branch in self.params["branches"]:
            jaxpr, environment = self.inner(branch)
            self.bind(jaxpr.invars, operands, environment)
            blocks.append(self.reader.block(jaxpr, environment))
        self.structured("branch", blocks, [self.value(which)])

    def read_scan(self) -> None:
        consts, carried = jaxi.scan_counts(self.eqn)
        if len(self.eqn.invars) != consts + carried or len(self.eqn.outvars) != carried:
            raise CannotSay("a scan over arrays")
        if self.params["reverse"]:
            raise CannotSay("a scan backwards")
        jaxpr, environment = self.inner(self.params["jaxpr"])
        self.bind(jaxpr.invars[:consts], self.eqn.invars[:consts], environment)
        body = self.loop_body(jaxpr, environment, consts)
        inputs = [self.value(atom) for atom in self.eqn.invars[consts:]]
        self.structured("scan", [body], inputs, length=self.params["length"])

    def read_while(self) -> None:
        in_condition, in_body = self.params["cond_nconsts"], self.params["body_nconsts"]
        atoms = self.eqn.invars
        jaxpr, environment = self.inner(self.params["cond_jaxpr"])
        self.bind(jaxpr.invars[:in_condition], atoms[:in_condition], environment)
        condition = self.loop_body(jaxpr, environment, in_condition)
        jaxpr, environment = self.inner(self.params["body_jaxpr"])
        self.bind(jaxpr.invars[:in_body], atoms[in_condition : in_condition + in_body], environment)
        body = self.loop_body(jaxpr, environment, in_body)
        self.structured("while", [condition, body], [self.value(a) for a in atoms[in_condition + in_body :]])

    def loop_body(self, jaxpr: Any, environment: Environment, consts: int) -> Block:
        variables = list(jaxpr.invars[consts:])
        names: list[str | None] = list(jaxi.argument_names(jaxpr)[consts:])
        parameters = self.reader.parameters(variables, names)
        environment.update(zip(variables, parameters, strict=True))
        return self.reader.block(jaxpr, environment, parameters)

    def read_run_scoped(self) -> None:
        jaxpr = self.params["jaxpr"]
        environment = dict(self.environment)
        captured, allocated = jaxi.captured(jaxpr, len(self.eqn.invars))
        self.bind(captured, self.eqn.invars, environment)
        names = jaxi.argument_names(jaxpr)[-len(allocated) :]
        for k, variable in enumerate(allocated):
            name = names[k] if "[" not in names[k] else f"scoped{k}"
            environment[variable] = self.reader.allocate(name, variable.aval)
        self.structured("call", [self.reader.block(jaxpr, environment)], [], function="run_scoped")
