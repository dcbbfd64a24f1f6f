"""The Bayes error: the lowest possible error rate, and submissions that are below it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arena.hookspecs import hookimpl
from arena.types import Section

if TYPE_CHECKING:
    from arena.interfaces import Analysis, FloorEstimator, Paper


@hookimpl
def provide_analyses() -> Iterable[Analysis]:
    """Provide the analysis ``bayes-error``."""
    from arena_bayes_error.analysis import BayesError

    return [BayesError()]


@hookimpl
def provide_floor_estimators() -> Iterable[FloorEstimator]:
    """Provide the kinds of ``arena bayes-error``."""
    from arena_bayes_error.kinds import KINDS

    return KINDS


@hookimpl
def provide_papers() -> Iterable[Paper]:
    """Provide the paper on the Bayes error."""
    from arena_bayes_error.paper import BayesErrorPaper

    return [BayesErrorPaper()]


@hookimpl
def provide_report_sections(result: Any) -> Iterable[Section] | None:
    """Provide the section on the lowest possible error rate."""
    from arena_bayes_error.sections import floor_sections

    return floor_sections(result)
