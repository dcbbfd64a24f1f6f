"""Frozen dataclasses that travel between the rooms of arena. They hold data and compute nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = [
    "Chart",
    "CompetitionInfo",
    "Fault",
    "Finding",
    "FloatArray",
    "IntArray",
    "MetricTraits",
    "PredictionKind",
    "Release",
    "RowContext",
    "Section",
    "Solution",
    "SubmissionRecord",
    "Table",
    "Target",
    "Usage",
    "WeightArray",
]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.intp]
WeightArray: TypeAlias = npt.NDArray[np.uint8]


class PredictionKind(StrEnum):
    """What a submission must hold for a metric.

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
    ``TEXT``                any text in each cell, as the metric reads it     ``(n,)``, or
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


class Usage(IntEnum):
    """The part of the solution that a row belongs to, as in Kaggle's ``Usage`` column."""

    PUBLIC = 0
    PRIVATE = 1
    IGNORED = 2


@dataclass(frozen=True, slots=True)
class MetricTraits:
    """What a metric may declare about itself, beyond its name and direction."""

    prediction_range: tuple[float, float] = (-np.inf, np.inf)
    """Closed range of valid predictions; a submission outside is refused."""
    truth_range: tuple[float, float] = (-np.inf, np.inf)
    """Closed range of targets for which the metric is defined (``VALUE`` only)."""
    row_range: tuple[float, float] | None = None
    """Range of the row values of a pointwise metric, if they are bounded."""
    score_range: tuple[float, float] = (-np.inf, np.inf)
    """Closed range of scores; no interval leaves it."""
    needs_every_class: bool = False
    """Undefined unless every class occurs: resamples that lack one are redrawn and counted."""
    stratify_by_class: bool = False
    """Resample within classes by default: only for metrics that do not depend on prevalence."""
    max_classes: int | None = None
    """The largest number of classes for which the metric is defined."""
    joint_targets: bool = False
    """Takes all targets at once; otherwise the mean over them is taken.

    The truth is ``(n, n_targets)`` and a prediction ``(n, n_columns)``; one target, and one
    column, is ``(n,)``."""
    time_limit: float | None = None
    """Seconds that one call of ``score`` may take, in a process of its own that can be ended; None:
    it is trusted to come back, and called where it is."""
    extra_columns: tuple[str, ...] = ()
    """Columns of the solution that are no targets: given by :class:`RowContext` where they are."""
    empty_cells: bool = True
    """Whether a cell of a submission may be empty (``TEXT`` only)."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a submission, for the person who sent it."""

    kind: str
    """Short name of the rule that was broken, such as ``missing id``."""
    message: str
    """A sentence: what is wrong and what to do. Holds no label and no score of the solution."""
    row: int | None = None
    """The line as an editor shows it (header = 1); in Parquet counted from 1."""
    id: str | None = None
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """One thing to predict."""

    name: str
    classes: tuple[str, ...] | None
    """The labels in the order of their codes (with two, the second is positive); None: numeric."""


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """The organiser's solution file, read and checked. Rows keep the order of the file."""

    id_column: str
    targets: tuple[Target, ...]
    columns: tuple[str, ...]
    """The columns besides the id that a submission must have; their order is the array's."""
    kind: PredictionKind
    ids: Any
    """``pyarrow.StringArray`` of n unique ids."""
    truth: npt.NDArray[Any]
    """``(n,)`` codes, values or texts; ``(n, n_targets)`` for several targets.

    Ignored rows hold 0, or no text."""
    usage: npt.NDArray[np.uint8]
    """``(n,)`` of :class:`Usage`."""
    sha256: str
    clusters: IntArray | None = None
    """``(n,)`` codes of the group of each row; groups are resampled whole."""
    extra: Mapping[str, FloatArray] = field(default_factory=dict)
    """``(n,)`` of each of :attr:`MetricTraits.extra_columns` that the file has; ignored rows: 0."""
    tasks: IntArray | None = None
    """``(n,)`` codes of the task of each row, where a competition has several: looked at apart."""
    task_names: tuple[str, ...] = ()
    """The names of the tasks, in the order of their codes."""
    soft_labels: FloatArray | None = None
    """``(n,)`` probability of the positive class, or ``(n, n_classes)``, as annotators see it.

    As secret as the labels. Ignored rows hold 0."""

    @property
    def n_rows(self) -> int:
        """The number of rows, of every usage."""
        return len(self.usage)


@dataclass(frozen=True, slots=True, eq=False)
class RowContext:
    """What stands beside the truth of the n rows that a metric is about to score."""

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
    """The labels of the only target, in the order of their codes; None: it has none."""


@dataclass(frozen=True, slots=True)
class SubmissionRecord:
    """A submission as the store knows it."""

    submission: int
    team: str
    file: str
    sha256: str
    status: str
    """``accepted``, ``rejected`` for its faults, or ``refused``: over a limit or too late."""
    received: str
    """UTC, ISO 8601."""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class CompetitionInfo:
    """What a plugin may know about a competition while it runs: nothing about any label."""

    title: str
    metric: str
    greater_is_better: bool
    kind: PredictionKind
    id_column: str
    columns: tuple[str, ...]
    ids: Any
    """``pyarrow.StringArray`` of the n ids that a submission must hold."""


@dataclass(frozen=True, slots=True)
class Release:
    """What a mechanism shows for one submission."""

    score: float
    improved: bool
    state: Mapping[str, Any] = field(default_factory=dict)
    """Small JSON that the next release starts from; submissions are named by id."""
    ranked_by: float | None = None
    """What the public board ranks by, where it is not the score that is shown."""


@dataclass(frozen=True, slots=True)
class Table:
    """A small table of an analysis, for a terminal or a report."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A picture, as data: the same in a notebook, a report, and a file."""

    name: str
    """Unique in a result, of letters, digits and hyphens: the stem of its file."""
    title: str
    description: str
    """What it shows, in a sentence, for a person who cannot see it."""
    specification: Mapping[str, Any]
    """Vega-Lite, with its data in it, such as ``altair.Chart(…).to_dict()``."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a report, as data; the report decides how it looks."""

    title: str
    text: str
    """Paragraphs of plain text, a blank line between two."""
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    public: bool = False
    """Whether participants may see it before the end: it tells nothing of the private rows."""
    technical: bool = False
    """Whether it belongs to the last part of a report: how the figures were computed."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What an analysis found out."""

    analysis: str
    verdict: str
    """One sentence for a person who knows no statistics."""
    document: Mapping[str, Any]
    """The finding as JSON."""
    columns: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Columns for the board, one value per submission in the study's order."""
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()
    details: Any = field(default=None, compare=False, repr=False)
    """What the plugin keeps for its own report sections, in memory only: never in a document."""
