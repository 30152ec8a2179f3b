"""Runs a function as JAX would, with every `pallas_call` in it interpreted, and keeps what each call was given and gave."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax._src import core

from kiln.pallas import _jax_internals as jaxi
from kiln.pallas.equations import CALLS


@dataclass
class Ran:
    params: dict[str, Any]
    live: tuple[bool, ...]
    place: Any
    operands: list[Any]
    results: list[Any]


def evaluate(f, args, interpret=True) -> list[Ran]:
    """In the order of `kiln.pallas.to_specs`. `interpret` is JAX's: True, or `pltpu.InterpretParams()`."""
    jaxpr, consts = jaxi.traced(f, args)
    found = jaxi.calls(f, args)

    @jax.jit  # as a whole: what prepares the operands may depend on how it is fused
    def everything(values):
        ran = []
        _evaluate(jaxpr, consts, values, ran, interpret)
        return ran

    ran = jax.tree.map(np.asarray, everything(jax.tree.leaves(args)))
    assert len(ran) == len(found), (len(ran), len(found))
    return [Ran(call.params, call.live, call.place, *values) for call, values in zip(found, ran)]


def _evaluate(jaxpr, consts, values, ran, interpret):
    environment = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values]))

    def value(atom):
        return atom.val if isinstance(atom, core.Literal) else environment[atom]

    for eqn in jaxpr.eqns:
        given = [value(atom) for atom in eqn.invars]
        inner = eqn.params.get(CALLS.get(eqn.primitive.name))
        if eqn.primitive.name == "pallas_call":
            results = eqn.primitive.bind(*given, **{**eqn.params, "interpret": interpret})
            ran.append((given, list(results)))
        elif isinstance(inner, core.ClosedJaxpr):
            results = _evaluate(inner.jaxpr, inner.consts, given, ran, interpret)
        else:
            variables = list(dict.fromkeys(a for a in eqn.invars if not isinstance(a, core.Literal)))
            one = jaxpr.replace(
                constvars=[], invars=variables, outvars=[v for v in eqn.outvars if not isinstance(v, core.DropVar)],
                eqns=[eqn], debug_info=jaxpr.debug_info._replace(arg_names=None, result_paths=None), effects=eqn.effects,
            )
            results = core.eval_jaxpr(one, [], *map(value, variables))
            environment.update(zip(one.outvars, results))
            continue
        environment.update(zip(eqn.outvars, results))
    return [value(atom) for atom in jaxpr.outvars]
