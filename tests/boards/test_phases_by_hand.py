"""A competition of two phases worked out by hand, after each decision: every board of both.

Files are right or wrong on each row, and a score is the share of right rows (of ``hard`` after its
metric has changed, the mean of the shares of both classes). The board over phases is the mean of
both scores; of a team without a file in a phase the score of the baseline counts there.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.rebuild import CAUSES
from arena.config import CONFIG_NAME, Settings, settings_as_toml
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.utils.parallel import NoProgress
from forged_record import forged_record
from program import write_csv
from scenario import Clock

ROWS = [  # id, label, set of rows
    ("e1", 1, "easy public"), ("e2", 0, "easy public"),
    ("e3", 1, "easy"), ("e4", 0, "easy"), ("e5", 1, "easy"), ("e6", 0, "easy"),
    ("h1", 1, "hard public"), ("h2", 0, "hard public"),
    ("h3", 1, "hard"), ("h4", 0, "hard"), ("h5", 1, "hard"), ("h6", 1, "hard"),
]  # fmt: skip
SENT = {
    "easy": {"ant": "++ ++--", "bee": "+- ++++", "cat": "++ +---", "base": "-- ++--"},
    "hard": {"ant": "+- +++-", "bee": "++ +---", "base": "-- ++--"},
}
IN_EASY, IN_HARD, AFTER = (datetime(2026, 3, day, tzinfo=UTC) for day in (5, 15, 25))
MANAGER = PluginManager()

Board = Sequence[tuple[int | None, str, float]]
"""Rank, team and score."""


def settings(metric_of_hard: str = "accuracy") -> Settings:
    phases = {
        "easy": {"public_rows": "easy public", "private_rows": "easy", "end": "2026-03-10"},
        "hard": {
            "public_rows": "hard public",
            "private_rows": "hard",
            "start": "2026-03-11",
            "end": "2026-03-20",
            "after": "easy",
            "admit": "top 2",
            "metric": metric_of_hard,
        },
    }
    return Settings.of(
        metric="accuracy",
        mechanism="full",
        baseline="base",
        intervals=False,
        phase=phases,
        board={"both": {"phases": ["easy", "hard"], "missing": "baseline"}},
    )


def file(phase: str, right: str) -> dict[str, Sequence[Any]]:
    rows = [(row_id, label) for row_id, label, _ in ROWS if row_id[0] == phase[0]]
    cells = right.replace(" ", "")
    return {
        "id": [row_id for row_id, _ in rows],
        "y": [
            label if cell == "+" else 1 - label
            for (_, label), cell in zip(rows, cells, strict=True)
        ],
    }


class Organiser:
    """Decides, and opens the competition again after a change of its settings."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.clock, self._stack = folder, Clock(IN_EASY), stack
        columns = {"id": 0, "y": 1, "Usage": 2}
        solution = {name: [row[column] for row in ROWS] for name, column in columns.items()}
        write_csv(folder / "solution.csv", list(columns), ROWS)
        self.competition = stack.enter_context(
            Competition.create(
                folder / "c", solution, settings(), seed=1, manager=MANAGER, clock=self.clock
            )
        )

    def send(self, phase: str, time: datetime) -> None:
        self.clock.now = time
        for team, right in SENT[phase].items():
            answer = self.competition.submit(file(phase, right), team, phase=phase)
            assert answer.status == "accepted"

    def qualify(self) -> None:
        self.clock.now = IN_HARD
        self.competition.in_phase("easy").finalize(workers=1)
        assert self.competition.qualify("hard", apply=True).teams == ("bee", "ant")
        refused = self.competition.submit(file("hard", "++ ++++"), "cat", phase="hard")
        assert refused.status == "refused"

    def publish(self) -> None:
        self.clock.now = AFTER
        hard = self.competition.in_phase("hard")
        hard.finalize(workers=1)
        hard.publish()

    def retract(self) -> None:
        hard = self.competition.in_phase("hard")
        assert hard.retract("its labels are wrong") == 1
        with pytest.raises(UsageError, match="nothing to retract"):
            hard.retract("again")

    def change_metric(self) -> None:
        self.competition.close()
        text = settings_as_toml(settings("balanced_accuracy"))
        (self.folder / "c" / CONFIG_NAME).write_text(text, encoding="utf-8")
        self.competition = self._stack.enter_context(
            Competition.open(self.folder / "c", manager=MANAGER, clock=self.clock)
        )
        changes = [
            (change.phase, change.team, change.rank_before, change.rank_after, *scores)
            for change in self.competition.rescore(apply=True, workers=1)
            for scores in [(change.score_before, change.score_after)]
        ]
        assert changes == [
            ("easy", "bee", 1, 1, 1, 1),
            ("easy", "ant", 2, 2, 1 / 2, 1 / 2),
            ("easy", "cat", 3, 3, 1 / 4, 1 / 4),
            ("hard", "ant", 1, 1, 3 / 4, pytest.approx(5 / 6)),
        ]
        (event,) = self.competition.events("rescored")
        assert event.payload["phase_metrics"] == {"hard": ["accuracy", "balanced_accuracy"]}


@dataclass(frozen=True)
class Step:
    """A decision, and what is another after it."""

    decide: Callable[[Organiser], object]
    boards: Mapping[str, Board] = field(default_factory=dict)
    """The boards that change."""
    older: Mapping[str, str] = field(default_factory=dict)
    """Phase -> what its private board before the decision is older than."""
    result: tuple[str, str | None] | None = None
    """State of the published result and the cause of its mark, if one of them changes."""
    rebuilt: Mapping[str, str] = field(default_factory=dict)
    """Phase -> why its public board was released again, of phases whose mark changes."""


FILES = "a change of the submissions that count"
STEPS = {
    "the files of easy are sent": Step(
        lambda organiser: organiser.send("easy", IN_EASY),
        {
            "easy public": [(1, "ant", 1), (1, "cat", 1), (3, "bee", 1 / 2), (None, "base", 0)],
            "easy": [(1, "bee", 1), (2, "ant", 1 / 2), (None, "base", 1 / 2), (3, "cat", 1 / 4)],
        },
    ),
    "the best two qualify for hard": Step(lambda organiser: organiser.qualify()),
    "their files are sent": Step(
        lambda organiser: organiser.send("hard", IN_HARD),
        {
            "hard public": [(1, "bee", 1), (2, "ant", 1 / 2), (None, "base", 0)],
            "hard": [(1, "ant", 3 / 4), (None, "base", 1 / 2), (2, "bee", 1 / 4)],
            "both public": [  # of cat (1 + 0) / 2; ant sent its last file earlier than bee
                (1, "ant", 3 / 4), (1, "bee", 3 / 4), (3, "cat", 1 / 2), (None, "base", 0)
            ],
            "both": [  # (1/2 + 3/4) / 2, (1 + 1/4) / 2, (1/2 + 1/2) / 2, (1/4 + 1/2) / 2
                (1, "ant", 5 / 8), (1, "bee", 5 / 8), (None, "base", 1 / 2), (3, "cat", 3 / 8)
            ],
        },
    ),
    "the result is published": Step(
        lambda organiser: organiser.publish(), result=("published", None)
    ),
    "the file of bee in hard is disqualified": Step(
        lambda organiser: organiser.competition.disqualify(7, "a leak"),
        {
            "hard public": [(1, "ant", 1 / 2), (None, "base", 0)],
            "hard": [(1, "ant", 3 / 4), (None, "base", 1 / 2)],
            "both public": [  # of bee (1/2 + 0) / 2
                (1, "ant", 3 / 4), (2, "cat", 1 / 2), (3, "bee", 1 / 4), (None, "base", 0)
            ],
            "both": [  # of bee (1 + 1/2) / 2: the baseline was better than its file
                (1, "bee", 3 / 4), (2, "ant", 5 / 8), (None, "base", 1 / 2), (3, "cat", 3 / 8)
            ],
        },
        {"hard": FILES},
        ("published", CAUSES["disqualification"]),
        # All files of the team are released again, also the one in easy.
        rebuilt=dict.fromkeys(("easy", "hard", "both"), "disqualification"),
    ),
    "it is retracted": Step(
        lambda organiser: organiser.retract(), result=("retracted", None)
    ),
    "the metric of hard is another": Step(
        lambda organiser: organiser.change_metric(),
        {
            # (2/3 + 1) / 2 and (1/3 + 1) / 2; on the public rows both classes have one row.
            "hard": [(1, "ant", 5 / 6), (None, "base", 2 / 3)],
            "both": [  # (1 + 2/3) / 2, (1/2 + 5/6) / 2, (1/2 + 2/3) / 2, (1/4 + 2/3) / 2
                (1, "bee", 5 / 6), (2, "ant", 2 / 3), (None, "base", 7 / 12), (3, "cat", 11 / 24)
            ],
        },
        {"easy": "the last rescore", "hard": "the last rescore"},
    ),
    "cat is merged into bee, whose best file is then that of cat": Step(
        lambda organiser: organiser.competition.merge_teams("cat", "bee"),
        {
            "easy public": [(1, "ant", 1), (1, "bee", 1), (None, "base", 0)],
            "easy": [(1, "ant", 1 / 2), (None, "base", 1 / 2), (2, "bee", 1 / 4)],
            "both public": [(1, "ant", 3 / 4), (2, "bee", 1 / 2), (None, "base", 0)],
            "both": [(1, "ant", 2 / 3), (None, "base", 7 / 12), (2, "bee", 11 / 24)],
        },
        {"easy": FILES, "hard": FILES},
        rebuilt={"easy": "team merged", "both": "team merged"},
    ),
}  # fmt: skip


def rows_of(board: Iterable[Mapping[str, Any]]) -> Board:
    return rounded((row["rank"], row["team"], row["score"]) for row in board)


def rounded(board: Iterable[tuple[int | None, str, float]]) -> Board:
    return [(rank, team, round(score, 9)) for rank, team, score in board]


def boards_of(competition: Competition, older: Mapping[str, str | None]) -> dict[str, Board]:
    """Finalize the phases whose board is new or out of date, and return all boards by name.

    ``older`` says of each phase with files what its private board was older than.
    """
    boards = {"both public": rows_of(competition.released_board("both").standings)}
    for phase, what in older.items():
        view = competition.in_phase(phase)
        sentence = f"The private board is older than {what}: finalize again."
        assert view.outdated() == (what and sentence)
        if what or not view.is_finalized:
            view.finalize(workers=1)
        boards[phase] = rows_of(view.private_leaderboard())
        boards[f"{phase} public"] = rows_of(view.leaderboard())
    if "hard" in older:  # the phase that ends last
        boards["both"] = rows_of(view.private_leaderboard(board="both"))
    return boards


def marks_of(competition: Competition) -> dict[str, str | None]:
    """Return why each public board was last released again."""
    phases = {phase: competition.in_phase(phase).mark(private=False) for phase in SENT}
    marks = {**phases, "both": competition.released_board("both").mark}
    return {board: mark and mark.cause for board, mark in marks.items()}


def test_every_decision_has_the_boards_worked_out_by_hand(tmp_path: Path) -> None:
    by_hand: dict[str, Board] = {"both public": []}
    result: tuple[str, str | None] | None = None
    marks: dict[str, str | None] = dict.fromkeys((*SENT, "both"))
    with ExitStack() as stack:
        organiser = Organiser(tmp_path, stack)
        for name, step in STEPS.items():
            step.decide(organiser)
            by_hand |= {board: rounded(rows) for board, rows in step.boards.items()}
            result = step.result or result
            hard = organiser.competition.in_phase("hard")
            results = [(row["state"], (row["mark"] or {}).get("cause")) for row in hard.results()]
            assert (name, results) == (name, [result] if result else [])
            older = {phase: step.older.get(phase) for phase in SENT if phase in by_hand}
            assert (name, boards_of(organiser.competition, older)) == (name, by_hand)
            marks |= {board: CAUSES[kind] for board, kind in step.rebuilt.items()}
            assert (name, marks_of(organiser.competition)) == (name, marks)
            assert organiser.competition.qualified_follow("hard")
        organiser.competition.disqualify_team("ant", "two accounts")
        assert not organiser.competition.qualified_follow("hard")
        organiser.competition.reinstate(team="ant", reason="a mistake")
        assert organiser.competition.audit() == ()
        hard.export(tmp_path / "export")
    verify = partial(
        verify_bundle,
        solution_path=tmp_path / "solution.csv",
        manager=MANAGER,
        progress=NoProgress(),
    )
    assert verify(tmp_path / "export") == ()
    result_file, events = (tmp_path / "export" / name for name in ("result.json", "events.jsonl"))
    changed, lacking = (json.loads(result_file.read_text()) for _ in range(2))
    (finding,) = changed["findings"]
    changed["findings"].append({**finding, "analysis": "board neither"})
    changed["findings"][0] = finding = copy.deepcopy(finding)
    finding["document"]["standings"][0]["score"] += 0.5
    finding["verdict"] += " And 9 more."
    lacking["findings"] = []
    for result, sentences in (
        (changed, [
            "result.json: the board neither is not over its phases.",
            "Board both: score of the team ant differs.",
            "Board both: its sentences differ.",
            "Board neither does not follow from the settings.",
        ]),
        (lacking, [
            *(f"finals/{number}.csv does not belong to an export." for number in (1, 3, 4)),
            "result.json lacks the board both.",
        ]),
    ):  # fmt: skip
        result_file.write_text(json.dumps(result))
        events.write_text(forged_record(result, events.read_text()))
        assert list(verify(tmp_path / "export")) == sentences
