"""Lists of phases, submissions, winners and events in the terminal, of what is made by hand."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from arena.competition.boards.released_numbers import ReleasedNumbers
from arena.store import Event
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
    writes = command.split(maxsplit=1)[0] in ("bracket", "winners", "qualify")
    opened = "open_competition" if writes else "look_at_competition"
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
        outdated=lambda: "Finalize again.",
    )
    view = SimpleNamespace(in_phase=lambda _: board)
    lines, notes = printed(monkeypatch, tmp_path, "winners", view)
    assert lines == [
        "1  a  submission 3  not verified",
        "2  b  submission 4  failed: no\\tcode",
        "both:",
        "Wait.",
    ]
    assert notes == ["Finalize again."]


ACCOUNT = ReleasedNumbers(("",), 1_200, "a", (3,), 2)


@pytest.mark.parametrize(
    ("accounts", "expected"),
    [
        ([], ["No score was shown."]),
        (
            [ACCOUNT, replace(ACCOUNT, team="b" * 33, by_phase=(1_000,), of_rebuilds=0)],
            [
                "Scores on 1,200 public rows",
                "team files after rebuilds in all",
                "a 3 2 5",
                f"{'b' * 31}… 1,000 0 1,000",
            ],
        ),
        (
            [ACCOUNT, replace(ACCOUNT, phases=("one", "two"), by_phase=(3, 4), n_rows=5)],
            [
                "Scores on 1,200 public rows",
                "team files after rebuilds in all",
                "a 3 2 5",
                "Scores on 5 public rows, shown by one, two",
                "team one two after rebuilds in all",
                "a 3 4 2 9",
            ],
        ),
    ],
)
def test_scores_that_teams_were_shown_are_counted_for_each_set_of_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, accounts: list[Any], expected: list[str]
) -> None:
    view = SimpleNamespace(released_numbers=lambda: accounts)
    lines, _ = printed(monkeypatch, tmp_path, "audit --released", view)
    assert [" ".join(line.split()) for line in lines] == expected


EVENTS = [
    Event(
        sequence,
        f"2026-03-0{sequence}T12:30:45.5+00:00",
        actor="h" * 25,
        kind=kind,
        payload=payload,
        previous="",
        hash=event_hash,
    )
    for sequence, kind, payload, event_hash in (
        (1, "created", {"empty": None, "n": [1], "none": {}, "text": ""}, "a" * 64),
        (2, "submission", {"team": "b", "status": "accepted"}, "b" * 64),
        (3, "submission", {"team": "a", "status": "rejected"}, "c" * 64),
        (4, "submission", {"team": "b", "status": "accepted"}, "d" * 64),
        (5, "paused", {"facts": {}, "note": "n", "reason": "r" * 80, "team": "t"}, "e" * 64),
        (6, "paused", {}, "f" * 64),
    )
]


class Recorded:
    """A store whose record is whole, as far as the command asks for it."""

    problems: ClassVar[list[str]] = []
    lost = 0
    faults: ClassVar[list[str]] = []
    unused: ClassVar[list[str]] = []

    def __enter__(self) -> Recorded:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def teams(self) -> list[str]:
        return ["a"]

    def audit(self, *, since: int, watch: Any, compare: Any) -> list[str]:
        for event in EVENTS:
            watch(event)
        return list(self.problems)

    def last_sequence(self) -> int:
        return EVENTS[-1].sequence

    def sequence_of(self, given: str) -> int | None:
        return next((event.sequence for event in EVENTS if event.hash == given), None)

    def each_event(self, *, after: int | None) -> list[Event]:
        return EVENTS[after or 0 :]

    def unused_objects(self) -> list[str]:
        return self.unused

    def events_without_journal(self) -> int:
        return self.lost

    def journal_faults(self) -> list[str]:
        return self.faults


@pytest.fixture
def audited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return what ``arena audit`` answers on such a store: its code, lines and errors."""
    (tmp_path / "competition.toml").touch()
    module = "arena.cli.commands.audit"

    def run(*options: str, **store: Any) -> tuple[int, list[str], list[str]]:
        recorded = type("Changed", (Recorded,), store)()
        monkeypatch.setattr(f"{module}.Store", SimpleNamespace(open=lambda *_, **__: recorded))
        compared = SimpleNamespace(differences=[], not_compared=[])
        monkeypatch.setattr(f"{module}.files_compared", lambda *_: compared)
        ledger = SimpleNamespace(similar_in=lambda _: ())
        monkeypatch.setattr(f"{module}.Ledger", lambda _: ledger)
        done = run_here("audit", *options, cwd=tmp_path)
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        printed = [line for line in lines if line and "───" not in line]
        return done.returncode, printed, done.stderr.splitlines()

    return run


LAST = f"Its last hash is {'f' * 64}."
WHOLE = f"The record is whole, and everything that is stored agrees with it. {LAST}"
SINCE = f"The record is whole, and the data recorded since then agree with it. {LAST}"


def test_an_audit_lists_submissions_by_team_and_every_other_event(audited: Any) -> None:
    code, lines, errors = audited()
    assert (code, errors) == (0, [])
    assert lines[:-1] == [
        "3 submissions by team",
        "team accepted rejected refused last (UTC)",
        "a 0 1 0 2026-03-03 12:30:45",
        "b 2 0 0 2026-03-04 12:30:45",
        "All other events: created 1, paused 2",
        "event time (UTC) kind actor what hash",
        f"1 2026-03-01 12:30:45 created {'h' * 23}… n [1] {'a' * 12}",
        # 72 letters: the first parts are those that matter most.
        f"5 2026-03-05 12:30:45 paused {'h' * 23}… team t, reason {'r' * 56}… {'e' * 12}",
        f"6 2026-03-06 12:30:45 paused {'h' * 23}… {'f' * 12}",
        WHOLE,
    ]
    assert lines[-1].startswith("Note it outside this machine")


@pytest.mark.parametrize("kind", ["team renamed", "team merged"])
def test_an_audit_says_that_it_lists_teams_by_the_names_of_that_time(
    audited: Any, kind: str
) -> None:
    def watched(self: Any, *, since: int, watch: Any, compare: Any) -> list[str]:
        watch(EVENTS[1])
        watch(replace(EVENTS[-1], kind=kind))
        return []

    title = audited(audit=watched)[1][0]
    assert title == "1 submission by team, under the names that the teams had then"


def test_an_audit_cuts_names_of_more_than_32_letters(audited: Any) -> None:
    def watched(self: Any, *, since: int, watch: Any, compare: Any) -> list[str]:
        for sequence, team in enumerate(("s" * 32, "t" * 33), start=1):
            payload = {"team": team, "status": "refused"}
            watch(replace(EVENTS[1], sequence=sequence, payload=payload))
        return []

    _, lines, _ = audited(audit=watched)
    assert [line.split()[:4] for line in lines[2:4]] == [
        ["s" * 32, "0", "0", "1"],
        ["t" * 31 + "…", "0", "0", "1"],
    ]


def test_a_narrow_terminal_keeps_number_time_and_kind_of_an_event(
    audited: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A column of 5, one of 19, one of 7 and one of 72, with three spaces each, and 2.
    for columns, titles in (
        (43, ["event", "time (UTC)", "kind"]),
        (130, ["event", "time (UTC)", "kind", "what"]),
    ):
        monkeypatch.setenv("COLUMNS", str(columns))
        _, lines, _ = audited()
        header = next(line for line in lines if line.startswith("event"))
        assert header == " ".join(titles)


@pytest.mark.parametrize(
    ("noted", "said"),
    [
        ("f", "It is the noted hash: nothing was changed, removed or added since."),
        (
            "e",
            "Nothing up to the noted hash was changed or removed. Event 6 follows it: check that "
            "you know of each, and note the last hash.",
        ),
        (
            "d",
            "Nothing up to the noted hash was changed or removed. Events 5 to 6 follow it: check "
            "that you know of each, and note the last hash.",
        ),
    ],
)
def test_an_audit_says_what_follows_a_noted_hash(audited: Any, noted: str, said: str) -> None:
    code, lines, _ = audited("--head", noted * 64)
    assert (code, lines[-2:]) == (0, [WHOLE, said])


@pytest.mark.parametrize(
    ("since", "others"), [("4", ["5", "6"]), ("d" * 64, ["5", "6"]), ("5", ["6"]), ("6", [])]
)
def test_an_audit_since_an_event_lists_what_follows(
    audited: Any, since: str, others: list[str]
) -> None:
    code, lines, _ = audited("--since", since)
    number = int(since) if len(since) == 1 else 4
    assert code == 0
    assert [line.split()[0] for line in lines if "paused h" in line or line[1:2] == " "] == others
    assert lines[-3:-1] == [
        SINCE,
        "Not compared: the content of 3 submissions, and of predictions, releases and scores, as "
        f"far as no event after event {number} recorded it; codes of predicted texts. Similar "
        "submissions were not searched for.",
    ]


def test_an_audit_since_an_unknown_hash_lists_every_event(audited: Any) -> None:
    code, lines, (message,) = audited("--since", "9" * 64)
    assert (code, message[:46]) == (1, "arena: The record does not contain the event 9")
    assert [line.split()[0] for line in lines[-3:]] == ["1", "5", "6"]
    assert lines[0] == "3 submissions by team"


def test_an_audit_that_lists_nothing_before_an_event_prints_no_empty_table(audited: Any) -> None:
    assert audited("--since", "6")[1][0] == SINCE
    assert audited()[1][4].startswith("All other events")


def test_an_audit_as_a_document_has_the_events_after_the_given_one(audited: Any) -> None:
    for since, first, n_not_compared in ((None, 1, 0), ("4", 5, 1)):
        code, lines, _ = audited("--json", *(() if since is None else ("--since", since)))
        document = json.loads("".join(lines))
        assert (code, document.pop("events")) == (
            0, [dataclasses.asdict(event) for event in EVENTS[first - 1 :]]
        )  # fmt: skip
        assert len(document.pop("not_compared")) == n_not_compared
        assert document == {
            "schema": "arena/audit/1", "problem": None, "problems": [], "head": "f" * 64,
            "similar": [], "unused_objects": 0,
        }  # fmt: skip
    code, lines, _ = audited("--json", problems=["One.", "Two."])
    document = json.loads("".join(lines))
    assert (code, document["problem"], document["problems"]) == (1, "One.", ["One.", "Two."])


@pytest.mark.parametrize(
    "other", [("--head", "f" * 64), ("--since", "1"), ("--data", "d"), ("--json",)]
)
def test_the_scores_that_were_shown_are_listed_alone(audited: Any, other: tuple[str, ...]) -> None:
    assert audited("--released", *other) == (2, [], ["arena: --released excludes other options."])


@pytest.mark.parametrize(
    ("options", "store", "errors"),
    [
        (("--since", "7"), {}, ["arena: The record ends with event 6, before event 7."]),
        ((), {"problems": ["Event 3 was changed."]}, ["arena: Event 3 was changed."]),
    ],
)
def test_an_audit_that_finds_a_difference_exits_with_1(
    audited: Any, options: tuple[str, ...], store: dict[str, Any], errors: list[str]
) -> None:
    code, lines, printed_errors = audited(*options, **store)
    assert (code, printed_errors) == (1, errors)
    assert WHOLE not in lines
    code, lines, (said_of_hash, *_) = audited("--head", "9" * 64)
    assert code == 1
    assert "9" * 8 in said_of_hash


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ({}, []),
        (
            {"lost": 1},
            ["Not compared: the last event with the journal, which lacks them. A kill can cost the "
             "journal one event. If more are missing, it was removed or cut off, and only a noted "
             "hash shows whether the record was rewritten."],
        ),
        (
            {"lost": 1_200},
            ["Not compared: the last 1,200 events with the journal, which lacks them. A kill can "
             "cost the journal one event. If more are missing, it was removed or cut off, and only "
             "a noted hash shows whether the record was rewritten."],
        ),
        (
            {"faults": ["line 3", "line 4"]},
            ["Not compared: lost lines of the journal (line 3; line 4). A kill or a power failure "
             "can damage or cost one line. If there are more, it was changed, or a new one was "
             "begun; the record itself is compared without it."],
        ),
        (
            {"unused": ["x"] * 1_001},
            ["Objects with predictions that belong to no submission: 1,001. An interrupted "
             "submission leaves such objects. They do no harm; arena repair --remove-unused "
             "removes them."],
        ),
    ],
)  # fmt: skip
def test_an_audit_says_what_the_journal_and_the_objects_lack(
    audited: Any, store: dict[str, Any], said: list[str]
) -> None:
    code, lines, errors = audited(**store)
    assert (code, errors) == (0, [])
    after = lines[lines.index(WHOLE) + 1 :]
    assert [line for line in after if not line.startswith("Note it outside")] == said


@pytest.mark.parametrize(
    ("options", "teams", "last"),
    [
        ("--apply", ["[red]a", "b"], "2 teams may submit in the phase two."),
        (
            "",
            ["[red]a"],
            "1 team would be admitted. Nothing was changed; --apply makes the change.",
        ),
    ],
)
def test_teams_that_qualify_are_printed_as_they_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: str, teams: list[str], last: str
) -> None:
    admitted = SimpleNamespace(teams=teams, notes=["A note."])
    view = SimpleNamespace(qualify=lambda phase, named, apply: admitted)
    lines, notes = printed(monkeypatch, tmp_path, f"qualify two {options}".strip(), view)
    assert lines == teams
    assert notes == ["A note.", last]


@pytest.mark.parametrize(
    ("option", "where", "member"), [("", "in", True), (" --remove", "no longer in", False)]
)
def test_a_bracket_says_whether_the_team_is_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, option: str, where: str, member: bool
) -> None:
    assigned = []
    view = SimpleNamespace(
        assign_bracket=lambda team, name, member: assigned.append((team, name, member)),
        submissions=lambda team: [],
        outdated=lambda: "The private board is out of date.",
    )
    lines, notes = printed(monkeypatch, tmp_path, f"bracket owls students{option}", view)
    assert lines == [f"The team owls is {where} the bracket students."]
    assert notes == [
        "No submission of this team is stored yet.",
        "The private board is out of date.",
    ]
    assert assigned == [("owls", "students", member)]
