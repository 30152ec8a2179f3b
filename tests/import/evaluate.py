"""Runs a function as JAX would, with every `pallas_call` interpreted, and keeps what each was given and gave."""

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax._src.pallas.pallas_call import pallas_call_p
from kiln.pallas import tracing


@dataclass
class Ran:
    operands: list[Any]
    results: list[Any]


def evaluate(f, args, interpret=True) -> list[Ran]:
    """In the order of `kiln.pallas.to_specs`. `interpret` is JAX's: True, or `pltpu.InterpretParams()`."""

    @jax.jit  # as a whole, as it will run
    def everything(*args):
        ran = []

        def at_call(k, params, operands):
            results = pallas_call_p.bind(*operands, **{**params, "interpret": interpret})
            ran.append((operands, list(results)))
            return results

        tracing.evaluate(f, args, at_call)
        return ran

    return [Ran(*values) for values in jax.tree.map(np.asarray, everything(*args))]



def refer(f, args, reference) -> list[Ran]:
    """The same of a function of one call, which JAX cannot interpret: it is taken to give what the reference does."""
    ran = []

    def at_call(k, params, operands):
        given = reference(*args)
        results = given if isinstance(given, tuple) else (given,)
        ran.append(Ran([np.asarray(o) for o in operands], [np.asarray(r) for r in results]))
        return ran[-1].results

    tracing.evaluate(f, args, at_call)
    return ran
