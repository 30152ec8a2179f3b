"""The libraries that Kiln is measured against. A peer that is not installed takes no part."""

import ctypes as c
import glob
import os
import sysconfig

import numpy as np


def _pointer(array):
    return c.c_void_p(array.ctypes.data)


class OpenBlas:
    name = "OpenBLAS"

    def __init__(self):
        import scipy_openblas64
        folder = os.path.dirname(scipy_openblas64.__file__)
        self.library = c.CDLL(glob.glob(f"{folder}/lib/*.so")[0])
        core = self.library.scipy_openblas_get_corename64_
        core.restype = c.c_char_p
        self.kernels = core().decode()

    def set_cores(self, cores):
        self.library.scipy_openblas_set_num_threads64_(cores)

    def matmul(self, x, y, z, lhs_transposed=False, rhs_transposed=False):
        return _sgemm(self.library.scipy_cblas_sgemm64_, c.c_int64, x, y, z, lhs_transposed, rhs_transposed)


class Mkl:
    name = "MKL"

    def __init__(self):
        folder = os.path.join(sysconfig.get_path("data"), "lib")
        self.library = c.CDLL(glob.glob(f"{folder}/libmkl_rt.so*")[0], mode=c.RTLD_GLOBAL)

    def set_cores(self, cores):
        self.library.MKL_Set_Num_Threads(cores)

    def matmul(self, x, y, z, lhs_transposed=False, rhs_transposed=False):
        return _sgemm(self.library.cblas_sgemm, c.c_int32, x, y, z, lhs_transposed, rhs_transposed)


def _sgemm(function, integer, x, y, z, lhs_transposed, rhs_transposed):
    (m, n), k = z.shape, x.shape[0 if lhs_transposed else 1]
    # Row-major, 111 as they are, 112 transposed.
    arguments = [101, 112 if lhs_transposed else 111, 112 if rhs_transposed else 111, integer(m), integer(n), integer(k),
                 c.c_float(1), _pointer(x), integer(x.shape[1]), _pointer(y), integer(y.shape[1]), c.c_float(0),
                 _pointer(z), integer(n)]
    return lambda: function(*arguments)


class Torch:
    """oneDNN for bf16 and int8."""
    name = "torch"

    def __init__(self):
        import torch
        torch.set_grad_enabled(False)
        self.torch = torch

    def set_cores(self, cores):
        self.torch.set_num_threads(cores)

    def view(self, array, dtype="f32"):
        made = self.torch.from_numpy(array.view(np.int16) if dtype == "bf16" else array)
        return made.view(self.torch.bfloat16) if dtype == "bf16" else made

    def matmul(self, x, y, z, dtype, lhs_transposed=False, rhs_transposed=False, fused=None, bias=None, residual=None):
        torch = self.torch
        x, y = self.view(x, dtype), self.view(y, dtype)
        out = self.view(z, dtype if dtype == "bf16" else "f32")
        x, y = (x.T if lhs_transposed else x), (y.T if rhs_transposed else y)
        if dtype == "i8":
            return lambda: torch._int_mm(x, y, out=out)
        if fused is None:
            return lambda: torch.mm(x, y, out=out)
        bias = self.view(bias).to(out.dtype)
        act = (torch.nn.functional.relu_ if fused == "relu" else lambda t: torch.ops.aten.gelu_(t))
        rest = self.view(residual, dtype) if residual is not None else None

        def call():
            torch.addmm(bias, x, y, out=out)
            act(out)
            if rest is not None:
                out.add_(rest)
        return call


def available(cores):
    """The peers of this environment, set to so many cores, by name."""
    found = {}
    for kind in (OpenBlas, Mkl, Torch):
        try:
            peer = kind()
        except (ImportError, IndexError, OSError):
            continue
        peer.set_cores(cores)
        found[peer.name] = peer
    return found
