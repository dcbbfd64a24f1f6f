"""How stable the ranks of a competition are: the study, from trained models to its result.

The set-up is that of Szilard Pafka, *Winner stability in data science competitions* (2021): models
of a random search are ranked on a large population and on many tests drawn from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.execution import Progress, Silence
from arena.interfaces import Analysis, Metric
from arena.results import as_json
from arena.simulation.coverage import Boards, Coverage, SingleBoard, coverage
from arena.simulation.data import World
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.outcome import (
    QUANTILES,
    RankQuantiles,
    WinFrequency,
    rank_quantiles,
    rows_until_best_wins,
    win_frequency,
)
from arena.simulation.scores import ModelScores, score_models

__all__ = ["RankSettings", "RankSimulation", "RowsNeeded", "simulate_ranks"]

_PROBABILITIES = (0.5, 0.8, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class RankSettings:
    """What is asked.

    Raises
    ------
    UsageError
        If a value is out of its range.
    """

    test_rows: tuple[int, ...] = (1_000, 10_000)
    """N, each from 2."""
    competitors: tuple[int, ...] = (10, 40)
    """M, each from 2; as many models as the largest are needed."""
    tests: int = 50
    """C tests of each size."""
    boards: int = 10
    """Of how many of the tests a whole board is judged, for the coverage; 0: of none."""
    resamples: int = 500
    level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.test_rows or not self.competitors:
            raise UsageError("Name at least one number of test rows and one of competitors.")
        if min(*self.test_rows, *self.competitors, self.tests) < 2:
            raise UsageError("Test rows, competitors and tests are numbers from 2 on.")
        if not 0 <= self.boards <= self.tests:
            raise UsageError("The boards are at least 0, and at most the tests.")
        if self.resamples < 2 or not 0 < self.level < 1 or self.seed < 0:
            raise UsageError(
                "At least 2 resamples, a level between 0 and 1 and a seed from 0 are needed."
            )

    @property
    def n_models(self) -> int:
        """How many models must be trained."""
        return max(self.competitors)

    @property
    def grid(self) -> list[tuple[int, int]]:
        """Every number of test rows with every number of competitors."""
        return [(rows, count) for rows in self.test_rows for count in self.competitors]


@dataclass(frozen=True, slots=True)
class RowsNeeded:
    """From how many test rows on the best wins with a probability."""

    competitors: int
    probability: float
    rows: float
    """0: on any number."""


@dataclass(frozen=True, slots=True, eq=False)
class RankSimulation:
    """What came of it."""

    settings: RankSettings
    world: str
    metric: str
    scores: ModelScores
    win_frequency: tuple[WinFrequency, ...]
    ranks: tuple[RankQuantiles, ...]
    coverage: tuple[Coverage, ...]
    boards: tuple[SingleBoard, ...]
    rows_needed: tuple[RowsNeeded, ...]

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
                "win_frequency": [_fields(one) for one in self.win_frequency],
                "ranks": [row for one in self.ranks for row in _rank_rows(one)],
                "coverage": [_fields(one) for one in self.coverage],
                "boards": [_board(one) for one in self.boards],
                "rows_needed": [_fields(one) for one in self.rows_needed],
            }
        )
        return document


def _fields(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


def _rank_rows(one: RankQuantiles) -> list[dict[str, Any]]:
    names = [f"q{round(100 * share):02d}" for share in QUANTILES]
    rows = zip(one.models, one.true_ranks, one.quantiles, strict=True)
    grid = {"test_rows": one.test_rows, "competitors": one.competitors}
    return [
        {**grid, "model": model, "true_rank": rank, **dict(zip(names, own, strict=True))}
        for model, rank, own in rows
    ]


def _board(one: SingleBoard) -> dict[str, Any]:
    columns = {"model": one.models, "true_rank": one.true_ranks, "rank": one.ranks}
    columns["rank_low"], columns["rank_high"] = one.ranges["intervals"]
    columns["spread_low"], columns["spread_high"] = one.ranges["spread"]
    rows = zip(*columns.values(), strict=True)
    standings = [dict(zip(columns, row, strict=True)) for row in rows]
    return {"test_rows": one.test_rows, "competitors": one.competitors, "standings": standings}


def simulate_ranks(
    world: World,
    metric: Metric,
    analysis: Analysis,
    folder: ModelsFolder,
    settings: RankSettings,
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
    analysis
        Judges single tests: it delivers rank intervals and spreads.
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
    progress = progress or Silence()
    scores = score_models(
        world,
        metric,
        folder,
        settings.n_models,
        settings.test_rows,
        settings.tests,
        seed=settings.seed,
        workers=workers,
        progress=progress,
    )
    judging = Boards(settings.boards, settings.resamples, settings.level, settings.seed, workers)
    judged = []
    if settings.boards:
        progress.start("Judging single tests", len(settings.grid))
        for rows, count in settings.grid:
            own = scores.true[:count]
            judged.append(coverage(world, metric, analysis, folder, own, rows, judging))
            progress.advance()
    return RankSimulation(
        settings,
        world.name,
        metric.name,
        scores,
        tuple(win_frequency(scores, rows, count) for rows, count in settings.grid),
        tuple(rank_quantiles(scores, rows, count) for rows, count in settings.grid),
        tuple(one for found, _ in judged for one in found),
        tuple(board for _, board in judged),
        tuple(one for count in settings.competitors for one in _rows_needed(scores, count)),
    )


def _rows_needed(scores: ModelScores, competitors: int) -> list[RowsNeeded]:
    """Return the rows for several probabilities, from the errors of the largest tests.

    Averaged over all sets of so many models that share none, as the win frequency is.
    """
    largest = max(scores.competition)
    errors = scores.competition[largest] - scores.true[:, np.newaxis]
    starts = range(0, len(scores.true) - competitors + 1, competitors)
    rows = np.concatenate(
        [
            rows_until_best_wins(
                scores.true[at : at + competitors],
                errors[at : at + competitors],
                largest,
                greater_is_better=scores.greater_is_better,
            )
            for at in starts
        ]
    )
    quantiles = np.quantile(rows, _PROBABILITIES, method="inverted_cdf")
    return [
        RowsNeeded(competitors, share, float(np.ceil(value)))
        for share, value in zip(_PROBABILITIES, quantiles, strict=True)
    ]
