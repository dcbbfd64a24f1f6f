"""Every long step is shown by name, also if it never reports its progress."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.hookspecs import hookimpl
from arena.interfaces import Study
from arena.plugin.manager import PluginManager
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.types import Finding
from arena.utils import progress as shown_progress
from arena.utils.progress import ProgressDisplay


class Alarm(threading.Thread):
    """Stands for a timer; rings when the test says so, in a thread as a timer does."""

    set_last: Alarm | None = None

    def __init__(self, seconds: float, show: Callable[[], None]) -> None:
        super().__init__(target=show)
        self.seconds = seconds
        self.cancelled = False
        Alarm.set_last = self

    def start(self) -> None:
        """Wait for the test."""

    def cancel(self) -> None:
        self.cancelled = True

    @staticmethod
    def last() -> Alarm:
        assert Alarm.set_last is not None
        return Alarm.set_last

    @staticmethod
    def ring(alarm: Alarm | None = None) -> None:
        """Let the time of the stage pass."""
        alarm = alarm or Alarm.last()
        threading.Thread.start(alarm)
        alarm.join()


@pytest.fixture(autouse=True)
def _alarms(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("ARENA_PROGRESS")
    stand_in = SimpleNamespace(Timer=Alarm, current_thread=threading.current_thread)
    stand_in.RLock = threading.RLock
    monkeypatch.setattr(shown_progress, "threading", stand_in)
    yield
    assert Alarm.last().cancelled


class Slow:
    """An analysis that lasts, and says nothing."""

    name = "slow"

    def run(self, study: Study, rng: Any) -> Finding:
        Alarm.ring()
        return Finding("slow", "It took its time.", {})


class Plugin:
    @hookimpl
    def provide_analyses(self) -> list[Slow]:
        return [Slow()]


@pytest.mark.slow
def test_an_analysis_that_lasts_is_named(
    competition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manager = PluginManager()
    manager.register(Plugin(), "mine")
    settings = ScoreSettings("roc_auc", board=BoardSettings(resamples=10))
    files = [competition / "submissions" / f"{name}.csv" for name in ("good", "best")]
    with ProgressDisplay() as progress:
        result = score(
            competition / "solution.csv", files, settings, manager=manager, progress=progress
        )
    assert "It took its time." in [finding.verdict for finding in result.findings]
    assert "Running the analysis slow …\n" in capsys.readouterr().err


def test_a_stage_is_said_once_and_only_if_it_lasts(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        progress.start("Short", 3)
        progress.advance(3)
        short = Alarm.last()
        for _ in range(2):
            progress.start("Long", 2_000)
            progress.advance(1_000)
            assert Alarm.last().seconds == 2.0
            Alarm.ring()
        progress.start("Left at once", 2)
    for late in (short, Alarm.last()):  # could not be cancelled any more
        Alarm.ring(late)
    assert capsys.readouterr().err == "Long: 1,000 of 2,000 …\n"


def test_a_long_stage_is_said_again_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(shown_progress, "time", SimpleNamespace(monotonic=lambda: now))
    with ProgressDisplay() as progress:
        progress.start("Long", 4)
        for done in range(3):
            now += Alarm.last().seconds
            Alarm.ring()
            assert capsys.readouterr().err == f"Long: {done} of 4 …\n"
            progress.advance()
    assert now == 2.0 + 2 * 10.0


def test_a_stage_of_one_step_says_how_long_it_has_taken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(shown_progress, "time", SimpleNamespace(monotonic=lambda: now))
    with ProgressDisplay() as progress:
        progress.start("Long", 1)
        for line in ("Long …", "Long, 12 s …", "Long, 22 s …"):
            now += Alarm.last().seconds
            Alarm.ring()
            assert capsys.readouterr().err == f"{line}\n"


def test_a_terminal_has_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressDisplay() as progress:
        for total in (1, 4):
            progress.start(f"Of {total}", total)
            Alarm.ring()
            progress.advance()
    output = capsys.readouterr().err
    assert "Of 1" in output
    assert "1/4" in output


def test_a_counted_stage_that_has_not_advanced_does_not_repeat_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 0.0
    monkeypatch.setattr(shown_progress, "time", SimpleNamespace(monotonic=lambda: now))
    with ProgressDisplay() as display:
        display.start("Scoring", 20)
        for now, steps in ((2.0, 0), (12.0, 0), (22.0, 0), (32.0, 3), (42.0, 0)):  # noqa: B007
            display.advance(steps)
            Alarm.ring()
    assert capsys.readouterr().err.splitlines() == [
        "Scoring: 0 of 20 …",
        "Scoring: 0 of 20, 12 s …",
        "Scoring: 0 of 20, 22 s …",
        "Scoring: 3 of 20 …",
        "Scoring: 3 of 20, 42 s …",
    ]
