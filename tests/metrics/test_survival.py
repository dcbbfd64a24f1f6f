"""The concordance index against its definition, pair by pair."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import MetricError, UsageError
from arena.types import RowContext
from arena_metrics.kernels import interpreted
from arena_metrics.survival import ConcordanceIndex
from kernel_modules import KernelModules
from thinned import examples


def _bound(observed: Any, predicts: str = "risk", **parameters: Any) -> ConcordanceIndex:
    metric = ConcordanceIndex(predicts, **parameters)
    extra = {metric.event: np.asarray(observed, dtype=np.float64)}
    return metric.for_rows(RowContext("id", None, ("time",), ("time",), extra=extra))


def _defined(times: Any, observed: Any, risks: Any, weights: Any) -> tuple[float, float]:
    """Return the weight of the pairs ordered rightly, and of the comparable ones."""
    right = comparable = 0.0
    for i in range(len(times)):
        for j in range(len(times)):
            after = times[j] > times[i] or (times[j] == times[i] and not observed[j])
            if observed[i] and after:
                weight = float(weights[i]) * float(weights[j])
                comparable += weight
                right += weight * ((risks[i] > risks[j]) + 0.5 * (risks[i] == risks[j]))
    return right, comparable


ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 4), st.integers(0, 3)), min_size=1
)


@given(ROWS)
@settings(max_examples=examples(100))
def test_every_pair_counts_as_it_is_defined(rows: Any) -> None:
    times, observed, risks, weights = (np.array(column) for column in zip(*rows, strict=True))
    right, comparable = _defined(times, observed, risks, weights)
    metric = _bound(observed)
    resampled = metric.resample(times, risks[np.newaxis], weights[:, np.newaxis].astype(np.uint8))
    for concordance in (resampled[0, 0], metric.score(times, risks, weights)):
        if comparable:
            assert concordance == right / comparable
        else:
            assert np.isnan(concordance)


@given(rows=ROWS, n_weightings=st.integers(1, 3), whole=st.booleans())
@settings(max_examples=examples(30))
def test_the_kernel_sums_what_plain_numpy_does(
    kernels: KernelModules, rows: Any, n_weightings: int, whole: bool
) -> None:
    times, risks, places, _ = (np.array(column) for column in zip(*rows, strict=True))
    weights = np.random.default_rng(0).gamma(1.0, size=(len(times), n_weightings))
    weights = np.round(3 * weights).astype(np.uint8) if whole else weights
    for name in ("concordance_sums", "concordance_totals"):
        ours, plain = (getattr(functions, name) for functions in (kernels, interpreted))
        np.testing.assert_allclose(
            ours(places, times, weights, risks),
            plain(places, times, weights, risks),
            rtol=0 if whole else 1e-12,
        )


def test_twice_a_large_count_is_exact(kernels: KernelModules) -> None:
    """Of two rows the second one is later and has the higher rank; 32 bits hold less than 2^31."""
    for heavy in (2**30 - 2, 2**30 - 1, 2**30, 2**31):
        weights = np.array([[heavy], [1.0]])
        rows = np.arange(2), np.arange(2), weights, np.array([False, True])
        for functions in (kernels, interpreted):
            assert functions.concordance_sums(*rows).tolist() == [[0.0], [2.0 * heavy]]
    counts = np.full((2, 1), 2**15, np.uint32)
    for functions in (kernels, interpreted):
        assert functions.concordance_totals(*rows[:2], counts, rows[3]).tolist() == [2.0**31]


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(2)
    times, observed = np.round(rng.exponential(size=70), 1), rng.random(70) < 0.6
    risks = np.round(rng.normal(size=(2, 70)) - times, 1)
    weights = rng.poisson(1.0, (70, 4)).astype(np.uint8)
    scores = _bound(observed).resample(times, risks, weights)
    for b in range(4):
        rows = np.repeat(np.arange(70), weights[:, b])
        metric = _bound(observed[rows])
        for j in range(2):
            assert scores[j, b] == metric.score(times[rows], risks[j, rows])


def test_a_larger_risk_is_an_earlier_event_and_a_larger_time_a_later_one() -> None:
    times, observed = np.array([1.0, 2.0, 3.0]), np.array([True, False, True])
    assert _bound(observed).score(times, np.array([3.0, 2.0, 1.0])) == 1.0
    assert _bound(observed, predicts="time").score(times, times) == 1.0
    assert _bound(observed, predicts="time").score(times, -times) == 0.0


def test_a_censored_time_is_not_compared_with_a_later_one() -> None:
    times, risks = np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    assert _bound([False, True, True]).score(times, risks) == 1.0
    assert _bound([True, True, True]).score(times, risks) == pytest.approx(1 / 3)


def test_influence_values_follow_the_jackknife() -> None:
    rng = np.random.default_rng(3)
    n = 300
    times, observed = np.round(rng.exponential(size=n), 2), rng.random(n) < 0.6
    risks = np.round(rng.normal(size=(1, n)) - times, 1)
    metric = _bound(observed)
    values = metric.influence_values(times, risks)[0]
    without = np.ones((n, n), np.uint8) - np.eye(n, dtype=np.uint8)
    scores = metric.resample(times, risks, without)[0]
    jackknife = (n - 1) * (scores.mean() - scores)
    assert abs(values.mean()) < 1e-12
    assert np.corrcoef(values, jackknife)[0, 1] > 0.999
    assert values.std() == pytest.approx(jackknife.std(), rel=0.02)


def test_where_nothing_is_comparable_everything_is_undefined() -> None:
    metric, times = _bound([False, False]), np.array([1.0, 2.0])
    assert np.isnan(metric.score(times, times))
    assert np.isnan(metric.score(times, times, np.zeros(2)))
    assert np.isnan(metric.influence_values(times, times[np.newaxis])).all()


def test_a_column_of_events_is_checked() -> None:
    with pytest.raises(MetricError, match="0 .time censored"):
        _bound([0, 2])
    context = RowContext("id", None, ("time",), ("time",))
    with pytest.raises(MetricError, match="'died'"):
        ConcordanceIndex(event="died").for_rows(context)
    everything = ConcordanceIndex().for_rows(context)
    assert everything.score(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 1.0
    assert _bound([1, 0], event="died").traits.extra_columns == ("died",)


def test_a_parameter_that_it_has_not_is_refused() -> None:
    with pytest.raises(UsageError, match="Choose time or risk"):
        dataclasses.replace(ConcordanceIndex(), predicts="death")
