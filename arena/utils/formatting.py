"""Formats numbers for terminals and reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Show = Callable[[Any], str]

_SCORE_DIGITS = 6
_MOST_DECIMALS = 12
_MOST_OF_TINY = 300
_ZEROS, _TINY = 9, 1e-5
"""Smaller numbers that need more decimals are shown with an exponent: their zeros are not read."""


@dataclass(frozen=True, slots=True)
class BoardDisplay:
    """How a board shows its scores, and what it says about ties; documents keep full numbers.

    >>> BoardDisplay(1, "%").formatter(4)(0.98765), BoardDisplay(unit="ms").formatter(2)(3.14159)
    ('98.8%', '3.14 ms')
    >>> BoardDisplay().formatter(0)(413616376.0), BoardDisplay().formatter(12)(3.7312e-10)
    ('413,616,376', '3.73e-10')
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
        n_decimals = max(decimals - 2 * percent, 0) if self.decimals is None else self.decimals
        after = self.unit if percent or not self.unit else f" {self.unit}"

        def show(value: float | None) -> str:
            if value is None:
                return ""
            scaled = 100 * value if percent else value
            exponent = None if self.decimals is not None else exponent_digits(scaled, n_decimals)
            if scaled == 0 and self.decimals is None and n_decimals > _MOST_DECIMALS:
                return f"0{after}"
            if exponent is not None:
                return f"{scaled:.{exponent}e}{after}"
            places = min(n_decimals, _MOST_DECIMALS) if self.decimals is None else n_decimals
            return f"{scaled:,.{places}f}{after}"

        return show


def exponent_digits(size: float, decimals: int) -> int | None:
    """Return the digits after the point of a number with an exponent; None: it needs none.

    Parameters
    ----------
    size
        The number.
    decimals
        The last decimal that counts.

    Examples
    --------
    >>> exponent_digits(3.7312e-10, 12), exponent_digits(0.5, 12), exponent_digits(3e-7, 8)
    (2, None, None)
    """
    if decimals <= _ZEROS or not 0 < abs(size) < _TINY:
        return None
    return max(decimals + math.floor(math.log10(abs(size))), 0)


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
    >>> score_decimals([3.7312e-10]), score_decimals([0.0, None])
    (14, 0)
    """
    finite_scores = [abs(score) for score in scores if score is not None and math.isfinite(score)]
    if not any(finite_scores):
        return 0
    before_the_point = math.ceil(math.log10(max(finite_scores)))
    most = min(max(_SCORE_DIGITS - before_the_point, 0), _MOST_OF_TINY)
    return next(
        (
            few
            for few in range(most)
            if all(round(score, few) == round(score, most) for score in finite_scores)
        ),
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
    return display.formatter(min(max(decimals, 0), _MOST_OF_TINY))


def width_format(width: float) -> Show:
    """Return the formatter of a figure and the ends of its interval, which has this width.

    A step of the last decimal is a tenth to a hundredth of the width. Without a width there are
    three digits.

    >>> show = width_format(0.034)
    >>> show(0.189), show(6.2e-05), show(-1.9e-05)
    ('0.189', '0.000', '0.000')
    >>> width_format(1500)(23456.7), width_format(0)(0.0014)
    ('23,457', '0.0014')
    """
    if width <= 0:
        return "{:.3g}".format
    decimals = 1 - math.floor(math.log10(width))
    if decimals > _ZEROS:
        return _AS_JUSTIFIED.formatter(decimals)
    return f"{{:z,.{max(decimals, 0)}f}}".format  # z: no minus before zeros


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

    >>> size(950), size(41_300), size(999_999), size(1_000_000), size(1_580_000)
    ('950 bytes', '41 kB', '1000 kB', '1.0 MB', '1.6 MB')
    """
    units = ((1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB"))
    for unit, name in units:
        if n_bytes >= unit:
            value = n_bytes / unit
            return f"{value:.1f} {name}" if value < 10 else f"{value:.0f} {name}"
    return f"{n_bytes} bytes"


def minute(time: str) -> str:
    """Return an ISO 8601 time as people read it, to the minute.

    >>> minute("2026-03-01T12:30:45+00:00")
    '2026-03-01 12:30'
    """
    return time[:16].replace("T", " ")


def span(low: Any, high: Any, show: Show) -> str:
    """Format a range; an empty text if an end is None.

    >>> span(1, 3, plain), span(2, 2, plain)
    ('1 to 3', '2')
    """
    if low is None or high is None:
        return ""
    return show(low) if low == high else f"{show(low)} to {show(high)}"
