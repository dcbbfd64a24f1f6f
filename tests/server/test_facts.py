"""When files are received, of a competition and of its phases together."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from arena.server.scorer.facts import _dates


def test_files_are_received_from_the_first_start_to_the_last_end() -> None:
    day = datetime(2026, 3, 1, tzinfo=UTC)
    section = SimpleNamespace(start=None, deadline=day)
    competition: Any = SimpleNamespace(settings=SimpleNamespace(competition=section))
    assert _dates(competition, []) == (None, "2026-03-01T00:00:00+00:00")
    phases = [
        {"start": "2026-03-01", "end": "2026-03-05"},
        {"start": "2026-02-01", "end": "2026-04-01"},
    ]
    assert _dates(competition, phases) == ("2026-02-01", "2026-04-01")
    open_start, endless = {**phases[0], "start": None}, {**phases[1], "end": None}
    assert _dates(competition, [open_start, phases[1]]) == (None, "2026-04-01")
    assert _dates(competition, [phases[0], endless]) == ("2026-02-01", None)
