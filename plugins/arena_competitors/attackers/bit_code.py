"""Encodes row labels in one log loss, and decodes them from the released score.

A row that is given p = 1 / (1 + exp(a)) instead of 1/2 changes the sum of the losses by
log((1 + exp(-a)) / 2) if its label is 0, by a more than that if it is 1, and by nothing if it is
not among the public rows. With weights a_j that double (or, with hidden rows among them, more
than triple) every outcome of a batch has a sum of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arena.types import FloatArray

HIDDEN = -2
"""Read for a row that is not among the public ones."""


def _loss_of_zero(weight: float) -> float:
    """Return what label 0 adds to the sum of losses: log((1 + exp(-a)) / 2), at most 0."""
    return float(np.log1p(np.exp(-weight)) - np.log(2))


@dataclass(frozen=True, slots=True)
class BitCode:
    """The weights of one batch of rows, ascending, and how finely the sum of losses is known.

    Examples
    --------
    >>> code = BitCode.design(spacing=0.01, largest=30.0, all_public=True)
    >>> len(code.weights)
    12
    >>> total = sum(code.outcomes(j)[1 if j == 3 else 0][1] for j in range(12))
    >>> code.read(total + 0.002, n_rows=12)
    (0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)
    """

    weights: tuple[float, ...]
    spacing: float
    """The least difference of two outcomes; the sum must be known to a quarter of it."""
    all_public: bool

    @classmethod
    def design(cls, *, spacing: float, largest: float, all_public: bool) -> BitCode:
        """Return the longest code with these weights at most.

        Parameters
        ----------
        spacing
            Spacing of outcomes in the sum of losses: more than n times the score's rounding step.
        largest
            The largest weight that the metric's clip does not affect.
        all_public
            Whether every row of a submission is public.
        """
        weights: list[float] = []
        while True:
            weight = _next_weight(sum(weights) + spacing, all_public=all_public)
            if not weight <= largest:
                return cls(tuple(weights), spacing, all_public)
            weights.append(weight)

    def outcomes(self, position: int) -> tuple[tuple[int, float], ...]:
        """Return the possible outcomes of a row, and what each adds to the sum of losses."""
        zero = _loss_of_zero(self.weights[position])
        hypotheses = ((0, zero), (1, zero + self.weights[position]))
        return hypotheses if self.all_public else ((HIDDEN, 0.0), *hypotheses)

    def probabilities(self, n_rows: int) -> FloatArray:
        """Return ``(n_rows,)`` probabilities for a batch, at most as many as there are weights."""
        return np.asarray(1.0 / (1.0 + np.exp(self.weights[:n_rows])))

    def read(self, excess: float, n_rows: int) -> tuple[int, ...] | None:
        """Return the outcome of each row of a batch: 0, 1 or ``HIDDEN``; None if none fits.

        ``excess`` is the sum of the public losses less that of a submission of 1/2 everywhere.
        """
        read: list[int] = []
        lows, highs = self._sums_below(n_rows)
        slack = self.spacing / 4
        for position in reversed(range(n_rows)):
            low, high = lows[position] - slack, highs[position] + slack
            fitting = [
                (value, excess - effect)
                for value, effect in self.outcomes(position)
                if low <= excess - effect <= high
            ]
            if len(fitting) != 1:
                return None
            ((value, excess),) = fitting
            read.append(value)
        return tuple(reversed(read))

    def _sums_below(self, n_rows: int) -> tuple[Sequence[float], Sequence[float]]:
        """Return the least and the largest possible sum of the rows before each row."""
        effects = [[effect for _, effect in self.outcomes(j)] for j in range(n_rows)]
        lows = np.concatenate([[0.0], np.cumsum([min(effect) for effect in effects])])
        highs = np.concatenate([[0.0], np.cumsum([max(effect) for effect in effects])])
        return lows.tolist(), highs.tolist()


def _next_weight(needed: float, *, all_public: bool) -> float:
    """Return the least weight with the needed spacing of outcomes; infinity if there is none."""
    if all_public:
        return needed
    # Hidden and label 0 differ by log 2 - log(1 + exp(-a)), which never exceeds log 2.
    left = 2 * np.exp(-needed) - 1
    return float(-np.log(left)) if left > 0 else float("inf")
