"""How stable the ranks of a competition are: from trained models to the result.

The set-up is that of Szilard Pafka, *Winner stability in data science competitions* (2021): models
of a random search are ranked on a large population and on many tests drawn from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from arena.interfaces import Analysis, Metric, Ranker
from arena.simulation.data import World
from arena.simulation.degenerate import degenerate_board
from arena.simulation.ranks.coverage import Boards, Coverage, SingleBoard, coverage
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.outcome import (
    QUANTILES,
    RankQuantiles,
    WinFrequency,
    frequency_over_sets,
    rank_quantiles,
    rows_until_best_wins,
    win_frequency,
)
from arena.simulation.ranks.scores import ModelScores, score_models
from arena.simulation.requests import RanksRequest
from arena.utils.parallel import NoProgress, Progress
from arena.utils.representation import short_repr
from arena.utils.tabular import as_json
from arena.utils.text import plural

_PROBABILITIES = (0.5, 0.8, 0.9, 0.95)
FURTHEST = 100
"""Numbers of rows are not extrapolated further than to so many times those of the largest test."""


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """The number of test rows from which on the best model wins with a probability."""

    competitors: int
    """Number of competing models."""
    probability: float
    """The probability with which the truly best model wins."""
    rows: float
    """0: on any number; infinite: beyond :data:`FURTHEST`."""
    low: float
    """Of the 95% interval over tests, for these models; 0: on any number."""
    high: float | None
    """None: there are too few tests for an upper limit; infinite: beyond :data:`FURTHEST`."""


@dataclass(frozen=True, slots=True, eq=False)
class RankSimulation:
    """The result of the study."""

    __repr__ = short_repr

    settings: RanksRequest
    """What was asked for."""
    world: str
    """Where the rows come from."""
    metric: str
    """The metric of the ranks."""
    scores: ModelScores
    """The scores of the models on all rows and on the tests."""
    win_frequency: tuple[WinFrequency, ...]
    """How often the truly best model won."""
    ranks: tuple[RankQuantiles, ...]
    """The spread of the rank on a test, by true rank."""
    coverage: tuple[Coverage, ...]
    """How often the rank intervals held."""
    boards: tuple[SingleBoard, ...]
    """Single boards with their rank intervals, for the charts."""
    rows_needed: tuple[RowsNeeded, ...]
    """The rows that the best model needs to win often."""
    by_set: tuple[tuple[WinFrequency, ...], ...] = ()
    """How often it won in each set of models, if there are several; ``win_frequency`` is then over
    sets, and all else is of the first."""

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain JSON."""
        document: dict[str, Any] = as_json(
            {
                "data": self.world,
                "metric": self.metric,
                "greater_is_better": self.scores.greater_is_better,
                "seed": self.settings.seed,
                "tests": self.settings.tests,
                "models": self.scores.true,
                "win_frequency": [_fields(wins) for wins in self.win_frequency],
                "ranks": [row for quantiles in self.ranks for row in _rank_rows(quantiles)],
                "coverage": [_fields(held) for held in self.coverage],
                "boards": [_board(board) for board in self.boards],
                "rows_needed": [_fields(needed) for needed in self.rows_needed],
                "by_set": [[_fields(wins) for wins in set_wins] for set_wins in self.by_set],
            }
        )
        return document


def _fields(record: Any) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def _rank_rows(quantiles: RankQuantiles) -> list[dict[str, Any]]:
    names = [f"q{round(100 * share):02d}" for share in QUANTILES]
    rows = zip(quantiles.models, quantiles.true_ranks, quantiles.quantiles, strict=True)
    grid = {"test_rows": quantiles.test_rows, "competitors": quantiles.competitors}
    return [
        {
            **grid,
            "model": model,
            "true_rank": rank,
            **dict(zip(names, quantiles_of_rank, strict=True)),
        }
        for model, rank, quantiles_of_rank in rows
    ]


def _board(board: SingleBoard) -> dict[str, Any]:
    columns = {"model": board.models, "true_rank": board.true_ranks, "rank": board.ranks}
    columns["rank_low"], columns["rank_high"] = board.ranges["intervals"]
    columns["bootstrap_rank_low"], columns["bootstrap_rank_high"] = board.ranges["spread"]
    rows = zip(*columns.values(), strict=True)
    standings = [dict(zip(columns, row, strict=True)) for row in rows]
    return {"test_rows": board.test_rows, "competitors": board.competitors, "standings": standings}


def compare_ranks(
    world: World,
    metric: Metric,
    ranker: Ranker,
    analysis: Analysis,
    folder: ModelsFolder,
    settings: RanksRequest,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> RankSimulation:
    """Compare the competition ranks of trained models with their true ranks.

    Parameters
    ----------
    world
        The rows that the models were trained on, and the population.
    metric
        Ranks them; unbound.
    ranker, analysis
        Of single tests: deliver the rank intervals and the bootstrap rank ranges.
    folder
        Holds the models 0 … ``settings.n_models`` - 1.
    workers
        Threads; the numbers do not depend on them.

    Raises
    ------
    MetricError
        If the metric cannot score these models.
    UsageError
        If the population is smaller than a test.
    """
    progress = progress or NoProgress()
    scores = score_models(
        world,
        metric,
        folder=folder,
        count=settings.n_models,
        test_rows=settings.test_rows,
        tests=settings.tests,
        seed=settings.seed,
        workers=workers,
        progress=progress,
    )
    judging = Boards(
        settings.boards,
        settings.resamples,
        level=settings.level,
        seed=settings.seed,
        workers=workers,
    )
    judged = []
    if settings.boards:
        progress.start("Analysing single tests", len(settings.sizes))
        for rows, count in settings.sizes:
            true_scores = scores.true[:count]
            judged.append(
                coverage(
                    world,
                    metric,
                    ranker=ranker,
                    analysis=analysis,
                    folder=folder,
                    true=true_scores,
                    test_rows=rows,
                    settings=judging,
                )
            )
            progress.advance()
    return RankSimulation(
        settings=settings,
        world=world.name,
        metric=metric.name,
        scores=scores,
        win_frequency=tuple(win_frequency(scores, rows, count) for rows, count in settings.sizes),
        ranks=tuple(rank_quantiles(scores, rows, count) for rows, count in settings.sizes),
        coverage=tuple(quantiles for judged_part, _ in judged for quantiles in judged_part),
        boards=tuple(board for _, board in judged),
        rows_needed=tuple(
            needed
            for count in settings.competitors
            for needed in rows_for_probabilities(scores, count)
        ),
    )


def with_other_sets(result: RankSimulation, others: Sequence[RankSimulation]) -> RankSimulation:
    """Return a result whose win frequencies, and their intervals, are over several sets."""
    by_set = tuple(wins.win_frequency for wins in (result, *others))
    return replace(
        result,
        win_frequency=tuple(
            frequency_over_sets(wins_of_sets) for wins_of_sets in zip(*by_set, strict=True)
        ),
        by_set=by_set,
    )


def rows_for_probabilities(scores: ModelScores, competitors: int) -> list[RowsNeeded]:
    """Return the rows for several probabilities, from the errors of the largest tests.

    Averaged over disjoint sets of that many models, like the win frequency.
    """
    largest = max(scores.competition)
    errors = scores.competition[largest] - scores.true[:, np.newaxis]
    starts = range(0, len(scores.true) - competitors + 1, competitors)
    rows = np.concatenate(
        [
            rows_until_best_wins(
                scores.true[start : start + competitors],
                errors[start : start + competitors],
                largest,
                greater_is_better=scores.greater_is_better,
            )
            for start in starts
        ]
    )
    rows[rows > FURTHEST * largest] = np.inf
    from scipy.stats import binom

    # The ends are order statistics. The sets share their tests, so the tests are the trials.
    tests, sets = scores.competition[largest].shape[1], len(starts)
    ordered = np.ceil(np.sort(rows))
    needed = []
    for share in _PROBABILITIES:
        below, above = (int(binom.ppf(end, tests, share)) for end in (0.025, 0.975))
        needed.append(
            RowsNeeded(
                competitors,
                share,
                rows=float(np.ceil(np.quantile(rows, share, method="inverted_cdf"))),
                low=float(ordered[below * sets - 1]) if below >= 1 else 0.0,
                high=float(ordered[(above + 1) * sets - 1]) if above + 1 <= tests else None,
            )
        )
    return needed


def simulation_verdict(result: RankSimulation) -> str:
    """Say how often the best model wins in the largest competition, and how many rows it needs."""
    rows, count = max(result.settings.test_rows), max(result.settings.competitors)
    scores = result.scores
    problem = degenerate_board(
        scores.true[:count], scores.constant, greater_is_better=scores.greater_is_better
    )
    if problem is not None:
        return (
            f"{problem} A ranking of such models has no meaning, so nothing follows about the "
            f"number of rows. Use another metric, more training rows or other models."
        )
    won = next(
        wins for wins in result.win_frequency if (wins.test_rows, wins.competitors) == (rows, count)
    )
    text = (
        f"With {plural(rows, 'test row')} and {plural(count, 'competitor')} the truly best one "
        f"wins {won.frequency:.0%} of the tests"
    )
    if result.by_set:
        shares = [
            wins.frequency
            for wins_of_sets in result.by_set
            for wins in wins_of_sets
            if (wins.test_rows, wins.competitors) == (rows, count)
        ]
        text += (
            f" on average over {plural(len(shares), 'set')} of models (95% interval, models and "
            f"rows included: {won.low:.0%} to {won.high:.0%}; single sets: {min(shares):.0%} to "
            f"{max(shares):.0%})."
        )
    else:
        text += f" (95% interval over tests: {won.low:.0%} to {won.high:.0%})."
        if won.populations == 1:
            text += (
                " This is one set of models, of which the interval says nothing more: among others "
                "the best may lead by more or less. --sets 5 trains five sets."
            )
    needed = next(
        needed
        for needed in result.rows_needed
        if (needed.competitors, needed.probability) == (count, 0.9)
    )
    if not needed.rows:
        return f"{text} For these models fewer rows would be enough."
    if needed.rows > FURTHEST * rows:
        return (
            f"{text} For it to win 90% of the tests, more than {plural(FURTHEST * rows, 'row')} "
            "would be needed: it is hardly better than the next."
        )
    unlimited = needed.high is None or needed.high > FURTHEST * rows
    most = "no upper limit" if unlimited else f"{needed.high:,.0f}"
    need = (
        f"About {needed.rows:,.0f} rows would be needed for it to win 90% of the tests (95% "
        f"interval over tests: {needed.low:,.0f} to {most})"
    )
    if result.by_set:
        need += " in the first set"
    if needed.rows > rows:
        need += f" (extrapolated from tests of {plural(rows, 'row')})"
    return f"{text} {need}."
