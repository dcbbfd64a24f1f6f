"""Boards designed to refute the revised intervals, after these had been written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from arena.evaluation.clusters import time_blocks
from coverage_boards import (
    Assumption,
    Board,
    Cell,
    binormal,
    even_groups,
    growing_groups,
    labels,
    of_kind,
    residuals,
)
from coverage_metrics import (
    classes,
    correlated,
    correlation,
    lognormal_weights,
    sampled,
    weighted,
    with_scaled_errors,
)
from coverage_rare import (
    LOSS,
    MEDIAN,
    MEDIAN_SHARE,
    PLAIN,
    SHARE,
    autoregressive,
    clipped_mean,
    failing,
    leader,
    losses,
    macro_auc,
    medians,
    values_board,
)

__all__ = ["CELLS"]

Array = npt.NDArray[Any]
Rng = np.random.Generator


def shaped(m: int, n: int, a: float, b: float) -> Callable[[Rng], Board]:
    """Draw overlaps with a beta distribution, equal for all teams."""

    def draw(rng: Rng) -> Board:
        values = special.betaincinv(a, b, special.ndtr(correlated(rng, m, n)))
        return values_board(values, a / (a + b))

    return draw


def failing_leader(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw overlaps: the first team is better on most cases, and fails on more of them."""
    usual, better = clipped_mean(0.85, 0.03), clipped_mean(0.9, 0.03)

    def draw(rng: Rng) -> Board:
        noise = 0.03 * correlated(rng, m, n, 0.7)
        level, rate = np.r_[0.9, np.full(m - 1, 0.85)], np.r_[0.03, np.full(m - 1, 0.005)]
        values = np.clip(level[:, np.newaxis] + noise, 0, 1)
        values[special.ndtr(correlated(rng, m, n)) < rate[:, np.newaxis]] = 0.0
        true = np.r_[better * 0.97, np.full(m - 1, usual * 0.995)]
        return values_board(values, true)

    return draw


def contaminated(m: int, n: int, share: float, size: float) -> Callable[[Rng], Board]:
    """Draw errors of which a share is ``size`` times as large, on the same rows for all teams."""

    def draw(rng: Rng) -> Board:
        scale = np.where(rng.random(n) < share, size, 1.0)
        return Board(
            np.zeros(n), correlated(rng, m, n) * scale, np.full(m, 1 + share * (size**2 - 1))
        )

    return draw


def pareto_weights(rng: Rng, n: int) -> Array:
    """Return weights of which a few are most of the sum."""
    return 1 + rng.pareto(1.5, n)


def two_humps(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw values of which half are below -1 and half above 2: the median is at the gap."""

    def draw(rng: Rng) -> Board:
        z = correlated(rng, m, n)
        return values_board(np.where(z > 0, 2 + z, z - 1), -1.0)

    return draw


def loud_hopeless(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw squared errors: half of the teams are hopeless, and vary by much more."""
    sizes = np.where(np.arange(m) % 2 == 0, 1.0, 30.0)

    def draw(rng: Rng) -> Board:
        return Board(np.zeros(n), correlated(rng, m, n) * sizes[:, np.newaxis], sizes**2)

    return draw


def in_blocks(draw_board: Callable[[Rng], Board]) -> Callable[[Rng], Board]:
    """Name the time of each row, as with ``--time``."""

    def draw(rng: Rng) -> Board:
        board = draw_board(rng)
        return replace(board, clusters=time_blocks(np.arange(len(board.truth))))

    return draw


def runs_of_answers(m: int, n: int, rho: float) -> Callable[[Rng], Board]:
    """Draw right and wrong answers of which those after each other are alike."""
    draw_board = autoregressive(m, n, rho)

    def draw(rng: Rng) -> Board:
        right = draw_board(rng).predictions < special.ndtri(0.8)
        truth = (rng.random(n) < 0.5).astype(np.intp)
        return Board(truth, np.where(right, truth, 1 - truth), np.full(m, 0.8))

    return draw


def two_sided(m: int, n: int) -> Callable[[Rng], Board]:
    """Draw numbers with long tails on both sides and mean 0."""

    def draw(rng: Rng) -> Board:
        values = stats.t.ppf(special.ndtr(correlated(rng, m, n)), 3)
        return values_board(values, 0.0)

    return draw


CELLS: tuple[Cell, ...] = (
    *of_kind(
        "rare failures and few units",
        Cell("overlap .9, .5 % fail, n=100, m=30", SHARE, failing(30, 100, 0.005)),
        Cell("overlap .98, 2 % fail, n=20", SHARE, failing(10, 20, 0.02, mean=0.98, spread=0.01)),
        Cell("overlap, a leader that fails more, n=200", SHARE, failing_leader(10, 200)),
        Cell("overlap, beta(.1, .1), n=20", SHARE, shaped(10, 20, 0.1, 0.1)),
        Cell("overlap, beta(20, .5), n=30", SHARE, shaped(10, 30, 20, 0.5)),
        Cell("overlap, beta(.3, 20), n=30", SHARE, shaped(10, 30, 0.3, 20)),
        Cell("accuracy .995, n=100, m=5", "accuracy", labels(5, 100, 0.995)),
        Cell("accuracy .5, n=7, m=3", "accuracy", labels(3, 7, 0.5)),
    ),
    *of_kind(
        "losses",
        *(
            Cell(
                f"mse, {share:.0%} of scale {size:g}, n={n}".replace("%", " %"),
                "mse",
                contaminated(10, n, share, size),
                violates=Assumption.NO_LARGER_LOSSES,
            )
            for share, size, n in ((0.05, 5.0, 50), (0.01, 10.0, 200))
        ),
        Cell("mean loss, lognormal, n=20", LOSS, losses(10, 20, "lognormal")),
        Cell("mean loss, gamma .3, n=200", LOSS, losses(10, 200, "gamma .3")),
        Cell("mean loss, 1 % cost 5 more, n=500", LOSS, losses(10, 500, "normal", rare=0.01)),
        Cell("rmse, normal, n=10", "rmse", residuals(5, 10, metric="rmse")),
        Cell("mean of t3 values without a range, n=50", PLAIN, two_sided(10, 50)),
    ),
    *of_kind(
        "correlations and R2",
        Cell(
            "Pearson, outliers, n=200",
            "pearson",
            sampled(10, 200, "pearson", correlation("outliers"), true=0.7),
        ),
        Cell("Pearson, n=8", "pearson", sampled(5, 8, "pearson", correlation("normal"), true=0.7)),
        Cell(
            "Pearson 0, t3, n=100",
            "pearson",
            sampled(10, 100, "pearson", correlation("t3", rho=0.0), true=0.0),
        ),
        Cell(
            "Spearman, two levels, n=15",
            "spearman",
            sampled(10, 15, "spearman", correlation("normal", levels=2)),
        ),
    ),
    *of_kind(
        "rare classes and weights",
        Cell("macro AUC, 500, 20 and 3", "roc_auc", macro_auc(10, (500, 20, 3))),
        Cell(
            "macro F1, 60, 5 and 2",
            "f1(average=macro)",
            classes(10, (60, 5, 2), "f1(average=macro)", 0.8),
        ),
        Cell("ROC AUC .95, 3 of 30 positive", "roc_auc", binormal(10, 30, 3, auc=0.95)),
        Cell(
            "accuracy, Pareto weights, n=100",
            "accuracy",
            weighted(labels(10, 100, 0.8), pareto_weights),
        ),
        Cell(
            "accuracy, 15 groups and weights",
            "accuracy",
            weighted(labels(10, 300, 0.8, clusters=growing_groups(300, 15)), lognormal_weights),
        ),
        Cell("mse, lognormal weights, n=20", "mse", weighted(residuals(5, 20), lognormal_weights)),
    ),
    *of_kind(
        "medians",
        Cell("median, lognormal, n=5", MEDIAN, medians(5, 5, "lognormal")),
        Cell("median of two humps, n=60", MEDIAN, two_humps(10, 60)),
        Cell("median overlap, 7 groups of 10", MEDIAN_SHARE, medians(10, 70, "overlaps", groups=7)),
    ),
    *of_kind(
        "fields of teams",
        Cell(
            "accuracy, two groups of 15, n=300",
            "accuracy",
            labels(30, 300, np.r_[np.full(15, 0.8), np.full(15, 0.7)]),
        ),
        Cell("accuracy, 200 equal, n=200", "accuracy", labels(200, 200, 0.8)),
        Cell(
            "mse, one leader among 30, n=300",
            "mse",
            with_scaled_errors(residuals(30, 300), 0, 0.85),
        ),
        Cell("mse, half hopeless and loud, n=60", "mse", loud_hopeless(10, 60)),
        Cell(
            "accuracy, a leader and 9 copies, n=500",
            "accuracy",
            labels(20, 500, leader(20, 0.03), duplicates=9),
        ),
    ),
    *of_kind(
        "groups of rows",
        Cell("mse, 4 groups of 25", "mse", residuals(5, 100, clusters=even_groups(100, 4))),
    ),
    *of_kind(
        "dependent rows",
        *(
            Cell(
                f"mse, time order {rho:g}, n={n}, --time",
                "mse",
                in_blocks(autoregressive(10, n, rho)),
            )
            for rho in (0.3, 0.7)
            for n in (100, 400, 2000)
        ),
        Cell(
            "accuracy, time order .7, n=400",
            "accuracy",
            runs_of_answers(10, 400, 0.7),
            violates=Assumption.INDEPENDENT_ROWS,
        ),
        Cell(
            "accuracy, time order .7, n=400, --time",
            "accuracy",
            in_blocks(runs_of_answers(10, 400, 0.7)),
        ),
        Cell("mse, independent rows, n=400, --time", "mse", in_blocks(residuals(10, 400))),
    ),
)
