"""The paper on the Bayes error, in sizes that a test can bear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arena.interfaces import PaperOptions
from arena.utils.parallel import NoProgress
from arena_bayes_error import paper

DATA = Path(__file__).parents[3] / "shared" / "data" / "soft-labels"


def test_rows_are_drawn_equally_of_both_classes() -> None:
    rng = np.random.default_rng(0)
    for setup in "AD":
        drawn = paper.draw(setup, 500, rng)
        assert len(drawn.points) == len(drawn.soft) == 1_000
        assert drawn.labels.tolist() == [1] * 500 + [0] * 500
        np.testing.assert_array_equal(drawn.soft[:500], drawn.positive)
        assert drawn.soft[:500].mean() > 0.8
        assert drawn.soft[500:].mean() < 0.2


def test_baselines_are_near_the_truth_and_left_out_of_the_smallest_sizes() -> None:
    rng = np.random.default_rng(0)
    assert np.isnan(list(paper.baselines(paper.draw("C", 4, rng)).values())).all()
    for value in paper.baselines(paper.draw("C", 500, rng)).values():
        assert value == pytest.approx(paper.truth("C"), abs=0.03)


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
