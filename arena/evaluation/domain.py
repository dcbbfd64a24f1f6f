"""Checks that a metric is defined on the rows of each split, for any predictions.

A score that is finite for one truth and undefined for another reveals something about the labels.
Therefore predictions are limited to a range that does not depend on the truth
(:attr:`~arena.types.MetricTraits.prediction_range`), and a solution is rejected, before any
submission arrives, if the metric is undefined on one of its splits: a constant target for R
squared, a missing class for ROC AUC.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.binding import bind
from arena.evaluation.black_box import UNDEFINED
from arena.interfaces import Metric, traits_of
from arena.types import PredictionKind, Solution, Usage
from arena.utils.text import printable

_NAMES = {Usage.PUBLIC: "public", Usage.PRIVATE: "private"}
_LARGEST_PROBE = 1e100
_NAMED_TARGETS = 5


def check_truth(metric: Metric, solution: Solution) -> None:
    """Check that the metric is defined on the public and on the private rows.

    Parameters
    ----------
    metric
        The mean over the targets, if there are several. Metrics of texts and metrics with a time
        limit (your own code) are not checked.

    Raises
    ------
    MetricError
        If the score of a probe on the public or on the private rows is not finite.
    """
    if traits_of(metric).time_limit is not None or solution.kind is PredictionKind.TEXT:
        return
    n_classes = max(len(target.classes or ()) for target in solution.targets)
    for usage, name in _NAMES.items():
        rows = solution.usage == np.uint8(usage)
        if rows.any():
            bound = bind(metric, solution, rows)
            if not is_defined_on(bound, solution.truth[rows], solution.kind, n_classes):
                constant = constant_targets(solution, rows)
                what = f"{constant} has one value" if constant else "their target is constant"
                raise MetricError(
                    f"{metric.name} is undefined on the {name} rows of this solution: {what}, or "
                    "lacks a class that the metric needs. Choose another metric or another split."
                )


def constant_targets(solution: Solution, rows: npt.NDArray[np.bool_]) -> str:
    """Return the names of the targets with one value on the rows; empty: there is none."""
    truth = solution.truth[rows]
    truth = truth if truth.ndim > 1 else truth[:, np.newaxis]
    names = [target.name for target in solution.targets]
    constant = [
        name for name, column in zip(names, truth.T, strict=True) if (column == column[:1]).all()
    ]
    more = len(constant) - _NAMED_TARGETS
    some = ", ".join(repr(printable(name)) for name in constant[:_NAMED_TARGETS])
    return f"target {some}{f' and {more:,} more' if more > 0 else ''}" if constant else ""


def is_defined_on(
    metric: Metric, truth: npt.NDArray[Any], kind: PredictionKind, n_classes: int
) -> bool:
    """Return whether every probe has a finite score on these rows.

    A probe on which the metric raises another error is skipped: it reveals nothing about the truth,
    because such a submission gets the answer "could not be scored" for any labels.

    Parameters
    ----------
    metric
        Bound to the rows if it needs that.
    truth
        ``(n,)`` or ``(n, n_targets)``.
    n_classes
        0 for numeric targets.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> r2 = PluginManager().metrics.resolve("r2")
    >>> is_defined_on(r2, np.array([1.0, 2.0, 4.0]), PredictionKind.VALUE, 0)
    True
    >>> is_defined_on(r2, np.ones(3), PredictionKind.VALUE, 0)
    False
    """
    for probe in _probes(metric, truth, kind, n_classes):
        try:
            with np.errstate(all="ignore"):
                score = metric.score(truth, probe)
        except UNDEFINED:
            return False
        except (Exception, SystemExit):  # noqa: BLE001, S112 - a plugin may raise any error for unusual predictions
            continue
        if not np.isfinite(score):
            return False
    return True


def _probes(
    metric: Metric, truth: npt.NDArray[Any], kind: PredictionKind, n_classes: int
) -> Iterator[npt.NDArray[Any]]:
    """Yield predictions of the shape of a submission: the truth, noise, and extremes.

    Numeric probes are never constant, because a correlation is undefined for constant predictions
    with any truth.
    """
    rng = np.random.default_rng(0)
    low, high = np.clip(traits_of(metric).prediction_range, -_LARGEST_PROBE, _LARGEST_PROBE)
    if kind is PredictionKind.LABEL:
        yield truth
        for code in range(n_classes):
            yield np.full_like(truth, code)
    elif kind is PredictionKind.VALUE:
        yield np.clip(truth, low, high)
        yield np.clip(rng.normal(size=truth.shape), max(low, -9.0), min(high, 9.0))
        yield np.where(np.indices(truth.shape).sum(axis=0) % 2, low, high)
    else:
        shape = truth.shape if n_classes <= 2 else (*truth.shape, n_classes)
        noise = rng.random(shape)
        yield noise if n_classes <= 2 else noise / noise.sum(axis=-1, keepdims=True)
        if kind is PredictionKind.PROBABILITY or n_classes <= 2:
            yield np.zeros(shape)
            yield np.ones(shape)
