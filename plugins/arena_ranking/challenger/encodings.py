"""Parts of Vega-Lite specifications that several charts of this package share."""

from __future__ import annotations

from collections.abc import Sequence

from arena.charts import Specification
from arena.charts.specification import named
from arena.charts.theme import BLUE, GREY, INK, ORANGE, PALE

STEP = {"step": 19}
"""The height of a chart with one line per team."""

TEAM_COLORS = (BLUE, ORANGE, GREY, PALE, INK)
"""One colour per team; all can be told apart in light and dark mode."""


def flattened(*fields: str) -> list[Specification]:
    """Return the transform that makes a row of every element of the lists in these fields."""
    return [{"flatten": list(fields)}]


def team_colors(labels: Sequence[str]) -> Specification:
    """Return the encoding of at most :data:`TEAM_COLORS` teams as colours."""
    return named("team", labels, TEAM_COLORS[: len(labels)], legend={"orient": "top", "columns": 3})


def tooltip(*fields: str, formats: dict[str, str] | None = None) -> list[Specification]:
    """Return tooltips; fields that have a format are numbers, the others are names.

    >>> tooltip("team", "share", formats={"share": ".1%"})[1]
    {'field': 'share', 'type': 'quantitative', 'format': '.1%'}
    """
    format_of = formats or {}
    return [
        {"field": field, "type": "quantitative", "format": format_of[field]}
        if field in format_of
        else {"field": field, "type": "nominal"}
        for field in fields
    ]
