"""The sections ``[phase.NAME]`` of ``competition.toml``: when files count, and on which rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import combinations, product
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from arena.server_section import ConfigSection
from arena.utils.text import plural
from arena.utils.times import in_utc

PUBLIC, PRIVATE, IGNORED = "public", "private", "ignored"
"""The values of the usage column that a competition without phases has, in lower case."""
MOST_ROW_SETS = 1_000
"""Of values of the usage column that phases name. With more, settings are slow to check."""
_NUMBER = re.compile(r"\s*[-+]?[\d_.]+(e[-+]?\d+)?\s*", re.IGNORECASE)
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")
_ADMISSIONS = r"^(all|submitted|listed|top [1-9]\d*)$"


def _no_number(value: Any) -> Any:
    """Refuse numbers, which would be seconds since 1970: 20261231 is no date."""
    if isinstance(value, int | float) or (isinstance(value, str) and _NUMBER.fullmatch(value)):
        raise PydanticCustomError("datetime_type", "must be a date and time")
    return value


UTCTime = Annotated[datetime, BeforeValidator(_no_number), AfterValidator(in_utc)]


def _as_several(value: Any) -> Any:
    return (value,) if isinstance(value, str) else value


def _as_metric(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


RowSets = Annotated[tuple[str, ...], BeforeValidator(_as_several)]


def _phase_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("a name has small letters, digits and hyphens, at most 40")
    return name


def _admission(text: str) -> str:
    if not re.fullmatch(_ADMISSIONS, text):
        raise ValueError('must be "all", "submitted", "listed", or "top" and a number, as "top 10"')
    return text


PhaseName = Annotated[str, AfterValidator(_phase_name)]


class PhaseSection(ConfigSection):
    """A phase: when files count for it, on which rows, and whose. Other sections are defaults."""

    start: UTCTime | None = Field(
        None, description="Earlier submissions do not count for it. Default: as [competition]."
    )
    end: UTCTime | None = Field(
        None,
        description="Later submissions do not count for it. Default: [competition] deadline.",
    )
    public_rows: RowSets | None = Field(
        None,
        description="Values of the usage column whose rows give the public scores. Default: "
        "Public, and none where private_rows is given.",
    )
    private_rows: RowSets | None = Field(
        None,
        description="Values of the usage column whose rows decide the final board. Default: "
        "Private, and none where public_rows is given.",
    )
    each: str | None = Field(
        None,
        description="A column of the solution with the date of each row, such as 2026-12-31: arena "
        "init makes a phase NAME-DATE of each date, which ends when the date begins (UTC) and has "
        "its rows as private_rows.",
    )
    series: Annotated[str, Field(max_length=40)] = Field(
        "",
        description="The series of rounds that it belongs to: a file counts for every open round "
        "of it whose rows it has. Of the phases that each makes it is NAME.",
    )
    after: str | None = Field(None, description="The phase before it, for admit and carry.")
    admit: Annotated[
        str, AfterValidator(_admission), Field(json_schema_extra={"pattern": _ADMISSIONS})
    ] = Field(
        "all",
        description="Which teams may submit: all, or those that arena qualify names: submitted "
        '(something in the phase before it), top N of its board, such as "top 10", or listed.',
    )
    carry: bool = Field(
        False,
        description="Whether arena qualify also submits the teams' final files of the phase before "
        "it, which must then have the rows of both: true or false.",
    )
    metric: Annotated[dict[str, Any], BeforeValidator(_as_metric)] = Field(
        default_factory=dict,
        description="Keys of [metric] that differ. A text is the name of another metric, such as "
        '"f1", and no key of [metric] applies to it. Rows and metric make a phase a task.',
    )
    public: dict[str, Any] = Field(
        default_factory=dict,
        description='Keys of [public] that differ, such as {scores = "hidden"}.',
    )
    limits: dict[str, Any] = Field(
        default_factory=dict, description="Keys of [limits] that differ, such as {total = 3}."
    )
    final: dict[str, Any] = Field(
        default_factory=dict, description='Keys of [final] that differ, such as {rule = "last"}.'
    )
    programs: dict[str, Any] = Field(
        default_factory=dict,
        description='Keys of [programs] that differ, such as {inputs = "programs/final"}.',
    )

    @property
    def public_usages(self) -> frozenset[str]:
        """The values of the usage column of its public rows, in lower case."""
        return _lower(self.public_rows, () if self.private_rows is not None else (PUBLIC,))

    @property
    def private_usages(self) -> frozenset[str]:
        """The values of the usage column of its private rows, in lower case."""
        return _lower(self.private_rows, () if self.public_rows is not None else (PRIVATE,))

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start is not None and self.end is not None and self.start >= self.end:
            raise ValueError("start must be before end")
        if not self.public_usages | self.private_usages:
            raise ValueError("it has neither public_rows nor private_rows")
        if IGNORED in self.public_usages | self.private_usages:
            raise ValueError("rows marked as Ignored have no part in any phase")
        if self.after is None and (self.carry or self.admit not in ("all", "listed")):
            raise ValueError("admit and carry need after, the name of the phase before it")
        of_each_date = ("end", "public_rows", "private_rows", "after")
        given_keys = [key for key in of_each_date if getattr(self, key) is not None]
        if self.each is not None and given_keys:
            raise ValueError(f"{given_keys[0]} is not possible beside each: every date has its own")
        return self


def _lower(values: tuple[str, ...] | None, default: tuple[str, ...]) -> frozenset[str]:
    return frozenset(value.lower() for value in (default if values is None else values))


def row_sets(phases: Iterable[PhaseSection]) -> tuple[str, ...]:
    """Return the values of the usage column that only phases have, in lower case, sorted."""
    named = (phase.public_usages | phase.private_usages for phase in phases)
    return tuple(sorted(frozenset().union(*named) - {PUBLIC, PRIVATE}))


def check_phases(phases: Mapping[str, PhaseSection]) -> None:
    """Refuse phases that contradict each other.

    Raises
    ------
    ValueError
        If rows that decide one phase are public in one or decide who is admitted to it, two phases
        share some of their public rows but not all, two rounds of a series share rows, or a phase
        comes after itself or after one that does not exist. If they name too many sets of rows.
    """
    if (n_sets := len(row_sets(phases.values()))) > MOST_ROW_SETS:
        raise ValueError(
            f"the phases name rows by {plural(n_sets, 'value')} of the usage column, and a "
            f"competition has at most {MOST_ROW_SETS:,}: let phases share rows, or put rounds into "
            "one"
        )
    _check_order(phases)
    public = {name: phase.public_usages for name, phase in phases.items()}
    private = {name: phase.private_usages for name, phase in phases.items()}
    for deciding, showing in product(phases, repeat=2):
        if both := private[deciding] & public[showing]:
            raise ValueError(
                f"rows marked as {min(both)} decide the phase {deciding}, and would be public in "
                f"the phase {showing}: give one of them other rows"
            )
    for first, second in combinations(phases, 2):
        if public[first] & public[second] and public[first] != public[second]:
            raise ValueError(
                f"the phases {first} and {second} share some of their public rows: let them share "
                f"all of them, or none"
            )
        phase, other = phases[first], phases[second]
        if not phase.series or phase.series != other.series:
            continue
        if common := (public[first] | private[first]) & (public[second] | private[second]):
            raise ValueError(
                f"the rounds {first} and {second} of the series {phase.series} share rows marked "
                f"as {min(common)}: give each round rows of its own"
            )


def _check_order(phases: Mapping[str, PhaseSection]) -> None:
    """Check which phase comes after which, and by which rows it admits teams."""
    for name, phase in phases.items():
        before: list[str] = [name]
        while (last := phases[before[-1]].after) is not None:
            if last not in phases:
                raise ValueError(f"[phase.{before[-1]}] after names {last!r}, which is no phase")
            if last in before:
                raise ValueError(f"the phase {name} would come after itself")
            before.append(last)
        if phase.after is None or not phase.admit.startswith("top "):
            continue
        if both := sorted(phase.private_usages & phases[phase.after].private_usages):
            raise ValueError(
                f"rows marked as {both[0]} decide the phase {name}, and the list of the best of "
                f"the phase {phase.after} would tell ranks on them: give one of them other rows"
            )
