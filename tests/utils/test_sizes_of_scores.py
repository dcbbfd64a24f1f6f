"""Scores of any size as boards and axes show them."""

from __future__ import annotations

import pytest

from arena.charts.specification import score_axis
from arena.utils.formatting import BoardDisplay, released_format, score_format


def rows(*scores: float) -> list[dict[str, float]]:
    return [
        {"score": score, "score_low": 0.9 * score, "score_high": 1.1 * score} for score in scores
    ]


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (3.7312e-10, "3.7312e-10"),
        (-3.7312e-10, "-3.7312e-10"),
        (4.1e-18, "4.1000e-18"),
        (0.00037312, "0.00037312"),
        (0.5, "0.5000"),
        (413616376.4, "413,616,376"),
    ],
)
def test_scores_of_any_size_are_told_apart_and_readable(score: float, text: str) -> None:
    assert score_format(rows(abs(score)))(score) == text


def test_released_scores_that_are_tiny_are_no_row_of_zeros() -> None:
    show = released_format([3.7312e-10, 4.15e-14])
    assert show(3.7312e-10) == "3.73120e-10"
    assert show(4.15e-14) == "4.1e-14"
    assert show(0.0) == "0"


def test_given_decimals_are_kept() -> None:
    show = score_format(rows(3.7e-10), BoardDisplay(decimals=14))
    assert show(3.7e-10) == "0.00000000037000"


def test_an_axis_of_tiny_scores_has_exponents() -> None:
    label = score_axis([3.4e-10, 8.1e-10])["axis"]["labelExpr"]
    assert label == "format(datum.value, '.0~e')"
    assert score_axis([0.34, 0.81])["axis"]["labelExpr"] == "format(datum.value, ',.1f')"
