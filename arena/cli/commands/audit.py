"""Compare the stored data with the record of events."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_error
from arena.cli.folder import Directory, Wait, borrow_served, find_folder, look_at_competition
from arena.cli.similar import say_similar
from arena.competition.exports.receipts import check_hash, missing_hash
from arena.competition.record.ledger import Ledger
from arena.competition.record.teams import TEAM_CHANGES
from arena.config import DATABASE_NAME
from arena.errors import UsageError
from arena.evaluation.similar import Comparison, SimilarSubmissions
from arena.report.terminal import print_table
from arena.server.compare import QueueComparison, RecordedRequests, files_compared
from arena.server.marker import records_folder_of
from arena.server.records.layout import Layout
from arena.store import Event, Store
from arena.store.events import TimeCheck
from arena.types import Table
from arena.utils.collection import collection_paused
from arena.utils.progress import stage
from arena.utils.text import plural, shorten

if TYPE_CHECKING:
    from arena.competition.boards.released_numbers import ReleasedNumbers

app = typer.Typer(add_completion=False)

_WIDTH_OF_PAYLOAD = 72
_LENGTH_OF_HASH = 64
_FIRST = ("submission", "team", "status", "released", "submissions", "reason")
_LEFT_OUT = {"facts"}
_NOTE = (
    "Note it outside this machine, and give it to the next audit: --head HASH. Without a noted "
    "hash an audit cannot see that the whole record was rewritten, cut off or extended by someone "
    "who can write to the database and its journal."
)


@app.command()
def audit(
    head: Annotated[
        str | None,
        typer.Option(
            metavar="HASH",
            help="A hash noted earlier (a receipt, or the head that leaderboard prints): "
            "check that the record still holds it.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="HASH|N",
            help="Compare only data recorded after this event: its hash, or its number.",
        ),
    ] = None,
    released: Annotated[
        bool,
        typer.Option(
            "--released",
            help="List how many scores each team was shown on each set of public rows; compare "
            "nothing.",
        ),
    ] = False,
    directory: Directory = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Folder of the server's queue and accounts.  [default: server/ in DIR]"),
    ] = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Compare submissions, predictions, solution, scores and settings with the record of events.

    Each event holds digests of its stored data and the hash of the event before it. Exits with 1
    and names every difference. If somebody rewrote, cut off or extended the record and changed the
    stored data to match, only --head detects it. The queue and the accounts of a server are
    compared too, as far as the record has their content. Then identical and nearly identical
    submissions of different teams are listed. With --since the chain of all events is checked, but
    only the small data of older events are compared; the omissions are listed.
    """
    if released:
        if head is not None or since is not None or data is not None or as_json:
            raise UsageError("--released excludes other options.")
        with look_at_competition(directory, wait) as competition:
            _print_released(competition.released_numbers())
        return
    if head is not None:
        check_hash(head)
    if since is not None and not _is_number(since):
        check_hash(since)
    folder = find_folder(directory)
    layout = Layout(data or records_folder_of(folder))
    with (
        borrow_served(folder, wait),
        collection_paused(),
        stage("Comparing the stored data with the record"),
        Store.open(folder / DATABASE_NAME, create=False, wait=wait, read_only=True) as store,
    ):
        findings = _compare(store, since, head, layout)
        if as_json:
            print_document(_document(store, findings))
        else:
            _print_events(findings.seen)
    for problem in findings.problems:
        say_error(problem)
    if findings.problems:
        raise typer.Exit(1)
    if not as_json:
        _print_conclusion(findings)


def _print_released(accounts: Sequence[ReleasedNumbers]) -> None:
    for phases, group in groupby(accounts, lambda account: account.phases):
        teams = list(group)
        phases_text = f", shown by {', '.join(phases)}" if phases != ("",) else ""
        columns = [*phases] if phases != ("",) else ["files"]
        table = Table(
            f"Scores on {plural(teams[0].n_rows, 'public row')}{phases_text}",
            ("team", *columns, "after rebuilds", "in all"),
            tuple(
                (
                    shorten(account.team, 32),
                    *account.by_phase,
                    account.of_rebuilds,
                    sum(account.by_phase) + account.of_rebuilds,
                )
                for account in teams
            ),
        )
        print_table(table, console(), most=None)
    if not accounts:
        console().print("No score was shown.")


def _compare(store: Store, since: str | None, head: str | None, layout: Layout) -> _Found:
    """Compare the store, and the queue of a server, with the record."""
    requests = RecordedRequests()
    after, problems = _after(store, since)
    seen, times = _Seen(after, head), TimeCheck()

    def watch(event: Event) -> None:
        seen.add(event)
        requests.add(event)
        times.add(event)

    comparison = Comparison()
    problems += store.audit(
        since=after,
        watch=watch,
        compare=comparison if not after and len(store.teams()) > 1 else None,
    )
    problems += times.problems
    compared = QueueComparison() if problems else files_compared(requests, layout)
    problems += compared.differences
    similar = () if problems or after else Ledger(store).similar_in(comparison)
    unused = [] if problems or after else store.unused_objects()
    not_compared = [
        *seen.not_compared(),
        *_without_journal(store, whole=not after),
        *compared.not_compared,
    ]
    if head is not None and seen.noted is None:
        problems += missing_hash((), head)
    return _Found(seen, problems, similar=similar, unused=len(unused), not_compared=not_compared)


def _document(store: Store, findings: _Found) -> dict[str, Any]:
    """Return the document ``arena/audit/1``; its events are read while it is written."""
    names = [column.name for column in dataclasses.fields(Event)]
    return {
        "schema": "arena/audit/1",
        "problem": findings.problems[0] if findings.problems else None,
        "problems": findings.problems,
        "head": findings.seen.last,
        "similar": [dataclasses.asdict(pair) for pair in findings.similar],
        "unused_objects": findings.unused,
        "not_compared": findings.not_compared,
        # Not asdict, which copies every payload.
        "events": (
            {name: getattr(event, name) for name in names}
            for event in store.each_event(after=findings.seen.after or None)
        ),
    }


def _print_conclusion(findings: _Found) -> None:
    """Print the result of an audit without a difference."""
    seen = findings.seen
    if seen.after:
        text = "The record is whole, and the data recorded since then agree with it."
    else:
        text = "The record is whole, and everything that is stored agrees with it."
    console().print(f"{text} Its last hash is {seen.last}.", soft_wrap=True)
    for sentence in findings.not_compared:
        console().print(sentence, soft_wrap=True)
    note = _NOTE if seen.noted is None else seen.since(seen.noted)
    console().print(note, soft_wrap=True)
    say_similar(findings.similar)
    if findings.unused:
        console().print(
            f"Objects with predictions that belong to no submission: {findings.unused:,}. An "
            "interrupted submission leaves such objects. They do no harm; arena repair "
            "--remove-unused removes them.",
            soft_wrap=True,
        )


def _without_journal(store: Store, *, whole: bool) -> list[str]:
    """Name the parts that the journal does not confirm; ``whole``: not only the end."""
    notes = []
    if count := store.events_without_journal():
        events = "event" if count == 1 else plural(count, "event")
        notes.append(
            f"Not compared: the last {events} with the journal, which lacks them. A kill can cost "
            "the journal one event. If more are missing, it was removed or cut off, and only a "
            "noted hash shows whether the record was rewritten."
        )
    if whole and (faults := store.journal_faults()):
        notes.append(
            f"Not compared: lost lines of the journal ({'; '.join(faults)}). A kill or a "
            "power failure can damage or cost one line. If there are more, it was changed, or a "
            "new one was begun; the record itself is compared without it."
        )
    return notes


def _is_number(since: str) -> bool:
    return since.isdecimal() and len(since) < _LENGTH_OF_HASH


def _after(store: Store, since: str | None) -> tuple[int, list[str]]:
    """Return the sequence of the event; if the record lacks it, 0, so that all is compared."""
    if since is None:
        return 0, []
    if not _is_number(since):
        sequence = store.sequence_of(since)
        return sequence or 0, [] if sequence else [*missing_hash((), since)]
    last = store.last_sequence()
    if int(since) > last:
        return 0, [f"The record ends with event {last}, before event {since}."]
    return int(since), []


@dataclasses.dataclass(slots=True, eq=False)
class _Seen:
    """A summary of the events; most are not kept."""

    after: int
    """The sequence of the event whose followers are shown."""
    head: str | None
    """A hash noted earlier."""
    noted: int | None = None
    """The sequence of the event with that hash."""
    last: str | None = None
    """The hash of the last event."""
    last_sequence: int = 0
    earlier: int = 0
    """The number of submissions up to ``after``."""
    teams: dict[str, Counter[str]] = dataclasses.field(default_factory=dict)
    """The number of submissions of each status, by team."""
    times: dict[str, str] = dataclasses.field(default_factory=dict)
    """The time of each team's last submission."""
    others: list[Event] = dataclasses.field(default_factory=list)
    """The events that are not submissions."""

    def add(self, event: Event) -> None:
        self.last, self.last_sequence = event.hash, event.sequence
        if event.hash == self.head and self.noted is None:
            self.noted = event.sequence
        if event.sequence <= self.after:
            self.earlier += event.kind == "submission"
        elif event.kind == "submission":
            team = event.payload["team"]
            self.teams.setdefault(team, Counter())[event.payload["status"]] += 1
            self.times[team] = event.time[:19].replace("T", " ")
        else:
            self.others.append(event)

    def not_compared(self) -> list[str]:
        """Name the parts that were not compared."""
        if not self.after:
            return []
        return [
            f"Not compared: the content of {plural(self.earlier, 'submission')}, and of "
            f"predictions, releases and scores, as far as no event after event {self.after} "
            "recorded it; codes of predicted texts. Similar submissions were not searched for.",
        ]

    def since(self, noted: int) -> str:
        """Say which events follow the noted one: each hash covers only the events before it."""
        first, last = noted + 1, self.last_sequence
        if first > last:
            return "It is the noted hash: nothing was changed, removed or added since."
        which = f"Event {first} follows" if first == last else f"Events {first} to {last} follow"
        return (
            f"Nothing up to the noted hash was changed or removed. {which} it: check that you know "
            "of each, and note the last hash."
        )


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """The result of an audit."""

    seen: _Seen
    problems: list[str]
    similar: Sequence[SimilarSubmissions]
    unused: int
    """The number of objects with predictions that belong to no submission."""
    not_compared: list[str]


def _print_events(seen: _Seen) -> None:
    """Print the submissions by team, and every other event."""
    statuses = ("accepted", "rejected", "refused")
    rows = [
        (shorten(team, 32), *(counts[status] for status in statuses), seen.times[team])
        for team, counts in sorted(seen.teams.items())
    ]
    if rows:
        n_submissions = sum(counts.total() for counts in seen.teams.values())
        renamed = any(event.kind in TEAM_CHANGES for event in seen.others)
        title = f"{plural(n_submissions, 'submission')} by team"
        title += ", under the names that the teams had then" if renamed else ""
        print_table(Table(title, ("team", *statuses, "last (UTC)"), tuple(rows)), console())
    if seen.others or not seen.after:
        _print_decisions(seen.others)


def _print_decisions(events: Sequence[Event]) -> None:
    rows = [
        (
            str(event.sequence),
            event.time[:19].replace("T", " "),
            event.kind,
            shorten(event.actor, 24),
            shorten(_summary(event.payload), _WIDTH_OF_PAYLOAD),
            event.hash[:12],
        )
        for event in events
    ]
    counts = Counter(event.kind for event in events)
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))
    table = Table(
        f"All other events: {kinds}",
        ("event", "time (UTC)", "kind", "actor", "what", "hash"),
        tuple(rows),
        importance=(1, 2, 3, 5, 4, 6),
    )
    print_table(table, console(), most=None)


def _summary(payload: Mapping[str, Any]) -> str:
    """Return a payload in one line, the most important parts first, without empty values."""
    keys = [key for key in _FIRST if key in payload]
    keys += [key for key in payload if key not in _FIRST and key not in _LEFT_OUT]
    fields = {key: payload[key] for key in keys if payload[key] not in (None, [], {}, "")}
    return ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in fields.items()
    )
