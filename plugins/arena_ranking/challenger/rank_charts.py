"""Charts of ranks: stability blobs, heat maps, and lines across methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from arena.charts import Specification, axis_labels
from arena.charts.specification import (
    category_axis,
    layered,
    named,
    quantitative,
    rank_scale,
    whole_axis,
)
from arena.charts.theme import BLUE, INK, MUTED
from arena.types import FloatArray, IntArray
from arena.utils.tabular import as_json
from arena_ranking.challenger.encodings import (
    STEP,
    TEAM_COLORS,
    flattened,
    team_colors,
    tooltip,
)

_MOST_RANKS = 120
_SMALLEST_SHOWN = 0.0005
_MOST_LINES = 10
"""Teams in a chart with a line for each: more cannot be followed."""
_LEGEND_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
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
        place_rows = slice(ends[place], ends[place + 1])
        blocks, block_numbers = np.unique((rank[place_rows] - 1) // block, return_inverse=True)
        shares = np.bincount(block_numbers, weights=share[place_rows], minlength=len(blocks)).round(
            4
        )
        middle = blocks * block + (block + 1) / 2
        is_shown = shares >= _SMALLEST_SHOWN
        ranks = middle if block % 2 == 0 else middle.astype(np.intp)
        lists = {"rank": ranks[is_shown], "share": shares[is_shown]}
        numbers = {name: round(float(values[place]), 3) for name, values in summaries.items()}
        rows.append({"team": label, **lists, **numbers})
    return list(as_json(rows))


def ranks_together(rank: IntArray) -> int:
    """Return how many neighbouring ranks are drawn as one, so that no more than 120 are.

    >>> ranks_together(np.array([1, 120])), ranks_together(np.array([1, 600]))
    (1, 5)
    """
    return max(1, -(-int(rank.max()) // _MOST_RANKS))


def blobs_chart(rows: Sequence[dict[str, Any]], what: str) -> Specification:
    """Draw :func:`frequency_rows`: circles with areas by share, the median, and a bar."""
    labels = [row["team"] for row in rows]
    y = category_axis("team", labels)
    last = math.ceil(max(max([row["high"], *row["rank"]]) for row in rows))
    x = quantitative("rank", axis=whole_axis(last), scale=rank_scale(last, padding=12))
    legend = {"orient": "top", "values": [0.05, 0.25, 0.5, 1], "format": ".0%", "columns": 2}
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
    return layered([bars, blobs, medians], height=STEP, rows=rows)


def _rank_tooltip() -> list[Specification]:
    return tooltip("team", "rank", "share", formats=_TIP)


def heatmap_chart(rows: Sequence[dict[str, Any]], what: str) -> Specification:
    """Draw :func:`frequency_rows` as a heat map; darker is more frequent.

    A square is as opaque as the square root of its share, so that it starts from the colour of the
    page, in light and dark mode, and small shares are seen.
    """
    labels = [row["team"] for row in rows]
    ranks = sorted({rank for row in rows for rank in row["rank"]})
    whole = all(isinstance(rank, int) for rank in ranks) and max(ranks) <= _MOST_RANKS
    x = {
        "field": "rank",
        "type": "ordinal",
        "scale": {"domain": list(range(1, max(ranks) + 1)) if whole else ranks},
        "axis": {"labelAngle": 0, "labelOverlap": True, "ticks": False},
    }
    largest = max(share for row in rows for share in row["share"])
    shares = [share for share in _LEGEND_SHARES if share <= largest] or [largest]
    scale = {"type": "sqrt", "domain": [0, largest], "range": [0, 1]}
    squares = {
        "transform": flattened("rank", "share"),
        "mark": {"type": "rect", "color": BLUE},
        "encoding": {
            "x": x,
            "y": category_axis("team", labels),
            "opacity": quantitative("share", what, scale=scale, legend=_legend(shares, ".0%")),
            "tooltip": _rank_tooltip(),
        },
    }
    return layered([squares], height=STEP, rows=rows)


def _legend(values: Sequence[float], form: str) -> Specification:
    """Return the legend of the opacity of squares."""
    return {
        "orient": "top",
        "values": list(values),
        "format": form,
        "symbolType": "square",
        "symbolFillColor": BLUE,
        "symbolStrokeWidth": 0,
    }


def methods_chart(teams: Sequence[str], ranks: Mapping[str, IntArray]) -> Specification:
    """Draw the ranks of the first ten teams by method: one line per team, with its name beside it.

    The first five are in colour.
    """
    labels, names = axis_labels(teams[:_MOST_LINES]), list(ranks)
    rows: list[dict[str, Any]] = [
        {"team": label, "method": names, "rank": [int(ranks[name][position]) for name in names]}
        for position, label in enumerate(labels)
    ]
    last = max(max(row["rank"]) for row in rows)
    # One word a line: the names of methods are side by side, also on a telephone.
    lines_of_name = "split(datum.label, ' ')"
    axis = {"labelAngle": 0, "ticks": False, "labelExpr": lines_of_name}
    x = named("method", scale={"domain": names, "padding": 0.2}, axis=axis)
    down = rank_scale(last, reverse=True, padding=10)
    y = quantitative("rank", axis=whole_axis(last), scale=down)
    tips = tooltip("team", "method", "rank", formats={"rank": "d"})
    first, others = labels[: len(TEAM_COLORS)], labels[len(TEAM_COLORS) :]
    styles: Sequence[tuple[Sequence[str], Specification, Specification]] = (
        (others, _THIN, {"detail": {"field": "team"}}),
        (first, _THICK, {"color": {**team_colors(first), "legend": None}}),
    )
    lines: list[Specification] = [
        {
            "transform": [
                {"filter": {"field": "team", "oneOf": some}},
                *flattened("method", "rank"),
            ],
            "mark": mark,
            "encoding": {"x": x, "y": y, "tooltip": tips, **more},
        }
        for some, mark, more in styles
        if some
    ]
    labelled = {
        "data": {"values": _names_at_the_end(rows)},
        "mark": {"type": "text", "align": "left", "dx": 9, "color": INK, "fontSize": 11},
        "encoding": {
            "x": {**x, "field": "method"},
            "y": y,
            "text": {"field": "label", "type": "nominal"},
        },
    }
    height = max(220, 20 * last if last <= 2 * _MOST_LINES else 400)
    return {"padding": _NAMES_PADDING, **layered([*lines, labelled], height=height, rows=rows)}


_NAMES_PADDING = {"left": 5, "top": 5, "right": 32, "bottom": 5}
"""The viewer's font may be wider than the one that the names were measured with."""
_THIN = {
    "type": "line",
    "color": MUTED,
    "opacity": 0.6,
    "strokeWidth": 1.5,
    "point": {"size": 25, "color": MUTED},
}
_THICK = {"type": "line", "strokeWidth": 2.5, "point": {"size": 40}}


def _names_at_the_end(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a label for each rank by the last method; teams that share a rank share the label."""
    at_rank: dict[int, list[str]] = {}
    for row in rows:
        at_rank.setdefault(row["rank"][-1], []).append(row["team"])
    return [
        {
            "method": rows[0]["method"][-1],
            "rank": rank,
            "label": names[0] if len(names) == 1 else f"{names[0]} + {len(names) - 1}",
        }
        for rank, names in at_rank.items()
    ]


def task_ranks_chart(teams: Sequence[str], tasks: Sequence[str], ranks: IntArray) -> Specification:
    """Draw the ``(t, T)`` ranks of teams in tasks as squares; darker is better."""
    names = axis_labels(tasks)
    rows = [
        {"team": label, "task": names, "rank": team_ranks}
        for label, team_ranks in zip(axis_labels(teams), ranks.tolist(), strict=True)
    ]
    axis = {"labelAngle": -40 if len(names) > 4 else 0, "orient": "top", "ticks": False}
    last = max(2, int(ranks.max(initial=1)))
    scale = {"domain": [1, last], "range": [1, 0.06]}
    legend = _legend(whole_axis(last)["values"], "d")
    squares = {
        "transform": flattened("task", "rank"),
        "mark": {"type": "rect", "color": BLUE},
        "encoding": {
            "x": named("task", names, axis=axis),
            "y": category_axis("team", [row["team"] for row in rows]),
            "opacity": quantitative("rank", scale=scale, legend=legend),
            "tooltip": tooltip("team", "task", "rank", formats={"rank": "d"}),
        },
    }
    return layered([squares], height=STEP, rows=rows)
