"""The charts of a report as files: SVG, PNG and Vega-Lite, and PDF in the widths of a paper."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arena.charts.files import file_padding
from arena.charts.theme import PAGE
from arena.errors import InputError
from arena.report.embed import every_chart, fetches, prepared
from arena.report.file_output import check_folder, write_file
from arena.report.model import Report
from arena.types import Chart

_PNG_SCALE = 2.0
_COLUMNS = {"1column": 241, "2columns": 504}
"""End of a file's name -> width in points: 85 and 178 mm, one and two columns of a journal."""
_PAPER_STEP = 12
_SMALL: dict[str, Any] = {"labelFontSize": 8, "titleFontSize": 8, "labelLimit": 90}
_SCHEMA = "https://vega.github.io/schema/vega-lite/v{}.json"


def write_charts(report: Report, folder: Path) -> list[Path]:
    """Write every chart as SVG, PNG and Vega-Lite, and as PDF for a paper; return the files.

    ``NAME-1column.pdf`` and ``NAME-2columns.pdf`` have text of eight points and embed their fonts.
    A chart of several parts has no PDF, because its parts have widths of their own, and a width
    into which the names along the horizontal axis do not fit is left out.
    No network is used. Existing files with these names are replaced.

    Raises
    ------
    UsageError
        If the folder cannot be created.
    InputError
        If a chart cannot be drawn or written.
    """
    check_folder(folder)
    sections = prepared((*report.sections, *report.technical), report.words)
    written = []
    for chart in every_chart(sections):
        for name, content in _files(chart):
            write_file(folder / name, content)
            written.append(folder / name)
    return written


def _files(chart: Chart) -> Iterator[tuple[str, str | bytes]]:
    import vl_convert

    drawn = svg(chart)
    if drawn is None:
        raise InputError(
            f"The chart {chart.name} cannot be drawn: it is not valid Vega-Lite, or loads data "
            "from elsewhere."
        )
    yield f"{chart.name}.svg", drawn
    yield f"{chart.name}.png", vl_convert.svg_to_png(drawn, scale=_PNG_SCALE)
    version = vl_convert.get_vegalite_versions()[-1]
    schema = {"$schema": _SCHEMA.format(version), "title": chart.title}
    for columns, width in _COLUMNS.items():
        drawn_on_paper = _pdf(chart, width)
        if drawn_on_paper is not None:
            yield f"{chart.name}-{columns}.pdf", drawn_on_paper
    text = json.dumps({**schema, **_on_paper(chart)}, indent=1, allow_nan=False)
    yield f"{chart.name}.vl.json", text + "\n"


def _pdf(chart: Chart, width: int) -> bytes | None:
    """Return a chart of a single view as PDF; None for others, and where it cannot be drawn."""
    import vl_convert

    specification = _on_paper(chart)
    if _names_across(specification) * _PAPER_STEP > width - _SMALL["labelLimit"]:
        return None
    if not isinstance(specification.get("width"), int):
        return None
    config = specification["config"]
    small = {part: {**config.get(part, {}), **_SMALL} for part in ("axis", "legend")}
    stepped = isinstance(specification.get("height"), Mapping)
    paper = {
        **specification,
        "width": width,
        **({"height": {"step": _PAPER_STEP}} if stepped else {}),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": {**config, **small},
    }
    for attempt in _attempts(paper):
        with contextlib.suppress(ValueError):
            drawn: bytes = vl_convert.vegalite_to_pdf(attempt, allowed_base_urls=[])
            return drawn
    return None


def _names_across(specification: Mapping[str, Any]) -> int:
    """Return how many names the horizontal axis has; 0: it has numbers."""
    encodings = [
        part.get("encoding", {}) for part in (specification, *specification.get("layer", ()))
    ]
    across = [encoding.get("x") or {} for encoding in encodings]
    domains = [
        channel.get("scale", {}).get("domain", ())
        for channel in across
        if channel.get("type") == "nominal"
    ]
    return max(map(len, domains), default=0)


def _on_paper(chart: Chart) -> dict[str, Any]:
    specification = dict(chart.specification)
    return {**specification, "config": {**specification["config"], "background": PAGE}}


def svg(chart: Chart) -> str | None:
    """Return a prepared chart as SVG; None if it is invalid or loads data."""
    import vl_convert

    if fetches(chart.specification):
        return None
    paper = {**_on_paper(chart), "padding": file_padding(chart.specification)}
    for specification in _attempts(paper):
        with contextlib.suppress(ValueError):
            drawn: str = vl_convert.vegalite_to_svg(specification, allowed_base_urls=[])
            return drawn
    return None


def _attempts(specification: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Return a specification, and what to draw where it fails.

    vl-convert refuses a label that its limit cuts in the middle of an emoji.
    """
    return specification, _without_limits(specification)


def _without_limits(specification: Any) -> Any:
    """Return a specification without limits on the length of labels."""
    if isinstance(specification, Mapping):
        return {
            key: 0 if key == "labelLimit" else _without_limits(value)
            for key, value in specification.items()
        }
    if isinstance(specification, list):
        return [_without_limits(value) for value in specification]
    return specification
