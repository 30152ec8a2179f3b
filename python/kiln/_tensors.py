"""Arrays of numpy, PyTorch and JAX as the DLTensors that kernels take, without a copy.

`x.__dlpack__()` is a capsule around a DLManagedTensor, which begins with the DLTensor; the versioned struct has
it behind 32 bytes. The capsule is never consumed: it goes with the call, and with it what it holds of the array."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import ml_dtypes
import numpy as np

from . import errors

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype = ctypes.c_void_p
_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]

_VERSION = (1, 0)
_TENSOR_IN_VERSIONED = 32  # version, manager_ctx, deleter, flags
_FLAGS_IN_VERSIONED = 24
_READ_ONLY = 1
_DTYPE_IN_TENSOR = 20

#: Types that numpy itself lacks, as the integers of their bits, and their codes in DLPack.
_FOREIGN = {
    "bfloat16": (np.uint16, 4), "float8_e4m3fn": (np.uint8, 10), "float8_e5m2": (np.uint8, 12), "float8_e8m0fnu": (np.uint8, 14),
}  # fmt: skip
#: Integers of 4 bits, and their codes: one a byte in arrays, and two a byte in a kernel's memory.
_PACKED = {"int4": (np.int8, 0), "uint4": (np.uint8, 1)}
#: The names that numpy with ml_dtypes, PyTorch and JAX have for Kiln's types.
DTYPES = {
    "bool": "bool", "i4": "int4", "u4": "uint4", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
    "u8": "uint8", "u16": "uint16", "u32": "uint32", "f8e4m3fn": "float8_e4m3fn", "f8e5m2": "float8_e5m2",
    "f8e8m0fnu": "float8_e8m0fnu", "f16": "float16", "bf16": "bfloat16",
    "f32": "float32", "f64": "float64",
}  # fmt: skip


@functools.cache
def numpy_dtype(name: str) -> np.dtype[Any]:
    """Of one of Kiln's types; those that numpy lacks are of ml_dtypes."""
    of_numpy = DTYPES[name]
    return np.dtype(getattr(ml_dtypes, of_numpy) if of_numpy in _FOREIGN or of_numpy in _PACKED else of_numpy)


def family(array: Any) -> str:
    """ "numpy", "torch" or "jax": whose array it is. Others that speak DLPack count as numpy's."""
    if isinstance(array, np.ndarray):
        return "numpy"
    torch = sys.modules.get("torch")  # where it is not imported, nothing is a tensor of its
    if torch is not None and isinstance(array, torch.Tensor):
        return "torch"
    return "jax" if type(array).__module__.partition(".")[0] in ("jax", "jaxlib") else "numpy"


def is_traced(array: Any) -> bool:
    """Whether it has no value yet, as JAX is tracing."""
    return family(array) == "jax" and isinstance(array, sys.modules["jax"].core.Tracer)


def tensor(kernel: str, name: str, array: Any, written: bool) -> tuple[int, Any]:
    """The address of the array's DLTensor, and what keeps it alive."""
    code = -1
    if isinstance(array, np.ndarray):
        if written and not array.flags.writeable:
            raise errors.from_call("call", f"{kernel}: {name} is read-only, and the kernel writes it")
        if array.dtype.num > 23:  # a type that is not numpy's own
            if array.dtype.name in _PACKED:
                packed = Packed(array, written)
                return packed.address, packed
            if array.dtype.name in _FOREIGN:
                code = _FOREIGN[array.dtype.name][1]
                array = bits_of(array)
    elif family(array) == "jax" and str(array.dtype) in _PACKED:
        packed = Packed(np.asarray(array), written)
        return packed.address, packed
    elif not hasattr(array, "__dlpack__"):
        kind = type(array).__name__
        raise errors.from_call("call", f"{kernel}: {name} is a {kind}, expected an array of numpy, torch or JAX")
    try:
        capsule = _capsule(array)
    except (BufferError, TypeError, ValueError, RuntimeError) as error:
        raise errors.from_call("call", f"{kernel}: {name} cannot be passed without a copy: {error}") from error
    try:
        managed = _pointer(capsule, b"dltensor_versioned")
        if written and ctypes.c_uint64.from_address(managed + _FLAGS_IN_VERSIONED).value & _READ_ONLY:
            raise errors.from_call("call", f"{kernel}: {name} is read-only, and the kernel writes it")
        address = managed + _TENSOR_IN_VERSIONED
    except ValueError:  # of another name: a producer of the older interface
        try:
            address = _pointer(capsule, b"dltensor")
        except ValueError:
            what = f"{name}.__dlpack__() gives no tensor"
            raise errors.from_call("call", f"{kernel}: {what}, but a {type(capsule).__name__}") from None
        if written and family(array) == "jax":
            raise errors.from_call("call", f"{kernel}: {name} is an array of JAX, which is never written") from None
    if code >= 0:
        ctypes.c_uint8.from_address(address + _DTYPE_IN_TENSOR).value = code
    return address, capsule


def _capsule(array: Any) -> Any:
    try:
        return array.__dlpack__(max_version=_VERSION)
    except TypeError:  # it has no such argument
        return array.__dlpack__()


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


class Packed:
    """A copy of an array of integers of 4 bits with two of them in a byte, the first in its low half; rows begin with
    whole bytes. `unpack` brings what a kernel has written there back into the array."""

    def __init__(self, array: np.ndarray[Any, Any], written: bool) -> None:
        self.array = array
        self.written = written
        columns = array.shape[-1] if array.ndim else 1
        rows = np.zeros((array.size // max(columns, 1), columns + columns % 2), np.uint8)
        rows[:, :columns] = array.reshape(rows.shape[0], columns).view(np.uint8)
        self.bytes = rows[:, ::2] & 15 | rows[:, 1::2] << 4
        self.shape = (ctypes.c_int64 * max(array.ndim, 1))(*array.shape)
        self.tensor = _DLTensor(
            data=self.bytes.ctypes.data, device_type=1, ndim=array.ndim, code=_PACKED[array.dtype.name][1], bits=4,
            lanes=1, shape=ctypes.addressof(self.shape),
        )  # fmt: skip
        self.address = ctypes.addressof(self.tensor)

    def unpack(self) -> None:
        columns = self.array.shape[-1] if self.array.ndim else 1
        halves = np.stack([self.bytes & 15, self.bytes >> 4], axis=-1).reshape(len(self.bytes), 2 * self.bytes.shape[1])
        rows = np.ascontiguousarray(halves[:, :columns])
        self.array[...] = rows.view(self.array.dtype).reshape(self.array.shape)


def empty(kind: str, shape: tuple[int, ...], dtype: str) -> Any:
    """An array that a kernel can write. JAX's cannot be: it gets one of numpy's, and `finished` of it."""
    if kind == "torch":
        if DTYPES[dtype] in _PACKED:
            raise TypeError(f"PyTorch has no arrays of {dtype}")
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, DTYPES[dtype]))
    return np.empty(shape, numpy_dtype(dtype))


def finished(kind: str, array: Any) -> Any:
    """The output as the caller's library has it."""
    return sys.modules["jax"].numpy.asarray(array) if kind == "jax" else array


def bits_of(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The integers that types which numpy lacks are made of; other arrays as they are."""
    if array.dtype.name in _PACKED:
        return array.astype(_PACKED[array.dtype.name][0])
    foreign = _FOREIGN.get(array.dtype.name)
    return array if foreign is None else array.view(foreign[0])


def of_bits(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """The array of which these are the integers."""
    if array.dtype == dtype:
        return array
    return array.astype(dtype) if dtype.name in _PACKED else array.view(dtype)


def as_numpy(array: Any) -> np.ndarray[Any, Any]:
    """Any family's array: the same memory where numpy can have it."""
    if family(array) != "torch":
        return np.asarray(array)
    torch = sys.modules["torch"]
    name = str(array.dtype).removeprefix("torch.")
    array = array.detach()
    if name in _FOREIGN:
        bits = getattr(torch, np.dtype(_FOREIGN[name][0]).name)
        return np.asarray(array.view(bits)).view(getattr(ml_dtypes, name))
    return np.asarray(array)


def from_numpy(kind: str, array: np.ndarray[Any, Any]) -> Any:
    """An array of numpy as one of the family `kind`."""
    if kind != "torch":
        return finished(kind, array)
    torch = sys.modules["torch"]
    name = array.dtype.name
    if name in _FOREIGN:
        return torch.from_numpy(bits_of(array)).view(getattr(torch, name))
    return torch.from_numpy(array)
