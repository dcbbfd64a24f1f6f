"""Every hook of arena, and both pluggy markers.

Hooks deliver objects or announce events; no number is computed inside a hook. Collected hooks
return an iterable, or None for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from arena.interfaces import Analysis, Competitor, Mechanism, Metric, MetricFamily
    from arena.types import CompetitionInfo, Fault, Release, Section, SubmissionRecord

__all__ = ["PROJECT", "hookimpl", "hookspec"]

PROJECT = "arena"
_Function = TypeVar("_Function", bound="Callable[..., Any]")

hookspec = cast("Callable[[_Function], _Function]", pluggy.HookspecMarker(PROJECT))
_first_result = pluggy.HookspecMarker(PROJECT)(firstresult=True)
hookimpl = cast("Callable[[_Function], _Function]", pluggy.HookimplMarker(PROJECT))
"""Marks a function of a plugin as the implementation of the hook of the same name."""


# -- what a plugin provides: asked for once, when the registry is built ----------------------------


@hookspec
def provide_metrics() -> Iterable[Metric | MetricFamily] | None:
    """Return metrics, and families of metrics made on demand. None means: no metric."""


@hookspec
def provide_mechanisms() -> Iterable[Mechanism] | None:
    """Return mechanisms for the public board. None means: no mechanism."""


@hookspec
def provide_analyses() -> Iterable[Analysis] | None:
    """Return analyses of a finished board. None means: no analysis."""


@hookspec
def provide_competitors() -> Iterable[Competitor] | None:
    """Return simulated teams. None means: no competitor."""


# -- intake: called for every file of a participant ------------------------------------------------


@_first_result
def read_predictions(path: Path, competition: CompetitionInfo) -> Any:
    """Read a file format that arena does not know.

    Called before arena's own reader. Return a ``pyarrow.Table`` with the id column and the
    prediction columns, which is then checked like any other file; None means: not my format.
    """


@hookspec
def check_submission(
    predictions: npt.NDArray[Any], competition: CompetitionInfo
) -> Iterable[Fault] | None:
    """Check a rule of the host's own, after arena's checks have passed.

    ``predictions`` is ``(n, n_columns)`` in the order of ``competition.ids``, read-only. Every
    fault returned refuses the submission. None means: nothing is wrong.
    """


# -- events: announced, the answer is not looked at ------------------------------------------------


@hookspec
def submission_scored(
    submission: SubmissionRecord, release: Release | None, competition: CompetitionInfo
) -> None:
    """Announce a stored submission; ``release`` is what its team was shown, if anything."""


@hookspec
def competition_finalized(result: Any, competition: CompetitionInfo) -> None:
    """Announce that a private board was computed, with its result."""


# -- reports ---------------------------------------------------------------------------------------


@hookspec
def provide_report_sections(result: Any) -> Iterable[Section] | None:
    """Return sections for the report of a result. None means: no section."""
