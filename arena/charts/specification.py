"""Vega-Lite specifications as plain data, and as Altair charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Specification", "as_altair", "category_axis", "layered", "whole_axis"]

Specification: TypeAlias = dict[str, Any]

WIDTH = 640
"""The width of a chart in a file or a notebook, in pixels; a report scales it to the page."""

_MOST_TICKS = 15


def as_altair(specification: Mapping[str, Any]) -> alt.LayerChart:
    """Return the Altair chart of a layered specification.

    >>> type(as_altair(layered([], height=10))).__name__
    'LayerChart'
    """
    import altair as alt

    return alt.LayerChart.from_dict(dict(specification))


def layered(layers: Sequence[Specification], *, height: int | Mapping[str, int]) -> Specification:
    """Return a layered specification."""
    size = dict(height) if isinstance(height, Mapping) else height
    return {"width": WIDTH, "height": size, "layer": list(layers)}


def whole_axis(last: int) -> Specification:
    """Return the axis of the integers from 1 to ``last``.

    Up to 15 ticks are listed explicitly: with ``tickMinStep`` alone, Vega also draws ticks at
    halves and rounds their labels.

    >>> whole_axis(3)
    {'format': 'd', 'values': [1, 2, 3]}
    """
    if last <= _MOST_TICKS:
        return {"format": "d", "values": list(range(1, last + 1))}
    return {"format": ",d", "tickMinStep": 1}


def category_axis(field: str, labels: Sequence[str]) -> Specification:
    """Return the y encoding of names, from top to bottom."""
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(labels)},
        "axis": {"ticks": False},
    }
