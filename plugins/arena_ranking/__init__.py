"""Ranks of a leaderboard and how certain they are."""

from __future__ import annotations

from collections.abc import Iterable

from arena.hookspecs import hookimpl
from arena.interfaces import Analysis


@hookimpl
def provide_analyses() -> Iterable[Analysis]:
    """Provide the analysis ``ranks``."""
    from arena_ranking.analysis import Ranks

    return [Ranks()]
