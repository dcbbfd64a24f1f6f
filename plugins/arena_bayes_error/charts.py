"""Charts of the results of this package: intervals, bounds, calibration, and a board.

:func:`chart` finds the chart of a result by its type. The results do not refer to their charts, so
that a computation never imports a drawing library.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import TYPE_CHECKING, Any

import numpy as np

from arena.charts import Bars, Points, Specification, as_altair, ranges_chart
from arena.charts.specification import layered, named, quantitative
from arena.charts.theme import BLUE, GREY, ORANGE, PALE
from arena.interfaces import FloorEstimate
from arena.types import FloatArray
from arena.utils.formatting import level_text
from arena_bayes_error.estimate import BayesErrorEstimate
from arena_bayes_error.neighbours import CoverHartBounds
from arena_bayes_error.platt import PlattFit

if TYPE_CHECKING:
    import altair as alt

_MOST_BINS = 20
_CURVE = 200
_PERCENT = {"format": ".2~%", "tickCount": 6, "labelOverlap": "greedy"}
_ROWS = {
    "bounded": "interval for few rows",
    "t": "t interval",
    "bootstrap": "bootstrap interval",
    "Wilson": "Wilson interval",
    "corrected for few labels": "corrected interval",
    "moment bounds": "moment bounds, model-free",
    "scaling refitted": "bootstrap with refitted scaling",
    "Hoeffding": "Hoeffding bound",
}
"""Names of the intervals in a chart."""


def chart(result: BayesErrorEstimate | CoverHartBounds | PlattFit) -> alt.LayerChart:
    """Return the chart of a result of this package.

    An estimate is drawn with each of its intervals, bounds with their outer ends, and a Platt fit
    as a calibration curve.

    Raises
    ------
    TypeError
        If there is no chart for results of this type.

    Examples
    --------
    >>> from arena_bayes_error.estimators import from_soft_labels
    >>> len(chart(from_soft_labels([0.9, 0.2, 1.0])).layer)
    3
    """
    return as_altair(specification(result))


@singledispatch
def specification(result: Any) -> Specification:
    """Return the Vega-Lite specification of :func:`chart`."""
    raise TypeError(f"There is no chart for {type(result).__name__}.")


@specification.register
def _intervals(estimate: BayesErrorEstimate) -> Specification:
    """Draw the estimate as a line, and each of its intervals in a separate row."""
    ends = estimate.intervals()
    low, high = (np.array([pair[end] for pair in ends.values()]) for end in (0, 1))
    bound = np.array([name == "Hoeffding" for name in ends])
    series = [
        Bars(label, np.where(here, low, np.nan), np.where(here, high, np.nan), color, 6)
        for label, here, color in (
            (f"{level_text(estimate.level)} interval", ~bound, BLUE),
            (f"bound with probability {1 - estimate.delta:.0%}", bound, GREY),
        )
    ]
    names = [_ROWS.get(name, name) for name in ends]
    line = {"estimate": estimate.estimate}
    return _in_percent(ranges_chart(names, series, "Bayes error", lines=line))


@specification.register
def _of_another_plugin(estimate: FloorEstimate) -> Specification:
    """Draw the estimate as a line, and its interval."""
    low, high = estimate.interval
    series = [
        Bars(f"{level_text(estimate.level)} interval", np.array([low]), np.array([high]), BLUE, 6)
    ]
    line = {"estimate": estimate.estimate}
    return _in_percent(ranges_chart(["interval"], series, "Bayes error", lines=line))


@specification.register
def _bounds(bounds: CoverHartBounds) -> Specification:
    """Draw the range between the bounds, and that between their confidence limits."""
    outer = Bars(
        f"{level_text(bounds.level)} confidence limits",
        [bounds.lower_end],
        [bounds.upper_end],
        PALE,
        11,
    )
    inner = Bars("between the bounds", [bounds.lower], [bounds.upper], BLUE, 5)
    return _in_percent(ranges_chart(["Bayes error"], [outer, inner], "error rate"))


def _in_percent(drawn: Specification) -> Specification:
    """Write the values along x as percentages, with few enough ticks to fit side by side."""
    for layer in drawn["layer"]:
        x = layer["encoding"]["x"]
        if "axis" in x:
            x["axis"] = _PERCENT
    return drawn


@specification.register
def _calibration(fit: PlattFit) -> Specification:
    """Draw the share of positive labels in up to 20 equally large bins, and the fitted curve."""
    grid = np.linspace(fit.scores.min(), fit.scores.max(), _CURVE)
    height = 1 / (1 + np.exp(-(fit.intercept + fit.slope * grid)))
    curve = [
        {"score": float(a), "share": float(b), "what": "fitted"}
        for a, b in zip(grid, height, strict=True)
    ]
    edges = np.unique(np.quantile(fit.scores, np.linspace(0, 1, _MOST_BINS + 1)))
    bins = np.clip(np.searchsorted(edges, fit.scores, side="right") - 1, 0, max(len(edges) - 2, 0))
    observed = [
        {
            "score": float(fit.scores[inside].mean()),
            "share": float(fit.positive[inside].mean()),
            "rows": int(inside.sum()),
            "what": "observed",
        }
        for inside in (bins == bin_number for bin_number in np.unique(bins))
    ]
    top = {"orient": "top"}
    place = {
        "x": quantitative("score", scale={"zero": False}),
        "y": quantitative("share", "share of positive labels", scale={"domain": [0, 1]}),
        "color": named("what", ["observed", "fitted"], [ORANGE, BLUE], legend=top),
    }
    size = quantitative("rows", "rows in a point", legend=top)
    return layered(
        [
            {"data": {"values": curve}, "mark": {"type": "line"}, "encoding": place},
            {
                "data": {"values": observed},
                "mark": {"type": "point", "filled": True, "opacity": 0.9},
                "encoding": {**place, "size": size},
            },
        ],
        height=260,
    )


def board_specification(
    teams: Sequence[str], against_labels: FloatArray, against_soft: FloatArray,
    floor: float, interval: tuple[float, float],
) -> Specification:  # fmt: skip
    """Return the error rates of submissions, the best first, over a band for the Bayes error.

    Parameters
    ----------
    teams
        m names, the best first.
    against_labels, against_soft
        ``(m,)`` error rates against the labels, and expected against the soft labels.
    floor, interval
        The estimated Bayes error and its interval.
    """
    points = [
        Points("error against the soft labels", against_soft, BLUE),
        Points("error against the labels", against_labels, ORANGE),
    ]
    line = "Bayes error, with its interval as a band"
    drawn = ranges_chart(teams, points, "error rate", lines={line: floor})
    shapes = {points[0].label: "circle", points[1].label: "diamond", line: "stroke"}
    legend = {"orient": "top", "title": None, "columns": 1}
    for layer in drawn["layer"]:
        encoding = layer["encoding"]
        encoding["color"] = {**encoding["color"], "legend": legend}
        if "y" in encoding:  # points; the line across all teams has no shape
            encoding["shape"] = named("what", list(shapes), [*shapes.values()], legend=legend)
            encoding["x"] = {**encoding["x"], "axis": _PERCENT, "scale": {"zero": True}}
    low, high = interval
    band: Specification = {
        "data": {"values": [{"low": low, "high": high}]},
        "mark": {"type": "rect", "opacity": 0.6, "color": PALE, "stroke": GREY},
        "encoding": {
            "x": {"field": "low", "type": "quantitative"},
            "x2": {"field": "high"},
            "tooltip": [
                {"field": end, "type": "quantitative", "format": ".2%"} for end in ("low", "high")
            ],
        },
    }
    return {**drawn, "layer": [band, *drawn["layer"]]}
