"""Ranks algorithms by a value per case: from tables or evaluation logs to a board."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.errors import InputError, UsageError
from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases, ranks_within_cases
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric
from arena.evaluation.pairwise import PairwiseSkill, coverage_of
from arena.evaluation.repeats import repeat_variance
from arena.evaluation.wrapped_metric import WrappedMetric
from arena.intake import CaseColumns, case_scores_of, read_case_table
from arena.intake.case_table import FROM_FOLDER, FROM_NAME
from arena.interfaces import CaseReader, CaseScores, Metric
from arena.interfaces.faults import show
from arena.plugin.info import attributed
from arena.plugin.manager import PluginManager
from arena.plugin.returned import checked
from arena.scoring.board import BoardRun
from arena.scoring.case_matrix import CaseMatrix, case_matrix, combine
from arena.scoring.memory_store import MatrixOfPredictions
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import ScoreResult
from arena.scoring.settings import BoardSettings, board_settings, combination_of
from arena.scoring.submissions import competition_info
from arena.scoring.summaries import without_summaries
from arena.types import (
    VOCABULARIES,
    Fault,
    Finding,
    FloatArray,
    PredictionKind,
    RowContext,
    Solution,
    SubmissionRecord,
    Table,
    Target,
    Usage,
    Vocabulary,
)
from arena.utils.file_digest import file_sha256
from arena.utils.file_errors import unreadable
from arena.utils.formatting import percent
from arena.utils.parallel import Progress
from arena.utils.progress import shown

AGGREGATES = ("mean", "median", "rank-then-mean", "rank-then-median")
"""How the values of the cases become a score; also ``pass@5``, or with another number."""
PAIRWISE = "pairwise"
MISSING = ("fault", "worst", "baseline", PAIRWISE)
"""What becomes of missing values; see :class:`CaseSettings`."""
_LEAST_COVERAGE = 0.5
"""Of the cases, for an algorithm that is compared pairwise."""
_PASS_AT = re.compile(r"pass@([1-9][0-9]{0,3})")
TIES = ("average", "min")
"""The rank of algorithms with the same value on a case: the mean of their places, or the first."""
TABLE = "table"
"""The format of CSV and Parquet files."""
_TABLE_ROWS = 50


@dataclass(frozen=True, slots=True)
class CaseSettings:
    """How values of cases are read and ranked.

    Raises
    ------
    UsageError
        If a value is out of range.
    """

    greater_is_better: bool | None = None
    """None: as the files state, else assumed to be True, with a note."""
    aggregate: str = "mean"
    """One of :data:`AGGREGATES`, or ``pass@k``: the mean probability that one of k answers, drawn
    from the repeated answers to a case, is right (Chen et al. 2021)."""
    ties: Literal["average", "min"] = "average"
    """One of :data:`TIES`, for ranks within a case."""
    missing: str | float = "fault"
    """``fault``: an algorithm without a value for every case is not ranked; ``worst``: a missing
    value is the worst one; ``baseline``: it is that of the baseline; or the number that it is.
    ``pairwise``: algorithms are compared in pairs on the cases that both have, if each has at least
    half of all cases."""
    baseline: str | None = None
    """The algorithm whose values fill missing ones, and whose score divides geometric means."""
    combination: Combination | None = None
    """How the aggregates of the tasks become one; None: the cases of all tasks count alike."""
    opposite: tuple[str, ...] = ()
    """Tasks in which the other direction is the better one, such as a log loss beside AUCs. Only
    ranks have a direction then."""
    value_range: tuple[float, float] | None = None
    """The range of a value; None: as the files state, else [0, 1] if all values lie there and
    larger is better, and [0, inf) for losses."""
    columns: CaseColumns = field(default_factory=CaseColumns)
    format: str | None = None
    """``table``, or the name of a reader of a plugin; None: recognised from the files."""
    board: BoardSettings = field(default_factory=BoardSettings)

    def __post_init__(self) -> None:
        if self.aggregate not in AGGREGATES and not _PASS_AT.fullmatch(self.aggregate):
            listed = ", ".join((*AGGREGATES, "pass@5"))
            raise UsageError(f"The aggregate must be one of {listed}, not {self.aggregate!r}.")
        if self.ties not in TIES:
            raise UsageError(f"Ties take one of {', '.join(TIES)}, not {self.ties!r}.")
        if isinstance(self.missing, str) and self.missing not in MISSING:
            raise UsageError(
                f"A missing value is a {', '.join(MISSING)}, or a finite number, not "
                f"{self.missing!r}."
            )
        if self.missing == PAIRWISE and (self.aggregate != "mean" or self.combination is not None):
            raise UsageError(
                "Missing values are compared pairwise by means over all cases only: omit "
                "--aggregate and --combine."
            )
        how = None if self.combination is None else self.combination.how
        needed = self.missing == "baseline"
        if needed > (self.baseline is not None) or (
            self.baseline is not None and not needed and how != "geometric"
        ):
            raise UsageError(
                "Name the algorithm with --baseline whose values fill missing ones (--missing "
                "baseline) or divide geometric means (--combine geometric)."
            )
        if self.opposite and "-then-" not in self.aggregate and how != "mean_rank":
            raise UsageError(
                "Values of which larger ones are better in some tasks and smaller ones in others "
                f"({', '.join(self.opposite)}) have no {self.aggregate}: rank them, by --aggregate "
                "rank-then-mean or --combine mean_rank."
            )
        if not isinstance(self.missing, str) and not np.isfinite(self.missing):
            raise UsageError("The number for a missing value must be finite.")
        if self.value_range is not None and not self.value_range[0] < self.value_range[1]:
            raise UsageError("The range of the values must be two numbers, the smaller one first.")
        source = self.columns.algorithm_from
        if source not in (None, FROM_NAME, FROM_FOLDER):
            raise UsageError(f"--algorithm-from takes name or folder, not {source!r}.")
        if self.board.stratify:
            raise UsageError("Cases have no classes: resamples cannot be stratified.")


@dataclass(frozen=True, slots=True, eq=False)
class CaseTable:
    """The content of the files: algorithms with a value for every case, and the others."""

    matrix: CaseMatrix
    metric: str
    """The quantity of the values."""
    greater_is_better: bool
    value_range: tuple[float, float]
    rejected: tuple[RejectedFile, ...]
    notes: tuple[str, ...]
    inputs: tuple[tuple[str, str], ...] = ()
    """Name and sha256 of each file."""
    kind: str = "cases"
    """A key of :data:`~arena.types.VOCABULARIES`."""


def rank(
    table: Any,
    *,
    greater_is_better: bool | None = None,
    aggregate: str = "mean",
    ties: Literal["average", "min"] = "average",
    combine: str | None = None,
    weights: Mapping[str, float] | None = None,
    opposite: Sequence[str] = (),
    missing: str | float = "fault",
    baseline: str | None = None,
    value_range: tuple[float, float] | None = None,
    columns: CaseColumns | None = None,
    format: str | None = None,
    board: BoardSettings | None = None,
    resamples: int | None = None,
    level: float | None = None,
    seed: int | None = None,
    workers: int | None = None,
    ranker: str | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> ScoreResult:
    """Rank algorithms by their values on the same cases, with the uncertainty of every rank.

    Parameters
    ----------
    table
        A path or several of them (CSV, Parquet, or what a plugin reads: files and folders of
        evaluation tools), a data frame, a mapping of names to columns, or what a JSON file can
        hold, such as algorithm -> case -> value.
    greater_is_better
        None: as the files state, else assumed to be True, with a note.
    aggregate
        ``mean`` or ``median`` of the values, or ``rank-then-mean`` or ``rank-then-median``: the
        algorithms are ranked on each case, and the ranks are averaged.
    ties
        The rank of algorithms with the same value on a case: ``average`` (of their places), as in
        critical-difference diagrams, or ``min`` (the first of them).
    combine
        ``mean``, ``rows``, ``geometric``, ``worst`` or ``mean_rank``: how the aggregates of the
        tasks become one. None: the cases of all tasks count alike.
    weights
        Task -> weight in the combination; others have 1.
    opposite
        Tasks in which the other direction is the better one, for ranks.
    missing, baseline
        ``"fault"``, ``"worst"``, ``"baseline"`` or a number; see :class:`CaseSettings`.
    value_range
        The range of a value; an end may be infinite.
    columns
        The roles of the columns of a table.
    format
        ``"table"`` or the name of a reader; None: recognised from the files.
    board
        Resamples, level, seed, workers and ranker as one object, instead of the keywords below.
    resamples, level, seed, workers, ranker
        See :class:`~arena.scoring.settings.BoardSettings`.
    manager
        The plugins; None: the installed ones.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Returns
    -------
    The same result as that of :func:`arena.score`; ``split`` is ``"cases"``, and ``to_dict()`` is
    ``arena/rank/1``. A case is a row, and repeated answers to a case are averaged.

    Raises
    ------
    InputError
        If a file or the table is invalid.
    UsageError
        If an argument is invalid, or a column does not exist.

    Examples
    --------
    >>> table = {"case": range(40), "a": [0.9, 0.8] * 20, "b": [0.5, 0.6] * 20}
    >>> result = rank(table, greater_is_better=True, resamples=100)
    >>> [(standing["rank"], standing["team"], standing["score"]) for standing in result.standings]
    [(1, 'a', 0.85), (2, 'b', 0.55)]
    """
    settings = CaseSettings(
        greater_is_better=greater_is_better,
        aggregate=aggregate,
        ties=ties,
        missing=missing,
        baseline=baseline,
        combination=combination_of(combine, weights),
        opposite=tuple(opposite),
        value_range=value_range,
        columns=columns or CaseColumns(),
        format=format,
        board=board_settings(
            board, resamples=resamples, level=level, seed=seed, workers=workers, ranker=ranker
        ),
    )
    manager = manager or PluginManager()
    with shown(progress) as display:
        return rank_table(read_cases(table, settings, manager), settings, manager, display)


# -- reading ---------------------------------------------------------------------------------------


def read_cases(table: Any, settings: CaseSettings, manager: PluginManager) -> CaseTable:
    """Read the values of all files, average repeats, and treat missing values.

    Raises
    ------
    InputError, UsageError
        As :func:`rank`.
    """
    inputs: tuple[tuple[str, str], ...] = ()
    if isinstance(table, str | Path):
        table = [table]
    if isinstance(table, Sequence) and all(isinstance(entry, str | Path) for entry in table):
        paths = [Path(file) for file in table]
        if settings.columns.algorithm_from is not None:
            paths = [file for path in paths for file in _files(path)]
        parts = [part for path in paths for part in _read(path, settings, manager)]
        files = [file for path in paths for file in _files(path)]
        inputs = tuple((file.name, file_sha256(file)) for file in files)
    else:
        parts = [case_scores_of(table, settings.columns)]
    scores = combine(parts)
    notes = list(scores.notes)
    greater = settings.greater_is_better
    if greater is None:
        greater = scores.greater_is_better
    if greater is None:
        greater = True
        notes.append(
            f"{scores.metric}: assuming larger is better; pass --lower-is-better otherwise."
        )
    ends = range_of_values(scores, settings, greater, notes)
    by_rank = "-then-" in settings.aggregate
    filled = value_of_missing(scores, settings, greater, ends)
    matrix = case_matrix(scores, filled, infinite=by_rank)
    matrix, summaries = without_summaries(matrix)
    notes.extend(summaries)
    empty = int(np.isnan(scores.values).sum()) + int((matrix.repeats == 0).sum())
    if filled is not None and empty:
        notes.append(f"Missing values count as {filled:.10g}: {empty:,} of them.")
    if settings.baseline is not None and settings.missing == "baseline":
        matrix, count = matrix.filled_from(settings.baseline)
        notes.append(f"Missing values are those of {settings.baseline}: {count:,} of them.")
    faults = _too_few(matrix) if settings.missing == PAIRWISE else matrix.missing()
    rejected = tuple(
        RejectedFile(matrix.algorithms[j], algorithm_faults)
        for j, algorithm_faults in faults.items()
    )
    kept_algorithms = [j for j in range(len(matrix.algorithms)) if j not in faults]
    return CaseTable(
        matrix=matrix.subset(kept_algorithms),
        metric=scores.metric,
        greater_is_better=greater,
        value_range=ends,
        rejected=rejected,
        notes=tuple(notes),
        inputs=inputs,
        kind=scores.kind,
    )


def _read(path: Path, settings: CaseSettings, manager: PluginManager) -> list[CaseScores]:
    if not path.exists():
        raise unreadable(path, "there is no such file or folder")
    readers = manager.case_readers
    chosen: str | None = settings.format
    if chosen is None and settings.columns.algorithm_from is None:
        for entry in readers:
            with manager.guarded(entry.plugin, f"recognising files as {entry.name!r}"):
                if entry.item.recognises(path):
                    chosen = entry.name
                    break
    if chosen is None and path.is_dir():
        reader_names = ", ".join(entry.name for entry in readers)
        raise InputError(
            f"{path} is a folder in which no reader found an evaluation. The formats are "
            f"{reader_names}; name the files of tables one by one."
        )
    if chosen in (None, TABLE):
        return [read_case_table(path, settings.columns)]
    reader: CaseReader = readers.resolve(str(chosen))
    with attributed(readers.plugin_of(str(chosen)), f"reading {path}"):
        return [
            checked(case_scores, CaseScores)
            for case_scores in reader.read(path, settings.columns.value)
        ]


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def range_of_values(
    scores: CaseScores, settings: CaseSettings, greater: bool, notes: list[str]
) -> tuple[float, float]:
    """Return the range of a value: given, stated by the files, or assumed, with a note."""
    values = scores.values[~np.isnan(scores.values)]
    if not len(values):
        raise InputError("The table has no values.")
    low, high = float(values.min()), float(values.max())
    if not isinstance(settings.missing, str):  # it is a value, too
        low, high = min(low, settings.missing), max(high, settings.missing)
    given_range = settings.value_range or scores.value_range
    if given_range is not None:
        if low < given_range[0] or high > given_range[1]:
            raise InputError(
                f"The values lie between {low:.10g} and {high:.10g}, outside the range of "
                f"{given_range[0]:.10g} to {given_range[1]:.10g}."
            )
        return given_range
    if low >= 0 and high <= 1 and greater:
        notes.append("All values lie between 0 and 1, which is taken as their range; else pass "
                     "--value-range.")  # fmt: skip
        return 0.0, 1.0
    if low >= 0 and not greater:
        notes.append(
            "No value is negative, so 0 is taken as the best one; else pass --value-range."
        )
        return 0.0, float("inf")
    return float("-inf"), float("inf")


def value_of_missing(
    scores: CaseScores, settings: CaseSettings, greater: bool, ends: tuple[float, float]
) -> float | None:
    """Return the value that replaces a missing one; None: it is a fault."""
    if settings.missing in ("fault", "baseline", PAIRWISE):
        return None
    if settings.missing != "worst":
        return float(settings.missing)
    worst = ends[0] if greater else ends[1]
    if np.isfinite(worst):
        return worst
    return float(np.nanmin(scores.values) if greater else np.nanmax(scores.values))


# -- ranking ---------------------------------------------------------------------------------------


def rank_table(
    table: CaseTable,
    settings: CaseSettings,
    manager: PluginManager,
    progress: Progress,
) -> ScoreResult:
    """Rank the algorithms of a table; see :func:`rank`."""
    matrix = table.matrix
    values, metric = _scored(table, settings)
    cases = _as_solution(matrix)
    if settings.combination is not None:
        if cases.tasks is None:
            raise UsageError("The cases have one task only, and there is nothing to combine.")
        metrics = {metric.name: metric}
        metric = combined_metric(metrics, settings.combination, by_task=True, solution=cases)
        if settings.baseline is not None and settings.combination.how == "geometric":
            if settings.baseline not in matrix.algorithms:
                raise UsageError(
                    f"The baseline {settings.baseline!r} has no value for every case, or does not "
                    "exist."
                )
            metric = replace(metric, baseline=values[matrix.algorithms.index(settings.baseline)])
    records = [
        SubmissionRecord(number, name, file=name, sha256="", status="accepted", received="")
        for number, name in enumerate(matrix.algorithms, start=1)
    ]
    run = BoardRun(
        specification=metric.name,
        metric=metric,
        solution=cases,
        split="all",
        settings=settings.board,
        store=MatrixOfPredictions(values),
        manager=manager,
        progress=progress,
        provider="arena",
        words=VOCABULARIES[table.kind],
    )
    result = run.result(records, rejected=table.rejected, notes=table.notes)
    findings = result.findings
    if records and (matrix.repeats > 1).any():
        findings = (*findings, finding_on_repeats(matrix, VOCABULARIES[table.kind]))
    if records and isinstance(metric, PairwiseSkill):
        findings = (*findings, _coverage(matrix, VOCABULARIES[table.kind]))
        shares = dict(zip(matrix.algorithms, coverage_of(matrix.values).tolist(), strict=True))
        result = replace(
            result,
            standings=tuple(
                {**standing, "coverage": shares[standing["team"]]} for standing in result.standings
            ),
        )
    result = replace(result, split="cases", findings=findings, inputs=table.inputs)
    manager.competition_finalized(result, competition_info(metric, cases))
    return result


def _scored(table: CaseTable, settings: CaseSettings) -> tuple[FloatArray, Metric]:
    """Return the ``(m, n)`` values, or ranks, and the metric that aggregates them."""
    values, better, ends = table.matrix.values, table.greater_is_better, table.value_range
    if pass_at := _PASS_AT.fullmatch(settings.aggregate):
        passed = _passed(table.matrix, int(pass_at[1]))
        return passed, MeanOfCases(f"pass@{pass_at[1]} of {table.metric}", True, (0.0, 1.0))
    if settings.missing == PAIRWISE and np.isnan(values).any():
        ratios = not better and bool(np.nanmin(values) >= 0)
        name = "relative skill by" if ratios else "mean difference in"
        return values, PairwiseSkill(f"{name} {table.metric}", better, values, ratios)
    first, _, then = settings.aggregate.rpartition("-then-")
    kind = MeanOfCases if then == "mean" else MedianOfCases
    opposite = _opposite_cases(table.matrix, settings.opposite)
    if not first and opposite.any():
        return values, _DirectedTasksMetric(
            kind(f"{then} {table.metric}", better), settings.opposite
        )
    if not first:
        return values, kind(f"{then} {table.metric}", better, ends)
    m = len(values)
    values = np.where(opposite, -values, values)
    ranks = ranks_within_cases(values, greater_is_better=better, ties=settings.ties)
    of_ranks = (1.0, float(m)) if m > 1 else (float("-inf"), float("inf"))
    return ranks, kind(f"{then} rank by {table.metric}", False, of_ranks)


def _opposite_cases(matrix: CaseMatrix, tasks: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Return ``(n,)`` which cases are of tasks with the opposite direction."""
    for name in tasks:
        if name not in matrix.task_names:
            listed = ", ".join(matrix.task_names) or "none"
            raise UsageError(f"There is no task {name!r} of the opposite direction: {listed}.")
    if matrix.tasks is None:
        return np.zeros(len(matrix.cases), dtype=np.bool_)
    return np.isin(matrix.tasks, [matrix.task_names.index(name) for name in tasks])


@dataclass(frozen=True)
class _DirectedTasksMetric(WrappedMetric):
    """An aggregate of cases that becomes one of a direction when it is bound to a task."""

    opposite: tuple[str, ...]

    def score(
        self,
        truth: npt.NDArray[Any],
        prediction: npt.NDArray[Any],
        weight: npt.NDArray[Any] | None = None,
    ) -> float:
        """Return the aggregate."""
        return self.metric.score(truth, prediction, weight)

    def for_rows(self, context: RowContext) -> Metric:
        """Return the aggregate with the direction of the task."""
        metric: Any = self.metric
        if context.task_names[0] not in self.opposite:
            return cast("Metric", metric)
        return cast("Metric", replace(metric, greater_is_better=not metric.greater_is_better))


def _too_few(matrix: CaseMatrix) -> dict[int, tuple[Fault, ...]]:
    """Return the fault of each algorithm that has too few values to be compared."""
    message = (
        f"It has values for {{:.0%}} of the cases, and {_LEAST_COVERAGE:.0%} are needed: add the "
        "missing ones."
    )
    return {
        j: (Fault("few values", message.format(share)),)
        for j, share in enumerate(coverage_of(matrix.values))
        if share < _LEAST_COVERAGE
    }


def _coverage(matrix: CaseMatrix, words: Vocabulary) -> Finding:
    """Return for how many cases each algorithm has a value."""
    shares = coverage_of(matrix.values)
    both = np.isfinite(matrix.values).astype(np.float64)
    fewest = int((both @ both.T).min())
    verdict = (
        f"Each {words.team} is compared with the others on the {words.rows} that both have, at "
        f"least {fewest:,} of {len(matrix.cases):,}. This is fair if values are missing for other "
        f"reasons than their own outcome: leaving out what one does badly pays."
    )
    rows = tuple(zip(matrix.algorithms, map(float, shares), strict=True))
    table = Table(
        f"{words.rows.capitalize()} with a value", (words.team, "share"), rows[:_TABLE_ROWS]
    )
    document: Mapping[str, Any] = {
        "algorithms": list(matrix.algorithms),
        "share": shares.tolist(),
        "fewest_shared": fewest,
    }
    return Finding("coverage", verdict, document, tables=(table,))


def _passed(matrix: CaseMatrix, k: int) -> FloatArray:
    """Return ``(m, n)`` probabilities that one of k of the repeated answers to a case is right.

    1 - C(n - c, k) / C(n, k) for c right ones of n answers: the unbiased estimate of Chen et al.
    (2021), *Evaluating Large Language Models Trained on Code*.

    Raises
    ------
    InputError
        If a value is neither 0 nor 1, or a case has fewer than k answers.
    """
    answers, right = matrix.repeats, matrix.values * matrix.repeats
    counted = np.rint(right)
    spread = np.where(answers > 1, matrix.within * (answers - 1), 0.0)
    expected = counted * (1.0 - counted / np.maximum(answers, 1))
    if not (np.isclose(right, counted).all() and np.allclose(spread, expected, equal_nan=True)):
        raise InputError(f"pass@{k} needs answers that are right (1) or wrong (0).")
    if (answers < k).any():
        algorithm, case = (int(position[0]) for position in np.nonzero(answers < k))
        raise InputError(
            f"{show(matrix.algorithms[algorithm])} has {answers[algorithm, case]:,} answers to the "
            f"case {show(matrix.cases[case])}, and pass@{k} needs {k:,}: add answers, or number "
            "them with --repeat auto."
        )
    drawn = np.arange(k)[:, np.newaxis, np.newaxis]
    wrong = np.clip(answers - counted - drawn, 0.0, None) / (answers - drawn)
    return np.asarray(1.0 - wrong.prod(axis=0))


def _as_solution(matrix: CaseMatrix) -> Solution:
    n = len(matrix.cases)
    return Solution(
        id_column="case",
        targets=(Target("value", None),),
        columns=("value",),
        kind=PredictionKind.VALUE,
        ids=pa.array(matrix.cases, pa.string()),
        truth=np.zeros(n),
        usage=np.full(n, Usage.PRIVATE, dtype=np.uint8),
        sha256="",
        clusters=matrix.clusters,
        tasks=matrix.tasks,
        task_names=matrix.task_names,
    )


def finding_on_repeats(matrix: CaseMatrix, words: Vocabulary) -> Finding:
    """Return how much of the variance of the scores is due to repeated answers."""
    variance = repeat_variance(matrix.values, matrix.within, matrix.repeats, matrix.clusters)
    total = variance.between + variance.within / variance.answers
    share = np.divide(
        variance.within / variance.answers, total, out=np.zeros_like(total), where=total > 0
    )
    usual = float(np.nanmedian(share))
    verdict = (
        f"A {words.row} was answered {np.median(variance.answers):.3g} times (harmonic mean). The "
        f"answers to the same {words.row} make up {percent(usual)} of the variance of a mean "
        f"(median over the {words.teams}), and the differences between {words.rows} the rest."
    )
    document: Mapping[str, Any] = {"algorithms": list(matrix.algorithms), **variance.to_dict()}
    table = Table(
        "Variance of the mean: (between + within / K) / n",
        (
            words.team,
            "answers K",
            f"between {words.rows}",
            f"within {words.rows}",
            "standard error",
        ),
        tuple(
            (name, *map(float, row))
            for name, *row in zip(
                matrix.algorithms[:_TABLE_ROWS],
                variance.answers,
                variance.between,
                variance.within,
                variance.standard_error,
                strict=False,
            )
        ),
    )
    return Finding("repeats", verdict, document, tables=(table,))
