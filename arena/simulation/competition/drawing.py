"""Draws predictions of teams of a given quality from what the organiser knows, without training.

A prediction is a mixture: ``(1 - w)`` times the signal of a row plus w times noise. The signal is
the log-odds of the row's label probability where that is known; otherwise it is drawn around the
label, so that the best possible team is right on about nine rows of ten. Most of the noise is
shared by all teams, because real teams fail on the same rows; the rest is that of one submission.
Which w has which score is measured on the rows themselves, so a team can be placed anywhere between
the best prediction and pure noise, on the public and on the private rows separately. The scores of
a past board contain the errors of its own test rows; by this measurement the errors of the
simulation's rows are not added to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from arena.errors import InputError
from arena.evaluation.binding import bind
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.interfaces import Metric
from arena.scoring.splits import rows_of
from arena.simulation.ranks.submission import Shape, shape_for
from arena.types import FloatArray, PredictionKind, Solution

_STEPS = 401
_BLOCK = 32
_GOOD, _PURE_NOISE = 0.3, 0.95
"""Up to the first w predictions are good, and from the second on they count as pure noise."""
_BEST_W = 0.05
_OWN_NOISE = 0.002
"""Share of the variance of the noise that is one submission's own."""
_SIGNAL = 1.3
"""Distance of the signal of a label from that of another, in standard deviations of its noise."""
_LEAST_CHANCE = 0.005


@dataclass(frozen=True, slots=True, eq=False)
class SplitScores:
    """The public or the private rows, with the score of each w on them."""

    rows: npt.NDArray[np.bool_]
    losses: FloatArray
    """``(_STEPS,)`` differences from the best score, ascending; those of pure noise are about 1."""
    w: FloatArray
    """Of each of these."""

    def w_of(self, losses: FloatArray) -> FloatArray:
        """Return the w whose differences from the best score are nearest to these."""
        after = np.searchsorted(self.losses, losses).clip(1, _STEPS - 1)
        is_nearer = losses - self.losses[after - 1] <= self.losses[after] - losses
        return np.asarray(self.w[after - is_nearer])


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """Draws predictions for the rows of a competition."""

    shape: Shape
    signal: FloatArray
    """``(n,)``, or ``(n, n_classes)`` for more than two labels; standard deviation 1."""
    shared: FloatArray
    """Noise that all teams share, in the shape of the signal."""
    scale: tuple[float, float]
    """Mean and standard deviation of numbers to predict, or of the log-odds."""
    parts: tuple[SplitScores, ...]
    reach: float
    """The gap at which a prediction is pure noise; larger ones are drawn like it. From 1."""

    def predictions(
        self, public: FloatArray, private: FloatArray, seeds: Sequence[Sequence[int]]
    ) -> npt.NDArray[Any]:
        """Draw k submissions.

        Parameters
        ----------
        public, private
            ``(k,)`` gaps to the top on the public and on the private rows: 0 is the best team and 1
            the median one.
        seeds
            Of the noise of each submission: the same seed and gaps give the same predictions.

        Returns
        -------
        ``(k, n)`` or ``(k, n, n_columns)``.
        """
        w = np.ones((len(public), len(self.signal)))  # ignored rows stay pure noise
        for part, gaps in zip(self.parts, (private, public), strict=False):
            w[:, part.rows] = part.w_of(gaps / self.reach)[:, np.newaxis]
        if len(self.parts) == 1:
            w[:] = w[:, self.parts[0].rows][:, :1]
        return np.stack(
            [
                self._one(weights_of_team, seed)
                for weights_of_team, seed in zip(w, seeds, strict=True)
            ]
        )

    def _one(self, w: FloatArray, seed: Sequence[int] | None) -> npt.NDArray[Any]:
        """Draw one submission; without a seed without noise of its own."""
        noise = np.sqrt(1 - _OWN_NOISE) * self.shared
        if seed is not None:
            own_noise = np.random.default_rng(seed).standard_normal(
                self.signal.shape, dtype=np.float32
            )
            noise += np.sqrt(_OWN_NOISE) * own_noise
        if self.signal.ndim == 2:
            w = w[:, np.newaxis]
        mean, deviation = self.scale
        mixed = mean + deviation * (self.signal + w * (noise - self.signal))
        if self.signal.ndim == 2:
            return self.shape.submission(special.softmax(mixed, axis=1))
        if self.shape.kind is PredictionKind.VALUE:
            return self.shape.submission(mixed)
        if self.shape.kind is PredictionKind.LABEL:
            return np.asarray(mixed >= 0, dtype=np.intp)
        return self.shape.submission(special.expit(mixed))


def open_drawing(
    metric: Metric, solution: Solution, reach: float, rng: np.random.Generator
) -> Drawing:
    """Measure the score of every w on the rows of a competition.

    Parameters
    ----------
    reach
        See :attr:`Drawing.reach`.
    rng
        Draws the shared noise, and the signal where label probabilities are not known.

    Raises
    ------
    InputError
        If better predictions have no better score by this metric.
    """
    classes = solution.targets[0].classes
    n_classes = None if classes is None else len(classes)
    shape = shape_for(metric, n_classes)
    signal, scale = signal_of_rows(solution, n_classes, rng)
    shared = rng.standard_normal(signal.shape)
    drawing = Drawing(shape, signal, shared=shared, scale=scale, parts=(), reach=reach)
    sign = 1 if metric.greater_is_better else -1
    parts = []
    for split in ("private", "public"):
        rows = rows_of(solution, split)
        if not rows.any():
            continue
        bound = bind(metric, solution, rows)
        blocks = [
            np.stack([drawing._one(np.full(solution.n_rows, w), None)[rows] for w in some])
            for some in np.array_split(_grid(), -(-_STEPS // _BLOCK))
        ]
        scores = sign * np.concatenate(
            [full_scores(bound, solution.truth[rows], ArrayPredictions(block)) for block in blocks]
        )
        best, worst = scores.max(), scores[_grid() >= _PURE_NOISE].mean()
        if not np.isfinite(scores).all() or scores[_grid() <= _GOOD].mean() <= worst:
            raise InputError(
                f"Predictions cannot be drawn for {metric.name}: on the {split} rows, predictions "
                f"with less noise have no better score. Choose another metric, or let the teams "
                f"train models."
            )
        losses = np.maximum((best - scores) / (best - worst), 0.0)
        order = np.argsort(losses, kind="stable")
        parts.append(SplitScores(rows, losses[order], _grid()[order]))
    return Drawing(shape, signal, shared=shared, scale=scale, parts=tuple(parts), reach=reach)


def _grid() -> FloatArray:
    return np.linspace(_BEST_W, 1.0, _STEPS)


def signal_of_rows(
    solution: Solution, n_classes: int | None, rng: np.random.Generator
) -> tuple[FloatArray, tuple[float, float]]:
    """Return the signal of every row, and mean and standard deviation of what it stands for."""
    truth = solution.truth
    if n_classes is None:
        values = np.asarray(truth, dtype=np.float64)
        deviation = float(values.std()) or 1.0
        return (values - values.mean()) / deviation, (float(values.mean()), deviation)
    if solution.soft_labels is not None:
        chances = np.clip(solution.soft_labels, _LEAST_CHANCE, 1 - _LEAST_CHANCE)
        odds = special.logit(chances) if chances.ndim == 1 else np.log(chances)
    else:
        codes = truth.astype(np.intp)
        if n_classes == 2:
            odds = 2 * _SIGNAL * (_SIGNAL * (2 * codes - 1) + rng.standard_normal(len(codes)))
        else:
            odds = _SIGNAL * 2 * np.eye(n_classes)[codes]
            odds = 2 * (odds + rng.standard_normal(odds.shape))
    mean, deviation = float(odds.mean()), float(odds.std()) or 1.0
    return (odds - mean) / deviation, (mean, deviation)
