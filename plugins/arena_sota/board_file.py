"""Scores of a board that somebody published: read with their decimals, and set against n rows.

Sites show a score with a few digits, some rounded and some cut off. Where only one number of right
rows fits what is shown, that number is meant.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.registry import nearest
from arena.text import printable
from arena.types import FloatArray

__all__ = ["ShownScores", "exact_scores", "read_numbers", "read_scores"]

_MOST_BYTES = 200 * 2**20
_SLACK = 1e-9
_READINGS = {"rounded": (-0.5, 0.5), "cut off": (0.0, 1.0)}
"""Where the exact score may lie, in units of the last digit above what is shown."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownScores:
    """Scores as a board shows them."""

    values: FloatArray
    """``(m,)`` in [0, 1]."""
    decimals: int
    """The most digits after the point."""


def read_scores(path: Path, column: str) -> ShownScores:
    """Read a column of scores from a CSV file; empty cells are left out.

    Raises
    ------
    InputError
        If the file or the column is not there, or a cell is no number between 0 and 1.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path} is larger than 200 MiB, which no board is.")
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read(csv.reader(file), path, column)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as CSV: {error}.") from error


def _read(rows: Iterator[list[str]], path: Path, column: str) -> ShownScores:
    header = [name.strip() for name in next(rows, [])]
    if column not in header:
        guess = nearest(column, header)
        hint = f"Did you mean {printable(guess)}?" if guess else "Its columns are: "
        listed = "" if guess else ", ".join(printable(name) for name in header[:20]) + "."
        raise InputError(f"{path} has no column {printable(column)}. {hint}{listed}")
    at = header.index(column)
    values, decimals = [], 0
    for number, row in enumerate(rows, start=2):
        text = row[at].strip() if at < len(row) else ""
        if text:
            values.append(_number(text, path, number, column))
            decimals = max(decimals, len(text.partition(".")[2].rstrip("eE+-")))
    if len(values) < 2:
        raise InputError(f"{path} holds {len(values)} scores, but a board has at least two.")
    return ShownScores(np.array(values), decimals)


def read_numbers(path: Path) -> FloatArray:
    """Read numbers, one per line; blank lines are left out.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is no number.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    values = []
    for row, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(float(line))
            except ValueError:
                shown = printable(line.strip()[:40])
                raise InputError(f"{path}, row {row}: {shown} is no number.") from None
    if not values:
        raise InputError(f"{path} holds no number.")
    return np.array(values)


def _number(text: str, path: Path, row: int, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(
            f"{path}, row {row}, column {printable(column)}: {printable(text[:40])} is no score "
            f"between 0 and 1. A score in percent must be divided by 100, and a loss has none."
        )
    return value


def _counts(
    shown: ShownScores, total: int, reading: tuple[float, float]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the fewest and the most counts of ``total`` that each score may stand for."""
    unit = 10.0**-shown.decimals
    low = np.ceil((shown.values + reading[0] * unit) * total - _SLACK * total)
    high = np.floor((shown.values + reading[1] * unit) * total + _SLACK * total)
    return np.maximum(low, 0), np.minimum(high, total)


def _fits(shown: ShownScores, total: int, reading: tuple[float, float]) -> bool:
    low, high = _counts(shown, total, reading)
    return bool((low <= high).all())


def exact_scores(shown: ShownScores, total: int, what: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the scores as multiples of 1/total where what is shown says which, and notes.

    Parameters
    ----------
    shown
        The scores as they are shown.
    total
        What every exact score is a multiple of 1 over: the number of rows of an accuracy.
    what
        What ``total`` counts, for the notes.

    Examples
    --------
    >>> some = ShownScores(np.array([0.29199, 0.36]), 5)
    >>> scores, notes = exact_scores(some, 250, "rows")
    >>> (scores * 250).round(6).tolist(), notes
    ([73.0, 90.0], ('The scores are cut off after 5 digits, not rounded; they are read so.',))
    >>> exact_scores(some, 251, "rows")[1][0][:65]
    'The scores are no multiples of 1/251, rounded or cut off; of 1/25'
    """
    for name, reading in _READINGS.items():
        if _fits(shown, total, reading):
            low, high = _counts(shown, total, reading)
            scores = np.where(low == high, low / total, shown.values)
            cut = "" if name == "rounded" else (
                f"The scores are cut off after {shown.decimals} digits, not rounded; they are "
                f"read so."
            )  # fmt: skip
            return scores, (cut,) if cut else ()
    fitting = _nearest_total(shown, total)
    found = f"of 1/{fitting:,} they are" if fitting else "nor of any number near it"
    return shown.values, (
        f"The scores are no multiples of 1/{total:,}, rounded or cut off; {found}. Look whether "
        f"{total:,} is the number of {what} of this board.",
    )


def _nearest_total(shown: ShownScores, total: int) -> int | None:
    """Return the number nearest to ``total`` of which all scores are multiples, within half of it.

    A few scores refute most numbers, so they are tried first.
    """
    few = ShownScores(np.unique(shown.values)[:: max(len(shown.values) // 20, 1)], shown.decimals)
    for away in range(1, min(total // 2, 20_000) + 1):
        for candidate in (total - away, total + away):
            for reading in _READINGS.values():
                if (
                    candidate > 0
                    and _fits(few, candidate, reading)
                    and _fits(shown, candidate, reading)
                ):
                    return candidate
    return None
