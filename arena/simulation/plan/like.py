"""Drawn competitions whose teams differ, and submit, like those of past leaderboards.

A pilot of few submissions does not show the shape of the distribution of true scores, nor how often
teams submit; a past leaderboard does. It has another metric and other rows, so that the standard
deviation of the true scores stays the pilot's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from arena.errors import InputError
from arena.simulation.past.boards import PastBoard
from arena.simulation.past.teams import Defaults
from arena.simulation.plan.drawn import Population
from arena.types import FloatArray

_WORST = 0.1
"""The share of the teams that count as no worse than the best of them: failed submissions, which
would set the standard deviation."""
_DEFAULTS = Defaults()


@dataclass(frozen=True, slots=True, eq=False)
class PastPopulation(Population):
    """True scores between those of neighbouring teams of a past board, which are the centres."""

    past_entries: FloatArray | None = field(kw_only=True)
    """``(k,)`` submissions of these teams; None: not known."""

    @property
    def outside(self) -> float:
        """The share of true scores that lie outside the range."""
        low, high = self.bounds
        return float(((self.centres < low) | (self.centres > high)).mean())

    def true_scores(self, uniform: FloatArray, normal: FloatArray) -> FloatArray:  # noqa: ARG002
        """Return true scores, made from uniform random numbers."""
        last = len(self.centres) - 1
        return np.asarray(np.interp(last * uniform, np.arange(last + 1), self.centres))

    def entries(self, uniform: FloatArray, normal: FloatArray, *, allowed: int) -> FloatArray:
        """Return the submissions of the teams with these true scores, as many as are allowed."""
        if self.past_entries is None:
            logarithm = np.log(_DEFAULTS.median_entries) + _DEFAULTS.entries_spread * normal
            submitted = np.maximum(1, np.round(np.exp(logarithm)))
        else:
            nearest = np.round((len(self.past_entries) - 1) * uniform).astype(np.intp)
            submitted = self.past_entries[nearest]
        return np.asarray(np.minimum(submitted, allowed))


def populations_like(
    boards: Sequence[PastBoard],
    shapes: Sequence[FloatArray],
    populations: tuple[Sequence[Population], Sequence[Sequence[Population]]],
) -> tuple[list[Population], list[list[Population]]]:
    """Return populations with the standard deviations of a pilot and the shapes of past boards.

    Parameters
    ----------
    shapes
        As :func:`shape_of` returns them, of each board.
    populations
        As :func:`~arena.simulation.plan.drawn.populations_of` returns them with these shapes.

    Returns
    -------
    The same two, with each board at the first place; at the second, of one kind, the boards take
    turns.
    """
    points, (normals, *_) = populations
    drawn = [
        _population_like(boards[number % len(boards)], shapes[number % len(boards)], normal)
        for number, normal in enumerate(normals)
    ]
    pairs = zip(boards, shapes, strict=True)
    return [_population_like(board, shape, points[0]) for board, shape in pairs], [drawn]


def shape_of(board: PastBoard) -> FloatArray:
    """Return ``(n,)`` scores, the worst first, with mean 0 and standard deviation 1.

    Raises
    ------
    InputError
        If nearly all teams have the same score.
    """
    scores = board.private[::-1]
    scores = np.maximum(scores, np.quantile(scores, _WORST))
    spread = scores.std()
    if spread == 0:
        raise InputError(
            f"Nearly all teams of {board.name} have the same score: use another board for --like."
        )
    return np.asarray((scores - scores.mean()) / spread)


def _population_like(board: PastBoard, shape: FloatArray, normal: Population) -> Population:
    return PastPopulation(
        centres=normal.centres[0] + normal.spread * shape,
        weights=np.full(len(shape), 1 / len(shape)),
        width=0.0,
        error=normal.error,
        bounds=normal.bounds,
        past_entries=None if board.entries is None else board.entries[::-1],
    )
