"""The text of a page as a person reads it, and the data of its charts."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

VOID = {"meta", "input", "img", "br", "link", "option"}
"""What is never closed, or need not be."""


class _Text(HTMLParser):
    """Collects text, and texts of attributes that are read out, outside of one section."""

    def __init__(self, without: str | None) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.open: list[tuple[str, bool]] = []
        self.without = without

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        left_out = tag in {"script", "style"} or (
            self.without is not None and values.get("class") == self.without
        )
        if tag not in VOID:
            self.open.append((tag, left_out))
        if not self._hidden():
            self.parts += [values[name] or "" for name in ("aria-label", "alt") if name in values]

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop()[0] == tag, f"</{tag}> closes something else"

    def handle_data(self, data: str) -> None:
        if not self._hidden():
            self.parts.append(data)

    def _hidden(self) -> bool:
        return any(left_out for _, left_out in self.open)


@functools.lru_cache(maxsize=16)
def text_of(html: str, *, without: str | None = None) -> str:
    """Return what is read on a page, but for an element of a class; every tag must be closed."""
    return " ".join(" ".join(_parts(html, without)).split())


def lines_of(html: str) -> str:
    """Return the same in lines: each text between two tags."""
    lines = (" ".join(part.split()) for part in _parts(html))
    return "".join(f"{line}\n" for line in lines if line)


def _parts(html: str, without: str | None = None) -> list[str]:
    reader = _Text(without)
    reader.feed(html)
    reader.close()
    assert not reader.open
    return reader.parts


def charts_of(html: str) -> list[dict[str, Any]]:
    """Return the specification of every chart of a page."""
    charts = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)
    return [json.loads(text) for text in charts]


def strings_of(value: Any) -> Iterator[str]:
    """Yield every text that stands in JSON, but for the keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_of(item)
