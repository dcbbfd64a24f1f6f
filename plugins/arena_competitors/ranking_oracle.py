"""Reads labels off a score that only the order of the rows decides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Answer, Conduct, Metric, Move, Participation, Player
from arena.types import IntArray, PredictionKind
from arena_competitors.hearing import BoardManners

__all__ = ["AucOracle"]

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class AucOracle:
    """Put one row above all others, which are tied: the score says which class it is of.

    A positive row alone at the top gives an AUC of 1/2 + 1/(2 n+), a negative one
    1/2 - 1/(2 n-), and a hidden one 1/2 exactly; after Whitehill (2016), who reads labels off
    exact AUC values. It works while the rounding step is smaller than 1/n+ and 1/n-. The first
    submission ties all rows; a board that does not show it as 1/2 is not trusted. Against a board
    that shows improvements only, an answer that repeats the one before says nothing.

    Needs two classes and a metric of ranks, such as roc_auc. Holds 24 bytes per row.
    """

    name: str = "auc-oracle"
    conduct: ClassVar[Conduct] = "attacks"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError unless ties in all rows have a score of their own."""
        metric = participation.metric
        fits = metric.prediction is PredictionKind.SCORE and participation.n_classes == 2
        if not fits or not np.isfinite(_tied(metric)):
            raise UsageError(
                f"auc-oracle needs two classes and a metric of their ranks, not {metric.name}: "
                f"take --metric roc_auc."
            )
        return _AucPlayer(participation, rng)


def _tied(metric: Metric) -> float:
    """Return the score of a submission in which all rows are tied."""
    return float(metric.score(np.array([0, 0, 1]), np.zeros(3)))


class _AucPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self._participation = participation
        self._manners = BoardManners(participation.metric)
        self._rows = rng.permutation(participation.n_rows)
        self._tied = _tied(participation.metric)
        self._sent = -1
        self._trusted = False
        # Read if every score is shown, and if improvements only are.
        self._if_every: IntArray = np.full(participation.n_rows, -1, dtype=np.intp)
        self._if_news: IntArray = np.full(participation.n_rows, -1, dtype=np.intp)

    @property
    def _row(self) -> int | None:
        """The row that stands on top now; None in the first submission and after the last row."""
        return int(self._rows[self._sent - 1]) if 0 < self._sent <= len(self._rows) else None

    def submit(self) -> Move:
        self._sent += 1
        prediction = np.zeros(self._participation.n_rows)
        if self._row is not None:
            prediction[self._row] = 1.0
        return Move(prediction)

    def hear(self, answer: Answer) -> None:
        news = self._manners.hear(answer)
        difference = answer.score - self._tied
        if not self._sent:
            self._trusted = abs(difference) <= _TOLERANCE
        if self._row is None or not self._trusted or abs(difference) <= _TOLERANCE:
            return
        positive = (difference > 0) == self._participation.metric.greater_is_better
        self._if_every[self._row] = int(positive)
        if news:
            self._if_news[self._row] = int(positive)

    def finish(self) -> Move:
        known = self.known_labels()
        return Move(np.where(known == -1, 0.0, 2.0 * known - 1.0))

    def known_labels(self) -> IntArray:
        """Return ``(n_rows,)`` codes, -1 where the label is not known."""
        return self._if_every if self._manners.shows_every_score else self._if_news
