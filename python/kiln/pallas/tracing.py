"""Tracing a function for its `pallas_call`s, and computing what it gives each of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax

from .._jax_releases import reading_jax
from . import _jax_internals as jaxi
from . import cannot
from .cannot import CannotSay
from .grids import Call


def calls(f: Callable[..., Any], args: tuple[Any, ...], pipelines: bool = True) -> list[Call]:
    """The `pallas_call`s that f makes on args (arrays, or whatever has a shape and a dtype), in their order."""
    jaxpr, _ = traced(f, args, pipelines)
    with reading_jax():
        return list(_calls_in(jaxpr))


def traced(f: Callable[..., Any], args: tuple[Any, ...], pipelines: bool = False) -> tuple[jaxi.Jaxpr, list[Any]]:
    """What f does to args, without what nobody reads, and its constants. With `pipelines`, an `emit_pipeline` is one
    equation and not what it expands to, unless JAX has no such equation for it: `scratches` and `allocations`."""
    try:
        with jaxi.pipelines_kept() if pipelines else contextlib.nullcontext(), jaxi.own_places(), jaxi.some_tpu():
            closed = jax.make_jaxpr(f)(*args)
    except (TypeError, NotImplementedError):
        if not pipelines:
            raise
        return traced(f, args)
    with reading_jax():
        return jaxi.without_unread(closed), closed.consts


def _calls_in(jaxpr: jaxi.Jaxpr) -> Iterator[Call]:
    used = {v for e in jaxpr.eqns for v in e.invars if not isinstance(v, jaxi.Literal)}
    used.update(v for v in jaxpr.outvars if not isinstance(v, jaxi.Literal))
    for eqn in jaxpr.eqns:
        if jaxi.is_call(eqn):
            live = tuple(not isinstance(v, jaxi.DropVar) and v in used for v in eqn.outvars)
            place = jaxi.place_of(eqn)
            try:
                params = jaxi.call_params(eqn)
            except CannotSay as error:
                raise error.at(place) from None
            yield Call(params, live, place)
            continue
        if eqn.primitive.name == "core_map":
            raise CannotSay(cannot.primitive(eqn.primitive.name), jaxi.place_of(eqn))
        for inner in jaxi.jaxprs_of(eqn.params.values()):
            yield from _calls_in(inner)


# ---- evaluating


def leaves(tree: Any) -> list[Any]:
    return jax.tree.leaves(tree)


AtCall = Callable[[int, dict[str, Any], list[Any]], list[Any]]


def evaluate(f: Callable[..., Any], args: tuple[Any, ...], at_call: AtCall) -> list[Any]:
    """What f gives for args, where `at_call` gives the results of each `pallas_call`: it is given which of `calls` it
    is, its params and its operands."""
    jaxpr, consts = traced(f, args)
    count = iter(range(1_000_000))
    return _evaluate(jaxpr, consts, jax.tree.leaves(args), lambda eqn, given: at_call(next(count), jaxi.call_params(eqn), given))


def _evaluate(jaxpr: jaxi.Jaxpr, consts: list[Any], values: list[Any], at_call: Callable[..., Any]) -> list[Any]:
    environment = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *values], strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, jaxi.Literal) else environment[atom]

    for eqn in jaxpr.eqns:
        inner = eqn.params.get(jaxi.CALLS.get(eqn.primitive.name, ""))
        if jaxi.is_call(eqn):
            results = at_call(eqn, [value(atom) for atom in eqn.invars])
        elif isinstance(inner, jaxi.ClosedJaxpr):
            results = _evaluate(inner.jaxpr, inner.consts, [value(atom) for atom in eqn.invars], at_call)
        else:
            results = jaxi.evaluated_in(jaxpr, eqn, value)
        environment.update(zip(eqn.outvars, results, strict=True))
    return [value(atom) for atom in jaxpr.outvars]
