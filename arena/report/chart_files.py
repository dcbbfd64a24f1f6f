"""The charts of a report as files: SVG and PNG for papers, Vega-Lite for everything else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arena.charts.theme import PAGE
from arena.errors import InputError
from arena.report.drawing import every_chart, fetches, prepared
from arena.report.file_output import check_folder, write_file
from arena.report.model import Report
from arena.types import Chart

__all__ = ["svg", "write_charts"]

_PNG_SCALE = 2.0
_SCHEMA = "https://vega.github.io/schema/vega-lite/v{}.json"


def write_charts(report: Report, folder: Path) -> list[Path]:
    """Write every chart as ``NAME.svg``, ``NAME.png`` and ``NAME.vl.json``; return the files.

    No network is used. Files of the same names are replaced.

    Raises
    ------
    UsageError
        If the folder cannot be made.
    InputError
        If a chart cannot be drawn or written.
    """
    check_folder(folder)
    sections = prepared((*report.sections, *report.technical))
    return [
        _written(folder / name, content)
        for chart in every_chart(sections)
        for name, content in _files(chart)
    ]


def _written(path: Path, content: str | bytes) -> Path:
    write_file(path, content)
    return path


def _files(chart: Chart) -> Iterator[tuple[str, str | bytes]]:
    import vl_convert

    drawn = svg(chart)
    if drawn is None:
        raise InputError(
            f"The chart {chart.name} cannot be drawn: it is no valid Vega-Lite, or asks for data "
            "from elsewhere."
        )
    yield f"{chart.name}.svg", drawn
    yield f"{chart.name}.png", vl_convert.svg_to_png(drawn, scale=_PNG_SCALE)
    schema = {"$schema": _SCHEMA.format(_vegalite_version()), "title": chart.title}
    text = json.dumps({**schema, **_on_paper(chart)}, indent=1, allow_nan=False)
    yield f"{chart.name}.vl.json", text + "\n"


def _on_paper(chart: Chart) -> dict[str, Any]:
    specification = dict(chart.specification)
    return {**specification, "config": {**specification["config"], "background": PAGE}}


def _vegalite_version() -> str:
    import vl_convert

    return str(vl_convert.get_vegalite_versions()[-1])


def svg(chart: Chart) -> str | None:
    """Return a prepared chart as SVG; None if it cannot be drawn from what is in it."""
    import vl_convert

    if fetches(chart.specification):
        return None
    paper = _on_paper(chart)
    # A label cut to its limit in the middle of an emoji is a text that vl-convert refuses.
    for specification in (paper, _without_limits(paper)):
        with contextlib.suppress(ValueError):
            drawn: str = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
            return drawn
    return None


def _without_limits(specification: Any) -> Any:
    """Return a specification in which no label is cut."""
    if isinstance(specification, Mapping):
        return {
            key: 0 if key == "labelLimit" else _without_limits(value)
            for key, value in specification.items()
        }
    if isinstance(specification, list):
        return [_without_limits(value) for value in specification]
    return specification
