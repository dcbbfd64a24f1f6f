"""Rounds: a phase of each date of a column, made when the competition is created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time

from pydantic import ValidationError

from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError
from arena.intake import SolutionSource, unique_cells
from arena.interfaces.faults import show
from arena.phase_section import IGNORED, MOST_ROW_SETS, PRIVATE, PUBLIC, PhaseSection, row_sets
from arena.types import USAGE_COLUMN
from arena.utils.text import plural


def with_rounds(settings: Settings, source: SolutionSource) -> Settings:
    """Return settings with a phase of each date in place of each ``[phase.NAME]`` with ``each``.

    The column of dates is then the usage column. Rows that it marks as Ignored are in no round.

    Raises
    ------
    InputError
        If the sections name several columns, there is a usage column besides, a cell is no date,
        there are too many dates, or a round has a section already.
    """
    columns = {phase.each for phase in settings.phase.values()} - {None}
    if not columns:
        return settings
    if len(columns) > 1 or settings.data.usage not in (USAGE_COLUMN, *columns):
        names = ", ".join(sorted(filter(None, {*columns, settings.data.usage} - {USAGE_COLUMN})))
        raise InputError(
            f"{CONFIG_NAME}: the column of dates is the usage column, so that only one of {names} "
            f"is possible: name it in each, and leave out usage in [data]."
        )
    (column,) = filter(None, columns)
    dates = dates_of_column(unique_cells(source, column, settings.columns), column)
    phases: dict[str, PhaseSection] = {}
    for name, phase in settings.phase.items():
        for key, section in _rounds_of(name, phase, dates):
            if key in phases:
                raise InputError(
                    f"{CONFIG_NAME}: [phase.{key}] is a round that each makes: omit the section."
                )
            phases[key] = section
    data = settings.data.model_copy(update={"usage": column})
    return _with_phases(settings.model_copy(update={"data": data}), phases)


def further_rounds(settings: Settings, source: SolutionSource) -> dict[str, PhaseSection]:
    """Return a round of each date that no phase names in a file with further rows: name -> section.

    Each is as the last round of its series of those that ``each`` made.
    """
    last: dict[str, PhaseSection] = {}
    for name, phase in settings.phase.items():
        if phase.private_rows and name == f"{phase.series}-{phase.private_rows[0]}":
            last[phase.series] = max(last.get(phase.series, phase), phase, key=_date_of)
    if not last:
        return {}
    named = {PUBLIC, PRIVATE, *row_sets(settings.phase.values())}
    cells = unique_cells(source, settings.data.usage, settings.columns)
    dates = dates_of_column(
        [cell for cell in cells if cell.strip().lower() not in named], settings.data.usage
    )
    return dict(_round(name, phase, day) for name, phase in last.items() for day in dates)


def with_further_phases(settings: Settings, phases: Mapping[str, PhaseSection]) -> Settings:
    """Return settings with further phases.

    Raises
    ------
    InputError
        If the phases contradict each other.
    """
    return _with_phases(settings, {**settings.phase, **phases}) if phases else settings


def _with_phases(settings: Settings, phases: Mapping[str, PhaseSection]) -> Settings:
    document = {**settings.to_document(), "phase": phases}
    try:
        return Settings.model_validate({**document, "server": settings.server})
    except ValidationError as error:
        problems = "; ".join(
            problem["msg"].removeprefix("Value error, ") for problem in error.errors()
        )
        raise InputError(f"{CONFIG_NAME}: the rounds cannot be made: {problems}.") from error


def _date_of(phase: PhaseSection) -> str:
    return next(iter(phase.private_usages))


def _rounds_of(
    name: str, phase: PhaseSection, dates: Sequence[date]
) -> Iterator[tuple[str, PhaseSection]]:
    """Yield a phase itself, or its rounds: name -> section."""
    if phase.each is None:
        yield name, phase
        return
    yield from (_round(name, phase, day) for day in dates)


def _round(series: str, template: PhaseSection, day: date) -> tuple[str, PhaseSection]:
    end = datetime.combine(day, time(), UTC)
    of_round = {"each": None, "series": series, "end": end, "private_rows": (day.isoformat(),)}
    return f"{series}-{day.isoformat()}", template.model_copy(update=of_round)


def dates_of_column(cells: Sequence[str], column: str) -> list[date]:
    """Return the dates of a column in order."""
    dates = []
    for cell in cells:
        if cell.strip().lower() == IGNORED:
            continue
        try:
            day = date.fromisoformat(cell)
        except ValueError:
            day = None
        if day is None or day.isoformat() != cell:
            raise InputError(
                f"The column {show(column)} has {show(cell)}, which is no date such as 2026-12-31: "
                f"[phase.NAME] each needs a date in every row, or Ignored."
            )
        dates.append(day)
    if len(dates) > MOST_ROW_SETS:
        raise InputError(
            f"The column {show(column)} has {plural(len(dates), 'date')}, and a competition has at "
            f"most {MOST_ROW_SETS:,} rounds: put rows of several days into one."
        )
    return sorted(dates)
