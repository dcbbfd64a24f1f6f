"""Compares the files of an export with the events that it contains, and these with each other."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from arena.competition.boards.boards_over_phases import phases_by_board
from arena.competition.exports.claims import (
    Claims,
    counting_teams,
    events_of,
    last_recorded,
    no_content,
    not_an_export,
    read_part,
    recorded_submissions,
    result_digest,
    table_rows,
)
from arena.competition.exports.export import table_cell, table_text
from arena.competition.record.answers import ANSWER_EVENTS, Answers
from arena.competition.record.combined_documents import combined_boards, phase_files
from arena.competition.record.programs import FIGURE_COLUMNS, RERUN, figures_in
from arena.competition.record.teams import Teams
from arena.store.digests import keyed_digest
from arena.store.events import TimeCheck, first_broken
from arena.utils.text import printable, shorten

_FILES = frozenset(
    {
        "README.txt", "settings.json", "result.json", "private.csv", "public.csv",
        "submissions.csv", "events.jsonl", "key.txt", "usage.csv", "finals.json",
    }
)  # fmt: skip


_BOARD_COLUMNS = (
    "rank", "team", "score", "submission", "n_submissions", "baseline", "brackets", *FIGURE_COLUMNS,
)  # fmt: skip


def contradictions_in(claims: Claims) -> Iterator[str]:
    """Yield a sentence on each contradiction between an export and its own record."""
    folder, events = claims.folder, claims.events
    if broken := first_broken(events):
        yield broken
    times = TimeCheck()
    for event in events:
        times.add(event)
    yield from times.problems
    finalized = [
        event.payload
        for event in events
        if event.kind == "finalized" and event.payload.get("phase", "") == claims.phase
    ]
    if not finalized:
        yield "events.jsonl does not record that the competition was finalized: the end is missing."
    elif finalized[-1].get("sha256") != result_digest(claims.result):
        yield "result.json is not the board that events.jsonl records as the final one."
    elif finalized[-1].get("finals") != claims.finals:
        yield "The submissions in finals.json differ from those that events.jsonl records."
    settings = keyed_digest(claims.key, claims.recorded_settings)
    if settings != last_recorded(claims, "meta", "settings"):
        yield "The settings in settings.json differ from those that events.jsonl records."
    private_rows = read_part(folder / "private.csv", table_rows)
    try:
        standings = table_rows(table_text(claims.result["standings"]))
    except csv.Error as error:  # a cell beyond csv's limit
        raise not_an_export(folder / "result.json", "is not in the format of an export") from error
    if private_rows != standings:
        yield "private.csv differs from result.json."
    try:
        yield from contradictions_of_submissions(claims, recorded_submissions(events))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise no_content(folder / "events.jsonl") from error
    expected_files = _FILES | {
        f"finals/{submission}.csv"
        for team_finals in claims.written.values()
        for submission in team_finals
    }
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in expected_files and name != "finals":
            yield f"{shorten(name)} does not belong to an export."


def contradictions_of_submissions(
    claims: Claims, recorded: Mapping[int, Mapping[str, Any]]
) -> Iterator[str]:
    """Compare the lists of submissions, the public board and the finals with the record."""
    phase, every = claims.phase, recorded
    recorded = {number: row for number, row in recorded.items() if row["phase"] == phase}
    events = [
        event.payload
        for event in claims.events
        if event.kind == "submission" and event.payload.get("phase", "") == phase
    ]
    # A disqualified submission was submitted nevertheless.
    names = Teams.of(claims.events)
    n_sent = Counter(
        names.current(payload["team"]) for payload in events if payload["status"] == "accepted"
    )
    lost = {
        submission
        for event in claims.events
        if event.kind == "repair"
        for submission in event.payload.get("lost_submissions", ())
    }
    # An arena without phases wrote neither whose score was released nor which files were late.
    has_phases = "phase" in claims.settings.model_fields_set
    left_out = set() if has_phases else {"source", "late", "phase"}
    rows = read_part(claims.folder / "submissions.csv", table_rows)
    yield from _unknown_columns("submissions.csv", rows, next(iter(recorded.values()), {}))
    listed = {row["submission"]: row for row in rows}
    if len(listed) < len(rows):
        yield "submissions.csv lists a submission twice."
    for number, expected in recorded.items():
        row = listed.pop(str(number), None)
        if row is None:
            yield f"submissions.csv lacks submission {number}, which events.jsonl records."
            continue
        if expected.keys() - row.keys() - left_out:
            yield f"submissions.csv lacks cells of submission {number}."
        recorded_cells = {name: value for name, value in expected.items() if name in row}
        yield from _cells(f"submissions.csv: submission {number}", row, recorded_cells)
    for name in listed:
        if not (name.isdecimal() and int(name) in lost):
            which = f"submission {shorten(name)}"
            yield f"submissions.csv has {which}, which events.jsonl does not record."
    yield from contradictions_of_public_board(claims, recorded, n_sent)
    yield from contradictions_of_rounds(claims, every)
    for team in sorted(counting_teams(recorded).get(phase, set()) - claims.written.keys()):
        yield f"finals.json lacks the team {printable(team)}, which has a submission that counts."
    for team, numbers in claims.finals.items():
        for number in numbers:
            row = recorded.get(number, {})
            if (row.get("team"), row.get("status")) != (team, "accepted"):
                yield (
                    f"finals.json: submission {number} of the team {printable(team)} does not "
                    "count according to events.jsonl."
                )


def contradictions_of_rounds(
    claims: Claims, recorded: Mapping[int, Mapping[str, Any]]
) -> Iterator[str]:
    """Yield a sentence on each file of a board over phases that does not count, or is missing."""
    files, counting = phase_files(claims.result), counting_teams(recorded)
    of_settings = phases_by_board(claims.settings, claims.phase)
    for board, document in combined_boards(claims.result).items():
        phases = document.get("round_files", ())
        if phases and set(phases) != set(of_settings.get(board, ())):
            yield f"result.json: the board {printable(board)} is not over its phases."
    for name, of_round in files.items():
        for team, number in of_round.items():
            row = recorded.get(number, {})
            if (row.get("team"), row.get("status"), row.get("phase")) != (team, "accepted", name):
                yield (
                    f"result.json: submission {number} of the team {printable(team)} does not "
                    f"count in the phase {shorten(name)} according to events.jsonl."
                )
        for team in sorted(counting.get(name, set()) - of_round.keys()):
            yield (
                f"result.json: a board lacks the team {printable(team)} in the phase "
                f"{shorten(name)}, in which it has a submission that counts."
            )


def contradictions_of_public_board(
    claims: Claims, recorded: Mapping[int, Mapping[str, Any]], n_sent: Counter[str]
) -> Iterator[str]:
    """Compare public.csv with the releases, and with the ranks that follow from them."""
    counting = [
        row
        for row in recorded.values()
        if (row["status"], row["late"]) == ("accepted", False)
        and recorded.get(row["source"], row)["status"] != "withdrawn"
    ]
    # Two teams may look the same once a leading "=" is escaped, so rows are found by submission.
    public_rows = list(read_part(claims.folder / "public.csv", table_rows))
    answers = Answers.of(claims.settings, events_of(claims, *ANSWER_EVENTS))
    columns = (*_BOARD_COLUMNS, *(f"answer_{key}" for key in claims.settings.public_questions))
    yield from _unknown_columns("public.csv", public_rows, columns)
    roster = claims.roster(finalized=False)
    unranked = set(roster.unranked)
    figures = figures_in(
        events_of(claims, "submission"),
        events_of(claims, RERUN),
        claims.settings.in_phase(claims.phase),
    )
    sign = -1 if claims.result.get("greater_is_better") else 1
    ranked: dict[str, tuple[float, str]] = {}
    for team in dict.fromkeys(row["team"] for row in counting if row["released"] is not None):
        rows_of_team = {str(row["submission"]): row for row in counting if row["team"] == team}
        named = [row for row in public_rows if row["team"] == str(table_cell(team))]
        if not named:
            yield f"public.csv lacks the team {printable(team)}, which events.jsonl records."
            continue
        row = next((row for row in named if row["submission"] in rows_of_team), named[0])
        public_rows.remove(row)
        stands = rows_of_team.get(row["submission"])
        if stands is None:
            yield f"public.csv: {printable(team)} is listed with a submission of another team."
            continue
        expected = {
            "score": stands["released"],
            "n_submissions": n_sent[team],
            "baseline": team in roster.baselines,
            **figures.get(stands["submission"], {}),
        }
        given_answers = answers.of_row(team, stands["submission"])
        expected |= {
            f"answer_{key}": given_answers.get(key, "") for key in claims.settings.public_questions
        }
        expected |= {"brackets": "; ".join(roster.brackets_of(team))}
        cells = {**dict.fromkeys(expected, ""), **row}  # without any answer, it has no column
        yield from _cells(f"public.csv: submission {stands['submission']}", cells, expected)
        if stands["released"] is None:
            continue
        loss = sign * stands["released"]
        if any(row["released"] is not None and sign * row["released"] < loss
               for row in rows_of_team.values()):  # fmt: skip
            yield f"public.csv: {printable(team)} is not listed with its best released score."
        if team not in unranked:
            ranked[team] = (loss, row["rank"])
        elif row["rank"]:
            what = "baseline" if team in roster.baselines else "unranked team"
            yield f"public.csv: the {what} {printable(team)} has a rank."
    for team, (loss, rank) in ranked.items():
        # Ties of released scores may be broken by scores that the mechanism did not release.
        better = sum(other < loss for other, _ in ranked.values())
        as_good = sum(other <= loss for other, _ in ranked.values())
        if not (rank.isdecimal() and better < int(rank) <= as_good):
            yield f"public.csv: the rank of {printable(team)} does not follow from the scores."
    for row in public_rows:
        name = shorten(row["team"])
        yield f"public.csv lists the team {name}, which has no released submission."


def _unknown_columns(
    file: str, rows: Sequence[Mapping[str | None, Any]], columns: Iterable[str]
) -> Iterator[str]:
    """Name columns that the record does not have; cells beyond the header are in None."""
    for name in sorted({str(name or "") for row in rows for name in row} - set(columns)):
        column = shorten(name or "without a name")
        yield f"{file} has the column {column}, which is not of an export."


def _cells(where: str, row: Mapping[str, str], expected: Mapping[str, Any]) -> Iterator[str]:
    for name, value in expected.items():
        text = "" if value is None else str(table_cell(value))
        if row[name] == text:
            continue
        if name in ("released", "score"):
            file, _, which = where.partition(": ")
            yield f"{file}: the score of {which} differs from events.jsonl."
        else:
            yield (
                f"{where}: {name} is {shorten(row[name] or 'empty')}, and events.jsonl records "
                f"{shorten(text or 'none')}."
            )
