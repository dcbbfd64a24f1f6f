"""Conformance checks of metrics: requirements, and optional parts that save time."""

from __future__ import annotations

import pickle
import time
from functools import lru_cache
from typing import Any

import numpy as np

from arena.evaluation.group_jackknife import CALLS
from arena.evaluation.scores import influence_values, resample_block
from arena.interfaces import (
    HasResample,
    HasRowValues,
    Metric,
    traits_of,
)
from arena.testing.conformance import Conformance, Outcome, Verdict, run_checks
from arena.testing.problems import MetricProblem, problem_for
from arena.types import FloatArray, PredictionKind
from arena.utils.parallel import available_workers
from arena.utils.text import type_and_text

_TOLERANCE = 1e-9
_COST_ROWS, _COST_CALLS = 10_000, 100 * CALLS
_OK: Verdict = (Outcome.OK, "")


def check_metric(metric: Metric, problem: MetricProblem | None = None) -> Conformance:
    """Check a metric on synthetic data, or on a given problem.

    The message of a failed check says what is wrong; that of a missing optional part says what it
    costs.

    Raises
    ------
    UsageError
        If no data can be generated for a metric of texts.

    Examples
    --------
    >>> from arena.testing.examples import MeanAbsolute
    >>> check_metric(MeanAbsolute()).failed
    ()
    """
    return run_checks(metric.name, _CHECKS, problem or problem_for(metric))


def _scores(problem: MetricProblem) -> FloatArray:
    """Return ``(m,)`` scores, one call each."""
    metric = problem.metric
    return np.array([metric.score(problem.truth, prediction) for prediction in problem.predictions])


_scores_once = lru_cache(maxsize=1)(_scores)
"""For the checks that compare them with something else: a slow metric is called less often."""


def _agree(computed: Any, expected: Any, sentence: str) -> Verdict:
    if np.allclose(computed, expected, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True):
        return _OK
    gap = float(np.nanmax(np.abs(np.asarray(computed) - np.asarray(expected))))
    return Outcome.FAILED, f"{sentence} (largest difference {gap:.3g})."


def _declares(problem: MetricProblem) -> Verdict:
    metric = problem.unbound
    if not isinstance(metric.name, str) or not metric.name:
        return Outcome.FAILED, "name must be a text."
    if not isinstance(metric.greater_is_better, bool):
        return Outcome.FAILED, "greater_is_better must be True or False."
    if not isinstance(metric.prediction, PredictionKind):
        return Outcome.FAILED, "prediction must be a PredictionKind."
    return _OK


def _scores_ordinary_data(problem: MetricProblem) -> Verdict:
    scores = [problem.metric.score(problem.truth, prediction) for prediction in problem.predictions]
    wrong = [score for score in scores if not isinstance(score, float | int | np.floating)]
    if wrong:
        return Outcome.FAILED, f"score must return a number, not {type(wrong[0]).__name__}."
    if not np.isfinite(scores).all():
        return Outcome.FAILED, "score is not finite on ordinary data."
    low, high = traits_of(problem.unbound).score_range
    if min(scores) < low or max(scores) > high:
        return Outcome.FAILED, f"A score is outside the declared score_range [{low:g}, {high:g}]."
    return _OK


def _repeats(problem: MetricProblem) -> Verdict:
    return _agree(_scores(problem), _scores(problem), "The same data twice gave different scores")


def _leaves_its_arguments(problem: MetricProblem) -> Verdict:
    truth, prediction = problem.truth.copy(), problem.predictions[0].copy()
    problem.metric.score(truth, prediction)
    same = (truth == problem.truth).all() and (prediction == problem.predictions[0]).all()
    return _OK if same else (Outcome.FAILED, "score modifies its arguments.")


def _ignores_the_order_of_rows(problem: MetricProblem) -> Verdict:
    order = np.random.default_rng(1).permutation(len(problem.truth))
    sentence = "The score depends on the order of the rows"
    return _agree(_scores(problem.take(order)), _scores_once(problem), sentence)


def _takes_weights(problem: MetricProblem) -> Verdict:
    metric, weight = problem.metric, problem.weights[:, 0]
    prediction = problem.predictions[0]
    try:
        score = metric.score(problem.truth, prediction, weight)
    except TypeError:
        return Outcome.LACKING, "score takes no weight, which users who call it may need."
    return _agree(score, _drawn(problem)[0, 0], "A weight of k is not a row k times")


@lru_cache(maxsize=1)
def _drawn(problem: MetricProblem) -> FloatArray:
    """Return ``(m, B)`` scores with every row repeated as often as its weight says."""
    columns = []
    for weight in problem.weights.T:
        columns.append(_scores(problem.take(np.repeat(np.arange(len(weight)), weight))))
    return np.column_stack(columns)


def _knows_better_from_worse(problem: MetricProblem) -> Verdict:
    kind, truth = problem.unbound.prediction, problem.truth
    if kind is PredictionKind.TEXT or truth.ndim > 1:
        return Outcome.NOT_TRIED, "A perfect submission cannot be constructed for this metric."
    low, high = traits_of(problem.unbound).prediction_range
    perfect = truth if kind is PredictionKind.LABEL else np.clip(truth.astype(float), low, high)
    sign = 1 if problem.unbound.greater_is_better else -1
    best = sign * problem.metric.score(truth, perfect)
    others = sign * _scores_once(problem)
    if best < others.max():
        message = "A perfect submission scores worse than others: is greater_is_better right?"
        return Outcome.FAILED, message
    if best == others.min():
        return Outcome.FAILED, "A perfect submission scores no better than any other."
    return _OK


def _can_be_sent_to_a_process(problem: MetricProblem) -> Verdict:
    try:
        again = pickle.loads(pickle.dumps(problem.unbound))  # noqa: S301 - our own bytes
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin's __reduce__ may raise any error
        return (
            Outcome.FAILED,
            f"It cannot be pickled, as worker processes require: {type_and_text(error)}",
        )
    if again.name != problem.unbound.name:
        return Outcome.FAILED, "Pickling changes its name."
    return _OK


def _row_values(problem: MetricProblem) -> Verdict:
    metric = problem.metric
    if not isinstance(metric, HasRowValues):
        if isinstance(metric, HasResample):
            return Outcome.NOT_TRIED, "It has no row values, but its own resample."
        return Outcome.LACKING, "It has no row values; see 'the cost of a resample'."
    values = metric.row_values(problem.truth, problem.predictions)
    if values.shape != problem.predictions.shape[:2]:
        expected = problem.predictions.shape[:2]
        return Outcome.FAILED, f"row_values must have shape {expected}, not {values.shape}."
    bounds = traits_of(problem.unbound).row_range
    if bounds is not None and (values.min() < bounds[0] or values.max() > bounds[1]):
        return Outcome.FAILED, f"A row value is outside the declared row_range {bounds}."
    alone = np.concatenate(
        [
            metric.row_values(problem.truth, prediction[np.newaxis])
            for prediction in problem.predictions
        ]
    )
    if not np.allclose(values, alone, equal_nan=True):
        return Outcome.FAILED, "The row values of a submission depend on others in the same block."
    sentence = "from_mean of the mean of the row values is not the score"
    return _agree(metric.from_mean(values.mean(axis=1)), _scores_once(problem), sentence)


def _resample(problem: MetricProblem) -> Verdict:
    metric = problem.metric
    if not isinstance(metric, HasResample | HasRowValues):
        return Outcome.NOT_TRIED, "It has neither resample nor row values."
    scores = resample_block(metric, problem.truth, problem.predictions, problem.weights)
    shape = (len(problem.predictions), problem.weights.shape[1])
    if scores.shape != shape:
        return Outcome.FAILED, f"resample must have shape {shape}, not {scores.shape}."
    return _agree(scores, _drawn(problem), "resample differs from the score of the repeated rows")


def _influence(problem: MetricProblem) -> Verdict:
    values = influence_values(problem.metric, problem.truth, problem.predictions)
    if values is None:
        return Outcome.LACKING, (
            "It has no influence values: standard errors, and the step of a Ladder, need "
            "resampling, with 200 calls of score for every pair."
        )
    if values.shape != problem.predictions.shape[:2]:
        expected = problem.predictions.shape[:2]
        return Outcome.FAILED, f"influence_values must have shape {expected}, not {values.shape}."
    if np.abs(values.mean(axis=1)).max() > 1e-6 * max(1.0, float(np.abs(values).max())):
        return Outcome.FAILED, "The influence values of a submission do not sum to 0."
    return _first_order(problem, values)


def _first_order(problem: MetricProblem, values: FloatArray) -> Verdict:
    """Compare with the change of the score when some rows get slightly more weight."""
    n_rows = len(problem.truth)
    chosen = problem.clusters % 2 == 0
    size = 20
    weight = np.where(chosen, size + 1, size).astype(np.uint8)
    repeated = problem.take(np.repeat(np.arange(n_rows), weight))
    change = _scores(repeated) - _scores_once(problem)
    expected = values[:, chosen].sum(axis=1) / weight.sum()
    scale = max(float(np.abs(change).max()), float(np.abs(expected).max()), 1e-12)
    if np.abs(change - expected).max() > 0.15 * scale:
        return Outcome.FAILED, (
            "The influence values do not predict the change of the score when some rows get "
            "slightly more weight: standard errors from them would be wrong."
        )
    return _OK


def _cost(problem: MetricProblem) -> Verdict:
    metric = problem.metric
    if isinstance(metric, HasResample | HasRowValues):
        return Outcome.OK, "It is resampled without a call of score per resample."
    repeats = np.resize(np.arange(len(problem.truth)), _COST_ROWS)
    large = problem.take(np.sort(repeats))
    started = time.perf_counter()
    large.metric.score(large.truth, large.predictions[0])
    seconds = (time.perf_counter() - started) * _COST_CALLS
    workers = available_workers()
    return Outcome.LACKING, (
        f"It is called as a whole, {CALLS} times or on every resample: the {CALLS} calls for 100 "
        f"submissions of {_COST_ROWS:,} rows take about {seconds / workers:,.0f} s on {workers} "
        f"processors. Row values or a resample method would avoid that."
    )


def _few_rows(problem: MetricProblem) -> Verdict:
    """Score a single repeated row, which a resample of few rows may contain."""
    few_rows = problem.take(np.zeros(12, dtype=np.intp))
    try:
        _scores(few_rows)
    except (ValueError, ZeroDivisionError):
        return _OK
    except (Exception, SystemExit) as error:  # noqa: BLE001 - any other error would stop the board
        return Outcome.FAILED, (
            f"Where it is undefined it raised {type(error).__name__}: return NaN or raise "
            f"ValueError, so that the resample is left out."
        )
    return _OK


_CHECKS = (
    ("what it declares", _declares),
    ("ordinary data", _scores_ordinary_data),
    ("the same data twice", _repeats),
    ("its arguments", _leaves_its_arguments),
    ("the order of the rows", _ignores_the_order_of_rows),
    ("better and worse", _knows_better_from_worse),
    ("undefined on few rows", _few_rows),
    ("weights", _takes_weights),
    ("worker processes", _can_be_sent_to_a_process),
    ("row values", _row_values),
    ("resample", _resample),
    ("influence values", _influence),
    ("the cost of a resample", _cost),
)
