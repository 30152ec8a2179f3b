"""Many threads at once, and many calls in a row."""

import gc
import resource
import sys
import threading
from collections.abc import Callable
from typing import Any


def run_threads(work: Callable[[int], None], count: int = 8) -> None:
    """`work` gets the number of its thread."""
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def assert_nothing_is_kept(calls: Callable[[int], Any], warm: int, count: int, kib: int, *objects: Any) -> None:
    """After `warm` calls, `count` more take less than `kib` of memory, and no references to the objects."""
    calls(warm)
    gc.collect()
    before, references = peak_kib(), [sys.getrefcount(x) for x in objects]
    calls(count)
    gc.collect()
    assert [sys.getrefcount(x) for x in objects] == references
    assert peak_kib() - before < kib


def peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
