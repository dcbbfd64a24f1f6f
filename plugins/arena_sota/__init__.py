"""The best true performance behind a leaderboard, and the selection bias of its best score."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arena.hookspecs import hookimpl
from arena.types import Section

if TYPE_CHECKING:
    from arena.interfaces import Analysis, Paper


@hookimpl
def provide_analyses() -> Iterable[Analysis]:
    """Provide the analysis ``sota``."""
    from arena_sota.analysis import Sota

    return [Sota()]


@hookimpl
def provide_papers() -> Iterable[Paper]:
    """Provide the paper on multiplicity."""
    from arena_sota.paper import Multiplicity

    return [Multiplicity()]


@hookimpl
def provide_report_sections(result: Any) -> Iterable[Section] | None:
    """Provide the section on the selection bias of the best score."""
    from arena_sota.sections import sota_sections

    return sota_sections(result)
