"""The pictures of a floor: its intervals, the calibration of scores, and a board above it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.charts import Bars, Points, Specification, ranges_chart
from arena.charts.specification import layered
from arena.charts.theme import BLUE, GREY, ORANGE, PALE
from arena.types import FloatArray

if TYPE_CHECKING:
    from arena_bayes_error.estimate import BayesErrorEstimate
    from arena_bayes_error.neighbours import CoverHartBounds
    from arena_bayes_error.platt import PlattFit

__all__ = [
    "board_specification",
    "bounds_specification",
    "calibration_specification",
    "intervals_specification",
]

_MOST_BINS = 20
_CURVE = 200
_PERCENT = {"format": ".2~%", "tickCount": 6, "labelOverlap": "greedy"}
_ROWS = {
    "t": "t interval",
    "bootstrap": "bootstrap interval",
    "Wilson": "Wilson's interval",
    "corrected for few labels": "corrected t interval",
    "scaling fitted anew": "bootstrap, scaled anew",
    "Hoeffding": "Hoeffding's bound",
}
"""What the intervals are called in a picture."""


def intervals_specification(found: BayesErrorEstimate) -> Specification:
    """Return the estimate, a line, with every interval that there is, one below the other."""
    ends = found.intervals()
    low, high = (np.array([pair[at] for pair in ends.values()]) for at in (0, 1))
    bound = np.array([name == "Hoeffding" for name in ends])
    series = [
        Bars(label, np.where(here, low, np.nan), np.where(here, high, np.nan), color, 6)
        for label, here, color in (
            (f"interval at {found.level:.0%}", ~bound, BLUE),
            (f"bound that holds with {1 - found.delta:.0%}", bound, GREY),
        )
    ]
    names = [_ROWS.get(name, name) for name in ends]
    line = {"estimate": found.estimate}
    return _in_percent(ranges_chart(names, series, "Bayes error", lines=line))


def _in_percent(chart: Specification) -> Specification:
    """Write the values along x as percentages, few enough to stand side by side."""
    for layer in chart["layer"]:
        x = layer["encoding"]["x"]
        if "axis" in x:
            x["axis"] = _PERCENT
    return chart


def bounds_specification(found: CoverHartBounds) -> Specification:
    """Return the range between the bounds, and that between their outer ends."""
    outer = Bars(
        f"with the ends at {found.level:.0%}", [found.lower_end], [found.upper_end], PALE, 11
    )
    inner = Bars("between the bounds", [found.lower], [found.upper], BLUE, 5)
    return _in_percent(ranges_chart(["Bayes error"], [outer, inner], "error rate"))


def calibration_specification(fit: PlattFit) -> Specification:
    """Return the share of positive labels in bins of the score, with the fitted curve over them.

    Bins hold about equally many rows, at most 20 of them.
    """
    x = {"type": "quantitative", "title": "score", "scale": {"zero": False}}
    y = {"type": "quantitative", "title": "share of positive labels", "scale": {"domain": [0, 1]}}
    at = np.linspace(fit.scores.min(), fit.scores.max(), _CURVE)
    height = 1 / (1 + np.exp(-(fit.intercept + fit.slope * at)))
    legend = {"orient": "top", "title": None}
    scale = {"domain": ["observed", "fitted"], "range": [ORANGE, BLUE]}
    color = {"field": "what", "type": "nominal", "scale": scale, "legend": legend}
    curve = [
        {"score": float(a), "share": float(b), "what": "fitted"}
        for a, b in zip(at, height, strict=True)
    ]
    place = {"x": {"field": "score", **x}, "y": {"field": "share", **y}, "color": color}
    size = {
        "field": "rows",
        "type": "quantitative",
        "legend": {**legend, "title": "rows in a point"},
    }
    layers: list[Specification] = [
        {"data": {"values": curve}, "mark": {"type": "line"}, "encoding": place},
        {
            "data": {"values": _bins(fit)},
            "mark": {"type": "point", "filled": True, "opacity": 0.9},
            "encoding": {**place, "size": size},
        },
    ]
    return layered(layers, height=260)


def _bins(fit: PlattFit) -> list[dict[str, Any]]:
    edges = np.unique(np.quantile(fit.scores, np.linspace(0, 1, _MOST_BINS + 1)))
    bins = np.clip(np.searchsorted(edges, fit.scores, side="right") - 1, 0, max(len(edges) - 2, 0))
    rows = []
    for one in np.unique(bins):
        inside = bins == one
        rows.append(
            {
                "score": float(fit.scores[inside].mean()),
                "share": float(fit.positive[inside].mean()),
                "rows": int(inside.sum()),
                "what": "observed",
            }
        )
    return rows


def board_specification(
    teams: Sequence[str], against_labels: FloatArray, against_soft: FloatArray,
    floor: float, interval: tuple[float, float],
) -> Specification:  # fmt: skip
    """Return submissions by their errors, the best first, with the floor as a band behind them.

    Parameters
    ----------
    teams
        m names, the best first.
    against_labels, against_soft
        ``(m,)`` errors against the labels, and expected against the soft labels.
    floor, interval
        The estimated floor and its interval.
    """
    points = [
        Points("error against the soft labels", against_soft, BLUE),
        Points("error against the labels", against_labels, ORANGE),
    ]
    line = "floor, and its interval as a band"
    chart = ranges_chart(teams, points, "error rate", lines={line: floor})
    shapes = {one.label: shape for one, shape in zip(points, ("circle", "diamond"), strict=True)}
    for layer in chart["layer"]:
        _tell_apart(layer["encoding"], {**shapes, line: "stroke"})
    low, high = interval
    band: Specification = {
        "data": {"values": [{"low": low, "high": high}]},
        "mark": {"type": "rect", "opacity": 0.6, "color": PALE, "stroke": GREY},
        "encoding": {
            "x": {"field": "low", "type": "quantitative"},
            "x2": {"field": "high"},
            "tooltip": [
                {"field": one, "type": "quantitative", "format": ".2%"} for one in ("low", "high")
            ],
        },
    }
    return {**chart, "layer": [band, *chart["layer"]]}


def _tell_apart(encoding: Specification, shapes: Mapping[str, str]) -> None:
    """Give each series a shape beside its colour, and errors as percentages."""
    legend = {"orient": "top", "title": None, "columns": 1}
    scale = {"domain": list(shapes), "range": list(shapes.values())}
    encoding["color"] = {**encoding["color"], "legend": legend}
    if "y" in encoding:  # points; a line across all teams has no shape
        encoding["shape"] = {"field": "what", "type": "nominal", "scale": scale, "legend": legend}
        encoding["x"] = {**encoding["x"], "axis": _PERCENT, "scale": {"zero": True}}
