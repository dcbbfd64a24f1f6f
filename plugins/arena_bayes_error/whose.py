"""Whose a figure of a board is: names of teams, as sentences and cells tell them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arena.interfaces import Study
from arena.text import shorten
from arena.types import FloatArray
from arena_bayes_error.of_study import BoardFloor

__all__ = ["best_scored", "named", "nearest_to_the_floor", "of_other_metrics"]

_SHOWN = 5


def named(teams: Sequence[str], shown: int = _SHOWN) -> str:
    r"""Return the names of teams, harmless and the first few of them.

    >>> named(["a", "b\x1b"]), named(["a", "b", "c"], shown=1)
    ('a and b\\x1b', 'a and 2 more')
    """
    names = [shorten(team) for team in teams[:shown]]
    if len(teams) > shown:
        return f"{', '.join(names)} and {len(teams) - shown:,} more"
    return " and ".join([part for part in (", ".join(names[:-1]), names[-1]) if part])


def nearest_to_the_floor(study: Study, against_soft: FloatArray) -> str:
    """Return the team with the least error against the soft labels, or all that share it."""
    alike = np.flatnonzero(against_soft == against_soft.min())
    return named(list(dict.fromkeys(study.teams[at] for at in alike)))


def best_scored(study: Study) -> tuple[float, str]:
    """Return the best score of a board with some submission, and whose it is."""
    best = float((np.max if study.metric.greater_is_better else np.min)(study.scores))
    alike = np.flatnonzero(study.scores == best)
    return best, named(list(dict.fromkeys(study.teams[at] for at in alike)))


def of_other_metrics(study: Study, found: BoardFloor) -> str:
    """Return what can be said where predictions name no class, so that nobody's errors count."""
    said = (
        f"teams are not checked against it, since what is predicted for {study.metric.name} names "
        f"no class"
    )
    if found.metric is None or not len(study.scores):
        return said
    best, teams = best_scored(study)
    possible = found.metric.value
    beyond = best > possible if study.metric.greater_is_better else best < possible
    scores = f"The best score of the board, {best:.5g} ({teams}),"
    if not beyond:
        return f"{said}. {scores} is no better than the best possible one, {possible:.5g}"
    side = "above" if study.metric.greater_is_better else "below"
    return (
        f"{said}. {scores} is {side} the best possible {possible:.5g}: a leak, or soft labels less "
        f"sure than the labels, or, where the difference is small, luck"
    )
