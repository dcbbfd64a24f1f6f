"""Boards on which rare events decide: failures, rare classes, tiny weights, few units, few leaders.

They were chosen to refute intervals that hold on the boards of the other modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import integrate, special, stats

from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases
from arena.types import ROW_WEIGHTS
from coverage_boards import (
    Assumption,
    Board,
    Cell,
    binormal,
    even_groups,
    labels,
    of_kind,
    residuals,
)
from coverage_metrics import correlated, lognormal_weights, weighted, with_scaled_errors

__all__ = ["CELLS"]

Array = npt.NDArray[Any]
Rng = np.random.Generator

SHARE = MeanOfCases("mean", greater_is_better=True, value_range=(0.0, 1.0))
LOSS = MeanOfCases("mean loss", greater_is_better=False, value_range=(0.0, np.inf))
PLAIN = MeanOfCases("mean value", greater_is_better=True)
MEDIAN = MedianOfCases("median", greater_is_better=True)
MEDIAN_SHARE = MedianOfCases("median", greater_is_better=True, value_range=(0.0, 1.0))


def values_board(values: Array, true: float | Array, clusters: Array | None = None) -> Board:
    """Return a board of values per case."""
    m, n = values.shape
    return Board(np.zeros(n), values, np.broadcast_to(true, (m,)).astype(float), clusters)


def clipped_mean(mean: float, spread: float) -> float:
    """Return the mean of a normal variable that is clipped to [0, 1]."""
    density = stats.norm(mean, spread).pdf
    inside = integrate.quad(lambda x: x * density(x), 0, 1, points=[mean])[0]
    return float(inside + stats.norm.sf(1, mean, spread))


def failing(
    m: int,
    n: int,
    rate: float,
    *,
    mean: float = 0.9,
    spread: float = 0.03,
    half: bool = False,
    groups: int = 0,
) -> Callable[[Rng], Board]:
    """Draw overlaps near ``mean`` of which a share ``rate`` is 0: on the same cases for all teams.

    ``half``: only every other team fails, and the others are worse by as much, so that all are
    equal. ``groups``: a whole group fails.
    """
    usual = clipped_mean(mean, spread)

    def draw(rng: Rng) -> Board:
        clusters = even_groups(n, groups) if groups else None
        values = np.clip(mean + spread * correlated(rng, m, n, 0.7), 0, 1)
        fails = rng.random(groups or n) < rate
        fails = fails if clusters is None else fails[clusters]
        true = usual * (1 - rate)
        if half:
            values[1::2][:, fails] = 0.0
            values[::2] -= usual * rate
        else:
            values[:, fails] = 0.0
        return values_board(np.clip(values, 0, 1), true, clusters)

    return draw


def mixture(m: int, n: int, rate: float) -> Callable[[Rng], Board]:
    """Draw uniform overlaps above .6, and failures that differ from team to team."""

    def draw(rng: Rng) -> Board:
        values = 0.6 + 0.4 * special.ndtr(correlated(rng, m, n))
        values[special.ndtr(correlated(rng, m, n)) < rate] = 0.0
        return values_board(values, 0.8 * (1 - rate))

    return draw


def losses(
    m: int, n: int, shape: str, *, rare: float = 0.0, size: float = 5.0
) -> Callable[[Rng], Board]:
    """Draw losses per case of equal teams; a share ``rare`` of the cases costs ``size`` more."""
    shapes: dict[str, tuple[Callable[[Array], Array], float]] = {
        "normal": (np.abs, float(np.sqrt(2 / np.pi))),
        "square": (np.square, 1.0),
        "exponential": (lambda z: -np.log(special.ndtr(-z)), 1.0),
        "gamma .3": (lambda z: stats.gamma.isf(special.ndtr(-z), 0.3), 0.3),
        "lognormal": (np.exp, float(np.exp(0.5))),
        "Pareto 3": (lambda z: special.ndtr(-z) ** (-1 / 3), 1.5),
    }
    of_normal, mean = shapes[shape]

    def draw(rng: Rng) -> Board:
        values = of_normal(correlated(rng, m, n))
        values += size * (rng.random(n) < rare)
        return values_board(values, mean + size * rare)

    return draw


def lone_losses(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw losses near 1: 5 more on 2 % of the cases of every other team, 0.1 more for the rest."""

    def draw(rng: Rng) -> Board:
        values = np.abs(1 + 0.03 * correlated(rng, m, n, 0.7))
        values[::2] += 0.1
        values[1::2] += 5.0 * (rng.random(values[1::2].shape) < 0.02)
        return values_board(values, 1.1)

    return draw


def medians(m: int, n: int, shape: str, *, groups: int = 0) -> Callable[[Rng], Board]:
    """Draw values per case whose median is known."""
    shapes: dict[str, tuple[Callable[[Array], Array], float]] = {
        "lognormal": (np.exp, 1.0),
        "Cauchy": (lambda z: np.tan(np.pi * (special.ndtr(z) - 0.5)), 0.0),
        "overlaps": (lambda z: np.clip(1 - 0.1 * np.exp(z), 0, 1), 0.9),
        "few values": (lambda z: np.round(special.ndtr(z), 1), 0.5),
    }
    of_normal, median = shapes[shape]

    def draw(rng: Rng) -> Board:
        z = correlated(rng, m, n)
        clusters = even_groups(n, groups) if groups else None
        if clusters is not None:
            z = (z + correlated(rng, m, groups)[:, clusters]) / np.sqrt(2)
        return values_board(of_normal(z), median, clusters)

    return draw


def macro_auc(m: int, sizes: tuple[int, ...], shift: float = 1.5) -> Callable[[Rng], Board]:
    """Draw class probabilities; class sizes are fixed, and each class has the same true AUC."""
    k = len(sizes)
    truth = np.repeat(np.arange(k), sizes)

    def scores(rng: Rng, count: int, codes: Array) -> Array:
        z = np.stack([correlated(rng, count, len(codes)) for _ in range(k)], axis=2)
        return special.softmax(z + shift * np.eye(k)[codes], axis=2)

    def population() -> float:
        rng, aucs = np.random.default_rng(1), []
        scores_of_class = [scores(rng, 1, np.full(40_000, code))[0] for code in range(k)]
        share = np.array(sizes) / len(truth)
        for code in range(k):
            others = [
                scores_of_class[j][: round(40_000 * share[j] / share.max())][:, code]
                for j in range(k) if j != code
            ]  # fmt: skip
            rest = np.sort(np.concatenate(others))
            aucs.append(np.searchsorted(rest, scores_of_class[code][:, code]).mean() / len(rest))
        return float(np.mean(aucs))

    true_aucs: list[float] = []

    def draw(rng: Rng) -> Board:
        if not true_aucs:
            true_aucs.append(population())
        return Board(truth, scores(rng, m, truth), np.full(m, true_aucs[0]))

    return draw


def tiny_weights(m: int, positives: int, tiny: int) -> Callable[[Rng], Board]:
    """Draw scores of which some positives have a weight of .001."""
    draw_board = binormal(m, 20 * positives, positives)

    def draw(rng: Rng) -> Board:
        board = draw_board(rng)
        weights = np.ones(len(board.truth))
        weights[rng.permutation(np.flatnonzero(board.truth))[:tiny]] = 0.001
        extra = {ROW_WEIGHTS: weights}
        return Board(board.truth, board.predictions, board.true_scores, extra=extra)

    return draw


def grouped_positives(m: int, positives: int, together: int) -> Callable[[Rng], Board]:
    """Draw scores of rows in groups of five, but ``together`` positives are one group.

    The other positives are a group each; half of each variance is of the group.
    """
    n = 20 * positives
    truth = np.repeat([1, 0], [positives, n - positives])
    sizes = [together, *[1] * (positives - together), *[5] * ((n - positives) // 5)]
    clusters = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: Rng) -> Board:
        z = correlated(rng, m, n) + correlated(rng, m, len(sizes))[:, clusters]
        scores = z / np.sqrt(2) + 1.5 * truth
        true = float(stats.norm.cdf(1.5 / np.sqrt(2)))
        return Board(truth, scores, np.full(m, true), clusters)

    return draw


def autoregressive(m: int, n: int, rho: float) -> Callable[[Rng], Board]:
    """Draw squared errors in time order, each normal error correlated with the one before."""

    def draw(rng: Rng) -> Board:
        noise = correlated(rng, m, n)
        errors = np.empty((m, n))
        errors[:, 0] = noise[:, 0]
        for t in range(1, n):
            errors[:, t] = rho * errors[:, t - 1] + np.sqrt(1 - rho**2) * noise[:, t]
        return Board(np.zeros(n), errors, np.ones(m))

    return draw


def leader(m: int, gain: float) -> Array:
    """Return accuracies of one leader and equal others."""
    return np.r_[0.8 + gain, np.full(m - 1, 0.8)]


_RARE = (
    Cell("overlap .9, 1 % fail, n=30", SHARE, failing(10, 30, 0.01)),
    Cell("overlap .9, 2 % fail, n=50", SHARE, failing(10, 50, 0.02)),
    Cell("overlap .9, 1 % fail, n=200", SHARE, failing(10, 200, 0.01)),
    Cell("overlap .9, 1 % fail, n=1,000", SHARE, failing(10, 1000, 0.01)),
    Cell("overlap .9, none fails, n=50", SHARE, failing(10, 50, 0.0)),
    Cell("overlap .9, half of the teams fail 2 %, n=40", SHARE, failing(10, 40, 0.02, half=True)),
    Cell("overlap .9, half of the teams fail 2 %, n=50", SHARE, failing(10, 50, 0.02, half=True)),
    Cell("overlap .9, groups of 10 fail, 12 groups", SHARE, failing(10, 120, 0.05, groups=12)),
    Cell("overlap .6 to 1, 5 % fail, n=100", SHARE, mixture(10, 100, 0.05)),
    Cell("overlap .9, n=3", SHARE, failing(5, 3, 0.05)),
    Cell("overlap .9, n=4", SHARE, failing(5, 4, 0.05)),
    Cell("accuracy, n=3, m=5", "accuracy", labels(5, 3, 0.7)),
    Cell("accuracy, 3 groups of 50", "accuracy",
         labels(5, 150, 0.8, clusters=even_groups(150, 3))),
)  # fmt: skip
_LOSSES = (
    *(Cell(f"mse, normal, n={n}", "mse", residuals(10, n)) for n in (20, 50, 200)),
    Cell("mse, normal, n=1,000", "mse", residuals(10, 1000)),
    Cell("mean loss, normal, n=100", LOSS, losses(10, 100, "normal")),
    Cell("mean loss, exponential, n=20", LOSS, losses(10, 20, "exponential")),
    Cell("mean loss, gamma .3, n=50", LOSS, losses(10, 50, "gamma .3")),
    Cell("mean loss, lognormal, n=50", LOSS, losses(10, 50, "lognormal")),
    Cell("mean loss, Pareto 3, n=100", LOSS, losses(10, 100, "Pareto 3")),
    Cell("mean loss, 2 % cost 5 more, n=50", LOSS, losses(10, 50, "normal", rare=0.02)),
    Cell("mean loss, half of the teams lose 5 more on 2 %, n=40", LOSS, lone_losses(10, 40),
         violates=Assumption.NO_LARGER_LOSSES),
    Cell("mean loss, 10 % cost 10 more, n=50", LOSS,
         losses(10, 50, "normal", rare=0.1, size=10.0)),
    Cell("mean of normal values without a range, n=50", PLAIN,
         lambda rng: values_board(correlated(rng, 10, 50), 0.0)),
)  # fmt: skip
_CLASSES = (
    Cell("macro AUC, 150 and four of 2", "roc_auc", macro_auc(10, (150, 2, 2, 2, 2))),
    Cell("macro AUC, 50, 5 and 5", "roc_auc", macro_auc(10, (50, 5, 5))),
    Cell("macro AUC, 60, 40 and 30", "roc_auc", macro_auc(10, (60, 40, 30))),
    Cell("ROC AUC, 17 of 20 positives weigh .001", "roc_auc", tiny_weights(10, 20, 17)),
    Cell("ROC AUC, 10 of 20 positives weigh .001", "roc_auc", tiny_weights(10, 20, 10)),
    Cell("ROC AUC, 8 of 20 positives in one group", "roc_auc", grouped_positives(10, 20, 8)),
    Cell("mse, lognormal weights, n=100", "mse",
         weighted(residuals(10, 100), lognormal_weights)),
)  # fmt: skip
_MEDIANS = (
    Cell("median, lognormal, n=8", MEDIAN, medians(10, 8, "lognormal")),
    Cell("median, Cauchy, n=30", MEDIAN, medians(10, 30, "Cauchy")),
    Cell("median overlap, n=100", MEDIAN_SHARE, medians(10, 100, "overlaps")),
    Cell("median of few values, n=50", MEDIAN_SHARE, medians(10, 50, "few values")),
    Cell("median, 20 groups of 5", MEDIAN, medians(10, 100, "lognormal", groups=20)),
)
_LEADERS = (
    Cell("accuracy, one leader among 30", "accuracy", labels(30, 1000, leader(30, 0.05))),
    Cell("accuracy, one leader among 200", "accuracy", labels(200, 1000, leader(200, 0.05))),
    Cell("accuracy, two leaders among 30", "accuracy",
         labels(30, 1000, np.r_[0.85, 0.85, np.full(28, 0.75)])),
    Cell("accuracy, one hopeless among 30, n=300", "accuracy",
         labels(30, 300, np.r_[np.full(29, 0.8), 0.2])),
    Cell("mse, one hopeless among 10, n=100", "mse",
         with_scaled_errors(residuals(10, 100), -1, 10.0)),
)  # fmt: skip
_TIME = tuple(
    Cell(
        f"mse, time order {rho:g}, n=400",
        "mse",
        autoregressive(10, 400, rho),
        violates=Assumption.INDEPENDENT_ROWS,
    )
    for rho in (0.3, 0.7)
)

CELLS: tuple[Cell, ...] = (
    *of_kind("rare failures and few units", *_RARE),
    *of_kind("losses", *_LOSSES),
    *of_kind("rare classes and weights", *_CLASSES),
    *of_kind("medians", *_MEDIANS),
    *of_kind("fields of teams", *_LEADERS),
    *of_kind("dependent rows", *_TIME),
)
