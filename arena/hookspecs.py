"""The hook specifications of arena and the pluggy markers.

Hooks deliver objects or announce events; no number is computed inside a hook. A hook whose results
are collected returns an iterable, or None for nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from arena.interfaces import (
        Analysis,
        CaseReader,
        Competitor,
        Deferred,
        FloorEstimator,
        Mechanism,
        Metric,
        MetricFamily,
        Modality,
        Paper,
        Ranker,
        Sandbox,
    )
    from arena.types import CompetitionInfo, Fault, Release, Section, SubmissionRecord

__all__ = ["PROJECT", "hookimpl", "hookspec"]

PROJECT = "arena"
_Function = TypeVar("_Function", bound="Callable[..., Any]")

hookspec = cast("Callable[[_Function], _Function]", pluggy.HookspecMarker(PROJECT))
_first_result = pluggy.HookspecMarker(PROJECT)(firstresult=True)
hookimpl = cast("Callable[[_Function], _Function]", pluggy.HookimplMarker(PROJECT))
"""Marks a function of a plugin as the implementation of the hook of the same name."""


# -- items of a plugin: called once, when the registry is built ------------------------------------


@hookspec
def provide_metrics() -> Iterable[Metric | MetricFamily | Deferred] | None:
    """Return metrics, and families of metrics made on demand. None means: no metric.

    A :class:`~arena.interfaces.Deferred`, as for every hook that provides something, is imported
    when it is first used.
    """


@hookspec
def provide_mechanisms() -> Iterable[Mechanism | Deferred] | None:
    """Return mechanisms for the public board. None means: no mechanism."""


@hookspec
def provide_rankers() -> Iterable[Ranker | Deferred] | None:
    """Return procedures for the ranks of a board. None means: no ranker.

    A board has one ranker: ``simultaneous``, unless its settings name another one. If it fails, the
    board fails.
    """


@hookspec
def provide_modalities() -> Iterable[Modality | Deferred] | None:
    """Return ways in which submissions become arrays, for metrics. None means: no modality.

    A metric holds its modality; to provide it makes it known and tested.
    """


@hookspec
def provide_analyses() -> Iterable[Analysis] | None:
    """Return analyses of a finished board. None means: no analysis."""


@hookspec
def provide_competitors() -> Iterable[Competitor] | None:
    """Return simulated teams. None means: no competitor."""


@hookspec
def provide_floor_estimators() -> Iterable[FloorEstimator] | None:
    """Return estimators of the Bayes error, kinds of ``arena bayes-error``. None means: none."""


@hookspec
def provide_papers() -> Iterable[Paper] | None:
    """Return papers whose numbers ``arena reproduce`` computes again. None means: no paper."""


@hookspec
def provide_case_readers() -> Iterable[CaseReader] | None:
    """Return readers of evaluations, formats of ``arena rank``. None means: no reader."""


@hookspec
def provide_sandboxes() -> Iterable[Sandbox | Deferred] | None:
    """Return sandboxes, in which programs of participants run. None means: no sandbox."""


# -- intake: called for every submission file ------------------------------------------------------


@_first_result
def read_predictions(path: Path, competition: CompetitionInfo) -> Any:
    """Read a file format that arena does not support.

    Called before arena's own readers. Return a ``pyarrow.Table`` with the id column and the
    prediction columns, which is then checked like any other file, in a process with limits. None
    means: not my format.

    The hook itself is called in arena's own process. If its parser may crash on a damaged file, or
    take too long, call it with :func:`arena.utils.processes.call_limited`, which returns the
    table, or an ``Ended`` in such a case; then raise ``ValueError``.
    """


@hookspec
def check_submission(
    predictions: npt.NDArray[Any], competition: CompetitionInfo
) -> Iterable[Fault] | None:
    """Check a rule that the organiser adds, after arena's checks have passed.

    ``predictions`` is ``(n, n_columns)`` in the order of ``competition.ids``, read-only. Any fault
    returned rejects the submission. None means: no fault.
    """


# -- events: return values are ignored -------------------------------------------------------------


@hookspec
def submission_scored(
    submission: SubmissionRecord, release: Release | None, competition: CompetitionInfo
) -> None:
    """Announce a stored submission; ``release`` is its released score, if there is one."""


@hookspec
def competition_finalized(result: Any, competition: CompetitionInfo) -> None:
    """Announce that a private board was computed, with its result."""


# -- reports ---------------------------------------------------------------------------------------


@hookspec
def provide_report_sections(result: Any) -> Iterable[Section] | None:
    """Return sections for the report of a result. None means: no section."""
