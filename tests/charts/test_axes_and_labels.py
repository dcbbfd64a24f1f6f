"""Axes that start where ranks do and say what boards say, and labels that hide no point."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arena.charts import best_score_chart, rank_chart, shake_up_chart
from arena.charts.shake_up import labelled_sides
from arena.charts.shares import shares_chart
from arena.charts.specification import count_axis, score_axis, whole_axis
from arena.utils.formatting import BoardDisplay


@pytest.mark.parametrize("last", [1, 2, 15, 16, 50, 51, 200, 3_000, 10**6])
def test_ticks_of_ranks_are_few_whole_and_start_at_one(last: int) -> None:
    values = whole_axis(last)["values"]
    assert values[0] == 1
    assert values[-1] <= last
    assert len(values) <= 15
    assert sorted(set(values)) == values


@pytest.mark.parametrize("most", [0, 1, 2, 7, 13, 200, 10_000])
def test_ticks_of_counts_are_few_and_whole(most: int) -> None:
    values = count_axis(most)["values"]
    assert values[0] == 0
    assert values[-1] <= most
    assert len(values) <= 6
    assert all(isinstance(value, int) for value in values)


@pytest.mark.parametrize("teams", [1, 2, 60])
def test_the_axis_of_ranks_has_no_rank_below_one(teams: int) -> None:
    ranks = np.arange(1, teams + 1)
    chart = rank_chart([f"team {rank}" for rank in ranks], interval=(ranks, ranks), rank=ranks)
    x = chart["layer"][0]["encoding"]["x"]
    assert x["scale"]["domain"][0] == 1
    assert not x["scale"]["nice"]


@pytest.mark.parametrize(
    "ends", [(0.1, 0.9), (0.934, 0.958), (-3.0, 1e4), (0.5, 0.5), (0.0, 0.0), (1e-9, 3e-9), (-1, 1)]
)
def test_ticks_of_scores_are_few_even_and_inside(ends: tuple[float, float]) -> None:
    axis = score_axis(ends)
    low, high = axis["scale"]["domain"]
    values = axis["axis"]["values"]
    assert low < high
    assert low <= ends[0] <= ends[1] <= high
    assert 2 <= len(values) <= 8
    assert low <= values[0] < values[-1] <= high
    steps = np.diff(values)
    assert np.allclose(steps, steps[0])


def test_values_that_are_not_finite_do_not_stretch_an_axis() -> None:
    assert score_axis([0.2, np.nan, np.inf, 0.4])["scale"]["domain"] == [0.2, 0.4]
    assert score_axis([np.nan])["scale"]["domain"] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("display", "said"),
    [
        (BoardDisplay(), "format(datum.value, ',.3f')"),
        (BoardDisplay(unit="ms"), "format(datum.value, ',.3f') + ' ms'"),
        (BoardDisplay(2, "ms"), "format(datum.value, ',.2f') + ' ms'"),
        (BoardDisplay(unit="%"), "format(100 * datum.value, ',.1f') + '%'"),
        (BoardDisplay(0, "%"), "format(100 * datum.value, ',.0f') + '%'"),
        (BoardDisplay(unit="'; alert(1)"), "format(datum.value, ',.3f') + ' \\u0027; alert(1)'"),
    ],
)
def test_an_axis_has_the_digits_and_unit_of_the_board(display: BoardDisplay, said: str) -> None:
    axis = score_axis([0.934, 0.957], display)["axis"]
    assert axis["labelExpr"] == said
    decimals = int(said.split(",.")[1][0]) + 2 * (display.unit == "%")
    rounded = [round(value, decimals) for value in axis["values"]]
    assert rounded == axis["values"]
    assert len(set(rounded)) == len(rounded)


def test_more_digits_are_shown_where_those_of_the_board_tell_no_two_ticks_apart() -> None:
    axis = score_axis([0.9341, 0.9349], BoardDisplay(2))["axis"]
    assert len(axis["values"]) >= 2
    assert ",.4f" in axis["labelExpr"]


@pytest.mark.parametrize(("largest", "end"), [(0.4, 0.5), (1.0, 1.25), (0.001, 0.05)])
def test_bars_of_shares_leave_a_fifth_of_the_axis_to_their_figures(
    largest: float, end: float
) -> None:
    chart = shares_chart(["a", "b", "c"], [largest, largest / 2, 0.0], "share")
    assert chart["encoding"]["x"]["scale"]["domain"] == pytest.approx([0, end])
    assert [row["team"] for row in chart["data"]["values"]] == ["a", "b"]


def test_the_observed_best_score_is_seen_behind_an_equal_corrected_one() -> None:
    _, observed, corrected = best_score_chart(0.9, 0.9, 0.8, 0.95)["layer"]
    assert observed["mark"]["size"] > 2 * corrected["mark"]["size"]


def test_a_label_hides_no_point_and_no_other_label() -> None:
    rng = np.random.default_rng(0)
    public = rng.permutation(60) + 1
    teams = [
        (f"team {position}", int(rank), position) for position, rank in enumerate(public, start=1)
    ]
    labelled = labelled_sides(teams, 60)
    assert 3 <= len(labelled) <= 8
    down, right = 480 / 59, 420 / 59
    boxes = []
    for side, row in labelled:
        x, y = (row["public"] - 1) * right, (row["private"] - 1) * down
        width = 6.5 * len(row["team"])
        left = {"right": x + 9, "left": x - 9 - width}.get(side, x - width / 2)
        top = {"above": y - 21, "below": y + 9}.get(side, y - 6)
        boxes.append((left, top, left + width, top + 12))
    for box in boxes:
        assert not any(
            box[0] < (before - 1) * right < box[2] and box[1] < (after - 1) * down < box[3]
            for _, before, after in teams
        )
    for one, other in itertools.combinations(boxes, 2):
        assert one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]


def test_labels_of_a_chart_are_those_that_were_placed() -> None:
    chart = shake_up_chart(["a", "b", "c"], [2, 1, 3], [1, 2, 3])
    texts = [layer for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    named = [row["team"] for layer in texts for row in layer["data"]["values"]]
    assert sorted(named) == ["a", "b"]
