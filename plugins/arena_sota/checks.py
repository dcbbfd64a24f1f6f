"""Input checks of this package."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray
from arena.utils.text import plural
from arena_sota.dependence import bounds, largest_rho0

_MOST_ROWS = 100_000_000
_LEAST = 1e-12


def success_probabilities(theta: npt.ArrayLike) -> FloatArray:
    """Return the probabilities as an array; raises UsageError if one is out of range."""
    values = np.atleast_1d(np.asarray(theta, dtype=np.float64))
    if values.ndim != 1 or not len(values):
        raise UsageError("The success probabilities must be one number or a list of them.")
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        raise UsageError(
            f"A success probability must lie between 0 and 1, but number {wrong[0] + 1} is "
            f"{values[wrong[0]]:g}."
        )
    return values


def check_numbers(
    n_rows: int, n_classifiers: int | None, rho0: float, theta0: float | None, correct0: int | None
) -> None:
    """Raise UsageError for numbers that are out of range."""
    if not 1 <= n_rows <= _MOST_ROWS:
        raise UsageError(f"The number of rows must lie between 1 and {_MOST_ROWS:,}.")
    if n_classifiers is not None and n_classifiers < 1:
        raise UsageError("There must be at least one classifier.")
    if not 0 <= rho0 < 1:
        raise UsageError(f"The correlation rho0 must be at least 0 and below 1, not {rho0:g}.")
    if theta0 is not None and not 0 <= theta0 <= 1:
        raise UsageError(f"theta0 is a probability between 0 and 1, not {theta0:g}.")
    if correct0 is not None and not 0 <= correct0 <= n_rows:
        raise UsageError(
            f"The easy rows must be between 0 and the {plural(n_rows, 'row')} there are."
        )


def check_choice(name: str, given: str, allowed: tuple[str, ...]) -> None:
    """Raise UsageError for a word that is none of those allowed."""
    if given not in allowed:
        raise UsageError(f"The {name} must be {' or '.join(allowed)}, not {given!r}.")


def check_theta0(rho0: float, theta0: float) -> None:
    """Raise UsageError for a common cause without variation."""
    if rho0 > 0 and not _LEAST <= theta0 <= 1 - _LEAST:
        raise UsageError(
            f"theta0 is {theta0:g}: if all rows or none are easy, the common cause does not vary "
            f"and nothing correlates with it. Give --theta0 strictly between 0 and 1, or --rho 0."
        )


def check_room_for_a_cause(rho0: float, scores: FloatArray) -> None:
    """Raise UsageError for a common cause if the best score is perfect."""
    if rho0 > 0 and scores.max() > 1 - _LEAST:
        raise UsageError(
            f"The best score is 1, so every row counts as easy and the common cause does not vary: "
            f"a correlation of {rho0:.3g} has no meaning here. Give --rho 0."
        )


def no_classifier_message(values: FloatArray, rho0: float, theta0: float) -> str:
    """Return the message that no classifier is possible, and which rho0 would allow one."""
    least, most = bounds(rho0, theta0)
    return (
        f"With rho0 {rho0:g} and theta0 {theta0:g} a success probability must lie between "
        f"{least:.4f} and {most:.4f}, and no classifier's does. The largest rho0 that leaves one "
        f"is {largest_rho0(values, theta0):.4f}."
    )


def board_scores(scores: npt.ArrayLike) -> FloatArray:
    """Return the scores of a board as an array; raises UsageError if they are not valid."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or len(values) < 2:
        raise UsageError("A board needs the scores of at least two teams.")
    wrong = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(wrong):
        raise UsageError(
            f"A score must be a number between 0 and 1, but number {wrong[0] + 1} is "
            f"{values[wrong[0]]:g}."
        )
    return values
