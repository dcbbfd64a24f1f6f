"""Intervals of medians: order statistics, which hold for every distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri, stdtrit

from arena.evaluation.sampling_units import SamplingUnits, block_size
from arena.evaluation.score_errors import Ends, ScoreErrors
from arena.evaluation.unit_means import range_of
from arena.interfaces import Study
from arena.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OrderStatistics(ScoreErrors):
    """Medians of the values of cases."""

    ordered: FloatArray
    """``(m, n)`` values in ascending order."""
    shares: FloatArray
    """``(m,)`` numbers of independent cases with the same variance of the share of values below the
    median; n without clusters."""

    def ends(self, below: FloatArray, above: FloatArray) -> Ends:
        """Return order statistics; with clusters those of Woodruff (1952).

        Where there are too few cases for an end, it is that of the range.
        """
        m, n = self.ordered.shape
        positions, (lowest, highest) = np.arange(m), self.score_range
        low, high = self._ranks(below), self._ranks(above)
        return (
            np.where(low == 0, lowest, self.ordered[positions, np.maximum(low, 1) - 1]),
            np.where(high == 0, highest, self.ordered[positions, n - np.maximum(high, 1)]),
        )

    def _ranks(self, tail: FloatArray) -> IntArray:
        """Return ``(m,)`` ranks of the ends, counted from that end; 0: there is none."""
        n = self.ordered.shape[1]
        if (self.shares == n).all():  # P(at most rank - 1 values below the median) <= tail
            from scipy.stats import binom  # half a second

            return np.asarray(binom.ppf(tail, n, 0.5).astype(np.intp))
        half = self.shares / 2
        student = -stdtrit(self.degrees_of_freedom, tail)
        half *= np.minimum(np.square(ndtri(tail) / student), 1.0)
        return np.asarray(np.floor(n * betaincinv(half, half + 1, tail)).astype(np.intp))


def errors_of_medians(study: Study, sampling: SamplingUnits) -> OrderStatistics:
    """Return the uncertainty of the medians of a study: its predictions are the values."""
    n, m = len(study.truth), len(study.scores)
    blocks = (block for _, block in study.predictions.blocks(block_size(study.truth.size)))
    values = np.concatenate([np.asarray(block, dtype=np.float64) for block in blocks])
    shares, degrees = np.full(m, float(n)), np.full(m, max(n - 1.0, 1.0))
    if sampling.clusters is not None:
        below = np.where(values < study.scores[:, np.newaxis], 1.0, 0.0)
        below += 0.5 * (values == study.scores[:, np.newaxis])
        shifts = sampling.moved(sampling.means(below))[1]
        variance = np.maximum(np.square(sampling.standard_errors(shifts)), 0.25 / n)
        shares, degrees = 0.25 / variance, sampling.degrees_of_freedom(shifts)
    few = bool((shares < 6).any() and not np.isfinite(range_of(study.metric)).all())
    return OrderStatistics(
        scores=study.scores,
        score_range=range_of(study.metric),
        n_units=sampling.n_units,
        standard_errors=np.nanstd(study.resampled, axis=1) if study.resampled.size else shares,
        degrees_of_freedom=degrees,
        assumption=f"Score intervals assume only independent {study.words.rows} (order statistic).",
        reasons=tuple(
            f"There are too few {study.words.rows} for an interval of a median." if few else None
            for _ in range(m)
        ),
        ordered=np.sort(values, axis=1),
        shares=shares,
    )
