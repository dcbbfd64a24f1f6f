"""The paper on the Bayes error, in sizes that a test can bear."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arena.interfaces import PaperOptions
from arena.utils.parallel import NoProgress
from arena_bayes_error import paper
from kept import check_kept_document, check_kept_reproduction

DATA = Path(__file__).parents[3] / "shared" / "data" / "soft-labels"


def test_rows_are_drawn_equally_of_both_classes() -> None:
    rng = np.random.default_rng(0)
    for setup in "AD":
        sample = paper.draw(setup, 500, rng)
        assert len(sample.points) == len(sample.soft) == 1_000
        assert sample.labels.tolist() == [1] * 500 + [0] * 500
        np.testing.assert_array_equal(sample.soft[:500], sample.positive)
        assert sample.soft[:500].mean() > 0.8
        assert sample.soft[500:].mean() < 0.2


def test_baselines_are_near_the_truth_and_left_out_of_the_smallest_sizes() -> None:
    rng = np.random.default_rng(0)
    assert np.isnan(list(paper.baselines(paper.draw("C", 4, rng)).values())).all()
    for value in paper.baselines(paper.draw("C", 500, rng)).values():
        assert value == pytest.approx(paper.truth("C"), abs=0.03)


def test_the_last_point_of_a_curve_is_compared_with_the_truth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """0.09 of the truth 0.1 is five standard errors of 0.002 away, and 0.107 three and a half."""
    monkeypatch.setattr(paper, "truth", {"A": 0.1}.__getitem__)
    error = np.array([9.0, 9.0, 0.002])
    curves = [
        paper.Curve("A", name, np.array([0.1, 0.1, last]), error)
        for name, last in ((paper.CLEAN, 0.09), (paper.SIGNED, 0.107), (paper.NAIVE, 0.05))
    ]
    rows = list(paper.compared("Figure 1", curves, 256))
    assert [(row.computed, row.agrees) for row in rows] == [
        (0.09, False), (0.107, True), (0.05, None),
    ]  # fmt: skip
    assert rows[0].quantity == f"set-up A, {paper.CLEAN}, 256 rows of each class"
    assert [row.note for row in rows] == [
        *["the truth instead of a printed number; standard error 0.002"] * 2,
        "the truth is 0.10000: this estimator is biased",
    ]


@pytest.mark.slow
def test_what_is_unbiased_reaches_the_truth_and_what_is_not_stays_below() -> None:
    rows, charts, curves = paper.simulated(PaperOptions(), NoProgress(), sizes=(256,))
    assert len(curves) == 4 * (4 + 3 + 3) == len(rows)
    assert [chart.name for chart in charts] == ["figure-1", "figure-2", "figure-3"]
    for curve in curves:
        if curve.estimator == paper.NAIVE:
            assert curve.distance < 4
        elif curve.estimator not in paper.BASELINES:
            assert abs(curve.distance) < 4, curve
    compared = [row for row in rows if row.agrees is not None]
    assert len(compared) == 4 * (2 + 2 + 2)
    assert all(row.agrees for row in compared)


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the real annotations are not here")
def test_the_real_annotations() -> None:
    estimates = paper.estimates_of_annotations(DATA, resamples=200)
    assert len(estimates) == 1 + 5 + 7
    rows = {row.quantity: row for row in paper.real(estimates)}
    assert rows["Fashion-MNIST-H, estimate"].agrees
    assert rows["Fashion-MNIST-H, ±"].agrees
    assert round(rows["CIFAR-10H, animals, estimate"].computed, 5) == 0.00502
    assert round(rows["ICLR 2017, ±"].computed, 5) == 0.01122
    images, papers = paper.real_charts(estimates)
    assert "published" in str(images.specification)
    assert "ICLR 2023" in str(papers.specification)


def test_a_published_estimate_agrees_if_five_decimals_do() -> None:
    """0.03478 and 0.00079 are published."""
    fitted = paper.from_soft_labels(np.array([0.25, 0.0, 1.0, 0.5]), resamples=50)
    for value, half, agree in (
        (0.034784, 0.000794, [True, True]),
        (0.034776, 0.000786, [True, True]),
        (0.034786, 0.000796, [False, False]),
        (0.034774, 0.000784, [False, False]),
    ):
        estimate = replace(fitted, estimate=value, interval=(value - half, value + half))
        rows = paper.real({"Fashion-MNIST-H": estimate})
        assert [row.agrees for row in rows] == agree, value


def annotations_in(folder: Path) -> Path:
    """Write small annotations of images and papers, and return the folder of all papers."""
    rng, files = np.random.default_rng(0), folder / "soft-labels"
    files.mkdir()
    counts = rng.multinomial(20, rng.dirichlet(np.full(10, 0.3), size=12))
    np.savetxt(files / "fmh_counts.csv", counts, delimiter=",")
    np.save(files / "cifar10h_counts.npy", counts[::-1])
    for year in range(2017, 2024):
        scores = rng.integers(1, 10, 24)
        accepted = scores + rng.normal(size=24) > 5 + (year - 2017) / 10
        decisions = np.where(accepted, "Accept", "Reject")
        rows = zip(scores, decisions, strict=True)
        lines = [f"{number},{score},{decision}" for number, (score, decision) in enumerate(rows)]
        text = "\n".join(["paper,score,decision", *lines])
        (files / f"iclr_{year}.csv").write_text(text, encoding="utf-8")
    return folder


def test_what_the_paper_shows_is_the_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two set-ups and small annotations, with estimates that tell how often they are drawn."""
    calls, draws = [], []

    def clean(sample, rng):
        draws.append(len(sample.positive))
        error = 0.1 / draws[-1] + 0.01 * rng.random()
        return dict(zip(paper.SHAPES, np.array([1, 2, 3, 1, 5, np.nan]) * error, strict=True))

    def estimated(*arguments):
        calls.append(arguments)
        return replace(fitted, estimate=fitted.estimate + len(calls) / 1_000)

    def from_counts(counts, positive):
        estimate = estimated(counts.sum(axis=0).tolist(), positive)
        return replace(estimate, corrected=estimate.estimate / 2) if len(calls) > 1 else estimate

    def from_scores(scores, accepted, *, resamples):
        estimate = estimated(int(scores.sum()), int(accepted.sum()), resamples)
        return replace(
            estimate, refit_interval=(estimate.interval[0] / 2, estimate.interval[1])
        ), None

    fitted = paper.from_soft_labels(np.array([0.25, 0.0, 1.0, 0.5]), resamples=50)
    monkeypatch.setattr(paper, "truth", {"A": 0.0943, "C": 0.0569}.__getitem__)
    monkeypatch.setattr(paper, "SETUPS", {name: paper.SETUPS[name] for name in "AC"})
    monkeypatch.setattr(paper, "clean", clean)
    monkeypatch.setattr(paper, "noisy", lambda width, *args: {
        name: width * value for name, value in clean(*args).items() if name not in paper.BASELINES
    })  # fmt: skip
    for function in (from_counts, from_scores):
        monkeypatch.setattr(paper, function.__name__, function)
    monkeypatch.setattr(paper, "simulated", partial(paper.simulated, sizes=(2, 6)))
    for name, quick in (("published", False), ("alone", True)):
        calls.clear()
        draws.clear()
        data = annotations_in(tmp_path) if name == "published" else tmp_path / "none"
        options = PaperOptions(data=data, quick=quick, seed=3)
        reproduction = paper.BayesErrorPaper().reproduce(options, NoProgress())
        charts = reproduction.charts if name == "published" else ()
        kept_reproduction = replace(reproduction, charts=charts)
        check_kept_reproduction(f"bayes-error-{name}", kept_reproduction, asked=calls)
        # Two set-ups, two sizes; once without noise and with each of two kinds of it.
        assert draws == 6 * ([2] * (4 if quick else 10) + [6] * (4 if quick else 10))


def test_the_estimates_from_a_draw_are_the_kept_ones() -> None:
    """With noise as wide as half the distance to a certain label, and without."""
    rng = np.random.default_rng(2)
    sample = paper.draw("A", 9, rng)
    document = {"clean": paper.clean(sample, rng), "noisy": paper.noisy(0.5, sample, rng)}
    sizes = {"rows": paper.PER_CLASS, "widths": paper.WIDTHS, "shapes": paper.SHAPES}
    check_kept_document("bayes-error-draw", {**document, **sizes})
