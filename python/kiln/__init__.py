"""Block kernels from specs, called on arrays of numpy, PyTorch and JAX.

    k = kiln.load("specs/matmul.yaml:matmul_bf16", bm=256)
    z = k(x, y, bias)
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._signature import Argument, Signature
from .errors import Diagnostic, Error
from .kernel import Kernel, compile, load, load_library
from .report import Prediction, Report

if TYPE_CHECKING:
    from . import jax as jax
    from . import pallas as pallas
    from . import torch as torch
else:

    def __getattr__(name: str) -> Any:
        """What needs JAX or PyTorch is imported when it is used."""
        if name in ("jax", "pallas", "torch"):
            return importlib.import_module(f".{name}", __name__)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Argument", "Diagnostic", "Error", "Kernel", "Prediction", "Report", "Signature", "compile", "load", "load_library",
]  # fmt: skip
__version__ = "0.1.0"
