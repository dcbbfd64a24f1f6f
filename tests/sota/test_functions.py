"""``arena.sota``: what it refuses and the least that it takes; a best score counted by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import arena
from arena.errors import UsageError
from arena_sota import charts, checks
from arena_sota.maximum import sample_maximum
from refusals import refusal_of

SCORES = [0.9, 0.8, 0.7]
TWO = "The rows of an area under the ROC curve are two numbers, (positives, negatives)."


@pytest.mark.parametrize(
    ("rows", "options", "said"),
    [
        (10, {"seed": -1}, "The seed must be 0 or more, and whole."),
        (10, {"seed": 0.5}, "The seed must be 0 or more, and whole."),
        ((5, 5), {}, "The rows of an accuracy are one number."),
        (10, {"metric": "roc_auc"}, TWO),
        ((5, 5, 5), {"metric": "roc_auc"}, TWO),
        (
            (5, 5),
            {"metric": "roc_auc", "rho": -1e-9},
            "The correlation rho must be at least 0 and below 1, not -1e-09.",
        ),
        (
            (5, 5),
            {"metric": "roc_auc", "method": "crop"},
            "For roc_auc only the method shrink is available.",
        ),
    ],
)
def test_what_is_refused(rows: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        arena.sota(SCORES, rows, **options)
    assert str(refused.value) == said


def test_what_is_not_given_is_the_default_of_the_papers() -> None:
    plain = arena.sota(SCORES, 10)
    defaults = {
        "classes": 2,
        "rho": 0.6,
        "method": "shrink",
        "target": "mean",
        "theta": "bootstrap",
    }
    assert arena.sota(SCORES, np.int64(10), **defaults, level=0.95, seed=7).sota == plain.sota
    assert arena.sota(SCORES, 10, rho=0.0).sota != plain.sota
    areas: dict[str, Any] = {"metric": "roc_auc", "repetitions": 4}
    assert (
        arena.sota(SCORES, (5, 5), **areas).sota
        == arena.sota(SCORES, (5, 5), rho=0.0, seed=0, **areas).sota
    )


def test_the_best_of_two_coins_thrown_twice() -> None:
    """One has 0, 1, 2 heads with 1/4, 1/2, 1/4: of two none has one with 1/16, or two with 9/16."""
    best = sample_maximum(2, 0.5, 2)
    assert [best.pmf(score) for score in (0.0, 0.5, 1.0)] == pytest.approx([1 / 16, 1 / 2, 7 / 16])
    assert [best.pmf(score) for score in (-0.5, 0.25, 0.4999, 1.5)] == [0.0] * 4
    assert [best.pmf((1 + gap) / 2) > 0 for gap in (5e-10, 1.5e-9, -1.5e-9)] == [True, False, False]
    reached = {0.0: 1.0, 0.001: 15 / 16, 0.5: 15 / 16, 0.501: 7 / 16, 1.0: 7 / 16, 1.5: 0.0}
    for score, share in reached.items():
        assert best.at_least(score) == pytest.approx(share), score
    shares = {
        0.0: 0.0,
        1 / 16 - 1e-9: 0.0,
        1 / 16 + 1e-9: 0.5,
        0.5: 0.5,
        9 / 16 + 1e-9: 1.0,
        1.0: 1.0,
    }
    assert {share: best.quantile(share) for share in shares} == shares
    rounded = replace(best, cumulative=best.cumulative * (1 - 1e-12))  # its end is below 1
    assert rounded.quantile(1.0) == 1.0
    assert best.interval(0.5) == (0.5, 1.0)  # at 1/4 and 3/4
    assert best.mean == pytest.approx(0.5 * 1 / 2 + 7 / 16)
    assert best.bias == pytest.approx(0.5 * 1 / 2 + 7 / 16 - 0.5)
    for share in (-1e-9, 1 + 1e-9):
        with pytest.raises(UsageError, match="The probability of a quantile must be in"):
            best.quantile(share)


def test_numbers_that_are_out_of_range_are_named_and_those_at_the_ends_are_not():
    classifiers = "There must be at least one classifier."
    rows = "The number of rows must lie between 1 and 100,000,000."
    easy = "The easy rows must be between 0 and the 10 rows there are."
    cause = "The correlation rho0 must be at least 0 and below 1, not "
    theta = "theta0 is a probability between 0 and 1, not "
    varies = (
        ": if all rows or none are easy, the common cause does not vary and nothing correlates "
        "with it. Give --theta0 strictly between 0 and 1, or --rho 0."
    )
    perfect = (
        "The best score is 1, so every row counts as easy and the common cause does not vary: a "
        "correlation of 0.25 has no meaning here. Give --rho 0."
    )
    probability = "A success probability must lie between 0 and 1, but number "
    one_or_list = "The success probabilities must be one number or a list of them."
    score, few = "A score must be a number between 0 and 1, but number ", "at least two teams."
    for check, arguments, sentence in (
        (checks.check_numbers, (0, 1, 0.0, None, None), rows),
        (checks.check_numbers, (1, 1, 0.0, 0.0, 0), None),
        (checks.check_numbers, (10**8, None, 0.99, 1.0, 10**8), None),
        (checks.check_numbers, (10**8 + 1, 1, 0.0, None, None), rows),
        (checks.check_numbers, (10, 0, 0.0, None, None), classifiers),
        (checks.check_numbers, (10, 1, -0.01, None, None), f"{cause}-0.01."),
        (checks.check_numbers, (10, 1, 1.0, None, None), f"{cause}1."),
        (checks.check_numbers, (10, 1, 0.0, -0.1, None), f"{theta}-0.1."),
        (checks.check_numbers, (10, 1, 0.0, 1.1, None), f"{theta}1.1."),
        (checks.check_numbers, (10, 1, 0.0, None, -1), easy),
        (checks.check_numbers, (10, 1, 0.0, None, 10), None),
        (checks.check_numbers, (10, 1, 0.0, None, 11), easy),
        (checks.check_theta0, (0.5, 0.0), f"theta0 is 0{varies}"),
        (checks.check_theta0, (0.5, 1e-12), None),
        (checks.check_theta0, (0.5, 1 - 1e-12), None),
        (checks.check_theta0, (0.5, 1.0), f"theta0 is 1{varies}"),
        (checks.check_theta0, (0.0, 1.0), None),
        (checks.check_room_for_a_cause, (0.25, np.array([0.5, 1.0])), perfect),
        (checks.check_room_for_a_cause, (0.25, np.array([0.5, 1 - 1e-12])), None),
        (checks.check_room_for_a_cause, (0.0, np.array([0.5, 1.0])), None),
        (checks.success_probabilities, ([0.0, 1.0],), None),
        (checks.success_probabilities, (0.5,), None),
        (checks.success_probabilities, ([0.5, -0.1],), f"{probability}2 is -0.1."),
        (checks.success_probabilities, ([1.1],), f"{probability}1 is 1.1."),
        (checks.success_probabilities, ([np.nan],), f"{probability}1 is nan."),
        (checks.success_probabilities, ([],), one_or_list),
        (checks.success_probabilities, ([[0.5]],), one_or_list),
        (checks.board_scores, ([0.0, 1.0],), None),
        (checks.board_scores, ([0.5, 1.01, 2.0],), f"{score}2 is 1.01."),
        (checks.board_scores, ([-0.01, 0.5],), f"{score}1 is -0.01."),
        (checks.board_scores, ([0.5],), f"A board needs the scores of {few}"),
        (checks.board_scores, ([[0.5, 0.5]],), f"A board needs the scores of {few}"),
        (checks.check_choice, ("method", "a", ("a", "b")), None),
        (checks.check_choice, ("method", "c", ("a", "b")), "The method must be a or b, not 'c'."),
    ):
        assert refusal_of(UsageError, check, *arguments) == sentence


def test_a_curve_is_drawn_from_the_point_before_it_is_seen_to_the_one_after_it():
    """Seen is a thousandth of the maximum; of 600 points every second one is drawn."""
    xs, ys = np.arange(7.0), np.array([0, 0, 0.001, 1, 0.0011, 0.0009, 0])
    for values, visible in (
        (ys, [1, 2, 3, 4, 5]),
        (np.array([1.0, 0, 0, 0, 0, 0, 0]), [0, 1]),
        (np.array([0, 0, 0, 0, 0, 0, 1.0]), [5, 6]),
    ):
        assert charts.visible_points(xs, values)[:, 0].tolist() == visible
    for n_points, n_drawn in ((300, 300), (599, 599), (600, 300), (900, 300)):
        assert len(charts.visible_points(np.arange(n_points), np.ones(n_points))) == n_drawn
    assert len(charts.visible_points(np.zeros(0), np.zeros(0))) == 0
