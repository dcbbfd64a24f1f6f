"""Writes charts to files, for the commands."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena.charts.theme import PAGE, themed
from arena.errors import InputError, UsageError

_FORMATS = (".svg", ".png", ".json")
_PADDING = {"left": 35, "top": 5, "right": 5, "bottom": 5}


def file_padding(specification: Mapping[str, Any]) -> dict[str, int]:
    """Return the margins of a chart in a file, in pixels.

    The left one is wide: the viewer's font may be wider than the one that the labels were measured
    with. A chart may ask for more.

    >>> file_padding({"padding": {"left": 5, "right": 32}})
    {'left': 35, 'top': 5, 'right': 32, 'bottom': 5}
    """
    padding = specification.get("padding")
    padding_of_sides = padding if isinstance(padding, Mapping) else {}
    return {side: max(width, padding_of_sides.get(side, 0)) for side, width in _PADDING.items()}


def check_chart_path(path: Path | None) -> None:
    """Check that a chart file can be written, before anything is computed; None is valid.

    Raises
    ------
    UsageError
        If the file name does not end in .svg, .png or .json.
    InputError
        If the folder does not exist.
    """
    if path is None:
        return
    if path.suffix.lower() not in _FORMATS:
        raise UsageError(f"--chart {path.name}: the file name must end in {', '.join(_FORMATS)}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: give a file name in an existing folder.")


def write_chart(specification: Mapping[str, Any], path: Path) -> None:
    """Write a specification as SVG, PNG or Vega-Lite JSON, by the suffix of the file."""
    import altair as alt

    drawn = {**themed(specification), "background": PAGE, "padding": file_padding(specification)}
    alt.Chart.from_dict(drawn).save(str(path))
