"""The sections that every report has, added through the hooks that plugins use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arena.hookspecs import hookimpl
from arena.types import Section

if TYPE_CHECKING:
    from arena.interfaces import Paper


@hookimpl
def provide_papers() -> Iterable[Paper]:
    """Provide the study of winner stability."""
    from arena.simulation.ranks.paper import WinnerStability

    return [WinnerStability()]


@hookimpl
def provide_report_sections(result: Any) -> Iterable[Section]:
    """Provide ranks, wins, scores and the shake-up of a board."""
    from arena.report.board_sections import board_sections

    return board_sections(result)
