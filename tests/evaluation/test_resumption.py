"""Scores of a metric called as a whole continue after an interruption, to the last digit."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import ScoringError
from arena.evaluation import black_box
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.types import FloatArray
from arena.utils.engines import using
from arena.utils.finished_tasks import resumable
from arena.utils.parallel import NoProgress
from clusters import InProcess
from counted_progress import CountedProgress
from toy_metrics import BlackBoxRmse

N, M, B = 40, 5, 12
TRUTH = np.random.default_rng(0).random(N)
SENT = np.random.default_rng(1).random((M, N))
calls: list[int] = []
"""The number of rows of each call of the metric, which must not be a part of it."""
stops_at = [0]


@dataclass(frozen=True)
class Stopped(BlackBoxRmse):
    """Interrupts the command at a call; undefined where the first row is drawn twice."""

    copies: int = 2

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        calls.append(len(truth))
        if len(calls) == stops_at[0]:
            raise KeyboardInterrupt
        if (truth == TRUTH[0]).sum() >= self.copies:
            raise ValueError("undefined")
        return super().score(truth, prediction, weight)


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(black_box, "SECONDS_WORTH_KEEPING", 0.0)
    monkeypatch.setattr(black_box, "SECONDS_OF_A_TASK", 1e-6)
    monkeypatch.setattr(black_box, "SECONDS_OF_A_SENT_TASK", 1e-6)
    monkeypatch.setattr(black_box, "SENT_TASKS_PER_SECOND", 1e9)
    calls.clear()
    stops_at[0] = 0


def drawn(seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return rng.multinomial(N, np.full(N, 1 / N), size=B).T.astype(np.uint8)


def resampled(
    metric: Any = None, truth: Any = TRUTH, sent: Any = SENT, seed: int = 2, progress: Any = None
) -> FloatArray:
    return score_under_weights(
        metric or Stopped(), truth, ArrayPredictions(sent), drawn(seed), progress=progress
    )


@contextlib.contextmanager
def on(engine: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if engine == "here":
        yield
        return
    monkeypatch.setattr(black_box, "SECONDS_WORTH_A_PROCESS", 0.0)
    with using(InProcess().engine()):
        yield


def interrupted(folder: Path, at: int, function: Any) -> None:
    stops_at[0] = at
    with pytest.raises(KeyboardInterrupt), resumable(folder, NoProgress()):
        function()
    calls.clear()
    stops_at[0] = 0


@pytest.mark.few(2)
@pytest.mark.parametrize("second", ["cluster", pytest.param("here", marks=pytest.mark.slow)])
@pytest.mark.parametrize("first", ["here", pytest.param("cluster", marks=pytest.mark.slow)])
def test_resampled_scores_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    plain = CountedProgress()
    expected = resampled(progress=plain)
    assert np.isnan(expected).any()
    calls.clear()
    with on(first, monkeypatch):
        interrupted(tmp_path, 30, resampled)
        interrupted(tmp_path, 20, resampled)
    progress = CountedProgress()
    with on(second, monkeypatch), resumable(tmp_path, progress):
        scores = resampled(progress=progress)
    assert scores.tobytes() == expected.tobytes()
    # The first two calls of a submission are timed again: 27 and 17 others were kept.
    assert len(calls) == M * B - 27 - 17
    assert any(
        sentence.startswith(f"{27 + 17} of {M * B} calls are already done")
        for sentence in progress.messages
    )
    assert [sentence for sentence in plain.messages if "failed" in sentence] == [
        sentence for sentence in progress.messages if "failed" in sentence
    ]


@pytest.mark.slow
def test_a_part_of_what_was_kept_is_enough(tmp_path: Path) -> None:
    expected = resampled()
    with resumable(tmp_path, NoProgress()):
        resampled()
    calls.clear()
    with resumable(tmp_path, NoProgress()):
        assert resampled().tobytes() == expected.tobytes()
        assert len(calls) == 2
        more = np.concatenate([SENT[:2], 1 - SENT[:1], SENT[2:]])
        scores = resampled(sent=more)
    assert len(calls) == 2 + 2 + B
    assert np.delete(scores, 2, axis=0).tobytes() == expected.tobytes()


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "changed",
    [
        {"truth": np.append(TRUTH[:-1], 2.0)},
        {"sent": SENT + 1e-9},
        {"seed": 3},
        {"metric": Stopped(copies=3)},
    ],
)
def test_a_changed_input_takes_nothing(tmp_path: Path, changed: dict[str, Any]) -> None:
    with resumable(tmp_path, NoProgress()):
        resampled()
    expected = resampled(**changed)
    calls.clear()
    progress = CountedProgress()
    with resumable(tmp_path, progress):
        assert resampled(**changed).tobytes() == expected.tobytes()
    assert len(calls) == M * B
    assert not progress.messages


def test_short_work_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(black_box, "SECONDS_WORTH_KEEPING", 30.0)
    with resumable(tmp_path, NoProgress()):
        resampled()
    assert not list(tmp_path.iterdir())


@dataclass(frozen=True)
class Refuses(Stopped):
    """Refuses one of the submissions, which is no score to keep."""

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        score = super().score(truth, prediction, weight)
        if prediction[0] == SENT[1, 0]:
            raise ScoringError("refused", "refused", "refused")
        return score


@pytest.mark.slow
@pytest.mark.parametrize("first", ["here", "cluster"])
@pytest.mark.parametrize("second", ["here", "cluster"])
def test_scores_on_all_rows_continue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str, second: str
) -> None:
    def scored() -> tuple[bytes, list[tuple[int, str]]]:
        failures: list[tuple[int, ScoringError]] = []
        scores = full_scores(Refuses(), TRUTH, ArrayPredictions(SENT), failures=failures)
        return scores.tobytes(), [(position, str(error)) for position, error in failures]

    expected = scored()
    calls.clear()
    with on(first, monkeypatch):
        interrupted(tmp_path, 5, scored)
    with on(second, monkeypatch), resumable(tmp_path, NoProgress()):
        assert scored() == expected
    assert len(calls) == 2  # the one that was interrupted, and the one that is refused
    assert expected[1] == [(1, "refused")]


@pytest.mark.parametrize(
    ("seconds", "n_calls", "workers", "sentence"),
    [
        (0.5, 5, 2, None),
        (0.5, 6, 1, "6 parts or resamples .* 3 s on 1 worker."),
        (0.5, 6, 8, "6 parts or resamples .* 1 s on 8 workers."),
        (2.0, 119, 2, "119 parts or resamples .* 119 s on 2 workers."),
        (2.0, 120, 2, "120 parts or resamples .* 2 min on 2 workers."),
        (60.0, 7_200, 2, "7,200 parts or resamples .* 3,600 min on 2 workers."),
    ],
)
def test_the_time_that_calls_take_is_said_first(
    seconds: float,
    n_calls: int,
    workers: int,
    sentence: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time of all calls is divided by the number of workers; from 120 s on it is in minutes."""
    started: list[int] = []

    def run_calls(*arguments: Any) -> list[Any]:
        started.append(arguments[-1])
        return []

    monkeypatch.setattr(black_box, "run_calls", run_calls)
    weights, is_known = np.zeros((2, n_calls), dtype=np.uint8), np.zeros((1, n_calls), dtype=bool)
    progress = CountedProgress()
    remaining = black_box.remaining_scores(
        BlackBoxRmse(), TRUTH[:2], ArrayPredictions(SENT[:1, :2]), weights, is_known,
        seconds, workers, progress,
    )  # fmt: skip
    assert list(remaining) == []
    assert started == [1 if sentence is None else workers]
    assert len(progress.messages) == (sentence is not None)
    assert sentence is None or re.search(f" {sentence}$", progress.messages[0])
