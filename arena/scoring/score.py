"""Scores a folder of submissions once: from files to a private board with its uncertainty."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.errors import InputError
from arena.evaluation.binding import bind
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric, served_metric
from arena.evaluation.similar import (
    SimilarSubmissions,
    describe_similar,
    similar_submissions,
)
from arena.evaluation.solution_metric import metric_of_solution
from arena.intake import solution_source, submission_files
from arena.intake.memory import describe_data
from arena.interfaces import Metric, notes_of
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.scoring.admit import admit
from arena.scoring.board import BoardRun, HoldsPredictions, ranked_rows
from arena.scoring.columns import meaning_of_columns
from arena.scoring.memory_store import MemoryStore
from arena.scoring.private_board import check_defined
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import ScoreResult
from arena.scoring.settings import ScoreSettings, score_settings
from arena.scoring.splits import rows_of
from arena.scoring.submissions import competition_info, read_truth
from arena.types import Solution, SubmissionRecord
from arena.utils.parallel import Progress
from arena.utils.progress import shown
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena.store import Store

_SIMILAR_SHOWN = 20


def score(
    solution: Any,
    submissions: Any,
    settings: ScoreSettings | str | None = None,
    *,
    metric: str | Sequence[str] | None = None,
    combine: str | None = None,
    weights: Mapping[str, float] | None = None,
    brackets: Mapping[str, Collection[str]] | None = None,
    id: str | None = None,
    target: str | Sequence[str] | None = None,
    usage: str | None = None,
    positive: str | float | None = None,
    classes: Sequence[str | float] | None = None,
    cluster: str | None = None,
    time: str | None = None,
    tasks: str | None = None,
    weight: str | None = None,
    soft_labels: str | Sequence[str] | None = None,
    submission_columns: str | Sequence[str] | None = None,
    no_header: Sequence[str] | None = None,
    split: str | None = None,
    database: str | Path | None = None,
    resamples: int | None = None,
    level: float | None = None,
    seed: int | None = None,
    stratify: bool | None = None,
    workers: int | None = None,
    intervals: bool | None = None,
    ranker: str | None = None,
    full_bootstrap: bool | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> ScoreResult:
    """Read, check, store, score and rank submissions.

    Data in memory are checked like files, with the same messages.

    Predictions are processed in blocks of 128 MB, or of four submissions of a pointwise metric up
    to 512 MB. Memory: the ``(n, B)`` weights of the resamples at one byte each, the ``(m, B)``
    scores, and a few ``(m, m)`` arrays.

    Parameters
    ----------
    solution
        An id column, target columns and optionally a usage column: the path of a CSV or Parquet
        file, a data frame (pandas, polars, pyarrow, or another with the Arrow PyCapsule interface),
        a dictionary of columns, or an array ``(n,)`` of the truth. All rows of data without a
        usage column are private, and so are ranked.
    submissions
        A path or several: files, or folders of ``team.csv`` or ``team/anything.csv``. Or a
        dictionary of team -> submission, each a path, a data frame, a dictionary of columns, or an
        array ``(n,)`` or ``(n, n_columns)`` in the order of the solution's rows.
    settings
        All settings as one object, instead of the keywords below; or the metric.
    metric
        A specification such as ``roc_auc`` or ``f1(average=macro)``; of several, the first ranks
        and the others become columns, unless they are combined.
    combine
        ``mean``, ``rows``, ``geometric``, ``worst`` or ``mean_rank``: how the scores by all
        metrics, on each task if there are tasks, become one. None: rows of all tasks count alike.
    weights
        Metric or task -> weight in the combination; others have 1.
    brackets
        Name -> names of teams: each bracket is also ranked separately, and the level holds for all
        brackets at once. The boards are the finding ``brackets``.
    id, target, usage, positive, classes, cluster, time, tasks, weight, soft_labels, \
    submission_columns
        The roles of the solution's columns, as in ``competition.toml``; see
        :class:`~arena.types.SolutionColumns`.
    no_header
        The names of all columns of a solution without a header line.
    split
        The ranked rows: ``private`` (default), ``public`` or ``all``.
    database
        As :attr:`~arena.scoring.settings.ScoreSettings.database`.
    resamples, level, seed, stratify, workers, intervals, ranker
        See :class:`~arena.scoring.settings.BoardSettings`.
    manager
        The plugins; None: the installed ones.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Returns
    -------
    The standings, the rejected files and the findings of all analyses. The standings are empty if
    every file was rejected.

    Raises
    ------
    InputError
        If the solution or a path is invalid.
    UsageError
        If an argument is invalid; the message names the value.
    UnknownNameError
        If no plugin provides the metric.
    MetricError
        If the metric is undefined on the ranked rows.
    PluginError
        If the metric fails on all rows of a submission.
    StoreError
        If the database cannot be used.

    Examples
    --------
    >>> truth = {"id": ["a", "b", "c", "d"], "y": [1, 0, 1, 0]}
    >>> teams = {"one": [0.9, 0.2, 0.6, 0.1], "two": [0.9, 0.8, 0.6, 0.7]}
    >>> board = score(truth, teams, metric="roc_auc", resamples=50)
    >>> board.to_frame()[["rank", "team", "score"]].to_numpy().tolist()
    [[1, 'one', 1.0], [2, 'two', 0.5]]
    """
    settings = score_settings(
        settings,
        metric,
        combine=combine,
        weights=weights,
        brackets=brackets,
        id=id,
        target=target,
        usage=usage,
        positive=positive,
        classes=classes,
        cluster=cluster,
        time=time,
        tasks=tasks,
        weight=weight,
        soft_labels=soft_labels,
        submission_columns=submission_columns,
        no_header=no_header,
        split=split,
        database=database,
        resamples=resamples,
        level=level,
        seed=seed,
        stratify=stratify,
        workers=workers,
        intervals=intervals,
        ranker=ranker,
        full_bootstrap=full_bootstrap,
    )
    manager = manager or PluginManager()
    with (
        shown(progress) as display,
        admitted(
            solution, submissions, settings=settings, manager=manager, progress=display
        ) as folder,
    ):
        ranked = folder.run.result(folder.counting, rejected=folder.rejected, notes=folder.notes)
        result = replace(ranked, similar=folder.similar)
    run = folder.run
    manager.competition_finalized(result, competition_info(run.metric, run.solution))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class AdmittedFolder:
    """Submissions that were read and stored, to be scored while the store is open."""

    run: BoardRun
    counting: Sequence[SubmissionRecord]
    """The last accepted submission of each team."""
    rejected: Sequence[RejectedFile]
    similar: tuple[SimilarSubmissions, ...]
    """Similar submissions of different teams."""
    notes: Sequence[str]
    """Automatic decisions and warnings, in sentences."""


@contextmanager
def admitted(
    solution: Any,
    submissions: Any,
    settings: ScoreSettings,
    manager: PluginManager,
    progress: Progress,
) -> Iterator[AdmittedFolder]:
    """Read, check and store submissions; the arguments and exceptions are those of :func:`score`.

    A temporary store is removed when the block ends.
    """
    names = (settings.metric, *settings.others)
    singles: dict[str, Metric] = {name: manager.metrics.resolve(name) for name in names}
    reader = singles[settings.metric]
    if settings.others or settings.combination is not None:
        by_ranks = Combination("mean_rank")  # to read them, metrics of any direction do
        by_task = settings.columns.tasks is not None
        reader = combined_metric(singles, settings.combination or by_ranks, by_task=by_task)
    truth = read_truth(solution_source(solution), reader, settings.columns)
    each = {name: metric_of_solution(metric, truth) for name, metric in singles.items()}
    outline = truth.outline()
    served = {name: served_metric(name, metric, outline) for name, metric in each.items()}
    scored = served.pop(settings.metric)
    if settings.combination is not None:
        scored = combined_metric(each, settings.combination, by_task=by_task, solution=truth)
        served = {}
    with attributed_unquoted(manager.metrics.plugin_of(settings.metric), f"binding {scored.name}"):
        bound = bind(scored, truth, rows_of(truth, settings.split))
    check_defined(bound, ranked_rows(truth, settings.split))
    files = submission_files(submissions, truth)
    if not files:
        paths = [submissions] if isinstance(submissions, str | Path) else submissions
        where = ", ".join(map(str, paths)) if isinstance(paths, list | tuple) else ""
        raise InputError(f"There are no submissions in {where or describe_data(submissions)}.")
    with _opened(settings.database, truth, len(files)) as store:
        records = admit(
            store,
            files,
            solution=truth,
            metric=scored,
            manager=manager,
            workers=settings.board.n_workers,
            progress=progress,
            no_header=settings.columns.no_header,
        )
        rejected = [
            RejectedFile(record.file, record.faults)
            for record in records
            if record.status == "rejected"
        ]
        counting, notes = _last_of_each_team(records)
        run = BoardRun(
            specification=settings.metric if settings.combination is None else scored.name,
            metric=scored,
            solution=truth,
            split=settings.split,
            settings=settings.board,
            store=store,
            manager=manager,
            progress=progress,
            secondary=served,
            brackets=settings.brackets,
            provider=manager.metrics.plugin_of(settings.metric),
        )
        similar = similar_files(store, counting, truth)
        notes += notes_on_similar(similar)
        all_notes = (
            *notes_of(reader),
            *meaning_of_columns(truth, reader, *served.values()),
            *notes,
        )
        yield AdmittedFolder(run, counting, rejected=rejected, similar=similar, notes=all_notes)


@contextmanager
def _opened(database: Path | None, truth: Solution, n_files: int) -> Iterator[Store | MemoryStore]:
    """Yield what submissions are stored in; without a path it is in memory or temporary."""
    if database is None and MemoryStore.holds(truth, n_files):
        yield MemoryStore(truth, n_files)
        return
    from arena.store import Store

    with Store.open(database) as store:
        store.put_solution(truth)
        yield store


def similar_files(
    store: HoldsPredictions, records: Sequence[SubmissionRecord], solution: Solution
) -> tuple[SimilarSubmissions, ...]:
    """Return the pairs of similar submissions of different teams."""
    if len(records) < 2:
        return ()
    numbers, teams = zip(*((record.submission, record.team) for record in records), strict=True)
    return similar_submissions(store.predictions(numbers), numbers, teams, solution.kind)


def notes_on_similar(pairs: Sequence[SimilarSubmissions]) -> list[str]:
    """Return sentences on the first pairs, and how many more there are."""
    notes = [describe_similar(pair) for pair in pairs[:_SIMILAR_SHOWN]]
    more = len(pairs) - len(notes)
    if more:
        notes.append(f"Such submissions are in {plural(more, 'further pair')} of teams.")
    return notes


def _last_of_each_team(
    records: Sequence[SubmissionRecord],
) -> tuple[list[SubmissionRecord], list[str]]:
    """Return each team's last accepted file by name, and notes on teams with several files."""
    sent_by_team: dict[str, dict[int, SubmissionRecord]] = {}
    for record in sorted(records, key=lambda record: record.file):
        if record.status == "accepted":
            sent_by_team.setdefault(record.team, {})[record.submission] = record
    last = {team: list(files_of_team.values())[-1] for team, files_of_team in sent_by_team.items()}
    notes = [
        f"{team} has {plural(len(sent_by_team[team]), 'valid file')}; {record.file}, the last by "
        "name, counts."
        for team, record in last.items()
        if len(sent_by_team[team]) > 1
    ]
    return sorted(last.values(), key=lambda record: record.submission), notes
