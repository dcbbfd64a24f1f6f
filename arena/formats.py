"""Numbers as people read them, on a terminal and on a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

__all__ = ["Show", "number", "percent", "plain", "score_decimals", "score_format", "span"]

Show = Callable[[Any], str]

_SCORE_DIGITS = 6
_MOST_DECIMALS = 12


def number(decimals: int) -> Show:
    """Return how a number is shown with so many decimals; nothing for None.

    >>> number(2)(0.5), number(2)(None)
    ('0.50', '')
    """
    return lambda value: "" if value is None else f"{value:.{decimals}f}"


def plain(value: float | None) -> str:
    """Return a number as short as it is; nothing for None.

    >>> plain(3.0), plain(None)
    ('3', '')
    """
    return "" if value is None else f"{value:g}"


def score_decimals(scores: Sequence[float | None]) -> int:
    """Return the decimals with which the largest score has six digits, fewer if all are rounder.

    >>> score_decimals([0.75, 0.5, None]), score_decimals([1 / 3]), score_decimals([1234.5678])
    (2, 6, 2)
    """
    known = [abs(score) for score in scores if score is not None and math.isfinite(score)]
    if not any(known):
        return 0
    before_the_point = math.ceil(math.log10(max(known)))
    most = min(max(_SCORE_DIGITS - before_the_point, 0), _MOST_DECIMALS)
    return next(
        (few for few in range(most) if all(round(one, few) == round(one, most) for one in known)),
        most,
    )


def score_format(standings: Sequence[Mapping[str, Any]]) -> Show:
    """Return how scores are shown: in as many decimals as their uncertainty leaves meaning to.

    And one more, for the ties. ``standings`` are rows with ``score_low`` and ``score_high``.
    """
    widths = sorted(
        row["score_high"] - row["score_low"]
        for row in standings
        if row["score_low"] is not None and row["score_high"] > row["score_low"]
    )
    if not widths:
        return number(6)
    decimals = 3 - math.floor(math.log10(widths[len(widths) // 2]))
    return number(min(max(decimals, 0), 12))


def percent(value: float | None) -> str:
    """Return a share in per cent; nothing for None.

    >>> percent(0.125)
    '12.5%'
    """
    return "" if value is None else f"{value:.1%}"


def span(low: Any, high: Any, show: Show) -> str:
    """Return a range in words; nothing if an end is None.

    >>> span(1, 3, plain), span(2, 2, plain)
    ('1 to 3', '2')
    """
    if low is None or high is None:
        return ""
    return show(low) if low == high else f"{show(low)} to {show(high)}"
