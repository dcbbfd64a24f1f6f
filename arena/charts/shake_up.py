"""The public rank of every team against its private one."""

from __future__ import annotations

from collections.abc import Sequence

from arena.charts.specification import Specification, layered, whole_axis
from arena.charts.theme import BLUE, GREY, ORANGE
from arena.text import shorten

__all__ = ["shake_up_chart"]

_HEIGHT = 480
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
    """Draw a point per team that has both ranks; above the line are those who rose.

    Parameters
    ----------
    teams
        m names, the best on the private board first.
    public, private
        m ranks, 1 = best.
    most
        How many points at most.

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
        {"team": team, "public": before, "private": after, "moved": _moved(before, after)}
        for team, before, after in both
    ]
    last = max([2, *(rank for _, *ranks in both for rank in ranks)])
    place = {
        "x": _rank_axis("public", last, reverse=False),
        "y": _rank_axis("private", last, reverse=True),
    }
    points = {
        "data": {"values": rows},
        "mark": {"type": "point", "filled": True, "size": 60, "opacity": 0.85},
        "encoding": {**place, **_legend(), "tooltip": _tooltip()},
    }
    ends = [{"public": end, "private": end} for end in (1, last)]
    same = {
        "data": {"values": ends},
        "mark": {"type": "line", "color": GREY, "strokeDash": [4, 3]},
        "encoding": place,
    }
    return layered([same, points], height=_HEIGHT)


def _moved(before: int, after: int) -> str:
    return "rose" if after < before else "fell" if after > before else "kept its rank"


def _legend() -> Specification:
    colors, shapes = zip(*_MOVES.values(), strict=True)
    moved = {"field": "moved", "type": "nominal", "title": None, "legend": {"orient": "top"}}
    ranges = {"color": colors, "shape": shapes}
    return {
        channel: {**moved, "scale": {"domain": list(_MOVES), "range": list(values)}}
        for channel, values in ranges.items()
    }


def _tooltip() -> list[Specification]:
    ranks = [{"field": name, "type": "quantitative"} for name in ("public", "private")]
    return [{"field": "team", "type": "nominal"}, *ranks]


def _rank_axis(name: str, last: int, *, reverse: bool) -> Specification:
    return {
        "field": name,
        "type": "quantitative",
        "title": f"{name} rank",
        "scale": {"domain": [1, last], "reverse": reverse, "nice": False, "padding": 8},
        "axis": whole_axis(last),
    }
