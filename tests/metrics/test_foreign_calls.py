"""Calls that may never come back: in processes of their own, ended in time, leaving nothing."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from arena.errors import MetricError, ScoringError
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.plugin.manager import PluginManager
from arena.utils.processes import Ended, run_limited
from counted_progress import CountedProgress
from program import killed_in_the_end, start_program, write_csv

FOLDER = Path(__file__).parents[1] / "support" / "foreign_metrics"
N_ROWS = 12
RNG = np.random.default_rng(1)
TRUTH = RNG.normal(size=N_ROWS)
SENT = RNG.normal(size=(3, N_ROWS))
WEIGHTS = RNG.multinomial(N_ROWS, [1 / N_ROWS] * N_ROWS, size=40).T.astype(np.uint8)


def metric(asked: str) -> Any:
    return PluginManager().metrics.resolve(f"plain:{asked}")


@pytest.fixture(autouse=True)
def _beside_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)


def children() -> set[int]:
    """Return the worker processes of this one."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return {int(pid) for pid in listed.split()}


def test_worker_processes_change_no_number() -> None:
    expected = [
        [np.abs(TRUTH - prediction) @ column / column.sum() for column in WEIGHTS.T.astype(float)]
        for prediction in SENT
    ]
    progress = CountedProgress()
    arguments = metric("mae"), TRUTH, ArrayPredictions(SENT), WEIGHTS
    by_one = score_under_weights(*arguments, workers=1)
    by_two = score_under_weights(*arguments, workers=2, progress=progress)
    np.testing.assert_allclose(by_one, expected, rtol=1e-10)
    np.testing.assert_array_equal(by_one, by_two)
    assert progress.done == progress.total == by_one.size


@pytest.mark.slow
def test_the_time_is_said_first_and_the_steps_are_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arena.evaluation.black_box.SECONDS_WORTH_A_PROCESS", 0.5)
    progress = CountedProgress()
    score_under_weights(
        metric("sleeps"), TRUTH, ArrayPredictions(SENT[:1]), WEIGHTS[:, :6], workers=2,
        progress=progress,
    )  # fmt: skip
    assert re.match(  # a second at least: the calls of a busy machine last longer
        r"plain:sleeps is called on 6 parts or resamples of the rows of each submission, which "
        r"takes about [1-9]",
        progress.messages[0],
    )
    assert progress.done == 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "kind", "said"),
    [
        pytest.param(
            *("hangs(time_limit=6)", "too slow", "took longer than 6 s and was stopped"),
            marks=[pytest.mark.slow, pytest.mark.long],
        ),
        ("crashes", "metric failed", "crashed or was killed"),
    ],
)
def test_one_call_that_does_not_come_back_costs_no_other(asked: str, kind: str, said: str) -> None:
    predictions = SENT.copy()
    predictions[1, 0] = 6.0
    failures: list[tuple[int, ScoringError]] = []
    started = time.monotonic()
    scores = full_scores(
        metric(asked), TRUTH, ArrayPredictions(predictions), workers=2, failures=failures
    )
    assert time.monotonic() - started < 300
    np.testing.assert_array_equal(scores, [0.0, np.nan, 0.0])
    ((position, error),) = failures
    assert (position, error.kind) == (1, kind)
    assert said in str(error)
    with pytest.raises(ScoringError, match=said):
        full_scores(metric(asked), TRUTH, ArrayPredictions(predictions))
    first = np.zeros((N_ROWS, 3), dtype=np.uint8)
    first[0] = 1
    with pytest.raises(MetricError, match=f"on resampled rows: .*{said}"):
        score_under_weights(metric(asked), TRUTH, ArrayPredictions(predictions[1:2]), first)


def test_a_refusal_of_drawn_rows_is_an_undefined_score_and_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger="arena")
    progress = CountedProgress()
    scores = score_under_weights(
        metric("nothing"), TRUTH, ArrayPredictions(SENT), WEIGHTS, progress=progress
    )
    assert np.isnan(scores).all()
    assert progress.messages[-1] == "120 of 120 calls on resampled rows failed."
    # The message of the metric may quote private rows: it is for the log at debug level.
    assert "plain:nothing on resampled rows: plain:nothing returned a NoneType" in caplog.text


def test_processes_are_kept_and_given_up_ones_are_killed() -> None:
    assert list(run_limited(pow, [(2, 3)], workers=1, seconds=60.0, purpose="kept")) == [8]
    processes = children()
    assert list(run_limited(pow, [(2, 4)], workers=1, seconds=60.0, purpose="kept")) == [16]
    assert children() == processes
    results = run_limited(time.sleep, [(0,), (900,)], workers=2, seconds=900.0, purpose="kept")
    next(results)
    started = time.monotonic()
    results.close()
    assert time.monotonic() - started < 300
    assert len(children()) <= len(processes)


@pytest.mark.slow
def test_what_a_task_raises_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(run_limited(divmod, [(1, 0)], workers=1, seconds=60.0))
    with pytest.raises(RuntimeError, match="SystemExit: 4"):
        list(run_limited(sys.exit, [(4,)], workers=1, seconds=60.0))
    (ended,) = run_limited(os._exit, [(1,)], workers=1, seconds=60.0)
    assert ended == Ended(too_long=False, seconds=60.0)


@pytest.mark.slow
def test_an_interrupt_leaves_no_process_behind(tmp_path: Path) -> None:
    rows = [(f"r{row}", row) for row in range(40)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    write_csv(tmp_path / "a.csv", ["id", "y"], rows)
    metric = f"{FOLDER / 'plain.py'}:sleeps"
    command = ("score", "solution.csv", "a.csv", "--metric", metric)
    with killed_in_the_end(
        start_program(*command, cwd=tmp_path, start_new_session=True)
    ) as running:
        assert running.stderr is not None
        # A slow machine says before that it is reading.
        assert any("is going to be called" in line for line in running.stderr)
        time.sleep(0.5)
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to the whole group
        out, rest = running.communicate(timeout=900)
    assert running.returncode == 130
    assert (out, rest.count("Traceback")) == ("", 0)
    assert "Interrupted" in rest
    deadline = time.monotonic() + 600
    while is_there(running.pid) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not is_there(running.pid)


def is_there(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_probabilities_that_kaggles_module_refuses() -> None:
    """Certain predictions, of exactly 0 and 1, are probabilities."""
    from arena_metrics.foreign.kaggle_metric_utilities import (
        ParticipantVisibleError,
        verify_valid_probabilities,
    )

    verify_valid_probabilities(pd.DataFrame({"a": [1.0, 0.25], "b": [0.0, 0.75]}), "submission")
    for columns, message in (
        ({"a": ["x"], "b": [1.0]}, "must be numeric"),
        ({"a": [-0.5], "b": [1.5]}, "at least zero"),
        ({"a": [1.5], "b": [0.0]}, "no greater than one"),
        ({"a": [0.5], "b": [0.4]}, "add up to one"),
    ):
        with pytest.raises(ParticipantVisibleError, match=f"values in submission .*{message}"):
            verify_valid_probabilities(pd.DataFrame(columns), "submission")
