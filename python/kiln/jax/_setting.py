"""A setting of this process or of a part of it, by which JAX remembers what it has traced and lowered."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import jax


def setting() -> Any:
    """`value`, `set_global(value)`, `with it(value)`; None at first."""
    made = jax.make_user_context(None) if hasattr(jax, "make_user_context") else None
    return made if hasattr(made, "set_global") else _Clearing()


class _Clearing:
    """The same for a JAX that has none (before 0.10): what it remembers is cleared at each change."""

    def __init__(self) -> None:
        self._everywhere: Any = None
        self._here = threading.local()

    @property
    def value(self) -> Any:
        return getattr(self._here, "value", self._everywhere)

    def set_global(self, value: Any) -> None:
        self._everywhere = value
        jax.clear_caches()

    @contextlib.contextmanager
    def __call__(self, value: Any) -> Iterator[None]:
        before = self._here.__dict__.copy()
        self._here.value = value
        jax.clear_caches()
        try:
            yield
        finally:
            self._here.__dict__.clear()
            self._here.__dict__.update(before)
            jax.clear_caches()
