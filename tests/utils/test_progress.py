"""One display of progress: what opens it, and what it looks like in a notebook."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import rich.console

from arena.utils import progress as progress_module
from arena.utils.parallel import NoProgress, run_tasks
from arena.utils.progress import ProgressDisplay, shown, stage
from displayed_in_workers import displayed

PATIENCE = progress_module.SECONDS_BEFORE_A_BAR


@pytest.fixture(autouse=True)
def _no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ARENA_PROGRESS")
    monkeypatch.setattr(progress_module, "SECONDS_BEFORE_A_BAR", 0.0)


def _wait_for(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 600
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert reached()


def test_a_function_without_progress_shows_a_line_in_a_log(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = ""

    def read() -> bool:
        nonlocal said
        said += capsys.readouterr().err
        return "Counting …\n" in said

    with stage("Counting"):
        _wait_for(read)


def test_the_environment_hides_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARENA_PROGRESS", "0")
    before = set(threading.enumerate())
    with stage("Counting"):
        assert set(threading.enumerate()) <= before  # no timer waits


def test_only_one_display_is_open() -> None:
    no_progress = NoProgress()
    with shown(None) as outer:
        assert isinstance(outer, ProgressDisplay)
        with shown(None) as inner, shown(no_progress) as passed:
            assert isinstance(inner, NoProgress)
            assert passed is no_progress
    with shown(None) as again:
        assert isinstance(again, ProgressDisplay)


def test_a_failed_function_closes_its_display() -> None:
    with pytest.raises(ValueError, match="no"), stage("Failing"):
        raise ValueError("no")
    with shown(None) as display:
        assert isinstance(display, ProgressDisplay)


def test_progress_is_shown_in_a_process_without_a_parent_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for parent, kind in ((None, ProgressDisplay), (object(), NoProgress)):
        monkeypatch.setattr("multiprocessing.process.parent_process", Mock(return_value=parent))
        with shown(None) as progress:
            assert type(progress) is kind


@pytest.mark.slow
def test_a_worker_process_shows_nothing() -> None:
    found = list(run_tasks(displayed, [(1,), (2,)], workers=2, processes=True))
    assert found == [(True, "NoProgress")] * 2


def test_a_notebook_gets_a_bar_of_tqdm(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rich.console, "_is_jupyter", lambda: True)
    tqdm_auto = importlib.import_module("tqdm.auto")
    bars: list[Any] = []

    class Recorded(tqdm_auto.tqdm):  # type: ignore[misc,name-defined]
        def __init__(self, **keywords: Any) -> None:
            super().__init__(**keywords, file=sys.stderr, mininterval=0)
            bars.append(self)

    monkeypatch.setattr(tqdm_auto, "tqdm", Recorded)
    with ProgressDisplay() as display:
        display.start("Training", 3)
        display.advance()
        _wait_for(lambda: bool(bars) and bars[0].n == 1)
        display.advance()
        assert (bars[0].n, bars[0].total, bars[0].leave) == (2, 3, False)
    assert bars[0].disable  # closed
    assert "Training" in capsys.readouterr().err


class Alarms:
    """A clock that the test moves, and the timers that were started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.waiting: list[Any] = []
        self.ringing: Any = None
        fake = SimpleNamespace(
            Timer=self.timer, current_thread=lambda: self.ringing, RLock=threading.RLock
        )
        monkeypatch.setattr(progress_module, "threading", fake)
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(progress_module, "time", clock)

    def timer(self, seconds: float, function: Callable[[], None]) -> Any:
        alarm = SimpleNamespace(at=self.now + seconds, function=function, daemon=False)
        alarm.start = lambda: self.waiting.append(alarm)
        alarm.cancel = lambda: self.waiting.remove(alarm)
        return alarm

    def wait_until(self, now: float) -> None:
        """Let time pass, and run each timer when it is due."""
        while due := [alarm for alarm in self.waiting if alarm.at <= now]:
            self.ringing = min(due, key=lambda alarm: alarm.at)
            assert self.ringing.daemon
            self.waiting.remove(self.ringing)
            self.now, self.ringing.cancel = self.ringing.at, lambda: None
            self.ringing.function()
        self.now = now


def test_a_log_has_a_line_after_two_seconds_and_then_every_ten(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    alarms = Alarms(monkeypatch)
    monkeypatch.setattr(progress_module, "SECONDS_BEFORE_A_BAR", PATIENCE)
    with ProgressDisplay() as display:

        def lines(until: float) -> list[str]:
            alarms.wait_until(1000.0 + until)
            return capsys.readouterr().err.splitlines()

        display.start("Counting", 4_000)
        assert lines(1.9) == []
        display.advance()
        assert lines(2.0) == ["Counting: 1 of 4,000 …"]
        display.advance(1_499)
        assert lines(11.9) == []
        assert lines(12.0) == ["Counting: 1,500 of 4,000 …"]
        # Where nothing was done meanwhile, the line says how long the stage has taken.
        assert lines(22.0) == ["Counting: 1,500 of 4,000, 22 s …"]
        display.start("Counting", 2)  # which begins again soon after its last line
        assert lines(31.9) == []
        assert lines(34.0) == ["Counting: 0 of 2 …"]
        display.start("Reading", 1)
        assert lines(36.0) == ["Reading …"]
        assert lines(46.0) == ["Reading, 12 s …"]
    assert alarms.waiting == []
