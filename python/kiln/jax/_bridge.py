"""The library between XLA and kernels: compiled once for the installed JAX, and what it has to be told."""

from __future__ import annotations

import ctypes
import functools
import json
from pathlib import Path

import jax

from .. import _tool, errors
from ..kernel import Kernel, own_file

TARGET = "kiln_call"


class _Functions(ctypes.Structure):
    """kiln_jax_functions of xla_bridge.cc."""

    _fields_ = [(name, ctypes.c_void_p) for name in ("call", "options_init", "context_new", "code_name")]


_Find = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_char_p, ctypes.POINTER(ctypes.c_char), ctypes.c_int32)


@functools.cache
def load_bridge() -> ctypes.CDLL:
    """It is compiled where it is used: a compiler is there anyway, and the headers are those of the very JAX."""
    words = ("cache", "build", str(Path(__file__).with_name("xla_bridge.cc")), f"--include={jax.ffi.include_dir()}")
    path = json.loads(_tool.run(*words, progress=True))["library"]
    if path is None:  # there is no cache that can be trusted
        path = own_file("xla_bridge.so")
        _tool.run(*words, "-o", path, progress=True)
    bridge = ctypes.CDLL(path)
    bridge.kiln_jax_calls.restype = ctypes.c_int64
    bridge.kiln_jax_set_find(_find)
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(bridge.kiln_call), platform="cpu")
    return bridge


def register(kernel: Kernel) -> str:
    """What the kernel is called in an executable: its name and the hash of its text, the same in any process."""
    name = f"{kernel.signature.name}:{kernel.signature.hash}"
    if calls(kernel) < 0:
        try:
            _add(name, kernel.library.handle, kernel.packed)
        except AttributeError:
            raise errors.Error(
                f"{kernel.library.path} has no function {kernel.packed}, which JAX needs: load the kernel from its spec"
            ) from None
    return name


def calls(kernel: Kernel) -> int:
    """How often XLA has called the kernel in this process; -1 if it could not yet."""
    name = f"{kernel.signature.name}:{kernel.signature.hash}"
    count: int = load_bridge().kiln_jax_calls(name.encode())
    return count


def _add(name: str, library: ctypes.CDLL, packed: str) -> None:
    found = (packed, "kiln_options_init", "kiln_context_new", "kiln_code_name")
    addresses = [ctypes.cast(getattr(library, function), ctypes.c_void_p).value for function in found]
    load_bridge().kiln_jax_add(name.encode(), ctypes.byref(_Functions(*addresses)))


def _find_kept(name: str) -> None:
    """Loads a kernel that an executable names from the compile cache."""
    told = json.loads(_tool.run("cache", "find", name, progress=True))
    if told["library"] is None:
        raise errors.Error(f"the compile cache cannot be used, so {name} cannot be had from it")
    _add(name, ctypes.CDLL(told["library"]), told["packed"])


@_Find
def _find(name: bytes, message: ctypes._Pointer[ctypes.c_char], capacity: int) -> int:
    try:
        _find_kept(name.decode())
    except Exception as error:  # noqa: BLE001  (it may not pass through XLA)
        text = f"the kernel {name.decode().partition(':')[0]} is not loaded: {error}".encode()[: capacity - 1]
        ctypes.memmove(message, text + b"\0", len(text) + 1)
        return 1
    return 0
