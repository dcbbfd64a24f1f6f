"""The colours of charts and pages, for light and dark mode, and the theme of charts.

The hues are those of Okabe and Ito (2008), *Color Universal Design*, darkened or lightened so that
text has a contrast of at least 4.5 on the page. They can be distinguished with any colour vision,
and no chart encodes information by hue alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PAGE = "#ffffff"
INK = "#1b1e24"
MUTED = "#565d6b"
GRID = "#dfe3e9"
BLUE = "#0a5c9c"
PALE = "#a8cdec"
ORANGE = "#b34a00"
GREY = "#868d9a"

DARK: Mapping[str, str] = {
    PAGE: "#14171c",
    INK: "#e7e9ed",
    MUTED: "#a6adba",
    GRID: "#333944",
    BLUE: "#79bdf5",
    PALE: "#2c567c",
    ORANGE: "#f2a45f",
    GREY: "#818997",
}
"""The dark-mode replacement of each colour."""

_AXIS = {
    "labelColor": MUTED,
    "titleColor": MUTED,
    "domainColor": GRID,
    "tickColor": GRID,
    "gridColor": GRID,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelLimit": 190,
}

THEME: Mapping[str, Any] = {
    "background": "transparent",
    "font": "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
    "view": {"stroke": None, "continuousWidth": 640, "continuousHeight": 360},
    "axis": _AXIS,
    "axisY": {"labelColor": INK, "labelPadding": 8},
    "legend": {
        "labelColor": INK,
        "titleColor": MUTED,
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 400,
        "titleLimit": 400,
        "columnPadding": 28,
    },
    "title": {"color": INK},
    "header": {"labelColor": INK, "titleColor": MUTED, "titleFontWeight": "normal"},
    "text": {"color": INK},
    "mark": {"color": BLUE},
    "range": {"category": [BLUE, ORANGE, GREY, PALE, INK]},
}
"""The Vega-Lite config; the config of a chart takes precedence."""


def themed(specification: Mapping[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite specification with the theme merged into its config.

    >>> themed({"mark": "bar", "config": {"axis": {"grid": False}}})["config"]["axis"]["grid"]
    False
    """
    config = dict(specification.get("config") or {})
    view = dict(config.get("view") or {})
    for size in ("continuousWidth", "continuousHeight"):  # altair writes its own defaults here
        view.pop(size, None)
    return {**specification, "config": _merged(THEME, {**config, "view": view})}


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    both = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], Mapping) and isinstance(above[key], Mapping):
            both[key] = _merged(below[key], above[key])
    return both
