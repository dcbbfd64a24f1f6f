"""In which order processes end, how often they are started again, and what of it is logged."""

from __future__ import annotations

import contextlib
import logging
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.errors import InputError
from arena.server import supervisor
from arena.server.records.layout import Layout

EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing listens there


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


def test_pauses_before_a_new_start_double_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end within five seconds is quick; the next start is at the end of the pause."""
    ending = Ending(monkeypatch)
    child, pauses, ending.lasts = ending.child, [], 4.99
    for _ in range(12):
        child.look(0)
        assert child.process is not None
        ending.now += 4.99
        child.look(0)
        pauses.append(round(child.again_at - ending.now, 6))
        ending.now = child.again_at - 0.01
        child.look(0)
        assert child.process is None
        ending.now = child.again_at
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0]
    ending.now, ending.lasts = 2_048.0, 5.0
    for now in (2_048.0, 2_053.0, 2_058.0):  # it is started again at once
        ending.now = now
        child.look(0)
        assert (child.pause, child.started) == (60.0 if now == 2_048.0 else 0.0, now)


def test_a_quick_end_is_logged_again_after_an_hour(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    child = Ending(monkeypatch).child
    for now, quick in ((0.0, True), (3_599.0, True), (3_600.0, True), (3_601.0, False)):
        child._log_end(-9, now, quick=quick)
    again = "The process scorer race ended with code -9 and is started again"
    soon = f"{again}, at least every 60 s."
    assert caplog.messages == [soon, soon, f"{again}."]
    assert child.logged is None


def test_each_process_has_its_arguments_user_and_sockets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = {"race": supervisor.User("7", 7, gid=8), "cup": supervisor.User("9", 9, gid=10)}
    monkeypatch.setattr(supervisor, "_owner_of", lambda folder: owners[folder.name])
    listens: list[Any] = []

    @contextlib.contextmanager
    def listen(*place: Any) -> Iterator[Any]:
        listens.append(place)
        yield SimpleNamespace(fileno=lambda: 10 + len(listens))

    monkeypatch.setattr(supervisor, "listen", listen)
    served = [
        supervisor.Served("a", tmp_path / "race", "bwrap"),
        supervisor.Served("b", tmp_path / "cup"),
    ]
    bound: Any = SimpleNamespace(fileno=lambda: 5, getsockname=lambda: (EVERYWHERE, 81))
    web, reading = supervisor.User("web", 1, gid=2), supervisor.User("reader", 3, gid=4)

    def planned(**how: Any) -> list[Any]:
        server = supervisor.Supervisor(Layout(tmp_path), served, url="http://a", **how)
        with contextlib.ExitStack() as stack:
            children = [*server._planned(stack)]
        for child in children:
            sockets = (child.arguments["socket"],) if "socket" in child.arguments else ()
            assert child.descriptors == sockets
        return [(c.role, c.name, dict(c.arguments), c.user, c.group) for c in children]

    def scorer(name: str, folder: str, user: Any, group: Any, *, checker: bool) -> Any:
        arguments = {"folder": str(tmp_path / folder), "name": name, "root": str(tmp_path)}
        return "scorer", name, arguments | {"checker": checker}, user, group

    def others(user: Any, owner: Any) -> list[Any]:
        folder = str(tmp_path / "race")
        local = {"folder": folder, "url": "http://127.0.0.1:81/a", "sandbox": "bwrap"}
        page = {"socket": 5, "root": str(tmp_path), "competitions": ["a", "b"], "url": "http://a"}
        return [("runner", "a", local, owner, None), ("web", "", page, user, None)]

    plain = [scorer("a", "race", None, None, checker=False)]
    plain.append(scorer("b", "cup", None, None, checker=False))
    assert planned(socket=None) == plain
    assert planned(socket=bound, with_scorers=False) == others(None, None)
    assert planned(socket=bound) == [*plain, *others(None, None)]
    assert listens == []
    owned = [scorer(name, folder, owners[folder], 2, checker=True)
             for name, folder in (("a", "race"), ("b", "cup"))]  # fmt: skip
    planned_children = planned(socket=bound, web_user=web, checker_user=reading)
    assert planned_children[1::2][:2] == owned
    assert planned_children[4:] == others(web, owners["race"])
    assert [(*child[:2], *child[3:]) for child in planned_children[0:4:2]] == [
        ("checker", "a", reading, None), ("checker", "b", reading, None),
    ]  # fmt: skip
    place = Layout(tmp_path).checker
    assert listens == [(place("a"), 7), (place("b"), 9)]
    planned(socket=None, checker_user=reading)
    assert listens[2:] == [(place("a"), None), (place("b"), None)]


def test_a_runner_finds_the_server_that_listens_everywhere_on_this_machine() -> None:
    for host, port, address in (
        (EVERYWHERE, 80, "http://127.0.0.1"), ("::", 81, "http://[::1]:81"),
        ("10.1.2.3", 8_000, "http://10.1.2.3:8000"),
    ):  # fmt: skip
        bound: Any = SimpleNamespace(getsockname=lambda host=host, port=port: (host, port, 0, 0))
        assert supervisor.loopback_of(bound) == address
    assert [supervisor.is_loopback(host) for host in ("localhost", "127.1.2.3", "128.0.0.1")] == [
        True, True, False,
    ]  # fmt: skip


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
        f"127.0.0.1 port {port} cannot be used: address already in use. Choose another one with "
        f"--host and --port."
    )
