"""The sentence with which arena refuses a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusal_of(
    error: type[Exception] | tuple[type[Exception], ...],
    call: Callable[..., object],
    *arguments: Any,
    **options: Any,
) -> str | None:
    """Return the sentence of the error that a call raises; None: it raises none."""
    try:
        call(*arguments, **options)
    except error as refused:
        return str(refused)
    return None
