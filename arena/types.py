"""Frozen dataclasses that all packages of arena share: data without behaviour."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "DEFAULT_LEVEL",
    "DEFAULT_RANKER",
    "DEFAULT_RESAMPLES",
    "KNOWN_TARGET",
    "ROW_PENDING",
    "ROW_TIMES",
    "ROW_WEIGHTS",
    "USAGE_COLUMN",
    "Chart",
    "CompetitionInfo",
    "Fault",
    "Finding",
    "FloatArray",
    "IntArray",
    "MetricTraits",
    "PredictionKind",
    "RawTable",
    "Release",
    "RowContext",
    "RowNumber",
    "Section",
    "Solution",
    "SolutionColumns",
    "SolutionOutline",
    "SubmissionRecord",
    "Table",
    "Target",
    "Usage",
    "WeightArray",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
UsageArray: TypeAlias = npt.NDArray[np.uint8 | np.uint16]
WeightArray: TypeAlias = npt.NDArray[np.uint8]
RowNumber: TypeAlias = Callable[[int], int]
"""Position of a row in the table -> its line number in an editor."""

DEFAULT_RESAMPLES = 1_000
"""Default number of bootstrap resamples of the rows."""
DEFAULT_LEVEL = 0.95
"""Default confidence level of intervals."""
DEFAULT_RANKER = "simultaneous"
"""Default procedure of the ranks of a board."""
ROW_WEIGHTS = "row weights"
"""The key of the row weights in :attr:`Solution.extra`."""
ROW_TIMES = "row times"
"""The key of the times of the rows in :attr:`Solution.extra`; only their order counts."""
ROW_PENDING = "pending label"
"""The key in :attr:`Solution.extra` of 1 where the label of a row is to arrive later."""
LEAST_WEIGHT, MOST_WEIGHT = 1e-9, 1e9
"""Of a part of a combination: beyond these, sums lose the small weights or overflow."""
KNOWN_TARGET = "known: "
"""Before the name of a target: the key in :attr:`Solution.extra` of the rows that have a value."""
USAGE_COLUMN = "Usage"
"""Default name of the column that marks rows of a solution as Public, Private or Ignored."""


class PredictionKind(StrEnum):
    """The content of a submission for a metric.

    ======================= ================================================= ===================
    kind                    in a submission                                   array of one
    ======================= ================================================= ===================
    ``LABEL``               one of the solution's labels per row              ``(n,)`` codes
    ``PROBABILITY``         probability of the positive class                 ``(n,)`` in [0, 1]
    ``CLASS_PROBABILITIES`` two classes: probability of the positive class;   ``(n,)``, or
                            more: one column per class, rows summing to 1     ``(n, n_classes)``
    ``SCORE``               two classes: any finite number, larger = more     ``(n,)``, or
                            positive; more: one column per class              ``(n, n_classes)``
    ``VALUE``               a finite number                                   ``(n,)``
    ``TEXT``                any text in each cell, parsed by the metric       ``(n,)``, or
                                                                              ``(n, n_columns)``
    ======================= ================================================= ===================

    For ``VALUE`` the truth is ``(n,)`` float64, and for ``TEXT`` ``(n,)`` objects that are str; for
    every other kind it is ``(n,)`` codes 0 … n_classes-1 into :attr:`Target.classes`, and with two
    classes code 1 is the positive one.
    """

    LABEL = "label"
    PROBABILITY = "probability"
    CLASS_PROBABILITIES = "class probabilities"
    SCORE = "score"
    VALUE = "value"
    TEXT = "text"


SENT = {
    PredictionKind.LABEL: "a label for each row",
    PredictionKind.PROBABILITY: "the probability of the positive class for each row",
    PredictionKind.CLASS_PROBABILITIES: "a probability for each row, or for each row and class",
    PredictionKind.SCORE: "a number for each row, or for each row and class: larger is more likely",
    PredictionKind.VALUE: "a number for each row",
    PredictionKind.TEXT: "a text for each row, as the metric describes it",
}
"""What a submission holds, in words."""


class Usage(IntEnum):
    """The part of the solution that a row belongs to, as in Kaggle's ``Usage`` column."""

    PUBLIC = 0
    PRIVATE = 1
    IGNORED = 2


def usage_array(codes: npt.ArrayLike) -> UsageArray:
    """Return codes of usages in the form of their digests: in a byte each, if all of them fit.

    >>> usage_array([0, 255]).dtype, usage_array([0, 256]).dtype
    (dtype('uint8'), dtype('uint16'))
    """
    values = np.asarray(codes)
    return values.astype(np.uint8 if values.max(initial=0) < 2**8 else np.uint16)


def usage_names(row_sets: Sequence[str]) -> list[str]:
    """Return the name of each code of a usage column, in lower case; ``row_sets``: from 3 on.

    >>> usage_names(["dev"])
    ['public', 'private', 'ignored', 'dev']
    """
    return [*(usage.name.lower() for usage in Usage), *row_sets]


@dataclass(frozen=True, slots=True)
class MetricTraits:
    """Optional declarations of a metric, beyond its name and direction."""

    prediction_range: tuple[float, float] = (-1e100, 1e100)
    """Closed range of valid predictions; a submission outside is rejected before it is scored.

    No score within the two ranges may overflow: whether a score is finite must not depend on the
    truth."""
    truth_range: tuple[float, float] = (-1e100, 1e100)
    """Closed range of targets for which the metric is defined (``VALUE`` only)."""
    row_range: tuple[float, float] | None = None
    """Range of the row values of a pointwise metric, if they are bounded."""
    score_range: tuple[float, float] = (-np.inf, np.inf)
    """Closed range of scores; intervals stay within it."""
    needs_every_class: bool = False
    """Undefined unless every class occurs: resamples without one are redrawn and counted."""
    stratify_by_class: bool = False
    """Resample within classes by default: only for metrics that do not depend on prevalence."""
    ordered_classes: bool = False
    """Whether the score depends on the order of the labels: texts must then be declared."""
    max_classes: int | None = None
    """The largest number of classes for which the metric is defined."""
    for_more_classes: str = ""
    """A metric to choose instead where there are more classes, such as ``f1(average=macro)``."""
    joint_targets: bool = False
    """Whether the metric scores all targets at once; otherwise scores are averaged over targets.

    The truth is ``(n, n_targets)`` and a prediction ``(n, n_columns)``; one target, and one
    column, is ``(n,)``."""
    time_limit: float | None = None
    """Seconds that one call of ``score`` may take in a separate process, which is then terminated.
    None: no limit; the metric is called in the current process."""
    memory_limit: float | None = None
    """Megabytes that the separate process may allocate, if the system can enforce it; None: no
    limit."""
    network: bool = True
    """Whether the separate process may use the network. False is enforced on Linux with user
    namespaces."""
    folder: Path | None = None
    """A folder that the separate process can only read (Linux with user namespaces)."""
    extra_columns: tuple[str, ...] = ()
    """Columns of the solution other than targets; :class:`RowContext` holds those that exist."""
    row_weights: bool = True
    """Whether ``score`` takes any weights that are not negative, and not only counts of rows."""


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """The content of a file before it is interpreted."""

    names: tuple[str, ...]
    """Column names with composed accents (NFC); they may repeat."""
    columns: tuple[Any, ...]
    """``pyarrow.Array`` of each column: text from a CSV file, any flat type from Parquet."""
    row_number: RowNumber
    header_row: int | None = None
    """The line number of the header; None for a file without lines."""
    decimal_comma: bool = False
    """Whether numbers may be written with a decimal comma."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.columns[0]) if self.columns else 0


@dataclass(frozen=True, slots=True)
class SolutionColumns:
    """The roles of the columns of a solution file."""

    id: str | None = None
    """The id column; None: the column ``id``, else the first. ``line``: rows are numbered in the
    order of each file, if it has no such column."""
    targets: tuple[str, ...] = ()
    """The target columns; empty: the only remaining column, or all of them for a metric with
    joint targets."""
    usage: str = USAGE_COLUMN
    """The column of Public, Private and Ignored; optional under its default name."""
    row_sets: tuple[str, ...] = ()
    """Further values of the usage column, in lower case; sorted."""
    positive: str | None = None
    """The positive label of a binary target; None: the second of the labels."""
    classes: tuple[str, ...] = ()
    """The labels in their order, also those that no row has; empty: those of the rows, sorted."""
    cluster: str | None = None
    """A column of groups that are resampled as a whole."""
    time: str | None = None
    """A column of times, numbers or ISO 8601, of dependent rows: blocks are resampled as a whole;
    not beside :attr:`cluster`."""
    tasks: str | None = None
    """A column with the task of each row: reports also rank each task separately."""
    weight: str | None = None
    """A column of row weights, not negative: how much a row counts in the score."""
    soft_labels: tuple[str, ...] = ()
    """Columns of label probabilities: one for the positive label, or one per label.

    Columns named after the labels may be in any order; others follow the order of the labels."""
    no_header: tuple[str, ...] = ()
    """The names of all columns of a CSV file without a header line; empty: it has one.

    Submissions may then lack it too, with the id and the columns of a submission in this order.
    With a single name, each line is a text of this column, and its number is the id. If the id is
    ``block``, texts are blocks of lines; if it is ``line``, only submissions lack a header."""
    pending_labels: bool = False
    """Whether empty targets are labels that arrive later: see :attr:`Solution.pending`."""
    submission: tuple[str, ...] = ()
    """The columns of a submission besides the id; empty: the targets, or one per class.

    Only for text predictions and a metric with joint targets."""


RULE_FAILED = "rule failed"
"""The kind of a fault that is the organiser's: the file was not judged, and counts for nothing."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A problem in a submission, reported to the participant."""

    kind: str
    """Short name of the rule that was broken, such as ``missing id``."""
    message: str
    """A sentence: the fault and the remedy. Contains no label and no score."""
    row: int | None = None
    """The line number in an editor (header = 1); in Parquet the row number from 1."""
    id: str | None = None
    """The id of the row, or None if it has no id."""
    column: str | None = None
    """The column; None: the fault concerns the row or the file."""
    count: int = 1
    """The number of faults that this one represents; above 1 if further faults are only counted."""
    cause: str | None = None
    """The probable common cause of faults of this kind, such as ``looks like probabilities``."""


@dataclass(frozen=True, slots=True)
class Target:
    """A target column of a solution."""

    name: str
    classes: tuple[str, ...] | None
    """The labels in the order of their codes (with two, the second is positive); None: numeric."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A solution file, read and checked. Rows keep the order of the file."""

    id_column: str
    targets: tuple[Target, ...]
    columns: tuple[str, ...]
    """The columns besides the id that a submission must have, in the order of the arrays."""
    kind: PredictionKind
    ids: Any
    """``pyarrow.StringArray`` of n unique ids."""
    truth: npt.NDArray[Any]
    """``(n,)`` codes, values or texts; ``(n, n_targets)`` for several targets.

    Ignored and pending rows are 0, or an empty text. A row without a value of one of several
    targets has one that occurs among the others of its usage."""
    usage: UsageArray
    """``(n,)`` of :class:`Usage`, or from 3 on of :attr:`row_sets`."""
    sha256: str
    clusters: IntArray | None = None
    """``(n,)`` codes of the group of each row; groups are resampled whole."""
    extra: Mapping[str, FloatArray] = field(default_factory=dict)
    """``(n,)`` of each of :attr:`MetricTraits.extra_columns` and of the public columns of the
    modality in the file, the weights and times of the rows under :data:`ROW_WEIGHTS` and
    :data:`ROW_TIMES`, those without a label under :data:`ROW_PENDING` if there are any, and after
    :data:`KNOWN_TARGET` 1 where a target has a value and 0 where it
    has none, if it lacks some; ignored rows are 0, except in public columns."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, if there are several; each is also ranked alone."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes."""
    soft_labels: FloatArray | None = None
    """``(n,)`` probability of the positive class, or ``(n, n_classes)``, from annotators.

    As secret as the labels. Ignored rows are 0."""
    row_sets: tuple[str, ...] = ()
    """Further values of the usage column, sorted, which phases name: codes 3, 4 and so on."""
    names_usage: bool = False
    """Whether the file has a usage column; not stored."""
    guessed_usage: str | None = None
    """The usage column, if it was recognised by its cells and not by its name; not stored."""

    @property
    def n_rows(self) -> int:
        """The number of rows, ignored ones included."""
        return len(self.usage)

    @property
    def pending(self) -> npt.NDArray[np.bool_]:
        """``(n,)`` whether a row counts, but its label is to arrive later."""
        flags = self.extra.get(ROW_PENDING)
        return np.zeros(self.n_rows, dtype=np.bool_) if flags is None else flags > 0

    def labelled(self) -> Solution:
        """Return it as it is scored now: rows without a label are ignored."""
        if ROW_PENDING not in self.extra:
            return self
        return replace(self, usage=np.where(self.pending, np.uint8(Usage.IGNORED), self.usage))

    def outline(self) -> SolutionOutline:
        """Return what is known of it without its rows."""
        return SolutionOutline(
            n_public=int((self.usage == np.uint8(Usage.PUBLIC)).sum()),
            classes=tuple(target.classes for target in self.targets),
            weighted=ROW_WEIGHTS in self.extra,
            gaps=any(name.startswith(KNOWN_TARGET) for name in self.extra),
            kind=self.kind,
        )


class SolutionOutline(NamedTuple):
    """What a command knows of a solution that does not read its rows."""

    n_public: int
    """The number of public rows."""
    classes: tuple[tuple[str, ...] | None, ...]
    """The labels of each target in the order of their codes; None: it is not a label."""
    weighted: bool
    """Whether the rows have weights."""
    gaps: bool = False
    """Whether a target lacks a value in some rows."""
    kind: PredictionKind = PredictionKind.VALUE
    """The content of submissions."""

    @property
    def n_classes(self) -> int | None:
        """The number of labels of the only target; None: it is no label, or there are several."""
        (classes, *others) = self.classes
        return None if others or classes is None else len(classes)


@dataclass(frozen=True, slots=True, eq=False)
class RowContext:
    """Facts for a metric about the n rows that it scores, besides the truth."""

    id_column: str
    ids: Any
    """``pyarrow.StringArray`` of the n ids."""
    targets: tuple[str, ...]
    """The names of the target columns."""
    columns: tuple[str, ...]
    """The names of the columns of a submission, in the order of a prediction's columns."""
    clusters: IntArray | None = None
    """``(n,)`` codes of the group of each row, from 0, where the solution has groups."""
    extra: Mapping[str, FloatArray] = field(default_factory=dict)
    """``(n,)`` float64 of each of :attr:`MetricTraits.extra_columns` that the solution has."""
    classes: tuple[str, ...] | None = None
    """The labels of the only target, in the order of their codes; None: there are no labels."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, where the solution has several."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign on a board whose facts changed after it was shown."""

    time: str
    """When they changed: ISO 8601, UTC."""
    cause: str
    """What changed, as the end of a sentence; for everybody."""

    def sentence(self, beginning: str) -> str:
        """Return the mark as a sentence.

        >>> Mark("2026-03-01T12:00:00+00:00", "a team was disqualified").sentence("Changed")
        'Changed on 2026-03-01 12:00 UTC: a team was disqualified.'
        """
        return f"{beginning} on {self.time[:16].replace('T', ' ')} UTC: {self.cause}."


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """A stored submission."""

    submission: int
    """Its id."""
    team: str
    """The name of the team."""
    file: str
    """The name of the file."""
    sha256: str
    """The SHA-256 hash of the file."""
    status: str
    """``accepted``, ``rejected`` (faults), or ``refused`` (over a limit or too late)."""
    received: str
    """UTC, ISO 8601."""
    faults: tuple[Fault, ...] = ()
    """Why it was rejected; empty: it was not."""
    late: bool = False
    """Whether it was received after the deadline: it is scored and listed apart, and not ranked."""
    phase: str = ""
    """The phase for which it counts; empty where a competition has no named phases."""


@dataclass(frozen=True, slots=True)
class CompetitionInfo:
    """Facts for a plugin about a running competition: nothing about the labels."""

    title: str
    metric: str
    greater_is_better: bool
    kind: PredictionKind
    id_column: str
    columns: tuple[str, ...]
    ids: Any
    """``pyarrow.StringArray`` of the n ids that a submission must contain."""


@dataclass(frozen=True, slots=True)
class Release:
    """The output of a mechanism for one submission."""

    score: float
    """The score that is shown."""
    improved: bool
    """Whether the submission is shown as an improvement."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """A small JSON document, passed to the next release; it refers to submissions by id."""
    ranked_by: float | None = None
    """The value that the public board ranks by; None: the score. Two submissions with different
    scores must be ordered in the same way by both."""
    source: int | None = None
    """The submission whose score this is, if the mechanism repeats an earlier score; None: the
    submission itself."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The nouns of a board's sentences: who competes, with what, and on what.

    >>> words = Vocabulary("algorithm", "algorithm", "case")
    >>> f"{words.A_team} leads {words.teams} on these {words.rows}."
    'An algorithm leads algorithms on these cases.'
    """

    team: str = "team"
    """Who competes, such as ``algorithm`` or ``model``."""
    submission: str = "submission"
    """What is scored."""
    row: str = "row"
    """What it is scored on, such as ``case`` or ``question``."""

    @property
    def teams(self) -> str:
        """The plural of ``team``."""
        return f"{self.team}s"

    @property
    def submissions(self) -> str:
        """The plural of ``submission``."""
        return f"{self.submission}s"

    @property
    def rows(self) -> str:
        """The plural of ``row``."""
        return f"{self.row}s"

    @property
    def a_team(self) -> str:
        """The team with its article."""
        return f"{'an' if self.team[0] in 'aeiou' else 'a'} {self.team}"

    @property
    def A_team(self) -> str:  # noqa: N802 - as it is written
        """The same at the beginning of a sentence."""
        return f"A{self.a_team[1:]}"

    @property
    def numbered(self) -> bool:
        """Whether submissions have numbers that a reader can look up: teams send them."""
        return self.team != self.submission


TEAMS = Vocabulary()
"""The nouns of a competition."""
VOCABULARIES = {
    "rows": TEAMS,
    "cases": Vocabulary("algorithm", "algorithm", "case"),
    "questions": Vocabulary("model", "model", "question"),
}
"""What is ranked on -> the nouns."""


@dataclass(frozen=True, slots=True)
class Table:
    """A small table of an analysis, for a terminal or a report."""

    title: str
    """The caption of the table."""
    columns: tuple[str, ...]
    """The names of the columns."""
    rows: tuple[tuple[Any, ...], ...]
    """The cells, row by row."""
    importance: tuple[int, ...] = ()
    """A number for each column: those with the largest are left out first in a narrow terminal.
    Empty: the last columns are."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart for notebooks, reports and image files."""

    name: str
    """Unique within a result; letters, digits and hyphens. Also the stem of its file."""
    title: str
    """The caption of the chart, in one line."""
    description: str
    """The alternative text: one sentence."""
    specification: Mapping[str, Any]
    """Vega-Lite with inline data, such as ``altair.Chart(…).to_dict()``."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report, as data; the report does the formatting."""

    title: str
    """The heading."""
    text: str
    """Paragraphs of plain text, separated by blank lines."""
    tables: tuple[Table, ...] = ()
    """Tables, in order."""
    charts: tuple[Chart, ...] = ()
    """Charts, in order."""
    public: bool = False
    """Whether participants may see it before the competition ends: it reveals nothing about the
    private rows."""
    technical: bool = False
    """Whether it belongs in the last part of a report, about how the figures were computed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of an analysis."""

    analysis: str
    """The name of the analysis."""
    verdict: str
    """One sentence for readers without statistical training."""
    document: Mapping[str, Any]
    """The finding as JSON."""
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Columns for the board, one value per submission in the order of the study."""
    tables: tuple[Table, ...] = ()
    """Tables for the report, in order."""
    charts: tuple[Chart, ...] = ()
    """Charts for the report, in order."""
    details: Any = field(default=None, compare=False, repr=False)
    """Data for the plugin's own report sections; kept in memory, never part of a document."""
