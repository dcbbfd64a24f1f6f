"""A season of rounds worked out by hand: what every file, row and label that comes does to it.

Every outcome is 0, so that the mean absolute error of a file in a round is what it predicts there.
Labels arrive after the end of a round, and the rows of the last one are added when the first is
over. A team without a file in a round has the worst score of a ranked team there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.rebuild import CAUSES
from arena.config import SAMPLE_NAME, Settings
from arena.errors import InputError, UsageError
from arena.plugin.manager import PluginManager
from arena.requests import Request
from arena.utils.parallel import NoProgress
from program import write_csv
from scenario import Clock

DAYS = ("2026-03-08", "2026-03-15", "2026-03-22")
FIRST, SECOND, THIRD = (f"week-{day}" for day in DAYS)
ALL = {DAYS[0]: ("a", "b"), DAYS[1]: ("c", "d", "e"), DAYS[2]: ("f",)}
"""The rows of each round."""
BEFORE, BETWEEN, AFTER = (datetime(2026, 3, day, tzinfo=UTC) for day in (1, 10, 30))
MANAGER = PluginManager()

Rows = dict[str, list[str]]


def rows_of(days: Iterable[int], label: str = "") -> Rows:
    cells = [(name, DAYS[day], label) for day in days for name in ALL[DAYS[day]]]
    return {key: [cell[place] for cell in cells] for place, key in enumerate(("id", "due", "y"))}


def outcomes(*days: int, label: str = "0") -> Rows:
    return {key: cells for key, cells in rows_of(days, label).items() if key != "due"}


def forecasts(**values: float) -> Rows:
    """Return a file with a prediction for each of its rounds: ``first=1.5``."""
    days = {"first": 0, "second": 1, "third": 2}
    files = [outcomes(days[name], label=str(value)) for name, value in values.items()]
    return {key: [cell for file in files for cell in file[key]] for key in ("id", "y")}


def settings() -> Settings:
    return Settings.of(
        metric="mae",
        pending_labels=True,
        baseline="base",
        phase={"week": {"each": "due", "limits": {"total": 1}}},
        board={"season": {"series": "week", "missing": "worst"}},
    )


SENT: Sequence[tuple[datetime, str, Rows, Mapping[str, str], tuple[str, ...]]] = [
    (BEFORE, "base", forecasts(first=3, second=3), {FIRST: "accepted", SECOND: "accepted"}, ()),
    (BEFORE, "ant", forecasts(first=2, second=1), {FIRST: "accepted", SECOND: "accepted"}, ()),
    (BEFORE, "ant", forecasts(first=1), {FIRST: "limit"}, ()),
    (BEFORE, "bee", forecasts(first=1), {FIRST: "accepted"}, ()),
    (BEFORE, "cat", {"id": ["c", "d"], "y": ["1", "1"]}, {FIRST: "missing id"}, ()),
    (BEFORE, "cat", forecasts(third=1), {FIRST: "unknown id"}, ()),
    (BETWEEN, "cat", forecasts(first=0, second=2, third=1), {SECOND: "accepted", THIRD: "accepted"},
     (FIRST,)),
    (BETWEEN, "dog", forecasts(first=0), {FIRST: "deadline"}, ()),
    (BETWEEN, "base", forecasts(third=3), {THIRD: "accepted"}, ()),
    (BETWEEN, "ant", forecasts(third=4), {THIRD: "accepted"}, ()),
]  # fmt: skip
"""Time, team, rows, what becomes of the file in each round, and the rounds that are over."""


def ask(competition: Competition, folder: Path) -> None:
    """Send a file of two rounds through the queue: it has one answer for each."""
    rows = forecasts(first=2, second=2)
    write_csv(folder / "sent.csv", list(rows), list(zip(*rows.values(), strict=True)))
    request = Request(
        seq=1,
        request="request 1",
        kind="submit",
        team="eel",
        member="7",
        received=BEFORE,
        payload={"file": "sent.csv"},
        path=folder / "sent.csv",
    )
    first, second = competition.process([request])
    assert [(answer.phase, answer.status) for answer in (first, second)] == [
        (FIRST, "accepted"), (SECOND, "accepted"),
    ]  # fmt: skip
    assert (first.request, second.of_request) == ("request 1", "request 1")
    assert competition.last_answer() == first
    competition.disqualify_team("eel", "a test")
    lacking = competition.submit(forecasts(first=1), "fox", phase=SECOND)
    assert [(fault.kind, fault.id) for fault in lacking.faults] == [
        ("missing id", row) for row in ALL[DAYS[1]]
    ]


def send_all(competition: Competition, clock: Clock) -> None:
    for time, team, rows, becomes, closed in SENT:
        if time > clock.now:
            clock.now = time
            add_rows(competition)
        answer = competition.submit(rows, team)
        assert becomes == {
            of_round.phase: of_round.faults[0].kind if of_round.faults else of_round.status
            for of_round in (answer, *answer.rounds)
        }
        assert answer.closed_rounds == closed


def add_rows(competition: Competition) -> None:
    new, n_events = rows_of([2]), len(competition.events())
    for sentence, rows in {
        "Every row of the file is in the solution": rows_of([0, 1]),
        f"The phase {FIRST} has submissions, which lack the new rows": {**new, "due": [DAYS[0]]},
        "another usage for 2 rows of the solution, such as id 'a'": {
            **rows_of([0]), "due": [DAYS[1]] * 2
        },
        "'soon', which is no date": {**new, "due": ["soon"]},
    }.items():  # fmt: skip
        with pytest.raises(InputError, match=sentence):
            competition.add_rows(rows)
    assert len(competition.events()) == n_events
    added = competition.add_rows(rows_of([1, 2]))
    assert added.sentence == f"1 row added ({DAYS[2]}: 1). New rounds: {THIRD}."


BOARDS = {
    FIRST: ([(1, "bee", 1), (2, "ant", 2), (None, "base", 3)], []),  # one round is no season
    SECOND: (
        [(1, "ant", 1), (2, "cat", 2), (None, "base", 3)],
        # (2 + 1) / 2; 1 and the 2 of cat; the 2 of ant and 2
        [(1, "ant", 3 / 2), (1, "bee", 3 / 2), (3, "cat", 2), (None, "base", 3)],
    ),
    THIRD: (
        [(1, "cat", 1), (None, "base", 3), (2, "ant", 4)],
        # (2 + 2 + 1) / 3; 1, the 2 of cat and the 4 of ant; (2 + 1 + 4) / 3, with a later file
        [(1, "cat", 5 / 3), (2, "bee", 7 / 3), (2, "ant", 7 / 3), (None, "base", 3)],
    ),
}  # fmt: skip
"""Of each round: its board, and that of the season until then."""
WITHOUT_THE_LAST_FILE_OF_ANT = (
    [(1, "cat", 1), (None, "base", 3)],
    # In the third round the worst is the 1 of cat.
    [(1, "ant", 4 / 3), (1, "bee", 4 / 3), (3, "cat", 5 / 3), (None, "base", 3)],
)
CHANGES = {
    FIRST: [("bee", 1, 1), ("ant", 2, 2)],
    SECOND: [("ant", 1, 1), ("cat", 2, 2)],
    THIRD: [("cat", 1, 1), ("ant", 2, 4)],
}
"""What the labels of a round change: team, rank and score; it had neither before."""


def boards_of(competition: Competition, phase: str) -> tuple[list[Any], list[Any]]:
    """Finalize a round, and return its board and that of the season."""
    view = competition.in_phase(phase)
    view.finalize(intervals=False)
    names = [None, "season"] if phase != FIRST else [None]
    boards = [
        [
            (row["rank"], row["team"], pytest.approx(row["score"]))
            for row in view.private_leaderboard(board=name)
        ]
        for name in names
    ]
    return (boards[0], boards[1] if boards[1:] else [])


def test_every_round_has_the_boards_worked_out_by_hand(tmp_path: Path) -> None:
    clock = Clock(BEFORE)
    with Competition.create(
        tmp_path / "c", rows_of([0, 1]), settings(), seed=1, manager=MANAGER, clock=clock
    ) as competition:
        ask(competition, tmp_path)
        send_all(competition, clock)
        sample = (tmp_path / "c" / SAMPLE_NAME).read_text().split()
        assert [line.partition(",")[0] for line in sample] == ["id", *"abcdef"]
        clock.now = AFTER
        for day, phase in enumerate(BOARDS):
            with pytest.raises(UsageError, match="No private row has a label yet"):
                competition.in_phase(phase).finalize()
            changes = competition.add_labels(outcomes(day))
            assert {change.phase for change in changes} == {phase}
            assert {(c.rank_before, c.score_before) for c in changes} == {(None, None)}
            assert [(c.team, c.rank_after, c.score_after) for c in changes] == CHANGES[phase]
            assert boards_of(competition, phase) == BOARDS[phase]
            competition.in_phase(phase).publish()
        with pytest.raises(InputError, match="another label for 2 rows"):
            competition.add_labels(outcomes(0, label="1"))
        with pytest.raises(InputError, match="no label for a row that lacks one"):
            competition.add_labels(outcomes(0, 1))
        competition.disqualify(competition.submissions("ant")[-1]["submission"], "a leak")
        marks = [competition.in_phase(phase).results()[0]["mark"] for phase in BOARDS]
        assert [mark and mark["cause"] for mark in marks] == [
            None, None, CAUSES["disqualification"],
        ]  # fmt: skip
        assert boards_of(competition, THIRD) == WITHOUT_THE_LAST_FILE_OF_ANT
        assert competition.audit() == ()
        assert list((tmp_path / "c").glob("unfinished/*")) == []  # of scoring with new labels
        competition.in_phase(THIRD).export(tmp_path / "export")
    everything = rows_of([0, 1, 2], label="0")
    rows = list(zip(*everything.values(), strict=True))
    write_csv(tmp_path / "all.csv", list(everything), sorted(rows, reverse=True))
    assert verify_bundle(tmp_path / "export", tmp_path / "all.csv", MANAGER, NoProgress()) == ()
