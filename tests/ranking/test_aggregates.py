"""Critical differences and aggregates, against a published example and scipy."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import vl_convert
from scipy.stats import friedmanchisquare, norm, t, trim_mean, wilcoxon

from arena.charts import as_altair
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.case_metrics import MeanOfCases
from arena.evaluation.multiplicity import correct_p_values
from arena.evaluation.scores import round_significant
from arena.testing import check_analysis
from arena_ranking.aggregates import Aggregates, aggregate_scores
from arena_ranking.critical_difference import (
    CriticalDifference,
    compare_mean_ranks,
    exact_signed_rank_p_value,
)
from study_boards import study_of

__all__ = ["study_of"]

MEAN, LOSS = (MeanOfCases("mean", greater_is_better=one) for one in (True, False))
DEMSAR = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.9751, 0.975],  # .975 as printed, but before it in the printed ranks
        [0.957, 0.978, 0.946, 0.970],
    ]
).T
"""AUC of C4.5 with and without two parameters tuned, on 14 data sets: Demšar (2006), table 6."""


def test_the_published_example_of_critical_differences() -> None:
    mean_ranks = compare_mean_ranks(DEMSAR, 0.95)
    np.testing.assert_allclose(mean_ranks.mean_ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    k, n = DEMSAR.shape
    untied = 12 * n / (k * (k + 1)) * ((mean_ranks.mean_ranks**2).sum() - k * (k + 1) ** 2 / 4)
    assert untied == pytest.approx(9.28, abs=0.005)  # as printed, without the correction for ties
    assert (mean_ranks.friedman, mean_ranks.p_value) == pytest.approx(
        tuple(friedmanchisquare(*DEMSAR))
    )
    assert mean_ranks.critical_difference == pytest.approx(
        2.569 * np.sqrt(k * (k + 1) / (6 * n)), 1e-4
    )
    assert round(mean_ranks.critical_difference, 2) == 1.25
    # At .10 the paper finds C4.5 to differ from both with m tuned, by 1.143 and 1.179 of 1.12.
    assert compare_mean_ranks(DEMSAR, 0.90).groups(nemenyi=True) == [[3, 1, 2], [2, 0]]


@pytest.mark.parametrize("n", [6, 12, 51])
def test_signed_rank_tests_are_those_of_scipy(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(3, n)) + np.array([[0.0], [0.0], [1.0]])
    how = {"method": "exact"} if n <= 50 else {"method": "asymptotic", "correction": True}
    raw = [wilcoxon(values[j] - values[k], **how).pvalue for j, k in combinations(range(3), 2)]
    adjusted = compare_mean_ranks(values, 0.95).adjusted[np.triu_indices(3, k=1)]
    np.testing.assert_allclose(adjusted, correct_p_values(raw, "holm"))


def test_exact_signed_rank_tests_count_tied_ranks() -> None:
    differences = np.array([0.1, 0.1, -0.1, 0.2, 0.2, 0.3, 0.0])
    ranks = np.array([2, 2, 2, 4.5, 4.5, 6])
    sums = np.array([ranks[list(signs)].sum() for signs in product([False, True], repeat=6)])
    assert exact_signed_rank_p_value(differences) == 2 * (sums >= 19).mean()
    # One of two signs: three of four results are as large, and as many as small.
    assert exact_signed_rank_p_value(np.array([0.1, -0.1])) == 1


def test_groups_are_maximal_runs_in_which_no_pair_differs() -> None:
    mean_ranks = compare_mean_ranks(np.arange(5.0)[:, np.newaxis] + np.zeros(8), 0.95)
    differ = np.ones((5, 5))
    for j, k in ((0, 1), (0, 2), (1, 2), (2, 3)):
        differ[4 - j, 4 - k] = differ[4 - k, 4 - j] = 0.01
    shared = replace(mean_ranks, adjusted=1.01 - differ)  # only these pairs do not differ
    assert shared.groups() == [[4, 3, 2], [2, 1]]


@pytest.mark.parametrize(
    ("analysis", "suits"),
    [
        (
            CriticalDifference(),
            {"cases", "tasks", "19 cases", "20 cases", "three of six", "right or wrong"}
            | {"19 groups", "20 groups"},
        ),
        (Aggregates(), {"cases", "tasks", "two", "20 cases", "20 groups"}),
    ],
)
def test_an_analysis_is_skipped_where_it_has_no_meaning(
    study_of: Any, metrics: Any, analysis: Any, suits: set[str]
) -> None:
    values = np.random.default_rng(0).normal(size=(4, 42))
    cases = study_of(MEAN, np.zeros(42), values)
    rows = study_of(metrics["rmse"], np.zeros(42), values)
    names = tuple("abcdefg")
    studies = {
        "cases": cases,
        "tasks": replace(rows, tasks=np.arange(42) % 7, task_names=names),
        "one task": replace(rows, tasks=np.zeros(42, dtype=np.intp), task_names=names),
        "two": study_of(MEAN, np.zeros(42), values[:2]),
        "few": study_of(MEAN, np.zeros(5), values[:, :5]),
        "19 cases": study_of(MEAN, np.zeros(19), values[:, :19]),
        "20 cases": study_of(MEAN, np.zeros(20), values[:, :20]),
        "19 groups": replace(cases, clusters=np.minimum(np.arange(42), 18)),
        "20 groups": replace(cases, clusters=np.minimum(np.arange(42), 19)),
        "three of six": study_of(MEAN, np.zeros(6), values[:3, :6]),
        "right or wrong": study_of(MEAN, np.zeros(42), np.sign(values)),
        "a task of one case": replace(
            rows, tasks=np.minimum(np.arange(42), 1), task_names=("a", "b")
        ),
        "rows": rows,
        "no values": study_of(metrics["black_box"], np.zeros(42), values > 0),
    }
    assert {name for name, study in studies.items() if analysis.suits(study)} == suits
    assert not check_analysis(analysis, studies["tasks"]).failed
    verdicts = {analysis.run(studies[name], np.random.default_rng(1)).verdict for name in suits}
    assert len(verdicts) == len(suits)


def test_losses_are_the_mirror_image_of_gains(study_of: Any) -> None:
    values = np.random.default_rng(0).normal(size=(4, 30)) + np.arange(4)[:, np.newaxis]
    gains, losses = study_of(MEAN, np.zeros(30), values), study_of(LOSS, np.zeros(30), -values)
    of_gains, of_losses = (
        CriticalDifference().run(study, np.random.default_rng(0)).document
        for study in (gains, losses)
    )
    assert of_gains == of_losses
    of_gains, of_losses = (
        Aggregates().run(study, np.random.default_rng(0)).document for study in (gains, losses)
    )
    np.testing.assert_allclose(of_gains["iqm_low"], -np.array(of_losses["iqm_high"]))
    assert of_gains["improvement"] == of_losses["improvement"]


def test_chances_of_improvement_are_shown_with_their_bounds_within_0_and_1(study_of: Any) -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 30)) - np.array([[0.0], [0.6], [9.0], [1.2]])
    finding = Aggregates().run(study_of(MEAN, np.zeros(30), values), rng)
    document, (first, *others) = finding.document, finding.tables[0].rows
    assert [row[0] for row in (first, *others)] == ["team 0", "team 1", "team 3", "team 2"]
    assert first[4:] == (None, None, None)
    assert others[-1][4:] == (1.0, round_significant(1 - document["improvement_error"], 4), 1.0)
    for j, row in enumerate(others, start=1):
        chance, error = document["improvement"][0][j], document["improvement_error"]
        bounds = np.array([chance, max(chance - error, 0.0), min(chance + error, 1.0)])
        assert row[4:] == tuple(round_significant(bounds, 4).tolist())


def test_so_many_values_are_compared_by_critical_differences(
    study_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(MEAN, np.zeros(42), np.random.default_rng(0).normal(size=(4, 42)))
    for most in (168, 167):
        monkeypatch.setattr("arena_ranking.critical_difference.MOST_VALUES", most)
        assert CriticalDifference().suits(study) is (most == 168)


@pytest.mark.few(2)
@pytest.mark.parametrize("n", [20, 21, 22, 23])
def test_aggregates_of_cases_and_of_resamples(n: int) -> None:
    values = np.random.default_rng(n).normal(size=(3, n)).round(1)
    weights = draw_resamples(n, 50, 0).weights
    aggregates = aggregate_scores(values, weights, 0.95)
    np.testing.assert_allclose(aggregates.iqm, trim_mean(values, 0.25, axis=1))
    resampled = np.array([[trim_mean(np.repeat(v, w), 0.25) for w in weights.T] for v in values])
    # The largest deviation of the three, in standard errors, as that of a t distribution with half
    # of the n - 1 degrees of freedom.
    standard_errors = resampled.std(axis=1, ddof=1)
    largest = (np.abs(resampled.T - aggregates.iqm) / standard_errors).max(axis=1)
    critical = t.isf(norm.sf(np.sort(largest)[47]), (n - 1) / 2)
    np.testing.assert_allclose(
        aggregates.iqm_error, np.sqrt(n / (n - 1)) * critical * standard_errors
    )
    np.testing.assert_allclose(
        aggregates.profiles,
        (values[:, np.newaxis] > aggregates.thresholds[:, np.newaxis]).mean(axis=2),
    )
    wins = np.sign(values[:, np.newaxis] - values) / 2 + 0.5
    np.testing.assert_allclose(aggregates.improvement, wins.mean(axis=2))
    errors = np.abs(wins @ weights / n - aggregates.improvement[..., np.newaxis]).max(axis=(0, 1))
    wider = np.sqrt(n / (n - 1))
    assert aggregates.improvement_error == pytest.approx(wider * np.sort(errors)[47], abs=1e-6)
    above = values[:, np.newaxis] > aggregates.thresholds[:, np.newaxis]
    errors = np.abs(above @ weights / n - aggregates.profiles[..., np.newaxis]).max(axis=(0, 1))
    assert aggregates.profile_error == pytest.approx(wider * np.sort(errors)[47])


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 50])
@pytest.mark.parametrize("metric", [MEAN, LOSS])
def test_every_chart_is_valid_and_names_each_algorithm(study_of: Any, metric: Any, m: int) -> None:
    values = np.random.default_rng(m).normal(size=(m, 30))
    study = study_of(metric, np.zeros(30), values)
    for analysis, most in ((CriticalDifference(), m), (Aggregates(), 3)):
        for chart in analysis.run(study, np.random.default_rng(0)).charts:
            as_altair(chart.specification)
            svg = vl_convert.vegalite_to_svg(dict(chart.specification))
            assert sum(f">team {j}<" in svg for j in range(m)) >= most, chart.name
