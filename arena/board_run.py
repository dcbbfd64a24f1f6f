"""From stored submissions to the board of a split, with everything that is printed of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import ScoringError
from arena.execution import Progress
from arena.interfaces import Metric, PredictionBlocks
from arena.leaderboard import best_first, minimum_ranks
from arena.plugin_info import attributed_unquoted, say_failure
from arena.plugin_manager import PluginManager
from arena.private_board import BoardSettings, PrivateBoard, RankedRows, judge
from arena.resampling import full_scores
from arena.row_context import BoundMetric, clusters_of
from arena.score_result import STANDING_COLUMNS, RejectedFile, ScoreResult
from arena.score_settings import SPLITS
from arena.store import Store
from arena.types import Fault, FloatArray, Solution, SubmissionRecord

__all__ = ["BoardRun", "ranked_rows", "rows_of"]

_RESAMPLES_WORTH_PRINTING = 1_000
_ROWS_WORTH_RESAMPLING = 30


def rows_of(solution: Solution, split: str) -> npt.NDArray[np.bool_]:
    """Return the mask ``(n,)`` of the rows of a split: ``private``, ``public`` or ``all``."""
    return np.isin(solution.usage, SPLITS[split])


def ranked_rows(solution: Solution, split: str) -> RankedRows:
    """Return the truth of a split, what stands beside it, and its clusters coded from 0."""
    rows = rows_of(solution, split)
    classes = solution.targets[0].classes if len(solution.targets) == 1 else None
    tasks = None if solution.tasks is None else solution.tasks[rows]
    clusters = clusters_of(solution, rows)
    soft = None if solution.soft_labels is None else solution.soft_labels[rows]
    return RankedRows(solution.truth[rows], classes, clusters, tasks, solution.task_names, soft)


@dataclass(frozen=True, slots=True)
class BoardRun:
    """Judges stored submissions on a split of the solution, and puts the result together."""

    specification: str
    """The metric as it was asked for."""
    metric: Metric
    solution: Solution
    split: str
    settings: BoardSettings
    store: Store
    manager: PluginManager
    progress: Progress
    bound: BoundMetric = field(init=False)
    """The metric, for the rows of a split."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "bound", BoundMetric(self.metric, self.solution))

    def result(
        self,
        records: Sequence[SubmissionRecord],
        *,
        rejected: Sequence[RejectedFile] = (),
        notes: Sequence[str] = (),
    ) -> ScoreResult:
        """Return the board of these accepted submissions.

        Several of one team count by the best of them on the split, found anew in every resample.
        A submission whose score is not finite joins the rejected.

        Raises
        ------
        MetricError
            If the metric is not defined on the split.
        PluginError
            If the metric fails.
        """
        plugin = self.manager.metrics.plugin_of(self.specification)
        with attributed_unquoted(plugin, f"scoring {self.metric.name}"):
            failures: list[tuple[int, ScoringError]] = []
            scores = self._scores(records, self.split, failures)
            defined = np.isfinite(scores)
            failed = dict(failures)
            undefined = [
                self._undefined(records[at], failed.get(at))
                for at in np.flatnonzero(~defined).tolist()
            ]
            counting = [records[at] for at in np.flatnonzero(defined).tolist()]
            board = self._judge(counting) if counting else None
            return self._assemble(
                board,
                {record.submission: record for record in counting},
                (*rejected, *undefined),
                (*_notes(board), *notes),
            )

    def unranked(self, record: SubmissionRecord) -> dict[str, Any]:
        """Return how a submission that is not ranked does: the organiser's baseline."""
        scores = (float(self._scores([record], split)[0]) for split in (self.split, "public"))
        score, public = (value if np.isfinite(value) else None for value in scores)
        return {
            "team": record.team,
            "submission": record.submission,
            "file": record.file,
            "score": score,
            "public_score": public,
        }

    def _judge(self, records: Sequence[SubmissionRecord]) -> PrivateBoard:
        return judge(
            self.bound.on(rows_of(self.solution, self.split)),
            ranked_rows(self.solution, self.split),
            tuple(record.team for record in records),
            np.array([record.submission for record in records], dtype=np.intp),
            self._predictions(records, self.split),
            self.settings,
            self.manager,
            self.progress,
        )

    def _predictions(self, records: Sequence[SubmissionRecord], split: str) -> PredictionBlocks:
        ids = [record.submission for record in records]
        return self.store.predictions(ids, rows=rows_of(self.solution, split))

    def _scores(
        self,
        records: Sequence[SubmissionRecord],
        split: str,
        failures: list[tuple[int, ScoringError]] | None = None,
    ) -> FloatArray:
        """Return the scores on a split, and add what the metric failed on; NaN where it did."""
        rows = rows_of(self.solution, split)
        if not records or not rows.any():
            return np.full(len(records), np.nan)
        predictions = self._predictions(records, split)
        workers = self.settings.n_workers
        metric = self.bound.on(rows)
        failed = [] if failures is None else failures
        truth = self.solution.truth[rows]
        return full_scores(metric, truth, predictions, workers=workers, failures=failed)

    def _undefined(self, record: SubmissionRecord, error: ScoringError | None) -> RejectedFile:
        if error is not None:
            say_failure(error, record.file)
            return RejectedFile(record.file, (Fault(error.kind, error.shown),))
        message = (
            f"{self.metric.name} has no finite value for these predictions, so they cannot be "
            f"ranked. Look for extreme values, such as a probability of exactly 0 or 1, and for "
            f"predictions that are all alike."
        )
        return RejectedFile(record.file, (Fault("undefined score", message),))

    def _assemble(
        self,
        board: PrivateBoard | None,
        records: Mapping[int, SubmissionRecord],
        rejected: tuple[RejectedFile, ...],
        notes: tuple[str, ...],
    ) -> ScoreResult:
        target = self.solution.targets[0]
        binary = target.classes is not None and len(target.classes) == 2
        corrected = board.corrected if board else None
        return ScoreResult(
            metric=self.specification,
            greater_is_better=self.metric.greater_is_better,
            split=self.split,
            n_rows=int(rows_of(self.solution, self.split).sum()),
            positive=target.classes[1] if binary and target.classes else None,
            resamples=board.study.resampled.shape[1] if board else 0,
            resamples_redrawn=board.redrawn if board else 0,
            resamples_undefined=board.undefined if board else 0,
            level=self.settings.level,
            seed=self.settings.seed,
            standings=self._standings(board, records) if board else (),
            best_score_corrected={
                "estimate": corrected.estimate if corrected else None,
                "low": corrected.low if corrected else None,
                "high": corrected.high if corrected else None,
            },
            rejected=rejected,
            findings=board.findings if board else (),
            notes=notes,
            study=board.study if board else None,
            inputs=(
                ("solution", self.solution.sha256),
                *((record.file, record.sha256) for record in records.values()),
            ),
        )

    def _standings(
        self, board: PrivateBoard, by_id: Mapping[int, SubmissionRecord]
    ) -> tuple[Mapping[str, Any], ...]:
        better = self.metric.greater_is_better
        scores = board.study.scores
        records = [by_id[int(submission)] for submission in board.study.submissions]
        ranks = minimum_ranks(scores, greater_is_better=better)
        public, public_ranks = self._public_scores(records)
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

    def _public_scores(
        self, records: Sequence[SubmissionRecord]
    ) -> tuple[list[float | None], list[int | None]]:
        """Score on the public rows at full precision; None where there is none."""
        scores = self._scores(records, "public")
        defined = np.flatnonzero(np.isfinite(scores))
        shown: list[float | None] = [None] * len(scores)
        ranks: list[int | None] = [None] * len(scores)
        ranked = minimum_ranks(scores[defined], greater_is_better=self.metric.greater_is_better)
        for at, rank in zip(defined, ranked, strict=True):
            shown[at], ranks[at] = float(scores[at]), int(rank)
        return shown, ranks


def _notes(board: PrivateBoard | None) -> list[str]:
    if board is None:
        return []
    notes = []
    used = board.study.resampled.shape[1]
    if board.redrawn:
        notes.append(f"{board.redrawn:,} resamples lacked a class and were drawn again.")
    if board.undefined:
        notes.append(
            f"{board.undefined:,} resamples were left out: a score was not defined in them. "
            f"The intervals describe the others only and are too narrow."
        )
    if used < _RESAMPLES_WORTH_PRINTING:
        notes.append(
            f"The intervals rest on {used:,} resamples only: for figures that are printed, or "
            f"decide a prize, take {_RESAMPLES_WORTH_PRINTING:,} or more."
        )
    if len(board.study.truth) < _ROWS_WORTH_RESAMPLING:
        notes.append(
            f"{len(board.study.truth):,} rows are too few for resampling to tell how certain a "
            f"rank is: take every interval and tier here as a rough guess."
        )
    return notes
