"""Axes that start where ranks do and say what boards say, and labels that hide no point."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from arena.charts import best_score_chart, rank_chart, shake_up_chart, standings_chart
from arena.charts.board import score_chart
from arena.charts.files import check_chart_path, file_padding, write_chart
from arena.charts.labels import axis_labels
from arena.charts.ranges import Bars, Points, ranges_chart
from arena.charts.shake_up import boxes_overlap, is_in_chart, label_box, labelled_sides
from arena.charts.shares import shares_chart
from arena.charts.specification import (
    count_axis,
    layered,
    named,
    quantitative,
    rank_scale,
    score_axis,
    titled,
    whole_axis,
)
from arena.charts.theme import THEME, themed
from arena.errors import InputError, UsageError
from arena.types import TEAMS, Vocabulary
from arena.utils.formatting import BoardDisplay
from kept import check_kept_document


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


@pytest.mark.parametrize(
    ("last", "values"),
    [
        (1, [1]),
        (15, [*range(1, 16)]),
        (16, [1, 5, 10, 15]),
        (60, [1, *range(5, 61, 5)]),  # twelve steps of 5
        (61, [1, *range(10, 61, 10)]),
        (120, [1, *range(10, 121, 10)]),
        (121, [1, *range(20, 121, 20)]),
        (240, [1, *range(20, 241, 20)]),
        (241, [1, 50, 100, 150, 200]),
        (601, [1, *range(100, 601, 100)]),
        (2_401, [1, 500, 1_000, 1_500, 2_000]),
    ],
)
def test_ranks_have_steps_of_5_10_20_and_their_multiples(last: int, values: list[int]) -> None:
    assert whole_axis(last) == {"format": ",d", "values": values}


@pytest.mark.parametrize(
    ("most", "values"),
    [
        (0, [0]),
        (5, [0, 1, 2, 3, 4, 5]),
        (6, [0, 2, 4, 6]),
        (10, [0, 2, 4, 6, 8, 10]),
        (11, [0, 5, 10]),
        (25, [0, 5, 10, 15, 20, 25]),
        (26, [0, 10, 20]),
        (51, [0, 20, 40]),
        (251, [0, 100, 200]),
    ],
)
def test_counts_have_steps_of_1_2_5_and_their_multiples(most: int, values: list[int]) -> None:
    assert count_axis(most) == {"format": ",d", "values": values}


@pytest.mark.parametrize(("last", "domain"), [(0, [1, 2]), (1, [1, 2]), (2, [1, 2]), (3, [1, 3])])
def test_a_scale_of_ranks_has_a_length(last: int, domain: list[int]) -> None:
    scale = {"domain": domain, "nice": False, "zero": False, "padding": 8}
    assert rank_scale(last) == scale
    assert rank_scale(last, padding=3) == {**scale, "padding": 3}


@pytest.mark.parametrize(
    ("ends", "domain", "ticks", "form"),
    [
        # A sixth of the range is rounded up to 1, 2 or 5 of a decimal place.
        ((0, 1), (0, 1), [0.0, 0.2, 0.4, 0.6, 0.8, 1.0], ",.1f"),
        ((0, 6), (0, 6), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0], ",.0f"),
        ((0, 6.1), (0, 6.1), [0.0, 2.0, 4.0, 6.0], ",.0f"),
        ((2, 4), (2, 4), [2.0, 2.5, 3.0, 3.5, 4.0], ",.1f"),
        ((-1, 1), (-1, 1), [-1.0, -0.5, 0.0, 0.5, 1.0], ",.1f"),
        ((0, 4_000), (0, 4_000), [0.0, 1_000.0, 2_000.0, 3_000.0, 4_000.0], ",.0f"),
        # One value has a hundredth of itself on each side, and zero a half.
        ((0.5, 0.5), (0.495, 0.505), [0.496, 0.498, 0.5, 0.502, 0.504], ",.3f"),
        ((-2, -2), (-2.02, -1.98), [-2.02, -2.01, -2.0, -1.99, -1.98], ",.2f"),
        ((0, 0), (-0.5, 0.5), [-0.4, -0.2, 0.0, 0.2, 0.4], ",.1f"),
        # Ten decimals of less than 0.00001 are written with an exponent.
        ((1e-10, 7e-10), (1e-10, 7e-10), [n * 1e-10 for n in range(1, 8)], ".0~e"),
        ((1e-9, 7e-9), (1e-9, 7e-9), [n * 1e-9 for n in range(1, 8)], ",.9f"),
    ],
)
def test_an_axis_of_scores_has_these_ticks(
    ends: tuple[float, float], domain: tuple[float, float], ticks: list[float], form: str
) -> None:
    axis = score_axis(ends, padding=5)
    assert axis["scale"] == {
        "domain": pytest.approx(list(domain)), "zero": False, "nice": False, "padding": 5
    }  # fmt: skip
    assert axis["axis"]["values"] == pytest.approx(ticks)
    assert [str(value) for value in axis["axis"]["values"]].count("-0.0") == 0
    assert axis["axis"]["labelExpr"] == f"format(datum.value, '{form}')"
    assert score_axis(ends)["scale"]["padding"] == 8


@pytest.mark.parametrize(
    ("ends", "ticks"),
    [
        ((0.10, 0.12), [0.10, 0.11, 0.12]),  # three units of the last digit fit
        ((0.105, 0.125), [0.11, 0.12]),  # two
        ((0.101, 0.112), [0.102, 0.104, 0.106, 0.108, 0.11, 0.112]),  # only 0.11
    ],
)
def test_ticks_are_a_unit_of_the_last_digit_apart_if_two_fit(
    ends: tuple[float, float], ticks: list[float]
) -> None:
    assert score_axis(ends, BoardDisplay(2))["axis"]["values"] == ticks


def test_titles_of_encodings_are_those_given_or_of_the_field() -> None:
    assert quantitative("rows") == {"field": "rows", "type": "quantitative", "title": "rows"}
    assert quantitative("n", "rows", axis=1)["title"] == "rows"
    assert named("team") == {"field": "team", "type": "nominal", "title": None}
    assert layered([{"mark": "bar"}], height={"step": 3}, rows=[{"x": 1}]) == {
        "data": {"values": [{"x": 1}]},
        "width": 640,
        "height": {"step": 3},
        "layer": [{"mark": "bar"}],
    }
    words = Vocabulary("model", "model", "question")
    chart = {"data": {"values": [{"field": "team"}]}, "layer": [{"field": "team", "title": "x"}]}
    assert titled(chart, words) == chart  # a title of its own is kept, and data are no encoding
    assert titled({"tooltip": {"field": "team"}}, TEAMS) == {"tooltip": {"field": "team"}}


def test_labels_stand_on_the_first_side_that_is_free() -> None:
    """The plane is 420 wide and 480 high; a label is 6.5 for each letter and 12 high."""
    # Above and right of the plane there are 9 and 12 pixels more: a name there is outside.
    assert [side for side, _ in labelled_sides([("a", 1, 2), ("b", 2, 1)], 2)] == ["right", "left"]
    # The point at the top left has room on its right only.
    (only,) = labelled_sides([("a", 1, 1)], 3)
    assert only == ("right", {"team": "a", "public": 1, "private": 1})


def test_a_label_is_nine_pixels_from_its_point_and_twelve_high() -> None:
    boxes = {
        side: label_box(side, 100, y=200, width=13) for side in ("right", "left", "above", "below")
    }
    assert boxes == {
        "right": (109, 194, 122, 206),
        "left": (78, 194, 91, 206),
        "above": (93.5, 179, 106.5, 191),
        "below": (93.5, 209, 106.5, 221),
    }


def test_a_label_is_inside_up_to_the_gap_and_the_height_of_a_line_beside_the_plane() -> None:
    # The plane is 420 wide and 480 high.
    edge = (-9, -12, 429, 492)
    assert is_in_chart(edge)
    for place, step in enumerate((-1, -1, 1, 1)):
        outside = [end + step * (place == side) for side, end in enumerate(edge)]
        assert not is_in_chart(tuple(outside))


def test_boxes_that_touch_do_not_overlap() -> None:
    box = (10, 20, 30, 40)
    for other_box in ((30, 20, 50, 40), (-10, 20, 10, 40), (10, 40, 30, 60), (10, 0, 30, 20)):
        assert not boxes_overlap(box, other_box)
        assert not boxes_overlap(other_box, box)
    for other_box in ((29, 39, 50, 60), (-10, 0, 11, 21), (15, 25, 16, 26)):
        assert boxes_overlap(box, other_box)
        assert boxes_overlap(other_box, box)


@pytest.mark.parametrize(
    ("public", "private", "side"),
    [
        (105, 3, "right"), (106, 3, "left"), (127, 3, "left"), (128, 3, "right"),
        (115, 10, "left"), (115, 11, "right"),
    ],
)  # fmt: skip
def test_a_label_hides_no_part_of_a_point_which_is_ten_pixels_wide(
    public: int, private: int, side: str
) -> None:
    """Among 421 ranks a public one is a pixel wide and a private one 8/7.

    The label of (101, 1) to the right is from 109 to 122 and from -6 to 6. Another point ends at
    its public rank - 1 + 5 and begins 5 before it, at the top also.
    """
    labelled = labelled_sides([("aa", 101, 1), ("b", public, private)], 421)
    assert labelled[0][0] == side


def test_eight_teams_are_labelled_leaders_first_and_then_those_that_moved_most() -> None:
    """Ten teams change their order: they move by 9, 7, 5, 3, 1, 1, 3, 5, 7 and 9 places."""
    teams = [(f"t{rank}", 11 - rank, rank) for rank in range(1, 11)]
    labelled = labelled_sides(teams, 10)
    named_teams = [row["team"] for _, row in labelled]
    assert named_teams == ["t1", "t10", "t2", "t9", "t3", "t8", "t4", "t7"]
    # Those that fell are named on the left of the line, those that rose on its right.
    assert {side for side, row in labelled if row["public"] < row["private"]} <= {"left", "right"}
    still = [("a", 1, 1), ("b", 2, 2), ("c", 3, 4), ("d", 4, 3)]
    assert [row["team"] for _, row in labelled_sides(still, 4)] == ["a", "c", "d"]


def test_a_shake_up_has_a_point_for_every_team_with_both_ranks() -> None:
    chart = shake_up_chart(["a", "b", "c", "d" * 33, "e"], [2, 1, None, 3, 4], [1, 2, 3, 3, None])
    same, points, *labels = chart["layer"]
    assert [tuple(row.values()) for row in points["data"]["values"]] == [
        ("a", 2, 1, "rose"),
        ("b", 1, 2, "fell"),
        ("d" * 31 + "…", 3, 3, "kept its rank"),
    ]
    assert same["data"]["values"] == [{"public": 1, "private": 1}, {"public": 3, "private": 3}]
    x, y = (points["encoding"][channel] for channel in "xy")
    assert (x["scale"]["domain"], x["scale"]["reverse"], x["title"]) == (
        [1, 3],
        False,
        "rank on public rows",
    )
    assert (y["scale"]["domain"], y["scale"]["reverse"], y["title"]) == (
        [1, 3],
        True,
        "rank on private rows",
    )
    assert points["mark"] == {"type": "point", "filled": True, "size": 60, "opacity": 0.85}
    assert (chart["width"], chart["height"]) == (640, 480)
    offsets = {
        "right": {"align": "left", "dx": 9}, "above": {"align": "center", "dy": -15.0},
        "left": {"align": "right", "dx": -9}, "below": {"align": "center", "dy": 15.0},
    }  # fmt: skip
    style = {"type": "text", "color": "#565d6b", "fontSize": 11, "baseline": "middle"}
    for label in labels:
        assert label["mark"] in [{**style, **offset} for offset in offsets.values()]
    few = shake_up_chart(["a", "b", "c"], [1, 2, 3], [1, 2, 3], most=2)
    assert len(few["layer"][1]["data"]["values"]) == 2


def test_teams_more_than_four_median_distances_behind_are_left_out() -> None:
    # The distances to the first are 0, 1, 1, 1 and x: their median is 1.
    for last, shown in ((4.0, 5), (4.1, 4)):
        scores = np.array([0.0, -1.0, -1.0, -1.0, -last])
        chart = score_chart(list("abcde"), scores, (scores - 0.5, scores + 0.5), 0.25)
        line, bars, points = chart["layer"]
        assert [row["team"] for row in points["data"]["values"]] == list("abcde")[:shown]
        assert bars["data"]["values"][1] == {
            "team": "b", "what": "interval of the score", "from": -1.5, "to": -0.5
        }  # fmt: skip
        assert line["data"]["values"] == [{"what": "corrected best score", "at": 0.25}]
    # Of three equal ones and a distant one the median distance is 0: the three are shown.
    for scores, shown in ((np.array([0.0, 0.0, 0.0, -1.0]), 3), (np.array([0.0, -1.0, -1.0]), 3)):
        chart = score_chart(list("abcd"), scores, (scores, scores))
        assert len(chart["layer"]) == 2
        assert len(chart["layer"][1]["data"]["values"]) == shown
    # Of the first alone every one is shown, and not more than asked for.
    few = score_chart(list("abc"), scores, (scores, scores), most=2)
    assert len(few["layer"][1]["data"]["values"]) == 2


@pytest.mark.parametrize(
    ("name", "columns", "best", "is_drawn"),
    [
        ("rank-intervals", {"rank_low": 1, "rank_high": 2}, {}, True),
        ("rank-intervals", {"bootstrap_rank_low": 1, "bootstrap_rank_high": 2}, {}, True),
        ("rank-intervals", {"rank_low": 1, "bootstrap_rank_high": 2}, {}, False),
        ("wins", {"win_rate": 0.5}, {}, True),
        ("wins", {"win_rate": None}, {}, False),
        ("score-intervals", {"score_low": 0.1, "score_high": 0.9, "score": 0.5}, {}, True),
        ("score-intervals", {"score_low": 0.1, "score_high": 0.9, "score": None}, {}, False),
        ("score-intervals", {"score_low": 0.1, "score": 0.5}, {}, False),
        ("best-score", {"score": 0.5}, {"estimate": 0.4, "low": 0.3, "high": 0.5}, True),
        ("best-score", {"score": 0.5}, {"estimate": 0.4, "low": None, "high": 0.5}, False),
        ("best-score", {"score": 0.5}, {"estimate": 0.4, "low": 0.3, "high": np.inf}, False),
        ("shake-up", {"rank": 1, "public_rank": 1}, {}, True),
        ("shake-up", {"rank": 1}, {}, False),
        ("shake-up", {"public_rank": 1}, {}, False),
    ],
)
def test_a_chart_of_a_board_needs_its_columns(
    name: str, columns: dict[str, float | None], best: dict[str, float], is_drawn: bool
) -> None:
    standings = [{"team": "a", **columns}, {"team": "b", **dict.fromkeys(columns)}]
    standings = [{**row, "rank": row.get("rank") or place + 1} if "rank" in columns else row
                 for place, row in enumerate(standings)]  # fmt: skip
    assert (standings_chart(name, standings, best) is not None) == is_drawn
    assert standings_chart(name, [], best) is None


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("a" * 32, "a" * 32),
        ("a" * 33, "a" * 31 + "…"),
        ("長" * 16, "長" * 16),  # each is two wide
        ("長" * 17, "長" * 16 + "…"),
        ("a" + "長" * 16, "a" + "長" * 15 + "…"),
    ],
)
def test_a_label_is_at_most_32_wide(name: str, label: str) -> None:
    assert axis_labels([name, "b"]) == [label, "b"]
    assert axis_labels(["b", name, name]) == ["b", f"{label} (2)", f"{label} (3)"]


def test_shares_are_drawn_from_the_largest_at_most_twenty() -> None:
    shares = [0.01 * place for place in range(22)]
    chart = shares_chart([f"t{place}" for place in range(22)], shares, "share")
    rows = chart["data"]["values"]
    assert [row["team"] for row in rows] == [f"t{place}" for place in range(21, 1, -1)]
    assert rows[0]["share"] == 0.21
    assert chart["encoding"]["x"]["axis"] == {"format": ".0%", "tickCount": 5}
    assert shares_chart(["a"], [0.8], "s")["encoding"]["x"]["axis"]["tickCount"] == 5  # up to 1
    beyond = shares_chart(["a"], [0.81], "s")["encoding"]["x"]["axis"]
    assert beyond["values"] == [0, 0.25, 0.5, 0.75, 1]
    assert shares_chart([], [], "s")["encoding"]["x"]["scale"]["domain"] == [0, 0.05]
    bars, figures = chart["layer"]
    assert bars["mark"] == {"type": "bar", "color": "#0a5c9c", "height": {"band": 0.72}}
    assert figures["mark"] == {"type": "text", "align": "left", "dx": 5, "color": "#1b1e24"}
    assert chart["height"] == {"step": 22}


def test_a_chart_in_a_file_has_a_page_below_it_and_room_at_its_left(tmp_path: Path) -> None:
    given = {**layered([], height=10), "padding": {"left": 36, "top": 4}}
    write_chart({**given, "layer": [{"mark": "bar", "data": {"values": []}}]}, tmp_path / "a.json")
    written = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert written["padding"] == {"left": 36, "top": 5, "right": 5, "bottom": 5}
    assert written["background"] == "#ffffff"
    assert file_padding({"padding": 50}) == {"left": 35, "top": 5, "right": 5, "bottom": 5}
    check_chart_path(None)
    for name in ("a.SVG", "b.png", "c.json"):
        check_chart_path(tmp_path / name)
    with pytest.raises(UsageError) as refused:
        check_chart_path(tmp_path / "a.pdf")
    assert str(refused.value) == "--chart a.pdf: the file name must end in .svg, .png, .json."
    (tmp_path / "folder.svg").mkdir()
    for path in (tmp_path / "folder.svg", tmp_path / "none" / "a.svg"):
        with pytest.raises(InputError) as unwritable:
            check_chart_path(path)
        assert str(unwritable.value) == (
            f"{path} cannot be written: give a file name in an existing folder."
        )


def test_the_theme_gives_way_to_the_config_of_a_chart() -> None:
    own = {"view": {"continuousWidth": 300, "stroke": "red"}, "axis": {"labelLimit": 3}, "new": 1}
    config = themed({"mark": "bar", "config": own})["config"]
    assert config["view"] == {"stroke": "red", "continuousWidth": 640, "continuousHeight": 360}
    assert config["axis"]["labelLimit"] == 3
    assert config["axis"]["labelFontSize"] == 12
    assert config["new"] == 1
    without_axes = themed({"mark": "bar", "config": {"axis": None}})["config"]
    assert (without_axes["axis"], without_axes["axisY"]) == (None, THEME["axisY"])
    assert themed({"mark": "bar"}) == {"mark": "bar", "config": THEME}
    check_kept_document("chart-theme", themed({"mark": "bar"})["config"])
    assert own["view"]["continuousWidth"] == 300


def test_ranges_have_a_bar_a_point_or_a_dashed_line_in_chart_and_legend() -> None:
    series = [
        Bars("range", [1, 2], high=[2, np.nan], color="red", width=6),
        Points("rank", [1, 2], color="blue"),
    ]
    chart = ranges_chart(["a", "b"], series, axis="rank", whole=True, lines={"best": 1.5})
    line, bars, points = chart["layer"]
    assert line["mark"] == {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5}
    assert bars["mark"] == {"type": "rule", "strokeWidth": 6, "strokeCap": "round"}
    assert points["mark"] == {"type": "point", "filled": True, "size": 44, "opacity": 1}
    assert (line["data"]["values"], bars["data"]["values"], points["data"]["values"]) == (
        [{"what": "best", "at": 1.5}],
        [{"team": "a", "what": "range", "from": 1.0, "to": 2.0}],
        [{"team": "a", "what": "rank", "at": 1.0}, {"team": "b", "what": "rank", "at": 2.0}],
    )
    color = points["encoding"]["color"]
    assert color["scale"] == {
        "domain": ["range", "rank", "best"], "range": ["red", "blue", "#565d6b"]
    }  # fmt: skip
    legend = {name: value for name, value in color["legend"].items() if "symbol" not in name}
    assert legend == {"orient": "top", "title": None, "columns": 1}
    of_symbols = {
        "symbolType": ('{"range": "stroke", "best": "stroke"}', '"circle"'),
        "symbolStrokeWidth": ('{"range": 6, "best": 1.5}', "0"),
        "symbolDash": ('{"best": [4, 3]}', "[]"),
    }
    for name, (values, otherwise) in of_symbols.items():
        assert color["legend"][name] == {"expr": f"({values})[datum.value] || {otherwise}"}
    assert points["encoding"]["x"]["scale"] == rank_scale(2)
    assert chart["height"] == {"step": 19}
    many = [f"t{place}" for place in range(51)]
    values = np.arange(51.0)
    first, lower = (
        ranges_chart(many, [Points("score", values, color="blue")], axis="score", **options)
        for options in ({}, {"lines": {"least": -3.0}})
    )
    (points,) = first["layer"]
    assert len(points["data"]["values"]) == 50
    assert points["encoding"]["x"]["scale"]["domain"] == [0.0, 49.0]
    assert lower["layer"][1]["encoding"]["x"]["scale"]["domain"] == [-3.0, 49.0]


def test_a_thousand_teams_are_points_of_a_shake_up() -> None:
    ranks = [*range(1, 1_002)]
    chart = shake_up_chart([f"t{rank}" for rank in ranks], ranks, private=ranks)
    assert len(chart["layer"][1]["data"]["values"]) == 1_000


def test_charts_of_a_board_show_its_columns() -> None:
    standings = [
        {
            "team": team, "rank": rank, "rank_low": rank - 0.5, "rank_high": rank + 0.5,
            "bootstrap_rank_low": rank - 0.25, "bootstrap_rank_high": rank + 0.25,
            "score": 1 - rank / 8, "score_low": 0.75 - rank / 8, "score_high": 2 - rank / 8,
            "win_rate": share, "public_rank": 3 - rank,
        }
        for team, rank, share in (("a", 1, 0.75), ("b", 2, None))
    ]  # fmt: skip
    best = {"estimate": 0.75, "low": 0.5, "high": 0.875}
    rows_of_charts = {}
    for name in ("rank-intervals", "wins", "score-intervals", "best-score", "shake-up"):
        chart = standings_chart(name, standings, best=best)
        assert chart is not None
        parts = [chart, *chart["layer"]]
        rows = [row for part in parts for row in part.get("data", {}).get("values", ())]
        rows_of_charts[name] = [
            tuple(row.values()) for row in rows if row.get("team") in ("a", "best score")
        ]
    shake_up = rows_of_charts.pop("shake-up")
    assert ("a", 2, 1, "rose") in shake_up
    assert rows_of_charts == {
        "rank-intervals": [
            ("a", "rank interval", 0.5, 1.5), ("a", "bootstrap rank range", 0.75, 1.25),
            ("a", "rank on the board", 1.0),
        ],
        "wins": [("a", 0.75)],
        "score-intervals": [
            ("a", "interval of the score", 0.625, 1.875), ("a", "score on the board", 0.875)
        ],
        "best-score": [
            ("best score", "best true score", 0.5, 0.875),
            ("best score", "best score on the board", 0.875),
            ("best score", "corrected for selection", 0.75),
        ],
    }  # fmt: skip
