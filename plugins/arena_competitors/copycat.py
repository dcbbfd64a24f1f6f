"""A team that takes what is public, changes a little of it, and keeps what the board likes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Answer, Conduct, Move, Participation, Player
from arena_competitors.guesses import is_better

__all__ = ["Copycat", "disturbed"]


@dataclass(frozen=True, slots=True)
class Copycat:
    """Send the public baseline as it is, then copies of it with some rows changed.

    What many teams do with a public notebook: no model of their own, and every change that the
    board likes is kept, whether it was luck or not. Needs a baseline whose predictions are public.
    Holds three submissions.

    Parameters
    ----------
    share
        The share of the rows that is changed each time, in (0, 1].

    Raises
    ------
    UsageError
        If the share is out of its range.
    """

    share: float = 0.01
    name: str = "copycat"
    conduct: ClassVar[Conduct] = "copies"

    def __post_init__(self) -> None:
        if not isinstance(self.share, int | float) or not 0 < self.share <= 1:
            raise UsageError(f"copycat: share is above 0 and at most 1, not {self.share!r}.")

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError where no baseline is public."""
        if participation.baseline is None:
            raise UsageError("copycat copies a public baseline, and there is none.")
        return _CopycatPlayer(self, participation, rng)


def disturbed(
    prediction: npt.NDArray[Any], share: float, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Return a copy in which a share of the rows moved towards other rows.

    Numbers go half the way, so that probabilities stay probabilities; labels and texts go all of
    it.

    >>> moved = disturbed(np.array([0.2, 0.4, 0.6]), 0.3, np.random.default_rng(0))
    >>> int((moved != [0.2, 0.4, 0.6]).sum()) <= 1, bool(0.2 <= moved.min() <= moved.max() <= 0.6)
    (True, True)
    """
    n_rows = len(prediction)
    rows = rng.choice(n_rows, max(1, round(share * n_rows)), replace=False)
    towards = prediction[rng.integers(0, n_rows, len(rows))]
    changed = prediction.copy()
    is_number = np.issubdtype(prediction.dtype, np.floating)
    changed[rows] = (changed[rows] + towards) / 2 if is_number else towards
    return changed


class _CopycatPlayer:
    def __init__(
        self, copycat: Copycat, participation: Participation, rng: np.random.Generator
    ) -> None:
        self._share, self._metric, self._rng = copycat.share, participation.metric, rng
        self._best: npt.NDArray[Any] = np.asarray(participation.baseline)
        self._best_score: float | None = None
        self._sent = self._best

    def submit(self) -> Move:
        first = self._best_score is None
        self._sent = self._best if first else disturbed(self._best, self._share, self._rng)
        return Move(self._sent)

    def hear(self, answer: Answer) -> None:
        if self._best_score is None or is_better(answer.score, self._best_score, self._metric):
            self._best, self._best_score = self._sent, answer.score

    def finish(self) -> Move:
        return Move(self._best)
