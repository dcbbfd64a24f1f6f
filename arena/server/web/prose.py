"""An organiser's Markdown as a part of a page: tables, images and formulas, and no HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LONGEST_FORMULA = 4_000
_ELEMENTS = {
    "math", "menclose", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
    "mphantom", "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub",
    "msubsup", "msup", "mtable", "mtd", "mtext", "mtr", "munder", "munderover", "none",
}  # fmt: skip
_ATTRIBUTES = {
    "accent", "accentunder", "align", "columnalign", "columnlines", "columnspacing", "depth",
    "display", "displaystyle", "fence", "form", "height", "largeop", "linethickness",
    "lspace", "mathsize", "mathvariant", "maxsize", "minsize", "movablelimits", "notation",
    "rowalign", "rowlines", "rowspacing", "rspace", "scriptlevel", "separator", "stretchy",
    "symmetric", "width",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where pages of a competition's folder lead: each has a place ``{}`` for a name."""

    image: str
    """Of ``curve.png``, which lies in ``pages/``."""
    page: str
    """Of ``data.md``."""
    overview: str
    rules: str
    file: str
    """Of ``files/train.csv``."""

    @classmethod
    def served(cls, competition: str) -> Addresses:
        """Return the addresses of a served competition."""
        base = f"/{competition}"
        return cls(
            image=f"{base}/pages/{{}}",
            page=f"{base}/pages/{{}}",
            overview=f"{base}/overview",
            rules=f"{base}/rules",
            file=f"{base}/files/{{}}",
        )


@lru_cache(maxsize=256)
def markdown(text: str, *, below: int = 0, addresses: Addresses | None = None) -> Markup:
    """Return Markdown as HTML, its headings below those of a level.

    Without ``addresses`` relative links and images stay as they are written.
    """
    reader = _reader()
    tokens = reader.parse(text)
    for token in _all(tokens):
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + below, 6)}"
        elif token.type == "table_open":
            token.attrSet("tabindex", "0")
        elif token.type == "image":
            token.attrSet("src", _image(str(token.attrGet("src")), addresses))
        elif token.type == "link_open":
            token.attrSet("href", _link(str(token.attrGet("href")), addresses))
    return Markup(reader.renderer.render(tokens, reader.options, {}))  # noqa: S704


def _all(tokens: Iterable[Token]) -> Iterable[Token]:
    for token in tokens:
        yield token
        yield from _all(token.children or ())


@cache
def _reader() -> MarkdownIt:
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    # The preset js-default lets no HTML through and checks the addresses of links.
    return MarkdownIt("js-default").use(
        dollarmath_plugin,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        renderer=_formula,
    )


def _is_relative(address: str) -> bool:
    parts = urlsplit(address)
    return not parts.scheme and not parts.netloc and bool(parts.path) and parts.path[0] != "/"


def _image(source: str, addresses: Addresses | None) -> str:
    if addresses is None or not _is_relative(source):
        return source
    return addresses.image.format(source.removeprefix("pages/"))


def _link(target: str, addresses: Addresses | None) -> str:
    if addresses is None or not _is_relative(target):
        return target
    if target.startswith("files/"):
        return addresses.file.format(target.removeprefix("files/"))
    name, mark, fragment = target.removeprefix("pages/").partition("#")
    if not name.endswith(".md") or "/" in name:
        return target
    page = name.removesuffix(".md")
    named = {"overview": addresses.overview, "rules": addresses.rules}
    return named.get(page, addresses.page).format(page) + mark + fragment


def _formula(tex: str, options: dict[str, Any]) -> str:
    """Return a formula as MathML; one that cannot be read, as it was written."""
    from latex2mathml.converter import convert_to_element

    try:
        if len(tex) > _LONGEST_FORMULA:
            raise ValueError
        display = "block" if options["display_mode"] else "inline"
        element = convert_to_element(tex.strip(), display=display)
        _keep_mathematics(element)
        written = ElementTree.tostring(element, encoding="unicode")
        # A keyboard scrolls one that is wider than the page.
        return f'<div class="wide" tabindex="0">{written}</div>' if display == "block" else written
    except Exception:  # noqa: BLE001 - of a library that reads an organiser's text
        return f"<code>{escape(tex)}</code>"


def _keep_mathematics(element: ElementTree.Element) -> None:
    r"""Leave only elements and attributes of mathematics; texts are escaped when they are written.

    latex2mathml writes characters as references, and lets the text of ``\text`` through.
    """
    for element_part in element.iter():
        if element_part.tag not in _ELEMENTS:
            element_part.tag = "mrow"
        attributes = {
            key: value for key, value in element_part.attrib.items() if key in _ATTRIBUTES
        }
        element_part.attrib.clear()
        element_part.attrib.update(attributes)
        element_part.text = html.unescape(element_part.text) if element_part.text else None
        element_part.tail = html.unescape(element_part.tail) if element_part.tail else None
    element.set("xmlns", "http://www.w3.org/1998/Math/MathML")
