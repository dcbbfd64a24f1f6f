"""One sentence on a best score, for a person who knows no statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arena.intake.faults import plural
from arena.types import FloatArray

__all__ = [
    "of_the_predictions",
    "per_cent",
    "reach_of_others",
    "sota_verdict",
    "who_counts",
    "who_is_left_out",
]

_HARDLY = 0.0005
_ERRORS = 2
"""Standard errors of what is drawn by which a winner must lie beyond the others' reach."""


def reach_of_others(
    scores: FloatArray, level: float, maximum_of: Callable[[FloatArray, float], Any]
) -> float:
    """Return how high luck may lift the best of all but the first, were they worth their scores.

    It is the upper end of the interval of their best score; where that is drawn, two standard
    errors of its mean are added. Only beyond it a winner is said to be more than lucky. The
    expected best score of a board that has the winner in it cannot decide that: it lies below the
    winner's score by a hair of simulation error, or because draws of the teams do not always hold
    the winner.

    Parameters
    ----------
    scores
        ``(m,)``, at least two.
    level
        Of the interval.
    maximum_of
        ``maximum_of(performances (k,), settled)``: the distribution of the best score.
    """
    maximum = maximum_of(np.delete(scores, np.argmax(scores)), 1e-4)
    draws = getattr(maximum, "draws", None)
    error = 0.0 if draws is None else maximum.std / np.sqrt(len(draws))
    return float(maximum.interval(level)[1] + _ERRORS * error)


def sota_verdict(
    side: int,
    target: str,
    observed: float,
    expected: float,
    sota: float | None,
    n_teams: int,
    n_above: int | None,
    reach: float = np.inf,
) -> str:
    """Return whether the best score can be luck.

    Parameters
    ----------
    side
        0: there is a solution; 1: the expected best score is below the observed one even if every
        team is worth its score; -1: above it even if all guess.
    target
        ``mean`` or ``upper``.
    observed, expected
        The best score, and its mean in the model.
    sota
        The estimate, where there is one.
    n_teams, n_above
        How many teams there are, and how many scored above the estimate.
    reach
        With side 1: :func:`reach_of_others`; luck explains the winner up to it.

    Examples
    --------
    >>> sota_verdict(0, "mean", 0.9116, 0.9116, 0.9070, 3_558, 841)[:70]
    'The best score of 0.9116 is what luck among 3,558 teams would give on '
    """
    if side > 0:
        return _of_winner(observed, reach, n_teams)
    if (side < 0 or sota is None) and target == "upper":
        return (
            f"Even if none of the {n_teams:,} teams did better than guessing, the best score of "
            f"{observed:.4f} would still be within the reach of luck: nothing on this board is "
            f"surely more than that."
        )
    if side < 0 or sota is None:
        return (
            f"Even if none of the {n_teams:,} teams did better than guessing, the best score would "
            f"be about {expected:.4f}, above the {observed:.4f} that was reached: nothing on this "
            f"board is more than luck explains."
        )
    if observed - sota < _HARDLY:
        return (
            f"Luck among {n_teams:,} teams explains next to nothing of the best score of "
            f"{observed:.4f}: the best is truly worth about {sota:.4f}."
        )
    others = f"; {plural(n_above or 0, 'team')} scored above that."
    if target == "upper":
        return (
            f"The best score of {observed:.4f} is still within the reach of luck among {n_teams:,} "
            f"teams if the best of them is truly worth only {sota:.4f}{others}"
        )
    return (
        f"The best score of {observed:.4f} is what luck among {n_teams:,} teams would give on "
        f"average if the best of them is truly worth {sota:.4f}{others}"
    )


def who_counts(n_given: int, n_distinct: int, n_counting: int) -> str:
    """Return why there are fewer teams in the sentence than scores on the board, or nothing.

    >>> who_counts(43, 41, 40)
    'Of 43 scores on the board 40 count here: 2 near-copies of another and 1 no better than \
guessing are left out.'
    >>> who_counts(43, 43, 43)
    ''
    """
    copies, guesses = n_given - n_distinct, n_distinct - n_counting
    said = (
        [plural(copies, "near-copy").replace("copys", "copies") + " of another"] if copies else []
    )
    said += [f"{guesses:,} no better than guessing"] if guesses else []
    if not said:
        return ""
    are = "is" if copies + guesses == 1 else "are"
    return (
        f"Of {n_given:,} scores on the board {n_counting:,} count here: {' and '.join(said)} {are} "
        f"left out."
    )


def who_is_left_out(n_teams: float, rho0: float) -> str:
    """Return what it means that teams are outside the bounds of the dependence, and what to do.

    >>> who_is_left_out(1, 0.6)[:74]
    '1 team scores too low to have as much in common with the best as rho 0.600'
    """
    teams = "1 team scores" if n_teams == 1 else f"{n_teams:,.6g} teams score"
    return (
        f"{teams} too low to have as much in common with the best as rho {rho0:.3f} says, so the "
        f"estimate takes it that none of these comes first by luck. To let them, give a smaller "
        f"--rho, and see whether the estimate changes."
    )


def of_the_predictions(document: Mapping[str, Any]) -> str:
    """Return what the predictions of a board show, and with what the estimate was made.

    >>> of_the_predictions({"submissions": 6, "clusters": 6, "rho0": 0.514,
    ...                     "rho0_interval": [0.498, 0.53]})
    'None of the 6 submissions is a near-copy of another. The estimate was made with a correlation \
of 0.514; the predictions themselves show one between 0.498 and 0.530.'
    """
    given, distinct = document["submissions"], document["clusters"]
    counted = f"The {given:,} submissions count as {distinct:,}, near-copies of each other once."
    if given == distinct:
        counted = f"None of the {given:,} submissions is a near-copy of another."
    low, high = document["rho0_interval"]
    shown = "how much the predictions show cannot be told"
    if low is not None and high is not None:
        shown = f"the predictions themselves show one between {low:.3f} and {high:.3f}"
    return f"{counted} The estimate was made with a correlation of {document['rho0']:.3f}; {shown}."


def per_cent(level: float) -> str:
    """Return a level in per cent.

    >>> per_cent(0.95)
    '95 %'
    """
    return f"{100 * level:.10g} %"


def _of_winner(observed: float, reach: float, n_teams: int) -> str:
    others = f"if the other {n_teams - 1:,} teams were" if n_teams > 2 else "if the other team was"
    if observed > reach:
        return (
            f"The winner's score is beyond what luck explains under these assumptions: {others} "
            f"worth just what they scored, luck would hardly lift the best of them above "
            f"{reach:.4f}, and the winner reached {observed:.4f}, {observed - reach:.4f} more. "
            f"Intervals that rest on the rows alone may overlap all the same."
        )
    return (
        f"The lead of the winner is about what the best of many shows by luck: {others} worth just "
        f"what they scored, luck could lift the best of them to {reach:.4f}, and the winner "
        f"reached {observed:.4f}. Nothing more can be told from this board."
    )
