"""A report as one HTML file: plain tables that need nothing, and charts that need no network.

The page holds one script, ours and Vega's, and a policy that lets no other run and nothing be
fetched. All text from outside passes through one function that makes it printable and escapes it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arena.charts import DARK
from arena.report.cells import cell_text, columns_of, paragraphs
from arena.report.chart_files import svg
from arena.report.embed import as_script_data, every_chart, fetches, prepared
from arena.report.model import Report
from arena.types import Chart, Section, Table
from arena.utils.atomic_write import atomic_write
from arena.utils.text import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_FOLDER = Path(__file__).parent / "template"
_COMPILED = Path(cache_from_source(__file__)).parent
VEGA_EXPORTS = "window.vegaEmbed = vegaEmbed;"
# Vega-Lite logs advice for chart authors; readers of a report do not need it.
_QUIET_CONSOLE = "Object.assign(Object.create(console), { warn() {} })"
_STILL_BYTES = 120_000
_ALL_STILLS_BYTES = 800_000
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]")
_UNFOLDED = 5
"""How many sections are open when the page opens; the others show one line on their content."""

_FIRST_ROWS = 200
"""So many rows of a table are drawn when the page opens; the others as the reader scrolls."""
_PRINTED_ROWS = 10
"""The rows of a table on paper; the first board has all. The style sheet repeats this number."""


def page(report: Report) -> str:
    """Return the HTML of a report; the same report gives the same text."""
    from markupsafe import Markup

    sections, technical = (
        prepared(part, report.words) for part in (report.sections, report.technical)
    )
    charts = list(every_chart((*sections, *technical)))
    script = _script(with_charts=bool(charts))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        template_environment()
        .get_template("page.html")
        .render(
            report=report,
            sections=sections,
            technical=technical,
            unfolded=_UNFOLDED,
            first_rows=_FIRST_ROWS,
            printed_rows=_PRINTED_ROWS,
            drawable={chart.name for chart in charts if not fetches(chart.specification)},
            stills=_stills(charts),
            data={chart.name: Markup(as_script_data(chart.specification)) for chart in charts},  # noqa: S704
            style=Markup(_read("style.css") + _dark_charts()),  # noqa: S704
            script=Markup(script),  # noqa: S704
            policy=f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; "
            "img-src data:; base-uri 'none'; form-action 'none'",
        )
    )


@cache
def template_environment() -> Environment:
    """Return the environment of the templates, in which everything is escaped."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_harmless,
    )
    filters: dict[str, Callable[..., Any]] = {
        "cell": cell_text,
        "gist": _gist,
        "key": _key,
        "numeric_columns": _numeric_columns,
        "paragraphs": paragraphs,
        "prose": _prose,
    }
    environment.filters.update(filters)
    return environment


def _numeric_columns(table: Table) -> list[bool]:
    return [column.numeric for column in columns_of(table)]


def _harmless(value: Any) -> Any:
    """Escape characters that could reorder or hide text; the markup is ours."""
    return printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _prose(text: str) -> Markup:
    """Escape a text; an option of a command, such as ``--seed``, is not broken at its hyphens."""
    from markupsafe import Markup, escape

    escaped = str(escape(printable(text)))  # a replacement in a Markup would be escaped, too
    return Markup(_OPTION.sub(r'<span class="whole">\g<0></span>', escaped))  # noqa: S704


def _gist(section: Section) -> str:
    """Return one line on the content of a section: its first picture, table or sentence."""
    if section.charts:
        return section.charts[0].description
    if section.tables:
        return section.tables[0].title
    first, dot, _ = " ".join(section.text.split()).partition(". ")
    return first + dot.strip()


def _key(value: float | None) -> str:
    """Return the sort key of a cell."""
    return "" if value is None else f"{value:.12g}"


def _script(*, with_charts: bool) -> str:
    """Return Vega and our own script, wrapped so that no global of theirs leaks."""
    page_script = _read("page.js")
    if not with_charts:
        return page_script
    return f"(function (console) {{\n{vega_script()}\n}})({_QUIET_CONSOLE});\n{page_script}"


@cache
def vega_script() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script.

    Putting them together takes 1.5 s of every process. So they are kept beside the compiled modules
    of this package: who can write there can change the package itself.
    """
    exports = hashlib.sha256(VEGA_EXPORTS.encode()).hexdigest()[:8]
    kept = _COMPILED / f"vega-{version('vl-convert-python')}-{exports}.js"
    try:
        bundle = kept.read_bytes().decode()
    except (OSError, UnicodeDecodeError):
        import vl_convert

        bundle = vl_convert.javascript_bundle(VEGA_EXPORTS)
        if not sys.dont_write_bytecode:
            with contextlib.suppress(OSError):  # also where the package is installed read-only
                atomic_write(kept, bundle.encode(), mode=0o644)
    return re.sub("</(?=script)", r"<\\/", bundle, flags=re.IGNORECASE)


def _read(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _dark_charts() -> str:
    """Return CSS rules that give a drawn chart its dark colours, on screens."""
    rules = [
        f'.chart svg [{channel}="{light}"] {{ {channel}: {dark}; }}'
        for light, dark in DARK.items()
        for channel in ("fill", "stroke")
    ]
    return "\n@media screen and (prefers-color-scheme: dark) {\n" + "\n".join(rules) + "\n}\n"


def _stills(charts: Iterable[Chart]) -> Mapping[str, str]:
    """Return pictures for readers without JavaScript, if they are small."""
    stills: dict[str, str] = {}
    left = _ALL_STILLS_BYTES
    for chart in charts:
        drawn = svg(chart)
        if drawn is None:
            continue
        encoded = base64.b64encode(drawn.encode()).decode()
        if len(encoded) <= min(_STILL_BYTES, left):
            stills[chart.name] = f"data:image/svg+xml;base64,{encoded}"
            left -= len(encoded)
    return stills
