"""Metrics that can only be called as a whole: once per submission and draw of the rows.

One that may never come back, or that is not arena's own, declares a time limit for a call; it is
then called in processes that can be ended. Any other is called here, or in worker processes if
that saves time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, ScoringError
from arena.execution import Progress, run_tasks
from arena.interfaces import (
    Metric,
    NeedsRowContext,
    PredictionBlocks,
    PreparesSubmissions,
    traits_of,
)
from arena.types import FloatArray, WeightArray
from arena.worker_processes import Ended, run_limited, start_clock

__all__ = ["Scorer", "opaque_scores", "score_columns", "scorer_of", "whole_scores"]

Scorer: TypeAlias = Callable[[npt.NDArray[Any]], float]
"""The score of a submission as a function of ``(n,)`` counts of its rows."""

_SECONDS_WORTH_A_PROCESS = 3.0
_SECONDS_OF_A_TASK = 0.5
_MOST_CALLS_OF_A_TASK = 250
# What a metric raises on rows for which it is not defined, for lack of a class in them, say.
_UNDEFINED = (ValueError, ZeroDivisionError, ScoringError)


@dataclass(frozen=True, slots=True, eq=False)
class _OnDrawnRows:
    """Scores the rows that are drawn, each repeated as often as it is."""

    metric: Metric
    truth: npt.NDArray[Any]
    prediction: npt.NDArray[Any]

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        drawn = np.repeat(np.arange(len(weight)), weight)
        return self.metric.score(self.truth[drawn], self.prediction[drawn])


def scorer_of(metric: Metric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> Scorer:
    """Return the score of a submission as a function of counts of its rows; it can be pickled.

    A metric that is bound to its rows gets them all, and the counts as the weights of ``score``.
    """
    if isinstance(metric, PreparesSubmissions):
        return metric.prepare(truth, prediction)
    if isinstance(metric, NeedsRowContext):
        return partial(metric.score, truth, prediction)
    return _OnDrawnRows(metric, truth, prediction)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """What became of one task."""

    position: int
    columns: slice
    values: FloatArray
    failed: int
    """How many calls the metric refused or failed in; their values are NaN."""
    why: str
    """What the first of these said."""


def score_columns(scorer: Scorer, weights: WeightArray) -> FloatArray:
    """Return ``(B,)`` scores under the columns of weights; NaN where the metric refuses the rows.

    >>> score_columns(lambda weight: float(weight[0]), np.eye(2, dtype=np.uint8)).tolist()
    [1.0, 0.0]
    """
    return _score_task(scorer, weights, 0, slice(0, weights.shape[1])).values


def _score_task(scorer: Scorer, weights: WeightArray, position: int, columns: slice) -> _Scored:
    values = np.full(weights.shape[1], np.nan)
    failed, why = 0, ""
    for b in range(weights.shape[1]):
        start_clock()
        try:
            values[b] = scorer(weights[:, b])
        except _UNDEFINED as error:
            failed += 1
            why = why or (str(error) if isinstance(error, ScoringError) else "")
    return _Scored(position, columns, values, failed, why)


def opaque_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    *,
    workers: int,
    progress: Progress,
) -> FloatArray:
    """Return ``(m, B)`` scores under ``(n, B)`` counts of the rows; NaN where undefined.

    How long it will take is said first, from two calls, if that is more than a moment. At most
    ``workers + 1`` submissions are held.

    Raises
    ------
    MetricError
        If a call exceeds the time limit of the metric, or ends its process.
    """
    shape = (predictions.n_submissions, weights.shape[1])
    scores = np.full(shape, np.nan)
    if not scores.size:
        return scores
    seconds = _seconds_of_a_call(metric, truth, predictions, weights)
    expected = seconds * scores.size
    if expected < _SECONDS_WORTH_A_PROCESS:
        workers = 1
    else:
        progress.say(
            f"{metric.name} can only be called as a whole: {scores.size:,} calls, about "
            f"{_duration(expected / workers)} on {workers} worker{'s' if workers > 1 else ''}."
        )
    calls = int(np.clip(_SECONDS_OF_A_TASK / max(seconds, 1e-9), 1, _MOST_CALLS_OF_A_TASK))
    tasks = _tasks(metric, truth, predictions, weights, calls)
    progress.start("Scoring under resampled rows", scores.size)
    failed, why = 0, ""
    for one in _run(metric, tasks, workers):
        scores[one.position, one.columns] = one.values
        failed, why = failed + one.failed, why or one.why
        progress.advance(len(one.values))
    if why:
        progress.say(f"{failed:,} of {scores.size:,} calls on resampled rows failed: {why}")
    return scores


def _duration(seconds: float) -> str:
    """Return a time as people say it.

    >>> _duration(95.0), _duration(4000.0)
    ('95 s', '67 min')
    """
    return f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"


def _tasks(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    calls: int,
) -> Iterator[tuple[Any, ...]]:
    for start, block in predictions.blocks(1):
        scorer = scorer_of(metric, truth, block[0])
        for first in range(0, weights.shape[1], calls):
            columns = slice(first, first + calls)
            yield scorer, weights[:, columns], start, columns


def _run(metric: Metric, tasks: Iterator[tuple[Any, ...]], workers: int) -> Iterator[_Scored]:
    limit = traits_of(metric).time_limit
    if limit is None:
        yield from run_tasks(_score_task, tasks, workers=workers, processes=True)
        return
    results = run_limited(_score_task, tasks, workers=workers, seconds=limit, purpose=metric.name)
    for result in results:
        if isinstance(result, Ended):
            raise MetricError(f"{metric.name} failed on resampled rows: {result}.{_mend(result)}")
        yield result


def _mend(ended: Ended) -> str:
    return " A longer time_limit can be given to it." if ended.too_long else ""


def _seconds_of_a_call(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
) -> float:
    """Return how long the second call of two takes: the first also imports and warms up."""
    _, first = next(predictions.blocks(1))
    scorer = scorer_of(metric, truth, first[0])
    limit = traits_of(metric).time_limit
    if limit is None:
        return _timed_task(scorer, weights[:, :2])
    task = (scorer, weights[:, :2])
    (result,) = run_limited(_timed_task, [task], workers=1, seconds=limit, purpose=metric.name)
    # A call that does not come back is dealt with when it is made in earnest.
    return result.seconds if isinstance(result, Ended) else float(result)


def _timed_task(scorer: Scorer, weights: WeightArray) -> float:
    taken = []
    for b in range(weights.shape[1]):
        start_clock()
        started = time.perf_counter()
        score_columns(scorer, weights[:, [b]])
        taken.append(time.perf_counter() - started)
    return min(taken)


def whole_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    *,
    workers: int,
    failures: list[tuple[int, ScoringError]] | None,
) -> FloatArray:
    """Return ``(m,)`` scores on all rows; NaN where undefined, or where the metric failed.

    A submission that the metric refuses, or fails on, joins the failures by its position; without
    a list for them the first is raised.
    """
    results: Iterator[float | ScoringError | Ended]
    limit = traits_of(metric).time_limit
    if limit is None:
        results = (
            _whole_task(partial(metric.score, truth, block[0]))
            for _, block in predictions.blocks(1)
        )
    else:
        everything = np.ones(len(truth), dtype=np.uint8)
        tasks = (
            (partial(scorer_of(metric, truth, block[0]), everything),)
            for _, block in predictions.blocks(1)
        )
        results = run_limited(
            _whole_task,
            tasks,
            workers=min(workers, max(1, predictions.n_submissions)),
            seconds=limit,
            purpose=metric.name,
        )
    scores = np.full(predictions.n_submissions, np.nan)
    for position, result in enumerate(results):
        error = _failure(metric, result) if isinstance(result, Ended) else result
        if not isinstance(error, ScoringError):
            scores[position] = error
        elif failures is None:
            raise error
        else:
            failures.append((position, error))
    return scores


def _whole_task(call: Callable[[], float]) -> float | ScoringError:
    try:
        return call()
    except ScoringError as error:
        return error


def _failure(metric: Metric, ended: Ended) -> ScoringError:
    shown = (
        f"The metric took longer than {ended.seconds:g} s on this submission and was stopped."
        if ended.too_long
        else "The metric failed on this submission, which is for the organiser to look into."
    )
    message = f"{metric.name} failed on a submission: {ended}.{_mend(ended)}"
    return ScoringError(message, "too slow" if ended.too_long else "metric failed", shown)
