"""What is known of each plugin, and of each failure of one."""

from __future__ import annotations

import contextlib
import itertools
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from arena.errors import ArenaError, DuplicateNameError, PluginError

__all__ = [
    "Failure",
    "PluginInfo",
    "attributed",
    "attributed_metric",
    "distribution_of",
    "missing_members",
    "say_failure",
    "unique_entry_points",
]


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A plugin that was found."""

    name: str
    version: str
    origin: str
    """The distribution and its version, or the file or object that was registered."""
    load_seconds: float
    """Wall-clock seconds that its import and registration took."""
    failed_to_load: bool = False


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that went wrong inside a plugin.

    >>> print(Failure("mine", "loading", ValueError("no licence")))
    plugin 'mine' failed while loading: ValueError: no licence
    """

    plugin: str
    action: str
    error: BaseException

    def __str__(self) -> str:
        lines = str(self.error).strip().splitlines() or ["no message"]
        what = f"{type(self.error).__name__}: {lines[0]}"
        return f"plugin {self.plugin!r} failed while {self.action}: {what}"


def missing_members(item: Any, protocol: type[Any]) -> list[str]:
    """Return the members of a protocol that an object lacks.

    >>> from arena.interfaces import Analysis
    >>> missing_members(object(), Analysis)
    ['name', 'run']
    """
    members = [name for name in vars(protocol) if not name.startswith("_")]
    return [name for name in members if not hasattr(item, name)]


def say_failure(error: ArenaError, whose: str = "") -> None:
    """Tell the organiser of an error that ends nothing; its notes only where they ask for all."""
    log = logging.getLogger("arena")
    log.warning("%s%s", f"{whose}: " if whose else "", error)
    for note in getattr(error, "__notes__", ()):
        log.debug("%s", note)


@contextlib.contextmanager
def attributed(plugin: str, action: str) -> Iterator[None]:
    """Name the plugin in any error that its code raises and that arena does not know.

    For code that sees the labels there is :func:`attributed_metric`.

    >>> with attributed("mine", "scoring"):
    ...     raise ValueError("bad shape")
    Traceback (most recent call last):
    arena.errors.PluginError: Plugin 'mine' failed while scoring: ValueError: bad shape
    """
    try:
        yield
    except ArenaError:
        raise
    except Exception as error:
        failure = Failure(plugin, action, error)
        raise PluginError(str(failure).replace("plugin", "Plugin", 1)) from error


@contextlib.contextmanager
def attributed_metric(plugin: str, action: str) -> Iterator[None]:
    """Name plugin, type and place of an error, never its text: a metric's may hold true labels.

    Its text stands in the traceback of its cause, which only ``--verbose`` prints.

    >>> with attributed_metric("mine", "scoring"):  # doctest: +ELLIPSIS
    ...     raise ValueError("the label is 7")
    Traceback (most recent call last):
    arena.errors.PluginError: Plugin 'mine' failed while scoring: ValueError at ..., line 2. ...
    """
    try:
        yield
    except ArenaError:
        raise
    except Exception as error:
        what = f"{type(error).__name__} at {_place(error)}"
        raise PluginError(
            f"Plugin {plugin!r} failed while {action}: {what}. What it says may hold labels: "
            f"--verbose shows it."
        ) from error


def _place(error: BaseException) -> str:
    """Return file and line of the last frame that was reached."""
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return f"{Path(frame.f_code.co_filename).name}, line {line}"


def distribution_of(point: metadata.EntryPoint) -> str:
    """Return the distribution of an entry point with its version, such as ``arena 0.1.0``."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def unique_entry_points(group: str) -> list[metadata.EntryPoint]:
    """Return the installed entry points of a group, by name.

    Raises
    ------
    DuplicateNameError
        If two distributions provide one name.
    """
    found = sorted(metadata.entry_points(group=group), key=lambda point: point.name)
    for first, second in itertools.pairwise(found):
        if first.name == second.name:
            # Only now: a distribution's name is read from its metadata, which takes a while.
            both = " and ".join(sorted(map(distribution_of, (first, second))))
            raise DuplicateNameError(
                f"Two installed distributions, {both}, both provide {first.name!r} in the entry "
                f"points {group!r}. Uninstall one of them."
            )
    return found
