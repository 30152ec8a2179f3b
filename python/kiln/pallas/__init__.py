"""Real Pallas kernels as specs: a function that calls `pl.pallas_call` is traced, and each call becomes a spec.

    for spec in kiln.pallas.to_specs(f, q, k, v):
        print(spec.text)

docs/design/pallas-import.md explains how. JAX is needed here and nowhere else in this package.
"""

try:
    import jax as _jax  # noqa: F401
except ImportError as error:
    raise ImportError("kiln.pallas reads kernels with JAX, which is not installed: pip install jax") from error

from .._jax_releases import reading_jax as _reading_jax

with _reading_jax():
    from . import _jax_internals  # noqa: F401

from .cannot import CannotSay
from .checking import Diagnostic, KilnWarning, check, predict, report
from .dimensions import CannotGeneralise, to_symbolic_specs
from .spec import Spec, from_call, to_specs

__all__ = [
    "CannotGeneralise", "CannotSay", "Diagnostic", "KilnWarning", "Spec", "check", "from_call", "predict", "report",
    "to_specs", "to_symbolic_specs",
]  # fmt: skip
