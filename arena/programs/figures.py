"""The figures of runs: what they can be, and what a team may see of a run on hidden inputs."""

from __future__ import annotations

import sys
from typing import TypeGuard


def is_figure(value: object) -> TypeGuard[float]:
    """Return whether a value can be the time or the memory of a run: a finite number from 0.

    >>> [is_figure(value) for value in (0, 1.5, -1, float("nan"), 10**400, True, "1")]
    [True, True, False, False, False, False, False]
    """
    return type(value) in (int, float) and 0 <= value <= sys.float_info.max  # type: ignore[operator]


def two_digits(number: float) -> float:
    """Return a figure of a hidden run as it is shown: rounded to two digits.

    >>> [two_digits(number) for number in (0.0347, 12.71, 1849.0, 0.0)]
    [0.035, 13.0, 1800.0, 0.0]
    """
    return float(f"{number:.2g}")


def seconds_until_answer(seconds: float) -> float:
    """Return after how many seconds the result of a run may be known: at least those that it took.

    It is the same for all times that are shown as the same two digits. Otherwise a program could
    choose how long it runs, and its team read that from the time of the answer.

    >>> [seconds_until_answer(seconds) for seconds in (11.51, 12.34, 12.49, 0.0)]
    [12.5, 12.5, 12.5, 0.0]
    """
    if not seconds:
        return 0.0
    text = f"{seconds:.1e}"
    exponent = int(text.partition("e")[2])
    return max(seconds, float(text) + 0.5 * 10.0 ** (exponent - 1))
