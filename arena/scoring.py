"""Score a folder of submissions once: from files to a private board with its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.admission import admit, competition_info, examine
from arena.errors import InputError
from arena.execution import Progress, Silence
from arena.intake import find_submissions, read_solution
from arena.interfaces import Metric, PredictionBlocks, traits_of
from arena.leaderboard import best_first, minimum_ranks
from arena.plugin_info import attributed
from arena.plugin_manager import PluginManager
from arena.private_board import PrivateBoard, RankedRows, check_defined, judge
from arena.resampling import full_scores
from arena.score_result import STANDING_COLUMNS, RejectedFile, ScoreResult
from arena.score_settings import SPLITS, ScoreSettings, SolutionColumns
from arena.store import Store
from arena.targets import mean_over_targets
from arena.types import Fault, FloatArray, Solution, SubmissionRecord

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
    metric = manager.metrics.resolve(settings.metric)
    truth = _read_solution(solution, metric, settings.columns)
    metric = mean_over_targets(metric, len(truth.targets))
    check_defined(metric, _ranked_rows(truth, settings.split))
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
        scoring = _Scoring(settings, truth, metric, store, manager, progress)
        with attributed(manager.metrics.plugin_of(settings.metric), f"scoring {metric.name}"):
            result = scoring.result(records)
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
    truth = _read_solution(solution, resolved, columns or SolutionColumns())
    files = find_submissions(submissions)
    accepted, rejected = [], []
    for file, read in examine(files, truth, resolved, manager, workers=workers):
        if read.values is None:
            rejected.append(RejectedFile(file.name, read.faults))
        else:
            accepted.append(file.name)
    return tuple(accepted), tuple(rejected)


def _read_solution(path: Path, metric: Metric, columns: SolutionColumns) -> Solution:
    traits = traits_of(metric)
    return read_solution(
        path,
        kind=metric.prediction,
        id_column=columns.id,
        target_columns=columns.targets or None,
        usage_column=columns.usage,
        positive=columns.positive,
        cluster_column=columns.cluster,
        max_classes=traits.max_classes,
        truth_range=traits.truth_range,
    )


def _rows_of(solution: Solution, split: str) -> npt.NDArray[np.bool_]:
    return np.isin(solution.usage, SPLITS[split])


def _ranked_rows(solution: Solution, split: str) -> RankedRows:
    rows = _rows_of(solution, split)
    classes = solution.targets[0].classes if len(solution.targets) == 1 else None
    clusters = None
    if solution.clusters is not None:
        clusters = np.unique(solution.clusters[rows], return_inverse=True)[1].astype(np.intp)
    return RankedRows(solution.truth[rows], classes, clusters)


@dataclass(frozen=True, slots=True)
class _Scoring:
    settings: ScoreSettings
    solution: Solution
    metric: Metric
    store: Store
    manager: PluginManager
    progress: Progress

    def result(self, records: Sequence[SubmissionRecord]) -> ScoreResult:
        rejected = [
            RejectedFile(record.file, record.faults)
            for record in records
            if record.status == "rejected"
        ]
        counting, notes = _last_of_each_team(records)
        rows = _ranked_rows(self.solution, self.settings.split)
        scores = self.scores(counting, self.settings.split)
        defined = np.isfinite(scores)
        rejected += [self.undefined(counting[at]) for at in np.flatnonzero(~defined)]
        counting = [counting[at] for at in np.flatnonzero(defined)]
        board = None
        if counting:
            board = judge(
                self.metric,
                rows,
                tuple(record.team for record in counting),
                np.array([record.submission for record in counting], dtype=np.intp),
                self.predictions(counting, self.settings.split),
                self.settings.board,
                self.manager,
                self.progress,
            )
        return self.assemble(board, counting, tuple(rejected), (*self.notes(board), *notes))

    def predictions(self, records: Sequence[SubmissionRecord], split: str) -> PredictionBlocks:
        ids = [record.submission for record in records]
        return self.store.predictions(ids, rows=_rows_of(self.solution, split))

    def scores(self, records: Sequence[SubmissionRecord], split: str) -> FloatArray:
        rows = _rows_of(self.solution, split)
        if not records or not rows.any():
            return np.full(len(records), np.nan)
        predictions = self.predictions(records, split)
        workers = self.settings.board.n_workers
        return full_scores(self.metric, self.solution.truth[rows], predictions, workers=workers)

    def undefined(self, record: SubmissionRecord) -> RejectedFile:
        message = (
            f"{self.metric.name} has no finite value for these predictions, so they cannot be "
            f"ranked. Look for extreme values, such as a probability of exactly 0 or 1, and for "
            f"predictions that are all alike."
        )
        return RejectedFile(record.file, (Fault("undefined score", message),))

    def notes(self, board: PrivateBoard | None) -> list[str]:
        if board is None:
            return []
        notes = []
        if board.redrawn:
            notes.append(f"{board.redrawn:,} resamples lacked a class and were drawn again.")
        if board.undefined:
            notes.append(
                f"{board.undefined:,} resamples were left out: a score was not defined in them."
            )
        return notes

    def assemble(
        self,
        board: PrivateBoard | None,
        records: Sequence[SubmissionRecord],
        rejected: tuple[RejectedFile, ...],
        notes: tuple[str, ...],
    ) -> ScoreResult:
        target = self.solution.targets[0]
        binary = target.classes is not None and len(target.classes) == 2
        corrected = board.corrected if board else None
        return ScoreResult(
            metric=self.settings.metric,
            greater_is_better=self.metric.greater_is_better,
            split=self.settings.split,
            n_rows=int(_rows_of(self.solution, self.settings.split).sum()),
            positive=target.classes[1] if binary and target.classes else None,
            resamples=board.study.resampled.shape[1] if board else 0,
            resamples_redrawn=board.redrawn if board else 0,
            resamples_undefined=board.undefined if board else 0,
            level=self.settings.board.level,
            seed=self.settings.board.seed,
            standings=self.standings(board, records) if board else (),
            best_score_corrected={
                "estimate": corrected.estimate if corrected else None,
                "low": corrected.low if corrected else None,
                "high": corrected.high if corrected else None,
            },
            rejected=rejected,
            findings=board.findings if board else (),
            notes=notes,
        )

    def standings(
        self, board: PrivateBoard, records: Sequence[SubmissionRecord]
    ) -> tuple[Mapping[str, Any], ...]:
        better = self.metric.greater_is_better
        scores = board.study.scores
        ranks = minimum_ranks(scores, greater_is_better=better)
        public, public_ranks = self.public_scores(records)
        standings = []
        for at in best_first(scores, greater_is_better=better):
            delivered = {name: values[at] for name, values in board.columns.items()}
            own = {
                "rank": int(ranks[at]),
                "team": records[at].team,
                "submission": records[at].submission,
                "file": records[at].file,
                "score": float(scores[at]),
                "public_score": public[at],
                "public_rank": public_ranks[at],
            }
            standings.append({**dict.fromkeys(STANDING_COLUMNS), **delivered, **own})
        return tuple(standings)

    def public_scores(
        self, records: Sequence[SubmissionRecord]
    ) -> tuple[list[float | None], list[int | None]]:
        """Score on the public rows at full precision; None where there is none."""
        scores = self.scores(records, "public")
        defined = np.flatnonzero(np.isfinite(scores))
        shown: list[float | None] = [None] * len(scores)
        ranks: list[int | None] = [None] * len(scores)
        ranked = minimum_ranks(scores[defined], greater_is_better=self.metric.greater_is_better)
        for at, rank in zip(defined, ranked, strict=True):
            shown[at], ranks[at] = float(scores[at]), int(rank)
        return shown, ranks


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
