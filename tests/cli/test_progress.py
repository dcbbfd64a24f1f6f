"""Whatever lasts is shown by its name, also where it does not come back to say how far it is."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.cli import console
from arena.cli.console import TerminalProgress
from arena.hookspecs import hookimpl
from arena.interfaces import Study
from arena.plugin_manager import PluginManager
from arena.private_board import BoardSettings
from arena.score_settings import ScoreSettings
from arena.scoring import score
from arena.types import Finding


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(console, "_SECONDS_BEFORE_A_BAR", 0.2)
    yield
    # One that was stopped may still be on its way out.
    alarms = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    assert all(one.finished.is_set() for one in alarms)


class Slow:
    """An analysis that says nothing for a while."""

    name = "slow"

    def run(self, study: Study, rng: Any) -> Finding:
        time.sleep(1.0)
        return Finding("slow", "It took its time.", {})


class Plugin:
    @hookimpl
    def provide_analyses(self) -> list[Slow]:
        return [Slow()]


def test_an_analysis_that_lasts_is_named(
    competition: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manager = PluginManager()
    manager.register(Plugin(), "mine")
    settings = ScoreSettings("roc_auc", board=BoardSettings(resamples=10))
    files = [competition / "submissions" / f"{name}.csv" for name in ("good", "best")]
    with TerminalProgress() as progress:
        result = score(
            competition / "solution.csv", files, settings, manager=manager, progress=progress
        )
    assert "It took its time." in [finding.verdict for finding in result.findings]
    assert "Running the analysis slow …\n" in capsys.readouterr().err


def test_a_stage_is_said_once_and_only_if_it_lasts(capsys: pytest.CaptureFixture[str]) -> None:
    with TerminalProgress() as progress:
        progress.start("Short", 3)
        progress.advance(3)
        for _ in range(2):
            progress.start("Long", 2_000)
            progress.advance(1_000)
            time.sleep(1.0)
        progress.start("Left at once", 2)
    time.sleep(0.4)
    assert capsys.readouterr().err == "Long: 1,000 of 2,000 …\n"


def test_a_terminal_has_a_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with TerminalProgress() as progress:
        for total in (1, 4):
            progress.start(f"Of {total}", total)
            time.sleep(1.0)
            progress.advance()
            time.sleep(0.4)
    shown = capsys.readouterr().err
    assert "Of 1" in shown
    assert "1/4" in shown
