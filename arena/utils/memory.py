"""Memory of the process that is no longer used."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Protocol


class HoldsFreedMemory(Protocol):
    """A library's own heap, such as that of a database."""

    def return_freed_memory(self) -> None:
        """Return what is no longer used to the operating system."""


_holders: weakref.WeakSet[HoldsFreedMemory] = weakref.WeakSet()


def remember_holder(holder: HoldsFreedMemory) -> None:
    """Let :func:`return_freed_memory` ask this object too, for as long as it exists."""
    _holders.add(holder)


def return_freed_memory() -> None:
    """Return memory that was freed to the operating system, where the C library can (glibc).

    Arrays below 32 MB share its heaps. What is freed between others stays with the process, and
    would be added to the matrices of the next stage of a long computation. Open databases do the
    same with their heaps.
    """
    for holder in tuple(_holders):
        holder.return_freed_memory()
    trim = malloc_trim()
    if trim is not None:
        trim(0)


@functools.lru_cache(maxsize=1)
def malloc_trim() -> Callable[[int], int] | None:
    """Return the function of the GNU C library; None: there is another library."""
    import ctypes

    try:
        trim: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or none by that name
        return None
    return trim
