"""The state of the art behind a board: how much of the best score is luck among many."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from arena.hookspecs import hookimpl
from arena.interfaces import Analysis
from arena.types import Section


@hookimpl
def provide_analyses() -> Iterable[Analysis]:
    """Provide the analysis ``sota``."""
    from arena_sota.analysis import Sota

    return [Sota()]


@hookimpl
def provide_report_sections(result: Any) -> Iterable[Section] | None:
    """Provide the section on how much of the best score is luck."""
    from arena_sota.sections import sota_sections

    return sota_sections(result)
