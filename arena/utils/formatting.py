"""Formats numbers for terminals and reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = [
    "BoardDisplay",
    "Show",
    "level_text",
    "number",
    "percent",
    "plain",
    "released_format",
    "score_decimals",
    "score_format",
    "size",
    "span",
]

Show = Callable[[Any], str]

_SCORE_DIGITS = 6
_MOST_DECIMALS = 12


@dataclass(frozen=True, slots=True)
class BoardDisplay:
    """How a board shows its scores, and what it says about ties; documents keep full numbers.

    >>> BoardDisplay(1, "%").formatter(4)(0.98765), BoardDisplay(unit="ms").formatter(2)(3.14159)
    ('98.8%', '3.14 ms')
    """

    decimals: int | None = None
    """Digits after the point; None: as many as the scores and their uncertainty justify."""
    unit: str = ""
    """The text after a score; ``%`` shows 100 times the score."""
    ties: str = ""
    """How teams with the same score are ordered, in a sentence; empty: they share a rank."""

    def formatter(self, decimals: int) -> Show:
        """Return the formatter of scores, given the digits that the scores themselves justify."""
        percent = self.unit == "%"
        shown = max(decimals - 2 * percent, 0) if self.decimals is None else self.decimals
        after = self.unit if percent or not self.unit else f" {self.unit}"

        def show(value: float | None) -> str:
            return "" if value is None else f"{(100 if percent else 1) * value:.{shown}f}{after}"

        return show


_AS_JUSTIFIED = BoardDisplay()


def number(decimals: int) -> Show:
    """Return a formatter with a fixed number of decimals; None becomes an empty text.

    >>> number(2)(0.5), number(2)(None)
    ('0.50', '')
    """
    return lambda value: "" if value is None else f"{value:.{decimals}f}"


def plain(value: float | None) -> str:
    """Format a number in its shortest form; None becomes an empty text.

    >>> plain(3.0), plain(None)
    ('3', '')
    """
    return "" if value is None else f"{value:g}"


def score_decimals(scores: Sequence[float | None]) -> int:
    """Return the decimals that give the largest score six digits, or fewer if none needs them.

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


def released_format(scores: Sequence[float | None], display: BoardDisplay = _AS_JUSTIFIED) -> Show:
    """Return the formatter of released scores, with the decimals of :func:`score_decimals`.

    >>> released_format([0.75, 0.5])(0.5)
    '0.50'
    """
    return display.formatter(score_decimals(scores))


def score_format(
    standings: Sequence[Mapping[str, Any]], display: BoardDisplay = _AS_JUSTIFIED
) -> Show:
    """Return a formatter with as many decimals as the uncertainty of the scores justifies.

    One more decimal separates near ties. ``standings`` are rows with ``score_low`` and
    ``score_high``.
    """
    widths = sorted(
        row["score_high"] - row["score_low"]
        for row in standings
        if row["score_low"] is not None and row["score_high"] > row["score_low"]
    )
    if not widths:
        return display.formatter(_SCORE_DIGITS)
    decimals = 3 - math.floor(math.log10(widths[len(widths) // 2]))
    return display.formatter(min(max(decimals, 0), _MOST_DECIMALS))


def percent(value: float | None) -> str:
    """Format a share as a percentage; None becomes an empty text.

    >>> percent(0.125)
    '12.5%'
    """
    return "" if value is None else f"{value:.1%}"


def level_text(level: float) -> str:
    """Format a confidence level as a percentage, with the digits it was given with.

    >>> level_text(0.95), level_text(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * level:.10g}%"


def size(n_bytes: int) -> str:
    """Format a number of bytes.

    >>> size(950), size(41_300), size(1_580_000)
    ('950 bytes', '41 kB', '1.6 MB')
    """
    units = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
    for unit, name in units:
        if n_bytes >= unit:
            value = n_bytes / unit
            return f"{value:.1f} {name}" if value < 10 else f"{value:.0f} {name}"
    return f"{n_bytes} bytes"


def span(low: Any, high: Any, show: Show) -> str:
    """Format a range; an empty text if an end is None.

    >>> span(1, 3, plain), span(2, 2, plain)
    ('1 to 3', '2')
    """
    if low is None or high is None:
        return ""
    return show(low) if low == high else f"{show(low)} to {show(high)}"
