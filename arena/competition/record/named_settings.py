"""What ``competition.toml`` names, which is looked for when it is first read and not later."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TypeAlias

from arena.config import Settings, errors_name_setting
from arena.errors import UnknownNameError
from arena.plugin.manager import PluginManager
from arena.types import DEFAULT_RANKER

_Named: TypeAlias = tuple[str, str, str]
"""The key with its section, the registry of what it names, and the name."""
_ENVIRONMENTS = "environments"
_DIGEST = re.compile("sha256:[0-9a-f]{64}")


def check_names(settings: Settings, manager: PluginManager, before: Settings | None = None) -> None:
    """Refuse names of nothing, but not those that the settings before had under the same key.

    Raises
    ------
    InputError, PluginError
        If there is no such thing, or its plugin cannot provide it; the message has file and key.
    """
    known = set() if before is None else {*_names(before)}
    for named in _names(settings):
        if named not in known:
            key, kind, name = named
            with errors_name_setting(key):
                if kind == _ENVIRONMENTS:
                    _check_environment(name)
                else:
                    manager.registry(kind).resolve(name)


def require_plugins(manager: PluginManager) -> None:
    """Raise PluginError, with file and key, if a plugin that is required was not loaded."""
    with errors_name_setting("[plugins] required"):
        manager.require_plugins()


def _names(settings: Settings) -> Iterator[_Named]:
    """Yield what each key names but the defaults, which are not loaded only to find them."""
    for phase in settings.phase or ("",):
        yield from _names_in_phase(settings, phase)
    for name, board in settings.board.items():
        for column in board.columns:
            yield f"[board.{name}] columns", "metrics", column
    if settings.analysis.ranker != DEFAULT_RANKER:
        yield "[analysis] ranker", "rankers", settings.analysis.ranker
    if settings.programs.sandbox:
        yield "[programs] sandbox", "sandboxes", settings.programs.sandbox


def _names_in_phase(settings: Settings, phase: str) -> Iterator[_Named]:
    of_phase = settings.in_phase(phase)

    def key_of(section: str, key: str) -> str:
        differs = phase and key in getattr(settings.phase[phase], section)
        return f"[phase.{phase}] {section}" if differs else f"[{section}] {key}"

    yield key_of("metric", "name"), "metrics", of_phase.metric.specification
    for metric in of_phase.metric.secondary:
        yield key_of("metric", "secondary"), "metrics", metric
    yield key_of("public", "mechanism"), "mechanisms", of_phase.public.mechanism
    if of_phase.programs.environment:
        key = key_of("programs", "environment")
        yield key, _ENVIRONMENTS, of_phase.programs.environment


def _check_environment(name: str) -> None:
    """Check the form only: it must be on the machines that run programs."""
    if not _DIGEST.fullmatch(name):
        raise UnknownNameError(
            f"{name!r} is no digest of an environment: copy what arena programs environment prints."
        )
