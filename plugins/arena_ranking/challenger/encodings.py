"""Parts of Vega-Lite specifications that several charts of this package share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arena.charts import Specification
from arena.charts.specification import category_axis
from arena.charts.theme import BLUE, GREY, INK, ORANGE, PALE

__all__ = [
    "STEP",
    "TEAM_COLORS",
    "data_of",
    "flattened",
    "quantitative",
    "team_axis",
    "team_colors",
    "tooltip",
]

STEP = {"step": 19}
"""The height of a chart with one line per team."""

TEAM_COLORS = (BLUE, ORANGE, GREY, PALE, INK)
"""One colour per team; all can be told apart in light and dark mode."""


def data_of(rows: Sequence[dict[str, Any]]) -> Specification:
    """Return rows as the data of a chart or a layer."""
    return {"values": list(rows)}


def flattened(*fields: str) -> list[Specification]:
    """Return the transform that makes a row of every element of the lists in these fields."""
    return [{"flatten": list(fields)}]


def quantitative(field: str, title: str | None = None, **more: Any) -> Specification:
    """Return the encoding of a number."""
    return {"field": field, "type": "quantitative", "title": title or field, **more}


def team_axis(labels: Sequence[str], field: str = "team") -> Specification:
    """Return the encoding of teams along y, one line for each."""
    return category_axis(field, labels)


def team_colors(labels: Sequence[str]) -> Specification:
    """Return the encoding of at most :data:`TEAM_COLORS` teams as colours."""
    return {
        "field": "team",
        "type": "nominal",
        "scale": {"domain": list(labels), "range": list(TEAM_COLORS[: len(labels)])},
        "legend": {"orient": "top", "title": None, "columns": 3},
    }


def tooltip(*fields: str, formats: dict[str, str] | None = None) -> list[Specification]:
    """Return tooltips; fields that have a format are numbers, the others are names.

    >>> tooltip("team", "share", formats={"share": ".1%"})[1]
    {'field': 'share', 'type': 'quantitative', 'format': '.1%'}
    """
    given = formats or {}
    return [
        {"field": field, "type": "quantitative", "format": given[field]}
        if field in given
        else {"field": field, "type": "nominal"}
        for field in fields
    ]
