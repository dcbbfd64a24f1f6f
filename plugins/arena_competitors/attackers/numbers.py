"""The moves of attacks on targets of numbers: steps up and down from a constant or the baseline."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.interfaces import Feedback, Move, Participation, Player, traits_of
from arena.types import FloatArray, IntArray
from arena_competitors.attackers.feedback import BoardBehaviour
from arena_competitors.attackers.guesses import is_better


class Steps:
    """Turns signs into predictions: up or down by a step from a start.

    The start is the public baseline, or 1 without one. The step is half of the baseline's standard
    deviation; of a constant baseline, half of its size, or 0.5 at 0.
    """

    def __init__(self, participation: Participation) -> None:
        base = participation.baseline
        n_rows = participation.n_rows
        self.start: FloatArray = np.ones(n_rows) if base is None else np.array(base, dtype=float)
        spread = float(self.start.std())
        size = spread if spread > 0 else abs(float(self.start.mean()))
        self.step = 0.5 * size or 0.5
        self._low, self._high = traits_of(participation.metric).prediction_range

    def prediction(self, signs: npt.NDArray[np.int8]) -> FloatArray:
        """Return ``(n_rows,)`` predictions for signs of -1, 0 and 1."""
        return np.clip(self.start + self.step * signs, self._low, self._high)


def random_signs(n_rows: int, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """Return ``(n_rows,)`` signs, -1 or 1 with equal probability."""
    return (2 * rng.integers(0, 2, n_rows, dtype=np.int8) - 1).astype(np.int8)


class _NumericBoostingPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self._metric, self._rng = participation.metric, rng
        self._steps = Steps(participation)
        self._behaviour = BoardBehaviour(self._metric)
        self._signs = np.zeros(participation.n_rows, dtype=np.int8)
        self._sum: FloatArray = np.zeros(participation.n_rows)
        self._weighted: FloatArray = np.zeros(participation.n_rows)
        self._lowered: FloatArray = np.zeros(participation.n_rows)
        self._scores: list[float] = []

    def submit(self) -> Move:
        self._signs = random_signs(len(self._signs), self._rng)
        return Move(self._steps.prediction(self._signs))

    def receive(self, feedback: Feedback) -> None:
        self._behaviour.observe(feedback)
        sign = 1.0 if self._metric.greater_is_better else -1.0
        self._scores.append(sign * feedback.score)
        self._sum += self._signs
        self._weighted += sign * feedback.score * self._signs
        previous = feedback.previous
        if previous is not None and is_better(feedback.score, previous, self._metric):
            self._lowered += self._signs

    def finish(self) -> Move:
        vote = self._lowered
        if self._behaviour.shows_every_score:
            vote = self._weighted - float(np.mean(self._scores)) * self._sum
        return Move(self._steps.prediction(np.sign(vote).astype(np.int8)))


class _NumericBlocksPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator, rows: int) -> None:
        self._metric, self._rng, self._rows = participation.metric, rng, rows
        self._steps = Steps(participation)
        self._best = np.zeros(participation.n_rows, dtype=np.int8)
        self._tried = self._best
        self._best_score: float | None = None

    def submit(self) -> Move:
        self._tried = self._best
        if self._best_score is not None:
            chosen: IntArray = self._rng.choice(
                len(self._best), self._rows, replace=False, shuffle=False
            )
            self._tried = self._best.copy()
            self._tried[chosen] = random_signs(self._rows, self._rng)
        return Move(self._steps.prediction(self._tried))

    def receive(self, feedback: Feedback) -> None:
        if self._best_score is None or is_better(feedback.score, self._best_score, self._metric):
            self._best, self._best_score = self._tried, feedback.score

    def finish(self) -> Move:
        return Move(self._steps.prediction(self._best))


def numeric_boosting(participation: Participation, rng: np.random.Generator) -> Player:
    """Return a player of random steps and a vote weighted by the released scores.

    Against a board that shows every score, a submission counts by its score less the mean of all;
    against one that shows improvements only, those that improved count.
    """
    return _NumericBoostingPlayer(participation, rng)


def numeric_blocks(participation: Participation, rng: np.random.Generator, rows: int) -> Player:
    """Return a player that steps in some rows of the best submission so far."""
    return _NumericBlocksPlayer(participation, rng, rows)
