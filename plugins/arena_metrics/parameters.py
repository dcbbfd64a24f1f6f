"""Validation of metric parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.errors import UsageError


def require_choice(metric: str, parameter: str, value: Any, choices: Sequence[str]) -> None:
    """Raise UsageError unless the value is one of the choices.

    >>> require_choice("f1", "average", "marco", ("binary", "macro"))
    Traceback (most recent call last):
    arena.errors.UsageError: The metric 'f1' has no average 'marco'. Choose binary or macro.
    """
    if value not in choices:
        listed = ", ".join(choices[:-1]) + f" or {choices[-1]}"
        raise UsageError(f"The metric {metric!r} has no {parameter} {value!r}. Choose {listed}.")


def require_inside(metric: str, parameter: str, value: Any, low: float, high: float) -> None:
    """Raise UsageError unless the value is a number strictly between ``low`` and ``high``.

    >>> require_inside("quantile_loss", "alpha", 1.5, 0, 1)
    Traceback (most recent call last):
    arena.errors.UsageError: The metric 'quantile_loss' needs alpha between 0 and 1, not 1.5.
    """
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not (is_number and low < value < high):
        raise UsageError(
            f"The metric {metric!r} needs {parameter} between {low:g} and {high:g}, not {value!r}."
        )


def require_whole(metric: str, parameter: str, value: Any, least: int) -> None:
    """Raise UsageError unless the value is a whole number of at least ``least``.

    >>> require_whole("map_at_k", "k", 0, 1)
    Traceback (most recent call last):
    arena.errors.UsageError: The metric 'map_at_k' needs a whole number k of 1 or more, not 0.
    """
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise UsageError(
            f"The metric {metric!r} needs a whole number {parameter} of {least} or more, "
            f"not {value!r}."
        )
