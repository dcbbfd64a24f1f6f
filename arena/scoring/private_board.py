"""Computes a private board: joint resamples, the corrected best score and all analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, UsageError
from arena.evaluation.best_score import CorrectedBest, corrected_best
from arena.evaluation.black_box import DrawnRowsError
from arena.evaluation.bootstrap import draw_halves, draw_resamples
from arena.evaluation.ranks import best_of_each_team
from arena.evaluation.score_intervals import errors_computed_once
from arena.evaluation.scores import is_black_box, score_under_weights
from arena.interfaces import (
    Analysis,
    Candidates,
    Metric,
    PredictionBlocks,
    Study,
    SuitsStudies,
    traits_of,
)
from arena.plugin.manager import PluginManager
from arena.plugin.registry import Entry
from arena.scoring.settings import BoardSettings
from arena.types import Finding, FloatArray, IntArray, WeightArray
from arena.utils.memory import return_freed_memory
from arena.utils.parallel import NoProgress, Progress

# Spawn keys of random streams; the resamples use the keys (0,), (1,), …
_CORRECTION_STREAM = (2**32 - 1, 0)
_ANALYSIS_STREAM = (2**32 - 1, 1)
_WEIGHT_BYTES = 1_500_000_000
"""Of the weights of resamples that are drawn together."""


@dataclass(frozen=True, slots=True, eq=False)
class RankedRows:
    """The rows on which submissions are ranked."""

    truth: npt.NDArray[Any]
    """``(n,)`` or ``(n, n_targets)``."""
    classes: tuple[str, ...] | None
    """The labels of the only target; None: numeric, or several targets."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the groups that are resampled as a whole."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, if there are several."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes."""
    soft_labels: FloatArray | None = None
    """``(n,)`` or ``(n, n_classes)``; None if the solution has no soft labels."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivateBoard:
    """A board and all results computed from it."""

    study: Study
    corrected: CorrectedBest | None
    """None: there are no resamples."""
    findings: tuple[Finding, ...]
    columns: Mapping[str, list[Any]]
    """The columns of all findings, one value per submission in the order of the study."""
    redrawn: int
    """Number of resamples redrawn because they lacked a class."""
    undefined: int
    """Number of resamples discarded because a score was undefined."""
    without: str = ""
    """Why there are no intervals, in a sentence; empty: there are."""
    halves: bool = False
    """Whether each resample is half of the rows, because the metric refuses repeated rows."""


def evaluate_board(
    metric: Metric,
    rows: RankedRows,
    teams: tuple[str, ...],
    submissions: IntArray,
    predictions: PredictionBlocks,
    scores: FloatArray,
    settings: BoardSettings,
    manager: PluginManager,
    progress: Progress | None = None,
) -> PrivateBoard:
    """Rank m submissions on n rows; of several submissions of a team, the best counts.

    Memory: the ``(n, B)`` weights at one byte each, 1.5 GB of them at a time unless the metric can
    only be called as a whole, the ``(m, B)`` resampled scores, and a few blocks of predictions.

    Parameters
    ----------
    metric
        The metric of the board.
    rows
        The truth of the ranked rows.
    teams, submissions
        ``(m,)`` names and ids.
    predictions
        The m submissions on the ranked rows.
    scores
        ``(m,)`` finite scores from :func:`~arena.evaluation.scores.full_scores`.
    settings
        Resamples, level, seed, workers.
    manager
        The plugins. All of their analyses are run; an analysis that fails is skipped.
    progress
        Receives progress reports.

    Raises
    ------
    MetricError
        If the metric is undefined on these rows, or, unless it can only be called as a whole, on
        all but one of the resamples. In that case the board has scores and no intervals.
    UsageError
        If the settings do not apply to the rows.
    """
    check_defined(metric, rows)
    progress = progress or NoProgress()
    workers = settings.n_workers
    without, halves, redrawn = why_no_intervals(metric, settings), False, 0
    drawn: WeightArray | None = None
    resampled = np.empty((len(scores), 0))
    if not without:
        strata = _strata(metric, rows, settings.stratify)
        needs_every_class = traits_of(metric).needs_every_class and rows.classes is not None
        found: FloatArray | None = np.empty((len(scores), settings.resamples))
        for columns_of_part in _parts(metric, len(rows.truth), settings.resamples):
            first, stop = columns_of_part.start, columns_of_part.stop
            resamples = draw_resamples(
                len(rows.truth),
                stop - first,
                settings.seed,
                strata=strata,
                clusters=rows.clusters,
                required=rows.truth if needs_every_class else None,
                first=first,
                workers=workers,
            )
            redrawn += resamples.redrawn
            part = _resampled(metric, rows, predictions, resamples.weights, 2, workers, progress)
            found = _with_part(found, columns_of_part, part)
            if is_black_box(metric):
                drawn = resamples.weights
            del resamples, part  # before the next ones are drawn
        if found is None:
            halves, redrawn = True, 0
            progress.say(
                f"{metric.name} does not take rows that are drawn more than once: half of the rows "
                f"are drawn without replacement instead, which needs the number of calls again. "
                "Its message is shown with --verbose."
            )
            drawn = draw_halves(
                len(rows.truth),
                settings.resamples,
                settings.seed,
                strata=strata,
                clusters=rows.clusters,
            )
            found = _resampled(metric, rows, predictions, drawn, 0, workers, progress)
        if found is None:
            without = "The metric takes neither repeated rows nor a part of them."
        else:
            resampled = found
    defined = np.isfinite(resampled).all(axis=0)
    if not without and defined.sum() < 2:
        undefined_on = f"undefined on resamples of the {len(rows.truth):,} ranked rows"
        if not is_black_box(metric):
            raise MetricError(f"{metric.name} is {undefined_on}. Use more rows or another metric.")
        without = f"{metric.name} is {undefined_on}."
    if without:
        resampled, defined = np.empty((len(scores), 0)), np.empty(0, dtype=np.bool_)
    resampled = resampled if defined.all() else resampled[:, defined]
    best = best_of_each_team(scores, resampled, teams, greater_is_better=metric.greater_is_better)
    names = tuple(teams[at] for at in best.positions)
    codes = {name: code for code, name in enumerate(names)}
    study = Study(
        metric=metric,
        truth=rows.truth,
        teams=names,
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
        candidates=(
            Candidates(
                scores,
                resampled,
                predictions,
                best.positions,
                np.array([codes[team] for team in teams]),
            )
            if len(best.positions) < len(scores)
            else None
        ),
    )
    resampled = found = study.resampled  # the only copy from here on
    if without:
        return PrivateBoard(study, None, (), {}, redrawn, 0, without)
    rng = _generator(settings.seed, _CORRECTION_STREAM)
    with errors_computed_once():
        corrected = corrected_best(
            study,
            rng,
            workers=workers,
            progress=progress,
            drawn=None
            if drawn is None
            else (drawn[:, defined], study.with_all_candidates().resampled),
        )
        findings, columns = _analyse(
            _with_best_interval(study, corrected), settings.seed, manager, progress
        )
    undefined = int((~defined).sum())
    return PrivateBoard(study, corrected, findings, columns, redrawn, undefined, halves=halves)


def _with_part(
    found: FloatArray | None, columns: slice, part: FloatArray | None
) -> FloatArray | None:
    """Return the scores with those of a part of the resamples; None if there are none of either."""
    if part is None or found is None:
        return None
    if part.shape == found.shape:
        return part  # not a copy: many candidates take a gigabyte
    found[:, columns] = part
    return found


def _with_best_interval(study: Study, corrected: CorrectedBest) -> Study:
    """Tell the analyses the interval; with candidates it is not that of these scores."""
    if study.candidates is not None:
        return study
    return replace(study, best_interval=(corrected.low, corrected.high))


def _parts(metric: Metric, n_rows: int, resamples: int) -> Iterator[slice]:
    """Yield the resamples that are drawn and scored together: their weights are held.

    All at once for a metric that is called as a whole, which is not scored on them twice.
    """
    most = resamples if is_black_box(metric) else max(1, _WEIGHT_BYTES // n_rows)
    for first in range(0, resamples, most):
        yield slice(first, min(first + most, resamples))


def _resampled(
    metric: Metric,
    rows: RankedRows,
    predictions: PredictionBlocks,
    drawn: WeightArray,
    changed: int,
    workers: int,
    progress: Progress,
) -> FloatArray | None:
    """Return the ``(m, B)`` scores, or None if the metric does not take rows drawn like these.

    A metric that fails on the first resamples may only be undefined on them, for lack of a class.
    So it is called once more, on all rows with the smallest change of this sort: the first row, or
    its group, ``changed`` times. If it takes this, the resamples on which it fails are undefined.
    """
    given: dict[str, Any] = {"workers": workers, "progress": progress}
    try:
        return score_under_weights(
            metric, rows.truth, predictions, drawn, must_take_rows=True, **given
        )
    except DrawnRowsError:
        units = np.arange(len(rows.truth)) if rows.clusters is None else rows.clusters
        probe = np.where(units == units[0], changed, 1).astype(np.uint8)[:, np.newaxis]
        first = predictions.subset(np.array([0]))
        if np.isnan(score_under_weights(metric, rows.truth, first, probe, **given)).all():
            return None
    return score_under_weights(metric, rows.truth, predictions, drawn, **given)


def why_no_intervals(metric: Metric, settings: BoardSettings) -> str:
    """Return why a board gets no intervals, in a sentence; empty if it does."""
    if traits_of(metric).whole_files:
        return "The metric reads whole files, so that no rows can be resampled."
    return "" if settings.intervals else "No intervals were requested."


def check_defined(metric: Metric, rows: RankedRows) -> None:
    """Check that the metric is defined on these rows for some predictions.

    Raises
    ------
    MetricError
        If there are no rows, or a class that the metric needs does not occur.
    """
    if len(rows.truth) == 0:
        raise MetricError("The solution has no rows to rank on. Check its usage column.")
    if rows.classes is None or not traits_of(metric).needs_every_class:
        return
    found = len(np.unique(rows.truth))
    if found < len(rows.classes):
        raise MetricError(
            f"{metric.name} needs every class, but only {found} of {len(rows.classes)} occur in "
            f"the {len(rows.truth):,} ranked rows."
        )


def _strata(metric: Metric, rows: RankedRows, stratify: bool | None) -> IntArray | None:
    if stratify is None:
        stratify = traits_of(metric).stratify_by_class and rows.clusters is None
        return rows.truth if stratify and rows.classes is not None else None
    if not stratify:
        return None
    if rows.classes is None:
        raise UsageError("Resamples can be stratified by class only for a single label target.")
    if rows.clusters is not None:
        raise UsageError("Resamples can be stratified by class or drawn by cluster, not both.")
    return rows.truth


def _generator(seed: int, stream: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


def _analyse(
    study: Study, seed: int, manager: PluginManager, progress: Progress
) -> tuple[tuple[Finding, ...], dict[str, list[Any]]]:
    findings: list[Finding] = []
    columns: dict[str, list[Any]] = {}
    applicable = [entry for entry in manager.analyses if _suits(entry, study, manager)]
    for position, entry in enumerate(applicable):
        rng = _generator(seed, (*_ANALYSIS_STREAM, position))
        progress.start(f"Running the analysis {entry.name}", 1)
        return_freed_memory()
        with manager.guarded(entry.plugin, f"running the analysis {entry.name!r}"):
            finding = entry.item.run(study, rng)
            for name, values in finding.columns.items():
                if name in columns:
                    raise ValueError(f"the column {name!r} already exists on the board")
                if len(values) != len(study.teams):
                    raise ValueError(
                        f"the column {name!r} has {len(values)} values for {len(study.teams)} "
                        f"submissions"
                    )
            findings.append(finding)
            columns |= {name: list(values) for name, values in finding.columns.items()}
        progress.advance()
    return tuple(findings), columns


def _suits(entry: Entry[Analysis], study: Study, manager: PluginManager) -> bool:
    """Return whether an analysis applies to this board; False if ``suits`` fails."""
    with manager.guarded(entry.plugin, f"checking whether the analysis {entry.name!r} applies"):
        return not isinstance(entry.item, SuitsStudies) or entry.item.suits(study)
    return False
