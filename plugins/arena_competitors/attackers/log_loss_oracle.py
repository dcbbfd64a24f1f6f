"""An attack that decodes labels from the digits of a log loss."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Conduct, Feedback, HasRowValues, Metric, Move, Participation, Player
from arena.types import FloatArray, IntArray, PredictionKind
from arena_competitors.attackers.bit_code import HIDDEN, BitCode
from arena_competitors.attackers.feedback import BoardBehaviour

_KINDS = (PredictionKind.PROBABILITY, PredictionKind.CLASS_PROBABILITIES)
_FINEST_STEP = 1e-10
_DECIMALS = 10
_ROOM = 4.0
"""Spacing of sums in rounding steps, so that a score that fits no outcome is rejected."""
_SHARE_OF_CLIP = 0.9
_SURE = 1e-3


def shown_step(score: float) -> float:
    """Return the rounding step of a released score: one unit of its last decimal.

    >>> shown_step(0.69315), shown_step(0.5)
    (1e-05, 0.1)
    """
    decimals = next((d for d in range(_DECIMALS) if round(score, d) == score), _DECIMALS)
    return max(float(10.0**-decimals), _FINEST_STEP)


@dataclass(frozen=True, slots=True)
class LogLossOracle:
    """Encode a few rows in the probabilities and decode their labels from the score.

    Whitehill (2018): p_j = 1 / (1 + exp(c 2^j)) on a batch of rows and 1/2 elsewhere, with c
    above n times the rounding step: n times the score less its base is c times a number whose
    binary digits are the labels. The step is inferred from the first score, which is log 2 for 1/2
    everywhere. If some rows are hidden, weights are chosen that also identify hidden rows.

    If the board does not show the first score exactly, nothing is certain and no label is claimed.
    Needs two classes, probabilities and log loss. Holds 16 bytes per row.
    """

    name: str = "log-loss-oracle"
    conduct: ClassVar[Conduct] = "attacks"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:  # noqa: ARG002
        """Return a player; UsageError unless the metric is the log loss of two classes."""
        metric = participation.metric
        if participation.n_classes != 2 or metric.prediction not in _KINDS:
            raise UsageError(f"log-loss-oracle needs probabilities of two classes, {_not(metric)}")
        half = metric.score(np.array([0, 1]), np.array([0.5, 0.5]))
        if not np.isclose(half, np.log(2)) or not isinstance(metric, HasRowValues):
            raise UsageError(f"log-loss-oracle needs the log loss, {_not(metric)}")
        return _LogLossPlayer(participation, metric)


def _not(metric: Metric) -> str:
    return f"not {metric.name}: use --metric log_loss."


class _LogLossPlayer:
    def __init__(self, participation: Participation, metric: HasRowValues) -> None:
        self._participation = participation
        dearest = metric.row_values(np.array([1]), np.array([[0.0]]))
        self._largest = _SHARE_OF_CLIP * float(dearest[0, 0])
        self._sure = max(_SURE, float(np.exp(-self._largest)))
        self._behaviour = BoardBehaviour(participation.metric)
        self._left = deque(range(participation.n_rows))
        self._known: IntArray = np.full(participation.n_rows, -1, dtype=np.intp)
        self._code = self._design(1e-5)
        self._trusted: bool | None = None
        self._batch: list[int] = []

    def _design(self, step: float) -> BitCode:
        participation = self._participation
        return BitCode.design(
            spacing=_ROOM * participation.n_public * step,
            largest=self._largest,
            all_public=participation.n_public == participation.n_rows,
        )

    def submit(self) -> Move:
        prediction = np.full(self._participation.n_rows, 0.5)
        if self._trusted is not None:
            size = min(len(self._code.weights), len(self._left))
            self._batch = [self._left.popleft() for _ in range(size)]
            prediction[self._batch] = self._code.probabilities(size)
        return Move(prediction)

    def receive(self, feedback: Feedback) -> None:
        news = self._behaviour.observe(feedback)
        if self._trusted is None:
            step = shown_step(feedback.score)
            self._trusted = abs(feedback.score - np.log(2)) <= step
            self._code = self._design(step) if self._trusted else self._code
            return
        read = self._read(feedback.score) if news and self._trusted else None
        if read is None:  # retry in another order: an unchanged score has no information
            self._left.extend(reversed(self._batch))
            return
        for row, label in zip(self._batch, read, strict=True):
            self._known[row] = -1 if label == HIDDEN else label

    def _read(self, score: float) -> tuple[int, ...] | None:
        excess = self._participation.n_public * (score - np.log(2))
        return self._code.read(excess, len(self._batch))

    def finish(self) -> Move:
        prediction: FloatArray = np.full(self._participation.n_rows, 0.5)
        prediction[self._known == 0] = self._sure
        prediction[self._known == 1] = 1.0 - self._sure
        return Move(prediction)

    def known_labels(self) -> IntArray:
        """Return ``(n_rows,)`` codes, -1 where the label is not known."""
        return self._known
