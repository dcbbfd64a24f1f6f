"""Computes a private board in three steps: resamples, a study of them, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, PluginError, RankingError, UsageError
from arena.evaluation.best_score import CorrectedBest, corrected_best
from arena.evaluation.black_box import DrawnRowsError
from arena.evaluation.bootstrap import draw_halves, draw_resamples
from arena.evaluation.case_counts import MetricOfCounts, case_counts
from arena.evaluation.combined_metric import (
    CombinedMetric,
    EachPart,
    scores_of_parts,
    tasks_of,
    within_tasks,
)
from arena.evaluation.group_jackknife import CALLS, Jackknife, group_jackknife, resampled_linearly
from arena.evaluation.predictions import ArrayPredictions, in_memory
from arena.evaluation.ranks import best_of_each_team
from arena.evaluation.score_intervals import ScoreErrors, score_errors
from arena.evaluation.scores import is_black_box, round_significant, score_under_weights
from arena.evaluation.winner_intervals import intervals_of_teams
from arena.interfaces import (
    Analysis,
    Candidates,
    CountsCases,
    Metric,
    PredictionBlocks,
    RankSets,
    Study,
    SuitsStudies,
    modality_of,
    traits_of,
)
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.plugin.registry import Entry
from arena.plugin.returned import checked
from arena.scoring.settings import BoardSettings
from arena.types import TEAMS, Finding, FloatArray, IntArray, Vocabulary, WeightArray
from arena.utils.engines import cluster_in_use
from arena.utils.memory import return_freed_memory
from arena.utils.parallel import NoProgress, Progress
from arena.utils.tabular import as_json
from arena.utils.text import plural

# Spawn keys of random streams; the resamples use the keys (0,), (1,), …
_CORRECTION_STREAM = (2**32 - 1, 0)
_ANALYSIS_STREAM = (2**32 - 1, 1)
WEIGHT_BYTES = 1_000_000_000
"""Of the weights of resamples that are drawn together."""
_STRIP = 128
"""Resamples that compiled kernels process together: fewer take as long."""


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
    words: Vocabulary = TEAMS
    """The nouns for what is ranked, and on what."""


@dataclass(frozen=True, slots=True, eq=False)
class Resampling:
    """How the resamples of a board were drawn, and why there are none."""

    redrawn: int = 0
    """Number of resamples redrawn because they lacked a class."""
    undefined: int = 0
    """Number of resamples discarded because a score was undefined."""
    without: str = ""
    """Why there are no resamples, and so no intervals, in a sentence; empty: there are."""
    halves: bool = False
    """Whether each resample is half of the rows, because the metric refuses repeated rows."""
    weights: WeightArray | None = None
    """``(n, B)`` how often each row was drawn, for a metric that can only be called as a whole."""
    jackknife: Jackknife | None = None
    """Of such a metric, if it was called on parts of the rows."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivateBoard:
    """What is computed from the study of a board."""

    study: Study
    """With the rank sets and the interval for the best score."""
    corrected: CorrectedBest
    findings: tuple[Finding, ...]
    columns: Mapping[str, list[Any]]
    """The columns of the board, one value per submission in the order of the study."""


def study_of(
    metric: Metric,
    rows: RankedRows,
    teams: tuple[str, ...],
    submissions: IntArray,
    predictions: PredictionBlocks,
    scores: FloatArray,
    settings: BoardSettings,
    progress: Progress | None = None,
) -> tuple[Study, Resampling]:
    """Resample the scores of m submissions on n rows; of several of a team, the best counts.

    Nothing is computed from the resamples: see :func:`analyse`. Memory: see :func:`resample`.

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
    by_parts = metric if isinstance(metric, CombinedMetric) and metric.by_parts else None
    if isinstance(metric, CountsCases) and settings.intervals:
        metric, rows, predictions = _by_counts(metric, rows, predictions, settings)
    drawn: Any = metric if by_parts is None else EachPart(by_parts)
    several_parts = len([*_parts(drawn, len(rows.truth), settings.resamples)]) > 1
    if several_parts and settings.intervals and cluster_in_use() is None:
        predictions = in_memory(predictions)  # all parts need them
    resampled, resampling = resample(
        drawn,
        rows,
        predictions=predictions,
        scores=scores,
        settings=settings,
        progress=progress or NoProgress(),
    )
    influence = None if resampling.jackknife is None else resampling.jackknife.influence
    of_parts: FloatArray | None = None
    if by_parts is not None and not resampling.without:
        of_parts = resampled.reshape(len(by_parts.parts), len(scores), -1)
        resampled = round_significant(by_parts.combine(of_parts))
    best = best_of_each_team(scores, resampled, teams, greater_is_better=metric.greater_is_better)
    names = tuple(teams[position] for position in best.positions)
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
        influence=None if influence is None else influence.subset(best.positions),
        classes=rows.classes,
        tasks=rows.tasks,
        task_names=rows.task_names,
        soft_labels=rows.soft_labels,
        words=rows.words,
        parts=()
        if by_parts is None or of_parts is None
        else _parts_of(
            by_parts,
            rows,
            teams=names,
            submissions=submissions,
            predictions=predictions,
            resampled=of_parts,
            positions=best.positions,
            settings=settings,
        ),
        candidates=(
            Candidates(
                scores,
                resampled,
                predictions=predictions,
                counting=best.positions,
                team=np.array([codes[team] for team in teams]),
                influence=influence,
            )
            if len(best.positions) < len(scores)
            else None
        ),
    )
    return study, resampling


def _by_counts(
    metric: CountsCases, rows: RankedRows, predictions: PredictionBlocks, settings: BoardSettings
) -> tuple[Metric, RankedRows, PredictionBlocks]:
    """Return the cases that a metric counts in place of the rows, and the counts as predictions.

    Unchanged if it does not count the same number of cases of each submission.
    """
    counts = case_counts(metric, rows.truth, predictions, workers=settings.n_workers)
    sizes = {len(cases) for cases in counts}
    if modality_of(metric).has_rows:
        sizes.add(len(rows.truth))
    else:
        rows = replace(rows, words=replace(rows.words, row="case"))
    if len(sizes) > 1:
        return metric, rows, predictions
    cases = replace(rows, truth=np.zeros(sizes.pop()), classes=None, soft_labels=None)
    return MetricOfCounts(metric), cases, ArrayPredictions(np.stack(counts))


def _parts_of(
    metric: CombinedMetric,
    rows: RankedRows,
    teams: tuple[str, ...],
    submissions: IntArray,
    predictions: PredictionBlocks,
    resampled: FloatArray,
    positions: IntArray,
    settings: BoardSettings,
) -> tuple[Study, ...]:
    """Return a study of each part, of the submissions at these positions."""
    once = np.ones((len(rows.truth), 1), dtype=np.uint8)
    part_predictions = predictions.subset(positions)
    scores = scores_of_parts(
        metric, rows.truth, part_predictions, once, workers=settings.n_workers
    )[:, :, 0]
    return tuple(
        Study(
            metric=part.metric,
            truth=part.of_rows(rows.truth),
            teams=teams,
            submissions=submissions[positions],
            predictions=part.of_predictions(part_predictions),
            scores=part_scores,
            resampled=part_resamples[positions],
            level=settings.level,
            clusters=None if rows.clusters is None else part.of_rows(rows.clusters),
            classes=rows.classes,
            words=rows.words,
        )
        for part, part_scores, part_resamples in zip(metric.parts, scores, resampled, strict=True)
    )


def resample(
    metric: Metric,
    rows: RankedRows,
    predictions: PredictionBlocks,
    scores: FloatArray,
    settings: BoardSettings,
    *,
    progress: Progress,
) -> tuple[FloatArray, Resampling]:
    """Return the ``(m, B)`` scores under joint resamples of the rows, all finite.

    Those of a metric that can only be called as a whole follow from its scores on parts of the
    rows, unless these do not determine them or ``settings.full_bootstrap`` asks for a call on each
    resample. B = 0 if there is a reason to have none. Memory: the ``(n, B)`` weights at one byte
    each, 1 GB of them at a time unless the metric is called on each resample, the ``(m, B)``
    scores, and a few blocks of predictions; all of these, up to 1 GB, if the weights exceed 1 GB.

    Raises
    ------
    MetricError, UsageError
        As :func:`study_of`.
    """
    m, words = predictions.n_submissions, rows.words
    without = why_no_intervals(metric, settings)
    if without:
        return np.empty((m, 0)), Resampling(without=without)
    strata, halves = _strata(metric, rows, settings.stratify), False
    jackknife = None
    if is_black_box(metric) and settings.resamples > CALLS and not settings.full_bootstrap:
        jackknife = group_jackknife(
            metric,
            rows.truth,
            predictions,
            scores,
            strata=strata,
            clusters=rows.clusters,
            seed=settings.seed,
            workers=settings.n_workers,
            progress=progress,
        )
        if jackknife.influence is not None:
            drawn = resampled_linearly(
                metric,
                jackknife.influence,
                scores=scores,
                resamples=settings.resamples,
                seed=settings.seed,
            )
            return drawn, Resampling(jackknife=jackknife)
    resampled, weights, redrawn = _bootstrap(
        metric, rows, predictions=predictions, strata=strata, settings=settings, progress=progress
    )
    if resampled is None:
        halves, redrawn = True, 0
        progress.say(
            f"{metric.name} does not take {words.rows} that are drawn more than once: half of the "
            f"{words.rows} are drawn without replacement instead, which needs the number of calls "
            "again. Its message is shown with --verbose."
        )
        weights = draw_halves(
            len(rows.truth),
            settings.resamples,
            settings.seed,
            strata=strata,
            clusters=rows.clusters,
        )
        resampled = _resampled(
            metric,
            rows,
            predictions=predictions,
            drawn=weights,
            changed=0,
            workers=settings.n_workers,
            progress=progress,
        )
    if resampled is None:
        without = f"The metric takes neither repeated {words.rows} nor a part of them."
        return np.empty((m, 0)), Resampling(redrawn=redrawn, without=without)
    defined = np.isfinite(resampled).all(axis=0)
    if defined.sum() < 2:
        undefined_on = f"undefined on resamples of the {len(rows.truth):,} ranked {words.rows}"
        if not is_black_box(metric):
            raise MetricError(f"{metric.name} is {undefined_on}. Use more rows or another metric.")
        without = f"{metric.name} is {undefined_on}."
        return np.empty((m, 0)), Resampling(redrawn=redrawn, without=without)
    if not defined.all():
        resampled = resampled[:, defined]
        weights = None if weights is None else weights[:, defined]
    undefined = int((~defined).sum())
    return resampled, Resampling(
        redrawn, undefined, halves=halves, weights=weights, jackknife=jackknife
    )


def _bootstrap(
    metric: Metric,
    rows: RankedRows,
    predictions: PredictionBlocks,
    strata: IntArray | None,
    settings: BoardSettings,
    progress: Progress,
) -> tuple[FloatArray | None, WeightArray | None, int]:
    """Return the scores, or None if the metric takes no repeated rows, and how often was redrawn.

    In the middle are the weights, if the metric can only be called as a whole.
    """
    blocks, redrawn = [], 0
    weights: WeightArray | None = None
    for part in _parts(metric, len(rows.truth), settings.resamples):
        resamples = draw_resamples(
            len(rows.truth),
            part.stop - part.start,
            settings.seed,
            strata=strata,
            clusters=rows.clusters,
            required=_required(metric, rows),
            first=part.start,
            workers=settings.n_workers,
            memory=weights,
        )
        redrawn += resamples.redrawn
        weights, workers = resamples.weights, settings.n_workers
        of_part = _resampled(
            metric,
            rows,
            predictions=predictions,
            drawn=weights,
            changed=2,
            workers=workers,
            progress=progress,
        )
        if of_part is None or of_part.shape[1] == settings.resamples:
            return of_part, weights if is_black_box(metric) else None, redrawn
        blocks.append(of_part)
    return np.concatenate(blocks, axis=1), None, redrawn


def analyse(
    study: Study,
    settings: BoardSettings,
    manager: PluginManager,
    weights: WeightArray | None = None,
    progress: Progress | None = None,
    *,
    analyses: bool = True,
) -> PrivateBoard:
    """Rank the submissions of a study, correct its best score and run all analyses.

    Parameters
    ----------
    study
        From :func:`study_of`, with resamples.
    settings
        The ranker, the seed and the number of workers.
    manager
        The plugins. An analysis that fails is skipped, unless the ranker's plugin provides it.
    weights
        See :attr:`Resampling.weights`.
    progress
        Receives progress reports.
    analyses
        Whether the analyses of the plugins run.

    Raises
    ------
    RankingError
        If the ranker fails, or an analysis of its plugin.
    """
    progress = progress or NoProgress()
    study = replace(study, ranks=_rank_sets(study, settings.ranker, manager, progress))
    errors = score_errors(study.with_all_candidates())
    corrected = corrected_best(
        study,
        _generator(settings.seed, _CORRECTION_STREAM),
        errors=errors,
        may_be_first=_may_be_first(study),
        workers=settings.n_workers,
        progress=progress,
        drawn=None if weights is None else (weights, study.with_all_candidates().resampled),
    )
    if study.ranks is not None and study.ranks.not_offered is not None:
        corrected = corrected.withheld(study.ranks.not_offered)  # they need the same rows
    corrected, (low, high) = _score_intervals(study, corrected, errors)
    if study.candidates is None:  # else it is not that of these scores
        study = replace(study, best_interval=(corrected.low, corrected.high))
    columns = {"score_low": as_json(low), "score_high": as_json(high)}  # null where withheld
    columns |= {} if study.ranks is None else study.ranks.columns()
    if not analyses:
        return PrivateBoard(study, corrected, (), columns)
    findings, of_findings = _run_analyses(
        study, columns, settings=settings, manager=manager, progress=progress
    )
    return PrivateBoard(study, corrected, findings, columns | of_findings)


def _score_intervals(
    study: Study, corrected: CorrectedBest, errors: ScoreErrors
) -> tuple[CorrectedBest, tuple[FloatArray, FloatArray]]:
    """Return the corrected best score and the ends of each team's interval.

    Where the ranker gives intervals that hold at once with the ranks, those are the intervals of
    the winners and of the best true score, too.
    """
    sets = study.ranks
    if sets is None or sets.score_low is None or sets.score_high is None:
        low, high = intervals_of_teams(study, errors)
        return corrected, (round_significant(low), round_significant(high))
    low, high = round_significant(sets.score_low), round_significant(sets.score_high)
    if sets.not_offered is not None:
        nothing = np.full(len(low), np.nan)
        return corrected, (nothing, nothing)
    places = corrected.winners.submission
    ends = best_of_intervals(sets, greater_is_better=study.metric.greater_is_better)
    first = int(places[0])
    return (
        replace(
            corrected,
            estimate=float(np.clip(corrected.estimate, low[first], high[first])),
            low=ends[0],
            high=ends[1],
            reason=None,
            winner_low=float(low[first]),
            winner_high=float(high[first]),
            winner_reason=None,
            assumption="The intervals follow from what each part decides about each pair, or about "
            "each score, all at once; nothing is assumed about ties.",
            winners=replace(
                corrected.winners,
                low=low[places],
                high=high[places],
                reasons=(None,) * len(places),
            ),
        ),
        (low, high),
    )


def best_of_intervals(sets: RankSets, *, greater_is_better: bool) -> tuple[float, float]:
    """Return the ends of the best true score, from intervals of all scores at once.

    >>> sets = RankSets(
    ...     low=np.array([1, 1]), high=np.array([2, 2]), tier=np.array([1, 1]),
    ...     possible_winner=np.array([True, True]), level=0.95,
    ...     score_low=np.array([0.5, 0.6]), score_high=np.array([0.9, 0.8]))
    >>> best_of_intervals(sets, greater_is_better=True)
    (0.6, 0.9)
    """
    low, high, possible = sets.score_low, sets.score_high, sets.possible_winner
    if low is None or high is None:
        return float("nan"), float("nan")
    if greater_is_better:
        return float(low.max()), float(high[possible].max())
    return float(low[possible].min()), float(high.min())


def _may_be_first(study: Study) -> npt.NDArray[np.bool_] | None:
    """Return which submissions may be first by the ranks; None: these do not tell.

    With several candidates of a team any of them may be the best, and not only the selected one.
    """
    sets = study.ranks
    if sets is None or sets.not_offered is not None or study.candidates is not None:
        return None
    return sets.possible_winner


@contextmanager
def _naming_a_board_without() -> Iterator[None]:
    """Turn an error of a plugin into one that says how to get a board without its ranks.

    Raises
    ------
    RankingError
        If a plugin fails.
    """
    try:
        yield
    except PluginError as error:
        raise RankingError(
            f"{error} --no-intervals, or for a competition intervals = false under [analysis], "
            "gives a board of scores and ranks without it."
        ) from error


@_naming_a_board_without()
def _rank_sets(
    study: Study, ranker: str, manager: PluginManager, progress: Progress
) -> RankSets | None:
    """Return the rank sets of the chosen ranker; None if no plugin is meant to provide one.

    Raises
    ------
    UnknownNameError
        If there is no such ranker.
    RankingError
        If the ranker fails, or its sets do not fit the study.
    """
    rankers = manager.rankers
    if not len(rankers) and not any(plugin.failed_to_load for plugin in manager.plugins):
        return None
    chosen = rankers.resolve(ranker)
    progress.start("Ranking", 1)
    return_freed_memory()
    with attributed_unquoted(rankers.plugin_of(ranker), f"ranking by {chosen.name!r}"):
        sets = chosen.rank(study)
        for name, values in sets.columns().items():
            if len(values) != len(study.teams):
                raise ValueError(
                    f"{name} has {plural(len(values), 'value')} for "
                    f"{plural(len(study.teams), 'submission')}"
                )
    progress.advance()
    return sets


def _parts(metric: Metric, n_rows: int, resamples: int) -> Iterator[slice]:
    """Yield the resamples that are drawn and scored together: their weights are held.

    All at once for a metric that is called as a whole, which is not scored on them twice.
    """
    most = resamples if is_black_box(metric) else max(1, WEIGHT_BYTES // n_rows)
    if _STRIP < most < resamples:
        most -= most % _STRIP
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
    arguments: dict[str, Any] = {"workers": workers, "progress": progress}
    try:
        return score_under_weights(
            metric, rows.truth, predictions, drawn, must_take_rows=True, **arguments
        )
    except DrawnRowsError:
        units = np.arange(len(rows.truth)) if rows.clusters is None else rows.clusters
        probe = np.where(units == units[0], changed, 1).astype(np.uint8)[:, np.newaxis]
        first = predictions.subset(np.array([0]))
        if np.isnan(score_under_weights(metric, rows.truth, first, probe, **arguments)).all():
            return None
    return score_under_weights(metric, rows.truth, predictions, drawn, **arguments)


def why_no_intervals(metric: Metric, settings: BoardSettings) -> str:
    """Return why a board gets no intervals, in a sentence; empty if it does."""
    if not settings.intervals:
        return "No intervals were requested."
    if modality_of(metric).has_rows:
        return ""
    if isinstance(metric, CountsCases):  # else its counts are resampled
        return "The metric does not count the same number of cases of each submission."
    return "The metric reads whole files, so that no rows can be resampled."


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
    tasks = tasks_of(metric)
    parts = [rows.truth] if tasks is None else [rows.truth[tasks == t] for t in np.unique(tasks)]
    fewest = min(len(np.unique(truth)) for truth in parts)
    if fewest < len(rows.classes):
        if tasks is not None:
            raise MetricError(
                f"{metric.name} needs every class in every task, but a task has only {fewest} of "
                f"{len(rows.classes)}."
            )
        raise MetricError(
            f"{metric.name} needs every class, but only {fewest} of {len(rows.classes)} occur in "
            f"the {plural(len(rows.truth), 'ranked row')}."
        )


def _required(metric: Metric, rows: RankedRows) -> IntArray | None:
    """Return codes of which a resample needs each: classes, tasks, or the classes of each task."""
    if traits_of(metric).needs_every_class and rows.classes is not None:
        return within_tasks(metric, np.asarray(rows.truth, dtype=np.intp))
    return tasks_of(metric)


def _strata(metric: Metric, rows: RankedRows, stratify: bool | None) -> IntArray | None:
    """Return the codes within which rows are drawn; None: among all, or whole clusters."""
    by_class = _by_class(metric, rows, stratify)
    return by_class if rows.clusters is not None else within_tasks(metric, by_class)


def _by_class(metric: Metric, rows: RankedRows, stratify: bool | None) -> IntArray | None:
    if stratify is None:
        stratify = traits_of(metric).stratify_by_class and rows.clusters is None
        return rows.truth if stratify and rows.classes is not None else None
    if not stratify:
        return None
    if rows.classes is None:
        raise UsageError("Resamples can be stratified by class only for a single label target.")
    return rows.truth


def analysis_generator(seed: int, position: int) -> np.random.Generator:
    """Return the random numbers of the analysis at a position among those of a board."""
    return _generator(seed, (*_ANALYSIS_STREAM, position))


def _generator(seed: int, stream: tuple[int, ...]) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=stream))


@_naming_a_board_without()
def _run_analyses(
    study: Study,
    own_columns: Mapping[str, list[Any]],
    settings: BoardSettings,
    manager: PluginManager,
    progress: Progress,
) -> tuple[tuple[Finding, ...], dict[str, list[Any]]]:
    """Return the findings, and their columns; ``own_columns`` are those of the board.

    Raises
    ------
    RankingError
        If an analysis of the ranker's plugin fails: its verdict belongs to the ranks.
    """
    of_ranker = None if study.ranks is None else manager.rankers.plugin_of(settings.ranker)
    findings: list[Finding] = []
    columns: dict[str, list[Any]] = {}

    def guard(entry: Entry[Analysis], action: str) -> AbstractContextManager[None]:
        one_guard = attributed_unquoted if entry.plugin == of_ranker else manager.guarded
        return one_guard(entry.plugin, f"{action} {entry.name!r}")

    applicable = []
    for entry in manager.analyses:
        with guard(entry, "asking whether a board suits the analysis"):
            if not isinstance(entry.item, SuitsStudies) or entry.item.suits(study):
                applicable.append(entry)
    for position, entry in enumerate(applicable):
        progress.start(f"Running the analysis {entry.name}", 1)
        return_freed_memory()
        with guard(entry, "running the analysis"):
            answer = entry.item.run(study, analysis_generator(settings.seed, position))
            finding = checked(answer, Finding)
            for name, values in finding.columns.items():
                if name in columns or name in own_columns:
                    raise ValueError(f"the column {name!r} already exists on the board")
                if len(values) != len(study.teams):
                    raise ValueError(
                        f"the column {name!r} has {plural(len(values), 'value')} for "
                        f"{len(study.teams)} submissions"
                    )
            findings.append(finding)
            columns |= {name: list(values) for name, values in finding.columns.items()}
        progress.advance()
    return tuple(findings), columns
