"""Compares receipts and noted hashes with the record of events."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from arena.competition.record.teams import Teams
from arena.errors import InputError, UsageError
from arena.store import Event
from arena.utils.strict_json import parse_json

_HASH = re.compile(r"[0-9a-f]{64}")


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
