"""One display of progress: what opens it, and what it looks like in a notebook."""

from __future__ import annotations

import importlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import rich.console

from arena.utils import progress as progress_module
from arena.utils.parallel import NoProgress, run_tasks
from arena.utils.progress import ProgressDisplay, shown, stage
from displayed_in_workers import displayed


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
