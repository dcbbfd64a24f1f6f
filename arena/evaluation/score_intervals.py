"""Intervals of single scores, each by the procedure that suits what the score is.

========================================== ==================================================
score                                      procedure
========================================== ==================================================
mean of rows in a known range, or a        bounds for every distribution on that range
function of it                             (:mod:`~arena.evaluation.mean_bounds`; Gaffke
                                           2005); of a share those of Clopper and Pearson
mean of losses without an upper bound      the same, up to the mean excess of the tail
                                           (:mod:`~arena.evaluation.unit_means`; Hill 1975)
median of cases                            :mod:`~arena.evaluation.order_statistics`
ROC AUC, F1 and others in [a, b]           Student's t and the ends of a proportion
                                           (:mod:`~arena.evaluation.statistic_errors`; Korn
                                           and Graubard 1998), from influence values
R² and others without two bounds           the widest of the bounds of a loss and of
                                           Student's t on a logarithmic scale
metric that can only be called as a whole  the same two, of groups of rows (a jackknife;
                                           :mod:`~arena.evaluation.group_jackknife`; Kott
                                           2001), or Student's t from resamples where it does
                                           not hold
others, and more than 6e7 predictions      Student's t, from resamples
========================================== ==================================================

:func:`score_errors` chooses, and the result says what it assumes. The interval of a submission does
not depend on the other submissions.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
from scipy.special import ndtr, ndtri

from arena.evaluation.case_metrics import MedianOfCases
from arena.evaluation.clusters import fewest_units
from arena.evaluation.combined_metric import tasks_of
from arena.evaluation.levels import check_level
from arena.evaluation.order_statistics import errors_of_medians
from arena.evaluation.row_weights import row_weights_of
from arena.evaluation.sampling_units import SamplingUnits
from arena.evaluation.score_errors import Ends, ScoreErrors, Widest
from arena.evaluation.statistic_errors import (
    errors_from_resamples,
    errors_of_groups,
    errors_of_statistics,
    information,
)
from arena.evaluation.unit_means import (
    UnitMeans,
    errors_from_groups,
    errors_from_influence,
    errors_from_rows,
    errors_of_means,
    errors_of_tasks,
    range_of,
)
from arena.interfaces import GroupInfluence, Study
from arena.types import FloatArray

__all__ = [
    "ScoreErrors",
    "errors_from_resamples",
    "errors_of_means",
    "interval_ends",
    "own_intervals",
    "range_of",
    "score_errors",
    "signed_interval_ends",
]

MOST_VALUES = 6e7
"""The most predictions of all submissions of which values by row are computed: seconds of time."""
_FEWEST_IN_TASK = 30
"""In a task with fewer units, one rare error would move the score more than the interval allows."""


def score_errors(study: Study) -> ScoreErrors:
    """Return the uncertainty of the scores of a study, by the first procedure that suits them.

    Row or influence values are read in blocks if the metric has them and ``m * n <= 6e7``;
    otherwise the joint resamples are used, which contain less information about the tails. The
    intervals of a combination of tasks are withheld if a task has fewer than 30 rows, or groups.
    """
    errors = _errors_by_procedure(study)
    tasks = tasks_of(study.metric)
    if tasks is None:
        return errors
    fewest = fewest_units(tasks, study.clusters)
    if fewest > _FEWEST_IN_TASK - 1e-9:
        return errors
    reason = (
        f"A task has only {fewest:.3g} {study.words.rows} or groups of equal size, in which an "
        "error can be too rare to be seen."
    )
    return replace(errors, reasons=(reason,) * len(errors.reasons))


def _errors_by_procedure(study: Study) -> ScoreErrors:
    if study.influence is not None:
        return _errors_of_black_box(study, study.influence)
    weights = row_weights_of(study.metric)
    sampling = SamplingUnits.of(len(study.truth), study.clusters, weights)
    if isinstance(study.metric, MedianOfCases) and weights is None:
        return errors_of_medians(study, sampling)
    errors: ScoreErrors | None = None
    if len(study.scores) * len(study.truth) <= MOST_VALUES:
        errors = (
            errors_from_rows(study, sampling)
            or errors_of_tasks(study, sampling)
            or errors_of_statistics(study, sampling)
        )
        if errors is not None and not (
            isinstance(errors, UnitMeans) or np.isfinite(errors.score_range).all()
        ):
            errors = _widest(errors, errors_from_influence(study, sampling))
    if errors is not None:
        return errors
    limit_units, most_units = information(study)
    return errors_from_resamples(
        study.scores,
        study.resampled,
        sampling.n_units,
        score_range=range_of(study.metric),
        limit_units=limit_units,
        most_units=most_units,
        most_degrees=sampling.most_degrees,
        words=study.words,
    )


def _errors_of_black_box(study: Study, influence: GroupInfluence) -> ScoreErrors:
    errors = errors_of_groups(study, influence)
    if np.isfinite(range_of(study.metric)).all():
        return errors
    sampling = SamplingUnits.of(len(study.truth), influence.groups)
    means = errors_from_groups(study, sampling, influence)
    return means if np.isfinite(means.score_range).all() else _widest(errors, means)


def _widest(errors: ScoreErrors, other: ScoreErrors | None) -> ScoreErrors:
    if other is None:
        return errors
    shared = {field.name: getattr(errors, field.name) for field in fields(ScoreErrors)}
    shared["assumption"] = f"The wider of two. {errors.assumption} {other.assumption}"
    reasons = zip(errors.reasons, other.reasons, strict=True)
    shared["reasons"] = tuple(first or second for first, second in reasons)
    return Widest(**shared, parts=(errors, other))


def interval_ends(
    errors: ScoreErrors, critical: float | FloatArray, upper: float | FloatArray | None = None
) -> Ends:
    """Return the ``(m,)`` ends of intervals at normal critical values, in natural sign.

    The probability beyond each end is that of a normal variable beyond the critical value, or
    beyond ``upper`` for the upper end. The ends lie within the range, and the score between them.

    Examples
    --------
    Nine of ten rows correct, at 95%, by Clopper and Pearson:

    >>> right = errors_of_means(np.array([[1.0] * 9 + [0.0]]), (0.0, 1.0))
    >>> [float(end.round(4)[0]) for end in interval_ends(right, 1.959964)]
    [0.555, 0.9975]
    """
    tails = (
        np.broadcast_to(ndtr(-np.asarray(value, dtype=np.float64)), errors.scores.shape)
        for value in (critical, critical if upper is None else upper)
    )
    low, high = errors.ends(*tails)
    x, (lowest, highest) = errors.scores, errors.score_range
    return (
        np.clip(np.minimum(low, x), lowest, highest),
        np.clip(np.maximum(high, x), lowest, highest),
    )


def signed_interval_ends(
    errors: ScoreErrors,
    critical: float | FloatArray,
    upper: float | FloatArray,
    *,
    greater_is_better: bool,
) -> Ends:
    """Return :func:`interval_ends` of the scores with a sign by which larger is better.

    >>> loss = errors_of_means(np.array([[1.0] * 9 + [0.0]]), (0.0, 1.0))
    >>> ends = signed_interval_ends(loss, 1.959964, 1.644854, greater_is_better=False)
    >>> [float(end.round(4)[0]) for end in ends]
    [-0.9975, -0.6058]
    """
    if greater_is_better:
        return interval_ends(errors, critical, upper)
    low, high = interval_ends(errors, upper, critical)
    return -high, -low


def own_intervals(errors: ScoreErrors, level: float) -> Ends:
    """Return the ``(m,)`` ends of each score's interval, not corrected for multiplicity.

    Both are NaN where :attr:`ScoreErrors.reasons` has one.

    Raises
    ------
    UsageError
        If the level is not between 0 and 1.

    Examples
    --------
    >>> right = errors_of_means(np.array([[1.0] * 9 + [0.0]]), (0.0, 1.0))
    >>> [float(end.round(4)[0]) for end in own_intervals(right, 0.95)]
    [0.555, 0.9975]
    """
    check_level(level)
    low, high = interval_ends(errors, float(ndtri((1 + level) / 2)))
    none = errors.is_withheld
    return np.where(none, np.nan, low), np.where(none, np.nan, high)
