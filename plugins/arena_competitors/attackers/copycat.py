"""A team that copies the public baseline, changes it a little, and keeps what scores better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Conduct, Feedback, Move, Participation, Player
from arena_competitors.attackers.guesses import is_better


@dataclass(frozen=True, slots=True)
class Copycat:
    """Submit the public baseline unchanged, then copies of it with some rows changed.

    A public notebook of another team with a better released score replaces the copy.

    Models teams that start from a public notebook: they have no model of their own and keep every
    change with a better released score, even if it was luck. Needs a baseline whose predictions are
    public. Holds three submissions.

    Parameters
    ----------
    share
        The share of the rows changed in each submission, in (0, 1].

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
            raise UsageError(f"copycat: share must be above 0 and at most 1, not {self.share!r}.")

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError if there is no public baseline."""
        if participation.baseline is None:
            raise UsageError("copycat needs a public baseline, and there is none.")
        return _CopycatPlayer(self, participation, rng)


def disturbed(
    prediction: npt.NDArray[Any], share: float, rng: np.random.Generator
) -> npt.NDArray[Any]:
    """Return a copy in which a share of the rows is moved towards other rows.

    Numbers move half the way, so that probabilities stay valid; labels and texts are replaced.

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
        self._notebooks, self._read = participation.notebooks, 0

    def submit(self) -> Move:
        unchanged = self._best_score is None
        for notebook in self._notebooks[self._read :]:
            if (
                notebook.score is not None
                and self._best_score is not None
                and is_better(notebook.score, self._best_score, self._metric)
            ):
                self._best, self._best_score = np.asarray(notebook.prediction), notebook.score
                unchanged = True
        self._read = len(self._notebooks)
        self._sent = self._best if unchanged else disturbed(self._best, self._share, self._rng)
        return Move(self._sent)

    def receive(self, feedback: Feedback) -> None:
        if self._best_score is None or is_better(feedback.score, self._best_score, self._metric):
            self._best, self._best_score = self._sent, feedback.score

    def finish(self) -> Move:
        return Move(self._best)
