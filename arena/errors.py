"""The errors that arena raises on purpose, and the exit code of each.

::

    ArenaError                  exit code 1: the user can mend it, and the message says how
    ├── UsageError              2: the command or call was put wrongly
    ├── InputError              1: a file of the organiser cannot be used as it is
    ├── MetricError             1: the metric is not defined for this data
    │   └── ScoringError        1: the metric refuses one submission, or fails on it
    ├── UnknownNameError        1: nothing is registered under this name
    ├── DuplicateNameError      1: two plugins, or two items, share one name
    ├── StoreError              1: the DuckDB file cannot be used
    │   ├── StoreBusyError      1: another process holds it
    │   └── StoreFormatError    1: it is damaged, foreign, or of another version
    │       ├── DamagedLogError 1: its write-ahead log cannot be replayed
    │       └── LossError       1: it lacks what its journal says was acknowledged
    └── PluginError             3: a plugin failed; the message names it

A fault in a *participant's* file is not an error but a result: see :class:`arena.types.Fault`.
Messages are whole sentences for the person who must act. They never hold a private label or a
private score.
"""

from __future__ import annotations

__all__ = [
    "ArenaError",
    "DamagedLogError",
    "DuplicateNameError",
    "InputError",
    "LossError",
    "MetricError",
    "PluginError",
    "ScoringError",
    "StoreBusyError",
    "StoreError",
    "StoreFormatError",
    "UnknownNameError",
    "UsageError",
]


class ArenaError(Exception):
    """Anything that arena refuses, with a sentence that says what is wrong and what to do."""

    exit_code = 1


class UsageError(ArenaError):
    """A command or function was called with arguments that do not go together."""

    exit_code = 2


class InputError(ArenaError):
    """A file or value that the organiser gave cannot be used as it is."""


class MetricError(ArenaError):
    """A metric is not defined for this solution or this kind of prediction."""


class ScoringError(MetricError):
    """A metric refuses one submission, or fails on it; the others can be scored all the same.

    Parameters
    ----------
    message
        For the organiser: what happened and where, without any value of the solution.
    kind
        The kind of the :class:`~arena.types.Fault` that the submission is rejected with.
    shown
        The message of that fault: what its team may know.
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
    """Another process holds the DuckDB file open."""


class StoreFormatError(StoreError):
    """The file is no arena database, is damaged, or was written by another version."""


class DamagedLogError(StoreFormatError):
    """The write-ahead log cannot be replayed."""


class LossError(StoreFormatError):
    """The database lacks what its journal says was acknowledged."""


class PluginError(ArenaError):
    """A plugin failed; the message names the plugin and what it was doing."""

    exit_code = 3
