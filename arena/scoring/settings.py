"""Settings for scoring a folder of submissions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from arena.errors import UsageError
from arena.evaluation.combination_parts import Combination
from arena.scoring.columns import given_columns
from arena.scoring.splits import SPLITS
from arena.types import DEFAULT_LEVEL, DEFAULT_RANKER, DEFAULT_RESAMPLES, SolutionColumns
from arena.utils.parallel import available_workers


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """Settings of a private board.

    Raises
    ------
    UsageError
        If a value is out of range.
    """

    resamples: int = DEFAULT_RESAMPLES
    """Number of bootstrap resamples of the rows; at least 2."""
    level: float = DEFAULT_LEVEL
    """Confidence level of all intervals, in (0, 1)."""
    seed: int = 0
    """The seed of the resamples; at least 0."""
    stratify: bool | None = None
    """Whether to resample within classes; None: only for metrics that declare it."""
    workers: int = 0
    """The number of workers; 0: one per processor."""
    intervals: bool = True
    """Whether ranks and scores get intervals. False: a metric that can only be called as a whole is
    called once per submission, on the ranked rows."""
    full_bootstrap: bool = False
    """Whether a metric that can only be called as a whole is called on each resample, and not on
    about a hundred parts of the rows; it is if there are no more resamples than that."""
    ranker: str = DEFAULT_RANKER
    """The procedure for the ranks, a specification such as ``simultaneous``."""

    def __post_init__(self) -> None:
        if self.resamples < 2:
            raise UsageError("At least 2 resamples are needed; 1,000 or more are recommended.")
        if not 0 < self.level < 1:
            raise UsageError("The level must be between 0 and 1, e.g. 0.95.")
        if self.seed < 0:
            raise UsageError("The seed must be 0 or more.")
        if self.workers < 0:
            raise UsageError("The number of workers must be 1 or more, or 0 for one per processor.")

    @property
    def n_workers(self) -> int:
        """The number of workers, with 0 resolved to the number of processors."""
        return self.workers or available_workers()


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """Settings for scoring a folder.

    Raises
    ------
    UsageError
        If the split is unknown, or both clusters and stratification are requested.
    """

    metric: str
    """A specification such as ``roc_auc`` or ``f1(average=macro)``."""
    columns: SolutionColumns = field(default_factory=SolutionColumns)
    """The roles of the solution's columns."""
    split: str = "private"
    """The ranked rows: ``private``, ``public`` or ``all`` (without ignored rows)."""
    database: Path | None = None
    """The file in which submissions are stored; None: they are kept in memory, or in a temporary
    file if they are texts or more than 256 MB."""
    board: BoardSettings = field(default_factory=BoardSettings)
    """Resamples, level, seed and workers."""
    brackets: Mapping[str, Collection[str]] = field(default_factory=dict)
    """Name -> teams that are also ranked among themselves."""
    others: tuple[str, ...] = ()
    """Other metrics, whose scores become columns, and enter the combination if there is one."""
    combination: Combination | None = None
    """How the scores by all metrics, on each task if the columns name tasks, become one; None: the
    first metric ranks, on the rows of all tasks."""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UsageError(f"The split must be private, public or all, not {self.split!r}.")
        if self.board.stratify and (self.columns.cluster or self.columns.time):
            raise UsageError(
                "Resamples can be stratified by class, or drawn by cluster or time, not both."
            )
        if len({self.metric, *self.others}) <= len(self.others):
            raise UsageError(f"A metric is named twice: {', '.join((self.metric, *self.others))}.")
        if self.combination is not None and not self.others and not self.columns.tasks:
            raise UsageError(
                "There is only one score to combine: name a second metric, or the column of tasks."
            )


def board_settings(board: BoardSettings | None, **keywords: Any) -> BoardSettings:
    """Return settings from a settings object or from keywords, of which None means the default.

    Raises
    ------
    UsageError
        If keywords are given beside a settings object.

    Examples
    --------
    >>> settings = board_settings(None, level=0.9, seed=None)
    >>> settings.level, settings.seed
    (0.9, 0)
    """
    stated_values = {name: value for name, value in keywords.items() if value is not None}
    if board is None:
        return BoardSettings(**stated_values)
    refuse_keywords(stated_values)
    return board


def score_settings(
    settings: ScoreSettings | str | None, metric: str | Sequence[str] | None, **keywords: Any
) -> ScoreSettings:
    """Return settings from a settings object or from keywords, of which None means the default.

    Raises
    ------
    UsageError
        If no metric is given, or keywords are given beside a settings object.

    Examples
    --------
    >>> made = score_settings(None, "f1", target="y", level=0.9, split=None)
    >>> made.columns.targets, made.board.level, made.split
    (('y',), 0.9, 'private')
    """
    stated_values = {name: value for name, value in keywords.items() if value is not None}
    if isinstance(settings, ScoreSettings):
        refuse_keywords([*(["metric"] if metric else ()), *stated_values])
        return settings
    if settings is not None and metric is not None:
        raise UsageError(f"The metric was given twice: {settings!r} and {metric!r}.")
    named = settings or metric
    several = isinstance(named, Sequence) and not isinstance(named, str)
    names: list[Any] = list(named) if several and named is not None else [named]
    if not names or not all(isinstance(name, str) for name in names):
        what = "No metric was given" if named is None else f"The metric is {named!r}"
        raise UsageError(f'{what}: give its name, such as metric="roc_auc".')
    board = {setting.name for setting in fields(BoardSettings)}
    of_board = {name: stated_values.pop(name) for name in list(stated_values) if name in board}
    database = stated_values.pop("database", None)
    split = stated_values.pop("split", "private")
    return ScoreSettings(
        metric=names[0],
        others=tuple(names[1:]),
        brackets=stated_values.pop("brackets", {}),
        combination=combination_of(
            stated_values.pop("combine", None), stated_values.pop("weights", None)
        ),
        columns=given_columns(**stated_values),
        split=split,
        database=None if database is None else Path(database),
        board=BoardSettings(**of_board),
    )


def combination_of(
    how: str | None, weights: Mapping[str, float] | None = None
) -> Combination | None:
    """Return a combination by its name; None: there is none.

    Raises
    ------
    UsageError
        If the name is unknown, or weights are given without one.
    """
    if how is None and weights:
        raise UsageError("Weights are those of a combination: name one, such as mean.")
    return None if how is None else Combination(how, dict(weights or {}))


def refuse_keywords(keywords: Collection[str]) -> None:
    """Raise UsageError if these keywords were given beside a settings object."""
    if keywords:
        raise UsageError(
            f"Settings were given as an object and as keywords ({', '.join(keywords)}): give "
            "one of them."
        )
