"""Real Pallas kernels as specs: a function that calls `pl.pallas_call` is traced, and each call becomes a spec.

    for spec in kiln.pallas.to_specs(f, q, k, v):
        print(spec.text)

docs/design/pallas-import.md tells how. JAX is needed here and nowhere else in this package.
"""

from .cannot import CannotSay
from .spec import Spec, from_call, to_specs

__all__ = ["CannotSay", "Spec", "from_call", "to_specs"]
