"""The public rank of every team against its private one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arena.charts.theme import BLUE, GREY, ORANGE
from arena.text import shorten

if TYPE_CHECKING:
    import altair as alt

__all__ = ["shake_up_chart"]

_WIDTH, _HEIGHT = 640, 480
_DIRECTIONS = {"rose": BLUE, "kept its rank": GREY, "fell": ORANGE}
_SHAPES = ("triangle-up", "circle", "triangle-down")


def shake_up_chart(
    teams: Sequence[str],
    public: Sequence[int | None],
    private: Sequence[int | None],
    *,
    most: int = 1_000,
) -> alt.LayerChart:
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
    >>> [row["moved"] for row in chart.to_dict()["layer"][1]["data"]["values"]]
    ['rose', 'fell']
    """
    import altair as alt

    rows = [
        {
            "team": shorten(team, 32),
            "public": before,
            "private": after,
            "moved": _moved(before, after),
        }
        for team, before, after in zip(teams, public, private, strict=True)
        if before is not None and after is not None
    ][:most]
    last = max((rank for row in rows for rank in (row["public"], row["private"])), default=1)
    x, y = (_rank_axis(axis, name, last) for axis, name in ((alt.X, "public"), (alt.Y, "private")))
    color = alt.Color(
        "moved:N",
        title=None,
        scale=alt.Scale(domain=list(_DIRECTIONS), range=list(_DIRECTIONS.values())),
        legend=alt.Legend(orient="top"),
    )
    shape = alt.Shape(
        "moved:N", title=None, scale=alt.Scale(domain=list(_DIRECTIONS), range=list(_SHAPES))
    )
    points = alt.Chart(
        alt.Data(values=rows), mark={"type": "point", "filled": True, "size": 55, "opacity": 0.85}
    ).encode(x=x, y=y, color=color, shape=shape, tooltip=["team:N", "public:Q", "private:Q"])
    ends = alt.Data(values=[{"public": 1, "private": 1}, {"public": last, "private": last}])
    same = alt.Chart(ends, mark={"type": "line", "color": GREY, "strokeDash": [4, 3]})
    return alt.layer(same.encode(x=x, y=y), points).properties(width=_WIDTH, height=_HEIGHT)


def _moved(before: int, after: int) -> str:
    return "rose" if after < before else "fell" if after > before else "kept its rank"


def _rank_axis(axis: Any, name: str, last: int) -> Any:
    import altair as alt

    return axis(
        f"{name}:Q",
        title=f"{name} rank",
        scale=alt.Scale(domain=[1, max(last, 2)], reverse=True, nice=False, padding=8),
        axis=alt.Axis(format="d", tickMinStep=1),
    )
