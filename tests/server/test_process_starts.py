"""How the processes of a server begin and end: what each is given, and what it does with it."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from arena.client import ServerError
from arena.errors import InputError, StoreError
from arena.server import processes
from arena.server.records.layout import Layout, WebSettings
from arena.server.scorer import main as scorer_main
from arena.server.web import main as web_main


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return what was called; no process-wide setting is changed."""
    called: list[Any] = []

    def record(name: str, answer: Any = None) -> Any:
        return lambda *given, **named: (called.append((name, *given, *named.values())), answer)[1]

    monkeypatch.setattr(processes.os, "umask", record("umask"))
    monkeypatch.setattr(processes.signal, "signal", record("signal"))
    monkeypatch.setattr(processes.logging, "basicConfig", record("log"))
    monkeypatch.setattr(processes, "end_with_supervisor", record("pipe"))
    monkeypatch.setattr("arena.server.web.main.run", record("web"))
    monkeypatch.setattr("arena.server.checker.serve_files", record("checker"))
    monkeypatch.setattr("arena.server.scorer.main.main", record("scorer"))
    monkeypatch.setattr(processes, "run_runner", record("runner"))
    return called


def log(role: str) -> tuple[str, str, int]:
    return ("log", f"%(levelname)s {role}: %(message)s", logging.INFO)


def test_each_role_is_started_with_its_arguments(steps: list[Any]) -> None:
    with socket.socket() as bound, socket.socket() as listening:
        for role, arguments in {
            "web": {
                "socket": os.dup(bound.fileno()), "root": "/srv", "competitions": ["a", "b"],
                "url": "https://a.org",
            },
            "runner": {"folder": "/srv/a", "url": "u", "sandbox": "bwrap"},
            "checker": {"socket": os.dup(listening.fileno())},
            "scorer": {"folder": "/srv/a", "name": "a", "root": "/srv"},
        }.items():  # fmt: skip
            processes.run_role(role, json.dumps({"pipe": 7, **arguments}))
    begun = [("umask", 0o007), ("pipe", 7)]
    (_, web_socket, settings), (_, checker_socket) = (
        next(step for step in steps if step[0] == role) for role in ("web", "checker")
    )
    assert settings == WebSettings(Layout(Path("/srv")), ("a", "b"), "https://a.org")
    assert steps == [
        *begun,
        log("web"),
        ("web", web_socket, settings),
        *begun,
        log("runner"),
        ("runner", Path("/srv/a"), "u", "bwrap"),
        *begun,
        ("signal", signal.SIGINT, signal.SIG_IGN),
        ("checker", checker_socket),
        *begun,
        ("scorer", "/srv/a", "a", "/srv"),
    ]
    web_socket.close()
    checker_socket.close()


def test_a_process_ends_with_its_supervisor(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    ended = threading.Event()
    signals: list[tuple[int, int]] = []
    monkeypatch.setattr(processes.os, "kill", lambda *call: (signals.append(call), ended.set()))
    processes.end_with_supervisor(reading)
    assert not ended.wait(0.02)
    os.close(writing)
    assert ended.wait(10)
    os.close(reading)
    assert signals == [(os.getpid(), signal.SIGTERM)]


class Runner:
    """Stands for the runner of this machine; ``errors`` are what its runs end with."""

    made: ClassVar[list[Runner]] = []
    errors: ClassVar[list[ServerError | None]] = []

    def __init__(self, **given: Any) -> None:
        self.given, self.pauses = given, list[float]()
        is_over = SimpleNamespace(over=False)
        self.stop = SimpleNamespace(
            is_set=lambda: is_over.over,
            set=lambda: setattr(is_over, "over", True),
            wait=self.pauses.append,
        )
        self.made.append(self)

    @staticmethod
    def digests(folders: list[Path]) -> dict[str, Path]:
        return {folder.name: folder for folder in folders}

    def run(self) -> None:
        error = self.errors.pop(0)
        if error is not None:
            raise error
        self.stop.set()


def test_a_local_runner_waits_until_it_is_admitted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "competition.toml").touch()
    programs = SimpleNamespace(inputs="inputs", sample="sample")
    settings = SimpleNamespace(programs_of_phases={"a": programs, "b": programs})
    manager = SimpleNamespace(sandboxes=SimpleNamespace(resolve=lambda name: f"<{name}>"))
    now, signals = 100.0, {}
    monkeypatch.setattr("arena.config.read_settings", lambda path: settings)
    monkeypatch.setattr("arena.plugin.manager.PluginManager", lambda: manager)
    monkeypatch.setattr(
        "arena.competition.programs.runners.add_runner", lambda folder, name: folder / name
    )
    monkeypatch.setattr("arena.runner.RunnerKey.read", lambda path: f"key of {path.name}")
    monkeypatch.setattr("arena.runner.Runner", Runner)
    monkeypatch.setattr(processes.signal, "signal", signals.__setitem__)
    monkeypatch.setattr(processes.time, "monotonic", lambda: now)
    unknown = ServerError("Who?", 401)
    Runner.errors = [unknown, unknown, None]
    processes.run_runner(tmp_path, "https://a.org/c", "bwrap")
    local_runner = Runner.made.pop()
    assert local_runner.given == {
        "source": "https://a.org/c",
        "key": "key of local",
        "sandbox": "<bwrap>",
        "sandbox_name": "bwrap",
        "inputs": {"inputs": tmp_path / "inputs"},
        "sample": {"sample": tmp_path / "sample"},
    }
    assert local_runner.pauses == [1.0, 1.0]
    assert signals[signal.SIGINT] is signal.SIG_IGN
    Runner.errors = [ServerError("Down.", 500)]
    with pytest.raises(ServerError, match="Down"):
        processes.run_runner(tmp_path, "u", "bwrap")
    for after, raises in ((60.0, False), (60.1, True)):
        now = 100.0
        Runner.errors = [unknown, None]

        def later(self: Runner, after: float = after) -> None:
            nonlocal now
            now = 100.0 + after
            if (error := self.errors.pop(0)) is not None:
                raise error
            self.stop.set()

        monkeypatch.setattr(Runner, "run", later)
        expected = pytest.raises(ServerError) if raises else contextlib.nullcontext()
        with expected:
            processes.run_runner(tmp_path, "u", "bwrap")


def test_a_scorer_begins_again_until_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While another command asks for the folder, the competition is closed."""
    stop, events = threading.Event(), list[Any]()
    (tmp_path / scorer_main.DATABASE_NAME).touch()
    competition = SimpleNamespace(notes=["A note."], must_be_reopened=False)
    lender = SimpleNamespace(asked=False, lend=lambda: events.append("lend"))

    @contextlib.contextmanager
    def opened(folder: Path, *, wait: float) -> Iterator[Any]:
        events.append(("open", folder, wait))
        yield competition
        events.append("close")

    class Scorer:
        def __init__(self, *given: Any) -> None:
            events.append(given[1:])

        def __enter__(self) -> Scorer:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def run(self, must_end: Any) -> None:
            ends = [must_end()]
            for place, name in ((lender, "asked"), (competition, "must_be_reopened")):
                setattr(place, name, True)
                ends.append(must_end())
                setattr(place, name, False)
            if events.count("lend"):
                stop.set()
                ends.append(must_end())
            events.append(ends)
            if events.count("lend"):
                (tmp_path / scorer_main.DATABASE_NAME).rename(tmp_path / "away")
                (tmp_path / scorer_main.DATABASE_NAME).touch()
                with pytest.raises(StoreError, match="was removed or replaced while it was open"):
                    must_end()

    monkeypatch.setattr(scorer_main, "lending", lambda folder: contextlib.nullcontext(lender))
    monkeypatch.setattr(
        scorer_main, "read_settings", lambda path: SimpleNamespace(server=path.name)
    )
    monkeypatch.setattr(scorer_main, "Competition", SimpleNamespace(open=opened))
    monkeypatch.setattr(scorer_main, "Scorer", Scorer)
    layout = Layout(tmp_path)
    with caplog.at_level(logging.INFO):
        scorer_main.run(tmp_path, "race", layout, stop)
    begun = [("open", tmp_path, 30.0), ("race", layout, "competition.toml")]
    assert events == [
        *begun, [False, True, True], "close", "lend",
        *begun, [False, True, True, True], "close", "lend",
    ]  # fmt: skip
    assert [record.getMessage() for record in caplog.records] == ["A note.", "A note."]


@pytest.mark.parametrize("checker", [False, True])
def test_a_scorer_that_fails_ends_with_its_code(
    checker: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: list[Any]
) -> None:
    monkeypatch.undo()
    signals: dict[int, Any] = {}
    readers: list[Any] = []
    monkeypatch.setattr(scorer_main.logging, "basicConfig", lambda **given: readers.append(given))
    monkeypatch.setattr(scorer_main.signal, "signal", signals.__setitem__)
    monkeypatch.setattr(scorer_main, "RemoteReader", lambda path: path)
    monkeypatch.setattr(scorer_main, "read_by", readers.append)

    def run(folder: Path, name: str, layout: Layout, stop: threading.Event) -> None:
        assert (folder, name, layout) == (Path("race"), "race", Layout(tmp_path))
        assert not stop.is_set()
        signals[signal.SIGTERM]()
        assert stop.is_set()
        raise InputError("It cannot be read.")

    monkeypatch.setattr(scorer_main, "run", run)
    with pytest.raises(SystemExit) as ended:
        scorer_main.main("race", "race", str(tmp_path), checker=checker)
    assert ended.value.code == InputError("").exit_code
    assert set(signals) == {signal.SIGTERM, signal.SIGINT}
    form = {"format": "%(levelname)s scorer: %(message)s", "level": logging.INFO}
    assert readers == [form, *([Layout(tmp_path).checker("race")] if checker else [])]


def site_of(named: set[str], unnamed: int = 0, unreadable: int = 0) -> tuple[Any, list[Any]]:
    """Return a site of which ``unnamed`` uploads are in no queue, and what is swept."""
    swept: list[Any] = []
    uploads = SimpleNamespace(
        folder=Path("/srv/uploads"),
        unnamed=lambda keep: unnamed,
        sweep=lambda keep, complete: swept.append((keep, complete)),
    )
    runs = SimpleNamespace(
        uploads=lambda: {"run"},
        n_unreadable=lambda: unreadable,
        files_set_aside=list,
    )
    return (
        SimpleNamespace(
            intake=SimpleNamespace(uploads=lambda: named),
            slots=SimpleNamespace(uploads=lambda: {"slot"}),
            runs=runs,
            uploads=uploads,
        ),
        swept,
    )


@pytest.mark.parametrize(
    ("named", "unnamed", "unreadable", "complete", "said"),
    [
        ({"a"}, 5, 0, True, ""),  # those of requests that a process had begun
        (set(), 0, 0, True, ""),
        (set(), 1, 0, False, "there are an upload in"),
        (set(), 1_200, 0, False, "there are 1,200 uploads in"),
        ({"a"}, 0, 1, False, ""),
    ],
)
def test_uploads_that_a_lost_queue_may_have_named_are_kept(
    named: set[str],
    unnamed: int,
    unreadable: int,
    complete: bool,
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    site, swept = site_of(named, unnamed, unreadable)
    web_main.sweep_uploads(site)
    assert swept == [({*named, "slot", "run"}, complete)]
    messages = [record.getMessage() for record in caplog.records]
    assert [said in message for message in messages] == ([True] if said else [])


def test_limits_of_connections_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    now, pauses = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        now += seconds
        pauses.append(seconds)

    monkeypatch.setattr(web_main.time, "monotonic", lambda: now)
    monkeypatch.setattr(web_main.time, "sleep", sleep)
    answers = [False, False, True]
    site: Any = SimpleNamespace(is_published=lambda: answers.pop(0), limits=lambda: "limits")
    assert web_main.connection_limits(site) == "limits"
    assert pauses == [0.1, 0.1]
    site.is_published = lambda: False
    assert web_main.connection_limits(site) == "limits"
    assert len(pauses) == pytest.approx(202, abs=1)  # for 20 s


def test_two_servers_cannot_use_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(web_main, "locked", lambda folder: contextlib.nullcontext(False))
    settings = WebSettings(Layout(tmp_path / "server"), ("a",), "https://a.org")
    with pytest.raises(InputError) as refused:
        web_main.run(None, settings)  # type: ignore[arg-type]
    assert str(refused.value) == (
        f"Another server uses the files in {tmp_path / 'server'}: choose another folder with "
        f"--data."
    )
