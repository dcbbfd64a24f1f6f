"""In which order processes end, how often they are started again, and what of it is logged."""

from __future__ import annotations

import logging
import signal
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.errors import InputError
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
    pauses = [
        later - earlier for earlier, later in zip(ending.starts, ending.starts[1:], strict=False)
    ]
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


class Hanging:
    """A process that ends only by a kill."""

    pid = 77

    def __init__(self, code: int | None = None) -> None:
        self.code, self.steps = code, list[Any]()

    def poll(self) -> int | None:
        return self.code

    def send_signal(self, number: int) -> None:
        self.steps.append(number)

    def wait(self, seconds: float | None = None) -> None:
        self.steps.append(seconds)
        if seconds is not None:
            raise subprocess.TimeoutExpired("web", seconds)


def test_a_process_that_does_not_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[int, int]] = []
    monkeypatch.setattr(supervisor.os, "killpg", lambda *call: killed.append(call))
    seconds = {"scorer": 120, "web": 35, "runner": 10, "checker": 5}
    for role, most in seconds.items():
        child = supervisor.ChildProcess(role, "race", arguments={})
        child.end()
        child.wait()  # it was not started
        hanging: Any = Hanging()
        child.process = hanging
        child.end()
        child.wait()
        assert hanging.steps == [signal.SIGTERM, most, None], role
    assert killed == [(77, signal.SIGKILL)] * len(seconds)
    ended: Any = Hanging(code=0)
    child.process = ended
    child.end()
    assert ended.steps == []


def test_a_process_gets_the_rights_of_its_user_only(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {}
    monkeypatch.setattr(supervisor.subprocess, "Popen", lambda *_, **keys: options.update(keys))
    user = supervisor.User("web", 12, gid=13)
    for who, group, rights in (
        (None, None, {"cwd": None}),
        (user, None, {"cwd": "/", "user": 12, "group": 13, "extra_groups": []}),
        (user, 14, {"cwd": "/", "user": 12, "group": 13, "extra_groups": [14]}),
    ):
        options.clear()
        supervisor.ChildProcess(
            "web", "race", arguments={}, descriptors=(5,), user=who, group=group
        ).start(4)
        assert (options.pop("pass_fds"), options.pop("start_new_session")) == ((4, 5), True)
        del options["env"], options["stdin"]
        assert options == rights


def test_a_port_that_is_taken_is_named() -> None:
    with supervisor.bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        with pytest.raises(InputError) as refusal:
            supervisor.bind("127.0.0.1", port)
    assert str(refusal.value) == (
        f"127.0.0.1 port {port} cannot be used: Address already in use. Choose another one with "
        f"--host and --port."
    )
