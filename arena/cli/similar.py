"""Identical and nearly identical submissions of different teams, for the organiser."""

from __future__ import annotations

from collections.abc import Sequence

from arena.cli.console import say_note
from arena.evaluation.similar import SimilarSubmissions, describe_similar

_SHOWN = 20


def say_similar(pairs: Sequence[SimilarSubmissions]) -> None:
    """Print one line for each of the first 20 on stderr."""
    for pair in pairs[:_SHOWN]:
        say_note(describe_similar(pair))
    if len(pairs) > _SHOWN:
        say_note(f"... and {len(pairs) - _SHOWN:,} more: arena audit --json lists all of them.")
