"""``arena.sota``: what it refuses and the least that it takes; a best score counted by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arena
from arena.errors import UsageError
from arena_sota.maximum import sample_maximum

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
    assert best.interval(0.5) == (0.5, 1.0)  # at 1/4 and 3/4
    assert best.mean == pytest.approx(0.5 * 1 / 2 + 7 / 16)
    assert best.bias == pytest.approx(0.5 * 1 / 2 + 7 / 16 - 0.5)
    for share in (-1e-9, 1 + 1e-9):
        with pytest.raises(UsageError, match="The probability of a quantile must be in"):
            best.quantile(share)
