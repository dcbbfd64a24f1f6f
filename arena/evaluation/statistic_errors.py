"""Intervals of scores with standard errors: from influence values, or from resamples only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri, stdtrit

from arena.evaluation.class_weights import class_weights
from arena.evaluation.clusters import effective_rows, fewest_units
from arena.evaluation.combined_metric import CombinedMetric, within_tasks
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.row_weights import row_weights_of
from arena.evaluation.sampling_units import SamplingUnits, block_size
from arena.evaluation.score_errors import (
    FEWEST_UNITS,
    Ends,
    ScoreErrors,
    too_few_units,
    unmoved,
)
from arena.evaluation.scores import score_under_weights
from arena.evaluation.unit_means import range_of, unit_influence
from arena.interfaces import GroupInfluence, Study
from arena.types import TEAMS, FloatArray, IntArray, Vocabulary
from arena.utils.text import plural

_NOISE = 1e-8
"""Influence values come from a numerical slope: a smaller relative spread is rounding error."""
_MOST_LEFT_OUT, _MOST_WEIGHTS = 200, 4e6
"""Up to so many units each is left out in turn; with more, influence values are as good."""
_FEW_IN_CLASS = 10
"""With fewer rows of a class, an error in it may be too rare to be seen: see class_weights."""
_ROWS_PER_POSITIVE = 2.5
"""A rank statistic of two classes carries the information of about two rows of the rarer class
(Hanley and McNeil 1982); a larger estimate is due to chance."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Statistics(ScoreErrors):
    """Scores with standard errors only.

    With a range [a, b] the spread is the standard error over ``sqrt((x - a) (b - x))``, as for a
    proportion of ``1 / spread^2`` rows; with one end over the distance from it, as for a mean of
    losses; and with none it is the standard error.
    """

    spread: FloatArray
    """``(m,)``; NaN where unknown."""
    limit_units: float
    """With a range [a, b]: the number n of independent rows in an upper bound of the variance. The
    variance of a mean of n values in [a, b] is at most ``(x - a) (b - x) / n``, and that of a
    ROC AUC at most this with the rows of the rarer class (van Dantzig 1951). ``inf``: no bound."""

    def ends(self, below: FloatArray, above: FloatArray) -> Ends:
        """Return ends with a t value for the normal one.

        With a range [a, b] they are those of Clopper and Pearson for ``1 / spread^2`` rows (Korn
        and Graubard 1998); with one end ``a + (x - a) exp(+-t spread)``; with none
        ``x +- t spread``.
        """
        low, high = self.score_range
        x = self.scores
        if not (np.isfinite(low) and np.isfinite(high)):
            down, up = (-stdtrit(self.degrees_of_freedom, t) * self.spread for t in (below, above))
            with np.errstate(over="ignore"):
                if np.isfinite(low):
                    return low + (x - low) * np.exp(-down), low + (x - low) * np.exp(up)
                if np.isfinite(high):
                    return high - (high - x) * np.exp(down), high - (high - x) * np.exp(-up)
            return x - down, x + up
        share = (x - low) / (high - low)
        units, units_above = self._units(below), self._units(above)
        right, wrong = share * units, (1 - share) * units
        least = np.where(right == 0, 0.0, betaincinv(right, wrong + 1, below))
        right, wrong = share * units_above, (1 - share) * units_above
        most = np.where(wrong == 0, 1.0, betaincinv(right + 1, wrong, 1 - above))
        return low + (high - low) * least, low + (high - low) * most

    def _units(self, tail: FloatArray) -> FloatArray:
        """Return ``(m,)`` rows of a proportion with the same quantile of its error."""
        student = -stdtrit(self.degrees_of_freedom, tail)
        limit = self.limit_units if np.isfinite(self.limit_units) else np.nan
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.square(-ndtri(tail) / (student * self.spread))
        # The bound of the variance needs no estimate and therefore no t.
        is_finite = np.isfinite(self.spread) | np.isfinite(limit)
        return np.where(is_finite, np.fmax(needed, limit), np.nan)


def errors_of_groups(study: Study, influence: GroupInfluence) -> ScoreErrors:
    """Return the uncertainty of scores from the influence of groups of rows."""
    sampling = SamplingUnits.of(len(study.truth), influence.groups)
    values = sampling.of_units(influence.sums)
    rows = study.words.rows
    limit_units, most_units = information(study)
    return errors_from_standard_errors(
        study.scores,
        sampling.standard_errors(values),
        degrees=sampling.degrees_of_freedom(values),
        n_units=sampling.n_units,
        score_range=range_of(study.metric),
        limit_units=limit_units,
        most_units=most_units,
        assumption=f"Score intervals assume a nearly normal score of independent {rows}, with the "
        f"variance of its jackknife over {plural(sampling.n_units, 'group')} of {rows} "
        "and Student's t "
        "(Kott 2001); errors too rare to be in the sample are not allowed for.",
        words=study.words,
    )


def errors_of_statistics(study: Study, sampling: SamplingUnits) -> ScoreErrors | None:
    """Return the uncertainty from influence values; None for a black box."""
    errors, degrees = [], []
    classes = _classes(study)
    strata = within_tasks(study.metric, classes)
    left_out = (
        classes is None
        and study.truth.dtype.kind == "f"
        and sampling.n_units <= _MOST_LEFT_OUT
        and bool(np.isfinite(range_of(study.metric)).all())
    )
    for start, block in study.predictions.blocks(block_size(study.truth.size)):
        values = unit_influence(study, sampling, block)
        if values is None:
            return None
        if left_out:
            scores = study.scores[start : start + len(block)]
            values = _jackknife_values(
                study, sampling, block=block, scores=scores, influence=values
            )
        errors.append(sampling.standard_errors(values))
        block_degrees = sampling.degrees_of_freedom(values)
        if strata is not None and sampling.clusters is None:
            block_degrees = np.minimum(
                block_degrees, _degrees_by_class(values, strata, sampling.weights)
            )
        degrees.append(np.maximum(block_degrees, 1.0))
    limit_units, most = information(study)
    variance = "the jackknife" if left_out else "its influence values"
    return errors_from_standard_errors(
        study.scores,
        np.concatenate(errors),
        degrees=np.concatenate(degrees),
        n_units=sampling.n_units,
        score_range=range_of(study.metric),
        limit_units=limit_units,
        most_units=most,
        assumption=f"Score intervals assume that the score varies like a share of independent "
        f"{study.words.rows}, with the variance of {variance} and "
        "Student's t (Korn and Graubard 1998).",
        words=study.words,
    )


def _jackknife_values(
    study: Study,
    sampling: SamplingUnits,
    block: npt.NDArray[Any],
    scores: FloatArray,
    influence: FloatArray,
) -> FloatArray:
    """Return ``(k, U)`` values whose spread is the jackknife's, which is rather too large.

    One unit can carry so much of a variance that the slope at the sample says little of what the
    score would be without it (Efron and Stein 1981). Influence values where this is undefined.
    """
    codes = np.arange(sampling.n) if sampling.clusters is None else sampling.clusters
    units = sampling.n_units
    if sampling.n * units > _MOST_WEIGHTS:
        return influence
    weights = (codes[:, np.newaxis] != np.arange(units)).astype(np.uint8)
    without = score_under_weights(study.metric, study.truth, ArrayPredictions(block), weights)
    values = (units - 1) * (scores[:, np.newaxis] - without)
    defined = np.isfinite(values).all(axis=1, keepdims=True)
    return np.where(defined, values - values.mean(axis=1, keepdims=True), influence)


def errors_from_standard_errors(
    scores: FloatArray,
    standard_errors: FloatArray,
    degrees: FloatArray,
    n_units: int,
    score_range: tuple[float, float],
    limit_units: float = np.inf,
    most_units: float = np.inf,
    assumption: str = "",
    words: Vocabulary = TEAMS,
) -> Statistics:
    """Return the uncertainty of ``(m,)`` scores with standard errors and degrees of freedom.

    The other arguments are those of :func:`errors_from_resamples`.
    """
    low, high = score_range
    bounded = bool(np.isfinite(low) and np.isfinite(high))
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.ones(len(scores))
        if bounded:
            room = np.sqrt((scores - low) * (high - scores))
        elif np.isfinite(low) or np.isfinite(high):
            room = np.abs(scores - (low if np.isfinite(low) else high))
        spread = standard_errors / room
        unit = np.abs(scores) if not np.isfinite(score_range).any() else 1.0
    spread = np.where(np.isfinite(spread) & (spread > _NOISE * unit), spread, np.nan)
    spread = np.maximum(spread, 1 / np.sqrt(most_units))
    is_finite = np.isfinite(spread) | (bounded and np.isfinite(limit_units))
    few = not bounded and degrees + 1 < FEWEST_UNITS
    reasons = tuple(
        unmoved(words)
        if not is_known
        else too_few_units(n_units, effective, words)
        if too_few
        else None
        for is_known, effective, too_few in zip(
            is_finite, degrees + 1, np.broadcast_to(few, is_finite.shape), strict=True
        )
    )
    return Statistics(
        scores=scores,
        score_range=score_range,
        n_units=n_units,
        standard_errors=standard_errors,
        degrees_of_freedom=degrees,
        assumption=assumption,
        reasons=reasons,
        spread=spread,
        limit_units=limit_units,
    )


def errors_from_resamples(
    scores: FloatArray,
    resampled: FloatArray,
    n_units: int,
    *,
    score_range: tuple[float, float] = (-np.inf, np.inf),
    limit_units: float = np.inf,
    most_units: float = np.inf,
    most_degrees: float = np.inf,
    words: Vocabulary = TEAMS,
) -> Statistics:
    """Return the uncertainty of scores, from ``(m, B)`` joint resamples of the rows.

    The excess kurtosis of a resampled mean is that of the rows divided by their number. Resamples
    in which a score is undefined are left out; with fewer than two others every spread is NaN.

    Parameters
    ----------
    scores
        ``(m,)`` in the metric's natural sign.
    resampled
        ``(m, B)``.
    n_units
        The number of rows, or of clusters.
    score_range
        The range of the metric.
    limit_units
        See :attr:`Statistics.limit_units`.
    most_units
        The number of rows of a proportion of which a score is known no better.
    most_degrees
        The degrees of freedom that the sizes of clusters leave.
    words
        The nouns of sentences.
    """
    defined = resampled[:, np.isfinite(resampled).all(axis=0)]
    resamples, m = defined.shape[1], len(scores)
    deviations, excess = np.full(m, np.nan), np.zeros(m)
    for j, defined_scores in enumerate(defined if resamples > 1 else ()):  # no second (m, B) array
        if defined_scores.min() == defined_scores.max():  # exactly 0, despite rounding
            deviations[j] = 0.0
            continue
        squared = np.square(defined_scores - defined_scores.mean())
        deviations[j] = np.sqrt(squared.sum() / (resamples - 1))
        # Less three standard errors of the kurtosis in a normal sample of size B.
        noise = 3 * np.sqrt(24 / resamples)
        excess[j] = np.square(squared).mean() / squared.mean() ** 2 - 3 - noise
    kurtosis = 3 + n_units * np.maximum(excess, 0.0)
    most = max(min(n_units, resamples) - 1, 1)  # the variance of few resamples varies, too
    degrees = np.minimum(most, 2 * n_units / (kurtosis - 1))
    return errors_from_standard_errors(
        scores,
        deviations * np.sqrt(n_units / max(n_units - 1, 1)),
        degrees=np.maximum(np.minimum(degrees, most_degrees), 1.0),
        n_units=n_units,
        score_range=score_range,
        limit_units=limit_units,
        most_units=most_units,
        assumption="Score intervals assume a nearly normal score, with the variance of its "
        "resamples and Student's t; errors too rare to be in the sample are not allowed for.",
        words=words,
    )


def _classes(study: Study) -> IntArray | None:
    """Return ``(n,)`` classes of which every one counts by itself in the score, or None."""
    truth = study.truth
    if truth.ndim > 1 or not np.issubdtype(truth.dtype, np.integer):
        return None
    return np.asarray(np.unique(truth, return_inverse=True)[1], dtype=np.intp)


def information(study: Study) -> tuple[float, float]:
    """Return an upper bound of the variance and a lower one, as numbers of rows of a proportion."""
    classes, score_range = _classes(study), range_of(study.metric)
    if classes is None or not np.isfinite(score_range).all():
        return np.inf, np.inf
    if isinstance(study.metric, CombinedMetric) and study.metric.by_task:
        return _limit_of_tasks(study.metric, classes, study.clusters), np.inf
    limit_units = fewest_units(classes, study.clusters, row_weights_of(study.metric))
    width = float(np.square(np.diff(score_range))[0])
    if classes.max() == 1:
        return limit_units, _ROWS_PER_POSITIVE * limit_units * width
    if limit_units < _FEW_IN_CLASS:
        changes = class_weights(study.metric, study.truth)
        if changes is not None and changes.any():
            return limit_units, width / float(np.square(changes).sum())
    return limit_units, np.inf


def _limit_of_tasks(metric: CombinedMetric, classes: IntArray, clusters: IntArray | None) -> float:
    """Return the limit of a weighted mean over tasks; no limit for another combination.

    With weights w and at least n rows of a class in a task, the variance is at most the sum of
    ``w^2 p (1 - p) / n``, and so at most ``max(w / n)`` times that of the mean of p (concavity).
    """
    if not metric.combination.is_mean or metric.tasks is None:
        return np.inf
    limits = []
    for code, weight in enumerate(metric.weights_of_tasks):
        rows = metric.tasks == code
        clusters_of_task = None if clusters is None else clusters[rows]
        limits.append(fewest_units(classes[rows], clusters_of_task) / weight)
    return float(min(limits))


def _degrees_by_class(
    values: FloatArray, classes: IntArray, weights: FloatArray | None
) -> FloatArray:
    """Return ``(k,)`` degrees of freedom of a sum of variances within classes (Satterthwaite).

    >>> values = np.array([[1.0, -1.0, 0.1, -0.1, 0.1, -0.1]])
    >>> _degrees_by_class(values, np.array([0, 0, 1, 1, 1, 1]), None).round(2).tolist()
    [1.04]
    """
    total, squares = np.zeros(len(values)), np.zeros(len(values))
    for code in range(int(classes.max()) + 1):
        rows = classes == code
        variance = np.square(values[:, rows]).sum(axis=1)
        sizes = np.ones(int(rows.sum())) if weights is None else weights[rows]
        units = effective_rows(sizes) if sizes.any() else 1.0
        total += variance
        squares += np.square(variance) / max(units - 1, 0.5)
    degrees = np.full(len(values), np.inf)
    return np.asarray(np.divide(np.square(total), squares, out=degrees, where=squares > 0))
