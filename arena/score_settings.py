"""How a folder of submissions is scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from arena.errors import UsageError
from arena.private_board import BoardSettings
from arena.types import Usage

__all__ = ["SPLITS", "ScoreSettings", "SolutionColumns"]

SPLITS: Mapping[str, tuple[Usage, ...]] = {
    "private": (Usage.PRIVATE,),
    "public": (Usage.PUBLIC,),
    "all": (Usage.PRIVATE, Usage.PUBLIC),
}


@dataclass(frozen=True, slots=True)
class SolutionColumns:
    """Which column of the solution is what."""

    id: str | None = None
    """None: the column ``id``, else the first."""
    targets: tuple[str, ...] = ()
    """Empty: the only column left."""
    usage: str = "Usage"
    positive: str | None = None
    """The positive label of two; None: the second in sorted order."""
    cluster: str | None = None
    """A column of groups that are resampled whole."""
    submission: tuple[str, ...] = ()
    """The columns of a submission besides the id; empty: the targets, or one for each class.

    Only where texts are predicted and the metric takes all targets at once."""
    tasks: str | None = None
    """A column of the task of each row: reports rank the tasks apart, too."""
    soft_labels: tuple[str, ...] = ()
    """Columns of the probability of the positive label of two, or of each label."""


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """How a folder is scored.

    Raises
    ------
    UsageError
        If the split is unknown, or clusters are to be stratified.
    """

    metric: str
    """A specification such as ``roc_auc`` or ``f1(average=macro)``."""
    columns: SolutionColumns = field(default_factory=SolutionColumns)
    split: str = "private"
    """The rows that are ranked: ``private``, ``public`` or ``all`` (but the ignored ones)."""
    database: Path | None = None
    """Where submissions are stored; None: in a temporary file."""
    board: BoardSettings = field(default_factory=BoardSettings)

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UsageError(f"The split is private, public or all, not {self.split!r}.")
        if self.board.stratify and self.columns.cluster:
            raise UsageError("Resamples are stratified by class or drawn by clusters, not both.")
