"""Charts of ranks: stability blobs, heat maps, and lines across methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arena.charts import Specification, axis_labels
from arena.charts.specification import layered
from arena.charts.theme import BLUE, GREY, INK, MUTED, PALE
from arena.types import FloatArray, IntArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.encodings import (
    STEP,
    TEAM_COLORS,
    data_of,
    flattened,
    quantitative,
    team_axis,
    team_colors,
    tooltip,
)

__all__ = [
    "blobs_chart",
    "frequency_rows",
    "heatmap_chart",
    "methods_chart",
    "ranks_together",
    "task_ranks_chart",
]

_MOST_RANKS = 120
_SMALLEST_SHOWN = 0.0005
_WHOLE = {"tickMinStep": 1, "format": "d"}
_FROM_THE_TOP = {"reverse": True, "zero": False, "nice": False, "padding": 10}
_TIP = {"rank": "d", "share": ".1%"}
_ENDS = {"median": ".4~g", "low": ".4~g", "high": ".4~g"}


def frequency_rows(
    teams: Sequence[str],
    entries: tuple[IntArray, IntArray, FloatArray],
    summaries: Mapping[str, FloatArray],
) -> list[dict[str, Any]]:
    """Return one row per team with lists of ranks and shares, which keeps a chart small.

    With more than 120 ranks, neighbouring ranks are combined and drawn at their midpoint.

    Parameters
    ----------
    teams
        m names.
    entries
        Positions, ascending, ranks and shares, ``(k,)`` each; shares too small to see are omitted.
    summaries
        ``(m,)`` numbers by name.
    """
    submission, rank, share = entries
    ends = np.searchsorted(submission, np.arange(len(teams) + 1))
    block = ranks_together(rank)
    rows = []
    for place, label in enumerate(axis_labels(teams)):
        own = slice(ends[place], ends[place + 1])
        blocks, at = np.unique((rank[own] - 1) // block, return_inverse=True)
        shares = np.bincount(at, weights=share[own], minlength=len(blocks)).round(4)
        middle = blocks * block + (block + 1) / 2
        seen = shares >= _SMALLEST_SHOWN
        ranks = middle if block % 2 == 0 else middle.astype(np.intp)
        lists = {"rank": ranks[seen], "share": shares[seen]}
        numbers = {name: round(float(values[place]), 3) for name, values in summaries.items()}
        rows.append({"team": label, **lists, **numbers})
    return list(as_json(rows))


def ranks_together(rank: IntArray) -> int:
    """Return how many neighbouring ranks are drawn as one, so that no more than 120 are.

    >>> ranks_together(np.array([1, 120])), ranks_together(np.array([1, 600]))
    (1, 5)
    """
    return max(1, -(-int(rank.max(initial=1)) // _MOST_RANKS))


def blobs_chart(rows: Sequence[dict[str, Any]], what: str) -> Specification:
    """Draw :func:`frequency_rows`: circles with areas by share, the median, and a bar."""
    labels = [row["team"] for row in rows]
    y = team_axis(labels)
    scale = {"zero": False, "nice": False, "padding": 12}
    x = quantitative("rank", axis=_WHOLE, scale=scale)
    legend = {"orient": "top", "values": [0.05, 0.25, 0.5, 1], "format": ".0%"}
    size = {"domain": [0, 1], "range": [0, 400]}
    share = quantitative("share", what, scale=size, legend=legend)
    ends = tooltip("team", *_ENDS, formats=_ENDS)
    bars = {
        "mark": {"type": "rule", "color": MUTED, "strokeWidth": 1.5},
        "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}, "y": y, "tooltip": ends},
    }
    blobs = {
        "transform": flattened("rank", "share"),
        "mark": {"type": "circle", "color": BLUE, "opacity": 0.75},
        "encoding": {"x": x, "y": y, "size": share, "tooltip": _rank_tooltip()},
    }
    medians = {
        "mark": {"type": "tick", "color": INK, "thickness": 2, "size": 14, "orient": "vertical"},
        "encoding": {"x": {**x, "field": "median"}, "y": y, "tooltip": ends},
    }
    return {"data": data_of(rows), **layered([bars, blobs, medians], height=STEP)}


def _rank_tooltip() -> list[Specification]:
    return tooltip("team", "rank", "share", formats=_TIP)


def heatmap_chart(rows: Sequence[dict[str, Any]], what: str) -> Specification:
    """Draw :func:`frequency_rows` as a heat map; darker is more frequent."""
    labels = [row["team"] for row in rows]
    ranks = sorted({rank for row in rows for rank in row["rank"]})
    whole = all(isinstance(rank, int) for rank in ranks) and max(ranks, default=1) <= _MOST_RANKS
    x = {
        "field": "rank",
        "type": "ordinal",
        "scale": {"domain": list(range(1, max(ranks, default=1) + 1)) if whole else ranks},
        "axis": {"labelAngle": 0, "labelOverlap": True, "ticks": False},
    }
    legend = {"orient": "top", "format": ".0%", "gradientLength": 180}
    scale = {"range": [PALE, BLUE], "domainMin": 0}
    squares = {
        "transform": flattened("rank", "share"),
        "mark": "rect",
        "encoding": {
            "x": x,
            "y": team_axis(labels),
            "color": quantitative("share", what, scale=scale, legend=legend),
            "tooltip": _rank_tooltip(),
        },
    }
    return {"data": data_of(rows), **layered([squares], height=STEP)}


def methods_chart(teams: Sequence[str], ranks: Mapping[str, IntArray]) -> Specification:
    """Draw each team's ranks by method, one line per team; the first five in colour."""
    labels, names = axis_labels(teams), list(ranks)
    rows = [
        {"team": label, "method": names, "rank": [int(ranks[name][at]) for name in names]}
        for at, label in enumerate(labels)
    ]
    axis = {"labelAngle": 0, "orient": "top", "ticks": False}
    scale = {"domain": names, "padding": 0.2}
    x = {"field": "method", "type": "nominal", "title": None, "scale": scale, "axis": axis}
    y = quantitative("rank", axis=_WHOLE, scale=_FROM_THE_TOP)
    tips = tooltip("team", "method", "rank", formats={"rank": "d"})
    first = labels[: len(TEAM_COLORS)]
    all_teams = {
        "transform": flattened("method", "rank"),
        "mark": {"type": "line", "color": GREY, "opacity": 0.35, "strokeWidth": 1},
        "encoding": {"x": x, "y": y, "detail": {"field": "team"}, "tooltip": tips},
    }
    chosen = {
        "transform": [
            {"filter": {"field": "team", "oneOf": first}},
            *flattened("method", "rank"),
        ],
        "mark": {"type": "line", "strokeWidth": 2.5, "point": {"size": 40}},
        "encoding": {"x": x, "y": y, "color": team_colors(first), "tooltip": tips},
    }
    height = max(220, 12 * len(labels))
    return {"data": data_of(rows), **layered([all_teams, chosen], height=height)}


def task_ranks_chart(teams: Sequence[str], tasks: Sequence[str], ranks: IntArray) -> Specification:
    """Draw the ``(t, T)`` ranks of teams in tasks as squares; darker is better."""
    names = axis_labels(tasks)
    rows = [
        {"team": label, "task": names, "rank": own}
        for label, own in zip(axis_labels(teams), ranks.tolist(), strict=True)
    ]
    axis = {"labelAngle": -40 if len(names) > 4 else 0, "orient": "top", "ticks": False}
    x = {"field": "task", "type": "nominal", "title": None, "scale": {"domain": names}}
    legend = {"orient": "top", "gradientLength": 180, "tickMinStep": 1, "format": "d"}
    color = quantitative("rank", scale={"range": [BLUE, PALE]}, legend=legend)
    squares = {
        "transform": flattened("task", "rank"),
        "mark": "rect",
        "encoding": {
            "x": {**x, "axis": axis},
            "y": team_axis([row["team"] for row in rows]),
            "color": color,
            "tooltip": tooltip("team", "task", "rank", formats={"rank": "d"}),
        },
    }
    return {"data": data_of(rows), **layered([squares], height=STEP)}
