"""From the predictions of a board to its dependence and the estimate of its best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from arena.best_score_interval import best_score_interval
from arena.errors import UsageError
from arena.interfaces import HasRowValues, Study, traits_of
from arena.types import FloatArray
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.estimate import Method, SotaEstimate, Target, Theta, estimate_sota
from arena_sota.predictions import (
    Dependence,
    estimate_auc_dependence,
    estimate_dependence,
)

__all__ = ["BoardMaximum", "best_of_study"]

_BLOCK = 64
_MOST_CORRELATED = 0.97
_PROBES = 3
_MOST_SCORES_DRAWN = 2e7


@dataclass(frozen=True, slots=True, eq=False)
class BoardMaximum:
    """What a board's predictions tell about its best score."""

    model: Literal["accuracy", "roc_auc"]
    dependence: Dependence
    estimate: SotaEstimate
    rho0: float
    """The correlation that the estimate was made with."""
    n_rows: int
    interval: tuple[float, float]
    """For the best true score, from the rows alone and without a model of the teams."""


def best_of_study(
    study: Study,
    rng: np.random.Generator,
    *,
    method: Method = "shrink",
    target: Target = "mean",
    theta: Theta = "bootstrap",
    rho0: float | None = None,
) -> BoardMaximum | None:
    """Return the estimate with the dependence that the predictions show; None: no model fits.

    A metric that counts right rows is an accuracy (or an error rate, which is turned around), and
    one that equals the area under the ROC curve on this board is an AUC. Near-copies count once,
    with the best score of each cluster.

    Raises
    ------
    UsageError
        If fewer than two clusters are better than guessing.
    """
    correct = right_rows(study)
    if correct is not None:
        accuracy = correct.mean(axis=1)
        dependence = estimate_dependence(correct, level=study.level, groups=study.clusters)
        used = _usable(dependence.rho0) if rho0 is None else rho0
        estimate = estimate_sota(
            _best_of_clusters(accuracy, dependence),
            len(study.truth),
            max(len(study.classes or ()), 2),
            rho0=used,
            method=method,
            target=target,
            theta=theta,
            level=study.level,
        )
        return _as_board(study, "accuracy", dependence, estimate, used)
    scores = _ranked_scores(study)
    if scores is None:
        return None
    positive = study.truth == 1
    dependence = estimate_auc_dependence(positive, scores, level=study.level)
    used = _usable(dependence.rho_pair) if rho0 is None else rho0**2
    estimate = estimate_auc_sota(
        _best_of_clusters(study.scores, dependence),
        int(positive.sum()),
        int((~positive).sum()),
        rng,
        rho=used,
        target=target,
        level=study.level,
        repetitions=_repetitions(dependence.n_clusters, positive),
    )
    return _as_board(study, "roc_auc", dependence, estimate, float(np.sqrt(used)))


def _as_board(
    study: Study,
    model: Literal["accuracy", "roc_auc"],
    dependence: Dependence,
    estimate: SotaEstimate,
    rho0: float,
) -> BoardMaximum:
    return BoardMaximum(
        model, dependence, estimate, rho0, len(study.truth), interval_of_best(study)
    )


def _repetitions(clusters: int, positive: npt.NDArray[np.bool_]) -> int:
    """Return as many drawings as a person will wait for at the end of a competition."""
    rare = min(int(positive.sum()), int((~positive).sum()), 512)
    return int(np.clip(_MOST_SCORES_DRAWN / (clusters * rare), 40, 200))


def interval_of_best(study: Study) -> tuple[float, float]:
    """Return the interval for the best true score, as it stands on the private board."""
    traits = traits_of(study.metric)
    width = traits.score_range[1] - traits.score_range[0]
    low, high = best_score_interval(
        study.scores,
        study.resampled,
        greater_is_better=study.metric.greater_is_better,
        level=study.level,
        least_deviation=width / len(study.truth) if np.isfinite(width) else 0.0,
    )
    ends = np.clip([low, high], *traits.score_range)
    return float(ends[0]), float(ends[1])


def _usable(rho: float) -> float:
    """Return a correlation that the model can hold: NaN, of a single cluster, is none."""
    return float(np.clip(rho, 0.0, _MOST_CORRELATED)) if np.isfinite(rho) else 0.0


def _best_of_clusters(scores: FloatArray, dependence: Dependence) -> FloatArray:
    best = np.full(dependence.n_clusters, -np.inf)
    np.maximum.at(best, dependence.clusters, scores)
    return best


def right_rows(study: Study) -> npt.NDArray[np.bool_] | None:
    """Return ``(m, n)`` which rows are right, or None if the metric does not count them."""
    metric = study.metric
    if not isinstance(metric, HasRowValues) or study.truth.ndim != 1:
        return None
    right = np.empty((len(study.scores), len(study.truth)), dtype=np.bool_)
    for start, block in study.predictions.blocks(_BLOCK):
        values = np.asarray(metric.row_values(study.truth, block))
        if values.shape != (len(block), len(study.truth)) or not np.isin(values, (0.0, 1.0)).all():
            return None
        right[start : start + len(block)] = (values == 1) == metric.greater_is_better
    accuracy = right.mean(axis=1)
    score = accuracy if metric.greater_is_better else 1 - accuracy
    return right if np.allclose(score, study.scores, rtol=0, atol=1e-9) else None


def _ranked_scores(study: Study) -> FloatArray | None:
    """Return ``(m, n)`` predictions if the metric is the area under their ROC curve, else None."""
    two = study.truth.ndim == 1 and study.classes is not None and len(study.classes) == 2
    if not two or not study.metric.greater_is_better:
        return None
    positive = study.truth == 1
    if min(positive.sum(), (~positive).sum()) < 2:
        return None
    blocks = []
    for start, block in study.predictions.blocks(_BLOCK):
        if block.ndim != 2:
            return None
        probes = block[:_PROBES].astype(np.float64)
        areas = _areas(positive, probes)
        if not np.allclose(areas, study.scores[start : start + len(probes)], rtol=0, atol=1e-9):
            return None
        blocks.append(block.astype(np.float64))
    return np.concatenate(blocks)


def _areas(positive: npt.NDArray[np.bool_], scores: FloatArray) -> FloatArray:
    n_positive = int(positive.sum())
    ranks = stats.rankdata(scores, axis=1)[:, positive].sum(axis=1)
    n_negative = len(positive) - n_positive
    return np.asarray((ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative))


def refuse_without_model(metric: str) -> UsageError:
    """Return the error for a metric that no model of luck fits."""
    return UsageError(
        f"How much of a best score is luck can be estimated for metrics that count right rows and "
        f"for the area under the ROC curve of two classes, not for {metric}. The private board "
        f"corrects the best score for any metric."
    )
