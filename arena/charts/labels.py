"""Names of teams, made fit for an axis."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from arena.text import shorten

__all__ = ["axis_labels"]

_LENGTH = 32


def axis_labels(teams: Sequence[str]) -> list[str]:
    """Return a label for every team, harmless, short, and different from all others.

    >>> axis_labels(["a", "b" * 40, "b" * 41])
    ['a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (2)', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb… (3)']
    """
    labels = [shorten(team, _LENGTH) for team in teams]
    count = Counter(labels)
    return [
        f"{label} ({place})" if count[label] > 1 else label
        for place, label in enumerate(labels, start=1)
    ]
