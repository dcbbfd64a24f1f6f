"""Events of a record that are made by hand, without the hashes that link them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arena.store import Event

NOON = "2026-03-01T12:00:00+00:00"


def event_of(
    sequence: int, kind: str, payload: Mapping[str, Any], *, time: str = NOON, digest: str = ""
) -> Event:
    return Event(sequence, time, actor="host", kind=kind, payload=payload, previous="", hash=digest)
