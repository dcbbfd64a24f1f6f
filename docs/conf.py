"""Sphinx's settings. Build with: python -m sphinx -W docs BUILD."""

from __future__ import annotations

import inspect
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import redirect_stdout
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any, get_args

from arena.charts.theme import DARK
from arena.utils.distribution import DISTRIBUTION

project = "arena"
author = "The arena developers"
release = version_of(DISTRIBUTION)
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "numpydoc",
    "sphinx_design",
    "sphinx_copybutton",
]
myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
templates_path = ["_templates"]
exclude_patterns = ["BUILD", "_build"]
copybutton_selector = ":is(.highlight-bash, .highlight-python, .highlight-toml) pre"
html_theme = "pydata_sphinx_theme"
html_title = f"arena {release}"
html_static_path = ["_static"]
html_css_files = ["arena.css"]
html_js_files = ["filter.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "search_scorer.js")
html_show_sourcelink = False
_ALONE = ("architecture", "start", "scale", "gallery", "troubleshooting", "changelog")
# They have no pages below them: a sidebar would be a heading over nothing.
html_sidebars: dict[str, list[str]] = {page: [] for page in _ALONE}
_WITH_HEADINGS = ("*", "coverage/*", "how-to/*", "reference/**", "tutorials/*")
# An explanation has two screens: it needs the width more than a list of its headings.
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": {pattern: ["page-toc"] for pattern in _WITH_HEADINGS},
}
if served_at := os.environ.get("ARENA_DOCS_URL"):  # with a menu of versions: see .ci/docs
    html_theme_options |= {
        "switcher": {"json_url": f"{served_at}/versions.json", "version_match": release},
        "check_switcher": False,
        "navbar_start": ["navbar-logo", "version-switcher"],
    }
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
autosummary_generate = True

GENERATED = Path(__file__).parent / "reference" / "generated"


def _help_of(command: Any, name: str, parent: Any = None) -> list[str]:
    """Return a section for a command and for each command below it."""
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    text = command.get_help(context)
    marks = "##" if parent is None else "###"
    lines = [f"{marks} {context.command_path}", "", "```text", text.rstrip(), "```", ""]
    for below_name in getattr(command, "commands", {}):
        _, below, _ = command.resolve_command(context, [below_name])
        lines += _help_of(below, below_name, context)
    return lines


def write_command_reference() -> None:
    """Write the page of all commands from the commands themselves."""
    from arena.cli.discovery import installed

    lines = ["# Command line", "", "What `arena COMMAND --help` prints, for every command.", ""]
    for command in installed():
        if command.distribution.split()[0] == DISTRIBUTION:
            lines += _help_of(command.load(), f"arena {command.name}")
    (GENERATED / "cli.md").write_text("\n".join(lines), encoding="utf-8")


def write_plugin_reference() -> None:
    """Write the pages that list metrics, modalities and mechanisms from the plugins themselves."""
    from arena.plugin.manager import PluginManager

    manager = PluginManager()
    for kind in ("metrics", "modalities", "mechanisms"):
        lines = [f"# All {kind}", ""]
        for entry in manager.registry(kind):
            item = entry.item
            description = inspect.getdoc(type(item)) or ""
            summary = description.partition("\n\n")[0].replace("\n", " ")
            lines += [f"`{item.name}` ({entry.plugin})", f": {summary}", ""]
        (GENERATED / f"{kind}.md").write_text("\n".join(lines), encoding="utf-8")


def write_settings() -> None:
    """Write the table of all keys of competition.toml from the settings themselves."""
    from arena.config import Settings

    lines = ["| section | key | default | meaning |", "|---|---|---|---|"]
    for name, section_field in Settings.model_fields.items():
        kind: Any = section_field.annotation
        of_names = get_args(kind)  # dict[NAME, SECTION]
        place, section = (f"{name}.NAME", of_names[1]) if of_names else (name, kind)
        for key, field in section.model_fields.items():
            default = field.get_default(call_default_factory=True)
            needed = "needed" if field.is_required() else ""
            cell = needed if needed or default is None else f"`{json.dumps(default)}`"
            meaning = str(field.description).replace("|", "\\|")
            lines.append(f"| `[{place}]` | `{key}` | {cell} | {meaning} |")
    (GENERATED / "settings.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw_packages() -> None:
    """Draw the layers of ``arena`` from the contract that import-linter holds."""
    settings = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    layers = next(rule["layers"] for rule in contracts if rule["type"] == "layers")
    rows = [[name.strip() for name in re.split(r"[:|]", layer)] for layer in layers]
    height = 44
    parts = []
    for number, row in enumerate(rows):
        width = 520 / len(row)
        for place, name in enumerate(row):
            x, y = 10 + place * width, 30 + number * height
            parts.append(
                f'<rect x="{x:.0f}" y="{y}" width="{width - 8:.0f}" height="30" rx="6" '
                f'fill="#e8eef7" stroke="#4a6fa5"/>'
                f'<text x="{x + width / 2 - 4:.0f}" y="{y + 20}" text-anchor="middle">{name}</text>'
            )
    plugins = [name for name in settings["tool"]["importlinter"]["root_packages"] if "_" in name]
    total = 30 + len(rows) * height
    step = (total - 60) / len(plugins)
    for number, name in enumerate(plugins):
        y = 30 + number * step
        parts.append(
            f'<rect x="570" y="{y:.0f}" width="180" height="30" rx="6" fill="#f7efe2" '
            f'stroke="#b08030"/><text x="660" y="{y + 20:.0f}" text-anchor="middle">{name}</text>'
        )
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 {total}" '
        f'font-family="sans-serif" font-size="13" role="img">'
        f"<title>The packages of arena: each imports only from the layers below it</title>"
        f'<rect width="760" height="{total}" fill="#ffffff"/>'
        f'<text x="10" y="18">arena: each layer imports only from those below</text>'
        f'<text x="570" y="18">plugins: import arena only</text>'
    )
    (GENERATED / "packages.svg").write_text(head + "".join(parts) + "</svg>", encoding="utf-8")


def draw_gallery() -> None:
    """Draw the pictures of the gallery by the commands on its page, in light and dark colours."""
    page = (Path(__file__).parent / "gallery.md").read_text("utf-8")
    commands = re.findall(r"^```bash\n(.*?)^```", page, flags=re.DOTALL | re.MULTILINE)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as folder:
        for command in commands:
            subprocess.run(  # noqa: S603
                ["bash", "-ec", command],  # noqa: S607
                cwd=folder,
                env={**os.environ, "PATH": path},
                check=True,
                capture_output=True,
            )
        for name in re.findall(r"generated/gallery/(.*?)\.svg", page):
            picture = (Path(folder) / f"{name}.svg").read_text("utf-8")
            (GENERATED / "gallery" / name).parent.mkdir(parents=True, exist_ok=True)
            (GENERATED / "gallery" / f"{name}.svg").write_text(picture, "utf-8")
            for light, dark in DARK.items():
                picture = picture.replace(light, dark)
            (GENERATED / "gallery" / f"{name}-dark.svg").write_text(picture, "utf-8")


def show_by_colour_mode(_app: Any, document: str, source: list[str]) -> None:
    """Give each picture of the gallery and of the tour its dark version on dark pages."""
    if document in ("gallery", "how-to/tour"):
        source[0] = re.sub(
            r"!\[(.*?)\]\((.*?)\.(svg|png)\)",
            r"![\1](\2.\3){.only-light}![\1](\2-dark.\3){.only-dark}",
            source[0],
        )


def setup(app: Any) -> None:
    """Generate the pages that are made from the program, before Sphinx looks for pages."""
    shutil.rmtree(GENERATED, ignore_errors=True)  # pages of modules that are gone
    GENERATED.mkdir(parents=True)
    with redirect_stdout(io.StringIO()):
        write_command_reference()
        write_plugin_reference()
        write_settings()
        draw_packages()
        draw_gallery()
    app.connect("source-read", show_by_colour_mode)
