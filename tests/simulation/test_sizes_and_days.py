"""Numbers of rows, the days of a leaderboard, and figures of past boards, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from arena.errors import UsageError
from arena.simulation.competition.timeline import timeline
from arena.simulation.data import Sizes
from arena.simulation.past.statistics import FinalBoard, gap_at_level, share_of_busiest_tenth

START = datetime(2001, 1, 1, tzinfo=UTC)
ALL = ("training", "validation", "population")


@pytest.mark.parametrize(
    ("sizes", "n_rows", "fixed", "shrunk"),
    [
        (Sizes(100, 50, 250), 200, (), Sizes(50, 25, 125)),
        (Sizes(100, 50, 250), 400, (), Sizes(100, 50, 250)),
        (Sizes(100, 50, 250), 500, (), Sizes(100, 50, 250)),
        (Sizes(100, 50, 250), 60, (), Sizes(15, 7, 37)),  # 20 of each kind on average
        (Sizes(100, 50, 250), 59, (), None),
        (Sizes(100, 50, 250), 140, ALL[:1], Sizes(100, 6, 33)),
        (Sizes(100, 50, 250), 139, ALL[:1], None),
        (Sizes(100, 50, 250), 170, ALL[:2], Sizes(100, 50, 20)),
        (Sizes(100, 50, 250), 400, ALL, Sizes(100, 50, 250)),
        (Sizes(100, 50, 250), 399, ALL, None),
        (Sizes(10, 10, 10), 30, (), Sizes(10, 10, 10)),
        (Sizes(10, 10, 10), 29, (), None),
    ],
)
def test_sizes_that_fit(
    sizes: Sizes, n_rows: int, fixed: tuple[str, ...], shrunk: Sizes | None
) -> None:
    assert sizes.shrunk(n_rows, fixed) == shrunk


def test_two_rows_of_each_kind_are_enough() -> None:
    assert Sizes(2, 2, 2).total == 6
    for sizes in ((1, 2, 2), (2, 1, 2), (2, 2, 1)):
        with pytest.raises(UsageError, match="at least two rows each"):
            Sizes(*sizes)


@pytest.mark.parametrize(
    ("greater", "first", "third"),
    [(True, (2, 0.75, 0.25, 0.125, 0.5), (3, 0.75, 0.5, 0.125, 0.5)),
     (False, (2, 0.5, 0.125, 0.25, 0.375), (3, 0.5, 0.125, 0.25, 0.375))],
)  # fmt: skip
@pytest.mark.parametrize("delay", [0, 1])
def test_a_leaderboard_at_the_end_of_each_day(
    greater: bool, first: tuple[float, ...], third: tuple[float, ...], delay: int
) -> None:
    """Two submissions come on the first day, and on the third one with the same score."""
    submissions = [(0, 0.5, 0.25), (0, 0.75, 0.125), (1, 1.0, np.nan), (2, 0.75, 0.5)]
    scores = [(START + timedelta(days=day + delay, hours=23), *both) for day, *both in submissions]
    error, days = timeline(scores, 4, START, greater_is_better=greater)
    assert error == third[-1]
    rows = [
        (day.submissions, day.shown_best, day.true_best, day.true_of_leader, day.error)
        for day in days
    ]
    assert rows == [first, first, third, third][: 4 - delay]
    assert [day.day for day in days] == [1, 2, 3, 4][delay:]
    assert timeline(scores[2:3], 4, START, greater_is_better=greater) == (None, ())


@pytest.mark.parametrize(
    ("entries", "share"),
    [(np.arange(1.0, 21.0), 39 / 210), (np.arange(1.0, 20.0), 19 / 190), (np.ones(4), 0.25)],
)
def test_the_share_of_the_busiest_tenth(entries: np.ndarray, share: float) -> None:
    assert share_of_busiest_tenth(entries) == pytest.approx(share)


def test_a_gap_is_relative_to_that_of_the_median_team() -> None:
    """Scores are the squares of 0 to 10: at a tenth of the ranks it is 81, and the median is 25."""
    board = FinalBoard(np.arange(11.0) ** 2, None, entries=None)
    assert gap_at_level(0.1)(board) == pytest.approx(19 / 75)
    assert gap_at_level(0.5)(board) == 1
    assert gap_at_level(0.1)(FinalBoard(np.array([0.0, 1.0, 1.0]), None, entries=None)) is None
