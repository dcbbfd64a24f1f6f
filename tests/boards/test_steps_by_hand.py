"""A competition worked out by hand after each decision: its boards, and what each is older than.

Both metrics follow from the number of rows on which a file is right: the accuracy is their share,
and the mean absolute error is that of the other rows.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.rebuild import CAUSES
from arena.competition.rescore import RankChange
from arena.config import Settings
from arena.plugin.manager import PluginManager
from arena.utils.parallel import NoProgress
from program import write_csv

IDS = ["p1", "p2", "p3", "p4", "s1", "s2", "s3", "s4", "s5"]
USAGE = ["Public"] * 4 + ["Private"] * 5
LABELS = [1, 0, 1, 0, 1, 0, 1, 0, 1]
CORRECTED = [1, 0, 1, 1, 1, 0, 1, 1, 0]  # of p4, s4 and s5
SENT = [  # on which rows each file is right; base is a baseline
    ("ant", "+++- +----"),  # corrected: ++++ +--++
    ("bee", "++++ +++--"),  # corrected: +++- +++++
    ("ant", "++-- +++++"),  # corrected: ++-+ +++--
    ("base", "+--- ++++-"),  # corrected: +--+ +++-+
    ("cat", "+++- ++--+"),  # corrected: ++++ ++-+-
]
BASE = ("base", 4)
MANAGER = PluginManager()
OLDER = "The private board is older than (.*): finalize again."

Row = tuple[int | None, str, int, int]
"""Rank, team, submission, and on how many rows of the board it is right."""


@dataclass(frozen=True)
class Step:
    """A decision, and what follows from it."""

    decide: Callable[[Competition], object]
    public: Sequence[Row]
    private: Sequence[Row]
    older_than: str | None = "a change of the submissions that count"
    """What the private board before the decision is older than; None: it is up to date."""
    cause: str | None = None
    """The same, as everybody reads it."""
    changes: Sequence[tuple[str, int, int, int, int]] = ()
    """Of a correction: team, rank before and after, and right private rows before and after."""


def solution(labels: Sequence[int]) -> dict[str, Sequence[Any]]:
    return {"id": IDS, "y": labels, "Usage": USAGE}


UNCHOSEN: list[Row] = [(None, *BASE, 4), (1, "bee", 2, 3), (1, "cat", 5, 3), (3, "ant", 1, 1)]
CHOSEN: list[Row] = [(1, "ant", 3, 5), (None, *BASE, 4), (2, "bee", 2, 3), (2, "cat", 5, 3)]
CORRECTION = [("ant", 1, 1, 5, 3), ("cat", 2, 1, 3, 3)]
ALL_SENT: list[Row] = [(1, "bee", 2, 4), (2, "ant", 1, 3), (2, "cat", 5, 3), (None, *BASE, 1)]

STEPS = {
    "all files are sent": Step(
        lambda competition: None, ALL_SENT, UNCHOSEN, None  # each team's best on the public rows
    ),
    "ant chooses its second file": Step(
        lambda competition: competition.select("ant", [3]), ALL_SENT, CHOSEN,
        cause="other submissions count",
    ),
    "the chosen file is disqualified": Step(
        lambda competition: competition.disqualify(3, "a leak"), ALL_SENT, UNCHOSEN,
        cause=CAUSES["disqualification"],
    ),
    "it is reinstated, and is still chosen": Step(
        lambda competition: competition.reinstate(submission=3, reason="a mistake"),
        ALL_SENT, CHOSEN,
        cause=CAUSES["reinstatement"],
    ),
    "bee is disqualified": Step(
        lambda competition: competition.disqualify_team("bee", "two accounts"),
        [(1, "ant", 1, 3), (1, "cat", 5, 3), (None, *BASE, 1)],
        [(1, "ant", 3, 5), (None, *BASE, 4), (2, "cat", 5, 3)],
        cause=CAUSES["disqualification"],
    ),
    "the correction of three labels is tried": Step(
        lambda competition: competition.rescore(solution(CORRECTED), workers=1),
        [(1, "ant", 1, 3), (1, "cat", 5, 3), (None, *BASE, 1)],
        [(1, "ant", 3, 5), (None, *BASE, 4), (2, "cat", 5, 3)],
        None,
        changes=CORRECTION,
    ),
    "and made": Step(
        lambda competition: competition.rescore(solution(CORRECTED), apply=True, workers=1),
        [(1, "ant", 1, 4), (1, "cat", 5, 4), (None, *BASE, 2)],
        [(None, *BASE, 4), (1, "ant", 3, 3), (1, "cat", 5, 3)],
        "the last rescore",
        CAUSES["rescored"],
        CORRECTION,
    ),
    "bee is reinstated": Step(
        lambda competition: competition.reinstate(team="bee", reason="one person after all"),
        [(1, "ant", 1, 4), (1, "cat", 5, 4), (3, "bee", 2, 3), (None, *BASE, 2)],
        [(1, "bee", 2, 5), (None, *BASE, 4), (2, "ant", 3, 3), (2, "cat", 5, 3)],
        cause=CAUSES["reinstatement"],
    ),
    "ant withdraws its first file, which is not chosen": Step(
        lambda competition: competition.withdraw("ant", 1),
        [(1, "cat", 5, 4), (2, "bee", 2, 3), (2, "ant", 3, 3), (None, *BASE, 2)],
        [(1, "bee", 2, 5), (None, *BASE, 4), (2, "ant", 3, 3), (2, "cat", 5, 3)],
        None,
    ),
    "cat is renamed": Step(
        lambda competition: competition.rename_team("cat", "fox"),
        [(1, "fox", 5, 4), (2, "bee", 2, 3), (2, "ant", 3, 3), (None, *BASE, 2)],
        [(1, "bee", 2, 5), (None, *BASE, 4), (2, "ant", 3, 3), (2, "fox", 5, 3)],
        "a change of a team's name",  # which no mark tells
    ),
    "and merged into ant": Step(
        lambda competition: competition.merge_teams("fox", "ant"),
        [(1, "ant", 5, 4), (2, "bee", 2, 3), (None, *BASE, 2)],
        [(1, "bee", 2, 5), (None, *BASE, 4), (2, "ant", 3, 3)],
        cause=CAUSES["team merged"],
    ),
    "ant chooses none": Step(
        lambda competition: competition.select("ant", []),
        [(1, "ant", 5, 4), (2, "bee", 2, 3), (None, *BASE, 2)],
        [(1, "bee", 2, 5), (None, *BASE, 4), (2, "ant", 5, 3)],
        cause="other submissions count",
    ),
}  # fmt: skip


def file(rows: str) -> dict[str, Sequence[Any]]:
    is_right = [cell == "+" for cell in rows.replace(" ", "")]
    labels = zip(LABELS, is_right, strict=True)
    return {"id": IDS, "y": [label if right else 1 - label for label, right in labels]}


@dataclass(frozen=True)
class Decided:
    """A competition after every step."""

    folder: Path
    """Of the export; ``labels.csv`` beside it holds the last labels."""
    steps: Mapping[str, Step]
    """What arena says after each decision, in the form of STEPS."""
    problems: tuple[str, ...]
    """Of an audit."""
    n_finalized: int


def decide_all(metric: str, folder: Path) -> Decided:
    """Take every step and finalize after each."""

    def right(score: float, n_rows: int) -> float:
        return round(n_rows * (score if metric == "accuracy" else 1 - score), 9)

    def rows_of(board: Sequence[Mapping[str, Any]], n_rows: int) -> list[Any]:
        cells = ("rank", "team", "submission")
        return [(*(row[cell] for cell in cells), right(row["score"], n_rows)) for row in board]

    def rows_of_changes(changes: Sequence[RankChange]) -> list[Any]:
        return [
            (
                *(change.team, change.rank_before, change.rank_after),
                *(right(score, 5) for score in (change.score_before, change.score_after)),
            )
            for change in changes
        ]

    settings = Settings.of(
        metric=metric, baseline="base", final_rule="chosen", mechanism="full", intervals=False
    )
    steps = {}
    with Competition.create(
        folder / "c", solution(LABELS), settings, seed=1, manager=MANAGER
    ) as competition:
        for team, rows in SENT:
            competition.submit(file(rows), team)
        for name, step in STEPS.items():
            decided, mark = step.decide(competition), competition.mark(private=True)
            older_than = competition.outdated()
            competition.finalize(workers=1)
            steps[name] = replace(
                step,
                public=rows_of(competition.leaderboard(), 4),
                private=rows_of(competition.private_leaderboard(), 5),
                older_than=older_than and re.sub(OLDER, r"\1", older_than),
                cause=mark and mark.cause,
                changes=rows_of_changes(decided) if step.changes else (),
            )
        competition.export(folder / "export")
        write_labels(folder / "labels.csv", CORRECTED)
        n_finalized = len(competition.events("finalized"))
        return Decided(folder / "export", steps, competition.audit(), n_finalized)


def write_labels(path: Path, labels: Sequence[int]) -> Path:
    columns = solution(labels)
    write_csv(path, list(columns), list(zip(*columns.values(), strict=True)))
    return path


@pytest.fixture(scope="module")
def decided(tmp_path_factory: pytest.TempPathFactory) -> Decided:
    return decide_all("accuracy", tmp_path_factory.mktemp("decided"))


def test_every_decision_has_the_boards_worked_out_by_hand(decided: Decided) -> None:
    assert decided.steps == STEPS
    assert decided.problems == ()
    assert decided.n_finalized == 1 + sum(step.older_than is not None for step in STEPS.values())


@pytest.mark.slow
def test_with_a_metric_of_which_smaller_is_better_the_boards_are_the_same(tmp_path: Path) -> None:
    assert decide_all("mae", tmp_path).steps == STEPS


def test_the_export_is_verified_by_its_last_labels(decided: Decided, tmp_path: Path) -> None:
    verify = partial(verify_bundle, decided.folder, manager=MANAGER, progress=NoProgress())
    assert verify(decided.folder.with_name("labels.csv")) == ()
    assert verify(write_labels(tmp_path / "labels.csv", LABELS))[0].startswith(
        "This is not the solution of this competition after its last correction"
    )


EDITS = (
    ("usage.csv", "p4,Public", "p4,Private", [
        "usage.csv is not the split of this competition: it differs from the record.",
        "n_rows differs.",
    ]),
    ("submissions.csv", "1,ant,ant", "9,ant,ant", [
        "submissions.csv lacks submission 1, which events.jsonl records.",
        "submissions.csv has submission 9, which events.jsonl does not record.",
    ]),
    ("submissions.csv", "accepted,0.75,3", "rejected,0.75,3", [
        "submissions.csv: submission 3: status is rejected, and events.jsonl records accepted.",
    ]),
    ("public.csv", "2,bee,0.75", "3,bee,0.25", [
        "public.csv: the score of submission 2 differs from events.jsonl.",
        "public.csv: the rank of bee does not follow from the scores.",
    ]),
    ("public.csv", "base,0.5,4,1", "base,0.5,4,2", [
        "public.csv: submission 4: n_submissions is 2, and events.jsonl records 1.",
    ]),
    ("private.csv", "2,bee,1.0", "2,bee,0.9", ["private.csv differs from result.json."]),
    ("finals.json", "    2\n", "    2,\n    4\n", [  # the two files of bee are scored
        "finals.json: submission 4 of the team bee does not count according to events.jsonl.",
        "public_rank of the team bee differs.",
        "public_score of the team bee differs.",
        "score of the team bee differs.",
    ]),
    ("finals.json", '"ant"', '"cat"', [
        "finals.json lacks the team ant, which has a submission that counts.",
        "finals.json: submission 5 of the team cat does not count according to events.jsonl.",
        "The team ant is not on the recomputed board.",
        "The team cat is missing from the exported board.",
    ]),
    ("result.json", '"team": "base"', '"team": "bass"', [
        "result.json is not the board that events.jsonl records as the final one.",
        "finals.json lacks the team base, which has a submission that counts.",
        "score of the baseline bass differs.",
        "public_score of the baseline bass differs.",
        "baseline of the baseline bass differs.",
        "The team bass is missing from the exported board.",
    ]),
)  # fmt: skip
"""Of the export: a file, a text in it, what takes its place, and what is said of that."""


def test_every_edit_of_the_export_is_named(decided: Decided, tmp_path: Path) -> None:
    export = Path(shutil.copytree(decided.folder, tmp_path / "export"))
    for name, before, after, _ in EDITS:
        text = (export / name).read_text()
        assert text.count(before) == 1
        (export / name).write_text(text.replace(before, after))
    labels = decided.folder.with_name("labels.csv")
    problems = verify_bundle(export, labels, MANAGER, NoProgress())
    assert sorted(problems) == sorted(sentence for *_, sentences in EDITS for sentence in sentences)
