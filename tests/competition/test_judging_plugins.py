"""The plugins that judge are recorded when they change; a rule that is gone is logged."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition import judging_plugins
from arena.competition.judging_plugins import KEY, record_plugins


def test_a_rule_that_is_gone_is_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    now: dict[str, Any] = {}
    monkeypatch.setattr(judging_plugins, "plugins_that_judge", lambda manager: now)
    events: list[Any] = [SimpleNamespace(payload={})]
    state: Any = SimpleNamespace(
        manager=None,
        store=SimpleNamespace(events=lambda *kinds: events),
        record=lambda key, payload: events.append(SimpleNamespace(payload=payload)),
    )
    for rules, failed, lost in (
        (["a", "b", "c"], [], ""),
        (["a", "b", "c"], [], ""),  # the same: nothing is recorded
        (["a"], ["b"], "'c'"),  # one that could not be loaded is said elsewhere
        ([], [], "'a'"),
    ):
        caplog.clear()
        now = {"rules": rules, "failed": failed}
        record_plugins(state)
        assert [record.getMessage() for record in caplog.records] == [
            f"Earlier submissions were checked by a rule of {lost}, which is no longer installed. "
            f"Name the plugins that the competition needs in [plugins] required."
        ] * bool(lost)
    assert [event.payload[KEY]["rules"] for event in events[1:]] == [["a", "b", "c"], ["a"], []]
