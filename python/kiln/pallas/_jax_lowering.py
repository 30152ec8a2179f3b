"""How `pallas_call` is lowered for a CPU by a function of ours: what is private in JAX for `kiln.jax.native`."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax._src.interpreters import partial_eval as _partial_eval

from ._jax_internals import function_place, place_in
from .cannot import Place

#: What `decide` says of a `pallas_call` that is to be interpreted after all.
INTERPRET = object()
_LIVE = "kiln_live"


@dataclass(frozen=True)
class Lowered:
    """A `pallas_call` that is being lowered: its params, `interpret` apart, and who reads its results."""

    params: dict[str, Any]
    interpret: Any
    live: tuple[bool, ...]
    place: Place | None


def user_context() -> Any:
    """A setting by which JAX remembers what it has lowered: `value`, `set_global(value)`, `with it(value)`."""
    made = jax.make_user_context(None) if hasattr(jax, "make_user_context") else None
    return made if hasattr(made, "set_global") else _Clearing()


class _Clearing:
    """The same for a JAX that has none (before 0.10): what it remembers is cleared at each change."""

    def __init__(self) -> None:
        self._everywhere: Any = None
        self._here = threading.local()

    @property
    def value(self) -> Any:
        return getattr(self._here, "value", self._everywhere)

    def set_global(self, value: Any) -> None:
        self._everywhere = value
        jax.clear_caches()

    @contextlib.contextmanager
    def __call__(self, value: Any) -> Iterator[None]:
        before = self._here.__dict__.copy()
        self._here.value = value
        jax.clear_caches()
        try:
            yield
        finally:
            self._here.__dict__.clear()
            self._here.__dict__.update(before)
            jax.clear_caches()


def take_over(decide: Callable[[Lowered], Any], is_on: Callable[[], bool]) -> None:
    """From now on `decide` is asked of each `pallas_call` that is lowered for a CPU while `is_on`: a function of its
    operands is lowered instead, and so is JAX's interpreter for INTERPRET; None leaves it to JAX."""
    from jax._src.frozen_dict import FrozenDict
    from jax._src.interpreters import mlir
    from jax._src.pallas import pallas_call

    primitive = pallas_call.pallas_call_p
    original, original_dce = pallas_call._pallas_call_lowering, _partial_eval.dce_rules.get(primitive)

    def lower(ctx: Any, *nodes: Any, interpret: Any, **params: Any) -> Any:
        if not is_on():
            return original(ctx, *nodes, interpret=interpret, **params)
        told = dict(params.get("metadata") or {})
        live = tuple(c == "1" for c in told.pop(_LIVE, "1" * len(params["out_avals"])))
        if "metadata" in params:
            params["metadata"] = FrozenDict(told) if told else None
        # Which is none where JAX lowers a function once for several calls.
        place = place_in(getattr(ctx, "traceback", None)) or function_place(params["jaxpr"])[1]
        function = decide(Lowered(params, interpret, live, place))
        if function is None or function is INTERPRET:
            return original(ctx, *nodes, interpret=interpret if function is None else True, **params)
        return mlir.lower_fun(function, multiple_results=True)(ctx, *nodes)

    def dce(used: list[bool], eqn: Any) -> Any:
        """A lowering rule does not see who reads a result, so its equation says it."""
        if is_on() and not all(used) and "metadata" in eqn.params:  # 0.6 has none
            live = "".join("1" if u else "0" for u in used)
            metadata = FrozenDict({**(eqn.params.get("metadata") or {}), _LIVE: live})
            eqn = eqn.replace(params={**eqn.params, "metadata": metadata})
        if original_dce is not None:
            return original_dce(used, eqn)
        if not any(used) and not eqn.effects:
            return [False] * len(eqn.invars), None
        return [True] * len(eqn.invars), eqn

    mlir.register_lowering(primitive, lower, platform="cpu")
    _partial_eval.dce_rules[primitive] = dce
