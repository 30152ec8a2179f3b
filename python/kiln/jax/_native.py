"""Pallas kernels on a CPU, compiled: what `pallas_call` is lowered to while `native` is on."""

from __future__ import annotations

import contextlib
import functools
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from .. import errors
from .._jax_releases import UnknownJax, reading_jax
from ..kernel import MODES, Kernel, write_spec
from ..pallas import CannotSay, KilnWarning, Spec, from_call
from ..pallas import _jax_internals as jaxi
from ..pallas.cannot import NoOutputs, Place
from ..pallas.checking import diagnostics_of
from ..pallas.dtypes import as_held
from ..pallas.grids import Call
from ._call import Dims, invoke
from ._setting import setting
from ._shapes import kernel_of


class NotNative(KilnWarning):
    """A Pallas kernel is interpreted, as it cannot be compiled."""


@dataclass(frozen=True)
class _Settings:
    strict: bool = False
    check: bool = False
    mode: str = "direct"
    cores: int | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"mode is {self.mode!r}, expected one of {', '.join(MODES)}")


#: What `install` has put in place.
_installed = contextlib.ExitStack()
#: None: Pallas is JAX's own. What `jax.jit` remembers, it remembers by this too.
_settings = setting()


@contextlib.contextmanager
def native(
    *, strict: bool = False, check: bool = False, mode: str = "direct", cores: int | None = None
) -> Iterator[None]:
    """Inside, each `pl.pallas_call` that runs on a CPU is read into a spec, compiled, and called as one custom call;
    everything around it stays JAX's own. Those with `interpret=True` are taken over as well, others that ask for an
    interpreter (`InterpretParams`) are not.

    What Kiln cannot say is interpreted by JAX, with one warning (`NotNative`) that names the construct; with `strict`
    it is an exception. `check` runs `kiln check` first, and its diagnostics are warnings (`kiln.pallas.KilnWarning`) at the
    kernel's line. Kernels that ask for the TPU they run on (`pltpu.get_tpu_info`) learn of a v5e. `mode="emulate"` runs the kernels on the emulated TPU, `mode="interpret"` in Kiln's interpreter."""
    _take_over()
    with jaxi.some_tpu(), _settings(_Settings(strict, check, mode, cores)):
        yield


def install(*, strict: bool = False, check: bool = False, mode: str = "direct", cores: int | None = None) -> None:
    """`native` for the rest of this process, or until `uninstall`."""
    _take_over()
    uninstall()
    _installed.enter_context(jaxi.some_tpu())
    _settings.set_global(_Settings(strict, check, mode, cores))


def uninstall() -> None:
    """Pallas is JAX's own again."""
    _settings.set_global(None)
    _installed.close()


@functools.cache
def _take_over() -> None:
    with reading_jax():
        jaxi.take_over(_decide, lambda: _settings.value is not None)


def _decide(call: Call) -> Any:
    if call.interpret and call.interpret is not True:
        return None
    settings = _settings.value
    spec: Spec | None = None
    try:
        spec = from_call(call.params, live=call.live, place=call.place, init_undefined=True)
        if settings.check:
            _check(call)
        kernel, dims = kernel_of(spec)
        if settings.mode == "direct":
            kernel.library  # noqa: B018  (now, while there is something to fall back to)
    except NoOutputs:
        return lambda *operands: []
    except UnknownJax as error:
        return _fall_back(settings, error, str(error), call.place)
    except CannotSay as error:
        return _fall_back(settings, error, str(error), error.place or call.place)
    except errors.Error as error:
        place = spec.place_of(error.line) if spec else None
        return _fall_back(settings, error, f"Kiln refuses it: {error.message}", place or call.place)
    except Exception as error:  # noqa: BLE001  (the program goes on, and the kernel is interpreted)
        what = f"{type(error).__name__}: {error}"
        return _fall_back(settings, error, f"Kiln fails to read it, a mistake of Kiln's: {what}", call.place)
    return functools.partial(_run, kernel, dims, spec, settings, call.params["out_avals"])


def _run(
    kernel: Kernel, dims: Dims, spec: Spec, settings: _Settings, results: Sequence[Any], *operands: jax.Array
) -> list[jax.Array]:
    given = [spec.taken(n, as_held(operands[i])) for n, i in zip(spec.arguments, spec.operands, strict=False)]
    made = invoke(kernel, given, dims, settings.mode, settings.cores)
    written = {i: result.astype(results[i].dtype).reshape(results[i].shape) for i, result in zip(spec.results, made, strict=True)}
    # What is not written is read by nobody.
    return [written[i] if i in written else jnp.zeros(of.shape, of.dtype) for i, of in enumerate(results)]


# ---- what there is to say


_told: set[Any] = set()
_lock = threading.Lock()


def _is_new(what: Any) -> bool:
    with _lock:
        before = len(_told)
        _told.add(what)
        return len(_told) > before


def _fall_back(settings: _Settings, error: Exception, message: str, place: Place | None) -> Any:
    if settings.strict:
        raise error
    if _is_new((message, place)):
        file, line = place or ("<kernel>", 1)
        warnings.warn_explicit(f"this Pallas kernel is interpreted: {message}", NotNative, file, line)
    return jaxi.INTERPRET


def _check(call: Call) -> None:
    """By the rules for specs, which require each element of an output to be written."""
    spec = from_call(call.params, live=call.live, place=call.place)
    if _is_new(spec.text):
        for diagnostic in diagnostics_of(spec, "check", write_spec(spec.text)):
            diagnostic.warn()
