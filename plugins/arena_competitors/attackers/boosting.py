"""Attacks that submit random labels and then a vote over the ones that scored well."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Conduct, Feedback, Move, Participation, Player
from arena.types import FloatArray, IntArray
from arena_competitors.attackers.feedback import BoardBehaviour
from arena_competitors.attackers.guesses import (
    chance_score,
    encode,
    is_better,
    needs_classes,
    random_codes,
    right_and_wrong,
    takes_numbers,
)
from arena_competitors.attackers.numbers import numeric_boosting

_VOTES = ("majority", "signed")


@dataclass(frozen=True, slots=True)
class Boosting:
    """Submit random labels, then the majority vote of those that did better than chance.

    Blum and Hardt (2015), section 5: u_1, …, u_k are uniform in {0, 1}^N with public losses
    l_1, …, l_k; the last submission is the majority, row by row, of the u_i with l_i <= 1/2, ties
    to 1. Against a board that shows improvements only (section 5, Figure 3, Ladder), the vote is
    over the u_i that lowered the released score, including the first one if it is better than
    chance. The attacker infers the kind of board from the releases. Against rounding to 5 decimals
    the public loss is about 1/2 - sqrt(k / (2 n)) / pi, and 1/2 on fresh rows.

    With numbers for targets, the submissions step up or down from the baseline in every row, and
    the vote is weighted by the released scores (see
    :func:`~arena_competitors.attackers.numbers.numeric_boosting`).

    Needs two classes or numbers. Holds 16 bytes per row, of numbers 24.

    Parameters
    ----------
    vote
        ``majority``, as in the paper, or ``signed``: the sign of
        sum (1/2 - l_i) (2 u_i - 1), which weights each submission by its score.

    Raises
    ------
    UsageError
        If the vote is unknown.
    """

    vote: str = "majority"
    name: str = "boosting"
    conduct: ClassVar[Conduct] = "attacks"

    def __post_init__(self) -> None:
        if self.vote not in _VOTES:
            raise UsageError(f"boosting: vote must be one of {', '.join(_VOTES)}: {self.vote!r}.")

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError unless there are two classes, or numbers."""
        if takes_numbers(participation):
            return numeric_boosting(participation, rng)
        if needs_classes(self.name, participation) != 2:
            raise UsageError("boosting needs two classes: use the attack 'multiclass'.")
        return _BoostingPlayer(participation, rng, signed=self.vote == "signed")


class _BoostingPlayer:
    def __init__(
        self, participation: Participation, rng: np.random.Generator, *, signed: bool
    ) -> None:
        self._participation, self._rng, self._signed = participation, rng, signed
        self._metric = participation.metric
        self._chance = chance_score(self._metric, 2)
        self._behaviour = BoardBehaviour(self._metric)
        self._codes = np.zeros(participation.n_rows, dtype=np.intp)
        self._above = _Vote(participation.n_rows)
        self._lowered = _Vote(participation.n_rows)

    def submit(self) -> Move:
        self._codes = random_codes(self._participation, self._rng)
        return Move(encode(self._codes, self._metric, 2))

    def receive(self, feedback: Feedback) -> None:
        self._behaviour.observe(feedback)
        before = self._chance if feedback.previous is None else feedback.previous
        advantage = feedback.score - self._chance
        if not self._metric.greater_is_better:
            advantage = -advantage
        weight = advantage if self._signed else float(advantage >= 0)
        self._above.add(self._codes, weight)
        if is_better(feedback.score, before, self._metric):
            self._lowered.add(self._codes, weight if self._signed else 1.0)

    def finish(self) -> Move:
        vote = self._above if self._behaviour.shows_every_score else self._lowered
        return Move(encode(vote.result(), self._metric, 2))


class _Vote:
    """A vote over submissions of 0 and 1, row by row; ties to 1."""

    def __init__(self, n_rows: int) -> None:
        self._ones: FloatArray = np.zeros(n_rows)
        self._weight = 0.0

    def add(self, codes: IntArray, weight: float) -> None:
        if weight:
            self._ones += codes if weight == 1.0 else weight * codes
            self._weight += weight

    def result(self) -> IntArray:
        return (2 * self._ones >= self._weight).astype(np.intp)


@dataclass(frozen=True, slots=True)
class Multiclass:
    """Random labels of any number of classes, then the most likely label of every row.

    The naive Bayes attack of Feldman, Frostig and Hardt (2019): a submission of accuracy a that
    labels a row c is evidence for c with odds a (m - 1) / (1 - a) against every other class. The
    log odds are added over submissions, and the class with the largest sum is predicted. With k
    submissions the bias grows as sqrt(k / (m^2 n)), so many classes are a protection. Against a
    board that shows improvements only, the submissions that improved are counted.

    Needs classes. Holds 16 bytes per row and class.
    """

    name: str = "multiclass"
    conduct: ClassVar[Conduct] = "attacks"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError if the metric has no classes."""
        return _MulticlassPlayer(participation, rng, needs_classes(self.name, participation))


class _MulticlassPlayer:
    def __init__(
        self, participation: Participation, rng: np.random.Generator, n_classes: int
    ) -> None:
        self._participation, self._rng, self._n_classes = participation, rng, n_classes
        self._metric = participation.metric
        self._behaviour = BoardBehaviour(self._metric)
        self._right, self._wrong = right_and_wrong(self._metric, n_classes)
        self._chance = chance_score(self._metric, n_classes)
        self._codes = np.zeros(participation.n_rows, dtype=np.intp)
        self._rows = np.arange(participation.n_rows)
        self._all: FloatArray = np.zeros((participation.n_rows, n_classes))
        self._lowered: FloatArray = np.zeros((participation.n_rows, n_classes))

    def submit(self) -> Move:
        self._codes = random_codes(self._participation, self._rng)
        return Move(encode(self._codes, self._metric, self._n_classes))

    def receive(self, feedback: Feedback) -> None:
        self._behaviour.observe(feedback)
        before = self._chance if feedback.previous is None else feedback.previous
        weight = self._log_odds(feedback.score)
        self._all[self._rows, self._codes] += weight
        if is_better(feedback.score, before, self._metric):
            self._lowered[self._rows, self._codes] += weight

    def finish(self) -> Move:
        evidence = self._all if self._behaviour.shows_every_score else self._lowered
        return Move(encode(evidence.argmax(axis=1), self._metric, self._n_classes))

    def _log_odds(self, score: float) -> float:
        """Return log a (m - 1) / (1 - a), with a kept half a row away from 0 and 1."""
        half_a_row = 0.5 / self._participation.n_public
        share = (score - self._wrong) / (self._right - self._wrong)
        accuracy = min(max(share, half_a_row), 1 - half_a_row)
        return float(np.log(accuracy / (1 - accuracy)) + np.log(self._n_classes - 1))
