"""Combined private boards of a competition are those of ``arena score --combine``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.exports.verify import verify_bundle
from arena.errors import InputError, UsageError
from arena.scoring.score import score
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
