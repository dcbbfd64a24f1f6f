"""A scatter plot of public against private ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.charts.specification import Specification, layered, whole_axis
from arena.charts.theme import BLUE, GREY, MUTED, ORANGE
from arena.utils.text import shorten

__all__ = ["shake_up_chart"]

_HEIGHT = 480
_LABELS = 8
_LABEL_LINES = 24
"""How many lines of labels fit into the height."""
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
        "x": _rank_axis("public", last, reverse=False),
        "y": _rank_axis("private", last, reverse=True),
    }
    colors, shapes = zip(*_MOVES.values(), strict=True)
    moved = {"field": "moved", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    legend = {
        channel: {**moved, "scale": {"domain": list(_MOVES), "range": list(values)}}
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
    named = {
        "data": {"values": _labelled(both, last)},
        "encoding": {**place, "text": {"field": "team", "type": "nominal"}},
    }
    # A label on the right half ends at its point, so that it stays inside the chart.
    sides = [
        {
            **named,
            "mark": {**mark, "align": align, "dx": dx},
            "transform": [{"filter": f"datum.public {sign} {last / 2}"}],
        }
        for align, dx, sign in (("left", 9, "<="), ("right", -9, ">"))
    ]
    return layered([same, points, *sides], height=_HEIGHT)


def _labelled(both: Sequence[tuple[str, int, int]], last: int) -> list[dict[str, Any]]:
    """Return the first teams and those that moved most, if their labels do not overlap."""
    leaders = [one for one in both if 1 in one[1:]]
    movers = sorted(both, key=lambda one: -abs(one[1] - one[2]))
    chosen: list[tuple[str, int, int]] = []
    for one in dict.fromkeys([*leaders, *movers]):
        _, before, after = one
        apart = all(abs(after - other[2]) > last / _LABEL_LINES for other in chosen)
        if apart and len(chosen) < _LABELS and (1 in one[1:] or before != after):
            chosen.append(one)
    return [{"team": team, "public": before, "private": after} for team, before, after in chosen]


def _rank_axis(name: str, last: int, *, reverse: bool) -> Specification:
    return {
        "field": name,
        "type": "quantitative",
        "title": f"{name} rank",
        "scale": {"domain": [1, last], "reverse": reverse, "nice": False, "padding": 8},
        "axis": whole_axis(last),
    }
