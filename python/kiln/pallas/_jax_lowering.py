"""How `pallas_call` is lowered for a CPU by a function of ours: what is private in JAX for `kiln.jax.native`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


def take_over(decide: Callable[[Lowered], Any], is_on: Callable[[], bool]) -> None:
    """From now on `decide` is asked of each `pallas_call` that is lowered for a CPU while `is_on`: a function of its
    operands is lowered instead, and so is JAX's interpreter for INTERPRET; None leaves it to JAX."""
    from jax._src.frozen_dict import FrozenDict
    from jax._src.interpreters import mlir
    from jax._src.pallas import pallas_call

    primitive = pallas_call.pallas_call_p
    original, original_dce = pallas_call._pallas_call_lowering, _partial_eval.dce_rules[primitive]

    def lower(ctx: Any, *nodes: Any, interpret: Any, **params: Any) -> Any:
        if not is_on():
            return original(ctx, *nodes, interpret=interpret, **params)
        told = dict(params.get("metadata") or {})
        live = tuple(c == "1" for c in told.pop(_LIVE, "1" * len(params["out_avals"])))
        params["metadata"] = FrozenDict(told) if told else None
        # Which is none where JAX lowers a function once for several calls.
        place = place_in(ctx.traceback) or function_place(params["jaxpr"])[1]
        function = decide(Lowered(params, interpret, live, place))
        if function is None or function is INTERPRET:
            return original(ctx, *nodes, interpret=interpret if function is None else True, **params)
        return mlir.lower_fun(function, multiple_results=True)(ctx, *nodes)

    def dce(used: list[bool], eqn: Any) -> Any:
        """A lowering rule does not see who reads a result, so its equation tells it."""
        if is_on() and not all(used):
            live = "".join("1" if u else "0" for u in used)
            metadata = FrozenDict({**(eqn.params.get("metadata") or {}), _LIVE: live})
            eqn = eqn.replace(params={**eqn.params, "metadata": metadata})
        return original_dce(used, eqn)

    mlir.register_lowering(primitive, lower, platform="cpu")
    _partial_eval.dce_rules[primitive] = dce
