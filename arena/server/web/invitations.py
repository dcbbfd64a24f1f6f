"""Invitations from a list that was pasted from a spreadsheet or a mail."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from arena.server.records.names import RefusedError, clean_name
from arena.server.web.language import _
from arena.utils.text import EMAIL_ADDRESS, delimiter_of

MOST = 5_000
_COLUMNS = {
    "team": {"team", "team name", "teamname", "group", "gruppe"},
    "name": {"name", "person", "full name", "member", "mitglied"},
    "contact": {"contact", "e-mail", "email", "mail", "e-mail address", "email address"},
}
"""Column -> its names in the first line."""
_ORDER = ("team", "name", "contact")


@dataclass(frozen=True, slots=True)
class Invitation:
    """One person to invite."""

    line: int
    team: str
    name: str
    contact: str


@dataclass(frozen=True, slots=True)
class LineFault:
    """Why a line cannot be used."""

    line: int
    text: str


def read_invitations(text: str) -> tuple[list[Invitation], list[LineFault]]:
    r"""Return the people of a list, and the faults of its other lines.

    Cells are separated by tabs, semicolons or commas. A first line can name the columns; else the
    cells are team, name and e-mail, and an e-mail address is one wherever it stands.

    >>> read_invitations("ada@example.org;Ants;Ada\n;Bo")[0]
    [Invitation(line=1, team='Ants', name='Ada', contact='ada@example.org')]
    """
    text = text.lstrip("\ufeff")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter_of(text))
    people: list[Invitation] = []
    faults: list[LineFault] = []
    columns: tuple[str, ...] | None = None
    lines: dict[str, int] = {}
    try:
        for row in reader:
            cells = [" ".join(cell.split()) for cell in row]
            if not any(cells):
                continue
            if columns is None:
                named = tuple(_column_of(cell) for cell in cells)
                columns = named if "team" in named else _ORDER
                if columns is named:
                    continue
            is_named = columns is not _ORDER
            person = _person(reader.line_num, cells, columns, is_named=is_named)
            fault = _fault(person, cells, columns, lines)
            if fault:
                faults.append(LineFault(reader.line_num, fault))
            else:
                people.append(person)
            if person.contact:
                lines.setdefault(person.contact.casefold(), person.line)
    except csv.Error as error:
        faults.append(LineFault(reader.line_num, str(error)))
    if len(people) > MOST:
        faults.append(LineFault(people[MOST].line, _("A list has at most 5,000 people.")))
    return people, faults


def _column_of(cell: str) -> str:
    return next((name for name, titles in _COLUMNS.items() if cell.casefold() in titles), "")


def _person(line: int, cells: list[str], columns: tuple[str, ...], *, is_named: bool) -> Invitation:
    values = dict.fromkeys(_ORDER, "")
    if is_named:
        values |= {name: cell for name, cell in zip(columns, cells, strict=False) if name}
        return Invitation(line, **values)
    others = list(cells)
    addresses = [cell for cell in cells if EMAIL_ADDRESS.fullmatch(cell)]
    if len(addresses) == 1:
        others.remove(addresses[0])
        values["contact"] = addresses[0]
    values |= dict(zip([name for name in _ORDER if not values[name]], others, strict=False))
    return Invitation(line, **values)


def _fault(
    person: Invitation, cells: list[str], columns: tuple[str, ...], lines: dict[str, int]
) -> str:
    if len([cell for cell in cells if cell]) > len(columns):
        return _("It has {n} cells, but there are {most} columns.").format(
            n=len(cells), most=len(columns)
        )
    if not person.team:
        return _("The name of the team is missing.")
    if "@" in person.team:
        return _("{name} would be the public name of the team.").format(name=person.team)
    try:
        clean_name(person.team)
    except RefusedError as error:
        return _(error.template).format(**error.values)
    earlier = lines.get(person.contact.casefold()) if person.contact else None
    if earlier is not None:
        return _("Line {line} has the same e-mail address.").format(line=earlier)
    return ""
