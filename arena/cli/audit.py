"""Verify the record of all that happened, and print it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document, say_error
from arena.cli.folder import Directory, Wait, look_at_competition
from arena.cli.tables import Column, print_table
from arena.store import Event
from arena.text import printable, shorten

app = typer.Typer(add_completion=False)

_WIDTH_OF_PAYLOAD = 72
_FIRST = ("submission", "team", "status", "released", "submissions", "reason")


@app.command()
def audit(directory: Directory = None, wait: Wait = 0.0, as_json: options.AsJson = False) -> None:
    """Verify that no event of the record was changed or removed between others, and print it.

    Each event is bound to the one before it by a hash; exits with 1 if one does not follow. That
    the last ones are missing shows only if you keep the last hash elsewhere and compare.
    """
    with look_at_competition(directory, wait) as competition:
        events, problem = competition.events(), competition.verify_events()
    if as_json:
        _print_json(events, problem)
    else:
        _print_events(events)
    if problem is not None:
        say_error(problem)
        raise typer.Exit(1)
    if not as_json:
        console().print(f"The record is whole. Its last hash is {events[-1].hash}.", soft_wrap=True)


def _print_json(events: Sequence[Event], problem: str | None) -> None:
    document: dict[str, Any] = {
        "schema": "arena/audit/1",
        "problem": problem,
        "events": [dataclasses.asdict(event) for event in events],
    }
    print_document(document)


def _print_events(events: Sequence[Event]) -> None:
    columns = (
        Column("event", 1, lambda row: str(row["sequence"])),
        Column("time (UTC)", 2, lambda row: row["time"][:19].replace("T", " "), left=True),
        Column("kind", 3, lambda row: printable(row["kind"]), left=True),
        Column("actor", 5, lambda row: shorten(row["actor"], 24), left=True),
        Column("what", 4, lambda row: shorten(row["what"], _WIDTH_OF_PAYLOAD), left=True),
        Column("hash", 6, lambda row: row["hash"][:12], left=True),
    )
    rows = [{**dataclasses.asdict(one), "what": _summary(one.payload)} for one in events]
    print_table(rows, columns, console(), most=None)


def _summary(payload: Mapping[str, Any]) -> str:
    """Return a payload in one line, the telling parts first; what is empty is left out."""
    keys = [
        *(key for key in _FIRST if key in payload),
        *(key for key in payload if key not in _FIRST),
    ]
    told = {key: payload[key] for key in keys if payload[key] not in (None, [], {}, "")}
    return ", ".join(
        f"{key} {value if isinstance(value, str) else json.dumps(value)}"
        for key, value in told.items()
    )
