"""The analysis `ranks` on whole studies."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest

import arena_ranking
from arena.errors import UsageError
from arena.evaluation.case_metrics import MeanOfCases, MedianOfCases
from arena.interfaces import Analysis, Ranker, SuitsStudies
from arena.utils.tabular import as_json
from arena_ranking.analysis import Ranks, prizes_of_teams
from arena_ranking.ranker import SimultaneousRanks
from kept import check_kept_document, with_short_curves

COLUMNS = [
    "bootstrap_rank_low",
    "bootstrap_rank_high",
    "rank_median",
    "win_rate",
    "prize_share",
]
RNG = np.random.default_rng(0)


@pytest.fixture(params=["accuracy", "rmse", "black_box"])
def parts(request, metrics, correlated_labels):
    """A metric, truth and predictions of 12 submissions, the third and the last the same."""
    truth, predictions = correlated_labels(
        np.random.default_rng(0), np.linspace(0.75, 0.95, 12), 500
    )
    predictions[11] = predictions[2]
    if request.param == "rmse":
        truth, predictions = truth.astype(float), predictions * 0.8
    return metrics[request.param], truth, predictions


def test_the_plugin_provides_analyses_and_a_ranker():
    analyses, (ranker,) = arena_ranking.provide_analyses(), arena_ranking.provide_rankers()
    assert all(isinstance(analysis, Analysis) for analysis in analyses)
    assert isinstance(ranker.load(), Ranker)
    names = ["ranks", "total-failures", "task-critical-difference", "task-aggregates"]
    assert [analysis.name for analysis in analyses] == names
    assert ranker.name == "simultaneous"
    assert ranker.load().ties is False


@pytest.mark.slow
def test_importing_the_plugin_imports_no_mathematics():
    code = "import sys, arena_ranking; print([m for m in ('scipy', 'numba') if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=900
    )
    assert done.stdout.strip() == "[]"


def test_a_finding_has_every_column_in_plain_numbers(study_of, parts):
    study = study_of(*parts)
    finding = Ranks().run(study, RNG)
    assert list(finding.columns) == COLUMNS
    for values in (finding.columns | SimultaneousRanks().rank(study).columns()).values():
        assert len(values) == 12
        assert {type(value) for value in values} <= {int, float, bool}
    json.dumps(finding.document, allow_nan=False)
    json.dumps([table.rows for table in finding.tables], allow_nan=False)
    assert all(len(row) == len(t.columns) for t in finding.tables for row in t.rows)
    assert finding.verdict.endswith("(95% confidence).")
    text = finding.verdict + str(finding.tables)
    assert not any(word in text for word in ("bootstrap", "resample", "p-value", "equal"))


def test_the_columns_agree_with_each_other(study_of, parts):
    study = study_of(*parts)
    columns = SimultaneousRanks().rank(study).columns() | Ranks().run(study, RNG).columns
    arrays = {name: np.array(values) for name, values in columns.items()}
    assert (arrays["rank_low"] <= arrays["rank_high"]).all()
    assert (arrays["bootstrap_rank_low"] <= arrays["rank_median"]).all()
    assert (arrays["rank_median"] <= arrays["bootstrap_rank_high"]).all()
    assert arrays["prize_share"].sum() == pytest.approx(1)
    assert (arrays["prize_share"] <= arrays["win_rate"] + 1e-9).all()
    best = np.argmax(study.scores if study.metric.greater_is_better else -study.scores)
    assert arrays["tier"][best] == arrays["rank_low"][best] == 1
    assert arrays["tier"].max() > 1


def test_identical_submissions_have_one_of_everything(study_of, parts):
    study = study_of(*parts)
    finding = Ranks().run(study, RNG)
    for name, values in (finding.columns | SimultaneousRanks().rank(study).columns()).items():
        assert values[2] == values[11], name
    assert any({3, 12} <= set(group) for group in finding.document["near_copies"])


@pytest.mark.slow
def test_the_order_of_the_submissions_does_not_matter(study_of, parts):
    metric, truth, predictions = parts
    order = np.random.default_rng(1).permutation(12)
    studies = study_of(metric, truth, predictions), study_of(metric, truth, predictions[order])
    in_order, reordered = (Ranks().run(study, RNG) for study in studies)
    assert in_order.verdict == reordered.verdict
    sets, others = (SimultaneousRanks().rank(study).columns() for study in studies)
    for name, values in (in_order.columns | sets).items():
        again = (reordered.columns | others)[name]
        np.testing.assert_allclose(np.array(values)[order], again, rtol=1e-11)


def test_the_same_study_gives_the_same_finding(study_of, parts, monkeypatch):
    study = study_of(*parts)
    finding = Ranks().run(study, np.random.default_rng(0))
    for workers in (1, 2):
        monkeypatch.setattr(
            "arena_ranking.analysis.available_workers", lambda workers=workers: workers
        )
        assert Ranks().run(study, np.random.default_rng(9)) == finding


@pytest.mark.slow
def test_the_compiled_path_gives_the_same_finding(study_of, parts, monkeypatch):
    study = study_of(*parts)
    finding = Ranks().run(study, RNG)
    monkeypatch.setattr("arena_ranking.max_statistics.COMPILE_ABOVE", 0)
    assert Ranks().run(study, RNG) == finding


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_tiny_boards(study_of, metrics, m, n):
    predictions = np.zeros((m, n), dtype=np.intp)
    predictions[:, 0] = np.arange(m)
    study = study_of(metrics["accuracy"], np.zeros(n, dtype=np.intp), predictions)
    sets, finding = SimultaneousRanks().rank(study), Ranks().run(study, RNG)
    assert (sets.low.tolist(), sets.high.tolist()) == ([1] * m, [m] * m)
    assert (finding.document["paired_tests"] is None) == (m == 1 or n == 1)


def test_an_empty_board_is_refused(study_of, metrics):
    study = study_of(metrics["accuracy"], np.zeros(3, dtype=int), np.zeros((1, 3), dtype=int))
    empty = type(study)(
        metric=study.metric,
        truth=study.truth,
        teams=(),
        submissions=study.submissions[:0],
        predictions=study.predictions,
        scores=study.scores[:0],
        resampled=study.resampled[:0],
        level=0.9,
    )
    with pytest.raises(UsageError, match="no submission to rank"):
        Ranks().run(empty, RNG)


def test_one_team_with_several_submissions_has_one_prize(study_of, parts):
    metric, truth, predictions = parts
    study = study_of(metric, truth, predictions, teams=("a",) * 6 + ("b",) * 6)
    prizes = Ranks().run(study, RNG).document["prizes"]
    assert {prize["team"] for prize in prizes} <= {"a", "b"}
    assert sum(prize["share"] for prize in prizes) == pytest.approx(1)


def test_prizes_are_of_teams_the_largest_first_and_equal_ones_by_name():
    teams, shares = ("b", "d", "a", "b", "c"), np.array([0.125, 0.5, 0.25, 0.125, 0.0])
    assert prizes_of_teams(teams, shares) == [
        {"team": "d", "share": 0.5}, {"team": "a", "share": 0.25}, {"team": "b", "share": 0.25}
    ]  # fmt: skip


def test_paired_tests_are_of_the_first_against_all_pairs(study_of, parts):
    metric, truth, predictions = parts
    study = study_of(metric, truth, predictions)
    document = Ranks().run(study, RNG).document["paired_tests"]
    best = np.argmax(study.scores if metric.greater_is_better else -study.scores)
    assert document["top"] == study.submissions[best]
    assert document["comparisons"] == 66
    assert len(document["tests"]) == 11
    for test in document["tests"]:
        other = list(study.submissions).index(test["submission"])
        assert test["difference"] == pytest.approx(study.scores[best] - study.scores[other])
        assert test["raw"] <= test["benjamini_hochberg"] <= test["holm"] <= test["bonferroni"] <= 1


def test_findings_of_small_boards_are_kept(study_of, metrics):
    rng, gains = np.random.default_rng(0), MeanOfCases("mean", greater_is_better=True)
    shares = np.clip(rng.uniform(0.5, 0.9, (12, 24)) - np.arange(12)[:, np.newaxis] / 30, 0, 1)
    shares[[0, 1, 1], [3, 3, 5]] = 0.0  # complete failures
    share = MeanOfCases("share", greater_is_better=True, value_range=(0.0, 1.0))
    tasks = study_of(metrics["rmse"], np.zeros(24), shares[:4] + 1)
    boards = {
        "twelve teams": study_of(share, np.zeros(24), shares, resamples=40),
        "losses in groups": study_of(
            metrics["rmse"], np.zeros(40), rng.normal(size=(3, 40)), clusters=np.arange(40) % 20,
            resamples=40,
        ),
        "tasks": replace(tasks, tasks=np.arange(24) % 6, task_names=tuple("uvwxyz"), level=0.9),
        "equal scores": study_of(gains, np.zeros(24), np.tile(shares[0], (3, 1)), resamples=40),
    }  # fmt: skip
    others = {
        "medians": study_of(
            MedianOfCases("median", greater_is_better=False),
            np.zeros(24),
            1 - shares[[0, 5, 11, 0]],
            resamples=40,
        ),
        "few of a class": replace(
            study_of(metrics["black_box"], np.arange(24) // 19, shares[:3] > 0.7, resamples=40),
            classes=("no", "yes"),
        ),
    }
    findings = {
        f"{analysis.name}, {name}": asdict(analysis.run(study, np.random.default_rng(1)))
        for analysis in arena_ranking.provide_analyses()
        for name, study in boards.items()
        if not isinstance(analysis, SuitsStudies) or analysis.suits(study)
    }
    for name, finding in findings.items():
        if "tasks" not in name:
            finding["charts"] = [chart["description"] for chart in finding["charts"]]
    ranks = {name: SimultaneousRanks().rank(study) for name, study in (boards | others).items()}
    ranks["tasks, ties"] = SimultaneousRanks(ties=True).rank(boards["tasks"])
    findings |= {f"simultaneous, {name}": asdict(of_board) for name, of_board in ranks.items()}
    check_kept_document("ranking-findings", with_short_curves(as_json(findings)))
