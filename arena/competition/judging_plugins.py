"""The record of the plugins, with their versions, that judge a competition."""

from __future__ import annotations

import logging
from typing import Any

from arena.competition.state import CompetitionState
from arena.plugin.manager import PluginManager

KEY = "plugins"
"""The key of the first event, and the kind of the events that record a change."""


def plugins_that_judge(manager: PluginManager) -> dict[str, Any]:
    """Return the versions of the plugins, which of them failed to load, and which are rules."""
    return {
        "versions": {info.name: info.version for info in manager.plugins},
        "failed": [info.name for info in manager.plugins if info.failed_to_load],
        "rules": list(manager.rules),
    }


def record_plugins(state: CompetitionState) -> None:
    """Record which plugins are about to judge, unless the last record names the same ones.

    A rule that checked earlier submissions and is no longer installed is logged as a warning.
    """
    now = plugins_that_judge(state.manager)
    before: dict[str, Any] = {"rules": []}
    for event in state.store.events("created", KEY):
        before = event.payload.get(KEY, before)
    if before == now:
        return
    gone = sorted(set(before["rules"]) - {*now["rules"], *now["failed"]})
    if gone:
        logging.getLogger("arena").warning(
            "Earlier submissions were checked by a rule of %s, which is no longer installed. "
            "Name the plugins that the competition needs in [plugins] required.",
            ", ".join(map(repr, gone)),
        )
    state.record(KEY, {KEY: now})
