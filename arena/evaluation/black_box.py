"""Black-box metrics: called once per submission and weighting of the rows.

A metric that may hang, such as one from your own code, declares a time limit. It is then called in
worker processes that can be terminated. Any other metric is called in the current process, or in
worker processes if that saves time.

On a cluster in use (:mod:`arena.utils.engines`) the calls are made by its workers, within the same
limits: a worker starts the process that can be terminated.

If the command keeps finished tasks (:mod:`arena.utils.finished_tasks`), calls that an interrupted
command has made are not made again.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import ArenaError, MetricError, ScoringError
from arena.evaluation.predictions import SENT_BYTES, block_size, cell_bytes, received, sent
from arena.interfaces import (
    Metric,
    NeedsRowContext,
    PredictionBlocks,
    PreparesSubmissions,
    modality_of,
    traits_of,
)
from arena.types import FloatArray, IntArray, WeightArray
from arena.utils.counts import repeated
from arena.utils.engines import Engine, cluster_in_use
from arena.utils.finished_tasks import FinishedTasks, tasks_in_use
from arena.utils.located import located
from arena.utils.parallel import Progress, run_tasks
from arena.utils.processes import Confinement, Ended, run_limited, sendable, start_clock
from arena.utils.read_only import read_only
from arena.utils.task_digests import array_digest, digest_of
from arena.utils.text import plural

Scorer: TypeAlias = Callable[[npt.NDArray[Any]], float]
"""The score of a submission as a function of ``(n,)`` counts of its rows."""

SECONDS_WORTH_A_PROCESS = 3.0
"""Worker processes are started only for work that takes at least this long."""
SECONDS_WORTH_KEEPING = 30.0
"""Calls on resampled rows are kept if they take at least this long on one worker."""
SECONDS_OF_A_TASK = 0.5
_MOST_BYTES_OF_A_TASK = 2**24
"""Of weights, one for each row and call."""
_TIMED = 2
"""Calls on the first submission that are timed; the first one includes imports and warm-up."""
_FAILURES_THAT_DECIDE = 5
SECONDS_OF_A_SENT_TASK = 2.0
"""On a cluster of up to ten workers, where a task takes some milliseconds to arrive."""
SENT_TASKS_PER_SECOND = 5.0
"""On a larger cluster tasks are longer, so that this process need not send more of them."""
UNDEFINED = (ValueError, ZeroDivisionError, ScoringError)
"""What a metric may raise on rows where it is undefined, such as rows without a class."""


_FAILED = (
    "metric failed",
    "The metric failed on this submission. The organiser can see the details.",
)
"""Kind and message of the fault of a submission on which a metric fails."""


class DrawnRowsError(MetricError):
    """The metric fails on the first resamples of the first submission, up to five."""


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnRowsScorer:
    """Scores the drawn rows, each repeated as often as it was drawn."""

    metric: Metric
    truth: npt.NDArray[Any]
    prediction: npt.NDArray[Any]

    def __call__(self, weight: npt.NDArray[Any]) -> float:
        drawn = repeated(weight)
        return self.metric.score(self.truth[drawn], self.prediction[drawn])


def scorer_of(metric: Metric, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> Scorer:
    """Return the score of a submission as a picklable function of counts of its rows.

    A metric that is bound to its rows gets all of them, with the counts as ``weight``.
    """
    truth, prediction = read_only((truth, prediction))
    if isinstance(metric, PreparesSubmissions):
        return metric.prepare(truth, prediction)
    if isinstance(metric, NeedsRowContext):
        return partial(metric.score, truth, prediction)
    return _DrawnRowsScorer(metric, truth, prediction)


@sendable
@dataclass(frozen=True, slots=True, eq=False)
class _TaskResult:
    """The result of a task."""

    position: int
    columns: slice
    values: FloatArray
    failing: npt.NDArray[np.bool_]
    """Which calls failed; their values are NaN."""
    why: str
    """The message of the first failure, if the metric is the organiser's own code."""


def score_columns(scorer: Scorer, weights: WeightArray) -> FloatArray:
    """Return ``(B,)`` scores under the columns of weights; NaN where undefined.

    >>> score_columns(lambda weight: float(weight[0]), np.eye(2, dtype=np.uint8)).tolist()
    [1.0, 0.0]
    """
    return _score_task(scorer, weights, 0, slice(0, weights.shape[1])).values


def _score_task(scorer: Scorer, weights: WeightArray, position: int, columns: slice) -> _TaskResult:
    values = np.full(weights.shape[1], np.nan)
    failing, why = np.zeros(weights.shape[1], dtype=np.bool_), ""
    for b in range(weights.shape[1]):
        start_clock()
        try:
            values[b] = scorer(weights[:, b])
        except UNDEFINED as error:
            failing[b] = True
            why = why or (str(error) if isinstance(error, ScoringError) else "")
    return _TaskResult(position, columns, values=values, failing=failing, why=why)


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
    scorer = scorer_of(metric, truth, next(iter(predictions.blocks(1)))[1][0])
    first, seconds = _first_calls(metric, scorer, weights, progress)
    done, failed, why = len(first.values), int(first.failing.sum()), first.why
    scores[0, :done] = first.values
    if must_take_rows and failed == done:
        _log_failure(metric, why)
        raise DrawnRowsError(f"{metric.name} failed on the first {plural(done, 'resample')}.")
    is_known = np.zeros(shape, dtype=np.bool_)
    is_known[0, :done] = True
    kept_scores, keys = None, []
    if seconds * (scores.size - done) >= SECONDS_WORTH_KEEPING:
        kept_scores = _Kept.of("resamples", metric, truth, weights)
    if kept_scores is not None:
        keys = kept_scores.keys(predictions, truth)
        n_kept, of_them_failed = kept_scores.take_resamples(keys, scores, is_known)
        failed += of_them_failed
        progress.advance(n_kept)
    missing = np.flatnonzero(~is_known.all(axis=1))
    if len(missing) < len(scores):
        predictions = predictions.subset(missing)
    results = remaining_scores(
        metric,
        truth,
        predictions=predictions,
        weights=weights,
        is_known=is_known[missing],
        seconds=seconds,
        workers=workers,
        progress=progress,
    )
    for result in results:
        part = _of_process(metric, result)
        position = missing[part.position]
        scores[position, part.columns] = part.values
        failed, why = failed + int(part.failing.sum()), why or part.why
        if kept_scores is not None:
            kept_scores.tasks.put(keys[position], [part.columns.start, *part.values, *part.failing])
        progress.advance(len(part.values))
    if failed:
        progress.say(f"{failed:,} of {plural(scores.size, 'call')} on resampled rows failed.")
        _log_failure(metric, why)
    return scores


def _first_calls(
    metric: Metric, scorer: Scorer, weights: WeightArray, progress: Progress
) -> tuple[_TaskResult, float]:
    """Return the first two scores of a submission, up to five if they fail, and seconds a call."""
    parts: list[_TaskResult] = []
    done, seconds = 0, math.inf
    for stop in (_TIMED, _FAILURES_THAT_DECIDE):
        columns = slice(done, min(stop, weights.shape[1]))
        if columns.stop > done:
            timed = run_calls(metric, _timed_task, [(scorer, weights[:, columns], 0, columns)], 1)
            part, taken = _of_process(metric, next(timed))
            seconds, done = min(seconds, taken), columns.stop
            parts.append(part)
            progress.advance(len(part.values))
        if not all(part.failing.all() for part in parts):
            break
    return _joined(parts), seconds


def _joined(parts: Sequence[_TaskResult]) -> _TaskResult:
    """Return the scores of neighbouring columns of a submission as one result."""
    columns = slice(parts[0].columns.start, parts[-1].columns.stop)
    values = np.concatenate([part.values for part in parts])
    failing = np.concatenate([part.failing for part in parts])
    why = next((part.why for part in parts if part.why), "")
    return _TaskResult(parts[0].position, columns, values=values, failing=failing, why=why)


def remaining_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    is_known: npt.NDArray[np.bool_],
    seconds: float,
    workers: int,
    progress: Progress,
) -> Iterator[_TaskResult | Ended]:
    """Yield the scores that are not yet known, and say first how long it is going to take.

    ``is_known`` is ``(m, B)``, and no submission is known as a whole; ``seconds`` is the time of a
    call.
    """
    left = seconds * int((~is_known).sum())
    cluster = cluster_in_use() if left >= SECONDS_WORTH_A_PROCESS else None
    if left < SECONDS_WORTH_A_PROCESS:
        workers = 1
    else:
        workers = workers if cluster is None else cluster.workers
        each = max(left / workers, 1)
        progress.say(
            f"{metric.name} is called on {weights.shape[1]:,} parts or resamples of the rows of "
            "each submission, which takes about "
            f"{f'{each:,.0f} s' if each < 120 else f'{each / 60:,.0f} min'} on "
            f"{plural(workers, 'worker')}{'' if cluster is None else f' ({cluster.name})'}."
        )
    if not len(is_known):
        return
    if cluster is None:
        most = max(1, _MOST_BYTES_OF_A_TASK // max(1, len(weights)))
        calls = _calls_of_a_task(SECONDS_OF_A_TASK, seconds, most)
        tasks = _tasks(
            metric, truth, predictions=predictions, weights=weights, calls=calls, is_known=is_known
        )
        yield from run_calls(metric, _score_task, tasks, workers)
        return
    calls = _calls_of_a_task(_seconds_of_a_sent_task(cluster), seconds, weights.shape[1])
    source, ones = sent(predictions, 1)
    parts = (
        (block, start, columns)
        for start, block in ones
        for columns in _parts(is_known[start], calls)
    )
    yield from cluster.run(_score_there, (metric, truth, weights, source), parts)


def _log_failure(metric: Metric, why: str) -> None:
    """Log the first message at debug level: it may quote private rows, so no result has it."""
    if why:
        logging.getLogger("arena").debug("%s on resampled rows: %s", metric.name, why)


def run_calls(
    metric: Metric, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], workers: int
) -> Iterator[Any]:
    """Yield the results of tasks in worker processes, within the limits that a metric declares."""
    if traits_of(metric).time_limit is None:
        return run_tasks(function, tasks, workers=workers, processes=True)
    return _run_limited(metric, function, tasks, workers)


def _of_process(metric: Metric, result: Any) -> Any:
    """Return the result of a task, or raise if its process ended first."""
    if isinstance(result, Ended):
        raise MetricError(f"{metric.name} failed on resampled rows: {result}.{time_advice(result)}")
    return result


def _seconds_of_a_sent_task(cluster: Engine) -> float:
    return max(SECONDS_OF_A_SENT_TASK, cluster.workers / SENT_TASKS_PER_SECOND)


def _calls_of_a_task(seconds_wanted: float, seconds: float, most: int) -> int:
    return int(np.clip(seconds_wanted / max(seconds, 1e-9), 1, most))


def _parts(is_known: npt.NDArray[np.bool_], calls: int) -> Iterator[slice]:
    """Yield slices of at most so many columns, none of which is known."""
    edges = np.flatnonzero(np.diff(is_known, prepend=True, append=True)).tolist()
    for first, stop in zip(edges[::2], edges[1::2], strict=True):
        for start in range(first, stop, calls):
            yield slice(start, min(start + calls, stop))


def _tasks(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: PredictionBlocks,
    weights: WeightArray,
    calls: int,
    is_known: npt.NDArray[np.bool_],
) -> Iterator[tuple[Any, ...]]:
    """Yield tasks of at most so many calls, for the columns of each submission not yet known."""
    weights = np.asfortranarray(weights)  # a call reads a column
    for start, block in predictions.blocks(1):
        scorer = scorer_of(metric, truth, block[0])
        for columns in _parts(is_known[start], calls):
            yield scorer, weights[:, columns], start, columns


def _score_there(
    metric: Metric,
    truth: npt.NDArray[Any],
    weights: WeightArray,
    source: PredictionBlocks | None,
    block: npt.NDArray[Any] | range,
    position: int,
    columns: slice,
) -> _TaskResult | Ended:
    """Score a submission on a worker of a cluster, within the limits that the metric declares."""
    prediction = received(source, block)[0]
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


def time_advice(ended: Ended) -> str:
    """Return a sentence on the time limit, if a call exceeded it."""
    return " You can increase its time_limit." if ended.too_long else ""


def _timed_task(
    scorer: Scorer, weights: WeightArray, position: int, columns: slice
) -> tuple[_TaskResult, float]:
    """Return the scores and the seconds of the fastest call."""
    parts, taken = [], []
    for b in range(weights.shape[1]):
        started = time.perf_counter()
        parts.append(_score_task(scorer, weights[:, [b]], position, columns))
        taken.append(time.perf_counter() - started)
    return replace(_joined(parts), columns=columns), min(taken)


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
    scores = np.full(predictions.n_submissions, np.nan)
    missing = np.arange(len(scores))
    kept_scores = _Kept.of("scores", metric, truth) if len(scores) > _TIMED else None
    cluster = cluster_in_use() if len(scores) > _TIMED else None
    keys: list[str] = []
    if kept_scores is not None and (cluster is not None or kept_scores.tasks.found_any):
        keys = kept_scores.keys(predictions, truth)
        missing = kept_scores.take_scores(keys, scores)
        keys = [keys[position] for position in missing]
        predictions = predictions.subset(missing)
    results: Iterable[float | ScoringError | Ended]
    if not len(missing):
        results = ()
    elif cluster is None or len(missing) <= _TIMED:
        whole: Iterable[npt.NDArray[Any]] = (block[0] for _, block in predictions.blocks(1))
        if kept_scores is not None and not keys:
            whole = kept_scores.noted(whole, keys)
        results = _whole_scores(metric, truth, whole, min(workers, len(missing)))
    else:
        results = _whole_scores_on(
            cluster, metric, truth=truth, predictions=predictions, workers=workers
        )
    for position, result in enumerate(results):
        error = _failure(metric, result) if isinstance(result, Ended) else result
        if not isinstance(error, ScoringError):
            scores[missing[position]] = error
            if kept_scores is not None:
                kept_scores.tasks.put(keys[position], [error])
        elif failures is None:
            raise error.__cause__ or error
        else:
            failures.append((int(missing[position]), error))
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """The calls of a metric that a command keeps, to continue after an interruption."""

    tasks: FinishedTasks
    context: str
    """A digest of what the calls have in common."""

    @classmethod
    def of(cls, what: str, metric: Metric, *shared: npt.NDArray[Any]) -> _Kept | None:
        """Return them; None if the command keeps nothing, or the metric cannot be compared.

        The files that a metric of whole files reads may change without their names.
        """
        tasks = tasks_in_use()
        if tasks is None or not modality_of(metric).has_rows:
            return None
        context = digest_of(what, metric, *map(array_digest, shared))
        if context is None and what == "resamples":  # others may be short
            tasks.say_once(
                f"Calls of {metric.name} cannot be kept: it cannot be stored, or its folder has "
                "too many files to compare. An interrupted command begins again."
            )
        return None if context is None else cls(tasks, context)

    def _key(self, prediction: npt.NDArray[Any]) -> str:
        return hashlib.sha256((self.context + array_digest(prediction)).encode()).hexdigest()

    def keys(self, predictions: PredictionBlocks, truth: npt.NDArray[Any]) -> list[str]:
        """Return the key of each submission."""
        blocks = predictions.blocks(block_size(truth.size))
        return [self._key(prediction) for _, block in blocks for prediction in block]

    def noted(
        self, predictions: Iterable[npt.NDArray[Any]], keys: list[str]
    ) -> Iterator[npt.NDArray[Any]]:
        """Yield submissions, and append their keys."""
        for prediction in predictions:
            keys.append(self._key(prediction))
            yield prediction

    def take_scores(self, keys: list[str], scores: FloatArray) -> IntArray:
        """Fill in the ``(m,)`` scores that are kept; return the positions of the others."""
        is_kept = np.zeros(len(keys), dtype=np.bool_)
        for position, key in enumerate(keys):
            for values in self.tasks.get(key):
                scores[position], is_kept[position] = values[0], True
        self.tasks.say_found(int(is_kept.sum()), len(is_kept), "calls")
        return np.flatnonzero(~is_kept)

    def take_resamples(
        self, keys: list[str], scores: FloatArray, is_known: npt.NDArray[np.bool_]
    ) -> tuple[int, int]:
        """Fill in the ``(m, B)`` scores that are kept and not yet known.

        Returns
        -------
        The number of these calls, and how many of them failed.
        """
        count = failed = 0
        for position, key in enumerate(keys):
            for kept_score in self.tasks.get(key):
                values, failing = np.split(kept_score[1:], 2)
                columns = slice(int(kept_score[0]), int(kept_score[0]) + len(values))
                new = ~is_known[position, columns]
                scores[position, columns][new] = values[new]
                is_known[position, columns] = True
                count, failed = count + int(new.sum()), failed + int(failing[new].sum())
        self.tasks.say_found(count, scores.size, "calls")
        return count, failed


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
    if seconds * others.n_submissions < SECONDS_WORTH_A_PROCESS:
        whole = (block[0] for _, block in others.blocks(1))
        yield from _whole_scores(metric, truth, whole, min(workers, others.n_submissions))
        return
    most = max(1, SENT_BYTES // (max(1, truth.size) * cell_bytes(truth)))
    calls = _calls_of_a_task(_seconds_of_a_sent_task(cluster), seconds, most)
    source, blocks = sent(others, calls)
    tasks = ((block,) for _, block in blocks)
    for scores in cluster.run(_whole_scores_there, (metric, truth, source), tasks):
        yield from scores


def _whole_scores(
    metric: Metric,
    truth: npt.NDArray[Any],
    predictions: Iterable[npt.NDArray[Any]],
    workers: int,
) -> Iterator[float | ScoringError | Ended]:
    """Yield the score of each submission on all rows, within the limits of the metric."""
    if traits_of(metric).time_limit is None:
        for prediction in predictions:
            call = partial(metric.score, *read_only((truth, prediction)))
            yield _whole_task(metric.name, call)
        return
    everything = np.ones(len(truth), dtype=np.uint8)
    tasks = (
        (metric.name, partial(scorer_of(metric, truth, prediction), everything))
        for prediction in predictions
    )
    yield from _run_limited(metric, _whole_task, tasks, workers)


def _whole_scores_there(
    metric: Metric,
    truth: npt.NDArray[Any],
    source: PredictionBlocks | None,
    block: npt.NDArray[Any] | range,
) -> list[float | ScoringError | Ended]:
    return list(_whole_scores(metric, truth, received(source, block), 1))


def _whole_task(name: str, call: Callable[[], float]) -> float | ScoringError:
    try:
        return float(call())
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a metric may raise any error
        return failed_on_submission(name, error)


def failed_on_submission(name: str, error: BaseException) -> ScoringError:
    """Return what an error of a metric on one submission means for it; the cause is the error.

    Raises
    ------
    ArenaError
        If it is an error of arena that no single submission causes.
    """
    if isinstance(error, ScoringError):
        return error
    if isinstance(error, ArenaError) and not isinstance(error, MetricError):
        raise error
    why = str(error) if isinstance(error, MetricError) else located(error)
    failure = ScoringError(f"{name} failed on a submission: {why}", *_FAILED)
    failure.__cause__ = error
    return failure


def _failure(metric: Metric, ended: Ended) -> ScoringError:
    message = f"{metric.name} failed on a submission: {ended}.{time_advice(ended)}"
    if not ended.too_long:
        return ScoringError(message, *_FAILED)
    sentence = (
        f"The metric took longer than {ended.seconds:g} s on this submission and was stopped."
    )
    return ScoringError(message, "too slow", sentence)
