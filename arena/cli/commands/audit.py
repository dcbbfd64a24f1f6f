"""Compare what is stored with the record of events."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_error
from arena.cli.folder import Directory, Wait, find_folder
from arena.cli.similar import say_similar
from arena.cli.tables import Column, print_table
from arena.competition.ledger import Ledger
from arena.competition.verify import check_hash, missing_hash
from arena.config import DATABASE_NAME
from arena.store import Event, Store
from arena.utils.collection import collection_paused
from arena.utils.progress import stage
from arena.utils.text import printable, shorten

app = typer.Typer(add_completion=False)

_WIDTH_OF_PAYLOAD = 72
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
    directory: Directory = None,
    wait: Wait = 0.0,
    as_json: options.AsJson = False,
) -> None:
    """Compare submissions, predictions, solution, scores and settings with the record of events.

    Each event holds digests of what it stored and the hash of the event before it. Exits with 1
    and names every difference. A record that was rewritten, cut off or extended together with all
    that follows from it shows only with --head. Then it lists identical and nearly identical
    submissions of different teams.
    """
    if head is not None:
        check_hash(head)
    path = find_folder(directory) / DATABASE_NAME
    with (
        collection_paused(),
        stage("Comparing what is stored with the record"),
        Store.open(path, create=False, wait=wait, read_only=True) as store,
    ):
        events = store.events()
        problems = list(store.audit(events))
        similar = () if problems else Ledger(store).similar()
    if head is not None:
        problems += missing_hash(events, head)
    last = events[-1].hash if events else None
    if as_json:
        names = [one.name for one in dataclasses.fields(Event)]
        document: dict[str, Any] = {
            "schema": "arena/audit/1",
            "problem": problems[0] if problems else None,
            "problems": problems,
            "head": last,
            "similar": [dataclasses.asdict(one) for one in similar],
            # Not asdict, which copies every payload.
            "events": [{name: getattr(event, name) for name in names} for event in events],
        }
        print_document(document)
    else:
        _print_events(events)
    for problem in problems:
        say_error(problem)
    if problems:
        raise typer.Exit(1)
    if not as_json:
        said = "The record is whole, and everything that is stored agrees with it."
        console().print(f"{said} Its last hash is {last}.", soft_wrap=True)
        console().print(_since(events, head) if head else _NOTE, soft_wrap=True)
        say_similar(similar)


def _since(events: Sequence[Event], head: str) -> str:
    """Say which events follow the noted one: each hash covers only the events before it."""
    later = [event.sequence for event in events[1 + [one.hash for one in events].index(head) :]]
    if not later:
        return "It is the noted hash: nothing was changed, removed or added since."
    which = (
        f"Event {later[0]} follows"
        if len(later) == 1
        else f"Events {later[0]} to {later[-1]} follow"
    )
    return (
        f"Nothing up to the noted hash was changed or removed. {which} it: check that you know "
        "of each, and note the last hash."
    )


def _print_events(events: Sequence[Event]) -> None:
    """Print the submissions by team, and every other event."""
    submissions = [event for event in events if event.kind == "submission"]
    teams: dict[str, Counter[str]] = {}
    last: dict[str, str] = {}
    for event in submissions:
        team = event.payload["team"]
        teams.setdefault(team, Counter())[event.payload["status"]] += 1
        last[team] = event.time[:19].replace("T", " ")
    statuses = ("accepted", "rejected", "refused")
    of_team = (
        Column("team", 1, lambda row: shorten(row["team"], 32), left=True),
        *(
            Column(status, 2, lambda row, status=status: f"{row[status]:,}")  # type: ignore[misc]
            for status in statuses
        ),
        Column("last (UTC)", 3, lambda row: row["last"], left=True),
    )
    rows = [
        {"team": team, "last": last[team], **{status: counts[status] for status in statuses}}
        for team, counts in sorted(teams.items())
    ]
    if rows:
        title = f"{len(submissions):,} submissions by team"
        print_table(rows, of_team, console(), title=title)
    _print_decisions([event for event in events if event.kind != "submission"])


def _print_decisions(events: Sequence[Event]) -> None:
    columns = (
        Column("event", 1, lambda row: str(row["sequence"])),
        Column("time (UTC)", 2, lambda row: row["time"][:19].replace("T", " "), left=True),
        Column("kind", 3, lambda row: printable(row["kind"]), left=True),
        Column("actor", 5, lambda row: shorten(row["actor"], 24), left=True),
        Column("what", 4, lambda row: shorten(row["what"], _WIDTH_OF_PAYLOAD), left=True),
        Column("hash", 6, lambda row: row["hash"][:12], left=True),
    )
    rows = [
        {
            "sequence": one.sequence,
            "time": one.time,
            "kind": one.kind,
            "actor": one.actor,
            "what": _summary(one.payload),
            "hash": one.hash,
        }
        for one in events
    ]
    counts = Counter(event.kind for event in events)
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(counts.items()))
    print_table(rows, columns, console(), title=f"All other events: {printable(kinds)}", most=None)


def _summary(payload: Mapping[str, Any]) -> str:
    """Return a payload in one line, the most important parts first, without what is empty."""
    keys = [key for key in _FIRST if key in payload]
    keys += [key for key in payload if key not in _FIRST and key not in _LEFT_OUT]
    told = {key: payload[key] for key in keys if payload[key] not in (None, [], {}, "")}
    return ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in told.items()
    )
