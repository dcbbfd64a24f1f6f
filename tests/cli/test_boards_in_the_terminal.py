"""What the terminal prints of a board, in every state: whole outputs of boards made by hand."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from arena.cli.board import print_result
from arena.cli.rejected_files import print_rejected
from arena.cli.similar import say_similar
from arena.config import Settings
from arena.evaluation.similar import SimilarSubmissions
from arena.scoring.rejected_file import RejectedFile
from arena.scoring.result import ScoreResult
from arena.types import Fault, Finding, Mark, Vocabulary
from arena.utils.formatting import BoardDisplay
from arena.utils.pending_labels import PendingLabels
from board_results import a_result
from program import run_here
from recorded_calls import recorded_function


def lines_of(result: ScoreResult, *, phase: str = "") -> list[str]:
    """Return the lines that are printed of a result, without the table of its teams."""
    out = Console(file=io.StringIO(), width=500, color_system=None)
    print_result(result, out, phase=phase)
    assert isinstance(out.file, io.StringIO)
    lines = [line.rstrip() for line in out.file.getvalue().splitlines()]
    return [line for line in lines if line and not line.startswith("  ") and "───" not in line]


TITLE = "accuracy on 10 private rows (larger is better)"
UNKNOWN = {"estimate": None, "low": None, "high": None}


def possible(*teams: bool) -> tuple[dict[str, Any], ...]:
    """Return two teams, of which these may truly be the best."""
    rows = a_result().standings
    return tuple(
        {**row, "rank_low": 1, "rank_high": 2, "possible_winner": best}
        for row, best in zip(rows, teams, strict=True)
    )


HOLDS = (
    "Confidence level 95%, for rank intervals, tiers and marks together, and each score's interval "
    "by itself. Bootstrap rank range, win rate and prize share: 100 resamples of the rows, seed 0."
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"resamples": 0}, [TITLE]),
        (
            {"greater_is_better": False, "resamples": 0},
            ["accuracy on 10 private rows (smaller is better)"],
        ),
        (
            {},
            [
                TITLE,
                "Confidence level 95%, for each score's interval by itself. Bootstrap rank range, "
                "win rate and prize share: 100 resamples of the rows, seed 0.",
            ],
        ),
        ({"standings": possible(True, False)}, [TITLE, "* may truly be the best.", HOLDS]),
        ({"standings": possible(True, True)}, [TITLE, HOLDS]),
        ({"standings": possible(False, False)}, [TITLE, HOLDS]),
        (
            {"resamples": 1_000, "level": 0.999, "seed": 7, "standings": possible(True, True)},
            [
                TITLE,
                HOLDS.replace("95%", "99.9%").replace("100 ", "1,000 ").replace("seed 0", "seed 7"),
            ],
        ),
        ({"standings": ()}, []),
        (
            {"resamples": 0, "display": BoardDisplay(ties="The earlier one is first.")},
            [TITLE, "The earlier one is first."],
        ),
        (
            {
                "resamples": 0,
                "findings": tuple(Finding(text, text, {}) for text in ("So.", "So.", "No.")),
            },
            [TITLE, "So.", "No."],
        ),
        (
            {
                "resamples": 0,
                "baseline": {"team": "dice", "score": 0.5},
                "unranked": (
                    {"team": "owls", "score": None, "baseline": False},
                    {"team": "bats", "score": 0.25, "baseline": False},
                ),
            },
            [
                TITLE,
                "The baseline, dice, has a score of 0.500000 and is not ranked.",
                "The team bats has a score of 0.250000 and is not ranked.",
            ],
        ),
    ],
)  # fmt: skip
def test_a_board_is_explained(changes: dict[str, Any], said: list[str]) -> None:
    assert lines_of(a_result(**changes)) == said


def test_the_assumption_of_the_intervals_is_said_where_there_are_some() -> None:
    best = {**UNKNOWN, "assumption": "Rows are independent."}
    rows = tuple({**row, "score_low": 0.7, "score_high": 0.95} for row in a_result().standings)
    assert lines_of(a_result(standings=rows, best_score_corrected=best))[-1] == best["assumption"]
    assert best["assumption"] not in lines_of(a_result(best_score_corrected=best))
    assert lines_of(a_result(standings=rows, best_score_corrected=best, resamples=0)) == [TITLE]


@pytest.mark.parametrize(
    ("best", "of_one", "of_two"),
    [
        (UNKNOWN, [], []),
        (
            {"estimate": 0.9, "low": 0.7, "high": 0.95},
            ["Interval of the true score: 0.700000 to 0.950000 (95% confidence)."],
            [
                "Corrected for selection, the best score stays 0.900000. There is no interval for "
                "the winner's true score."
            ],
        ),
        (
            {"estimate": 0.85, "low": None, "high": None, "reason": "Few rows."},
            ["There is no interval for the true score. Few rows."],
            [
                "Corrected for selection, the best score of 0.900000 is 0.850000. There is no "
                "interval for the winner's true score. Few rows."
            ],
        ),
    ],
)
def test_the_best_score_is_corrected_in_a_sentence(
    best: dict[str, Any], of_one: list[str], of_two: list[str]
) -> None:
    best = {"reason": None, "winners": [], **best}
    first, two = a_result().standings[:1], a_result().standings
    common = {"resamples": 0, "best_score_corrected": best}
    assert lines_of(a_result(standings=first, **common)) == [TITLE, *of_one]
    assert lines_of(a_result(standings=two, **common)) == [TITLE, *of_two]


def test_the_next_places_have_their_intervals_in_one_line() -> None:
    winners = [
        {"team": team, "low": low, "high": 0.95}
        for team, low in (("a", 0.7), ("b", 0.6), ("c", None), ("d\t", 0.95))
    ]
    best = {"estimate": 0.85, "low": 0.7, "high": 0.95, "winners": winners}
    assert lines_of(a_result(resamples=0, best_score_corrected=best))[1:] == [
        "Corrected for selection, the best score of 0.900000 is 0.850000. Interval of the winner's "
        "true score, and of the best true score of all: 0.700000 to 0.950000 (95% confidence "
        "each).",
        "Intervals of the next places, corrected for selection: b 0.600000 to 0.950000; d\\t "
        "0.950000.",
    ]


def test_a_board_names_its_phase_and_the_rows_without_labels() -> None:
    words = Vocabulary("model", "model", "question")
    first, *_ = lines_of(a_result(resamples=0, words=words, split="cases"), phase="two")
    assert first == "phase two: accuracy on 10 questions (larger is better)"
    pending = a_result(resamples=0, n_pending=5)
    assert lines_of(pending)[0].startswith("accuracy on 10 of 15 private rows")


@pytest.mark.parametrize(
    ("kinds", "every", "shown", "last"),
    [
        (1, False, 1, None),
        (5, False, 5, None),
        (6, False, 5, "  … and 1 further line: arena validate prints all."),
        (7, False, 5, "  … and 2 further lines: arena validate prints all."),
        (7, True, 7, None),
    ],
)
def test_five_kinds_of_faults_are_printed(
    kinds: int, every: bool, shown: int, last: str | None
) -> None:
    out = Console(file=io.StringIO(), width=500, color_system=None)
    faults = tuple(Fault(f"kind {kind}", f"Mend {kind}.") for kind in range(kinds))
    print_rejected(RejectedFile("a\tb.csv", faults), out, every_kind=every)
    first, *lines = out.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert first == "Rejected: a\\tb.csv"
    assert lines[:shown] == [f"  Mend {kind}." for kind in range(shown)]
    assert lines[shown:] == ([last] if last else [])


@pytest.mark.parametrize(
    ("pairs", "more"),
    [(0, []), (20, []), (21, ["... and 1 more"]), (1_020, ["... and 1,000 more"])],
)
def test_twenty_pairs_of_similar_submissions_are_listed(
    pairs: int, more: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    pair = SimilarSubmissions(True, (3, 8), ("ant", "bee"), 0.0, None)
    say_similar([pair] * pairs)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == min(pairs, 20) + len(more)
    assert lines[20:] == [f"{text}: arena audit --json lists all of them." for text in more]


@dataclass
class BoardOfNobody:
    """As much of a competition as the command asks for, in one state."""

    rows: list[dict[str, Any]]
    settings: Settings = field(default_factory=lambda: Settings.of(metric="accuracy"))
    late: list[dict[str, Any]] = field(default_factory=list)
    changed: Mark | None = None
    pending: PendingLabels | None = None
    frozen_since: datetime | None = None
    old: str = ""
    notes: tuple[str, ...] = ()
    phase: str = ""
    board_metric: str = "accuracy"
    greater_is_better: bool = True
    empty_board_sentence: str = "Nobody sent a file."

    def in_phase(self, _: str | None) -> BoardOfNobody:
        return self

    def leaderboard(self, *, live: bool) -> list[dict[str, Any]]:
        return self.rows if live or self.frozen_since is None else self.rows[:1]

    def late_files(self) -> list[dict[str, Any]]:
        return self.late

    def mark(self, *, private: bool) -> Mark | None:
        return self.changed

    def pending_labels(self, *, private: bool) -> PendingLabels | None:
        return self.pending

    def brackets(self) -> dict[str, list[str]]:
        return {"new": ["b"], "old": []}

    def head(self) -> str:
        return "f" * 64

    def board_notes(self, _: Any) -> tuple[str, ...]:
        return self.notes


def row(team: str, rank: int | None, score: float | None, **more: Any) -> dict[str, Any]:
    """Return a row of a public board."""
    return {
        "rank": rank, "team": team, "score": score, "submission": 7, "n_submissions": 3,
        "baseline": rank is None, **more,
    }  # fmt: skip


ROWS = [row("a", 1, 0.75), row("b", 2, 0.5), row("dice", None, 0.25)]
TABLE = [
    "  rank   team              score   submission   sent",
    "     1   a                  0.75            7      3",
    "     2   b                  0.50            7      3",
    "         dice (baseline)    0.25            7      3",
]
HEAD = f"Last hash of the record: {'f' * 64}"
MARK = Mark("2026-03-01T12:00:00+00:00", "two teams were merged")
RELEASED_AGAIN = MARK.sentence("The scores of this board were released again")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Return what the command prints of a competition: its lines without rules, and its notes."""

    def run(view: BoardOfNobody, *arguments: str) -> tuple[list[str], list[str]]:
        @contextlib.contextmanager
        def look(*_: Any) -> Iterator[BoardOfNobody]:
            yield view

        monkeypatch.setattr("arena.cli.commands.leaderboard.look_at_competition", look)
        done = run_here("leaderboard", *arguments, cwd=tmp_path)
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        printed = [line for line in lines if line and "───" not in line]
        return printed, done.stderr.splitlines()

    return run


@pytest.mark.parametrize(
    ("state", "arguments", "lines", "notes"),
    [
        ({"rows": ROWS}, "", ["public board, accuracy (larger is better)", *TABLE, HEAD], []),
        (
            {"rows": ROWS, "greater_is_better": False, "phase": "two",
             "settings": Settings.of(metric="accuracy", title="Race")},
            "",
            ["Race: phase two: public board, accuracy (smaller is better)", *TABLE, HEAD],
            [],
        ),
        ({"rows": []}, "", [HEAD], ["Nobody sent a file."]),
        (
            {"rows": []},
            "--bracket new",
            [HEAD],
            ["No team of this bracket has a score yet: `arena bracket` puts teams into it."],
        ),
        (
            {"rows": [ROWS[0], row("b", 2, 0.5, brackets={"new": {"rank": 1}})]},
            "--bracket new",
            [
                "new, public board, accuracy (larger is better)",
                "  rank   team   score   submission   sent   brackets",
                "     1   b        0.5            7      3   new",
                HEAD,
            ],
            [],
        ),
        (
            {"rows": ROWS}, "--bracket none", [],
            ["arena: There is no bracket 'none'. There are: new, old."],
        ),
        (
            {"rows": ROWS[:1], "late": [row("b", None, 0.125), row("c", None, None)]},
            "",
            [
                "public board, accuracy (larger is better)",
                TABLE[0].replace(" (baseline)", "").replace("             score", "  score"),
                "     1   a       0.75            7      3",
                "Late, not ranked: b, submission 7, 0.125",
                "Late, not ranked: c, submission 7, no score",
                HEAD,
            ],
            [],
        ),
        (
            {"rows": ROWS, "changed": MARK, "pending": PendingLabels(5, 10), "notes": ("A note.",)},
            "",
            ["public board, accuracy (larger is better)", *TABLE, HEAD],
            [PendingLabels(5, 10).sentence, RELEASED_AGAIN, "A note."],
        ),
        (
            {"rows": ROWS[:1], "frozen_since": datetime(2026, 3, 1, 12, 30, tzinfo=UTC)},
            "--csv",
            ["rank,team,score,submission,n_submissions,baseline", "1,a,0.75,7,3,False"],
            ["The board has been frozen since 2026-03-01 12:30 UTC. See it with --live."],
        ),
        (
            {"rows": ROWS[:1], "frozen_since": datetime(2026, 3, 1, 12, 30, tzinfo=UTC)},
            "--csv --live",
            ["rank,team,score,submission,n_submissions,baseline", "1,a,0.75,7,3,False"],
            [],
        ),
        (
            {"rows": ROWS[:1], "settings": Settings.of(metric="accuracy", scores="own")},
            "--csv",
            ["rank,team,score,submission,n_submissions,baseline", "1,a,0.75,7,3,False"],
            ["The board shows no scores: each team sees its own. See it with --live."],
        ),
        (
            {"rows": [], "settings": Settings.of(metric="accuracy", scores="hidden")},
            "--csv",
            ["rank,team,score,submission,n_submissions,baseline"],
            ["Nobody sent a file.", "The board shows no scores, and none is released yet."],
        ),
        (
            {"rows": [row("=a", 1, 0.5)], "pending": PendingLabels(5, 10), "changed": MARK},
            "--csv",
            [
                "rank,team,score,submission,n_submissions,baseline,pending_labels,mark",
                f"1,'=a,0.5,7,3,False,{PendingLabels(5, 10).sentence},{RELEASED_AGAIN}",
            ],
            [PendingLabels(5, 10).sentence, RELEASED_AGAIN],
        ),
        (
            {"rows": ROWS}, "--private --live", [],
            ["arena: --live is for the public board in the terminal, as CSV or as JSON."],
        ),
        (
            {"rows": ROWS}, "--html a.html --live", [],
            ["arena: --live is for the public board in the terminal, as CSV or as JSON."],
        ),
        (
            {"rows": ROWS}, "--html a.html --board both", [],
            ["arena: --html is of the main board: omit --board."],
        ),
    ],
)  # fmt: skip
def test_the_leaderboard_says_its_state(
    shown: Any, state: dict[str, Any], arguments: str, lines: list[str], notes: list[str]
) -> None:
    assert shown(BoardOfNobody(**state), *arguments.split()) == (lines, notes)


def test_the_leaderboard_as_a_document_has_its_state(shown: Any) -> None:
    lines, _ = shown(BoardOfNobody(ROWS, changed=MARK, pending=PendingLabels(5, 10)), "--json")
    assert json.loads("".join(lines)) == {
        "schema": "arena/leaderboard/2",
        "title": "",
        "split": "public",
        "phase": "",
        "bracket": None,
        "board": None,
        "head": "f" * 64,
        "metric": "accuracy",
        "greater_is_better": True,
        "standings": ROWS,
        "late": [],
        "mark": {"time": MARK.time, "cause": MARK.cause},
        "pending_labels": {"pending": 5, "n_rows": 10},
    }


def named_boards(**over_phases: bool) -> SimpleNamespace:
    """Return as much of the settings as a leaderboard asks for, with combined boards."""
    settings = Settings.of(metric="accuracy", title="Race")
    boards = {name: SimpleNamespace(over_phases=over) for name, over in over_phases.items()}
    return SimpleNamespace(
        board=boards, display=settings.display, metric=settings.metric,
        competition=settings.competition, public=settings.public,
    )  # fmt: skip


FINDING = {
    **dict.fromkeys(("title", "details"), ""), "analysis": "brackets", "verdict": "Old sentence.",
    "tables": [], "charts": [],
}  # fmt: skip
OF_BRACKETS = {
    **possible(True, False)[0], "brackets": {"new": {**possible(True, False)[0], "rank": 1}},
    "n_submissions": 3, "answers": {"method": "trees"}, "baseline": False,
}  # fmt: skip


class FinalBoardOfNobody(BoardOfNobody):
    """Also has a private leaderboard, and boards that combine phases."""

    result = a_result(standings=possible(True, False)).to_dict()

    def final_result(self, *, board: str | None) -> dict[str, Any]:
        findings = [FINDING, {**FINDING, "analysis": "another"}]
        return {**self.result, "metric": board or "accuracy", "findings": findings}

    def private_leaderboard(self, *, board: str | None) -> list[dict[str, Any]]:
        last = {**OF_BRACKETS, "team": "dice", "rank": None, "baseline": True}
        last["brackets"] = {"new": {**OF_BRACKETS["brackets"]["new"], "rank": None}}
        return [OF_BRACKETS, {**OF_BRACKETS, "team": "b", "rank": 2, "brackets": {}}, last]

    def outdated(self) -> str:
        return self.old

    def released_board(self, board: str, *, live: bool) -> SimpleNamespace:
        rows = [{"rank": 1, "team": f"live {live}", "score": 0.5, "one": 0.25}]
        rows[0] |= {"n_submissions": 1, "baseline": False}
        return SimpleNamespace(
            metric="mean of two",
            greater_is_better=False,
            mark=MARK,
            standings=rows[: len(self.rows)],
        )


@pytest.mark.parametrize(
    ("state", "arguments", "lines", "notes"),
    [
        (
            {"old": "Finalize again."},
            "--private",
            [f"phase two: {TITLE}", "* may truly be the best.", HOLDS, "Old sentence.", HEAD],
            ["Finalize again."],
        ),
        (
            {},
            "--private --board both",
            ["phase two: both: both on 10 private rows (larger is better)",
             "* may truly be the best.", HOLDS, "Old sentence.", HEAD],
            [],
        ),
        (
            {},
            "--private --board all",
            ["all: all on 10 private rows (larger is better)", "* may truly be the best.", HOLDS,
             "Old sentence.", HEAD],
            [],
        ),
        (
            {},
            "--private --bracket new",
            [f"phase two: {TITLE}", "In the bracket new, a may truly be the best.", HEAD],
            [],
        ),
        (
            {"rows": ROWS},
            "--board all",
            ["Race: all: public board, mean of two (smaller is better)", HEAD],
            [RELEASED_AGAIN],
        ),
        (
            {},
            "--board all --live",
            [HEAD],
            ["No team has a score in each of the phases of this board yet.", RELEASED_AGAIN],
        ),
    ],
)  # fmt: skip
def test_the_private_leaderboard_and_combined_ones_say_what_they_are(
    shown: Any, state: dict[str, Any], arguments: str, lines: list[str], notes: list[str]
) -> None:
    view = FinalBoardOfNobody(
        **{"rows": [], "phase": "two", "settings": named_boards(both=False, all=True), **state}
    )
    printed, printed_notes = shown(view, *arguments.split())
    assert ([line for line in printed if not line.startswith("  ")], printed_notes) == (
        lines,
        notes,
    )


def test_the_private_leaderboard_as_a_document_names_rows_without_labels(shown: Any) -> None:
    view = FinalBoardOfNobody([])
    for n_pending, expected in ((None, None), (5, {"pending": 5, "n_rows": 10})):
        pending = {} if n_pending is None else {"n_pending": n_pending}
        view.result = {**FinalBoardOfNobody.result, **pending}
        document = json.loads("".join(shown(view, "--private", "--json")[0]))
        assert (document["split"], document["late"], document["pending_labels"]) == (
            "private", [], expected
        )  # fmt: skip
        assert [row["team"] for row in document["standings"]] == ["a", "b", "dice"]


def test_the_page_of_a_leaderboard_is_the_public_one(
    shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    report_function = recorded_function(lines, "page", "the page")
    monkeypatch.setattr("arena.report.competition.public_competition_report", report_function)
    write_function = recorded_function(lines, "write")
    monkeypatch.setattr("arena.cli.commands.leaderboard.write_outputs", write_function)
    shown(BoardOfNobody(ROWS), "--html", "b.html", "--bracket", "new")
    assert lines == [
        "  page(BoardOfNobody, sections=False, bracket='new')",
        "  write('the page', b.html, None)",
    ]
