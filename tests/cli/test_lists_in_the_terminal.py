"""Lists of phases, submissions and winners as the terminal prints them, of what is made by hand."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.utils.formatting import BoardDisplay
from program import run_here


def printed(
    monkeypatch: pytest.MonkeyPatch, folder: Path, command: str, view: Any
) -> tuple[list[str], list[str]]:
    """Return the lines that a command prints of a competition, without rules, and its notes."""

    @contextlib.contextmanager
    def look(*_: Any) -> Iterator[Any]:
        yield view

    module = f"arena.cli.commands.{command.split(maxsplit=1)[0]}"
    opened = "open_competition" if command.startswith("winners") else "look_at_competition"
    monkeypatch.setattr(f"{module}.{opened}", look)
    done = run_here(*command.split(), cwd=folder)
    assert done.returncode == 0, done.stderr
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return [line for line in lines if line and "───" not in line], done.stderr.splitlines()


PHASE = {
    "phase": "one", "state": "open", "metric": "mae", "start": None,
    "end": "2026-03-01T12:30:45+00:00", "public_rows": 1_200, "private_rows": 5, "submissions": 0,
    "qualified": None, "shares": [],
}  # fmt: skip


def test_phases_are_listed_with_what_connects_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    two = {**PHASE, "phase": "two", "qualified": ["a\t", "b"], "shares": ["one"], "submissions": 7}
    view = SimpleNamespace(
        phases=lambda: [PHASE, two], qualified_follow=lambda phase: phase == "one"
    )
    lines, notes = printed(monkeypatch, tmp_path, "phases", view)
    assert [line.split() for line in lines[1:3]] == [
        ["one", "open", "mae", "2026-03-01", "12:30", "1,200", "5", "0"],
        ["two", "open", "mae", "2026-03-01", "12:30", "1,200", "5", "7"],
    ]
    assert lines[0].split("   ")[1:3] == ["state", "metric"]
    assert lines[3:] == [
        "Teams of the phase two: a\\t, b",
        "The phase two shares its public rows with one.",
    ]
    assert notes == ["The teams named for the phase two no longer follow from the board before it."]


SENT = {
    "submission": 7, "team": "a", "file": "f.csv", "received": "2026-03-01T12:30:45.123+00:00",
    "status": "accepted", "released": 0.25, "selected": False, "phase": "",
}  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [SENT, {**SENT, "submission": 8, "released": None, "status": "rejected"}],
            ["7 a f.csv 2026-03-01 12:30:45 accepted 0.25",
             "8 a f.csv 2026-03-01 12:30:45 rejected"],
        ),
        (
            [{**SENT, "selected": True, "team": "b" * 33, "file": "c" * 41}],
            [f"7 {'b' * 31}… {'c' * 39}… 2026-03-01 12:30:45 accepted 0.25 yes"],
        ),
        (
            [SENT, {**SENT, "phase": "two"}],
            ["7 a f.csv 2026-03-01 12:30:45 accepted 0.25",
             "7 a f.csv 2026-03-01 12:30:45 accepted 0.25 two"],
        ),
    ],
)  # fmt: skip
def test_submissions_are_listed_in_the_columns_that_they_fill(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rows: list[Any], expected: list[str]
) -> None:
    settings = SimpleNamespace(display=lambda public: BoardDisplay())
    view = SimpleNamespace(settings=settings, submissions=lambda _: rows)
    lines, notes = printed(monkeypatch, tmp_path, "submissions", view)
    assert [" ".join(line.split()) for line in lines[1:]] == expected
    assert notes == []


def test_winners_are_listed_with_what_was_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows = [
        {"rank": 1, "team": "a", "submission": 3, "possible_winner": True, "verification": None},
        {"rank": 2, "team": "b", "submission": 4, "possible_winner": False,
         "verification": "failed", "verification_note": "no\tcode"},
        {"rank": 3, "team": "c", "submission": 5, "possible_winner": False, "verification": None},
    ]  # fmt: skip
    board = SimpleNamespace(
        private_leaderboards=lambda: {"": rows[:2], "both": rows[2:]},
        publication_warnings=lambda: ["Wait."],
    )
    view = SimpleNamespace(in_phase=lambda _: board)
    assert printed(monkeypatch, tmp_path, "winners", view)[0] == [
        "1  a  submission 3  not verified",
        "2  b  submission 4  failed: no\\tcode",
        "both:",
        "Wait.",
    ]
