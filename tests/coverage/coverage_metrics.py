"""Boards of further metrics, of unequal rows and of unusual fields of teams.

The true scores are exact where a formula is known, and otherwise those of some 100,000 times as
many rows as a board has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.plugin.manager import PluginManager
from arena.types import ROW_WEIGHTS, RowContext
from coverage_boards import (
    Assumption,
    Board,
    Cell,
    average_precision,
    binormal,
    labels,
    of_kind,
    residuals,
)

__all__ = ["CELLS"]

Array = npt.NDArray[Any]
Rng = np.random.Generator
Rows = Callable[[Rng, int, int], tuple[Array, Array, Mapping[str, Array]]]
"""From a generator, m and n: truth, predictions and further columns."""


def correlated(rng: Rng, m: int, n: int, share: float = 0.5) -> Array:
    """Return ``(m, n)`` normal values with a common part of each row."""
    return np.sqrt(share) * rng.normal(size=n) + np.sqrt(1 - share) * rng.normal(size=(m, n))


def sampled(
    m: int, n: int, metric: str, rows: Rows, *, true: float | None = None, size: int = 1_000_000
) -> Callable[[Rng], Board]:
    """Draw independent rows of equal submissions.

    Without ``true``, the true score is that of ``size`` rows.
    """

    @cache
    def population() -> float:
        if true is not None:
            return true
        truth, predictions, extra = rows(np.random.default_rng(1), 1, size)
        resolved: Any = PluginManager().metrics.resolve(metric)
        if extra:
            resolved = resolved.for_rows(RowContext("id", None, ("y",), ("y",), extra=extra))
        return float(full_scores(resolved, truth, ArrayPredictions(predictions))[0])

    def draw(rng: Rng) -> Board:
        truth, predictions, extra = rows(rng, m, n)
        return Board(truth, predictions, np.full(m, population()), extra=extra)

    return draw


# -- correlations and R squared --------------------------------------------------------------------

_SCALES: dict[str, Callable[[Rng, int], Array]] = {
    # The scale of each row; its mean square is 1.
    "normal": lambda rng, n: np.ones(n),
    "t3": lambda rng, n: 1 / np.sqrt(rng.chisquare(3, n)),
    "outliers": lambda rng, n: np.where(rng.random(n) < 0.02, 8.0, 1.0) / np.sqrt(2.26),
}


def correlation(shape: str, *, rho: float = 0.7, levels: int = 0) -> Rows:
    """Draw numbers with a correlation to the truth; with levels, rounded to so many."""

    def rows(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
        scale = _SCALES[shape](rng, n)
        truth = rng.normal(size=n) * scale
        predictions = rho * truth + np.sqrt(1 - rho**2) * correlated(rng, m, n) * scale
        if levels:
            truth, predictions = (np.floor(levels * special.ndtr(x)) for x in (truth, predictions))
        return truth, predictions, {}

    return rows


def regression(shape: str, *, noise: float = 0.5) -> Rows:
    """Draw predictions whose errors have the given share of the variance of the truth."""

    def rows(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
        truth = rng.normal(size=n) * _SCALES[shape](rng, n)
        errors = np.sqrt(noise) * correlated(rng, m, n) * _SCALES[shape](rng, n)
        return truth, truth + errors, {}

    return rows


def lognormal_truth(noise: float) -> Rows:
    """Draw predictions with normal errors of lognormal numbers: few rows carry their variance."""

    def rows(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
        truth = rng.lognormal(0, 1, n)
        return truth, truth + noise * correlated(rng, m, n), {}

    return rows


def grouped_regression(m: int, groups: int, size: int) -> Callable[[Rng], Board]:
    """Draw numbers and errors with an effect of each group; R2 is .5."""
    clusters = np.repeat(np.arange(groups), size)

    def draw(rng: Rng) -> Board:
        n = len(clusters)
        truth = 0.7 * rng.normal(size=groups)[clusters] + np.sqrt(0.51) * rng.normal(size=n)
        effects = correlated(rng, m, groups)[:, clusters]
        errors = np.sqrt(0.5) * (0.6 * effects + 0.8 * correlated(rng, m, n))
        return Board(truth, truth + errors, np.full(m, 0.5), clusters)

    return draw


# -- classes ---------------------------------------------------------------------------------------


def classes(m: int, sizes: tuple[int, ...], metric: str, hit: float) -> Callable[[Rng], Board]:
    """Draw predicted classes; a wrong one is the next class. The sizes of the classes are fixed."""
    k = len(sizes)
    truth = np.repeat(np.arange(k), sizes)
    cells = np.repeat(np.arange(k), 2), (np.repeat(np.arange(k), 2) + np.tile([0, 1], k)) % k
    share = np.repeat(sizes, 2) * np.tile([hit, 1 - hit], k)

    def draw(rng: Rng) -> Board:
        score: Any = PluginManager().metrics.resolve(metric).score
        right = correlated(rng, m, len(truth)) < special.ndtri(hit)
        predictions = np.where(right, truth, (truth + 1) % k)
        return Board(truth, predictions, np.full(m, score(*cells, share)))

    return draw


def drawn_classes(
    shares: tuple[float, ...], hits: tuple[float, ...]
) -> Callable[[Rng, int, int], tuple[Array, Array, Mapping[str, Array]]]:
    """Draw classes, all of which occur, and predictions; wrong ones are mostly the first class."""
    k = len(shares)

    def rows(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
        truth = rng.choice(k, size=n, p=shares)
        while len(np.unique(truth)) < k:
            truth = rng.choice(k, size=n, p=shares)
        wrong = (truth + rng.integers(1, k, size=(m, n))) % k
        wrong = np.where((truth > 0) & (rng.random((m, n)) < 0.7), 0, wrong)
        right = correlated(rng, m, n) < special.ndtri(np.array(hits))[truth]
        return truth, np.where(right, truth, wrong), {}

    return rows


def grades(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw five ordered classes."""
    truth, predictions, _ = correlation("normal", rho=0.8, levels=5)(rng, m, n)
    return truth.astype(np.intp), predictions.astype(np.intp), {}


def probabilities(k: int, sharpness: float) -> Rows:
    """Draw probabilities of k classes; above 1, they are too sharp."""

    def rows(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
        logits = 1.5 * rng.normal(size=(n, k))
        truth = np.argmax(logits + rng.gumbel(size=(n, k)), axis=1)
        noisy = logits + 0.7 * rng.normal(size=(m, n, k))
        return truth, special.softmax(sharpness * noisy, axis=2), {}

    return rows


# -- losses ----------------------------------------------------------------------------------------


def amounts(sigma: float, error: float = 0.5) -> Rows:
    """Draw lognormal amounts with a relative error."""

    def rows(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
        truth = np.exp(sigma * rng.normal(size=n))
        return truth, truth * np.exp(error * correlated(rng, m, n)), {}

    return rows


def near_zero(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw amounts near 0, whose reciprocal has infinite variance, with an error of equal size."""
    truth = rng.gamma(1.5, size=n)
    return truth, truth + correlated(rng, m, n), {}


def far_quantile(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw amounts and predictions near their .99 quantile."""
    return rng.exponential(size=n), -np.log(0.01) + 0.5 * correlated(rng, m, n), {}


def claims(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw insurance claims: most are 0, the others lognormal."""
    risk = rng.normal(size=n)
    truth = np.where(risk + rng.normal(size=n) > 1.2, rng.lognormal(0, 1, n), 0.0)
    return truth, risk + correlated(rng, m, n), {}


def survival(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw times of which some 70 % are censored."""
    risk = rng.normal(size=n)
    times, ends = rng.exponential(size=n) * np.exp(-risk), rng.exponential(size=n) * 0.3
    events = (times <= ends).astype(np.float64)
    return np.minimum(times, ends), -risk + correlated(rng, m, n), {"event": events}


# -- lists -----------------------------------------------------------------------------------------


def lists(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw one relevant id per query, and lists of five that hold it at some position or not."""
    place = np.floor(9 * special.ndtr(correlated(rng, m, n))).astype(np.intp)
    texts = [" ".join("a" if place == j else f"x{j}" for j in range(5)) for place in range(9)]
    return np.full(n, "a", dtype=object), np.array(texts, dtype=object)[place], {}


def queries(m: int, count: int, documents: int) -> Callable[[Rng], Board]:
    """Draw relevances of the documents of some queries, some of which have no relevant one."""
    clusters = np.repeat(np.arange(count), documents)

    def rows(rng: Rng, m: int, n_queries: int) -> tuple[Array, Array]:
        n = n_queries * documents
        hidden = rng.normal(size=n)
        truth = np.maximum(np.floor(hidden + rng.normal(size=n) * 0.5), 0.0)
        return truth, hidden + correlated(rng, m, n)

    @cache
    def true() -> float:
        truth, predictions = rows(np.random.default_rng(1), 1, 100_000)
        of_rows = RowContext("id", None, ("y",), ("y",), np.repeat(np.arange(100_000), documents))
        resolved: Any = PluginManager().metrics.resolve("ndcg_at_k")
        return float(resolved.for_rows(of_rows).score(truth, predictions[0]))

    def draw(rng: Rng) -> Board:
        truth, predictions = rows(rng, m, count)
        return Board(truth, predictions, np.full(m, true()), clusters)

    return draw


def overlaps(rng: Rng, m: int, n: int) -> tuple[Array, Array, Mapping[str, Array]]:
    """Draw the precision of lists of two ids: as overlaps of masks, many are exactly 0 or 1."""
    place = np.searchsorted([0.15, 0.35], special.ndtr(correlated(rng, m, n)))
    texts = np.array(["x y", "x a", "a x"], dtype=object)
    return np.full(n, "a", dtype=object), texts[place], {}


# -- patients --------------------------------------------------------------------------------------


def patients(m: int, sizes: Array, positive: Array, metric: str) -> Callable[[Rng], Board]:
    """Draw scores with an effect of each patient, common to the teams and per team.

    ``positive`` is the class of each patient; -1: both classes.
    """
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    truth = positive[clusters].astype(np.intp)
    truth[truth < 0] = np.arange((truth < 0).sum()) % 2
    shift, variance = 1.5, 1.5
    true = {
        "roc_auc": float(special.ndtr(shift / np.sqrt(2 * variance))),
        "average_precision": average_precision(shift / np.sqrt(variance), float(truth.mean())),
    }[metric]

    def draw(rng: Rng) -> Board:
        effects = np.sqrt(0.5) * correlated(rng, m, len(sizes))[:, clusters]
        scores = correlated(rng, m, len(truth)) + effects + shift * truth
        return Board(truth, scores, np.full(m, true), clusters)

    return draw


# -- rows and teams --------------------------------------------------------------------------------


def weighted(
    draw_rows: Callable[[Rng], Board], weights: Callable[[Rng, int], Array]
) -> Callable[[Rng], Board]:
    """Give the rows weights that do not depend on them."""

    def draw(rng: Rng) -> Board:
        board = draw_rows(rng)
        extra = {ROW_WEIGHTS: weights(rng, len(board.truth))}
        return Board(board.truth, board.predictions, board.true_scores, board.clusters, extra=extra)

    return draw


def half_on_one(rng: Rng, n: int) -> Array:
    """Return weights of which the first row has half."""
    return np.r_[n - 1.0, np.ones(n - 1)]


def lognormal_weights(rng: Rng, n: int) -> Array:
    """Return lognormal weights."""
    return rng.lognormal(0, 1, n)


def twice(draw_rows: Callable[[Rng], Board], *, grouped: bool) -> Callable[[Rng], Board]:
    """Enter every row twice; grouped: with a column that says which rows are copies."""

    def draw(rng: Rng) -> Board:
        rows = draw_rows(rng)
        clusters = np.tile(np.arange(len(rows.truth)), 2) if grouped else None
        return Board(
            np.tile(rows.truth, 2), np.tile(rows.predictions, (1, 2)), rows.true_scores, clusters
        )

    return draw


def with_scaled_errors(
    draw_rows: Callable[[Rng], Board], team: int, factor: float
) -> Callable[[Rng], Board]:
    """Multiply the errors of one submission, whose score is a mean of squares, by a factor."""

    def draw(rng: Rng) -> Board:
        board = draw_rows(rng)
        factors = np.ones(len(board.predictions))
        factors[team] = factor
        return replace(
            board,
            predictions=board.predictions * factors[:, np.newaxis],
            true_scores=board.true_scores * factors**2,
        )

    return draw


def targets(m: int, n: int, count: int) -> Callable[[Rng], Board]:
    """Draw residuals of several targets of unequal size, whose score is the mean."""
    sizes = np.geomspace(1, 3, count)

    def draw(rng: Rng) -> Board:
        errors = np.stack([correlated(rng, m, n) * size for size in sizes], axis=2)
        return Board(np.zeros((n, count)), errors, np.full(m, np.square(sizes).mean()))

    return draw


# -- the table -------------------------------------------------------------------------------------

_HALF_POSITIVE = np.arange(20) % 2
_ONE_POSITIVE = np.r_[1, np.zeros(19, np.intp)]
_SIZES = (2, 5, 15, 50, 150)

CELLS: tuple[Cell, ...] = (
    *of_kind(
        "correlations and R2",
        Cell(
            "Pearson, n=20", "pearson", sampled(10, 20, "pearson", correlation("normal"), true=0.7)
        ),
        Cell(
            "Pearson, outliers, n=50",
            "pearson",
            sampled(10, 50, "pearson", correlation("outliers"), true=0.7),
        ),
        Cell(
            "Pearson, t3, n=50", "pearson", sampled(10, 50, "pearson", correlation("t3"), true=0.7)
        ),
        Cell(
            "Pearson .99, n=20",
            "pearson",
            sampled(10, 20, "pearson", correlation("normal", rho=0.99), true=0.99),
        ),
        Cell(
            "Spearman, n=20",
            "spearman",
            sampled(
                10, 20, "spearman", correlation("normal"), true=6 / np.pi * float(np.arcsin(0.35))
            ),
        ),
        Cell(
            "Spearman, outliers, n=50",
            "spearman",
            sampled(10, 50, "spearman", correlation("outliers")),
        ),
        Cell(
            "Spearman, three levels, n=50",
            "spearman",
            sampled(10, 50, "spearman", correlation("normal", levels=3)),
        ),
        Cell("R2, n=15", "r2", sampled(10, 15, "r2", regression("normal"), true=0.5)),
        Cell("R2, t3, n=100", "r2", sampled(10, 100, "r2", regression("t3"), true=0.5)),
        Cell(
            "R2, lognormal truth, n=100",
            "r2",
            sampled(
                10, 100, "r2", lognormal_truth(1.5), true=float(1 - 2.25 / (np.e * (np.e - 1)))
            ),
        ),
        Cell("R2, 6 groups", "r2", grouped_regression(8, 6, 25)),
    ),
    *of_kind(
        "rare classes and weights",
        Cell(
            "balanced accuracy, 3 of 300",
            "balanced_accuracy",
            classes(10, (297, 3), "balanced_accuracy", 0.8),
        ),
        Cell(
            "balanced accuracy, 5 classes",
            "balanced_accuracy",
            classes(10, _SIZES, "balanced_accuracy", 0.8),
        ),
        Cell(
            "balanced accuracy, rarest 2 % of 200",
            "balanced_accuracy",
            sampled(
                10,
                200,
                "balanced_accuracy",
                drawn_classes((0.6, 0.3, 0.08, 0.02), (0.9, 0.8, 0.6, 0.5)),
                true=0.7,
            ),
        ),
        Cell(
            "macro F1, 5 classes",
            "f1(average=macro)",
            classes(10, _SIZES, "f1(average=macro)", 0.8),
        ),
        Cell(
            "macro F1, 3 of 300",
            "f1(average=macro)",
            classes(10, (297, 3), "f1(average=macro)", 0.9),
        ),
        Cell(
            "kappa, 5 grades, n=30",
            "quadratic_weighted_kappa",
            sampled(10, 30, "quadratic_weighted_kappa", grades),
        ),
        Cell("brier, 5 classes, n=30", "brier", sampled(10, 30, "brier", probabilities(5, 1.0))),
        Cell(
            "log loss, 5 classes, n=30",
            "log_loss",
            sampled(10, 30, "log_loss", probabilities(5, 1.0)),
        ),
        Cell(
            "log loss, too sharp, n=100",
            "log_loss",
            sampled(10, 100, "log_loss", probabilities(5, 4.0)),
        ),
    ),
    *of_kind(
        "losses",
        Cell("RMSLE, n=30", "rmsle", sampled(10, 30, "rmsle", amounts(2.0))),
        Cell(
            "MAPE, truth near 0, n=100",
            "mape",
            sampled(10, 100, "mape", near_zero, true=None, size=4_000_000),
        ),
        Cell("SMAPE, n=30", "smape", sampled(10, 30, "smape", near_zero)),
        Cell(
            "quantile loss .99, n=200",
            "quantile_loss(alpha=0.99)",
            sampled(10, 200, "quantile_loss(alpha=0.99)", far_quantile),
        ),
        Cell("gini, claims, n=100", "gini", sampled(10, 100, "gini", claims)),
        Cell(
            "concordance, n=30",
            "concordance_index",
            sampled(10, 30, "concordance_index", survival, size=200_000),
        ),
    ),
    *of_kind(
        "lists, overlaps and opaque metrics",
        Cell("ndcg, 20 queries", "ndcg_at_k", queries(10, 20, 8)),
        Cell("map_at_k, n=30", "map_at_k", sampled(10, 30, "map_at_k", lists)),
        Cell("overlaps of 0, .5 and 1, n=30", "map_at_k", sampled(10, 30, "map_at_k", overlaps)),
    ),
    *of_kind(
        "groups of rows",
        Cell(
            "ROC AUC, 8 patients of one class",
            "roc_auc",
            patients(10, np.full(8, 20), _HALF_POSITIVE[:8], "roc_auc"),
        ),
        Cell(
            "ROC AUC, 20 patients of one class",
            "roc_auc",
            patients(10, np.full(20, 10), _HALF_POSITIVE, "roc_auc"),
        ),
        Cell(
            "ROC AUC, 8 patients of both classes",
            "roc_auc",
            patients(10, np.full(8, 20), np.full(8, -1), "roc_auc"),
        ),
        Cell(
            "ROC AUC, all positives from one patient",
            "roc_auc",
            patients(10, np.full(20, 10), _ONE_POSITIVE, "roc_auc"),
        ),
        Cell(
            "average precision, 8 patients of one class",
            "average_precision",
            patients(10, np.full(8, 20), _HALF_POSITIVE[:8], "average_precision"),
        ),
        Cell(
            "average precision, 20 patients, 4 positive",
            "average_precision",
            patients(
                10, np.full(20, 10), (np.arange(20) % 5 == 0).astype(int), "average_precision"
            ),
        ),
    ),
    *of_kind(
        "rare classes and weights",
        Cell("mse, one row of half the weight", "mse", weighted(residuals(10, 200), half_on_one)),
        Cell(
            "accuracy, one row of half the weight",
            "accuracy",
            weighted(labels(10, 200, 0.8), half_on_one),
        ),
        Cell("mse, lognormal weights, n=50", "mse", weighted(residuals(10, 50), lognormal_weights)),
        Cell(
            "accuracy, lognormal weights, n=50",
            "accuracy",
            weighted(labels(10, 50, 0.8), lognormal_weights),
        ),
        Cell("mse, 3 targets, n=30", "mse", targets(10, 30, 3)),
        Cell("accuracy, strata, n=100", "accuracy", labels(10, 100, 0.8), stratified=True),
        Cell(
            "balanced accuracy, strata, 3 of 300",
            "balanced_accuracy",
            classes(10, (297, 3), "balanced_accuracy", 0.8),
            stratified=True,
        ),
    ),
    *of_kind(
        "lists, overlaps and opaque metrics",
        Cell("opaque mae, n=50", "mae", residuals(4, 50, metric="mae"), opaque=True),
        Cell(
            "opaque R2, n=30",
            "r2",
            sampled(4, 30, "r2", regression("normal"), true=0.5),
            opaque=True,
        ),
        Cell(
            "opaque Spearman, n=30",
            "spearman",
            sampled(
                4, 30, "spearman", correlation("normal"), true=6 / np.pi * float(np.arcsin(0.35))
            ),
            opaque=True,
        ),
        Cell("opaque accuracy .95, n=50", "accuracy", labels(4, 50, 0.95), opaque=True),
    ),
    *of_kind(
        "fields of teams",
        Cell(
            "accuracy, correlation .999, n=300", "accuracy", labels(10, 300, 0.8, correlation=0.999)
        ),
        Cell("ROC AUC, correlation .999", "roc_auc", binormal(10, 200, 50, correlation=0.999)),
        Cell("mse, one bad team, n=50", "mse", with_scaled_errors(residuals(10, 50), -1, 20.0)),
        Cell(
            "accuracy, one bad team, n=100",
            "accuracy",
            labels(10, 100, np.r_[np.full(9, 0.8), 0.3]),
        ),
        Cell("accuracy, n=8, m=2", "accuracy", labels(2, 8, 0.8)),
        Cell("mse, n=8, m=2", "mse", residuals(2, 8)),
        Cell("ROC AUC, 4 of 8 positive, m=2", "roc_auc", binormal(2, 8, 4)),
        Cell(
            "Spearman, n=8, m=2",
            "spearman",
            sampled(
                2, 8, "spearman", correlation("normal"), true=6 / np.pi * float(np.arcsin(0.35))
            ),
        ),
    ),
    *of_kind(
        "dependent rows",
        Cell(
            "mse, every row twice, n=200",
            "mse",
            twice(residuals(10, 100), grouped=False),
            violates=Assumption.INDEPENDENT_ROWS,
        ),
        Cell("mse, every row twice, in groups", "mse", twice(residuals(10, 100), grouped=True)),
    ),
)
