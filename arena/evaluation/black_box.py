"""Black-box metrics: called once per submission and resample of the rows.

A metric that may hang, such as one from your own code, declares a time limit. It is then called in
worker processes that can be terminated. Any other metric is called in the current process, or in
worker processes if that saves time.

On a cluster in use (:mod:`arena.utils.engines`) the calls are made by its workers, within the same
limits: a worker starts the process that can be terminated.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError, ScoringError
from arena.evaluation.predictions import SENT_BYTES, cell_bytes, received, sent
from arena.interfaces import (
    Metric,
    NeedsRowContext,
    PredictionBlocks,
    PreparesSubmissions,
    traits_of,
)
from arena.types import FloatArray, WeightArray
from arena.utils.engines import Engine, cluster_in_use
from arena.utils.parallel import Progress, run_tasks
from arena.utils.processes import Confinement, Ended, run_limited, start_clock

Scorer: TypeAlias = Callable[[npt.NDArray[Any]], float]
"""The score of a submission as a function of ``(n,)`` counts of its rows."""

_SECONDS_WORTH_A_PROCESS = 3.0
"""Worker processes are started only for work that takes at least this long."""
_SECONDS_OF_A_TASK = 0.5
_MOST_BYTES_OF_A_TASK = 2**24
"""Of weights, one for each row and call."""
_TIMED = 2
"""Calls on the first submission that are timed; the first one includes imports and warm-up."""
_FAILURES_THAT_DECIDE = 5
_SECONDS_OF_A_SENT_TASK = 2.0
"""On a cluster of up to ten workers, where a task takes some milliseconds to arrive."""
_SENT_TASKS_PER_SECOND = 5.0
"""On a larger cluster tasks are longer, so that this process need not send more of them."""
UNDEFINED = (ValueError, ZeroDivisionError, ScoringError)
"""What a metric may raise on rows where it is undefined, such as rows without a class."""


class DrawnRowsError(MetricError):
    """The metric fails on the first resamples of the first submission, up to five."""


@dataclass(frozen=True, slots=True, eq=False)
class _OnDrawnRows:
    """Scores the drawn rows, each repeated as often as it was drawn."""

    metric: Metric
    truth: npt.NDArray[Any]
    prediction: npt.NDArray[Any]

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        drawn = np.repeat(np.arange(len(weight)), weight)
        return self.metric.score(self.truth[drawn], self.prediction[drawn])


def scorer_of(metric: Metric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> Scorer:
    """Return the score of a submission as a picklable function of counts of its rows.

    A metric that is bound to its rows gets all of them, with the counts as ``weight``.
    """
    if isinstance(metric, PreparesSubmissions):
        return metric.prepare(truth, prediction)
    if isinstance(metric, NeedsRowContext):
        return partial(metric.score, truth, prediction)
    return _OnDrawnRows(metric, truth, prediction)


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """The result of a task."""

    position: int
    columns: slice
    values: FloatArray
    failed: int
    """Number of calls that failed; their values are NaN."""
    why: str
    """The message of the first failure, if the metric is the organiser's own code."""


def score_columns(scorer: Scorer, weights: WeightArray) -> FloatArray:
    """Return ``(B,)`` scores under the columns of weights; NaN where undefined.

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
        except UNDEFINED as error:
            failed += 1
            why = why or (str(error) if isinstance(error, ScoringError) else "")
    return _Scored(position, columns, values, failed, why)


def black_box_resample(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    *,
    workers: int,
    progress: Progress,
    must_take_rows: bool = False,
) -> FloatArray:
    """Return ``(m, B)`` scores under ``(n, B)`` counts of the rows; NaN where undefined.

    The metric is called exactly ``m * B`` times. If that takes more than a few seconds, the
    estimated time is reported after the first two calls. At most ``workers + 1`` submissions are in
    memory.

    Raises
    ------
    DrawnRowsError
        If ``must_take_rows`` is true and the metric fails on the first resamples of the first
        submission, up to five.
    MetricError
        If a call exceeds the time limit of the metric, or its process dies.
    """
    shape = (predictions.n_submissions, weights.shape[1])
    scores = np.full(shape, np.nan)
    if not scores.size:
        return scores
    progress.start("Scoring under resampled rows", scores.size)
    failed, why, done = 0, "", 0
    scorer = scorer_of(metric, truth, next(iter(predictions.blocks(1)))[1][0])
    seconds = math.inf
    for stop in (_TIMED, _FAILURES_THAT_DECIDE):
        columns = slice(done, min(stop, shape[1]))
        if columns.stop > done:
            timed = _run(metric, _timed_task, [(scorer, weights[:, columns], 0, columns)], 1)
            one, taken = _of_process(metric, next(timed))
            seconds = min(seconds, taken)
            scores[0, columns] = one.values
            failed, why, done = failed + one.failed, why or one.why, columns.stop
            progress.advance(len(one.values))
        if failed < done:
            break
    if must_take_rows and failed == done:
        _log_failure(metric, why)
        raise DrawnRowsError(f"{metric.name} failed on the first {done:,} resamples.")
    left = seconds * (scores.size - done)
    cluster = cluster_in_use() if left >= _SECONDS_WORTH_A_PROCESS else None
    if left < _SECONDS_WORTH_A_PROCESS:
        workers = 1
    else:
        workers = workers if cluster is None else cluster.workers
        each = max(left / workers, 1)
        progress.say(
            f"{metric.name} must be called once per submission and resample, which takes about "
            f"{f'{each:,.0f} s' if each < 120 else f'{each / 60:,.0f} min'} on {workers} "
            f"worker{'s' if workers > 1 else ''}{'' if cluster is None else f' ({cluster.name})'}."
        )
    results: Iterator[_Scored | Ended]
    if cluster is None:
        most = max(1, _MOST_BYTES_OF_A_TASK // max(1, len(weights)))
        calls = _calls_of_a_task(_SECONDS_OF_A_TASK, seconds, most)
        tasks = _tasks(metric, truth, predictions, weights, calls, done)
        results = _run(metric, _score_task, tasks, workers)
    else:
        calls = _calls_of_a_task(_seconds_of_a_sent_task(cluster), seconds, shape[1])
        source, ones = sent(predictions, 1)
        parts = (
            (given, start, columns)
            for start, given in ones
            for columns in _parts(0 if start else done, shape[1], calls)
        )
        results = cluster.run(_score_there, (metric, truth, weights, source), parts)
    for result in results:
        one = _of_process(metric, result)
        scores[one.position, one.columns] = one.values
        failed, why = failed + one.failed, why or one.why
        progress.advance(len(one.values))
    if failed:
        progress.say(f"{failed:,} of {scores.size:,} calls on resampled rows failed.")
        _log_failure(metric, why)
    return scores


def _log_failure(metric: Metric, why: str) -> None:
    """Log the first message at debug level: it may quote private rows, so no result has it."""
    if why:
        logging.getLogger("arena").debug("%s on resampled rows: %s", metric.name, why)


def _run(
    metric: Metric, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    if traits_of(metric).time_limit is None:
        return run_tasks(function, tasks, workers=workers, processes=True)
    return _run_limited(metric, function, tasks, workers)


def _of_process(metric: Metric, result: Any) -> Any:
    """Return the result of a task, or raise if its process ended first."""
    if isinstance(result, Ended):
        raise MetricError(f"{metric.name} failed on resampled rows: {result}.{_advice(result)}")
    return result


def _seconds_of_a_sent_task(cluster: Engine) -> float:
    return max(_SECONDS_OF_A_SENT_TASK, cluster.workers / _SENT_TASKS_PER_SECOND)


def _calls_of_a_task(wanted: float, seconds: float, most: int) -> int:
    return int(np.clip(wanted / max(seconds, 1e-9), 1, most))


def _parts(first: int, stop: int, calls: int) -> Iterator[slice]:
    """Yield slices of at most so many columns."""
    for at in range(first, stop, calls):
        yield slice(at, min(at + calls, stop))


def _tasks(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    calls: int,
    done: int,
) -> Iterator[tuple[Any, ...]]:
    """Yield tasks of at most so many calls; the first columns of submission 0 are done."""
    weights = np.asfortranarray(weights)  # a call reads a column
    for start, block in predictions.blocks(1):
        scorer = scorer_of(metric, truth, block[0])
        for columns in _parts(0 if start else done, weights.shape[1], calls):
            yield scorer, weights[:, columns], start, columns


def _score_there(
    metric: Metric,
    truth: npt.NDArray[Any],
    weights: WeightArray,
    source: PredictionBlocks | None,
    given: npt.NDArray[Any] | range,
    position: int,
    columns: slice,
) -> _Scored | Ended:
    """Score a submission on a worker of a cluster, within the limits that the metric declares."""
    prediction = received(source, given)[0]
    task = (scorer_of(metric, truth, prediction), weights[:, columns], position, columns)
    if traits_of(metric).time_limit is None:
        return _score_task(*task)
    (result,) = _run_limited(metric, _score_task, [task], 1)
    return result  # type: ignore[no-any-return]


def _run_limited(
    metric: Metric, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """Run tasks within the limits that a metric declares."""
    traits = traits_of(metric)
    return run_limited(
        function,
        tasks,
        workers=workers,
        seconds=traits.time_limit or math.inf,
        purpose=metric.name,
        confinement=Confinement(traits.memory_limit, traits.network, traits.folder),
    )


def _advice(ended: Ended) -> str:
    return " You can increase its time_limit." if ended.too_long else ""


def _timed_task(
    scorer: Scorer, weights: WeightArray, position: int, columns: slice
) -> tuple[_Scored, float]:
    """Return the scores and the seconds of the fastest call."""
    parts, taken = [], []
    for b in range(weights.shape[1]):
        started = time.perf_counter()
        parts.append(_score_task(scorer, weights[:, [b]], position, columns))
        taken.append(time.perf_counter() - started)
    values = np.concatenate([part.values for part in parts])
    failed = sum(part.failed for part in parts)
    why = next((part.why for part in parts if part.why), "")
    return _Scored(position, columns, values, failed, why), min(taken)


def black_box_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    *,
    workers: int,
    failures: list[tuple[int, ScoringError]] | None,
) -> FloatArray:
    """Return ``(m,)`` scores on all rows; NaN where undefined, or where the metric failed.

    Position and error of each submission that the metric rejects or fails on are appended to
    ``failures``; if that is None, the first error is raised.
    """
    results: Iterable[float | ScoringError | Ended]
    cluster = cluster_in_use() if predictions.n_submissions > _TIMED else None
    if cluster is None:
        whole = (block[0] for _, block in predictions.blocks(1))
        most = min(workers, max(1, predictions.n_submissions))
        results = _whole_scores(metric, truth, whole, most)
    else:
        results = _whole_scores_on(cluster, metric, truth, predictions, workers)
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


def _whole_scores_on(
    cluster: Engine,
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    workers: int,
) -> Iterator[float | ScoringError | Ended]:
    """Yield the scores on all rows; the first two calls are timed here."""
    seconds, first = math.inf, predictions.subset(np.arange(_TIMED))
    scores_here = _whole_scores(metric, truth, (block[0] for _, block in first.blocks(1)), 1)
    for _ in range(_TIMED):
        started = time.perf_counter()
        score = next(scores_here)
        seconds = min(seconds, time.perf_counter() - started)
        yield score
    others = predictions.subset(np.arange(_TIMED, predictions.n_submissions))
    if seconds * others.n_submissions < _SECONDS_WORTH_A_PROCESS:
        whole = (block[0] for _, block in others.blocks(1))
        yield from _whole_scores(metric, truth, whole, min(workers, others.n_submissions))
        return
    most = max(1, SENT_BYTES // (max(1, truth.size) * cell_bytes(truth)))
    calls = _calls_of_a_task(_seconds_of_a_sent_task(cluster), seconds, most)
    source, blocks = sent(others, calls)
    tasks = ((given,) for _, given in blocks)
    for found in cluster.run(_whole_scores_there, (metric, truth, source), tasks):
        yield from found


def _whole_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: Iterable[npt.NDArray[Any]],
    workers: int,
) -> Iterator[float | ScoringError | Ended]:
    """Yield the score of each submission on all rows, within the limits of the metric."""
    if traits_of(metric).time_limit is None:
        for prediction in predictions:
            yield _whole_task(partial(metric.score, truth, prediction))
        return
    everything = np.ones(len(truth), dtype=np.uint8)
    tasks = ((partial(scorer_of(metric, truth, one), everything),) for one in predictions)
    yield from _run_limited(metric, _whole_task, tasks, workers)


def _whole_scores_there(
    metric: Metric,
    truth: npt.NDArray[Any],
    source: PredictionBlocks | None,
    given: npt.NDArray[Any] | range,
) -> list[float | ScoringError | Ended]:
    return list(_whole_scores(metric, truth, received(source, given), 1))


def _whole_task(call: Callable[[], float]) -> float | ScoringError:
    try:
        return call()
    except ScoringError as error:
        return error


def _failure(metric: Metric, ended: Ended) -> ScoringError:
    shown = (
        f"The metric took longer than {ended.seconds:g} s on this submission and was stopped."
        if ended.too_long
        else "The metric failed on this submission. The organiser can see the details."
    )
    message = f"{metric.name} failed on a submission: {ended}.{_advice(ended)}"
    return ScoringError(message, "too slow" if ended.too_long else "metric failed", shown)
