"""The content of an export: read, checked for its format, and looked up in its record of events.

An export is untrusted input. Its events are a chain of hashes and contain digests of the solution,
the split, the settings and every submission's predictions.
"""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, RootModel, ValidationError
from pydantic_core import to_json

from arena.competition.added_rows import ROWS_ADDED
from arena.competition.record.combined_documents import phase_files
from arena.competition.record.earlier_settings import use_current_keys
from arena.competition.record.ledger import disqualified_in, selections_in, withdrawn_in
from arena.competition.record.rebuild import REBUILT
from arena.competition.record.roster import ROSTER_EVENTS, Roster
from arena.competition.record.teams import Teams
from arena.config import Settings
from arena.errors import InputError
from arena.scoring.result import unranked_rows
from arena.store import Event
from arena.store.digests import document_digest
from arena.store.facts import RECORDS_AGAIN, facts_of
from arena.store.row_counts import RowCounts
from arena.types import Solution
from arena.utils.file_errors import reason_of
from arena.utils.strict_json import parse_json
from arena.utils.text import printable, shorten

_MOST_BYTES = 2**28
"""The largest accepted file; the files of an export of 3,000 teams have a hundredth of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """The content of an export, each part parsed and checked for its format."""

    folder: Path

    settings: Settings
    recorded_settings: bytes
    """The settings as they were recorded, perhaps by an earlier arena."""
    result: Mapping[str, Any]
    finals: Mapping[str, list[int]]
    events: tuple[Event, ...]
    key: bytes
    """The key of the digests in the events."""

    @property
    def phase(self) -> str:
        """The phase whose boards these are, by the event that records the result."""
        digest = result_digest(self.result)
        named = (
            event.payload.get("phase", "")
            for event in reversed(self.events)
            if event.kind == "finalized" and event.payload.get("sha256") == digest
        )
        name = next(named, "")
        return name if name in self.settings.phase else ""

    @property
    def written(self) -> dict[str, list[int]]:
        """The submissions with predictions in the export, by team."""
        finals = ((team, number) for team, numbers in self.finals.items() for number in numbers)
        unranked = ((row["team"], row["submission"]) for row in unranked_rows(self.result))
        rounds = (
            file for of_round in phase_files(self.result).values() for file in of_round.items()
        )
        written: dict[str, list[int]] = {}
        for team, number in dict.fromkeys((*finals, *unranked, *rounds)):
            written.setdefault(team, []).append(number)
        return written

    def roster(self, *, finalized: bool) -> Roster:
        """Return the baselines and brackets after all events, or when the board was finalized."""
        events = self.events
        if finalized:
            boards = (event for event in reversed(events) if event.kind == "finalized")
            of_phase = (event for event in boards if event.payload.get("phase", "") == self.phase)
            last = next((event.sequence for event in of_phase), 0)
            events = tuple(event for event in events if event.sequence <= last)
        try:
            return Roster.of(
                self.settings, [event for event in events if event.kind in ROSTER_EVENTS]
            )
        except (KeyError, TypeError) as error:
            raise no_content(self.folder / "events.jsonl") from error


def read_claims(folder: Path) -> Claims:
    """Read an export, which may have been changed in any way.

    Raises
    ------
    InputError
        If a file is missing or not valid; the message names the file and the fault.
    """
    if not folder.is_dir():
        raise InputError(
            f"There is no folder {printable(str(folder))}: give the folder of an export."
        )
    links = sorted(path for path in folder.rglob("*") if path.is_symlink())
    if links:
        raise not_an_export(links[0], "is a link, and an export contains none")
    document = read_part(folder / "settings.json", parse_json)
    try:
        recorded_settings = to_json(document)
        use_current_keys(document)
    except (AttributeError, TypeError, ValueError) as error:
        raise no_content(folder / "settings.json") from error
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise not_an_export(folder / "settings.json", f"{where}: {first['msg']}") from error
    result, finals = (
        read_part(folder / name, parse_json) for name in ("result.json", "finals.json")
    )
    require(is_result(result), folder / "result.json")
    require(_has_format(finals, _Finals), folder / "finals.json")
    require(phase_files(result).keys() <= settings.phase.keys(), folder / "result.json")
    events = read_part(folder / "events.jsonl", _events)
    key = read_part(folder / "key.txt", lambda text: text.strip().encode("ascii"))
    return Claims(
        folder,
        settings,
        recorded_settings=recorded_settings,
        result=result,
        finals=finals,
        events=events,
        key=key,
    )


# -- the formats of the documents, as far as they are compared ------------------------------------


class _Part(BaseModel):
    model_config = ConfigDict(strict=True)


class _Named(_Part):
    team: str


class _Final(_Named):
    submission: int


class _Unranked(_Final):
    baseline: bool


class _FindingDocument(_Part):
    round_files: dict[str, dict[str, int]] = {}


class _Finding(_Part):
    analysis: str
    document: _FindingDocument


class _BestScore(_Part):
    estimate: Any


class _Result(_Part):
    seed: int = Field(ge=0)
    best_score_corrected: _BestScore
    standings: list[_Named]
    unranked: list[_Unranked] = []
    baseline: _Final | None = None
    brackets: dict[str, Any] = {}
    findings: list[_Finding] = []


_FinalsOfTeam = Annotated[list[int], Field(min_length=1)]


class _Finals(RootModel[dict[str, _FinalsOfTeam]]):
    root: dict[str, _FinalsOfTeam] = Field(min_length=1)
    model_config = ConfigDict(strict=True)


def _has_format(document: Any, model: type[BaseModel]) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


def is_result(document: Any) -> bool:
    """Return whether the parts of a board that are compared have the right format."""
    return _has_format(document, _Result)


def result_digest(result: Mapping[str, Any]) -> str:
    """Return the digest of a board as its event records it; empty if no board can have one."""
    try:
        return document_digest(result)
    except (ValueError, RecursionError):  # NaN, infinity or too deep
        return ""


def not_an_export(path: Path, what: str) -> InputError:
    """Return the error for a file of an export; ``what`` is its fault, without a subject."""
    name = printable(str(path))
    return InputError(f"{name} {shorten(what, 200)}: use the export as arena wrote it.")


def no_content(path: Path) -> InputError:
    """Return the error for a file whose values are not those of an export."""
    return not_an_export(path, "does not have the content of an export")


def require(fulfilled: bool, path: Path) -> None:
    """Raise :func:`no_content` of a file unless a condition is fulfilled."""
    if not fulfilled:
        raise no_content(path)


def read_part(path: Path, parse: Callable[[str], Any]) -> Any:
    """Return the content of a file of an export; what cannot be read or parsed is an InputError."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise not_an_export(path, f"is larger than {_MOST_BYTES // 2**20} MB")
        return parse(path.read_bytes().decode())
    except OSError as error:
        raise not_an_export(path, f"cannot be read ({reason_of(error)})") from error
    except (ValueError, TypeError, RecursionError, csv.Error) as error:
        raise not_an_export(path, "is not in the format of an export") from error


def _events(text: str) -> tuple[Event, ...]:
    events = tuple(Event(**parse_json(line)) for line in text.splitlines())
    kinds = (int, str, str, str, dict, str, str)
    for event in events:
        values = (getattr(event, field.name) for field in dataclasses.fields(event))
        if not all(type(value) is kind for value, kind in zip(values, kinds, strict=True)):
            raise TypeError("an event has a value of the wrong type")
    return events


def last_recorded(claims: Claims, table: str, name: str | None = None) -> Any:
    """Return the last record of a table, or of one value in it; None if there is none.

    A value that an event records again replaces nothing, as in the audit.
    """
    bound = None
    for event in claims.events:
        facts = facts_of(event.payload).get(table)
        if isinstance(facts, dict) and (bound is None or event.kind not in RECORDS_AGAIN):
            bound = facts if name is None else facts.get(name, bound)
    return bound


def recorded_solution(claims: Claims) -> tuple[int, Mapping[str, Any]]:
    """Return the number of the last solution in the record, and its digests."""
    solutions = last_recorded(claims, "solutions")
    if not isinstance(solutions, dict) or not solutions:
        return 0, {}
    last = max(solutions, key=lambda number: int(number) if number.isdecimal() else 0)
    return int(last) if last.isdecimal() else 0, solutions[last]


def usage_rows(claims: Claims) -> tuple[Path, list[tuple[str, str]]]:
    """Return the file with the usage of rows, and the id and usage of each in lower case."""
    path = claims.folder / "usage.csv"
    # Not splitlines: it also splits at characters that an id may contain, such as U+2028.
    rows = read_part(path, lambda text: list(csv.reader(io.StringIO(text, newline=""))))[1:]
    require(all(len(row) == 2 for row in rows), path)
    return path, [(row_id, usage.lower()) for row_id, usage in rows]


def _rows_added(claims: Claims) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each event that added rows: the number of the last submission before, and its payload.

    A payload without the content of such an event is refused.
    """
    last = 0
    for event in claims.events:
        payload = event.payload
        if event.kind == "submission":
            last = payload.get("submission", last)
        if event.kind != ROWS_ADDED:
            continue
        types = {type(number) for number in (last, *_list(payload, "n_rows"))}
        fits = types == {int} and len(payload["n_rows"]) == 2
        fits = fits and {type(name) for name in _list(payload, "row_sets")} <= {str}
        require(fits, claims.folder / "events.jsonl")
        yield last, payload


def _list(payload: Mapping[str, Any], name: str) -> list[Any]:
    value = payload.get(name)
    return value if isinstance(value, list) else [None]


def recorded_row_sets(claims: Claims) -> tuple[str, ...]:
    """Return the names of usages from 3 on; those of added rows come last."""
    row_sets = claims.settings.columns.row_sets
    for _, payload in _rows_added(claims):
        row_sets = tuple(payload["row_sets"])
    return row_sets


def recorded_row_counts(claims: Claims, solution: Solution) -> RowCounts:
    """Return how many rows the predictions of each submission have: not those added later."""
    row_counts = None
    for last, payload in _rows_added(claims):
        before, after = payload["n_rows"]
        row_counts = (row_counts or RowCounts((0,), (before,))).grown(last + 1, after)
        require(row_counts.are_possible(), claims.folder / "events.jsonl")
    return row_counts or RowCounts((0,), (solution.n_rows,))


def table_rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table; its columns may be in any order."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def recorded_submissions(events: Sequence[Event]) -> dict[int, dict[str, Any]]:
    """Return the rows of submissions.csv that follow from the events, by number."""
    rows: dict[int, dict[str, Any]] = {}
    names = Teams.of(events)
    for event in events:
        payload = event.payload
        if event.kind == "submission":
            rows[payload["submission"]] = {
                "submission": payload["submission"],
                "team": names.current(str(payload["team"])),
                "file": payload["file"],
                "received": datetime.fromisoformat(event.time).isoformat(),
                "status": payload["status"],
                "released": payload["released"],
                "source": payload.get("source", payload["submission"])
                if payload["released"] is not None
                else None,
                "late": payload.get("late", False),
                "phase": payload.get("phase", ""),
            }
        elif event.kind == "epoch":  # every submission that counted was released again
            again = dict(payload["released"])
            for number, row in rows.items():
                row["released"] = again.get(number)
                row["source"] = number if number in again else None
            _name_sources(rows, payload)
        elif event.kind == REBUILT:
            for number, score in payload["released"]:
                rows[number]["released"] = score
                rows[number]["source"] = None if score is None else number
            _name_sources(rows, payload)
    selected = {submission for chosen in selections_in(events).values() for submission in chosen}
    teams = {number: str(row["team"]) for number, row in rows.items()}
    disqualified = disqualified_in(events, teams)
    withdrawn = withdrawn_in(events)
    for number, row in rows.items():
        if number in disqualified or number in withdrawn:
            row["status"] = "disqualified" if number in disqualified else "withdrawn"
        row["selected"] = number in selected
    return rows


def _name_sources(rows: Mapping[int, dict[str, Any]], payload: Mapping[str, Any]) -> None:
    """Set whose score was released for the submissions that were shown another one's."""
    for number, source in payload.get("sources", ()):
        rows[number]["source"] = source


def counting_teams(recorded: Mapping[int, Mapping[str, Any]]) -> dict[str, set[str]]:
    """Return phase -> the teams with a submission that counts."""
    teams: dict[str, set[str]] = {}
    for row in recorded.values():
        if (row["status"], row["late"]) == ("accepted", False):
            teams.setdefault(row["phase"], set()).add(row["team"])
    return teams


def events_of(claims: Claims, *kinds: str) -> Iterator[Event]:
    """Yield the events of these kinds."""
    return (event for event in claims.events if event.kind in kinds)
