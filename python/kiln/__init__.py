"""Block kernels from specs, called on arrays of numpy, PyTorch and JAX.

    k = kiln.load("specs/matmul.yaml:matmul_bf16", bm=256)
    z = k(x, y, bias)
"""

from .errors import Diagnostic, Error
from .kernel import Argument, Kernel, Signature, compile, load, load_library
from .report import Prediction, Report

__all__ = [
    "Argument", "Diagnostic", "Error", "Kernel", "Prediction", "Report", "Signature", "compile", "load", "load_library",
]  # fmt: skip
__version__ = "0.1.0"
