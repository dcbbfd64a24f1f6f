"""The interface of readers of evaluations: one value per algorithm and case, and no predictions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from arena.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class CaseScores:
    """Values of algorithms on cases: r records, in any order.

    The columns of text are sequences of ``str`` or arrays of pyarrow.
    """

    algorithms: Any
    """``(r,)`` names: models, methods, teams."""
    cases: Any
    """``(r,)`` names of the cases: questions, images, patients."""
    values: FloatArray
    """``(r,)``; NaN where the value is missing."""
    tasks: Any = None
    """``(r,)`` names of the tasks; None: there is one. Each task has its own cases."""
    clusters: Any = None
    """``(r,)`` names of groups of dependent cases, such as the questions on one text."""
    moments: FloatArray | None = None
    """``(r,)`` times of cases that depend on those before, of which only the order counts."""
    repeats: Any = None
    """``(r,)`` names of the repeated answers to a case; None: there is one answer."""
    metric: str = "value"
    """The quantity of the values."""
    greater_is_better: bool | None = None
    """None: the files do not say it."""
    value_range: tuple[float, float] | None = None
    """The range of the values, if the files say it."""
    notes: tuple[str, ...] = ()
    """Decisions of the reader, in sentences."""
    kind: Literal["cases", "questions"] = "cases"
    """The word for cases on boards; with ``questions`` the algorithms are called models."""


@runtime_checkable
class CaseReader(Protocol):
    """Reads the files of an evaluation tool."""

    @property
    def name(self) -> str:
        """The name for ``arena rank --format``."""

    @property
    def description(self) -> str:
        """The files that it reads, in one line."""

    def recognises(self, path: Path) -> bool:
        """Return whether a file or folder looks like one of this format; must be fast."""

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read a file or folder.

        Parameters
        ----------
        path
            A file, or a folder that is searched.
        value
            Which of several values per case is read; None: the first, or the only one.

        Raises
        ------
        InputError
            If a file cannot be read, or there is no such value. The message names both.
        """
