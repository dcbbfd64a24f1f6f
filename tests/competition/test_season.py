"""Season boards: one score over the rounds of a series."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from arena.cli.board import print_board
from arena.competition.boards.outdated_board import FINAL_CAUSES
from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.rebuild import CAUSES, LABELS_ADDED
from arena.config import Settings
from arena.errors import UsageError
from arena.utils.parallel import NoProgress
from forged_record import forged_record
from program import write_csv
from scenario import MANAGER, Scenario

DAYS = ("2026-03-08", "2026-03-15", "2026-03-22")
ROUNDS = [f"week-{day}" for day in DAYS]
SIZES = (2, 4, 6)
"""The number of rows of each round."""
ROWS = [(f"{day}/{row}", day) for day, size in zip(DAYS, SIZES, strict=True) for row in range(size)]
ERRORS: Mapping[str, tuple[float | None, ...]] = {
    "base": (3.0, 3.0, 3.0),
    "steady": (2.0, 2.0, 2.0),
    "easy": (1.0, None, None),  # leaves out the rounds in which it would be bad
    "strong": (1.0, 2.0, 1.0),
}
"""The error of each file on every row of each round; None: none was sent."""


def create(folder: Path, board: Mapping[str, Any]) -> Competition:
    """Make a season in which the files of ERRORS were sent, and labels arrived in two rounds."""
    names, dates = zip(*ROWS, strict=True)
    scenario = Scenario(folder, {"id": names, "due": dates, "y": [""] * len(ROWS)})
    competition = scenario.create(
        metric="mae",
        pending_labels=True,
        baseline="base",
        resamples=20,
        intervals=True,
        phase={"week": {"each": "due"}},
        board={"season": {"series": "week", **board}},
    )
    for team, errors in ERRORS.items():
        error_of_day = {
            day: error for day, error in zip(DAYS, errors, strict=True) if error is not None
        }
        rows = [(name, str(error_of_day[day])) for name, day in ROWS if day in error_of_day]
        answer = competition.submit(
            dict(zip(["id", "y"], zip(*rows, strict=True), strict=True)), team
        )
        assert len(answer.rounds) == len(error_of_day) - 1
    scenario.clock.now = datetime(2026, 4, 1, tzinfo=UTC)
    for day in DAYS[:2]:
        competition.add_labels(outcomes(day))
    return competition


def outcomes(day: str) -> dict[str, list[str]]:
    """Every outcome is 0, so that the score of a file is its forecast."""
    names = [name for name, due in ROWS if due == day]
    return {"id": names, "y": ["0"] * len(names)}


def season(competition: Competition, number: int) -> dict[str, float]:
    board = competition.in_phase(ROUNDS[number])
    board.finalize()
    return {
        row["team"]: row["score"]
        for row in board.private_leaderboard(board="season")
        if row["rank"] is not None
    }


CASES: Mapping[str, tuple[dict[str, Any], dict[str, float]]] = {
    # easy: 1, and twice the 3 of the baseline; its own mean of 1 would be the best
    "mean of rounds": ({"missing": "baseline"}, {"strong": 4 / 3, "steady": 2.0, "easy": 7 / 3}),
    "mean of rows": (
        {"missing": "baseline", "rank_by": "rows"},
        {"strong": (2 * 1 + 4 * 2 + 6 * 1) / 12, "steady": 2.0, "easy": (2 * 1 + 10 * 3) / 12},
    ),
    "weighted": (
        {"missing": "baseline", "weights": {"week-2026-03-15": 2}},
        {"strong": (1 + 2 * 2 + 1) / 4, "steady": 2.0, "easy": (1 + 3 * 3) / 4},
    ),
    "unranked": ({}, {"strong": 4 / 3, "steady": 2.0}),
    # easy: 1, and twice the 2 of steady, which is the worst of the ranked teams
    "worst of teams": ({"missing": "worst"}, {"strong": 4 / 3, "easy": 5 / 3, "steady": 2.0}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_leaving_out_hard_rounds_does_not_pay(tmp_path: Path, name: str) -> None:
    board, expected = CASES[name]
    with create(tmp_path, board) as competition:
        competition.add_labels(outcomes(DAYS[2]))
        scores = season(competition, 2)
        assert scores == pytest.approx(expected)
        assert list(scores) == list(expected)


@pytest.mark.slow
def test_a_season_until_a_round_follows_the_facts_of_its_rounds(tmp_path: Path) -> None:
    with create(tmp_path, {"missing": "baseline"}) as competition:
        second = competition.in_phase(ROUNDS[1])
        assert season(competition, 1) == {"strong": 1.5, "easy": 2.0, "steady": 2.0}
        second.publish()
        published = second.published_private_leaderboard()
        assert published is not None
        assert published["phase"] == ROUNDS[1]
        assert published["boards"]["season"]["verdicts"][-1].startswith("2 rounds.")
        (best, *_) = published["boards"]["season"]["leaderboard"]
        assert [best[f"mae of {name}"] for name in ROUNDS[:2]] == [1.0, 2.0]
        competition.add_labels(outcomes(DAYS[2]))  # of a later round
        assert second.results()[0]["mark"] is None
        (first_of_strong,) = (
            row["submission"] for row in competition.submissions("strong")
            if row["phase"] == ROUNDS[0]
        )  # fmt: skip
        competition.disqualify(first_of_strong, "a leak")
        assert second.results()[0]["mark"]["cause"] == FINAL_CAUSES["disqualification"]
        assert second.outdated() == (
            "The private board is older than a change of the submissions that count: "
            "finalize again."
        )
        assert season(competition, 1) == {"easy": 2.0, "steady": 2.0, "strong": 2.5}
        competition.rename_team("easy", "lazy")
        assert season(competition, 1) == {"lazy": 2.0, "steady": 2.0, "strong": 2.5}
        assert competition.audit() == ()
        second.export(tmp_path / "export")
    zeros = [(*row, "0") for row in ROWS]
    write_csv(tmp_path / "all.csv", ["id", "due", "y"], zeros)
    export = (tmp_path / "export", tmp_path / "all.csv", MANAGER, NoProgress())
    assert verify_bundle(*export) == ()
    out = tmp_path / "export"
    written = {name: (out / name).read_text() for name in ("result.json", "events.jsonl")}
    for name, (forge, sentence) in FORGED.items():
        result = json.loads(written["result.json"])
        forge(
            result,
            next(finding for finding in result["findings"] if "round_files" in finding["document"]),
        )
        (out / "result.json").write_text(json.dumps(result))
        (out / "events.jsonl").write_text(forged_record(result, written["events.jsonl"]))
        problems = " ".join(verify_bundle(*export))
        assert sentence in problems, name
        assert "events.jsonl records as the final one" not in problems


def _exchange(_: dict[str, Any], season: dict[str, Any]) -> None:
    files = season["document"]["round_files"][ROUNDS[0]]
    files["lazy"] = files["steady"]


def _score(_: dict[str, Any], season: dict[str, Any]) -> None:
    season["document"]["standings"][0]["score"] += 1


def _rows(_: dict[str, Any], season: dict[str, Any]) -> None:
    season["document"]["n_rows"] += 1


def _pending(_: dict[str, Any], season: dict[str, Any]) -> None:
    season["document"]["n_pending"] = 7


def _verdict(_: dict[str, Any], season: dict[str, Any]) -> None:
    season["verdict"] = season["verdict"].replace("2 rounds", "3 rounds")


def _leave_out_team(_: dict[str, Any], season: dict[str, Any]) -> None:
    del season["document"]["round_files"][ROUNDS[1]]["strong"]


def _leave_out_round(_: dict[str, Any], season: dict[str, Any]) -> None:
    del season["document"]["round_files"][ROUNDS[0]]


def _leave_out(result: dict[str, Any], season: dict[str, Any]) -> None:
    result["findings"].remove(season)


FORGED: Mapping[str, tuple[Callable[[dict[str, Any], dict[str, Any]], None], str]] = {
    "exchanged": (_exchange, "of the team lazy does not count in the phase week-2026-03-08"),
    "a score": (_score, "Board season: score of the team"),
    "a number of rows": (_rows, "Board season: n_rows differs"),
    "rows to come": (_pending, "Board season: n_pending differs"),
    "a sentence": (_verdict, "Board season: its sentences differ"),
    "no team": (_leave_out_team, "a board lacks the team strong in the phase week-2026-03-15"),
    "no round": (_leave_out_round, "the board season is not over its phases"),
    "no season": (_leave_out, "result.json lacks the board season"),
}
"""An edit of ``result.json``, of which the season is a finding -> what ``verify`` says."""


@pytest.mark.slow
def test_labels_of_an_earlier_round_mark_a_season(tmp_path: Path) -> None:
    with create(tmp_path, {}) as competition:
        competition.add_labels({key: cells[1:] for key, cells in outcomes(DAYS[2]).items()})
        third = competition.in_phase(ROUNDS[2])
        assert season(competition, 2).keys() == {"strong", "steady"}
        (board,) = (
            finding
            for finding in third.final_result()["findings"]
            if "round_files" in finding["document"]
        )
        assert board["document"]["n_pending"] == 1
        assert board["verdict"].endswith("3 rounds. 1 team missed a round and is not ranked.")
        third.publish()
        competition.add_labels(outcomes(DAYS[2]))
        assert third.results()[0]["mark"]["cause"] == CAUSES[LABELS_ADDED]


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["unranked", "baseline"])
def test_a_round_without_files_counts_for_no_team(tmp_path: Path, missing: str) -> None:
    with create(tmp_path, {"missing": missing}) as competition:
        competition.add_labels(outcomes(DAYS[2]))
        for row in competition.submissions():
            if row["phase"] == ROUNDS[0]:
                competition.disqualify(row["submission"], "sent after the outcomes")
        assert season(competition, 2) == {"strong": 1.5, "steady": 2.0}  # easy has no file
        printed = io.StringIO()
        last = competition.in_phase(ROUNDS[2])
        print_board(
            result := last.final_result(),
            Console(file=printed, width=300),
            last.settings.display(public=False),
            of=f"phase {last.phase}",
        )
        assert f"phase {ROUNDS[2]}: mae on 6 private rows" in printed.getvalue()
        verdicts = " ".join(finding["verdict"] for finding in result["findings"])
        assert f"2 rounds. No file was sent to {ROUNDS[0]}: it counts for no team." in verdicts


REFUSED: Mapping[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "no series": ({"series": "month"}, {}, "'month', of which no phase is a round"),
    "columns": ({"columns": ["mae"]}, {}, "columns and tasks are not possible beside series"),
    "no baseline": ({"missing": "baseline"}, {"baseline": None}, "needs .competition. baseline"),
    "several files": ({}, {"final_rule": "best_private"}, "needs one final file in each phase"),
    "no such round": ({"weights": {"week-2026-03-09": 2}}, {}, "no phase 'week-2026-03-09'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_contradictions_are_refused_by_name(name: str) -> None:
    board, keys, message = REFUSED[name]
    rounds = {key: {"private_rows": key, "series": "week"} for key in ROUNDS}
    arguments = {"baseline": "base", "phase": rounds, **keys}
    with pytest.raises(UsageError, match=message):
        Settings.of(metric="mae", board={"season": {"series": "week", **board}}, **arguments)
