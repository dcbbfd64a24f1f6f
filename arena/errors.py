"""The errors that arena raises on purpose, and the exit code of each.

::

    ArenaError                  exit code 1: the user can fix it, and the message says how
    ├── UsageError              2: the command or call has invalid arguments
    ├── InputError              1: a file or value from the organiser is invalid
    ├── MetricError             1: the metric is not defined for this data
    │   ├── ScoringError        1: the metric rejects one submission, or fails on it
    │   └── DrawnRowsError      1: it fails on rows that are drawn again, as in a resample
    ├── UnknownNameError        1: nothing is registered under this name
    ├── DuplicateNameError      1: two plugins, or two items, share one name
    ├── StoreError              1: the DuckDB file cannot be used
    │   ├── StoreBusyError      1: another process has it open
    │   └── StoreFormatError    1: it is damaged, foreign, or of another version
    │       ├── ObjectError     1: an object with predictions is missing or was changed
    │       ├── DamagedLogError 1: its write-ahead log cannot be replayed
    │       └── LossError       1: it lacks acknowledged data
    ├── SandboxError            1: a machine could not run a participant's program
    └── PluginError             3: a plugin failed; the message names it
        └── RankingError        1: it ranks the board, which has scores without it

A fault in a *participant's* file is a result and not an error: see :class:`arena.types.Fault`.
Messages are full sentences for the person who must act. They never contain a private label or a
private score.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

__all__ = [
    "ArenaError",
    "DamagedLogError",
    "DuplicateNameError",
    "InputError",
    "LossError",
    "MetricError",
    "ObjectError",
    "PluginError",
    "RankingError",
    "SandboxError",
    "ScoringError",
    "StoreBusyError",
    "StoreError",
    "StoreFormatError",
    "UnknownNameError",
    "UsageError",
    "says_that_nothing_changed",
]


class ArenaError(Exception):
    """Base class of the errors of arena. The message names the fault and the remedy."""

    exit_code = 1


class UsageError(ArenaError):
    """A command or function was called with invalid or conflicting arguments."""

    exit_code = 2


class InputError(ArenaError):
    """A file or value from the organiser is invalid."""


@contextlib.contextmanager
def says_that_nothing_changed() -> Iterator[None]:
    r"""Add to the message of an InputError that nothing was changed; also a decorator.

    >>> with says_that_nothing_changed():
    ...     raise InputError("The file cannot be used:\n  row 3: The id already occurs in row 2.")
    Traceback (most recent call last):
    arena.errors.InputError: The file cannot be used:
      row 3: The id already occurs in row 2.
    Nothing was changed.
    """
    try:
        yield
    except InputError as error:
        separator = "\n" if "\n" in str(error) else " "
        raise InputError(f"{error}{separator}Nothing was changed.") from error


class MetricError(ArenaError):
    """A metric is not defined for this solution or this kind of prediction."""


class ScoringError(MetricError):
    """A metric rejects one submission, or fails on it; other submissions are not affected.

    Parameters
    ----------
    message
        For the organiser: what happened and where, without any value of the solution.
    kind
        The kind of the :class:`~arena.types.Fault` with which the submission is rejected.
    shown
        The message of that fault, which the team sees.
    """

    def __init__(self, message: str, kind: str, shown: str) -> None:
        super().__init__(message, kind, shown)
        self.kind = kind
        self.shown = shown

    def __str__(self) -> str:
        return str(self.args[0])


class UnknownNameError(ArenaError):
    """No metric, mechanism, analysis or competitor is registered under this name."""


class DuplicateNameError(ArenaError):
    """Two plugins, or two items of one kind, share one name."""


class StoreError(ArenaError):
    """The DuckDB file cannot be used."""


class StoreBusyError(StoreError):
    """Another process has the DuckDB file open."""


class StoreFormatError(StoreError):
    """The file is not an arena database, is damaged, or was written by another version."""


class ObjectError(StoreFormatError):
    """An object with the predictions of a submission is missing or was changed."""


class DamagedLogError(StoreFormatError):
    """The write-ahead log cannot be replayed."""


class LossError(StoreFormatError):
    """The database lacks data that its journal records as acknowledged."""


class SandboxError(ArenaError):
    """A machine could not run a participant's program, which is no fault of the program."""


class PluginError(ArenaError):
    """A plugin failed; the message names the plugin and the step."""

    exit_code = 3


class RankingError(PluginError):
    """The ranker of a board or an analysis of its plugin failed; scores need neither."""

    exit_code = 1
