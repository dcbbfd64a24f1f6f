"""Vega-Lite as plain data, and the Altair chart of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Specification", "as_altair", "category_axis", "layered"]

Specification: TypeAlias = dict[str, Any]

WIDTH = 640
"""Of a picture in a file or a notebook, in pixels; a page fits it to its own."""


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


def category_axis(field: str, labels: Sequence[str]) -> Specification:
    """Return the encoding of names along y, from the top down."""
    return {
        "field": field,
        "type": "nominal",
        "title": None,
        "scale": {"domain": list(labels)},
        "axis": {"ticks": False},
    }
