"""Information about plugins and about failures in them."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import itertools
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from arena.errors import ArenaError, DuplicateNameError, PluginError
from arena.utils.located import located
from arena.utils.text import printable, printable_lines

ANY_FAILURE = (Exception, SystemExit)
"""What the code of a plugin may raise: it may also call exit, which must not end the program."""


@dataclass(frozen=True, slots=True)
class PluginInfo:
    """A plugin that was found."""

    name: str
    version: str
    origin: str
    """The distribution and its version, or the file or object that was registered."""
    load_seconds: float
    """Wall-clock seconds for import and registration."""
    failed_to_load: bool = False
    may_hold_rule: bool = False
    """Whether it failed to load and may implement ``check_submission``."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error raised by a plugin.

    >>> print(Failure("mine", "loading", ValueError("no licence")))
    plugin 'mine' failed while loading: ValueError: no licence
    """

    plugin: str
    action: str
    error: BaseException
    quoted: bool = True
    """Whether the text of the error is shown; False for code that sees the labels."""

    def __str__(self) -> str:
        lines = str(self.error).strip().splitlines() or ["no message"]
        what = f"{type(self.error).__name__}: {lines[0]}" if self.quoted else located(self.error)
        return f"plugin {self.plugin!r} failed while {self.action}: {what}"


def may_implement(point: metadata.EntryPoint, hook: str) -> bool:
    """Return whether a plugin that cannot be imported may implement a hook.

    The text of its package is searched for the name. True if there is no text to search.
    """
    package = point.value.partition(":")[0].partition(".")[0]
    try:
        spec = importlib.util.find_spec(package)
        folders = (
            []
            if spec is None
            else [Path(location) for location in spec.submodule_search_locations or ()]
        )
        files = [file for folder in folders for file in folder.rglob("*.py")]
        if spec is not None and spec.origin and not folders:
            files = [Path(spec.origin)]
        return not files or any(hook in file.read_text("utf-8", "replace") for file in files)
    except (ImportError, OSError, ValueError):
        return True


def log_failure(error: ArenaError, subject: str) -> None:
    """Log a non-fatal error as a warning, and its notes at debug level."""
    log = logging.getLogger("arena")
    log.warning("%s: %s", printable(subject), error)
    for note in getattr(error, "__notes__", ()):
        log.debug("%s", printable_lines(note))  # it may quote what a team sent


@contextlib.contextmanager
def attributed(plugin: str, action: str) -> Iterator[None]:
    """Turn any error of a plugin's code, other than :class:`ArenaError`, into a PluginError.

    For code that sees labels, use :func:`attributed_unquoted`.

    >>> with attributed("mine", "scoring"):
    ...     raise ValueError("bad shape")
    Traceback (most recent call last):
    arena.errors.PluginError: Plugin 'mine' failed while scoring: ValueError: bad shape
    """
    try:
        yield
    except ArenaError:
        raise
    except ANY_FAILURE as error:
        failure = Failure(plugin, action, error)
        raise PluginError(str(failure).replace("plugin", "Plugin", 1)) from error


@contextlib.contextmanager
def attributed_unquoted(plugin: str, action: str) -> Iterator[None]:
    """Like :func:`attributed`, with type and place of the error but not its text.

    For code that sees labels, such as metrics and mechanisms: the text may contain labels. It is in
    the traceback of the cause, which only ``--verbose`` prints.

    >>> with attributed_unquoted("mine", "scoring"):  # doctest: +ELLIPSIS
    ...     raise ValueError("the label is 7")
    Traceback (most recent call last):
    arena.errors.PluginError: Plugin 'mine' failed while scoring: ValueError at ..., line 2. ...
    """
    try:
        yield
    except ArenaError:
        raise
    except ANY_FAILURE as error:
        raise PluginError(f"Plugin {plugin!r} failed while {action}: {located(error)}") from error


def distribution_of(point: metadata.EntryPoint) -> str:
    """Return the distribution of an entry point with its version, such as ``arena 0.1.0``."""
    return " ".join(_name_and_version(point.dist)) if point.dist else point.value


def version_of(point: metadata.EntryPoint) -> str:
    """Return the version of the distribution of an entry point, or an empty text."""
    return _name_and_version(point.dist)[1] if point.dist else ""


@functools.lru_cache(maxsize=64)
def _name_and_version(distribution: metadata.Distribution) -> tuple[str, str]:
    # Cached: parsing the metadata, a page of text, takes a while.
    return str(distribution.metadata["Name"]), str(distribution.metadata["Version"])


def unique_entry_points(group: str) -> list[metadata.EntryPoint]:
    """Return the installed entry points of a group, by name.

    Raises
    ------
    DuplicateNameError
        If two distributions provide one name.
    """
    entry_points = _entry_points(group, _search_path())
    for first, second in itertools.pairwise(entry_points):
        if first.name == second.name:
            both = " and ".join(sorted(map(distribution_of, (first, second))))
            raise DuplicateNameError(
                f"Two installed distributions, {both}, both provide {first.name!r} in the entry "
                f"points {group!r}. Uninstall one of them."
            )
    return list(entry_points)


@functools.lru_cache(maxsize=16)
def _entry_points(
    group: str, where: tuple[tuple[str, int], ...]
) -> tuple[metadata.EntryPoint, ...]:
    """Return the entry points of a group by name, read again only after an installation."""
    entry_points = _all_entry_points(where).select(group=group)
    return tuple(sorted(entry_points, key=lambda point: point.name))


@functools.lru_cache(maxsize=1)
def _all_entry_points(_where: tuple[tuple[str, int], ...]) -> Any:
    # Of all groups at once: a group by itself reads a file of every installed distribution as well.
    return metadata.entry_points()


def _search_path() -> tuple[tuple[str, int], ...]:
    """Return where distributions are searched, and when each place was changed last."""
    folders = []
    for place in sys.path:
        with contextlib.suppress(OSError):
            folders.append((place, Path(place).stat().st_mtime_ns))
    return tuple(folders)
