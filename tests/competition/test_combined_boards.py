"""Combined private boards of a competition are those of ``arena score --combine``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.competition.exports.verify import verify_bundle
from arena.competition.record.combined_boards import combined_metrics
from arena.config import Settings
from arena.errors import InputError, UsageError
from arena.scoring.score import score
from arena.types import PredictionKind, Solution, Target
from arena.utils.parallel import NoProgress
from scenario import MANAGER, N_ROWS, SOLUTION, Scenario

BOARDS = {
    "macro": {},
    "both": {"columns": ["accuracy", "f1(average=macro)"], "weights": {"lung": 2}},
    "ranks": {"rank_by": "mean_rank"},
    "plain": {"columns": ["accuracy", "f1(average=macro)"], "tasks": False, "rank_by": "worst"},
}
SETTINGS: dict[str, Any] = {
    "resamples": 100,
    "intervals": True,
    "baseline": "base",
    "tasks": "organ",
    "bracket": {"students": {}},
}
ORGANS = np.where(np.arange(N_ROWS) % 6 < 3, "lung", "liver")
SENT = [("base", 0.5), ("A", 0.9), ("B", 0.8), ("C", 0.7)]
COMPARED = ("rank", "score", "score_low", "score_high", "rank_low", "rank_high", "tier",
            "possible_winner")  # fmt: skip


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return Scenario(tmp_path, {**SOLUTION, "organ": ORGANS}, settings=SETTINGS)


@pytest.mark.parametrize(
    ("board", "refusal"),
    [
        ({"columns": ["accuracy", "log_loss"]}, "has no direction|no submission"),
        ({"columns": ["accuracy"], "tasks": False}, "nothing to combine"),
        ({"weights": {"heart": 2}}, "no metric or task 'heart'"),
        ({"rank_by": "worst", "weights": {"lung": 2}}, "takes no weights"),
    ],
)
@pytest.mark.slow
def test_a_board_that_cannot_be_computed_is_refused_at_once(
    scenario: Scenario, board: dict[str, Any], refusal: str
) -> None:
    with pytest.raises((InputError, UsageError), match=refusal):
        scenario.create(board={"x": board})
    assert not (scenario.folder / "arena.duckdb").exists()
    scenario.create().close()
    scenario.configure(board={"x": board})
    with pytest.raises(InputError, match=refusal):
        scenario.reopen()


ONE_SCORE = (
    "there is one score, so nothing to combine: name several metrics in columns, or a column of "
    "tasks in [data] tasks before the competition is created."
)
TWO = ["accuracy", "f1"]


def test_what_cannot_be_combined_is_told_in_sentences() -> None:
    """Both kinds of boards, over tasks and not, know the names that their weights may have."""
    with_tasks = organ_solution()
    without = replace(with_tasks, tasks=None, task_names=())
    for solution, board, refusal in (
        (without, {}, ONE_SCORE),
        (with_tasks, {"tasks": False}, ONE_SCORE),
        (with_tasks, {"columns": ["f1", "f1()"]}, "f1 and f1() are the same metric: name it once."),
        (
            with_tasks,
            {"weights": {"heart": 2}},
            "There is no metric or task 'heart' to weight: accuracy, liver, lung.",
        ),
        (
            with_tasks,
            {"columns": TWO, "tasks": False, "weights": {"lung": 2}},
            "There is no metric or task 'lung' to weight: accuracy, f1.",
        ),
        (with_tasks, {"columns": TWO, "weights": {"lung": 2, "f1": 3}}, None),
        (without, {"columns": TWO, "weights": {"f1": 3}}, None),
        (with_tasks, {}, None),
    ):
        document = {"metric": {"name": "accuracy"}, "board": {"x": board}}
        settings = Settings.model_validate(document)
        if refusal is None:
            assert [*combined_metrics(settings, solution, MANAGER)] == ["x"]
            continue
        with pytest.raises(InputError) as refused:
            combined_metrics(settings, solution, MANAGER)
        assert str(refused.value).endswith(refusal)
        assert "[board.x]" in str(refused.value)


def organ_solution() -> Solution:
    """Return the labels of four rows, two of each organ."""
    return Solution(
        id_column="id",
        targets=(Target("y", ("no", "yes")),),
        columns=("y",),
        kind=PredictionKind.LABEL,
        ids=pa.array([*"abcd"]),
        truth=np.array([0, 1, 0, 1]),
        usage=np.ones(4, dtype=np.uint8),
        sha256="",
        tasks=np.array([0, 0, 1, 1]),
        task_names=("liver", "lung"),
    )


@pytest.mark.slow
def test_combined_boards_are_those_of_score(tmp_path: Path, scenario: Scenario) -> None:
    with scenario.create(board=BOARDS) as competition:
        files = {team: scenario.file(n, right) for n, (team, right) in enumerate(SENT)}
        for team, file in files.items():
            assert competition.submit(file, team).status == "accepted"
        competition.assign_bracket("C", "students")
        seed = competition.finalize().seed
        for name, board in BOARDS.items():
            expected = score(
                tmp_path / "solution.csv",
                {team: file for team, file in files.items() if team != "base"},
                metric=board.get("columns", "accuracy"),
                combine=board.get("rank_by", "mean"),
                weights=board.get("weights"),
                tasks="organ" if board.get("tasks", True) else None,
                brackets={"students": ["C"]},
                target="y",
                usage="Usage",
                resamples=100,
                seed=seed,
                workers=1,
            )
            rows = {row["team"]: row for row in competition.private_leaderboard(board=name)}
            assert (rows["base"]["rank"], rows["base"]["baseline"]) == (None, True)
            assert (rows["base"]["score"] is None) == (name == "ranks")
            for row in expected.standings:
                private_row = rows[row["team"]]
                assert [private_row[key] for key in COMPARED] == [row[key] for key in COMPARED], (
                    name
                )
            assert rows["C"]["brackets"]["students"]["rank"] == 1
            stored = competition.final_result(board=name)
            corrected = expected.board_document()["best_score_corrected"]
            for key in ("estimate", "low", "high"):
                assert stored["best_score_corrected"][key] == corrected[key]
        with pytest.raises(UsageError, match="no combined board 'x'"):
            competition.private_leaderboard(board="x")
        competition.publish()
        published = competition.published_private_leaderboard()
        assert published is not None
        assert set(published["boards"]) == set(BOARDS)
        for board in published["boards"].values():
            assert not {"public_score", "public_rank", "file"} & set(board["leaderboard"][0])
        assert "accuracy of lung" in published["boards"]["macro"]["leaderboard"][0]
        first = published["leaderboard"][0]["submission"]
        competition.verify_winner(first, "failed", note="Other predictions.")
        published = competition.published_private_leaderboard()
        assert published is not None
        for board in published["boards"].values():
            states = {row["submission"]: row["verification"] for row in board["leaderboard"]}
            assert states[first] == "failed"
        competition.export(tmp_path / "export")
    assert verified(tmp_path) == ()
    path = tmp_path / "export" / "result.json"
    document = json.loads(path.read_text())
    (macro,) = [finding for finding in document["findings"] if finding["analysis"] == "board macro"]
    macro["document"]["standings"][0]["score"] += 0.01
    macro["verdict"] = macro["verdict"].replace("95%", "99%")
    path.write_text(json.dumps(document))
    problems = verified(tmp_path)
    assert {"Board macro: score of the team A differs.", "Board macro: its sentences differ."} <= {
        *problems
    }
    macro["document"]["standings"] = 3
    path.write_text(json.dumps(document))
    with pytest.raises(InputError, match="content of an export"):
        verified(tmp_path)
    scenario.configure(board={"macro": {}})
    with scenario.reopen() as competition:
        assert "board.both" in str(competition.outdated())
        assert competition.results()[0]["mark"] is not None


def verified(folder: Path) -> tuple[str, ...]:
    return verify_bundle(folder / "export", folder / "solution.csv", MANAGER, NoProgress())
