"""The parts of a page for participants besides its board: end, last change, how to submit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from arena.competition.create import sample_note
from arena.competition.view import CompetitionView
from arena.report.model import Board, Column
from arena.types import Section
from arena.utils.formatting import minute


def facts_for_participants(competition: CompetitionView) -> tuple[tuple[str, str], ...]:
    """Return the deadline, the time of the last change, and the hash that the record ends with."""
    facts = []
    deadline = competition.settings.competition.deadline
    if deadline is not None:
        states = {row["phase"]: row["state"] == "ended" for row in competition.phases()}
        ended = states.get(competition.phase, competition.has_ended)
        facts.append(("Ended" if ended else "Deadline", f"{deadline:%Y-%m-%d %H:%M} UTC"))
    if (pending := competition.pending_labels(private=False)) is not None:
        facts.append(("Labels", pending.sentence))
    if frozen := competition.frozen_since:
        facts.append(("Board frozen since", f"{frozen:%Y-%m-%d %H:%M} UTC"))
        return tuple(facts)
    mark = competition.mark(private=False)
    if mark is not None:
        facts.append(("Scores released again", f"{minute(mark.time)} UTC: {mark.cause}"))
    last = competition.last_event()
    if last is not None:
        facts.append(("Updated", f"{minute(last.time)} UTC"))
        facts.append(("Last hash of the record", last.hash))
    return tuple(facts)


def last_entries(competition: CompetitionView) -> dict[str, str]:
    """Return the minute of each team's last accepted submission."""
    return {team: minute(received) for team, received in competition.last_entries().items()}


def with_last_entries(board: Board, teams: list[str], entries: Mapping[str, str]) -> Board:
    """Return a board with the last entry of each row's team."""
    cells = tuple(entries.get(team, "") for team in teams)
    if not any(cells):
        return board
    order = tuple(float(re.sub(r"\D", "", cell) or 0) for cell in cells)
    meaning = "The last accepted submission of the team."
    column = Column("last entry (UTC)", meaning, cells, order)
    return replace(board, columns=(*board.columns, column))


def how_to_submit(competition: CompetitionView) -> Section:
    """Return a section: content of a submission, limits, and where to send it."""
    settings = competition.settings
    limits, server = settings.limits, settings.server
    metric = competition.manager.metrics.resolve(settings.metric.specification)
    counts = [
        f"{count:,} {name}"
        for count, name in ((limits.per_day, "per day"), (limits.total, "in total"))
        if count
    ]
    allowed = f"A team may send {' and '.join(counts)}. A day starts at 00:00 UTC."
    where = (
        f"Upload the file at {server.url}, or with arena submit FILE --to {server.url} "
        f"--token-file FILE."
        if server.url
        else "Send the file to the organiser, or upload it at the address from the organiser."
    )
    if server.contact:
        where += f" Contact: {server.contact}."
    closed = "The competition has ended: no more submissions are accepted."
    paragraphs = [
        " ".join(sample_note(competition.solution, metric).split("\n")).strip(),
        *([allowed] if counts else []),
        closed if competition.has_ended else where,
    ]
    return Section("How to submit", "\n\n".join(paragraphs))
