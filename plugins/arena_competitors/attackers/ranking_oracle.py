"""An attack that infers labels from a score that depends only on the order of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Conduct, Feedback, Metric, Move, Participation, Player
from arena.types import IntArray, PredictionKind
from arena_competitors.attackers.feedback import BoardBehaviour

_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class AucOracle:
    """Rank one row above all others, which are tied: the score reveals its class.

    A positive row alone at the top gives an AUC of 1/2 + 1/(2 n+), a negative one
    1/2 - 1/(2 n-), and a hidden one 1/2 exactly; after Whitehill (2016), who infers labels from
    exact AUC values. It works while the rounding step is smaller than 1/n+ and 1/n-. The first
    submission ties all rows; if the board does not show it as 1/2, no label is claimed. On a board
    that shows improvements only, a repeated answer carries no information.

    Needs two classes and a metric of ranks, such as roc_auc. Holds 24 bytes per row.
    """

    name: str = "auc-oracle"
    conduct: ClassVar[Conduct] = "attacks"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError unless the metric ranks rows of two classes."""
        metric = participation.metric
        fits = metric.prediction is PredictionKind.SCORE and participation.n_classes == 2
        if not fits or not np.isfinite(_tied(metric)):
            raise UsageError(
                f"auc-oracle needs two classes and a metric of their ranks, not {metric.name}: "
                f"use --metric roc_auc."
            )
        return _AucPlayer(participation, rng)


def _tied(metric: Metric) -> float:
    """Return the score of a submission in which all rows are tied."""
    return float(metric.score(np.array([0, 0, 1]), np.zeros(3)))


class _AucPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self._participation = participation
        self._behaviour = BoardBehaviour(participation.metric)
        self._rows = rng.permutation(participation.n_rows)
        self._tied = _tied(participation.metric)
        self._sent = -1
        self._trusted = False
        # Labels inferred if every score is shown, and if only improvements are shown.
        self._if_every: IntArray = np.full(participation.n_rows, -1, dtype=np.intp)
        self._if_news: IntArray = np.full(participation.n_rows, -1, dtype=np.intp)

    @property
    def _row(self) -> int | None:
        """The row ranked on top now; None in the first submission and after the last row."""
        return int(self._rows[self._sent - 1]) if 0 < self._sent <= len(self._rows) else None

    def submit(self) -> Move:
        self._sent += 1
        prediction = np.zeros(self._participation.n_rows)
        if self._row is not None:
            prediction[self._row] = 1.0
        return Move(prediction)

    def receive(self, feedback: Feedback) -> None:
        news = self._behaviour.observe(feedback)
        difference = feedback.score - self._tied
        if not self._sent:
            self._trusted = abs(difference) <= _TOLERANCE
        if self._row is None or not self._trusted or abs(difference) <= _TOLERANCE:
            return
        positive = (difference > 0) == self._participation.metric.greater_is_better
        self._if_every[self._row] = int(positive)
        if news:
            self._if_news[self._row] = int(positive)

    def finish(self) -> Move:
        labels = self.known_labels()
        return Move(np.where(labels == -1, 0.0, 2.0 * labels - 1.0))

    def known_labels(self) -> IntArray:
        """Return ``(n_rows,)`` codes, -1 where the label is not known."""
        return self._if_every if self._behaviour.shows_every_score else self._if_news
