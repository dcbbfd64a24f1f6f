"""Dependence from stored predictions, the analysis and its sections."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena.evaluation.bootstrap import draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, score_under_weights
from arena.interfaces import Study
from arena.types import PredictionKind
from arena_metrics.pointwise import Accuracy
from arena_metrics.ranking import AveragePrecision, RocAuc
from arena_metrics.regression import RootMeanSquaredError
from arena_sota import dependence_estimate, provide_analyses, provide_report_sections
from arena_sota import study as board_study
from arena_sota.analysis import Sota
from arena_sota.dependence_estimate import ClassRanks, auc_dependence, estimate_dependence
from arena_sota.study import number_of_simulations
from kept import check_kept_document


def right_rows(rng, m, n, rho0, theta=0.8, theta0=0.8):
    from arena_sota.dependence import conditional_probabilities

    chances = conditional_probabilities(np.array([theta]), rho0, theta0)
    easy = rng.random(n) < theta0
    return rng.random((m, n)) < np.where(easy, chances[0], chances[1])


def dependence_of_aucs(truth, scores):
    ranks = ClassRanks(truth, len(scores))
    ranks.put(0, scores)
    return auc_dependence(ranks)


def test_rho0_is_found_and_its_interval_covers():
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(60):
        dependence = estimate_dependence(right_rows(rng, 20, 800, 0.6))
        covered += dependence.rho0_interval[0] <= 0.6 <= dependence.rho0_interval[1]
    assert covered >= 52
    assert dependence.rho0 == pytest.approx(0.6, abs=0.08)


def test_copies_do_not_raise_the_correlation():
    rng = np.random.default_rng(1)
    families = right_rows(rng, 50, 1500, 0.775)
    copies = np.repeat(families[:1], 200, axis=0) ^ (rng.random((200, 1500)) < 0.002)
    correct = np.concatenate([families, copies])
    dependence = estimate_dependence(correct)
    assert dependence.n_clusters == 50
    assert dependence.rho_pair == pytest.approx(0.60, abs=0.05)
    assert np.corrcoef(correct)[np.triu_indices(250, 1)].mean() > 0.80


def test_blocks_and_constant_submissions():
    rng = np.random.default_rng(2)
    rows = right_rows(rng, 600, 60, 0.3)
    rows[[3, 590]] = True
    dependence = estimate_dependence(rows)
    assert dependence.clusters[3] == dependence.clusters[590]
    assert dependence.clusters[0] == 0


def test_groups_of_rows_widen_the_interval():
    rng = np.random.default_rng(3)
    correct = np.repeat(right_rows(rng, 10, 200, 0.6), 5, axis=1)
    alone = estimate_dependence(correct)
    grouped = estimate_dependence(correct, groups=np.repeat(np.arange(200), 5))
    width = [end[1] - end[0] for end in (alone.rho_pair_interval, grouped.rho_pair_interval)]
    assert width[1] > 2 * width[0]


def test_auc_dependence_is_within_classes():
    rng = np.random.default_rng(4)
    truth = np.arange(2000) < 400
    common, own = rng.normal(size=2000), rng.normal(size=(15, 2000))
    scores = 1.5 * truth + 0.5**0.5 * common + 0.5**0.5 * own
    dependence = dependence_of_aucs(truth, np.concatenate([scores, scores[:2] * 2 + 1]))
    assert dependence.rho_pair == pytest.approx(0.5, abs=0.04)
    assert dependence.n_clusters == 15


def test_copies_in_both_classes_are_found_in_any_blocks(monkeypatch):
    """A copy in one class only is none; blocks without a pair in the first class are left out."""
    rng = np.random.default_rng(3)
    truth, scores = np.arange(400) < 150, rng.normal(size=(40, 400))
    scores[31] = scores[2] + 0.01 * rng.normal(size=400)
    scores[37] = scores[5]
    scores[20, truth] = scores[9, truth]
    scores[22, ~truth] = scores[8, ~truth]
    expected = np.arange(40)
    expected[[31, 37]] = 2, 5
    for size in (4, 512):
        monkeypatch.setattr("arena_sota.dependence_estimate.BLOCK", size)
        dependence = dependence_of_aucs(truth, scores)
        first = dependence.representatives[dependence.clusters]
        np.testing.assert_array_equal(first, expected)


def test_bad_input():
    for shape in ((2, 1), (0, 2), (2,)):
        with pytest.raises(UsageError, match="at least one submission and two rows"):
            estimate_dependence(np.ones(shape, dtype=bool))
    assert estimate_dependence(np.ones((1, 2), dtype=bool)).n_clusters == 1
    two_positives, one_positive = np.array([1, 0, 1, 0], bool), np.array([1, 0, 0], bool)
    for truth in (one_positive, ~one_positive):
        with pytest.raises(UsageError, match=r"^Rank correlations need at least two rows of each"):
            ClassRanks(truth, 1)
    assert [ranks.shape for ranks in ClassRanks(two_positives, 1).doubled] == [(1, 2), (1, 2)]
    with pytest.raises(UsageError):
        estimate_dependence(np.ones((2, 5), dtype=bool), level=2)


class ErrorRate(Accuracy):
    """The share of wrong rows."""

    greater_is_better = False

    def row_values(self, truth: Any, predictions: Any) -> Any:
        return 1.0 - super().row_values(truth, predictions)


class HalfErrors(ErrorRate):
    """Every error counts by half."""

    def row_values(self, truth: Any, predictions: Any) -> Any:
        return super().row_values(truth, predictions) / 2


def make_study(metric: Any, truth: Any, predictions: Any, classes: Any) -> Study:
    held = ArrayPredictions(predictions)
    weights = draw_resamples(len(truth), 100, 0, required=truth if classes else None).weights
    return Study(
        metric=metric,
        truth=truth,
        teams=tuple(f"t{j}" for j in range(len(predictions))),
        submissions=np.arange(1, len(predictions) + 1),
        predictions=held,
        scores=full_scores(metric, truth, held),
        resampled=score_under_weights(metric, truth, held, weights),
        level=0.95,
        classes=classes,
    )


def accuracy_study(m=40, n=600) -> Study:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 2, n)
    predictions = np.where(right_rows(rng, m, n, 0.5), truth, 1 - truth)
    return make_study(Accuracy(), truth, np.concatenate([predictions, predictions[:1]]), ("a", "b"))


def run(study: Study) -> Any:
    return Sota().run(study, np.random.default_rng(0))


def test_only_counts_of_right_rows_and_areas_under_the_curve_have_a_model():
    rng = np.random.default_rng(5)
    truth, classes = np.arange(40) % 2, ("a", "b")
    predictions = np.where(rng.random((5, 40)) < 0.75, truth, 1 - truth)
    ranked = truth + rng.normal(size=(4, 40)).round(1)
    for metric in (Accuracy(), ErrorRate()):
        right = board_study.right_rows(make_study(metric, truth, predictions, classes))
        assert right is not None
        assert (right == (predictions == truth)).all()
    for metric, sent, labels in (
        (HalfErrors(), predictions, truth),
        (AveragePrecision(), ranked, truth),
        (RocAuc(), ranked, np.arange(40) // 39),
        (RocAuc(), ranked, 1 - np.arange(40) // 39),
    ):
        assert board_study.best_of_study(make_study(metric, labels, sent, classes), rng) is None


TRUTH = np.arange(40) % 2
"""Forty rows: what is drawn, counted and said, and of which boards there is no model."""


def small_board(metric: Any = None, truth: Any = TRUTH, classes: Any = ("a", "b")) -> Study:
    """Return a board of five submissions, the last two alike, or of four that are ranked."""
    rng = np.random.default_rng(5)
    predictions = np.where(rng.random((5, 40)) < 0.75, TRUTH, 1 - TRUTH)
    predictions[4] = predictions[3]
    if metric is None or metric.prediction is PredictionKind.LABEL:
        return make_study(metric or Accuracy(), truth, predictions, classes)
    ranked = TRUTH + rng.normal(size=(4, 40)).round(1) + rng.normal(size=40).round(1)
    return make_study(metric, truth, ranked, classes)


def check_analyses(name: str, boards: dict[str, Study]) -> None:
    documents = {}
    for board_name, study in boards.items():
        finding = run(study)
        sections = provide_report_sections(SimpleNamespace(findings=(finding,), seed=0))
        texts = [[section.title, section.text] for section in sections]
        documents[board_name] = {"verdict": finding.verdict, "document": finding.document}
        documents[board_name]["sections"] = texts
    check_kept_document(name, documents)


def test_analyses_of_small_boards_are_kept():
    board = small_board()
    check_analyses(
        "sota-analysis",
        {
            "accuracies of groups": replace(board, clusters=np.arange(40) // 4),
            "half errors": small_board(HalfErrors()),
            "areas": small_board(RocAuc()),
            "average precisions": small_board(AveragePrecision()),
            "areas of one positive row": small_board(RocAuc(), np.arange(40) // 39),
            "one submission": make_study(Accuracy(), TRUTH, TRUTH[np.newaxis], ("a", "b")),
            "worse than guessing": small_board(Accuracy(), 1 - TRUTH),
            "errors": small_board(RootMeanSquaredError(), TRUTH * 1.0, None),
        },
    )


@pytest.mark.slow
def test_analyses_of_accuracies_are_kept():
    board = small_board()
    check_analyses(
        "sota-analysis-of-accuracies",
        {
            "accuracies": board,
            "accuracies of one class": replace(board, classes=None),
            "accuracies of three classes": replace(board, classes=("a", "b", "c")),
            "error rates": small_board(ErrorRate()),
        },
    )


@pytest.mark.slow
def test_the_analysis_of_an_accuracy_board():
    study = accuracy_study()
    finding = run(study)
    document = finding.document
    assert document["model"] == "accuracy"
    assert (document["submissions"], document["clusters"]) == (41, 40)
    assert document["n_teams"] == 40
    assert document["sota"] < document["observed_maximum"]
    assert abs(document["sota"] - 0.8) < abs(document["observed_maximum"] - 0.8)
    assert finding.verdict.startswith("The model of selection counts 40 of 41 scores")
    assert f"{document['sota']:.4f}" not in finding.verdict
    assert finding.verdict.endswith("1 near-duplicate is left out.")
    assert document == run(study).document


def test_an_auc_board_is_simulated_less_often_the_larger_it_is():
    # So that 20,000,000 scores of the rarer class are drawn, of which 512 rows count at most.
    for clusters, rare, repetitions in (
        (10, 5, 200), (400, 400, 125), (400, 600, 97), (400, 512, 97), (9_000, 60, 40),
    ):  # fmt: skip
        for positive in (np.arange(2_000) < rare, np.arange(2_000) >= rare):
            assert number_of_simulations(clusters, positive) == repetitions


@pytest.mark.slow
def test_the_analysis_of_an_auc_board():
    rng = np.random.default_rng(6)
    truth = (np.arange(400) < 60).astype(np.intp)
    scores = 1.5 * truth + rng.normal(size=(25, 400)) + rng.normal(size=400)
    finding = run(make_study(RocAuc(), truth, scores, ("no", "yes")))
    assert finding.document["model"] == "roc_auc"
    assert finding.document["rho_pair"] == pytest.approx(0.5, abs=0.1)
    assert finding.document["sota"] < finding.document["observed_maximum"]
    sections = list(provide_report_sections(SimpleNamespace(findings=(finding,), seed=0)))
    assert len(sections[0].charts) == 2


def test_the_analysis_of_any_other_metric():
    rng = np.random.default_rng(7)
    truth = rng.normal(size=200)
    predictions = truth + rng.normal(size=(10, 200))
    finding = run(make_study(RootMeanSquaredError(), truth, predictions, None))
    assert finding.document["model"] is None
    assert finding.verdict == "The best score is corrected for selection by the rows alone."
    (section,) = provide_report_sections(SimpleNamespace(findings=(finding,)))
    assert section.text == finding.verdict


def test_a_single_submission_is_no_error():
    study = accuracy_study()
    alone = make_study(
        Accuracy(), study.truth, study.predictions.subset(np.array([0])).values, ("a", "b")
    )
    assert run(alone).document["model"] is None


def test_sections_and_charts():
    finding = run(accuracy_study(m=12, n=120))
    first, method = provide_report_sections(SimpleNamespace(findings=(finding,), seed=3))
    assert first.text.startswith(finding.verdict)
    assert not any(word in first.text for word in ("bootstrap", "resample", "p-value"))
    assert method.technical
    assert not first.public
    names = [chart.name for chart in first.charts]
    assert names == ["scores-and-worth", "another-board", "best-score-by-luck"]
    labels = first.charts[0].specification["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert labels == [  # the best estimate is not marked
        "scores on the leaderboard",
        "estimated true performances",
        "best score on the leaderboard",
    ]
    assert list(provide_report_sections(SimpleNamespace(findings=()))) == []
    estimate = finding.details.estimate
    few = estimate.observed[:10]
    for performances, observed, names_of_charts in (
        (estimate.performances, few[:9], names[2:]),  # too few for a histogram
        (few + 0.01, few, names),
        (few + 0.9e-9, few, names[1:]),  # nothing was shrunk
        (few[:9], few, names),
    ):
        changed = replace(estimate, performances=performances, observed=observed)
        other = replace(finding, details=replace(finding.details, estimate=changed))
        section, _ = provide_report_sections(SimpleNamespace(findings=(other,), seed=3))
        assert [chart.name for chart in section.charts] == names_of_charts


@pytest.mark.slow
def test_charts_are_valid_vega_lite():
    import altair as alt

    finding = run(accuracy_study())
    for section in provide_report_sections(SimpleNamespace(findings=(finding,), seed=3)):
        for chart in section.charts:
            alt.LayerChart.from_dict({**chart.specification})


def test_the_hook_provides_the_analysis():
    assert [analysis.name for analysis in provide_analyses()] == ["sota"]


def test_blocks_do_not_change_the_estimates(monkeypatch):
    rng = np.random.default_rng(8)
    truth, common = np.arange(1_003) % 3 == 0, rng.normal(size=1_003)
    scores = 0.7 * common + rng.normal(size=(21, 1_003)) + truth
    scores[1], scores[2], scores[3] = scores[0], 1.0, np.round(scores[3], 1)
    clusters = np.arange(1_003) // 7
    whole = [dependence_of_aucs(truth, scores), estimate_dependence(scores > 0)]
    whole.append(estimate_dependence(scores > 0, groups=clusters))
    monkeypatch.setattr("arena_sota.dependence_estimate.CELLS", 2**10)
    monkeypatch.setattr("arena_sota.dependence_estimate.CORRELATED_AT_ONCE", 2**13)
    parts = [dependence_of_aucs(truth, scores), estimate_dependence(scores > 0)]
    parts.append(estimate_dependence(scores > 0, groups=clusters))
    for expected, actual in zip(whole, parts, strict=True):
        assert actual.clusters.tolist() == expected.clusters.tolist()
        assert actual.rho_pair == pytest.approx(expected.rho_pair, rel=1e-13)
        assert actual.rho_pair_interval == pytest.approx(expected.rho_pair_interval, rel=1e-13)


def test_copies_are_found_from_a_part_of_the_rows(monkeypatch):
    """Pairs that are left out early are not copies; close to the limit nothing is left out."""
    rng = np.random.default_rng(0)
    n = 2_400
    scores = np.sqrt(0.6) * rng.normal(size=n) + np.sqrt(0.4) * rng.normal(size=(60, n))
    for number in range(30, 60):  # correlated .90 to 1 with another
        scores[number] = scores[number - 30] + 0.015 * (number - 30) * rng.normal(size=n)
    truth = np.arange(n) % 5 == 0
    monkeypatch.setattr(dependence_estimate, "BLOCK", 16)
    whole, part = [], []
    for fewest, found in ((10**9, whole), (1, part)):
        monkeypatch.setattr(dependence_estimate, "FEWEST_ROWS", fewest)
        found += [dependence_of_aucs(truth, scores).clusters.tolist()]
        found += [estimate_dependence(scores > 0.3).clusters.tolist()]
    assert whole == part
    assert all(30 < len(set(clusters)) < 60 for clusters in part)
