"""Boards whose true scores are known: the cells of the coverage table.

A cell is a way to draw boards. To add one, add a row to :data:`CELLS`. Boards of further metrics
are in :mod:`coverage_metrics`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from arena.interfaces import Metric
from arena.types import PredictionKind, Solution

__all__ = ["CELLS", "Assumption", "Board", "Cell", "MetricOfBoard", "of_kind"]

SETS_OF_RANKS = ("rank sets", "possible winners", "possible top 3")

Array = npt.NDArray[Any]
Rng = np.random.Generator


@dataclass(frozen=True, slots=True, eq=False)
class Board:
    """One drawn test set with m submissions of n rows."""

    truth: Array
    """``(n,)`` or ``(n, n_targets)``."""
    predictions: Array
    """``(m, n)``, ``(m, n, n_classes)`` or ``(m, n, n_targets)``."""
    true_scores: npt.NDArray[np.float64]
    """``(m,)`` on the population, natural sign. Equal scores must be exactly equal."""
    clusters: Array | None = None
    """``(n,)`` codes from 0."""
    teams: Array | None = None
    """``(m,)`` codes of teams; the best of each team's submissions counts. None: one each."""
    extra: Mapping[str, Array] = field(default_factory=dict)
    """``(n,)`` of further columns of the solution, such as the row weights."""
    tasks: Array | None = None
    """``(n,)`` codes of the tasks, from 0."""


class Assumption(Enum):
    """An assumption of intervals and sets, and which of these rest on it."""

    INDEPENDENT_ROWS = "dependent rows"
    NO_LARGER_LOSSES = "larger losses"

    def concerns(self, claim: str) -> bool:
        """Return whether an interval or set rests on it: on that on losses only scores do."""
        return self is Assumption.INDEPENDENT_ROWS or claim not in SETS_OF_RANKS


@dataclass(frozen=True, slots=True)
class MetricOfBoard:
    """A metric that needs to know the board."""

    prediction: PredictionKind
    metric_of: Callable[[Board, Solution], Metric]


@dataclass(frozen=True, slots=True)
class Cell:
    """A way to draw boards."""

    name: str
    metric: str | Metric | MetricOfBoard
    draw: Callable[[Rng], Board]
    level: float = 0.95
    skewed: bool = False
    """Submissions of the same true score have unequal distributions of row values."""
    order_only: bool = False
    """``true_scores`` tell the order of the submissions only and are no scores."""
    opaque: bool = False
    """The metric can only be called: it has no row or influence values and declares nothing."""
    stratified: bool = False
    """Resamples draw the rows of each class separately, as with ``--stratify``."""
    violates: Assumption | None = None
    """An assumption that arena prints, and that does not hold: the cell shows what that costs."""
    resamples: int | None = None
    """The number of resamples; None: that of the campaign."""
    kind: str = ""
    """The page of the tables on which the cell stands."""

    def requires(self, claim: str) -> bool:
        """Return whether an interval or set must have the required coverage."""
        return self.violates is None or not self.violates.concerns(claim)


def of_kind(kind: str, *cells: Cell) -> tuple[Cell, ...]:
    """Return cells for the page of a kind of boards."""
    return tuple(replace(cell, kind=kind) for cell in cells)


# -- groups ----------------------------------------------------------------------------------------


def even_groups(n: int, groups: int) -> Array:
    """Return ``(n,)`` codes of groups of equal size."""
    return np.arange(n) * groups // n


def uneven_groups(n: int, groups: int, largest: float) -> Array:
    """Return codes where the first group holds the share ``largest`` of the rows."""
    first = round(n * largest)
    return np.concatenate([np.zeros(first, np.intp), 1 + even_groups(n - first, groups - 1)])


def growing_groups(n: int, groups: int) -> Array:
    """Return codes of groups whose sizes grow geometrically, the last 50 times the first."""
    sizes = np.geomspace(1, 50, groups)
    ends = np.round(np.cumsum(sizes) / sizes.sum() * n).astype(np.intp)
    return np.searchsorted(ends, np.arange(n), side="right")


# -- numbers: losses of residuals ------------------------------------------------------------------

_TAILS: dict[str, tuple[Callable[[Rng, int], Array], float, float]] = {
    # The scale of each row, its mean, and its mean square.
    "normal": (lambda rng, n: np.ones(n), 1.0, 1.0),
    "lognormal": (lambda rng, n: rng.lognormal(0, 1, n), np.exp(0.5), np.exp(2.0)),
    "lognormal 1.5": (lambda rng, n: rng.lognormal(0, 1.5, n), np.exp(1.125), np.exp(4.5)),
    "cauchy": (lambda rng, n: 1 / np.sqrt(rng.chisquare(1, n)), np.inf, np.inf),
    "pareto 1.5": (lambda rng, n: 1 + rng.pareto(1.5, n), 3.0, np.inf),
}


def residuals(
    m: int,
    n: int,
    *,
    metric: str = "mse",
    tails: str = "normal",
    clusters: Array | None = None,
    group_effect: float = 0.5,
    gap: float = 0.0,
) -> Callable[[Rng], Board]:
    """Draw residuals with a scale per row and, with groups, per team and group.

    ``gap`` is the relative difference of scale between the best and the worst submission.
    """
    draw_scale, mean, square = _TAILS[tails]

    def draw(rng: Rng) -> Board:
        common = rng.normal(size=n)
        errors = np.sqrt(0.5) * (common + rng.normal(size=(m, n))) * draw_scale(rng, n)
        first, second = mean, square
        if clusters is not None:
            own = group_effect * rng.normal(size=(m, int(clusters.max()) + 1))
            errors *= np.exp(own)[:, clusters]
            first, second = mean * np.exp(group_effect**2 / 2), square * np.exp(2 * group_effect**2)
        sizes = np.linspace(1, 1 + gap, m)
        true = {
            "mse": sizes**2 * second,
            "rmse": sizes * np.sqrt(second),
            "mae": sizes * first * np.sqrt(2 / np.pi),
        }[metric]
        true = np.where(np.isfinite(true), true, sizes)
        return Board(np.zeros(n), errors * sizes[:, np.newaxis], true, clusters)

    return draw


def mixed_losses(m: int, n: int, *, skew: str) -> Callable[[Rng], Board]:
    """Draw losses of mean 1, of which every other submission's are skewed."""
    shapes: dict[str, Callable[[Rng, int], Array]] = {
        "exponential": lambda rng, n: rng.exponential(1, n),
        "lognormal": lambda rng, n: rng.lognormal(-0.5, 1, n),
        "rare": lambda rng, n: np.where(rng.random(n) < 0.02, 50.0, 0.0),
    }

    def draw(rng: Rng) -> Board:
        losses = np.stack([
            shapes[skew](rng, n) if j % 2 else rng.uniform(0.5, 1.5, n) for j in range(m)
        ])  # fmt: skip
        return Board(np.zeros(n), losses, np.ones(m))

    return draw


def rare_failures(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw Brier losses of mean .118; every other submission's are 1 on 2 % of the rows."""

    def draw(rng: Rng) -> Board:
        noise = np.sqrt(0.7) * rng.normal(size=n) + np.sqrt(0.3) * rng.normal(size=(m, n))
        odd = (np.arange(m) % 2 == 1)[:, np.newaxis]
        losses = np.clip(np.where(odd, 0.1, 0.118) + 0.03 * noise, 0, 1)
        losses[(rng.random((m, n)) < 0.02) & odd] = 1.0
        truth, of_truth = rng.integers(0, 2, n), 1 - np.sqrt(losses)
        predictions = np.where(truth == 1, of_truth, 1 - of_truth)
        return Board(truth, predictions, np.full(m, 0.118))

    return draw


# -- labels ----------------------------------------------------------------------------------------


def labels(
    m: int,
    n: int,
    accuracies: float | Array,
    *,
    clusters: Array | None = None,
    correlation: float = 0.5,
    duplicates: int = 0,
    teams: Array | None = None,
) -> Callable[[Rng], Board]:
    """Draw right and wrong labels; with groups, a difficulty per team and group as well."""
    targets = np.broadcast_to(np.asarray(accuracies, dtype=np.float64), (m,))

    def draw(rng: Rng) -> Board:
        own = 1 - correlation
        latent = np.sqrt(correlation) * rng.normal(size=n) + np.zeros((m, 1))
        if clusters is not None:
            effects = rng.normal(size=(m, int(clusters.max()) + 1))
            latent += np.sqrt(own / 2) * effects[:, clusters]
            own /= 2
        latent += np.sqrt(own) * rng.normal(size=(m, n))
        right = latent < special.ndtri(targets)[:, np.newaxis]
        true = targets.copy()
        if duplicates:
            right[-duplicates:], true[-duplicates:] = right[0], true[0]
        truth = (rng.random(n) < 0.5).astype(np.intp)
        return Board(truth, np.where(right, truth, 1 - truth), true, clusters, teams)

    return draw


def rare_labels(
    m: int, n: int, positives: float, metric: str, sensitivity: float = 0.6, false: float = 0.01
) -> Callable[[Rng], Board]:
    """Draw predicted labels of a rare class with the same hit rate and false alarms for all."""
    tp, fn = positives * sensitivity, positives * (1 - sensitivity)
    fp, tn = (1 - positives) * false, (1 - positives) * (1 - false)
    chance = (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    value = {
        "f1": 2 * tp / (2 * tp + fp + fn),
        "mcc": (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)),
        "quadratic_weighted_kappa": (tp + tn - chance) / (1 - chance),
        "accuracy": tp + tn,
    }[metric]

    def draw(rng: Rng) -> Board:
        truth = np.zeros(n, dtype=np.intp)
        while not 0 < truth.sum() < n:
            truth = (rng.random(n) < positives).astype(np.intp)
        common = rng.normal(size=n)
        latent = special.ndtr(np.sqrt(0.5) * (common + rng.normal(size=(m, n))))
        predicted = latent < np.where(truth == 1, sensitivity, false)
        return Board(truth, predicted.astype(np.intp), np.full(m, value))

    return draw


# -- scores and probabilities ----------------------------------------------------------------------


@lru_cache
def average_precision(shift: float, share: float) -> float:
    """Return the population value of binormal scores by integration over the threshold."""
    thresholds = np.linspace(-9, 9 + shift, 200_001)
    hits = special.ndtr(shift - thresholds) * share
    alarms = special.ndtr(-thresholds) * (1 - share)
    precision = hits / np.maximum(hits + alarms, 1e-300)
    density = stats.norm.pdf(thresholds - shift)
    return float(np.trapezoid(precision * density, thresholds))


def binormal(
    m: int,
    n: int,
    positives: int,
    metric: str = "roc_auc",
    auc: float | Array = 0.8,
    *,
    correlation: float = 0.5,
    clusters: Array | None = None,
) -> Callable[[Rng], Board]:
    """Draw normal scores with a shift for positives; the number of positives is fixed."""
    targets = np.broadcast_to(np.asarray(auc, dtype=np.float64), (m,))
    shifts = np.sqrt(2) * special.ndtri(targets)
    true = (
        targets
        if metric == "roc_auc"
        else np.array([average_precision(float(shift), positives / n) for shift in shifts])
    )

    def draw(rng: Rng) -> Board:
        truth = np.zeros(n, dtype=np.intp)
        truth[np.linspace(0, n - 1, positives).astype(np.intp)] = 1
        common = np.sqrt(correlation) * rng.normal(size=n)
        own = np.sqrt(1 - correlation) * rng.normal(size=(m, n))
        return Board(truth, common + own + shifts[:, np.newaxis] * truth, true, clusters)

    return draw


def certain(m: int, n: int, error: float, *, mixed: bool = False) -> Callable[[Rng], Board]:
    """Draw probabilities near 0 or 1 that are wrong on the share ``error`` of the rows.

    ``mixed``: every other submission is modest, with the same true log loss.
    """
    confident = 0.9999
    loss = -(1 - error) * np.log(confident) - error * np.log1p(-confident)

    def draw(rng: Rng) -> Board:
        truth = (rng.random(n) < 0.5).astype(np.intp)
        common = rng.normal(size=n)
        latent = special.ndtr(np.sqrt(0.5) * (common + rng.normal(size=(m, n))))
        of_truth = np.where(latent < error, 1 - confident, confident)
        if mixed:
            of_truth[::2] = np.exp(-loss)
        ones = np.where(truth == 1, of_truth, 1 - of_truth)
        return Board(truth, np.stack([1 - ones, ones], axis=2), np.full(m, loss))

    return draw


# -- the table -------------------------------------------------------------------------------------

_CANDIDATES = np.concatenate([np.zeros(50, np.intp), np.arange(1, 5)])
_SPREAD = np.linspace(0.75, 0.85, 30)

CELLS: tuple[Cell, ...] = (
    *of_kind(
        "shares and squared errors",
        Cell("accuracy, n=1,000, equal", "accuracy", labels(30, 1000, 0.8)),
        Cell("accuracy, n=1,000, spread", "accuracy", labels(30, 1000, _SPREAD)),
        Cell("accuracy, n=1,000, 10 duplicates", "accuracy", labels(30, 1000, 0.8, duplicates=10)),
        Cell("accuracy, n=1,000, level .8", "accuracy", labels(30, 1000, 0.8), 0.8),
        Cell("accuracy, n=1,000, level .99", "accuracy", labels(30, 1000, 0.8), 0.99),
        Cell("mse, n=500, spread", "mse", residuals(30, 500, gap=0.3)),
        Cell("accuracy, n=500, m=200", "accuracy", labels(200, 500, 0.8)),
        Cell("accuracy, n=500, m=2", "accuracy", labels(2, 500, 0.8)),
        Cell("accuracy, n=20", "accuracy", labels(30, 20, 0.8)),
        Cell("accuracy, n=20, m=2", "accuracy", labels(2, 20, 0.8)),
        Cell("accuracy, n=100, m=20", "accuracy", labels(20, 100, 0.8)),
        Cell("accuracy .99, n=300", "accuracy", labels(30, 300, 0.99)),
        Cell("accuracy .99, n=300, m=2", "accuracy", labels(2, 300, 0.99)),
        Cell("mse, n=10, m=2", "mse", residuals(2, 10)),
        Cell("mse, n=5, m=5", "mse", residuals(5, 5)),
        Cell("mse, n=3, m=5", "mse", residuals(5, 3)),
        Cell("mse, n=4, m=2", "mse", residuals(2, 4)),
        Cell(
            "accuracy, 3 groups of 50, m=5",
            "accuracy",
            labels(5, 150, 0.8, clusters=even_groups(150, 3)),
        ),
    ),
    *of_kind(
        "groups of rows",
        *(
            Cell(f"mse, {g} groups", "mse", residuals(30, 400, clusters=even_groups(400, g)))
            for g in (2, 3, 5, 10, 20, 40, 80)
        ),
        Cell("mse, 5 groups, m=2", "mse", residuals(2, 400, clusters=even_groups(400, 5))),
        Cell(
            "mse, 10 groups, spread",
            "mse",
            residuals(30, 400, clusters=even_groups(400, 10), gap=1.0),
        ),
        Cell(
            "mse, 10 groups, one of 90 %",
            "mse",
            residuals(30, 400, clusters=uneven_groups(400, 10, 0.9)),
        ),
        Cell(
            "mse, 60 groups, one of 50 %",
            "mse",
            residuals(30, 600, clusters=uneven_groups(600, 60, 0.5)),
        ),
        Cell(
            "mse, 20 groups of 1 to 50", "mse", residuals(30, 400, clusters=growing_groups(400, 20))
        ),
        Cell("accuracy, 5 groups", "accuracy", labels(30, 200, 0.8, clusters=even_groups(200, 5))),
        Cell(
            "accuracy, 5 groups of 4, m=2",
            "accuracy",
            labels(2, 20, 0.8, clusters=even_groups(20, 5)),
        ),
        Cell(
            "accuracy, 15 groups", "accuracy", labels(30, 300, 0.8, clusters=even_groups(300, 15))
        ),
    ),
    *of_kind(
        "rare classes and weights",
        *(
            Cell(f"ROC AUC, {p} of 1,000 positive, m=30", "roc_auc", binormal(30, 1000, p))
            for p in (2, 3, 5, 10, 30)
        ),
        Cell("ROC AUC, 10 of 1,000 positive, m=5", "roc_auc", binormal(5, 1000, 10)),
        Cell("ROC AUC, 2 of 200 positive, m=2", "roc_auc", binormal(2, 200, 2)),
        Cell("ROC AUC, 10 of 20 positive", "roc_auc", binormal(10, 20, 10)),
        Cell(
            "average precision, 10 of 500 positive",
            "average_precision",
            binormal(30, 500, 10, "average_precision"),
        ),
        Cell(
            "average precision, 3 of 300 positive, m=5",
            "average_precision",
            binormal(5, 300, 3, "average_precision"),
        ),
        Cell("F1, 2 % positive, n=200", "f1", rare_labels(30, 200, 0.02, "f1")),
        Cell("MCC, 1 % positive, n=500", "mcc", rare_labels(30, 500, 0.01, "mcc")),
        Cell(
            "kappa, 2 % positive, n=300",
            "quadratic_weighted_kappa",
            rare_labels(30, 300, 0.02, "quadratic_weighted_kappa"),
        ),
    ),
    *of_kind(
        "losses",
        Cell(
            "rmse, lognormal rows, n=200",
            "rmse",
            residuals(30, 200, metric="rmse", tails="lognormal"),
        ),
        Cell(
            "rmse, lognormal rows, n=1,000",
            "rmse",
            residuals(30, 1000, metric="rmse", tails="lognormal"),
        ),
        Cell(
            "mae, Cauchy tails, n=300",
            "mae",
            residuals(30, 300, metric="mae", tails="cauchy"),
            order_only=True,
        ),
        Cell(
            "mae, Pareto 1.5, n=300",
            "mae",
            residuals(30, 300, metric="mae", tails="pareto 1.5"),
            violates=Assumption.NO_LARGER_LOSSES,
        ),
        Cell("log loss, near-certain, n=300", "log_loss", certain(30, 300, 0.02)),
        Cell(
            "mae, exponential against uniform, n=100",
            "mae",
            mixed_losses(30, 100, skew="exponential"),
            skewed=True,
        ),
        Cell(
            "mae, lognormal against uniform, n=200",
            "mae",
            mixed_losses(30, 200, skew="lognormal"),
            skewed=True,
        ),
        Cell(
            "log loss, near-certain against modest, n=1,000",
            "log_loss",
            certain(30, 1000, 0.02, mixed=True),
            skewed=True,
        ),
        Cell(
            "mae, 2 % of 50 against uniform, n=200",
            "mae",
            mixed_losses(10, 200, skew="rare"),
            skewed=True,
        ),
        Cell("Brier, half fail on 2 %, n=200", "brier", rare_failures(10, 200), skewed=True),
    ),
    *of_kind(
        "fields of teams",
        Cell(
            "accuracy, one team with 50 candidates",
            "accuracy",
            labels(54, 500, 0.8, teams=_CANDIDATES),
        ),
    ),
)
