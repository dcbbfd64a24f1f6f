"""Verifies an export: scores the finals again and compares every part with the recorded events.

An export is untrusted input. Its events are a chain of hashes and contain digests of the solution,
the split, the settings and every submission's predictions, so that each part of the export is
compared with the record of that time.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from arena.competition.added_rows import ROWS_ADDED
from arena.competition.answers import ANSWER_EVENTS, Answers
from arena.competition.boards_over_phases import (
    PhaseFinals,
    phases_by_board,
    phases_of_boards,
    rows_with_labels,
)
from arena.competition.combined_boards import (
    ABOUT_PHASES,
    combined_boards,
    phase_files,
    verdicts_of_combined,
)
from arena.competition.create import read_settings_solution
from arena.competition.export import table_cell, table_text
from arena.competition.finalize import (
    columns_in_brackets,
    evaluate_finals,
    final_board_settings,
    with_boards_over_phases,
    with_combined_boards,
    with_roster,
)
from arena.competition.ledger import disqualified_in, selections_in, withdrawn_in
from arena.competition.phases import all_rows_in, with_rows
from arena.competition.programs import FIGURE_COLUMNS, RERUN, figures_in
from arena.competition.rebuild import REBUILT
from arena.competition.roster import ROSTER_EVENTS, Roster
from arena.competition.secondary import secondary_metrics
from arena.competition.state import metric_code
from arena.competition.teams import Teams
from arena.config import Settings
from arena.errors import InputError, UsageError
from arena.evaluation.scores import is_black_box
from arena.evaluation.solution_metric import scoring_metric
from arena.intake import read_submission
from arena.interfaces import Metric, traits_of
from arena.interfaces.faults import describe
from arena.plugin.manager import PluginManager
from arena.scoring.board import BoardRun
from arena.scoring.result import ScoreResult, unranked_rows
from arena.store import Event, Store
from arena.store.digests import document_digest, keyed_digest, predictions_digest
from arena.store.events import TimeCheck, first_broken
from arena.store.facts import RECORDS_AGAIN, facts_of
from arena.store.row_counts import RowCounts
from arena.store.solutions import solution_digests
from arena.types import IntArray, Solution, SubmissionRecord, Usage, usage_names
from arena.utils.parallel import Progress
from arena.utils.strict_json import parse_json
from arena.utils.text import printable, shorten

_HASH = re.compile(r"[0-9a-f]{64}")
_NOT_COMPARED = {"submission", "file"}
_TOLERANCE = 1e-9
_MOST_BYTES = 2**28
"""The largest accepted file; the files of an export of 3,000 teams have a hundredth of it."""

_FILES = frozenset(
    {
        "README.txt", "settings.json", "result.json", "private.csv", "public.csv",
        "submissions.csv", "events.jsonl", "key.txt", "usage.csv", "finals.json",
    }
)  # fmt: skip


_BOARD_COLUMNS = (
    "rank", "team", "score", "submission", "n_submissions", "baseline", "brackets", *FIGURE_COLUMNS,
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """The content of an export, each part parsed and checked for its format."""

    folder: Path

    settings: Settings
    result: Mapping[str, Any]
    finals: Mapping[str, list[int]]
    events: tuple[Event, ...]
    key: bytes
    """The key of the digests in the events."""

    @property
    def phase(self) -> str:
        """The phase whose boards these are, by the event that records the result."""
        digest = _fingerprint(self.result)
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
            raise _no_content(self.folder / "events.jsonl") from error


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
        raise _no_export(links[0], "is a link, and an export contains none")
    document = _read(folder / "settings.json", parse_json)
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise _no_export(folder / "settings.json", f"{where}: {first['msg']}") from error
    result, finals = (_read(folder / name, parse_json) for name in ("result.json", "finals.json"))
    _require(_is_result(result), folder / "result.json")
    _require(_is_finals(finals), folder / "finals.json")
    _require(phase_files(result).keys() <= settings.phase.keys(), folder / "result.json")
    events = _read(folder / "events.jsonl", _events)
    key = _read(folder / "key.txt", lambda text: text.strip().encode("ascii"))
    return Claims(folder, settings, result=result, finals=finals, events=events, key=key)


def _no_export(path: Path, what: str) -> InputError:
    name = printable(str(path))
    return InputError(f"{name} {shorten(what, 200)}: use the export as arena wrote it.")


def _no_content(path: Path) -> InputError:
    return _no_export(path, "does not have the content of an export")


def _require(fulfilled: bool, path: Path) -> None:
    if not fulfilled:
        raise _no_content(path)


def _read(path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _no_export(path, f"is larger than {_MOST_BYTES // 2**20} MB")
        return parse(path.read_bytes().decode())
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise _no_export(path, f"cannot be read ({reason})") from error
    except (ValueError, TypeError, RecursionError, csv.Error) as error:
        raise _no_export(path, "is not in the format of an export") from error


def _events(text: str) -> tuple[Event, ...]:
    events = tuple(Event(**parse_json(line)) for line in text.splitlines())
    kinds = (int, str, str, str, dict, str, str)
    for event in events:
        values = (getattr(event, field.name) for field in dataclasses.fields(event))
        if not all(type(value) is kind for value, kind in zip(values, kinds, strict=True)):
            raise TypeError("an event has a value of the wrong type")
    return events


def _is_result(value: Any) -> bool:
    """Tell whether the parts that are compared have the right format."""
    if not (isinstance(value, dict) and type(value.get("seed")) is int and value["seed"] >= 0):
        return False
    best, rows, reference = (
        value.get(name) for name in ("best_score_corrected", "standings", "baseline")
    )
    unranked, brackets = value.get("unranked", []), value.get("brackets", {})
    return (
        isinstance(best, dict)
        and "estimate" in best
        and isinstance(rows, list)
        and all(isinstance(row, dict) and isinstance(row.get("team"), str) for row in rows)
        and isinstance(brackets, dict)
        and _are_findings(value.get("findings", []))
        and isinstance(unranked, list)
        and all(_is_unranked(row) and type(row.get("baseline")) is bool for row in unranked)
        and (reference is None or _is_unranked(reference))
    )


def _are_findings(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(finding, dict)
        and isinstance(finding.get("analysis"), str)
        and isinstance(finding.get("document"), dict)
        and _are_rounds(finding["document"].get("round_files", {}))
        for finding in value
    )


def _are_rounds(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(of_round, dict) and all(type(number) is int for number in of_round.values())
        for of_round in value.values()
    )


def _is_unranked(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("team"), str)
        and type(value.get("submission")) is int
    )


def _is_finals(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(team_finals, list)
            and team_finals
            and all(type(submission) is int for submission in team_finals)
            for team_finals in value.values()
        )
    )


def verify_bundle(
    folder: Path, solution_path: Path, manager: PluginManager, progress: Progress
) -> tuple[str, ...]:
    """Score the finals of an export again and return a sentence on each difference.

    A difference in the solution comes first.

    Raises
    ------
    InputError
        If the export or the solution cannot be read.
    """
    claims = read_claims(folder)
    phase = claims.phase
    settings = claims.settings.in_phase(phase)
    read = read_settings_solution(solution_path, claims.settings, manager)
    read = _in_recorded_order(claims, read)
    problems = list(_other_solution(claims, read))
    with_usage = _with_usage(claims, read, problems)
    split = all_rows_in(with_usage, [claims.settings.phase[phase]] if phase else [])
    solution = split.labelled()
    problems += _contradictions(claims)
    problems += _other_metric(claims, manager)
    name = settings.metric.specification
    metric = scoring_metric(manager.metrics.resolve(name), solution.outline())
    with Store.open() as store:
        store.put_solution(solution)
        records, changed = _take_finals(store, claims, solution, metric)
        marked = [records[row["submission"]] for row in unranked_rows(claims.result)]
        ranked = {
            team: [records[number].submission for number in numbers]
            for team, numbers in claims.finals.items()
        }
        teams = {*ranked, *(record.team for record in marked)}
        every_team = claims.roster(finalized=True)
        roster = every_team.among(teams)
        problems += changed
        run = BoardRun(
            specification=name,
            metric=metric,
            solution=solution,
            split="private",
            settings=dataclasses.replace(
                final_board_settings(settings, claims.result["seed"]),
                intervals=_had_intervals(claims.result, metric),
            ),
            store=store,
            manager=manager,
            progress=progress,
            secondary=secondary_metrics(settings, solution, manager),
            brackets=roster.boards,
            n_pending=int((split.pending & (split.usage == np.uint8(Usage.PRIVATE))).sum()),
        )

        def rank(board_run: BoardRun) -> ScoreResult:
            board = evaluate_finals(board_run, ranked, [*records.values()], settings)
            return with_roster(board_run, board, marked, roster)

        result = with_combined_boards(run, settings, rank)
        if files := phase_files(claims.result):
            phase_finals = _claimed_phase_finals(
                claims, with_usage, files=files, records=records, roster=every_team
            )
            result = with_boards_over_phases(run, result, settings, phase_finals)
        problems += _lacking_boards_over_phases(claims, with_usage, every_team)
        recomputed = result.to_dict()
    return (*problems, *_differences(claims.result, recomputed), *_of_combined(claims, recomputed))


def _claimed_phase_finals(
    claims: Claims,
    solution: Solution,
    files: Mapping[str, Mapping[str, int]],
    records: Mapping[int, SubmissionRecord],
    roster: Roster,
) -> PhaseFinals:
    """Return what the boards over phases of an export are of, by the submissions in its store."""
    renumbered = {
        name: {team: records[number].submission for team, number in files.get(name, {}).items()}
        for name in phases_of_boards(claims.settings, claims.phase)
    }
    return PhaseFinals(
        settings=claims.settings,
        phase=claims.phase,
        solution=solution,
        files=renumbered,
        records={record.submission: record for record in records.values()},
        roster=roster,
    )


def _lacking_boards_over_phases(
    claims: Claims, solution: Solution, roster: Roster
) -> Iterator[str]:
    """Yield a sentence on each board over phases that an export must have and has not.

    It must if two phases have labels, and a team that is ranked has a file in each of these.
    """
    counting = _counting_teams(_recorded_submissions(claims.events))
    claimed = combined_boards(claims.result)
    for name, phases in phases_by_board(claims.settings, claims.phase).items():
        if name in claimed:
            continue
        labelled = [
            phase for phase in phases if rows_with_labels(claims.settings, phase, solution).any()
        ]
        complete = set.intersection(*(counting.get(phase, set()) for phase in labelled or [""]))
        if len(labelled) > 1 and complete - set(roster.unranked):
            yield f"result.json lacks the board {printable(name)}."


def _counting_teams(recorded: Mapping[int, Mapping[str, Any]]) -> dict[str, set[str]]:
    """Return phase -> the teams with a submission that counts."""
    teams: dict[str, set[str]] = {}
    for row in recorded.values():
        if (row["status"], row["late"]) == ("accepted", False):
            teams.setdefault(row["phase"], set()).add(row["team"])
    return teams


def _of_combined(claims: Claims, recomputed: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on each difference of a combined board."""
    claimed = combined_boards(claims.result)
    verdicts, verdicts_again = verdicts_of_combined(claims.result), verdicts_of_combined(recomputed)
    for name, again in combined_boards(recomputed).items():
        _require(_is_result(claimed.get(name)), claims.folder / "result.json")
        for difference in _differences(claimed[name], again):
            yield f"Board {printable(name)}: {difference}"
        texts = (verdicts[name], claimed[name].get(ABOUT_PHASES))
        texts_again = (verdicts_again[name], again.get(ABOUT_PHASES))
        teams = [str(row["team"]) for row in again["standings"]]
        if _numbers_and_names(texts, teams) != _numbers_and_names(texts_again, teams):
            yield f"Board {printable(name)}: its sentences differ."
    for name in claimed.keys() - combined_boards(recomputed).keys():
        yield f"Board {printable(name)} does not follow from the settings."


def _numbers_and_names(texts: Iterable[Any], names: Iterable[str]) -> list[tuple[Any, ...]]:
    """Return the numbers and names in texts, whose words may be those of another version."""
    return [
        (re.findall(r"\d+", str(text)), [name for name in names if name in str(text)])
        for text in texts
    ]


def _had_intervals(result: Mapping[str, Any], metric: Metric) -> bool:
    """Return whether intervals were requested; a metric may have refused all resamples.

    The public scores of a black-box metric are only computed with intervals.
    """
    public = any(row.get("public_score") is not None for row in result["standings"])
    return bool(result.get("resamples", True)) or (is_black_box(metric) and public)


def _bound(claims: Claims, table: str, name: str | None = None) -> Any:
    """Return the last record of a table, or of one value in it; None if there is none.

    A value that an event records again replaces nothing, as in the audit.
    """
    bound = None
    for event in claims.events:
        facts = facts_of(event.payload).get(table)
        if isinstance(facts, dict) and (bound is None or event.kind not in RECORDS_AGAIN):
            bound = facts if name is None else facts.get(name, bound)
    return bound


def _solution_digests(claims: Claims) -> tuple[int, Mapping[str, Any]]:
    """Return the number of the last solution in the record, and its digests."""
    solutions = _bound(claims, "solutions")
    if not isinstance(solutions, dict) or not solutions:
        return 0, {}
    last = max(solutions, key=lambda number: int(number) if number.isdecimal() else 0)
    return int(last) if last.isdecimal() else 0, solutions[last]


def _other_solution(claims: Claims, solution: Solution) -> Iterator[str]:
    number, digests = _solution_digests(claims)
    if not digests:
        yield "events.jsonl does not record the solution: the beginning of the record is missing."
    elif solution_digests(solution, claims.key)["labels"] != digests.get("labels"):
        corrected = " after its last correction" if number > 1 else ""
        yield (
            f"This is not the solution of this competition{corrected}: its labels, ids or groups "
            "differ from those in the record. Use the file the competition was created with."
        )


def _with_usage(claims: Claims, solution: Solution, problems: list[str]) -> Solution:
    """Return the solution with the split of the export; a changed split adds to the problems."""
    row_sets = _recorded_row_sets(claims)
    codes = {name: code for code, name in enumerate(usage_names(row_sets))}
    path, rows = _usage_rows(claims)
    _require(all(usage in codes for _, usage in rows), path)
    usage = np.array([codes[usage] for _, usage in rows], dtype=np.uint8)
    _, digests = _solution_digests(claims)
    if digests and keyed_digest(claims.key, usage.tobytes()) != digests.get("usage"):
        problems.append(
            "usage.csv is not the split of this competition: it differs from the record."
        )
    return dataclasses.replace(solution, usage=usage, row_sets=row_sets)


def _usage_rows(claims: Claims) -> tuple[Path, list[tuple[str, str]]]:
    """Return the file with the usage of rows, and the id and usage of each in lower case."""
    path = claims.folder / "usage.csv"
    # Not splitlines: it also splits at characters that an id may contain, such as U+2028.
    rows = _read(path, lambda text: list(csv.reader(io.StringIO(text, newline=""))))[1:]
    _require(all(len(row) == 2 for row in rows), path)
    return path, [(row_id, usage.lower()) for row_id, usage in rows]


def _in_recorded_order(claims: Claims, solution: Solution) -> Solution:
    """Return a solution in the order of the rows of an export: those that were added come last.

    Raises
    ------
    InputError
        If it has other ids.
    """
    _, rows = _usage_rows(claims)
    ids = [row_id for row_id, _ in rows]
    if ids == solution.ids.to_pylist():
        return solution
    positions = {row_id: position for position, row_id in enumerate(solution.ids.to_pylist())}
    if sorted(ids) != sorted(positions):
        raise InputError(
            "This is not the solution of this competition, or usage.csv was changed: their ids "
            "differ."
        )
    order = np.array([positions[row_id] for row_id in ids], dtype=np.intp)
    ordered = with_rows(solution, order)
    tasks, names = ordered.tasks, ordered.task_names
    if tasks is not None:
        tasks, codes = _in_order_of_occurrence(tasks)
        names = tuple(names[code] for code in codes)
    clusters = ordered.clusters
    if clusters is not None:
        clusters, _ = _in_order_of_occurrence(clusters)
    return dataclasses.replace(ordered, tasks=tasks, task_names=names, clusters=clusters)


def _in_order_of_occurrence(codes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the codes numbered by their first occurrence, and the code that each was before."""
    before, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return np.argsort(order)[inverse], before[order]


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
        _require(fits, claims.folder / "events.jsonl")
        yield last, payload


def _list(payload: Mapping[str, Any], name: str) -> list[Any]:
    value = payload.get(name)
    return value if isinstance(value, list) else [None]


def _recorded_row_sets(claims: Claims) -> tuple[str, ...]:
    """Return the names of usages from 3 on; those of added rows come last."""
    row_sets = claims.settings.columns.row_sets
    for _, payload in _rows_added(claims):
        row_sets = tuple(payload["row_sets"])
    return row_sets


def _recorded_row_counts(claims: Claims, solution: Solution) -> RowCounts:
    """Return how many rows the predictions of each submission have: not those added later."""
    row_counts = None
    for last, payload in _rows_added(claims):
        before, after = payload["n_rows"]
        row_counts = (row_counts or RowCounts((0,), (before,))).grown(last + 1, after)
        _require(row_counts.are_possible(), claims.folder / "events.jsonl")
    return row_counts or RowCounts((0,), (solution.n_rows,))


def _contradictions(claims: Claims) -> Iterator[str]:
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
    elif finalized[-1].get("sha256") != _fingerprint(claims.result):
        yield "result.json is not the board that events.jsonl records as the final one."
    elif finalized[-1].get("finals") != claims.finals:
        yield "The submissions in finals.json differ from those that events.jsonl records."
    # Not the keys that the arena which recorded them did not have.
    recorded = claims.settings.model_dump_json(exclude_unset=True)
    settings = keyed_digest(claims.key, recorded.encode())
    if settings != _bound(claims, "meta", "settings"):
        yield "The settings in settings.json differ from those that events.jsonl records."
    private_rows = _read(folder / "private.csv", _rows)
    try:
        standings = _rows(table_text(claims.result["standings"]))
    except csv.Error as error:  # a cell beyond csv's limit
        raise _no_export(folder / "result.json", "is not in the format of an export") from error
    if private_rows != standings:
        yield "private.csv differs from result.json."
    try:
        yield from _of_submissions(claims, _recorded_submissions(events))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _no_content(folder / "events.jsonl") from error
    expected_files = _FILES | {
        f"finals/{submission}.csv"
        for team_finals in claims.written.values()
        for submission in team_finals
    }
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in expected_files and name != "finals":
            yield f"{shorten(name, 100)} does not belong to an export."


def _rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table; its columns may be in any order."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _fingerprint(result: Mapping[str, Any]) -> str:
    try:
        return document_digest(result)
    except (ValueError, RecursionError):  # NaN, infinity or too deep
        return ""


def _recorded_submissions(events: Sequence[Event]) -> dict[int, dict[str, Any]]:
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


def _of_submissions(claims: Claims, recorded: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
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
    rows = _read(claims.folder / "submissions.csv", _rows)
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
            which = f"submission {shorten(name, 12)}"
            yield f"submissions.csv has {which}, which events.jsonl does not record."
    yield from _of_public_board(claims, recorded, n_sent)
    yield from _of_rounds(claims, every)
    for team in sorted(_counting_teams(recorded).get(phase, set()) - claims.written.keys()):
        yield f"finals.json lacks the team {printable(team)}, which has a submission that counts."
    for team, numbers in claims.finals.items():
        for number in numbers:
            row = recorded.get(number, {})
            if (row.get("team"), row.get("status")) != (team, "accepted"):
                yield (
                    f"finals.json: submission {number} of the team {printable(team)} does not "
                    "count according to events.jsonl."
                )


def _of_rounds(claims: Claims, recorded: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Yield a sentence on each file of a board over phases that does not count, or is missing."""
    files, counting = phase_files(claims.result), _counting_teams(recorded)
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
                    f"count in the phase {shorten(name, 60)} according to events.jsonl."
                )
        for team in sorted(counting.get(name, set()) - of_round.keys()):
            yield (
                f"result.json: a board lacks the team {printable(team)} in the phase "
                f"{shorten(name, 60)}, in which it has a submission that counts."
            )


def _of_public_board(
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
    public_rows = list(_read(claims.folder / "public.csv", _rows))
    answers = Answers.of(claims.settings, _events_of(claims, *ANSWER_EVENTS))
    columns = (*_BOARD_COLUMNS, *(f"answer_{key}" for key in claims.settings.public_questions))
    yield from _unknown_columns("public.csv", public_rows, columns)
    roster = claims.roster(finalized=False)
    unranked = set(roster.unranked)
    figures = figures_in(
        _events_of(claims, "submission"),
        _events_of(claims, RERUN),
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
        name = shorten(row["team"], 40)
        yield f"public.csv lists the team {name}, which has no released submission."


def _events_of(claims: Claims, *kinds: str) -> Iterator[Event]:
    return (event for event in claims.events if event.kind in kinds)


def _unknown_columns(
    file: str, rows: Sequence[Mapping[str | None, Any]], columns: Iterable[str]
) -> Iterator[str]:
    """Name columns that the record does not have; cells beyond the header are in None."""
    for name in sorted({str(name or "") for row in rows for name in row} - set(columns)):
        column = shorten(name or "without a name", 40)
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
                f"{where}: {name} is {shorten(row[name] or 'empty', 40)}, and events.jsonl records "
                f"{shorten(text or 'none', 40)}."
            )


def _other_metric(claims: Claims, manager: PluginManager) -> Iterator[str]:
    """Yield a sentence if the metric is a file and its code differs from the recorded code."""
    recorded = None
    for event in claims.events:
        recorded = event.payload.get("metric_sha256", recorded)
    code = metric_code(claims.settings.metric.specification, manager)
    if code is None:
        return
    if sha256(code.encode("utf-8", "surrogatepass")).hexdigest() != recorded:
        yield "The code of the metric file differs from the code that gave the recorded scores."


def _take_finals(
    store: Store, claims: Claims, solution: Solution, metric: Metric
) -> tuple[dict[int, SubmissionRecord], list[str]]:
    """Store the finals in the order of their numbers, so that ties are broken as before.

    Returns
    -------
    Their records, with new numbers, by their numbers in the export, and a sentence on each whose
    predictions differ from the record.
    """
    allowed = traits_of(metric).prediction_range
    teams = {
        submission: team
        for team, team_finals in claims.written.items()
        for submission in team_finals
    }
    records: dict[int, SubmissionRecord] = {}
    changed = []
    every_row = np.arange(solution.n_rows)
    row_counts = _recorded_row_counts(claims, solution).of(sorted(teams)).tolist()
    solutions = {n_rows: with_rows(solution, every_row[:n_rows]) for n_rows in set(row_counts)}
    for submission, n_rows in zip(sorted(teams), row_counts, strict=True):
        path = claims.folder / "finals" / f"{submission}.csv"
        read = read_submission(path, solutions[n_rows], prediction_range=allowed)
        if read.values is None:
            raise InputError(f"{path} cannot be used: {describe(read.faults[0])}")
        recorded = _bound(claims, "predictions", str(submission))
        if predictions_digest(claims.key, read.values) != recorded:
            changed.append(
                f"finals/{submission}.csv does not contain the predictions of submission "
                f"{submission} that events.jsonl records."
            )
        records[submission] = store.add_submission(
            teams[submission],
            path.name,
            read.sha256,
            read.values[np.minimum(every_row, n_rows - 1)],
            key=str(submission),
        )
    return records, changed


def _differences(claimed: Mapping[str, Any], computed: Mapping[str, Any]) -> Iterator[str]:
    # n_pending is absent where every row has a label; older exports may lack the others.
    for key, default in (("n_rows", None), ("n_pending", 0), ("greater_is_better", None)):
        expected = computed.get(key, default)
        if claimed.get(key, expected if default is None else default) != expected:
            yield f"{key} differs."
    mine = {row["team"]: row for row in computed["standings"]}
    for row in claimed["standings"]:
        recorded_row = mine.pop(row["team"], None)
        if recorded_row is None:
            yield f"The team {printable(row['team'])} is not on the recomputed board."
            continue
        for column in sorted(set(row) - _NOT_COMPARED):
            if not _agree(row[column], recorded_row.get(column)):
                yield f"{column} of the team {printable(row['team'])} differs."
    again = {row["team"]: row for row in unranked_rows(computed)}
    for row in unranked_rows(claimed):
        what = f"the {'baseline' if row['baseline'] else 'unranked team'} {printable(row['team'])}"
        for column in ("score", "public_score", "baseline"):
            if not _agree(row.get(column), again.get(row["team"], {}).get(column)):
                yield f"{column} of {what} differs."
    listed = {row["team"] for row in unranked_rows(claimed)}
    for team in sorted(again.keys() - listed):
        yield f"The team {printable(team)}, which is not ranked, is missing from the board."
    yield from _differences_in_brackets(claimed, computed)
    for team in mine:
        yield f"The team {printable(team)} is missing from the exported board."
    if not _agree(claimed["best_score_corrected"]["estimate"],
                  computed["best_score_corrected"]["estimate"]):  # fmt: skip
        yield "The corrected best score differs."


def _differences_in_brackets(
    claimed: Mapping[str, Any], recomputed: Mapping[str, Any]
) -> Iterator[str]:
    """Yield a sentence on each bracket whose teams, or columns among them, differ."""
    brackets, again = claimed.get("brackets", {}), recomputed.get("brackets", {})
    try:
        boards = columns_in_brackets(claimed)
    except (KeyError, TypeError):
        boards = {}
    boards_again = columns_in_brackets(recomputed)
    for name in sorted({*brackets, *again}):
        if brackets.get(name) != again.get(name):
            yield f"The teams of the bracket {printable(name)} differ."
        elif boards.get(name) != boards_again.get(name):
            yield f"The ranks in the bracket {printable(name)} differ."


def _agree(claimed: Any, computed: Any) -> bool:
    if isinstance(claimed, float) and isinstance(computed, float | int):
        return math.isclose(claimed, computed, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
    return bool(claimed == computed)


def check_hash(text: str) -> None:
    """Refuse a text that cannot be the hash of an event.

    Raises
    ------
    UsageError
        If it is not 64 hexadecimal digits.
    """
    if not _HASH.fullmatch(text):
        raise UsageError("The hash of an event has 64 hexadecimal digits: copy all of them.")


def missing_hash(events: Sequence[Event], noted: str) -> tuple[str, ...]:
    """Return a sentence if no event has the noted hash; nothing if one has it.

    All events up to one with a known hash are unchanged: each hash covers the one before.
    """
    if any(event.hash == noted for event in events):
        return ()
    return (
        f"The record does not contain the event {noted[:12]}…: an event at or before it was "
        "changed, or the end was removed.",
    )


def receipt_problems(path: Path, events: Sequence[Event]) -> tuple[str, ...]:
    """Return a sentence on each value of a receipt that the record does not contain.

    Parameters
    ----------
    path
        The output of ``arena submit --json``, ``arena import --json`` or ``arena leaderboard
        --json``, or any text with hashes in it.

    Raises
    ------
    InputError
        If the file cannot be read or contains no hash.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"The receipt {path} cannot be read: name a text file.") from error
    try:
        document = parse_json(text)
    except (ValueError, RecursionError):
        document = None
    answers = document.get("answers", [document]) if isinstance(document, dict) else []
    by_hash = {event.hash: event for event in events}
    names = Teams.of(events)
    problems = [problem for noted in dict.fromkeys(_HASH.findall(text))
                for problem in missing_hash(events, noted)]  # fmt: skip
    if not _HASH.search(text):
        raise InputError(f"The receipt {path} contains no hash: give the output of submit.")
    for answer in answers if isinstance(answers, list) else ():
        noted = answer.get("receipt") if isinstance(answer, dict) else None
        event = by_hash.get(noted) if isinstance(noted, str) else None
        for name in ("submission", "team", "status", "released") if event else ():
            if event is None:
                continue
            claimed, recorded = answer.get(name), event.payload.get(name)
            if name == "team":  # it may have been renamed since
                claimed, recorded = names.current(str(claimed)), names.current(str(recorded))
            if claimed != recorded:
                problems.append(
                    f"The receipt of submission {event.payload.get('submission')} and the record "
                    f"differ in {name}."
                )
    return tuple(problems)
