"""The parts of a page for participants besides its board, in every state of a competition."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from arena.config import Settings
from arena.plugin.manager import PluginManager
from arena.report.competition import public_competition_report
from arena.report.for_participants import (
    facts_for_participants,
    how_to_submit,
    last_entries,
    with_last_entries,
)
from arena.report.model import Board, Column
from arena.types import Mark
from arena.utils.pending_labels import PendingLabels

LAST = SimpleNamespace(time="2026-03-01T12:30:45+00:00", hash="f" * 64)
PUBLIC, PRIVATE = (Mark("2026-03-02T08:15:00+00:00", cause) for cause in ("teams merged", "secret"))
DEADLINE = "2026-04-01T12:30"


def competition(**changes: Any) -> Any:
    """Return as much of a competition as the page asks for."""
    parts = {
        "settings": Settings.of(metric="mae", deadline=DEADLINE),
        "phases": list,
        "phase": "",
        "has_ended": False,
        "pending_labels": lambda private: PendingLabels(7, 3) if private else None,
        "frozen_since": None,
        "mark": lambda private: PRIVATE if private else None,
        "last_event": lambda: LAST,
    }
    return SimpleNamespace(**{**parts, **changes})


UPDATED = [("Updated", "2026-03-01 12:30 UTC"), ("Last hash of the record", "f" * 64)]
END = "2026-04-01 12:30 UTC"


@pytest.mark.parametrize(
    ("changes", "facts"),
    [
        ({}, [("Deadline", END), *UPDATED]),
        ({"has_ended": True}, [("Ended", END), *UPDATED]),
        (
            {
                "has_ended": True, "phase": "one",
                "phases": lambda: [{"phase": "one", "state": "open"}],
            },
            [("Deadline", END), *UPDATED],
        ),
        (
            {"phase": "one", "phases": lambda: [{"phase": "one", "state": "ended"}]},
            [("Ended", END), *UPDATED],
        ),
        ({"settings": Settings.of(metric="mae")}, UPDATED),
        (
            {"pending_labels": lambda private: None if private else PendingLabels(7, 3)},
            [("Deadline", END), ("Labels", PendingLabels(7, 3).sentence), *UPDATED],
        ),
        (
            {"mark": lambda private: None if private else PUBLIC},
            [
                ("Deadline", END),
                ("Scores released again", "2026-03-02 08:15 UTC: teams merged"),
                *UPDATED,
            ],
        ),
        (
            {
                "frozen_since": datetime(2026, 3, 3, 9, 5, tzinfo=UTC),
                "mark": lambda private: PUBLIC,
            },
            [("Deadline", END), ("Board frozen since", "2026-03-03 09:05 UTC")],
        ),
        ({"last_event": lambda: None}, [("Deadline", END)]),
    ],
)  # fmt: skip
def test_the_facts_of_a_competition_are_those_of_its_state(
    changes: dict[str, Any], facts: list[tuple[str, str]]
) -> None:
    assert list(facts_for_participants(competition(**changes))) == facts


def test_each_row_has_the_last_entry_of_its_team() -> None:
    times = {"a": "2026-03-01T12:30:45+00:00", "b": "2026-02-28T01:02:03+00:00"}
    entries = last_entries(SimpleNamespace(last_entries=lambda: times))  # type: ignore[arg-type]
    assert entries == {"a": "2026-03-01 12:30", "b": "2026-02-28 01:02"}
    board = Board("b", "", "", (Column("team", "", ("a", "c", "b")),))
    *_, column = with_last_entries(board, ["a", "c", "b"], entries).columns
    assert column.title == "last entry (UTC)"
    assert column.cells == ("2026-03-01 12:30", "", "2026-02-28 01:02")
    assert column.order == (202603011230.0, 0.0, 202602280102.0)
    assert with_last_entries(board, ["x", "c", "y"], entries) == board


TO_THE_ORGANISER = "Send the file to the organiser, or upload it at the address from the organiser."
URL = "https://arena.example.org/race"


@pytest.mark.parametrize(
    ("settings", "has_ended", "paragraphs"),
    [
        ({}, False, [TO_THE_ORGANISER]),
        (
            {"per_day": 5, "total": 1_000},
            False,
            [
                "A team may send 5 per day and 1,000 in total. A day starts at 00:00 UTC.",
                TO_THE_ORGANISER,
            ],
        ),
        (
            {"url": URL, "contact": "host@example.org"},
            False,
            [
                f"Upload the file at {URL}, or with arena submit FILE --to {URL} --token-file "
                "FILE. Contact: host@example.org."
            ],
        ),
        (
            {"per_day": 5},
            True,
            [
                "A team may send 5 per day. A day starts at 00:00 UTC.",
                "The competition has ended: no more submissions are accepted.",
            ],
        ),
    ],
)
def test_how_to_submit_says_how_often_and_where(
    settings: dict[str, Any],
    has_ended: bool,
    paragraphs: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "arena.report.for_participants.sample_note", lambda *_: "A file of ids,\nas the sample. "
    )
    metrics = SimpleNamespace(resolve=lambda _: None)
    view = SimpleNamespace(
        settings=Settings.of(metric="mae", **settings), has_ended=has_ended, solution=None,
        manager=SimpleNamespace(metrics=metrics),
    )  # fmt: skip
    section = how_to_submit(view)  # type: ignore[arg-type]
    assert section.title == "How to submit"
    assert section.text.split("\n\n") == ["A file of ids, as the sample.", *paragraphs]


def test_the_public_board_says_what_orders_equal_scores_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("arena.report.for_participants.sample_note", lambda *_: "A file.")
    row = {"rank": 1, "score": 0.25, "submission": 1, "baseline": False}
    standings = [
        {**row, "team": "ant", "n_submissions": 3},
        {**row, "team": "bee", "n_submissions": 2},
    ]
    view = competition(
        settings=Settings.of(metric="mae", secondary="rmse", ties="secondary", decimals=3),
        manager=PluginManager(),
        board_metric="mae",
        leaderboard=lambda: standings,
        last_entries=dict,
        solution=None,
    )
    report = public_competition_report(view, sections=False)
    assert report.facts[:3] == (
        ("Metric", "mae (smaller is better)"),
        ("Teams on the public board", "2"),
        ("Their submissions", "5"),
    )
    (board,) = report.boards
    assert board.notes == (
        "Teams with the same score share a rank; the final board orders them by rmse.",
    )
    (scores,) = (column.cells for column in board.columns if column.title == "score")
    assert scores == ("0.250", "0.250")
