"""A scatter plot of public against private ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arena.charts.specification import (
    Specification,
    layered,
    named,
    quantitative,
    rank_scale,
    whole_axis,
)
from arena.charts.theme import BLUE, GREY, MUTED, ORANGE
from arena.utils.text import shorten

_HEIGHT = 480
_LABELS = 8
_WIDTH = 420
"""Pixels for which labels are placed: less than most pages have, so that none collide there."""
_CHARACTER = 6.5
_LINE = 12
_POINT = 5
"""Half the width of a point."""
_GAP = 9
_SIDES: Mapping[str, Specification] = {
    "right": {"align": "left", "dx": _GAP},
    "above": {"align": "center", "dy": -_GAP - _LINE / 2},
    "left": {"align": "right", "dx": -_GAP},
    "below": {"align": "center", "dy": _GAP + _LINE / 2},
}
"""Positions of a label relative to its point."""
_MOVES = {
    "rose": (BLUE, "triangle-up"),
    "kept its rank": (GREY, "circle"),
    "fell": (ORANGE, "triangle-down"),
}


def shake_up_chart(
    teams: Sequence[str],
    public: Sequence[int | None],
    private: Sequence[int | None],
    *,
    most: int = 1_000,
) -> Specification:
    """Draw a point for each team with both ranks; teams above the line rose.

    Parameters
    ----------
    teams
        m names, in the order of the private board, the best first.
    public, private
        m ranks, 1 = best.
    most
        The maximum number of points.

    Examples
    --------
    >>> chart = shake_up_chart(["a", "b"], [2, 1], [1, 2])
    >>> [row["moved"] for row in chart["layer"][1]["data"]["values"]]
    ['rose', 'fell']
    """
    both = [
        (shorten(team, 32), before, after)
        for team, before, after in zip(teams, public, private, strict=True)
        if before is not None and after is not None
    ][:most]
    rows = [
        {
            "team": team,
            "public": before,
            "private": after,
            "moved": "rose" if after < before else "fell" if after > before else "kept its rank",
        }
        for team, before, after in both
    ]
    last = max([2, *(rank for _, *ranks in both for rank in ranks)])
    place = {
        channel: quantitative(
            name,
            f"rank on {name} rows",
            scale=rank_scale(last, reverse=reverse),
            axis=whole_axis(last),
        )
        for channel, name, reverse in (("x", "public", False), ("y", "private", True))
    }
    colors, shapes = zip(*_MOVES.values(), strict=True)
    legend = {
        channel: named("moved", list(_MOVES), values, legend={"orient": "top"})
        for channel, values in (("color", colors), ("shape", shapes))
    }
    tooltip = [{"field": "team", "type": "nominal"}]
    tooltip += [{"field": name, "type": "quantitative"} for name in ("public", "private")]
    points = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.85},
        "encoding": {**place, **legend, "tooltip": tooltip},
    }
    ends = [{"public": end, "private": end} for end in (1, last)]
    same = {
        "data": {"values": ends},
        "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3]},
        "encoding": place,
    }
    mark = {"type": "text", "color": MUTED, "fontSize": 11, "baseline": "middle"}
    labelled = labelled_sides(both, last)
    text = {**place, "text": {"field": "team", "type": "nominal"}}
    labels = [
        {
            "data": {"values": [row for side, row in labelled if side == name]},
            "mark": {**mark, **offset},
            "encoding": text,
        }
        for name, offset in _SIDES.items()
        if any(side == name for side, _ in labelled)
    ]
    return layered([same, points, *labels], height=_HEIGHT)


def labelled_sides(
    both: Sequence[tuple[str, int, int]], last: int
) -> list[tuple[str, dict[str, Any]]]:
    """Return sides and rows of labels: of the first teams, then of those that moved most.

    A label has the first side on which it is inside the chart and hides no point and no other
    label, away from the line if it can; without one it is left out.
    """
    leaders = [team for team in both if 1 in team[1:]]
    movers = sorted(both, key=lambda team_ranks: -abs(team_ranks[1] - team_ranks[2]))
    right, down = _WIDTH / max(last - 1, 1), _HEIGHT / max(last - 1, 1)
    corner_of = {team: ((team[1] - 1) * right, (team[2] - 1) * down) for team in both}
    taken = [(x - _POINT, y - _POINT, x + _POINT, y + _POINT) for x, y in corner_of.values()]
    chosen: list[tuple[str, dict[str, Any]]] = []
    for team_ranks in dict.fromkeys([*leaders, *movers]):
        team, before, after = team_ranks
        if len(chosen) == _LABELS or not (1 in team_ranks[1:] or before != after):
            continue
        width = _CHARACTER * len(team)
        for side in ("left", "below", "right", "above") if after > before else _SIDES:
            box = label_box(side, *corner_of[team_ranks], width)
            if is_in_chart(box) and not any(boxes_overlap(box, other) for other in taken):
                taken.append(box)
                chosen.append((side, {"team": team, "public": before, "private": after}))
                break
    return chosen


LabelBox = tuple[float, float, float, float]


def label_box(side: str, x: float, y: float, width: float) -> LabelBox:
    """Return left, top, right and bottom of a label at a point, in pixels."""
    if side in ("right", "left"):
        start = x + _GAP if side == "right" else x - _GAP - width
        return start, y - _LINE / 2, start + width, y + _LINE / 2
    top = y - _GAP - _LINE if side == "above" else y + _GAP
    return x - width / 2, top, x + width / 2, top + _LINE


def is_in_chart(box: LabelBox) -> bool:
    """Return whether a label is in the chart, but for its margins."""
    left, top, right, bottom = box
    return left >= -_GAP and top >= -_LINE and right <= _WIDTH + _GAP and bottom <= _HEIGHT + _LINE


def boxes_overlap(box: LabelBox, other: LabelBox) -> bool:
    """Return whether two labels cover a common point."""
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
