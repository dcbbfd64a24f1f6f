"""The text of a result in a console or a notebook."""

from __future__ import annotations

import dataclasses
import numbers
import textwrap
from typing import Any

_WIDTH, _LINES = 88, 6
"""What fits into 800 pixels of a notebook."""


def short_repr(record: Any) -> str:
    """Return the numbers and short texts of a dataclass in at most six lines.

    >>> @dataclasses.dataclass
    ... class Estimate:
    ...     value: float
    ...     interval: tuple[float, float]
    ...     rows: list[int]
    ...     __repr__ = short_repr
    >>> Estimate(1 / 3, (0.25, 0.5), [1] * 1_000)
    <Estimate: value=0.333333, interval=(0.25, 0.5), rows: 1,000>
    """
    (text,) = _shown(record) or [""]
    return "\n".join(
        textwrap.wrap(text, _WIDTH, max_lines=_LINES, subsequent_indent="  ", placeholder=" …>")
    )


def _shown(value: Any) -> list[str]:
    """Return a value as text, or nothing where it would not say anything."""
    if isinstance(value, str):
        return [repr(textwrap.shorten(value, 60, placeholder="…"))]
    if isinstance(value, bool):
        return [repr(value)]
    if isinstance(value, numbers.Number):
        return [f"{value:.6g}"]
    if isinstance(value, tuple) and 0 < len(value) <= 3:
        items = [text for item in value for text in _shown(item)]
        return [f"({', '.join(items)})"] if len(items) == len(value) else []
    if dataclasses.is_dataclass(value):
        fields = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        parts = [part for name, content in fields for part in _named(name, content)]
        return [f"<{type(value).__name__}: {', '.join(parts)}>"]
    return []


def _named(name: str, value: Any) -> list[str]:
    if isinstance(value, tuple | list | dict) and len(value) > 3:
        return [f"{name}: {len(value):,}"]
    if hasattr(value, "shape"):
        return [f"{name}: {' x '.join(map(str, value.shape))}"]
    return [f"{name}={text}" for text in _shown(value)]
