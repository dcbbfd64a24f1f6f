"""Axis labels from team names."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

from arena.utils.text import shorten

_WIDTH = 32


def axis_labels(teams: Sequence[str]) -> list[str]:
    """Return a label for every team: printable, short, and unique.

    >>> axis_labels(["a", "b" * 40, "b" * 41])
    ['a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (2)', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (3)']
    """
    labels = [_narrow(shorten(team, _WIDTH)) for team in teams]
    count = Counter(labels)
    return [
        f"{label} ({place})" if count[label] > 1 else label
        for place, label in enumerate(labels, start=1)
    ]


def _narrow(label: str) -> str:
    """Truncate a label to the width of an axis; wide characters such as emoji count as two."""
    width = 0
    for position, character in enumerate(label):
        width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if width > _WIDTH:
            return label[:position].rstrip("\u200d…") + "…"
    return label
