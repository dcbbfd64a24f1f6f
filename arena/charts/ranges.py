"""A chart with one line per team that shows ranges and points, such as intervals of ranks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.charts.labels import axis_labels
from arena.charts.specification import (
    Specification,
    category_axis,
    layered,
    rank_scale,
    score_axis,
    whole_axis,
)
from arena.charts.theme import MUTED
from arena.utils.formatting import BoardDisplay
from arena.utils.tabular import as_json

MOST_TEAMS = 50
"""The maximum number of teams in a chart."""

_STEP = 19
_DASH, _LINE_WIDTH = [4, 3], 1.5


@dataclass(frozen=True, slots=True, eq=False)
class Bars:
    """One range per team."""

    label: str
    """The text in the legend."""
    low: npt.ArrayLike
    """``(m,)``; values that are not finite are not drawn."""
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
    """``(m,)``; values that are not finite are not drawn."""
    color: str
    size: float = 44
    """Square pixels."""


Series = Sequence[Bars | Points]


def ranges_chart(
    teams: Sequence[str],
    series: Series,
    axis: str,
    *,
    whole: bool = False,
    lines: Mapping[str, float] | None = None,
    display: BoardDisplay | None = None,
    most: int = MOST_TEAMS,
) -> Specification:
    """Draw the first teams from top to bottom, each with its ranges and points.

    Parameters
    ----------
    teams
        m names, the best first.
    series
        Drawn in this order, later ones on top.
    axis
        The title of the axis.
    whole
        Whether the values are positive integers, such as ranks.
    lines
        Values marked across all teams, by label.
    display
        Digits and unit of the axis, if the values are scores.
    most
        The maximum number of teams shown.

    Examples
    --------
    >>> chart = ranges_chart(["a", "b"], [Bars("range", [1, 1], [1, 2], "#0a5c9c", 6)], "rank")
    >>> chart["layer"][0]["data"]["values"][1]
    {'team': 'b', 'what': 'range', 'from': 1.0, 'to': 2.0}
    """
    labels = axis_labels(teams[:most])
    columns = [
        (marks.low, marks.high) if isinstance(marks, Bars) else (marks.value,) for marks in series
    ]
    values = np.concatenate(
        [np.asarray(values, dtype=np.float64)[:most] for column in columns for values in column]
    )
    if whole:
        last = int(np.nanmax(values, initial=1))
        ends: Specification = {"scale": rank_scale(last), "axis": whole_axis(last)}
    else:
        ends = score_axis([*values.tolist(), *(lines or {}).values()], display)
    x = {"type": "quantitative", "title": axis, **ends}
    colors = {**{marks.label: marks.color for marks in series}, **dict.fromkeys(lines or {}, MUTED)}
    color = {
        "field": "what",
        "type": "nominal",
        "scale": {"domain": list(colors), "range": list(colors.values())},
        "legend": {"orient": "top", "title": None, "columns": 1, **_symbols(series, lines or {})},
    }
    encoding = {"y": category_axis("team", labels), "color": color}
    layers = [_line(label, value, color) for label, value in (lines or {}).items()]
    layers += [_layer(marks, labels, x, encoding) for marks in series]
    return layered(layers, height={"step": _STEP})


def _layer(
    marks: Bars | Points, labels: Sequence[str], x: Specification, encoding: Specification
) -> Specification:
    if isinstance(marks, Bars):
        columns = {"from": marks.low, "to": marks.high}
        mark = {"type": "rule", "strokeWidth": marks.width, "strokeCap": "round"}
        ends = {"x": {"field": "from", **x}, "x2": {"field": "to"}}
    else:
        columns = {"at": marks.value}
        mark = {"type": "point", "filled": True, "size": marks.size, "opacity": 1}
        ends = {"x": {"field": "at", **x}}
    return {
        "data": {"values": _rows(labels, marks.label, columns)},
        "mark": mark,
        "encoding": {**ends, **encoding, "tooltip": _tooltip("team", "what", *columns)},
    }


def _symbols(series: Series, lines: Mapping[str, float]) -> Specification:
    """Return the entries of the legend: a bar, a point or a dashed line, as in the chart."""
    width = {marks.label: marks.width for marks in series if isinstance(marks, Bars)}
    width |= dict.fromkeys(lines, _LINE_WIDTH)
    dashes: Mapping[str, Sequence[int]] = dict.fromkeys(lines, _DASH)

    def of(values: Mapping[str, object], otherwise: object) -> Specification:
        # Vega evaluates it for each symbol, whose label is the value of its datum.
        return {"expr": f"({json.dumps(values)})[datum.value] || {json.dumps(otherwise)}"}

    return {
        "symbolType": of(dict.fromkeys(width, "stroke"), "circle"),
        "symbolStrokeWidth": of(width, 0),
        "symbolDash": of(dashes, []),
    }


def _line(label: str, value: float, color: Specification) -> Specification:
    return {
        "data": {"values": [{"what": label, "at": value}]},
        "mark": {"type": "rule", "strokeDash": _DASH, "strokeWidth": _LINE_WIDTH},
        "encoding": {
            "x": {"field": "at", "type": "quantitative"},
            "color": color,
            "tooltip": _tooltip("what", "at"),
        },
    }


def _tooltip(*fields: str) -> list[Specification]:
    text = {"team", "what"}
    return [
        {"field": field, "type": "nominal" if field in text else "quantitative"} for field in fields
    ]


def _rows(
    labels: Sequence[str], what: str, columns: Mapping[str, npt.ArrayLike]
) -> list[dict[str, Any]]:
    """Return a row for every label whose values are all finite."""
    values = [as_json(np.asarray(column, dtype=np.float64)) for column in columns.values()]
    rows = []
    for label, *values_of_label in zip(
        labels, *(column[: len(labels)] for column in values), strict=True
    ):
        if None not in values_of_label:
            rows.append(
                {"team": label, "what": what, **dict(zip(columns, values_of_label, strict=True))}
            )
    return rows
