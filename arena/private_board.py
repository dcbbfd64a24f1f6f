"""The private board: scores, joint resamples, the corrected best score and every analysis."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.execution import Progress, Silence, available_workers
from arena.interfaces import (
    Analysis,
    Metric,
    PredictionBlocks,
    Study,
    SuitsStudies,
    traits_of,
)
from arena.leaderboard import best_of_each_team
from arena.plugin_manager import PluginManager
from arena.registry import Entry
from arena.resamples import Resamples, draw_resamples
from arena.resampling import full_scores, score_under_weights
from arena.types import Finding, FloatArray, IntArray
from arena.winner import CorrectedBest, corrected_best

__all__ = ["BoardSettings", "PrivateBoard", "RankedRows", "check_defined", "judge"]

# Streams of chance beside the resamples' own, which take the keys (0,), (1,), …
_CORRECTION_STREAM = (2**32 - 1, 0)
_ANALYSIS_STREAM = (2**32 - 1, 1)


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """How a private board is judged.

    Raises
    ------
    UsageError
        If a value is out of its range.
    """

    resamples: int = 1_000
    level: float = 0.95
    seed: int = 0
    stratify: bool | None = None
    """Resample within classes; None: if the metric does not depend on prevalence."""
    workers: int = 0
    """0: one per processor."""

    def __post_init__(self) -> None:
        if self.resamples < 2:
            raise UsageError("At least 2 resamples are needed; 1,000 or more for printed figures.")
        if not 0 < self.level < 1:
            raise UsageError("The level must lie between 0 and 1, such as 0.95.")
        if self.seed < 0:
            raise UsageError("The seed must be 0 or more.")
        if self.workers < 0:
            raise UsageError("The workers must be 1 or more, or 0 for one per processor.")

    @property
    def n_workers(self) -> int:
        """The number of workers that this comes to on this machine."""
        return self.workers or available_workers()


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """The rows on which a board ranks."""

    truth: npt.NDArray[Any]
    """``(n,)`` or ``(n, n_targets)``."""
    classes: tuple[str, ...] | None
    """The labels of the only target; None: numeric, or several targets."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the groups that are resampled whole."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, where there are several."""
    task_names: tuple[str, ...] = ()
    """Of these tasks, in the order of their codes."""
    soft_labels: FloatArray | None = None
    """``(n,)`` or ``(n, n_classes)``, where the solution has them."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivateBoard:
    """A judged board."""

    study: Study
    corrected: CorrectedBest
    findings: tuple[Finding, ...]
    columns: Mapping[str, list[Any]]
    """The columns of every finding: one value per submission, in the study's order."""
    redrawn: int
    """Drawings thrown away because they lacked a class."""
    undefined: int
    """Resamples left out because the score of a submission was not defined in them."""


def judge(
    metric: Metric,
    rows: RankedRows,
    teams: tuple[str, ...],
    submissions: IntArray,
    predictions: PredictionBlocks,
    settings: BoardSettings,
    manager: PluginManager,
    progress: Progress | None = None,
) -> PrivateBoard:
    """Judge m submissions on n rows; of several of one team, the best counts.

    Holds the ``(n, B)`` weights, one byte each, the ``(m, B)`` resampled scores, and a few
    blocks of predictions.

    Parameters
    ----------
    metric
        The metric of the board.
    rows
        The truth of the ranked rows.
    teams, submissions
        ``(m,)`` names and ids.
    predictions
        The m submissions on the ranked rows; the score of each must be finite.
    settings
        Resamples, level, seed, workers.
    manager
        The plugins; every analysis that they provide is run, and one that fails is skipped.
    progress
        Hears how far it has come.

    Raises
    ------
    MetricError
        If the metric is not defined on these rows, or hardly ever on resamples of them.
    UsageError
        If the settings do not fit the rows.
    """
    check_defined(metric, rows)
    workers = settings.n_workers
    drawn = _draw(metric, rows, settings)
    resampled = score_under_weights(
        metric, rows.truth, predictions, drawn.weights, workers=workers, progress=progress
    )
    defined = np.isfinite(resampled).all(axis=0)
    if defined.sum() < 2:
        raise MetricError(
            f"{metric.name} is not defined on resamples of the {len(rows.truth):,} ranked rows. "
            f"Rank on more rows, or choose a metric that is defined on few."
        )
    scores = full_scores(metric, rows.truth, predictions, workers=workers)
    best = best_of_each_team(
        scores, resampled[:, defined], teams, greater_is_better=metric.greater_is_better
    )
    study = Study(
        metric=metric,
        truth=rows.truth,
        teams=tuple(teams[at] for at in best.positions),
        submissions=submissions[best.positions],
        predictions=predictions.subset(best.positions),
        scores=best.scores,
        resampled=best.resampled,
        level=settings.level,
        clusters=rows.clusters,
        classes=rows.classes,
        tasks=rows.tasks,
        task_names=rows.task_names,
        soft_labels=rows.soft_labels,
    )
    rng = _generator(settings.seed, _CORRECTION_STREAM)
    corrected = corrected_best(study, rng, workers=workers, progress=progress)
    findings, columns = _analyse(study, settings.seed, manager, progress or Silence())
    undefined = int((~defined).sum())
    return PrivateBoard(study, corrected, findings, columns, drawn.redrawn, undefined)


def _draw(metric: Metric, rows: RankedRows, settings: BoardSettings) -> Resamples:
    needs_every_class = traits_of(metric).needs_every_class and rows.classes is not None
    return draw_resamples(
        len(rows.truth),
        settings.resamples,
        settings.seed,
        strata=_strata(metric, rows, settings.stratify),
        clusters=rows.clusters,
        required=rows.truth if needs_every_class else None,
        workers=settings.n_workers,
    )


def check_defined(metric: Metric, rows: RankedRows) -> None:
    """Refuse rows on which the metric has no value, whatever is predicted.

    Raises
    ------
    MetricError
        If there is no row, or a class that the metric needs does not occur.
    """
    if len(rows.truth) == 0:
        raise MetricError("The solution has no row to rank on. Look at its usage column.")
    if rows.classes is None or not traits_of(metric).needs_every_class:
        return
    found = len(np.unique(rows.truth))
    if found < len(rows.classes):
        raise MetricError(
            f"{metric.name} needs every class among the ranked rows, but only {found} of "
            f"{len(rows.classes)} occur in these {len(rows.truth):,} rows."
        )


def _strata(metric: Metric, rows: RankedRows, stratify: bool | None) -> IntArray | None:
    if stratify is None:
        stratify = traits_of(metric).stratify_by_class and rows.clusters is None
        return rows.truth if stratify and rows.classes is not None else None
    if not stratify:
        return None
    if rows.classes is None:
        raise UsageError("Resamples can be stratified by class only where one label is predicted.")
    if rows.clusters is not None:
        raise UsageError("Resamples are stratified by class or drawn by clusters, not both.")
    return rows.truth


def _generator(seed: int, stream: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


def _analyse(
    study: Study, seed: int, manager: PluginManager, progress: Progress
) -> tuple[tuple[Finding, ...], dict[str, list[Any]]]:
    findings: list[Finding] = []
    columns: dict[str, list[Any]] = {}
    suiting = [entry for entry in manager.analyses if _suits(entry, study, manager)]
    for position, entry in enumerate(suiting):
        rng = _generator(seed, (*_ANALYSIS_STREAM, position))
        progress.start(f"Running the analysis {entry.name}", 1)
        with manager.guarded(entry.plugin, f"running the analysis {entry.name!r}"):
            finding = entry.item.run(study, rng)
            _check_finding(finding, len(study.teams), columns)
            findings.append(finding)
            columns |= {name: list(values) for name, values in finding.columns.items()}
        progress.advance()
    return tuple(findings), columns


def _suits(entry: Entry[Analysis], study: Study, manager: PluginManager) -> bool:
    """Return whether an analysis is for this board; one that fails to say is not."""
    said: list[bool] = []
    with manager.guarded(entry.plugin, f"asking the analysis {entry.name!r} whether it suits"):
        said.append(not isinstance(entry.item, SuitsStudies) or entry.item.suits(study))
    return any(said)


def _check_finding(finding: Finding, n_submissions: int, taken: Collection[str]) -> None:
    for name, values in finding.columns.items():
        if name in taken:
            raise ValueError(f"the column {name!r} already stands on the board")
        if len(values) != n_submissions:
            raise ValueError(
                f"the column {name!r} has {len(values)} values for {n_submissions} submissions"
            )
