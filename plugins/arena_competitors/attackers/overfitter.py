"""An honest overfitter: of many equally good candidates the luckiest is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Feedback, Move, Participation, Player
from arena.types import PredictionKind
from arena_competitors.attackers.guesses import encode, is_better, random_codes


def random_values(n_rows: int, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return ``(n_rows,)`` positive numbers of mean 1 (exponential): valid for every metric."""
    return rng.exponential(size=n_rows)


@dataclass(frozen=True, slots=True)
class RandomSearch:
    """Submit random candidates, and keep the one with the best released score.

    Models an honest team that tries many settings and selects on the public board. It learns
    only which candidate was lucky. The bias is that of the best of k, about s sqrt(2 log k) for
    scores of standard error s. Needs classes or numbers; holds 16 bytes per row and column.
    """

    name: str = "random-search"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError if the metric takes texts."""
        if participation.metric.prediction is PredictionKind.TEXT:
            raise UsageError("random-search cannot guess texts: choose another metric.")
        return _RandomSearchPlayer(participation, rng)


class _RandomSearchPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self._participation, self._rng = participation, rng
        self._tried = self._best = self._draw()
        self._best_score: float | None = None

    def _draw(self) -> npt.NDArray[Any]:
        participation = self._participation
        if participation.n_classes is None:
            return random_values(participation.n_rows, self._rng)
        codes = random_codes(participation, self._rng)
        return encode(codes, participation.metric, participation.n_classes)

    def submit(self) -> Move:
        self._tried = self._draw()
        return Move(self._tried)

    def receive(self, feedback: Feedback) -> None:
        metric = self._participation.metric
        if self._best_score is None or is_better(feedback.score, self._best_score, metric):
            self._best, self._best_score = self._tried, feedback.score

    def finish(self) -> Move:
        return Move(self._best)
