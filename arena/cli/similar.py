"""Identical and nearly identical submissions of different teams, for the organiser."""

from __future__ import annotations

from collections.abc import Sequence

from arena.cli.console import say_note
from arena.evaluation.similar import SimilarSubmissions, describe_similar

_SHOWN = 20


def say_similar(found: Sequence[SimilarSubmissions]) -> None:
    """Print one line for each of the first 20 on stderr."""
    for one in found[:_SHOWN]:
        say_note(describe_similar(one))
    if len(found) > _SHOWN:
        say_note(f"... and {len(found) - _SHOWN:,} more: arena audit --json lists all of them.")
