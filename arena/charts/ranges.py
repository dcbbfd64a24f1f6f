"""One line per team with ranges and points on it: intervals of ranks, and of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from arena.charts.labels import axis_labels
from arena.charts.theme import MUTED
from arena.results import as_json

if TYPE_CHECKING:
    import altair as alt

__all__ = ["MOST_TEAMS", "Bars", "Points", "ranges_chart"]

MOST_TEAMS = 50
"""How many teams a picture shows."""

_STEP = 19
_WIDTH = 640


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """One range per team."""

    label: str
    """What the range is, for the legend."""
    low: npt.ArrayLike
    """``(m,)``."""
    high: npt.ArrayLike
    """``(m,)``."""
    color: str
    width: float
    """Pixels."""


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """One value per team."""

    label: str
    value: npt.ArrayLike
    """``(m,)``."""
    color: str


def ranges_chart(
    teams: Sequence[str],
    series: Sequence[Bars | Points],
    axis: str,
    *,
    whole: bool = False,
    lines: Mapping[str, float] | None = None,
    most: int = MOST_TEAMS,
) -> alt.LayerChart:
    """Draw the first teams from the top down, each with its ranges and points.

    Parameters
    ----------
    teams
        m names, the best first.
    series
        Drawn one over the other, in this order.
    axis
        What the values are.
    whole
        Whether they are whole numbers from 1 on, as ranks are.
    lines
        Values that are marked across all teams, by label.
    most
        How many teams are drawn.

    Examples
    --------
    >>> chart = ranges_chart(["a", "b"], [Bars("range", [1, 1], [1, 2], "#0a5c9c", 6)], "rank")
    >>> len(chart.to_dict()["layer"])
    1
    """
    import altair as alt

    labels = axis_labels(teams[:most])
    x = alt.X(
        title=axis,
        scale=alt.Scale(zero=False, nice=not whole, **({"domainMin": 1} if whole else {})),
        axis=alt.Axis(tickMinStep=1 if whole else alt.Undefined, format="d" if whole else ".4~g"),
    )
    y = alt.Y("team:N", title=None, scale=alt.Scale(domain=labels), axis=alt.Axis(ticks=False))
    color = _legend(series, lines or {})
    layers: list[Any] = [_line(label, at, color) for label, at in (lines or {}).items()]
    layers += [_layer(one, labels, x, y, color) for one in series]
    return alt.layer(*layers).properties(width=_WIDTH, height=alt.Step(_STEP))


def _legend(series: Sequence[Bars | Points], lines: Mapping[str, float]) -> alt.Color:
    import altair as alt

    colors = {**dict.fromkeys(lines, MUTED), **{one.label: one.color for one in series}}
    legend = alt.Legend(orient="top", title=None, symbolType="circle", columns=1)
    scale = alt.Scale(domain=list(colors), range=list(colors.values()))
    return alt.Color("what:N", scale=scale, legend=legend)


def _layer(
    one: Bars | Points, labels: Sequence[str], x: alt.X, y: alt.Y, color: alt.Color
) -> alt.Chart:
    import altair as alt

    if isinstance(one, Bars):
        rows = _rows(labels, one.label, from_=one.low, to=one.high)
        mark = {"type": "rule", "strokeWidth": one.width, "strokeCap": "round"}
        names: tuple[str, ...] = ("from", "to")
    else:
        rows = _rows(labels, one.label, at=one.value)
        mark = {"type": "point", "filled": True, "size": 44, "opacity": 1}
        names = ("at",)
    x = x.copy()
    x.shorthand = f"{names[0]}:Q"
    encodings: dict[str, Any] = {"x": x, "y": y, "color": color}
    if len(names) == 2:
        encodings["x2"] = alt.X2("to:Q")
    tooltip = ["team:N", "what:N", *(f"{name}:Q" for name in names)]
    chart = alt.Chart(alt.Data(values=rows), mark=mark)
    return chart.encode(**encodings, tooltip=tooltip)


def _line(label: str, at: float, color: alt.Color) -> alt.Chart:
    import altair as alt

    data = alt.Data(values=[{"at": at, "what": label}])
    mark = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5}
    return alt.Chart(data, mark=mark).encode(x="at:Q", color=color, tooltip=["what:N", "at:Q"])


def _rows(labels: Sequence[str], what: str, **columns: npt.ArrayLike) -> list[dict[str, Any]]:
    """Return a row for every label whose values are all known."""
    values = {name.strip("_"): as_json(list(column)) for name, column in columns.items()}
    rows = []
    for place, label in enumerate(labels):
        own = {name: column[place] for name, column in values.items()}
        if None not in own.values():
            rows.append({"team": label, "what": what, **own})
    return rows
