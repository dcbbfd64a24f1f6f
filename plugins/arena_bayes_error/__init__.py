"""The Bayes-error floor: how much better anyone could do, and who is too good to be true."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from arena.hookspecs import hookimpl
from arena.interfaces import Analysis
from arena.types import Section


@hookimpl
def provide_analyses() -> Iterable[Analysis]:
    """Provide the analysis ``bayes-floor``."""
    from arena_bayes_error.analysis import BayesFloor

    return [BayesFloor()]


@hookimpl
def provide_report_sections(result: Any) -> Iterable[Section] | None:
    """Provide the section on how much better anyone could do."""
    from arena_bayes_error.sections import floor_sections

    return floor_sections(result)
