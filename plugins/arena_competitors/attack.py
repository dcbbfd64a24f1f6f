"""Runs one attacker against one mechanism, once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import Competitor, Feedback, KnowsLabels, Mechanism, Player
from arena.plugin.returned import checked_move
from arena_competitors.attackers.guesses import is_better
from arena_competitors.public_board import BoardSettings, PublicBoardRun, Shown
from arena_competitors.rows import Rows

_POINTS = 40


@dataclass(frozen=True, slots=True)
class Point:
    """The result of an attack after a number of submissions plus a last one."""

    submissions: int
    released: float
    """The best released score so far."""
    released_fresh: float
    """The score of that submission on the hidden rows."""
    final_public: float
    """The public score of the last submission."""
    fresh: float
    """Its score on the hidden rows."""
    bias: float
    """By how much the released score overstates the hidden score; positive: overstated."""
    leaderboard_error: float
    """Blum and Hardt (2015), Equation 3, with the best score shown so far as R_t."""
    labels_recovered: int
    """The number of public labels that the attacker claims to know, correctly."""
    labels_mistaken: int
    """The number of public labels that it claims to know, incorrectly."""


def checkpoints(submissions: int) -> tuple[int, ...]:
    """Return the numbers of submissions at which an attack is measured, evenly spaced to the last.

    >>> checkpoints(400)[:3], checkpoints(400)[-1], checkpoints(3)
    ((10, 20, 30), 400, (1, 2, 3))
    """
    count = min(submissions, _POINTS)
    numbers = np.arange(1, count + 1) * submissions / count
    return tuple(int(number) for number in np.ceil(numbers))


def play(
    competitor: Competitor,
    mechanism: Mechanism,
    rows: Rows,
    settings: BoardSettings,
    checkpoints: Sequence[int],
    rng: np.random.Generator,
    seed: int,
) -> list[Point]:
    """Return the result of an attack at each of the given numbers of submissions.

    The attacker's last submission (such as the vote of ``boosting``) is released at each of these
    and then undone: mechanisms are pure functions of their state.
    ``8 * n_rows * submissions`` bytes are held, since a mechanism may compare with any of them.

    Parameters
    ----------
    checkpoints
        Ascending numbers of submissions, each at least 1.
    rng
        The attacker's random numbers.
    seed
        Seed of the mechanism's random numbers.

    Raises
    ------
    UsageError
        If the attack does not suit the metric.
    """
    board = PublicBoardRun(mechanism, rows, settings, seed)
    player = competitor.start(rows.participation(settings.submissions, board.baseline_score), rng)
    tally, points = _Tally(rows), []
    for number in range(1, max(checkpoints) + 1):
        move = checked_move(competitor.name, player.submit(), rows.n_rows)
        answer = board.send(move)
        player.receive(Feedback(answer.score, answer.previous))
        tally.add(answer)
        if number in checkpoints:
            last = checked_move(competitor.name, player.finish(), rows.n_rows)
            points.append(_measure(number, player, board.send(last, commit=False), tally))
    return points


def _measure(number: int, player: Player, last: Shown, tally: _Tally) -> Point:
    then = replace(tally)
    then.add(last)
    known_labels = player.known_labels() if isinstance(player, KnowsLabels) else None
    claimed, right = _claims(tally.rows, known_labels)
    return Point(
        submissions=number,
        released=then.best_shown,
        released_fresh=then.best_hidden,
        final_public=last.public_score,
        fresh=tally.rows.hidden_score(last.prediction),
        bias=then.bias,
        leaderboard_error=then.error,
        labels_recovered=right,
        labels_mistaken=claimed - right,
    )


def _claims(rows: Rows, known_labels: npt.NDArray[Any] | None) -> tuple[int, int]:
    """Return how many labels of public rows are claimed, and how many of them correctly."""
    if known_labels is None:
        return 0, 0
    of_public = known_labels[rows.public]
    return int((of_public != -1).sum()), int((of_public == rows.public_truth).sum())


@dataclass(slots=True, eq=False)
class _Tally:
    """The best released score and the best true score so far."""

    rows: Rows
    best_shown: float = np.nan
    best_prediction: npt.NDArray[Any] | None = None
    best_true: float = np.nan
    error: float = 0.0

    def add(self, answer: Shown) -> None:
        """Add a submission and its released score."""
        if self._better(answer.score, self.best_shown):
            self.best_shown = answer.score
            # A first release that is no improvement shows the baseline's score.
            is_own = answer.improved or answer.previous not in (None, answer.score)
            self.best_prediction = answer.prediction if is_own else self.rows.baseline
        true = self.rows.true_score(answer.prediction)
        self.best_true = true if self._better(true, self.best_true) else self.best_true
        self.error = max(self.error, abs(self.best_true - self.best_shown))

    def _better(self, score: float, other: float) -> bool:
        return bool(np.isnan(other)) or is_better(score, other, self.rows.metric)

    @property
    def best_hidden(self) -> float:
        """The hidden score of the submission whose score is the best shown."""
        if self.best_prediction is None:
            return float("nan")
        return self.rows.hidden_score(self.best_prediction)

    @property
    def bias(self) -> float:
        """By how much the best released score overstates that submission."""
        sign = 1 if self.rows.metric.greater_is_better else -1
        return sign * (self.best_shown - self.best_hidden)
