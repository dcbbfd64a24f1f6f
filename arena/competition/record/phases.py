"""Phases: which rows, which settings and which submissions belong to each.

Every submission belongs to one phase. A competition without ``[phase.NAME]`` has one phase, whose
name is empty. The public rows of a phase may be those of another one: then each team has one
instance of the mechanism for both, so that two phases show no more of the labels than one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.competition.record.programs import programs_in
from arena.config import CONFIG_NAME, Settings, errors_name_setting
from arena.config_sections import PublicSection
from arena.errors import InputError, UsageError
from arena.evaluation.solution_metric import scoring_metric
from arena.interfaces import Metric, source_of
from arena.phase_section import PhaseSection
from arena.plugin.manager import PluginManager
from arena.store import Store
from arena.types import IntArray, PredictionKind, Solution, SolutionOutline, Usage, usage_names
from arena.utils.lazy import pa

_ALWAYS = datetime.min.replace(tzinfo=UTC)


def solution_in(solution: Solution, phases: Sequence[PhaseSection]) -> Solution:
    """Return a stored solution as some phases score it now: public and private in any of them.

    Rows that have no part in them, and those whose labels are to arrive, are ignored.
    """
    return all_rows_in(solution, phases).labelled()


def all_rows_in(solution: Solution, phases: Sequence[PhaseSection]) -> Solution:
    """Return a stored solution with the split of some phases, rows without a label included.

    Without phases it is returned as it is.
    """
    if not phases:
        return solution
    public, private = (
        _with_usages(solution, frozenset().union(*usages))
        for usages in zip(
            *((phase.public_usages, phase.private_usages) for phase in phases), strict=True
        )
    )
    usage = np.full(solution.n_rows, Usage.IGNORED, dtype=np.uint8)
    usage[public], usage[private] = Usage.PUBLIC, Usage.PRIVATE
    return replace(solution, usage=usage)


def each_phase(settings: Settings, solution: Solution) -> list[tuple[Settings, Solution]]:
    """Return the settings of each phase and a stored solution as it scores it now.

    Without phases it is a single one.
    """
    phases = [[phase] for phase in settings.phase.values()] or [[]]
    splits = [solution_in(solution, of_phase) for of_phase in phases]
    return list(zip(in_each_phase(settings), splits, strict=True))


def in_each_phase(settings: Settings) -> list[Settings]:
    """Return the settings of each phase; without phases the given ones."""
    return [settings.in_phase(name) for name in settings.phase or ("",)]


def check_main_metric(settings: Settings, outline: SolutionOutline, manager: PluginManager) -> None:
    """Raise InputError if there is no metric of ``[metric]``, or it cannot score submissions."""
    with errors_name_setting("[metric] name"):
        scoring_metric(manager.metrics.resolve(settings.metric.specification), outline)


def check_metrics(settings: Settings, solution: Solution, manager: PluginManager) -> None:
    """Refuse a metric, of the competition or a phase, that cannot score what submissions contain.

    Raises
    ------
    InputError
        If it scores another kind of prediction, or it is a file of code: only that of [metric] is
        kept with the scores. Or if a board cannot combine the metrics of its phases.
    """
    check_main_metric(settings, solution.outline(), manager)
    for name, phase in settings.phase.items():
        if "name" not in phase.metric:
            continue
        specification = settings.in_phase(name).metric.specification
        place = f"{CONFIG_NAME}: [phase.{name}] metric: {specification}"
        with errors_name_setting(f"[phase.{name}] metric"):
            metric: Metric = manager.metrics.resolve(specification)
        if source_of(metric) is not None and specification != settings.metric.specification:
            raise InputError(f"{place} is your own code, which only [metric] can name.")
        try:
            scoring_metric(metric, solution.outline())
        except UsageError as error:
            advice = (
                " Files contain what [metric] scores: log_loss there, or another metric of "
                "probabilities, lets phases have metrics of scores and of labels."
            )
            of_labels = [target.classes is not None for target in solution.targets] == [True]
            other_kind = metric.prediction in (PredictionKind.VALUE, PredictionKind.TEXT)
            hint = advice if of_labels and not other_kind else ""
            raise InputError(f"{place}: {error}{hint}") from error
    if any(board.phases for board in settings.board.values()):
        # Few competitions have one.
        from arena.competition.record.combined_boards import check_boards_over_phases

        check_boards_over_phases(settings, solution, manager)


def _with_usages(solution: Solution, usages: frozenset[str]) -> npt.NDArray[np.bool_]:
    """Return the mask ``(n_rows,)`` of the rows whose usage has one of these names."""
    names = usage_names(solution.row_sets)
    codes = [code for code, name in enumerate(names) if name in usages]
    return np.isin(solution.usage, codes)


def with_rows(solution: Solution, rows: npt.NDArray[np.bool_] | IntArray) -> Solution:
    """Return a solution with some of its rows.

    Parameters
    ----------
    rows
        A mask ``(n_rows,)``, or ``(k,)`` positions, in whose order they are returned.
    """
    positions = np.arange(solution.n_rows)[rows]

    def chosen(values: Any) -> Any:
        return None if values is None else values[rows]

    return replace(
        solution,
        ids=solution.ids.take(pa.array(positions)),
        truth=solution.truth[rows],
        usage=solution.usage[rows],
        clusters=chosen(solution.clusters),
        extra={name: values[rows] for name, values in solution.extra.items()},
        tasks=chosen(solution.tasks),
        soft_labels=chosen(solution.soft_labels),
    )


def with_all_rows(
    values: npt.NDArray[Any], rows: npt.NDArray[np.bool_], others: Sequence[Any]
) -> npt.NDArray[Any]:
    """Return the predictions of some rows as those of all rows.

    Parameters
    ----------
    values
        ``(k, n_columns)``.
    rows
        ``(n_rows,)``, of which k are true.
    others
        The cells of each other row: ``n_columns``.
    """
    complete = np.empty((len(rows), values.shape[1]), dtype=values.dtype)
    complete[:] = np.array(others, dtype=values.dtype)
    complete[rows] = values
    complete.setflags(write=False)
    return complete


def check_rows(solution: Solution, settings: Settings) -> None:
    """Refuse phases whose rows a solution does not have.

    Raises
    ------
    InputError
        If no row has a value of the usage column that a phase names.
    """
    for name, phase in settings.phase.items():
        for usage in sorted(phase.public_usages | phase.private_usages):
            if not _with_usages(solution, frozenset({usage})).any():
                raise InputError(
                    f"{CONFIG_NAME}: [phase.{name}] names the rows marked as {usage!r} in the "
                    f"usage column, and there are none."
                )


def check_changed_phases(
    store: Store, before: Settings, after: Settings, manager: PluginManager
) -> None:
    """Refuse a change of phases after which stored submissions would belong to none, or to others.

    So would programs that wait for their run.

    Raises
    ------
    InputError
        If a phase with submissions is removed or has other rows, if the submissions are of a
        competition without phases, or if a metric does not suit them.
    """
    if before.phase == after.phase:
        if before.board != after.board:
            check_metrics(after, store.solution(), manager)
        return
    templates = [name for name, phase in after.phase.items() if phase.each is not None]
    if templates:
        raise InputError(
            f"{CONFIG_NAME}: [phase.{templates[0]}] each is read by arena init only: remove it, "
            f"and add the rows of further rounds by arena rows add."
        )
    check_rows(store.solution(), after)
    check_metrics(after, store.solution(), manager)
    for name in sorted(phases_in_use(store)):
        if name not in after.phase:
            orphans = (
                f"belong to the phase {name}" if name else "were sent before there were phases"
            )
            raise InputError(
                f"{CONFIG_NAME}: the submissions and programs that {orphans} would belong to no "
                f"phase: restore the sections [phase.…] as they were."
            )
        old, new = before.phase[name], after.phase[name]
        if (old.public_usages, old.private_usages) != (new.public_usages, new.private_usages):
            raise InputError(
                f"{CONFIG_NAME}: [phase.{name}] has submissions, so that its public_rows and "
                f"private_rows cannot change: restore them."
            )


def phases_in_use(store: Store) -> set[str]:
    """Return the phases with a submission of any status, or a program that waits for its run."""
    programs = programs_in(store).values()
    return {*store.phases(), *(program.phase for program in programs)}


@dataclass(frozen=True, slots=True)
class InstanceGroup:
    """Phases with the same public rows, which share the instances of the mechanism."""

    phases: tuple[str, ...] | None
    """None: the competition has no phases."""
    settings: Settings
    """Their mechanism, and as limit in total that of all phases together."""
    prefix: str = ""
    """The prefix of the names of the instances: the names of the rows as JSON. None begins with
    another one."""

    def split(self, solution: Solution, every_phase: Settings) -> Solution:
        """Return a stored solution with the rows of the group that have labels."""
        return solution_in(solution, [every_phase.phase[name] for name in (self.phases or ())[:1]])


def instance_groups(settings: Settings) -> tuple[InstanceGroup, ...]:
    """Return the groups of phases with public rows; without phases a single one."""
    if not settings.phase:
        return (InstanceGroup(None, settings),)
    by_rows: dict[frozenset[str], list[str]] = {}
    for name, phase in settings.phase.items():
        if phase.public_usages:
            by_rows.setdefault(phase.public_usages, []).append(name)
    return tuple(
        InstanceGroup(tuple(names), _shared(settings, names), f"{json.dumps(sorted(usages))} ")
        for usages, names in by_rows.items()
    )


def group_of(settings: Settings, name: str) -> InstanceGroup:
    """Return the group of a phase; of one without public rows, it alone."""
    groups = instance_groups(settings)
    alone = InstanceGroup((name,), settings.in_phase(name)) if name else groups[0]
    return next((group for group in groups if group.phases and name in group.phases), alone)


def _shared(settings: Settings, names: Sequence[str]) -> Settings:
    of_phases = [settings.in_phase(name) for name in names]
    totals = [phase_settings.limits.total for phase_settings in of_phases]
    total = None if None in totals else sum(number for number in totals if number is not None)
    first = of_phases[0]
    return first.model_copy(update={"limits": first.limits.model_copy(update={"total": total})})


def deciding_elsewhere(settings: Settings, name: str, time: datetime) -> tuple[str, ...]:
    """Return the phases that have not ended and that private rows of a phase decide as well."""
    if not name:
        return ()
    rows = settings.phase[name].private_usages
    return tuple(
        other
        for other, phase in settings.phase.items()
        if other != name
        and phase.private_usages & rows
        and ((end := settings.in_phase(other).competition.deadline) is None or time <= end)
    )


def public_sections(settings: Settings) -> dict[str, PublicSection]:
    """Return the section ``[public]`` of each phase, by its name."""
    if not settings.phase:
        return {"": settings.public}
    return {name: settings.in_phase(name).public for name in settings.phase}


def open_phases(settings: Settings, time: datetime) -> tuple[str, ...]:
    """Return the phases that are open at a time; the nameless one is never closed here."""
    if not settings.phase:
        return ("",)
    return tuple(name for name in settings.phase if _is_open(settings, name, time))


def _is_open(settings: Settings, name: str, time: datetime) -> bool:
    dates = settings.in_phase(name).competition
    return (dates.start is None or dates.start <= time) and (
        dates.deadline is None or time <= dates.deadline
    )


def current_phase(settings: Settings, time: datetime) -> str:
    """Return the phase whose boards are shown: the open one that began last.

    If none is open, the one that ended last, or else the one that begins first.
    """
    if not settings.phase:
        return ""
    dates = {name: settings.in_phase(name).competition for name in settings.phase}
    starts = {name: section.start or _ALWAYS for name, section in dates.items()}
    if opened := open_phases(settings, time):
        return max(opened, key=lambda name: starts[name])
    ended = [name for name in dates if starts[name] <= time]
    if ended:
        return max(ended, key=lambda name: dates[name].deadline or _ALWAYS)
    return min(dates, key=lambda name: starts[name])


def known_phase(settings: Settings, name: str) -> str:
    """Return the name of a phase.

    Raises
    ------
    UsageError
        If there is none of this name.
    """
    if name in settings.phase or not (name or settings.phase):
        return name
    if not settings.phase:
        raise UsageError(f"There is no phase {name!r}: this competition has no phases.")
    raise UsageError(f"There is no phase {name!r}. There are: {', '.join(settings.phase)}.")


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a file counts: in a phase, or in those rounds of a series whose rows it has."""

    phase: str
    """In a series: where a file counts that has the rows of no round."""
    series: str = ""
    opened: tuple[str, ...] = ()
    """In a series: its open rounds."""

    def split(self, rounds: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the phases for which a file counts, and the rounds that do not count any more.

        A file with faults has rows of no round, and one of closed rounds is refused in the last.

        Parameters
        ----------
        rounds
            Those of the series whose rows the file has, in their order.

        Examples
        --------
        >>> Destination("c", "week", ("b", "c")).split(["a", "b"])
        (('b',), ('a',))
        """
        opened = tuple(name for name in rounds if name in self.opened)
        counted = opened or tuple(rounds[-1:]) or (self.phase,)
        return counted, tuple(name for name in rounds if name not in counted)


def destination_of_file(settings: Settings, name: str | None, time: datetime) -> Destination:
    """Return where a file counts that was received at a time.

    If the team named no phase and all open ones are rounds of one series, its rows decide. If no
    phase is open, it is the phase by whose dates files are refused, or the series of that phase.

    Raises
    ------
    UsageError
        If there is no such phase, or several are open that are not rounds of one series.
    """
    rounds = _open_rounds(settings, time) if name is None else None
    return rounds or Destination(phase_of_file(settings, name, time))


def destination_of_check(settings: Settings, time: datetime) -> Destination:
    """Return where a file would count that is only checked: in rounds, or the phase shown now."""
    return _open_rounds(settings, time) or Destination(current_phase(settings, time))


def _open_rounds(settings: Settings, time: datetime) -> Destination | None:
    """Return the series of the open phases, or of those that were open last; None: no series."""
    opened = open_phases(settings, time)
    series = {
        settings.phase[name].series if name else ""
        for name in opened or (phase_of_file(settings, None, time),)
    }
    if len(series) > 1 or "" in series:
        return None
    return Destination(current_phase(settings, time), series.pop(), opened)


def phase_of_file(settings: Settings, name: str | None, time: datetime) -> str:
    """Return the phase for which a file counts that was received at a time.

    Parameters
    ----------
    name
        The phase that the team named; None: the one that is open, or the next or last one, whose
        dates refuse the file.

    Raises
    ------
    UsageError
        If there is no such phase, or several are open and none was named.
    """
    if name is not None:
        return known_phase(settings, name)
    opened = open_phases(settings, time)
    if len(opened) > 1:
        raise UsageError(f"Several phases are open: name one of {', '.join(opened)} (--phase).")
    if opened:
        return opened[0]
    later = {
        other: dates.start
        for other in settings.phase
        if (dates := settings.in_phase(other).competition).start is not None and dates.start > time
    }
    return min(later, key=lambda other: later[other]) if later else current_phase(settings, time)
