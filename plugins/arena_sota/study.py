"""The dependence of a leaderboard's predictions, and the estimate of its best score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.evaluation.ranks import doubled_mean_ranks
from arena.evaluation.score_intervals import score_errors
from arena.evaluation.winner_intervals import best_score_interval
from arena.interfaces import HasRowValues, Study
from arena.types import FloatArray
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.dependence_estimate import (
    ClassRanks,
    Dependence,
    auc_dependence,
    estimate_dependence,
)
from arena_sota.estimate import Method, SotaEstimate, Target, Theta, estimate_sota
from arena_sota.verdict import assumptions_of

_BLOCK = 64
_BLOCK_CELLS = 2**22
_MOST_CORRELATED = 0.97
_PROBES = 3
_MOST_SCORES_DRAWN = 2e7


@dataclass(frozen=True, slots=True, eq=False)
class BoardMaximum:
    """The dependence of a leaderboard's predictions, and the estimate of its best."""

    model: Literal["accuracy", "roc_auc"]
    dependence: Dependence
    estimate: SotaEstimate
    rho0: float
    """The correlation used for the estimate."""
    n_rows: int
    rho0_source: str
    """``predictions``: estimated from them; ``given``: by the caller."""
    assumptions: list[str]
    """What the estimate assumes, in sentences."""
    interval: tuple[float, float]
    """For the best true score, from the row bootstrap, without a model of the teams."""


def best_of_study(
    study: Study,
    rng: np.random.Generator,
    *,
    method: Method = "shrink",
    target: Target = "mean",
    theta: Theta = "bootstrap",
    rho0: float | None = None,
) -> BoardMaximum | None:
    """Return the estimate with the dependence of the predictions; None if no model fits.

    A metric that counts right rows is an accuracy (or an error rate, which is turned around), and
    one that equals the area under the ROC curve on this board is an AUC. Near-duplicates count
    once, with the best score of each cluster.

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
            n_scores=len(study.scores),
        )
        if study.clusters is not None:  # the rows are not independent
            estimate = replace(estimate, sota_interval=None)
        source = "predictions" if rho0 is None else "given"
        return _as_board(
            study,
            "accuracy",
            dependence=dependence,
            estimate=estimate,
            rho0=used,
            source=source,
            theta=theta,
        )
    ranks = _ranks(study)
    if ranks is None:
        return None
    positive = study.truth == 1
    dependence = auc_dependence(ranks, level=study.level)
    del ranks
    used = _usable(dependence.rho_pair) if rho0 is None else rho0**2
    estimate = estimate_auc_sota(
        _best_of_clusters(study.scores, dependence),
        int(positive.sum()),
        int((~positive).sum()),
        rng,
        rho=used,
        target=target,
        level=study.level,
        repetitions=number_of_simulations(dependence.n_clusters, positive),
    )
    source = "predictions" if rho0 is None else "given"
    return _as_board(
        study,
        "roc_auc",
        dependence=dependence,
        estimate=estimate,
        rho0=float(np.sqrt(used)),
        source=source,
        theta="fixed",
    )


def _as_board(
    study: Study,
    model: Literal["accuracy", "roc_auc"],
    dependence: Dependence,
    estimate: SotaEstimate,
    rho0: float,
    source: str,
    theta: Theta,
) -> BoardMaximum:
    assumed = assumptions_of(estimate.method, rho0, source, theta)
    return BoardMaximum(
        model=model,
        dependence=dependence,
        estimate=estimate,
        rho0=rho0,
        n_rows=len(study.truth),
        rho0_source=source,
        assumptions=assumed,
        interval=interval_of_best(study),
    )


def number_of_simulations(clusters: int, positive: npt.NDArray[np.bool_]) -> int:
    """Return a number of simulations that keeps ``arena finalize`` fast."""
    rare = min(int(positive.sum()), int((~positive).sum()), 512)
    return int(np.clip(_MOST_SCORES_DRAWN / (clusters * rare), 40, 200))


def interval_of_best(study: Study) -> tuple[float, float]:
    """Return the interval for the best true score, as on the private board; NaN if withheld."""
    if study.best_interval is not None:
        return study.best_interval
    return best_score_interval(
        score_errors(study),
        study.resampled,
        greater_is_better=study.metric.greater_is_better,
        level=study.level,
    ).ends


def _usable(rho: float) -> float:
    """Return a correlation that the model allows: NaN, of a single cluster, becomes 0."""
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
    for start, block in study.predictions.blocks(_block_size(study)):
        values = np.asarray(metric.row_values(study.truth, block))
        if values.shape != (len(block), len(study.truth)) or not np.isin(values, (0.0, 1.0)).all():
            return None
        right[start : start + len(block)] = (values == 1) == metric.greater_is_better
    accuracy = right.mean(axis=1)
    score = accuracy if metric.greater_is_better else 1 - accuracy
    return right if np.allclose(score, study.scores, rtol=0, atol=1e-9) else None


def _ranks(study: Study) -> ClassRanks | None:
    """Return the ranks within the classes if the metric is the area under the ROC curve."""
    two = study.truth.ndim == 1 and study.classes is not None and len(study.classes) == 2
    if not two or not study.metric.greater_is_better:
        return None
    positive = study.truth == 1
    if min(positive.sum(), (~positive).sum()) < 2:
        return None
    ranks = ClassRanks(positive, len(study.scores))
    for start, block in study.predictions.blocks(_block_size(study)):
        if block.ndim != 2:
            return None
        probed = np.flatnonzero((start + np.arange(len(block))) % _BLOCK < _PROBES)
        for number in probed.tolist():
            area = _area(positive, block[number].astype(np.float64))
            if not np.isclose(area, study.scores[start + number], rtol=0, atol=1e-9):
                return None
        ranks.put(start, block)
    return ranks


def _block_size(study: Study) -> int:
    """Return how many submissions are read at a time."""
    return min(_BLOCK, max(1, _BLOCK_CELLS // max(1, len(study.truth))))


def _area(positive: npt.NDArray[np.bool_], scores: FloatArray) -> float:
    n_positive = int(positive.sum())
    ranks = float(doubled_mean_ranks(scores[np.newaxis])[0, positive].sum()) / 2
    n_negative = len(positive) - n_positive
    return (ranks - n_positive * (n_positive + 1) / 2) / (n_positive * n_negative)


def refuse_without_model(metric: str) -> UsageError:
    """Return the error for a metric that no model of the best score fits."""
    return UsageError(
        f"This estimate is available for accuracies and for the area under the ROC curve of two "
        f"classes, not for {metric}. The private board of 'arena finalize' corrects the best "
        f"score of any metric."
    )
