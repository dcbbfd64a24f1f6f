"""Ranks stored submissions on a split of the solution and assembles the result."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arena.errors import ArenaError, PluginError, ScoringError
from arena.evaluation.best_score import MOST_DRAWS
from arena.evaluation.binding import BoundMetric, bind, sampled_groups
from arena.evaluation.clusters import effective_rows
from arena.evaluation.combined_metric import CombinedMetric, scores_of_parts
from arena.evaluation.domain import constant_targets
from arena.evaluation.group_jackknife import CALLS, MOST_OF_A_MEAN
from arena.evaluation.multi_target import (
    metric_of_each_target,
    target_column,
    target_parts,
)
from arena.evaluation.predictions import block_size
from arena.evaluation.ranks import best_first, minimum_ranks
from arena.evaluation.scores import full_scores, is_black_box
from arena.interfaces import CountsCases, Metric, PredictionBlocks, Study, modality_of, traits_of
from arena.plugin.info import attributed_unquoted, log_failure
from arena.plugin.manager import PluginManager
from arena.scoring.brackets import finding_of_brackets
from arena.scoring.private_board import (
    PrivateBoard,
    RankedRows,
    Resampling,
    analyse,
    study_of,
    why_no_intervals,
)
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import STANDING_COLUMNS, ScoreResult
from arena.scoring.reversed_scores import reversed_board
from arena.scoring.settings import BoardSettings
from arena.scoring.splits import rows_of
from arena.types import (
    DEFAULT_RESAMPLES,
    KNOWN_TARGET,
    ROW_TIMES,
    ROW_WEIGHTS,
    TEAMS,
    Fault,
    FloatArray,
    PredictionKind,
    Solution,
    SubmissionRecord,
    Vocabulary,
)
from arena.utils.formatting import percent
from arena.utils.parallel import Progress
from arena.utils.tabular import as_json
from arena.utils.text import plural

_FEWEST_ROWS = 30
"""With fewer rows, or groups of rows, the result notes that the bootstrap is unreliable."""


def ranked_rows(solution: Solution, split: str, words: Vocabulary = TEAMS) -> RankedRows:
    """Return the rows of a split, with clusters coded from 0."""
    rows = rows_of(solution, split)
    classes = solution.targets[0].classes if len(solution.targets) == 1 else None
    tasks = None if solution.tasks is None else solution.tasks[rows]
    clusters = sampled_groups(solution, rows)
    soft = None if solution.soft_labels is None else solution.soft_labels[rows]
    return RankedRows(
        truth=solution.truth[rows],
        classes=classes,
        clusters=clusters,
        tasks=tasks,
        task_names=solution.task_names,
        soft_labels=soft,
        words=words,
    )


def within_range(
    other: Metric, predictions: PredictionBlocks, solution: Solution, metric: Metric
) -> npt.NDArray[np.bool_]:
    """Return ``(m,)`` whether all predictions of a submission lie in the range of another metric.

    ``metric`` is the one whose range was checked when the submissions were read.
    """
    valid = np.ones(predictions.n_submissions, dtype=np.bool_)
    low, high = traits_of(other).prediction_range
    checked = traits_of(metric).prediction_range
    if solution.kind is PredictionKind.TEXT or (low <= checked[0] and checked[1] <= high):
        return valid
    for start, block in predictions.blocks(block_size(solution.truth.size)):
        inside = ((block >= low) & (block <= high)).reshape(len(block), -1)
        valid[start : start + len(block)] = inside.all(axis=1)
    return valid


class HoldsPredictions(Protocol):
    """Predictions by the number of the submission: a store, or a matrix in memory."""

    def predictions(
        self, submissions: Sequence[int], rows: npt.NDArray[np.bool_] | None = None
    ) -> PredictionBlocks:
        """Return the predictions of submissions, in this order, on the rows of a mask."""


@dataclass(frozen=True, slots=True, eq=False)
class BoardStudy:
    """What a board ranks, before it is ranked."""

    study: Study | None
    """None: no submission has a finite score."""
    resampling: Resampling
    """Without resamples there is nothing to analyse."""
    counting: tuple[SubmissionRecord, ...]
    """The submissions with a finite score, of which the best of each team is ranked."""
    rejected: tuple[RejectedFile, ...]
    """The files that were rejected, those without a finite score included."""
    notes: tuple[str, ...]
    """Automatic decisions and warnings, in sentences."""


@dataclass(frozen=True, slots=True)
class BoardRun:
    """Ranks stored submissions on a split of the solution and assembles the result."""

    specification: str
    """The specification of the metric."""
    metric: Metric
    solution: Solution
    split: str
    settings: BoardSettings
    store: HoldsPredictions
    manager: PluginManager
    progress: Progress
    secondary: Mapping[str, Metric] = field(default_factory=dict)
    """Other metrics by specification: their scores on the split become columns."""
    provider: str | None = None
    """The plugin that provides the metric; None: the one that the specification names."""
    brackets: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Name -> teams that are also ranked among themselves, as a finding."""
    words: Vocabulary = TEAMS
    """The nouns for what is ranked, and on what."""
    n_pending: int = 0
    """The number of further rows of the split whose labels are to arrive."""
    bound: BoundMetric = field(init=False)
    """The metric, bound to the rows of each split on first use."""

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

        Of several submissions of a team the best on the split counts, selected separately in every
        resample. A submission whose score is not finite is rejected.

        Raises
        ------
        MetricError
            If the metric is undefined on the split.
        PluginError
            If the metric fails.
        """
        with self._attributed():
            self._announce(records)
            ranked = self.study(records, rejected=rejected, notes=notes)
            study, resampling, board = ranked.study, ranked.resampling, None
            if study is not None and not resampling.without:
                weights = resampling.weights
                board = analyse(
                    study,
                    self.settings,
                    manager=self.manager,
                    weights=weights,
                    progress=self.progress,
                )
            result = self._assemble(ranked, board)
            if board is None or not any(self.brackets.values()):
                return result
            of_brackets = finding_of_brackets(
                board.study, self.brackets, self.settings, self.manager
            )
            return replace(result, findings=(*result.findings, of_brackets))

    def study(
        self,
        records: Sequence[SubmissionRecord],
        *,
        rejected: Sequence[RejectedFile] = (),
        notes: Sequence[str] = (),
    ) -> BoardStudy:
        """Return what :meth:`result` ranks, with the same arguments and exceptions."""
        with self._attributed():
            failures: list[tuple[int, ScoringError]] = []
            scores = self._scores(records, self.split, failures)
            defined = np.isfinite(scores)
            failed = dict(failures)
            if records and len(failed) == len(records):
                _raise_unless_of_the_files(failures, records)
            undefined = [
                self._undefined(records[position], failed.get(position))
                for position in np.flatnonzero(~defined).tolist()
            ]
            counting = [records[position] for position in np.flatnonzero(defined).tolist()]
            study, resampling = None, Resampling()
            if counting:
                study, resampling = self._study(counting, scores[defined])
            best = max(scores[defined].tolist(), default=None)
            rows = rows_of(self.solution, self.split)
            flipped = reversed_board(self.specification, best, self.solution, rows)
            return BoardStudy(
                study,
                resampling,
                counting=tuple(counting),
                rejected=(*rejected, *undefined),
                notes=(
                    *notes_on_intervals(study, resampling),
                    *_notes_on_counts(self.metric, study, resampling),
                    *_weights(self.solution, rows),
                    *_gaps(self.solution, rows),
                    *_times(self.solution, rows),
                    *([flipped] if flipped else ()),
                    *notes,
                ),
            )

    def _attributed(self) -> AbstractContextManager[None]:
        plugin = self.provider or self.manager.metrics.plugin_of(self.specification)
        return attributed_unquoted(plugin, f"scoring {self.metric.name}")

    @property
    def _shows_public(self) -> bool:
        """Whether scores on the public rows are computed: not if each call of the metric counts."""
        return self.settings.intervals or not is_black_box(self.metric)

    def _announce(self, records: Sequence[SubmissionRecord]) -> None:
        """Say how often a metric that can only be called as a whole is going to be called."""
        if traits_of(self.metric).time_limit is None or not is_black_box(self.metric):
            return
        m, t = len(records), len({record.team for record in records})
        if not m:
            return
        calls, parts = m, ["once for its score"]
        if self._shows_public and rows_of(self.solution, "public").any():
            calls, parts = calls + t, [*parts, "once for its public score"]
        if isinstance(self.metric, CountsCases):
            if self.settings.intervals:
                calls, parts = calls + m, [*parts, "once for the counts of its cases"]
        elif not why_no_intervals(self.metric, self.settings):
            drawn = self.settings.resamples
            judged = min(drawn, MOST_DRAWS)
            if self.settings.full_bootstrap or drawn <= CALLS:
                calls += m * (drawn + judged)
                parts += [
                    f"{plural(drawn, 'time')} for its intervals and {judged:,} to correct the "
                    "best score"
                ]
            else:
                calls += m * CALLS
                parts += [
                    f"{CALLS} times on parts of the rows for its intervals "
                    f"({drawn + judged:,} more if these do not determine them; up to "
                    f"{MOST_OF_A_MEAN} times on a row or a few alone if it is a mean over rows)"
                ]
        self.progress.say(
            f"{self.metric.name} is going to be called {plural(calls, 'time')} for "
            f"{plural(m, 'submission')}; for each {', '.join(parts)}."
        )

    def unranked(self, record: SubmissionRecord) -> dict[str, Any]:
        """Return the scores of a submission that is not ranked: the organiser's baseline."""
        splits = [self.split, *(["public"] if self._shows_public else [])]
        if isinstance(self.metric, CombinedMetric) and self.metric.relative:
            splits = []  # a mean rank is one among the ranked submissions
        scores = [self._scores([record], split).item() for split in splits]
        values = [value if np.isfinite(value) else None for value in scores]
        score, public = [*values, None, None][:2]
        return {
            "team": record.team,
            "submission": record.submission,
            "file": record.file,
            "score": score,
            "public_score": public,
        }

    def scores_of(self, records: Sequence[SubmissionRecord]) -> FloatArray:
        """Return the score of each submission, ``(m,)``; NaN where the metric is not defined."""
        return self._scores(records, self.split)

    def _study(
        self, records: Sequence[SubmissionRecord], scores: FloatArray
    ) -> tuple[Study, Resampling]:
        return study_of(
            self.bound.for_rows(rows_of(self.solution, self.split)),
            ranked_rows(self.solution, self.split, self.words),
            teams=tuple(record.team for record in records),
            submissions=np.array([record.submission for record in records], dtype=np.intp),
            predictions=self._predictions(records, self.split),
            scores=scores,
            settings=self.settings,
            progress=self.progress,
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
        """Return the scores on a split, NaN where the metric fails; append errors to failures."""
        rows = rows_of(self.solution, split)
        if not records or not rows.any():
            return np.full(len(records), np.nan)
        return full_scores(
            self.bound.for_rows(rows),
            self.solution.truth[rows],
            self._predictions(records, split),
            workers=self.settings.n_workers,
            failures=[] if failures is None else failures,
        )

    def _undefined(self, record: SubmissionRecord, error: ScoringError | None) -> RejectedFile:
        if error is not None:
            log_failure(error, record.file)
            return RejectedFile(record.file, (Fault(error.kind, error.shown),))
        message = (
            f"{self.metric.name} has no finite value for these predictions, so they cannot be "
            f"ranked."
        )
        constant = constant_targets(self.solution, rows_of(self.solution, self.split))
        if constant:
            message += f" On the ranked rows {constant} has one value: leave it out with --target."
        elif not is_black_box(self.metric):
            message += (
                " Check for extreme values, such as a probability of exactly 0 or 1, and for "
                "constant predictions."
            )
        return RejectedFile(record.file, (Fault("undefined score", message),))

    def _assemble(self, ranked: BoardStudy, board: PrivateBoard | None) -> ScoreResult:
        target, resampling = self.solution.targets[0], ranked.resampling
        study = ranked.study if board is None else board.study
        binary = target.classes is not None and len(target.classes) == 2
        return ScoreResult(
            metric=self.specification,
            greater_is_better=self.metric.greater_is_better,
            split=self.split,
            n_rows=int(rows_of(self.solution, self.split).sum()),
            n_pending=self.n_pending,
            positive=target.classes[1] if binary and target.classes else None,
            resamples=study.resampled.shape[1] if study else 0,
            resamples_redrawn=resampling.redrawn,
            resamples_undefined=resampling.undefined,
            level=self.settings.level,
            seed=self.settings.seed,
            standings=self._standings(study, ranked.counting, board) if study else (),
            best_score_corrected=_best_score(board, resampling.without or None),
            rejected=ranked.rejected,
            findings=board.findings if board else (),
            notes=ranked.notes,
            study=study if board else None,
            inputs=(
                ("solution", self.solution.sha256),
                *((record.file, record.sha256) for record in ranked.counting),
            ),
            plugins=self.manager,
            words=study.words if study else self.words,
        )

    def _standings(
        self, study: Study, counting: Sequence[SubmissionRecord], board: PrivateBoard | None
    ) -> tuple[Mapping[str, Any], ...]:
        better, scores = self.metric.greater_is_better, study.scores
        columns = {} if board is None else board.columns
        by_id = {record.submission: record for record in counting}
        records = [by_id[int(submission)] for submission in study.submissions]
        ranks = minimum_ranks(scores, greater_is_better=better)
        public, public_ranks = self._public_scores(records)
        others = (
            self._part_scores(records)
            | self._secondary_scores(records)
            | self._target_scores(records)
        )
        standings = []
        for position in best_first(scores, greater_is_better=better):
            delivered = {name: values[position] for name, values in columns.items()}
            standing = {
                "rank": int(ranks[position]),
                "team": records[position].team,
                "submission": records[position].submission,
                "file": records[position].file,
                "score": float(scores[position]),
                "public_score": public[position],
                "public_rank": public_ranks[position],
            }
            standings.append(
                {
                    **dict.fromkeys(STANDING_COLUMNS),
                    **delivered,
                    **standing,
                    **{name: scores[position] for name, scores in others.items()},
                }
            )
        return tuple(standings)

    def _part_scores(self, records: Sequence[SubmissionRecord]) -> dict[str, list[float | None]]:
        """Return the scores that a combination combines; empty for other metrics."""
        rows = rows_of(self.solution, self.split)
        metric = self.bound.for_rows(rows)
        if not isinstance(metric, CombinedMetric) or len(metric.parts) < 2:
            return {}
        once = np.ones((int(rows.sum()), 1), dtype=np.uint8)
        scores = scores_of_parts(
            metric,
            self.solution.truth[rows],
            self._predictions(records, self.split),
            once,
            workers=self.settings.n_workers,
        )[:, :, 0]
        return {
            part.name: as_json(part_scores)
            for part, part_scores in zip(metric.parts, scores, strict=True)
        }

    def _secondary_scores(
        self, records: Sequence[SubmissionRecord]
    ) -> dict[str, list[float | None]]:
        """Return the scores by each secondary metric, None where undefined.

        A submission with a prediction outside the range of a secondary metric has no score by it,
        for any truth: otherwise whether its score is finite could reveal labels.
        """
        rows = rows_of(self.solution, self.split)
        scores_by_metric = {}
        for name, metric in self.secondary.items():
            predictions = self._predictions(records, self.split)
            valid = np.flatnonzero(within_range(metric, predictions, self.solution, self.metric))
            scores = np.full(len(records), np.nan)
            with attributed_unquoted(self.manager.metrics.plugin_of(name), f"scoring {name}"):
                if valid.size:
                    scores[valid] = full_scores(
                        bind(metric, self.solution, rows),
                        self.solution.truth[rows],
                        predictions.subset(valid),
                        workers=self.settings.n_workers,
                        failures=[],
                    )
            scores_by_metric[name] = as_json(scores)
        return scores_by_metric

    def _target_scores(self, records: Sequence[SubmissionRecord]) -> dict[str, list[float | None]]:
        """Return the scores on each target, None where undefined, if their mean is the score.

        Empty for a metric that can only be called as a whole: each target would need another call.
        """
        rows = rows_of(self.solution, self.split)
        metric = self.bound.for_rows(rows)
        single = metric_of_each_target(metric)
        if single is metric or is_black_box(metric):
            return {}
        predictions = self._predictions(records, self.split)
        truth = self.solution.truth[rows]
        scores_by_target = {}
        for part in target_parts(metric, truth.shape[1]):
            scores = full_scores(
                part.metric,
                part.of_truth(truth),
                part.of_predictions(predictions),
                workers=self.settings.n_workers,
            )
            name = self.solution.targets[part.position].name
            scores_by_target[target_column(single, name)] = as_json(scores)
        return scores_by_target

    def _public_scores(
        self, records: Sequence[SubmissionRecord]
    ) -> tuple[list[float | None], list[int | None]]:
        """Return scores on the public rows at full precision, and ranks; None where undefined."""
        nothing = np.full(len(records), np.nan)
        scores = self._scores(records, "public") if self._shows_public else nothing
        defined = np.flatnonzero(np.isfinite(scores))
        public_scores: list[float | None] = [None] * len(scores)
        ranks: list[int | None] = [None] * len(scores)
        ranked = minimum_ranks(scores[defined], greater_is_better=self.metric.greater_is_better)
        for position, rank in zip(defined, ranked, strict=True):
            public_scores[position], ranks[position] = float(scores[position]), int(rank)
        return public_scores, ranks


def _raise_unless_of_the_files(
    failures: Sequence[tuple[int, ScoringError]], records: Sequence[SubmissionRecord]
) -> None:
    """Raise the first error if the metric failed on every submission without meaning to."""
    position, first = failures[0]
    if isinstance(first.__cause__, ArenaError):
        raise first.__cause__
    if all(error.__cause__ is not None for _, error in failures):
        message = f"{records[position].file}: {first} It failed on every submission."
        raise PluginError(message) from first.__cause__


def _weights(solution: Solution, rows: npt.NDArray[np.bool_]) -> list[str]:
    if ROW_WEIGHTS not in solution.extra:
        return []
    weights = solution.extra[ROW_WEIGHTS][rows]
    return [
        f"Rows count by their weights: the {plural(len(weights), 'ranked row', 'are')} worth "
        f"{effective_rows(weights):,.0f} rows of equal weight."
    ]


def _gaps(solution: Solution, rows: npt.NDArray[np.bool_]) -> list[str]:
    shares = [
        solution.extra[KNOWN_TARGET + target.name][rows].mean()
        for target in solution.targets
        if KNOWN_TARGET + target.name in solution.extra
    ]
    if not shares:
        return []
    ends = dict.fromkeys((percent(min(shares)), percent(max(shares))))
    return [
        f"The score is the mean over the targets of the score on the rows that have a value: "
        f"{' to '.join(ends)} of the ranked rows."
    ]


def _times(solution: Solution, rows: npt.NDArray[np.bool_]) -> list[str]:
    if ROW_TIMES not in solution.extra:
        return []
    times = len(np.unique(solution.extra[ROW_TIMES][rows]))
    return [
        f"Rows near in time may depend on each other: the {plural(times, 'time')} of the ranked "
        f"rows are in {plural(math.isqrt(times), 'block')} of consecutive times, which count as "
        "groups."
    ]


def notes_on_intervals(study: Study | None, resampling: Resampling) -> list[str]:
    """Return how the intervals of a board were computed, and what they lack."""
    if study is None:
        return []
    if resampling.without:
        return [f"Ranks are without intervals. {resampling.without}"]
    notes, words = [], study.words
    used = study.resampled.shape[1]
    jackknife = resampling.jackknife
    if jackknife is not None and jackknife.is_mean:
        alone = jackknife.groups == len(study.truth)
        parts = (
            f"of the {words.rows}" if alone else f"of {jackknife.groups} parts of the {words.rows}"
        )
        notes.append(
            f"{study.metric.name} counts as a mean over {words.rows}: every score is the mean of "
            f"the scores of each {parts} alone."
        )
    elif jackknife is not None and jackknife.influence is not None:
        notes.append(
            f"{study.metric.name} can only be called as a whole: the intervals follow from calls "
            f"without each of {jackknife.groups} random groups of {words.rows}."
        )
    if jackknife is not None and jackknife.influence is None and jackknife.groups:
        notes.append(
            f"{study.metric.name} was called on every resample, because its scores on parts of the "
            f"{words.rows} do not determine the others (correlation "
            f"{jackknife.agreement:.2f} on random halves)."
        )
    if resampling.halves:
        notes.append(
            f"The metric does not take {words.rows} that are drawn more than once. Each resample "
            f"is half of the {words.rows}, drawn without replacement."
        )
    if resampling.redrawn:
        were = "was" if resampling.redrawn == 1 else "were"
        notes.append(f"{plural(resampling.redrawn, 'resample')} lacked a class and {were} redrawn.")
    if resampling.undefined:
        notes.append(
            f"{plural(resampling.undefined, 'resample', 'were')} discarded because a "
            f"score was undefined. The intervals use only the others and are too narrow."
        )
    if used < DEFAULT_RESAMPLES:
        notes.append(
            f"The intervals are based on only {plural(used, 'resample')}. Use "
            f"{DEFAULT_RESAMPLES:,} or more for figures that are published or decide a prize."
        )
    n_rows, clusters = len(study.truth), study.clusters
    units, what = n_rows, words.row if n_rows == 1 else words.rows
    if clusters is not None:
        units = len(np.unique(clusters))
        is_single = units == 1
        what = f"group{'' if is_single else 's'} of {words.rows}"
        notes.append(
            f"The {plural(n_rows, words.row, 'are')} in {plural(units, 'group')}, which "
            f"{'is' if is_single else 'are'} resampled as a whole."
        )
    if units < _FEWEST_ROWS:
        notes.append(
            f"{units:,} {what} {'is' if units == 1 else 'are'} too few for reliable resampling: "
            "treat bootstrap rank ranges, win rates, prize shares and the corrected best score as "
            "rough estimates. Score and rank intervals allow for few of them."
        )
    return notes


def _notes_on_counts(metric: Metric, study: Study | None, resampling: Resampling) -> list[str]:
    if study is None or resampling.without or modality_of(metric).has_rows:
        return []
    cases = plural(len(study.truth), "case")
    return [f"{metric.name} reads the files itself; the {cases} that it counts are resampled."]


def _best_score(board: PrivateBoard | None, reason: str | None) -> Mapping[str, Any]:
    """Return the corrected best score and the intervals of the winners, as JSON."""
    if board is None:
        return {"estimate": None, "low": None, "high": None, "reason": reason, "winners": []}
    best, study = board.corrected, board.study
    low, high = best.winners.low, best.winners.high
    low, high = np.append(best.winner_low, low[1:]), np.append(best.winner_high, high[1:])
    places = zip(best.winners.submission, low, high, strict=True)
    document: Mapping[str, Any] = as_json(
        {
            "estimate": best.estimate,
            "low": best.low,
            "high": best.high,
            "reason": best.reason,
            "effective_units": best.effective_units,
            "assumption": best.assumption,
            "winners": [
                {
                    "place": place,
                    "team": study.teams[position],
                    "submission": study.submissions[position],
                    "score": study.scores[position],
                    "low": low,
                    "high": high,
                }
                for place, (position, low, high) in enumerate(places, start=1)
            ],
        }
    )
    return document
