"""What is known of each plugin, and of each failure of one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from arena.errors import ArenaError, PluginError

__all__ = ["Failure", "PluginInfo", "attributed", "missing_members"]


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


@contextlib.contextmanager
def attributed(plugin: str, action: str) -> Iterator[None]:
    """Name the plugin in any error that its code raises and that arena does not know.

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
