"""Charts of the significance map, the agreement of rankings, and the podium."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.charts import Specification, axis_labels
from arena.charts.specification import category_axis, layered, named, quantitative, quoted
from arena.charts.theme import BLUE, GREY, GRID, INK, PALE
from arena.types import FloatArray, IntArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.encodings import (
    STEP,
    flattened,
    team_colors,
    tooltip,
)

_BINS = 24
_BAND = 64
_HEIGHT = 260


def pairs_chart(teams: Sequence[str], better: npt.NDArray[np.bool_]) -> Specification:
    """Draw a square for every pair in which the team in the row is significantly better."""
    labels = axis_labels(teams)
    rows = [
        {"team": label, "than": [labels[k] for k in np.flatnonzero(is_better)]}
        for label, is_better in zip(labels, better, strict=True)
    ]
    axis = {"labelAngle": -90, "ticks": False, "domain": False, "orient": "top", "labelLimit": 110}
    axis["titlePadding"] = 10
    x = named("than", labels, title="… is significantly better than", axis=axis)
    place = {"x": x, "y": category_axis("team", labels)}
    diagonal = {
        "data": {"values": [{"team": label, "than": label} for label in labels]},
        "mark": {"type": "rect", "color": GRID},
        "encoding": place,
    }
    decided = {
        "data": {"values": rows},
        "transform": flattened("than"),
        "mark": {"type": "rect", "color": BLUE},
        "encoding": {**place, "tooltip": tooltip("team", "than")},
    }
    return layered([diagonal, decided], height=STEP)


def violins_chart(
    tau: Mapping[str, FloatArray], summaries: Mapping[str, Mapping[str, float]]
) -> Specification:
    """Draw one violin for each name, with its median and percentiles.

    Parameters
    ----------
    tau
        ``(B,)`` by name; what is not finite is not drawn.
    summaries
        ``median``, ``low`` and ``high`` by name.
    """
    names = axis_labels(list(tau))
    outlines = [
        row
        for method_number, taus in enumerate(tau.values())
        for row in _outline(taus, method_number)
    ]
    rows: list[Specification] = as_json(
        [
            {"name": name, "at": height, **summaries[key]}
            for height, (name, key) in enumerate(zip(names, tau, strict=True))
        ]
    )
    rows = [row for row in rows if row["median"] is not None]
    x, y = _agreement_axis(), _named_heights(names)
    ends = dict.fromkeys(("median", "low", "high"), ".3f")
    center: Specification = {
        "y": {"field": "at", **y},
        "tooltip": tooltip("name", *ends, formats=ends),
    }
    violins: Specification = {
        "data": {"values": outlines},
        "mark": {"type": "area", "color": PALE},
        "encoding": {
            "x": {"field": "tau", **x},
            "y": {"field": "from", **y},
            "y2": {"field": "to"},
            "detail": {"field": "at"},
        },
    }
    bars: Specification = {
        "mark": {"type": "rule", "color": BLUE, "strokeWidth": 3},
        "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}, **center},
    }
    medians: Specification = {
        "mark": {"type": "tick", "color": INK, "thickness": 2, "size": 20, "orient": "vertical"},
        "encoding": {"x": {"field": "median", **x}, **center},
    }
    height = _BAND * max(2, len(names))
    return layered([violins, bars, medians], height=height, rows=rows)


def _agreement_axis() -> Specification:
    title = "agreement with the ranking (1: the same order)"
    return {
        "type": "quantitative",
        "title": title,
        "scale": {"zero": False, "domainMax": 1},
        "axis": {"tickCount": 6},
    }


def _named_heights(names: Sequence[str]) -> Specification:
    """Return the encoding of numbers along y, from the top down, labelled with names."""
    chosen = [f"datum.value == {height} ? {quoted(name)} : " for height, name in enumerate(names)]
    axis = {
        "values": list(range(len(names))),
        "labelExpr": "".join(chosen) + "''",
        "grid": False,
        "ticks": False,
        "domain": False,
    }
    scale = {"domain": [-0.5, len(names) - 0.5], "reverse": True, "nice": False, "zero": False}
    return {"type": "quantitative", "title": None, "scale": scale, "axis": axis}


def _outline(tau: FloatArray, height: int) -> list[dict[str, float]]:
    """Return the outline of a violin around a height, at most 0.8 high."""
    finite = tau[np.isfinite(tau)]
    if not len(finite):
        return []
    low, high = float(finite.min()), float(finite.max())
    bins = min(_BINS, max(5, len(np.unique(finite))))
    counts, edges = np.histogram(finite, bins=bins, range=(low - 1e-3, min(high + 1e-3, 1.0)))
    smooth = np.convolve(counts, [0.25, 0.5, 0.25], mode="same")  # tau takes few values
    half = (0.4 * smooth / smooth.max()).round(4).tolist()
    centers = (edges[:-1] + edges[1:]) / 2
    centers[[0, -1]] = edges[[0, -1]]  # the outline covers the range of the values
    return [
        {"tau": x, "at": height, "from": round(height - h, 4), "to": round(height + h, 4)}
        for x, h in zip(centers.round(4).tolist(), half, strict=True)
    ]


def podium_chart(
    teams: Sequence[str], shares: FloatArray, what: str = "share of the cases"
) -> Specification:
    """Draw, for each place, how often each team takes it."""
    labels = axis_labels(teams)
    rows = [
        {"place": place, "team": label, "share": share}
        for label, team_shares in zip(labels, shares.round(4).tolist(), strict=True)
        for place, share in enumerate(team_shares, start=1)
    ]
    bars = {
        "mark": "bar",
        "encoding": {
            "x": _place(),
            "xOffset": {"field": "team", "type": "nominal", "sort": labels},
            "y": quantitative("share", what, axis={"format": ".0%"}),
            "color": team_colors(labels),
            "tooltip": tooltip("team", "place", "share", formats={"share": ".1%"}),
        },
    }
    return layered([bars], height=_HEIGHT, rows=rows)


def _place() -> Specification:
    axis = {"labelAngle": 0, "ticks": False}
    return {"field": "place", "type": "ordinal", "title": "place", "axis": axis}


def cases_chart(
    teams: Sequence[str], values: FloatArray, places: IntArray, axis: str
) -> Specification:
    """Draw the values of a few cases by place, one line per case."""
    labels = axis_labels(teams)
    rows: list[dict[str, Any]] = [
        {"case": case, "place": int(place), "team": label, "value": float(f"{value:.5g}")}
        for label, team_values, own_places in zip(labels, values, places, strict=True)
        for case, (value, place) in enumerate(zip(team_values, own_places, strict=True), start=1)
    ]
    y = quantitative("value", axis, scale={"zero": False})
    lines = {
        "mark": {"type": "line", "color": GREY, "opacity": 0.35, "strokeWidth": 1},
        "encoding": {"x": _place(), "y": y, "detail": {"field": "case"}},
    }
    dots = {
        "mark": {"type": "circle", "size": 36, "opacity": 0.9},
        "encoding": {
            "x": _place(),
            "y": y,
            "color": team_colors(labels),
            "tooltip": tooltip("team", "place", "value", formats={"value": ".4~g"}),
        },
    }
    return layered([lines, dots], height=_HEIGHT, rows=rows)
