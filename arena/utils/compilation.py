"""Compiles loops when they are first called, with a disk cache if possible."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache


@cache
def compiled(function: Callable[..., None]) -> Callable[..., None]:
    """Return the function compiled by numba, to run beside other threads; imports numba."""
    import numba

    try:
        kernel: Callable[..., None] = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # no writable cache folder: compile in every process
        kernel = numba.njit(nogil=True)(function)
    return kernel
