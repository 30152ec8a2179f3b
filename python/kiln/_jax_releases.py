"""Which releases of JAX this package knows: docs/jax-versions.md has what each of them passes. To import this module
where JAX is too old is an exception that says so."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator

import jax

#: The oldest and the newest that `./dev test-jax-versions` has tested. Newer ones are tried, older ones refused.
OLDEST, NEWEST = "0.6.0", "0.12.0.1"


class UnknownJax(ImportError):
    """A release of JAX that keeps what Kiln reads in other places than those it is tested with."""


def _numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", re.sub(r"(dev|rc|\+).*", "", release))))


if _numbers(jax.__version__) < _numbers(OLDEST):
    raise UnknownJax(f"Kiln needs JAX {OLDEST} or later, and this is JAX {jax.__version__}: pip install --upgrade jax")


@contextlib.contextmanager
def reading_jax() -> Iterator[None]:
    """Inside, what a release newer than those tested has not where it was is an `UnknownJax` that says so."""
    try:
        yield
    except (AttributeError, ImportError, KeyError, TypeError) as error:
        if isinstance(error, UnknownJax) or _numbers(jax.__version__) <= _numbers(NEWEST):
            raise
        what = f"{type(error).__name__}: {error}"
        raise UnknownJax(
            f"JAX {jax.__version__} is newer than those Kiln is tested with ({OLDEST} to {NEWEST}), and has moved "
            f"what Kiln reads ({what}): pip install jax=={NEWEST}, or a newer Kiln"
        ) from error
