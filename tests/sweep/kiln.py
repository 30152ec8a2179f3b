"""Kernels of libsweep_kernels.so, by their C interface, on numpy arrays."""
import ctypes
import pathlib
import sys
from ctypes import byref, c_char_p, c_int32, c_int64, c_void_p

import ml_dtypes
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
from kilnbench.abi import DLTensor, Options, Status  # noqa: E402, the structures of runtime/kiln/call/c.h

DIRECT, EMULATED = 0, 1
SIGNED, FLOAT, BFLOAT = 0, 2, 4  # codes of DLPack


def tensor_of(array):
    """It points into the array, which has to outlive it."""
    assert array.flags.c_contiguous
    code = BFLOAT if array.dtype == ml_dtypes.bfloat16 else FLOAT if array.dtype.kind == "f" else SIGNED
    shape = (c_int64 * max(array.ndim, 1))(*array.shape)
    dtype = code | 8 * array.itemsize << 8 | 1 << 16
    return DLTensor(array.ctypes.data, (1, 0), array.ndim, dtype, shape, None, 0)


class Engine:
    """A context of the library."""

    def __init__(self, library, mode, cores):
        self.name = f"{'emulated' if mode else 'direct'}, {cores} core{'s' if cores > 1 else ''}"
        self.library = library
        options = Options()
        library.kiln_options_init(byref(options))
        options.mode, options.cores = mode, cores
        library.kiln_context_new.restype = c_void_p
        self.context = c_void_p(library.kiln_context_new(byref(options)))

    def call(self, kernel, *arguments):
        """Arrays, and integers for i32 scalars. Returns the message of a failure, or None."""
        passed = [byref(tensor_of(a)) if isinstance(a, np.ndarray) else c_int32(a) for a in arguments]
        status = Status()
        code = self.library["kiln_" + kernel](*passed, self.context, byref(status))
        assert code == status.code
        return status.message.decode() if code else None


def engines(library):
    loaded = ctypes.CDLL(library)
    loaded.kiln_code_name.restype = c_char_p
    modes = [(DIRECT, 1), (DIRECT, 2), (DIRECT, 3), (EMULATED, 1), (EMULATED, 2)]
    return [Engine(loaded, mode, cores) for mode, cores in modes]
