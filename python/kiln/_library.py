"""A compiled kernel: a shared library, its contexts, and its C function."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

from . import errors


class _Status(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int32), ("message", ctypes.c_char * 508)]


class _Options(ctypes.Structure):
    """kiln_options of kiln/c.h."""

    _fields_ = [
        ("cores", ctypes.c_int32), ("mode", ctypes.c_int32), ("vmem_bytes", ctypes.c_int64),
        ("smem_bytes", ctypes.c_int64), ("dma", ctypes.c_int32), ("poison", ctypes.c_int32),
        ("shuffle", ctypes.c_int32), ("seed", ctypes.c_uint64), ("events", ctypes.c_int32),
        ("parallel_for", ctypes.c_void_p), ("parallel_for_data", ctypes.c_void_p),
        ("l1_bytes", ctypes.c_int64), ("l2_bytes", ctypes.c_int64), ("last_cache_bytes", ctypes.c_int64),
    ]  # fmt: skip


SCALARS = {
    "i32": ctypes.c_int32, "u32": ctypes.c_uint32, "i64": ctypes.c_int64,
    "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool,
}  # fmt: skip
_RANGES = {"i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1), "i64": (-(2**63), 2**63 - 1)}
_CORES = 4096


class Library:
    """It stays loaded as long as the process runs, as its threads may."""

    def __init__(self, path: str, function: str, passed_as: list[str | None]) -> None:
        self.path = path
        try:
            self.handle = ctypes.CDLL(path)
            # ctypes lets other Python threads run while a function of a CDLL does.
            self._function = getattr(self.handle, function)
        except (OSError, AttributeError) as error:
            raise errors.Error(f"{path} is no library with the kernel {function}: {error}") from error
        arguments = [ctypes.c_void_p if of is None else SCALARS[of] for of in passed_as]
        self._function.argtypes = [*arguments, ctypes.c_void_p, ctypes.c_void_p]
        self._function.restype = ctypes.c_int32
        self._contexts: dict[int, int] = {0: 0}  # by cores; null is the one that all callers share
        self._lock = threading.Lock()

    def call(self, arguments: list[Any], cores: int) -> None:
        context = self._contexts.get(cores)
        if context is None:
            context = self._make_context(cores)
        status = _Status()
        code = self._function(*arguments, context, ctypes.addressof(status))
        if code != 0:
            raise errors.from_call(self._rule(code), status.message.decode("utf-8", "replace"))

    def _make_context(self, cores: int) -> int:
        if not 1 <= cores <= _CORES:
            raise ValueError(f"cores is {cores}, expected 1 to {_CORES}")
        with self._lock:
            if cores in self._contexts:
                return self._contexts[cores]
            try:
                self.handle.kiln_context_new.restype = ctypes.c_void_p
                options = _Options()
                self.handle.kiln_options_init(ctypes.byref(options))
            except AttributeError as error:
                raise errors.Error(f"{self.path} does not export Kiln's runtime, which cores= needs") from error
            options.cores = cores
            context: int | None = self.handle.kiln_context_new(ctypes.byref(options))
            if not context:
                raise MemoryError("no memory for a context")
            self._contexts[cores] = context
            return context

    def _rule(self, code: int) -> str:
        try:
            name = self.handle.kiln_code_name
        except AttributeError:
            return "call"
        name.restype = ctypes.c_char_p
        rule: bytes = name(code)
        return rule.decode()


def scalar(kernel: str, name: str, value: Any, passed_as: str) -> Any:
    """A Python number, or an array of one element, checked against the range of its type."""
    if hasattr(value, "item"):
        if getattr(value, "size", 1) != 1 and getattr(value, "ndim", 0) != 0:
            raise errors.from_call("call", f"{kernel}: {name} has more than one element, expected a scalar")
        value = value.item()
    is_int = isinstance(value, int)
    if passed_as in ("f32", "f64"):
        good = is_int or isinstance(value, float)
    else:
        low, high = _RANGES.get(passed_as, (0, 1))
        good = is_int and low <= value <= high
    if not good:
        raise errors.from_call("call", f"{kernel}: {name} is {value!r}, expected {passed_as}")
    return value
