"""The settings with which a competition is served, in its record: ``[server]`` and the rules."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from arena.competition.state import CompetitionState
from arena.server_section import ServerSection

SERVED = "server settings"
"""The kind of the events: the first has all settings, each later one what changed."""
UNRECORDED = frozenset(
    {
        "contact", "oidc_client_id", "smtp_from", "smtp_host", "smtp_password_file", "smtp_port",
        "smtp_tls", "smtp_user", "trusted_proxies", "webhook_file",
    }
)  # fmt: skip
"""Keys that are no part of the record, which is published: they name people and machines."""
_RULES = "server.rules_version"


def record_server_settings(
    state: CompetitionState, server: ServerSection, rules: str | None
) -> None:
    """Record the settings of a server if they differ from those of the last event.

    Parameters
    ----------
    rules
        The text of the rules; its version is recorded, as accounts that accept it have it.
    """
    now = {
        **{
            f"server.{key}": value
            for key, value in server.model_dump(mode="json").items()
            if key not in UNRECORDED
        },
        _RULES: None if rules is None else hashlib.sha256(rules.encode()).hexdigest()[:32],
    }
    before = _last(state)
    if before is None:
        state.record(SERVED, {"settings": now})
        return
    changes = [
        [key, before.get(key), now.get(key)]
        for key in (*now, *(key for key in before if key not in now))
        if before.get(key) != now.get(key)
    ]
    if changes:
        state.record(SERVED, {"changes": changes})


def _last(state: CompetitionState) -> Mapping[str, Any] | None:
    """Return the settings that the events have; None if there is none."""
    settings: dict[str, Any] | None = None
    for event in state.store.events(SERVED):
        if settings is None or "settings" in event.payload:
            settings = dict(event.payload.get("settings", {}))
        settings.update({key: after for key, _before, after in event.payload.get("changes", ())})
    return settings
