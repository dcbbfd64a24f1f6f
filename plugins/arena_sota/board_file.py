"""Scores of a published leaderboard, read with their decimals and matched to the number of rows.

Platforms show a few digits of a score, rounded or truncated. If only one number of correct rows
fits the digits, the exact score is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, UsageError
from arena.plugin.registry import nearest
from arena.types import FloatArray
from arena.utils.file_errors import unreadable
from arena.utils.tabular import read_csv
from arena.utils.text import plural, printable

_Row: TypeAlias = tuple[int, list[str]]
"""The line number of a row, and its cells."""
_MOST_WRONG = 0.01
"""The largest share of cells that are no scores and are left out."""
_SLACK = 1e-9
_READINGS = {"rounded": (-0.5, 0.5), "truncated": (0.0, 1.0)}
"""Range of the exact score above the displayed one, in units of the last digit."""


@dataclass(frozen=True, slots=True, eq=False)
class ShownScores:
    """Scores as displayed on a board."""

    values: FloatArray
    """``(m,)`` in [0, 1]."""
    decimals: int
    """The most digits after the point."""
    notes: tuple[str, ...] = ()
    """What was left out, in sentences."""


def read_scores(
    path: Path, column: str, where: str | None = None, *, percent: bool = False
) -> ShownScores:
    """Read a column of scores from a CSV file; empty cells are left out.

    A few cells, at most 1%, that are no score between 0 and 1 are left out with a note. Of a file
    with the private and the public board below each other the private one is read, with a note.

    Parameters
    ----------
    path
        The file.
    column
        The column of the scores.
    where
        ``COLUMN=VALUE``: only these rows are read.
    percent
        The scores are percentages, and are divided by 100.

    Raises
    ------
    InputError
        If the file or a column does not exist, there are fewer than two scores, or too many cells
        are no scores.
    """
    scale = 100 if percent else 1
    header, rows = read_csv(path)
    score_column = _position(
        header, column, path, " Name the column of the scores with --score-column."
    )
    rows, notes = _one_split(header, rows, where, path)
    values, decimals, wrong = [], 0, []
    for number, row in rows:
        text = row[score_column].strip() if score_column < len(row) else ""
        value = _score(text, scale)
        if text and value is None:
            wrong.append((number, text))
        elif value is not None:
            values.append(value)
            decimals = max(decimals, len(text.partition(".")[2].rstrip("eE+-%")))
    if wrong and len(wrong) > _MOST_WRONG * (len(values) + len(wrong)):
        number, text = wrong[0]
        raise InputError(
            f"{path}, row {number}, column {printable(column)}: {printable(text[:40])} is not a "
            f"score between 0 and {scale}. "
            + ("" if percent else "If the scores are percentages, pass --percent; ")
            + f"{'L' if percent else 'l'}osses are not supported."
        )
    if wrong:
        listed = ", ".join(f"{printable(text[:40])} (row {number})" for number, text in wrong[:5])
        more = f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else ""
        notes.append(f"Left out, because they are no scores between 0 and {scale}: {listed}{more}.")
    if len(values) < 2:
        raise InputError(f"{path} holds {plural(len(values), 'score')}; at least two are needed.")
    return ShownScores(np.array(values), decimals + 2 * percent, tuple(notes))


def _position(header: list[str], column: str, path: Path, advice: str = "") -> int:
    if column not in header:
        guess = nearest(column, header)
        hint = f"Did you mean {printable(guess)}?" if guess else "Its columns are: "
        listed = "" if guess else ", ".join(printable(name) for name in header[:20]) + "."
        raise InputError(f"{path} has no column {printable(column)}. {hint}{listed}{advice}")
    return header.index(column)


def _one_split(
    header: list[str], rows: list[_Row], where: str | None, path: Path
) -> tuple[list[_Row], list[str]]:
    """Return the rows of one split, and a note if it was selected without being asked for."""

    def cells(position: int) -> list[str]:
        return [row[position].strip() if position < len(row) else "" for _, row in rows]

    if where is not None:
        name, equals, wanted = where.partition("=")
        if not equals:
            raise UsageError(f"--where takes COLUMN=VALUE, such as board=private; not {where!r}.")
        split_cells = cells(_position(header, name.strip(), path))
        kept_rows = [
            row for row, cell in zip(rows, split_cells, strict=True) if cell == wanted.strip()
        ]
        if not kept_rows:
            split_names = ", ".join(printable(cell) for cell in sorted(set(split_cells))[:20])
            raise InputError(
                f"{path} has no row with {printable(where)}; the values are {split_names}."
            )
        return kept_rows, []
    for column, name in enumerate(header):
        split_cells = [cell.casefold() for cell in cells(column)]
        if set(split_cells) == {"private", "public"}:
            kept_rows = [
                row for row, cell in zip(rows, split_cells, strict=True) if cell == "private"
            ]
            note = (
                f"Only the {plural(len(kept_rows), 'private row')} of the column {printable(name)} "
                "are read; pass --where for the others."
            )
            return kept_rows, [note]
    return rows, []


def _score(text: str, scale: int) -> float | None:
    try:
        value = float(text.removesuffix("%") if scale == 100 else text) / scale
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def read_numbers(path: Path) -> FloatArray:
    """Read numbers, one per line; blank lines are left out.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is not a number.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(path, error) from error
    values = []
    for row, line in enumerate(lines, start=1):
        if line.strip():
            try:
                values.append(float(line))
            except ValueError:
                text = printable(line.strip()[:40])
                raise InputError(f"{path}, row {row}: {text} is not a number.") from None
    if not values:
        raise InputError(f"{path} contains no numbers.")
    return np.array(values)


def _counts(
    shown: ShownScores, total: int, reading: tuple[float, float]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return the smallest and the largest count out of ``total`` that each score may represent."""
    unit = 10.0**-shown.decimals
    low = np.ceil((shown.values + reading[0] * unit) * total - _SLACK * total)
    high = np.floor((shown.values + reading[1] * unit) * total + _SLACK * total)
    return np.maximum(low, 0), np.minimum(high, total)


def _fits(shown: ShownScores, total: int, reading: tuple[float, float]) -> bool:
    low, high = _counts(shown, total, reading)
    return bool((low <= high).all())


def exact_scores(shown: ShownScores, total: int, what: str) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the scores as multiples of 1/total where the digits determine them, and notes.

    Parameters
    ----------
    shown
        The displayed scores.
    total
        Every exact score is a multiple of 1/total: the number of rows for an accuracy.
    what
        What ``total`` counts, for the notes.

    Examples
    --------
    >>> some = ShownScores(np.array([0.29199, 0.36]), 5)
    >>> scores, notes = exact_scores(some, 250, "rows")
    >>> (scores * 250).round(6).tolist(), notes
    ([73.0, 90.0], ('The scores are truncated after 5 digits, not rounded; they are read so.',))
    >>> exact_scores(some, 251, "rows")[1][0][:65]
    'The scores are not multiples of 1/251, rounded or truncated; they'
    """
    for name, reading in _READINGS.items():
        if _fits(shown, total, reading):
            low, high = _counts(shown, total, reading)
            scores = np.where(low == high, low / total, shown.values)
            cut = "" if name == "rounded" else (
                f"The scores are truncated after {shown.decimals} digits, not rounded; they are "
                f"read so."
            )  # fmt: skip
            return scores, (cut,) if cut else ()
    fitting = _nearest_total(shown, total)
    resolution_text = f"they are of 1/{fitting:,}" if fitting else "nor of any number near it"
    return shown.values, (
        f"The scores are not multiples of 1/{total:,}, rounded or truncated; {resolution_text}. "
        f"Check that {total:,} is the number of {what} of this leaderboard. If each score is a "
        f"mean of values other than 0 and 1, such as Dice, it is no accuracy, and these estimates "
        f"do not hold.",
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
