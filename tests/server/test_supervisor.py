"""In which order processes end, how often they are started again, and what of it is logged."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.server import supervisor
from arena.server.records.layout import Layout


def test_the_web_process_and_the_scorer_end_before_the_checker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[tuple[str, str]] = []

    def child(role: str) -> Any:
        return SimpleNamespace(
            role=role,
            end=lambda: ended.append(("end", role)),
            wait=lambda: ended.append(("wait", role)),
        )

    children = [child(role) for role in ("checker", "scorer", "web")]
    monkeypatch.setattr(supervisor.Supervisor, "_planned", lambda *_: children)
    stop = threading.Event()
    stop.set()
    supervisor.Supervisor(Layout(Path()), (), url="", socket=None).run(stop)
    assert ended == [
        *(("end", "scorer"), ("end", "web"), ("wait", "scorer"), ("wait", "web")),
        *(("end", "checker"), ("wait", "checker")),
    ]


class Ending:
    """Starts processes that end after some seconds, on a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.starts: list[float] = []
        self.code, self.lasts = 1, 0.5
        self.child = supervisor.ChildProcess("scorer", "race", {})
        monkeypatch.setattr(supervisor, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(supervisor.subprocess, "Popen", self._start)

    def _start(self, *_: Any, **__: Any) -> Any:
        self.starts.append(self.now)
        until, code = self.now + self.lasts, self.code
        return SimpleNamespace(poll=lambda: code if self.now >= until else None)

    def run(self, seconds: float) -> None:
        until = self.now + seconds
        while self.now < until:
            self.child.look(0)
            self.now += 0.5


def test_a_process_that_keeps_ending_is_logged_once_an_hour_and_when_its_end_changes(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    ending = Ending(monkeypatch)
    ending.run(3000)
    assert [record.getMessage() for record in caplog.records] == [
        "The process scorer race ended with code 1 and is started again, at least every 60 s."
    ]
    pauses = [later - one for one, later in zip(ending.starts, ending.starts[1:], strict=False)]
    assert max(pauses) <= 61.0
    assert len(ending.starts) < 70
    ending.run(3000)
    assert len(caplog.records) == 2
    ending.code = 3
    ending.run(300)
    assert "code 3" in caplog.records[2].getMessage()
    assert len(caplog.records) == 3


def test_each_end_of_a_process_that_has_run_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    ending = Ending(monkeypatch)
    ending.lasts = 100.0
    ending.run(350)
    assert len(caplog.records) == 3
    assert len(ending.starts) == 4
