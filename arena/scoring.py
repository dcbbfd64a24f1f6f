"""Score a folder of submissions once: from files to a private board with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from arena.admission import admit, competition_info, examine, read_truth
from arena.board_run import BoardRun, ranked_rows, rows_of
from arena.errors import InputError
from arena.execution import Progress, Silence
from arena.intake import find_submissions
from arena.interfaces import Metric, notes_of
from arena.plugin_info import attributed_unquoted
from arena.plugin_manager import PluginManager
from arena.private_board import check_defined
from arena.row_context import bind
from arena.score_result import RejectedFile, ScoreResult
from arena.score_settings import ScoreSettings, SolutionColumns
from arena.store import Store
from arena.targets import mean_over_targets
from arena.types import SubmissionRecord

__all__ = ["score", "validate"]


def score(
    solution: Path,
    submissions: Sequence[Path],
    settings: ScoreSettings,
    *,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> ScoreResult:
    """Read, check, store, score and rank submissions.

    Predictions pass through in blocks of 64 MB; what is held is the ``(n, B)`` weights of the
    resamples, one byte each, the ``(m, B)`` scores, and a few ``(m, m)`` arrays.

    Parameters
    ----------
    solution
        CSV or Parquet with an id column, target columns and, if wished, a usage column.
    submissions
        Files, or folders of ``team.csv`` or ``team/anything.csv``.
    settings
        Everything else.
    manager
        The plugins; None: those that are installed.
    progress
        Hears how far it has come.

    Returns
    -------
    The standings, what was rejected, and the findings of every analysis. No standings if every
    file was rejected.

    Raises
    ------
    InputError
        If the solution or a path cannot be used.
    UnknownNameError
        If no plugin provides the metric.
    MetricError
        If the metric is not defined on the ranked rows.
    PluginError
        If the metric fails on all rows of a submission.
    StoreError
        If the database cannot be used.
    """
    manager, progress = manager or PluginManager(), progress or Silence()
    single: Metric = manager.metrics.resolve(settings.metric)
    truth = read_truth(solution, single, settings.columns)
    metric = mean_over_targets(single, len(truth.targets))
    with attributed_unquoted(manager.metrics.plugin_of(settings.metric), f"binding {metric.name}"):
        bind(metric, truth, rows_of(truth, settings.split))
    check_defined(metric, ranked_rows(truth, settings.split))
    files = find_submissions(submissions)
    if not files:
        raise InputError(f"There is no submission in {', '.join(map(str, submissions))}.")
    with Store.open(settings.database) as store:
        store.put_solution(truth)
        records = admit(
            store,
            files,
            truth,
            metric,
            manager,
            workers=settings.board.n_workers,
            progress=progress,
        )
        rejected = [
            RejectedFile(record.file, record.faults)
            for record in records
            if record.status == "rejected"
        ]
        counting, notes = _last_of_each_team(records)
        run = BoardRun(
            settings.metric, metric, truth, settings.split, settings.board, store, manager, progress
        )
        result = run.result(counting, rejected=rejected, notes=(*notes_of(single), *notes))
    manager.competition_finalized(result, competition_info(metric, truth))
    return result


def validate(
    solution: Path,
    submissions: Sequence[Path],
    metric: str,
    columns: SolutionColumns | None = None,
    *,
    manager: PluginManager | None = None,
    workers: int = 1,
) -> tuple[tuple[str, ...], tuple[RejectedFile, ...]]:
    """Return the names of the valid files, and the rejected ones with every fault.

    Nothing is stored.

    Raises
    ------
    InputError
        If the solution or a path cannot be used.
    UnknownNameError
        If no plugin provides the metric.
    """
    manager = manager or PluginManager()
    resolved = manager.metrics.resolve(metric)
    truth = read_truth(solution, resolved, columns or SolutionColumns())
    files = find_submissions(submissions)
    accepted, rejected = [], []
    for file, read in examine(files, truth, resolved, manager, workers=workers):
        if read.values is None:
            rejected.append(RejectedFile(file.name, read.faults))
        else:
            accepted.append(file.name)
    return tuple(accepted), tuple(rejected)


def _last_of_each_team(
    records: Sequence[SubmissionRecord],
) -> tuple[list[SubmissionRecord], list[str]]:
    """Keep each team's last accepted file by name, and say whose others do not count."""
    sent: dict[str, dict[int, SubmissionRecord]] = {}
    for record in sorted(records, key=lambda record: record.file):
        if record.status == "accepted":
            sent.setdefault(record.team, {})[record.submission] = record
    last = {team: list(own.values())[-1] for team, own in sent.items()}
    notes = [
        f"{team} sent {len(sent[team])} valid files; {record.file}, the last by name, counts."
        for team, record in last.items()
        if len(sent[team]) > 1
    ]
    return sorted(last.values(), key=lambda record: record.submission), notes
