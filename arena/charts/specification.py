"""Vega-Lite as plain data, and the Altair chart of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Specification", "as_altair", "category_axis", "layered", "whole_axis"]

Specification: TypeAlias = dict[str, Any]

WIDTH = 640
"""Of a picture in a file or a notebook, in pixels; a page fits it to its own."""


_FEW = 15


def as_altair(specification: Mapping[str, Any]) -> alt.LayerChart:
    """Return the Altair chart of a layered specification.

    >>> type(as_altair(layered([], height=10))).__name__
    'LayerChart'
    """
    import altair as alt

    return alt.LayerChart.from_dict(dict(specification))


def layered(layers: Sequence[Specification], *, height: int | Mapping[str, int]) -> Specification:
    """Return a specification of layers over one another."""
    size = dict(height) if isinstance(height, Mapping) else height
    return {"width": WIDTH, "height": size, "layer": list(layers)}


def whole_axis(last: int) -> Specification:
    """Return the axis of whole numbers from 1 to ``last``.

    Few are named one by one: a smallest step alone lets halves through, written as whole numbers.

    >>> whole_axis(3)
    {'format': 'd', 'values': [1, 2, 3]}
    """
    if last <= _FEW:
        return {"format": "d", "values": list(range(1, last + 1))}
    return {"format": ",d", "tickMinStep": 1}


def category_axis(field: str, labels: Sequence[str]) -> Specification:
    """Return the encoding of names along y, from the top down."""
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(labels)},
        "axis": {"ticks": False},
    }
