"""Memory of the process that is no longer used."""

from __future__ import annotations

import functools
from collections.abc import Callable


def return_freed_memory() -> None:
    """Return memory that was freed to the operating system, where the C library can (glibc).

    Arrays below 32 MB share its heaps. What is freed between others stays with the process, and
    would be added to the matrices of the next stage of a long computation.
    """
    trim = _malloc_trim()
    if trim is not None:
        trim(0)


@functools.lru_cache(maxsize=1)
def _malloc_trim() -> Callable[[int], int] | None:
    import ctypes

    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or none by that name
        return None
    return found
