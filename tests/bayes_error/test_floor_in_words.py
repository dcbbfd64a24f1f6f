"""What the floor of a board is told as: verdict, sections and picture, and what they weigh."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from arena_bayes_error.analysis import BayesError
from arena_bayes_error.output import named
from arena_bayes_error.sections import floor_sections
from floor_study import study_of

N = 400


def found(*, metric="accuracy", surer=False, swapped=False, leak=True, **more):
    """Return the finding, its sections, and the study, of a good team, a bad one and a leak."""
    rng = np.random.default_rng(0)
    soft = rng.beta(0.6, 0.6, N)
    likeliest = (soft > 0.5).astype(int)
    truth = likeliest if surer else (rng.random(N) < soft).astype(int)
    worse = np.where(rng.random(N) < 0.2, 1 - likeliest, likeliest)
    predictions = np.array([worse, likeliest, *([truth] if leak else [])])
    study = study_of(metric, 1 - soft if swapped else soft, truth, predictions, **more)
    finding = BayesError().run(study, np.random.default_rng(1))
    return finding, list(floor_sections(SimpleNamespace(findings=[finding], study=study))), study


def test_the_verdict_tells_the_floor_the_headroom_and_the_flags():
    finding, sections, _ = found()
    assert finding.verdict.startswith("By the soft labels, the lowest possible error rate on rows ")
    assert "against the soft labels, the best team (team 1) is 0.00% of the rows" in finding.verdict
    assert finding.verdict.endswith("1 team has implausibly few errors against the labels: team 2.")
    floor = dict(sections[0].tables[0].rows)
    assert floor["best accuracy on the leaderboard"] == "1 (team 2)"
    assert "headroom of the best team against the soft labels (team 1)" in floor
    section, method = sections
    assert "the labels are not more certain than the annotators" in section.text
    assert not section.public
    assert method.technical
    assert "Poisson-binomial" in method.text
    assert "Poisson" not in section.text
    assert section.tables[1].rows[0][0] == "team 2"  # the fewest errors first
    assert section.tables[1].rows[0][-1] == "implausibly few errors"


def test_labels_that_are_surer_than_the_annotators_may_be_all_that_a_flag_says():
    finding, (section, _), _ = found(surer=True, leak=False)
    assert finding.document["labels"]["differing"] == 0
    assert finding.document["labels"]["p_so_few"] < 1e-6
    flagged = [
        submission["team"]
        for submission in finding.document["submissions"]
        if submission["flagged"]
    ]
    assert "team 1" in flagged
    assert "which alone may explain why a team has so few errors" in section.text


def test_soft_labels_of_the_other_class_are_told():
    finding, _, study = found(swapped=True, leak=False)
    differing = np.mean((study.soft_labels > 0.5) != study.truth)
    expected = np.minimum(study.soft_labels, 1 - study.soft_labels).mean()
    assert finding.verdict.endswith(
        f". But the soft labels do not fit the labels: {differing:.2%} of labels are not the "
        f"likeliest class of their row, and {expected:.2%} were expected. Check whether the "
        "columns belong to the other class or to other rows before you use these results."
    )
    assert "do not fit" not in found()[0].verdict


def test_the_points_of_the_picture_differ_by_shape_and_the_flagged_stand_first():
    _, (section, _), _ = found()
    (chart,) = section.charts
    band, line, *points = chart.specification["layer"]
    assert band["mark"]["type"] == "rect"
    assert line["encoding"]["x"]["field"] == "at"
    for layer in points:
        assert layer["encoding"]["shape"]["scale"]["range"][:2] == ["circle", "diamond"]
        assert layer["encoding"]["x"]["axis"]["format"] == ".2~%"
        assert layer["encoding"]["x"]["scale"] == {"zero": True}
    labels = next(
        point for point in points if point["data"]["values"][0]["what"].endswith("the labels")
    )
    assert [row["team"] for row in labels["data"]["values"]] == ["team 2", "team 1", "team 0"]


def test_groups_are_counted_and_said():
    clusters = np.arange(N) // 4
    finding, (_, method), _ = found(clusters=clusters)
    alone = found()[0].document
    assert finding.document["floor"]["n_clusters"] == N // 4
    assert finding.document["floor"]["estimate"] == alone["floor"]["estimate"]
    assert finding.document["floor"]["standard_error"] != alone["floor"]["standard_error"]
    assert "groups of rows, not the rows" in method.text
    assert "any dependence within groups" in method.text
    leak = [submission["probability"] for submission in finding.document["submissions"]]
    plain = [submission["probability"] for submission in alone["submissions"]]
    assert all(a >= b for a, b in zip(leak, plain, strict=True))


def test_a_metric_without_classes_has_a_floor_and_no_errors():
    finding, (section, _), _ = found(metric="roc_auc")
    assert finding.document["submissions"] == []
    assert finding.document["metric_floor"]["metric"] == "roc_auc"
    assert section.charts == ()
    values = dict(section.tables[0].rows)
    assert float(values["best possible roc_auc"]) < 1
    assert values["best roc_auc on the leaderboard"] == "1 (team 2)"
    assert "headroom" not in section.text
    assert "teams are not checked against it" in finding.verdict
    assert "1 (team 2), is above the best possible 0.8" in finding.verdict
    assert "is no better than the best possible" in found(metric="roc_auc", leak=False)[0].verdict


def test_suspects_are_named_harmlessly_and_the_first_few():
    assert named(["a\x1b[31m", *"bcdefg"]) == "a\\x1b[31m, b, c, d, e and 2 more"


@pytest.mark.parametrize("clusters", [None, np.zeros(N, dtype=np.intp)])
def test_what_suits_the_analysis(clusters):
    study = found()[2]
    suits = BayesError().suits(study_of("accuracy", study.soft_labels, clusters=clusters))
    assert suits == (clusters is None)
    assert not BayesError().suits(study_of("accuracy", np.array([0.5])))
