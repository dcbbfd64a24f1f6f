"""The end of a competition, driven from Python: what counts, who wins, what is exported."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from arena.bundle import verify_bundle
from arena.competition import Competition
from arena.errors import InputError, UsageError
from arena.execution import Silence
from arena.plugin_manager import PluginManager
from arena.types import Usage
from small_competition import N_ROWS, Clock, file_of, made


def test_finalizing_twice_is_finalizing_once(tmp_path: Path, solution: Path, clock: Clock) -> None:
    analysis = {"resamples": 50}
    with made(tmp_path, solution, clock, analysis=analysis) as competition:
        with pytest.raises(UsageError, match="no accepted submission"):
            competition.finalize()
        with pytest.raises(UsageError, match="arena finalize first"):
            competition.private_leaderboard()
        for number, team in enumerate(["one", "two", "one"]):
            competition.submit(file_of(tmp_path, number), team)
        first = competition.finalize().to_dict()
        clock.now += timedelta(days=1)
        assert competition.finalize().to_dict() == first
        assert [event.kind for event in competition.events()].count("finalized") == 1
        best = {row["team"]: row["submission"] for row in competition.leaderboard()}
        board = competition.private_leaderboard()
        assert {row["team"]: row["submission"] for row in board} == best
        assert [row["n_submissions"] for row in sorted(board, key=lambda row: row["team"])] == [
            2,
            1,
        ]
        competition.disqualify(best["one"], "a leak")
        after = {row["team"]: row["submission"] for row in competition.finalize().standings}
        assert after["one"] != best["one"]
        assert [event.kind for event in competition.events()].count("finalized") == 2


def test_the_rule_decides_which_submission_counts(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    results = {}
    for rule in ("best_public", "last", "chosen", "best_private"):
        folder = tmp_path / rule
        folder.mkdir()
        sections = {"final": {"rule": rule, "count": 1}, "analysis": {"resamples": 20}}
        with made(folder, solution, clock, **sections) as competition:
            for number in range(6):
                competition.submit(file_of(tmp_path, number), "one")
            competition.submit(file_of(tmp_path, 9), "base")
            competition.select("one", [2])
            results[rule] = competition.finalize()
    own = {
        rule: next(row for row in result.standings if row["team"] == "one")
        for rule, result in results.items()
    }
    assert own["last"]["submission"] == 6
    assert own["chosen"]["submission"] == 2
    assert own["best_public"]["public_score"] >= max(row["public_score"] for row in own.values())
    assert own["best_private"]["score"] >= max(row["score"] for row in own.values())
    assert any("too good" in note for note in results["best_private"].notes)
    assert not any("too good" in note for note in results["last"].notes)


def test_the_baseline_stands_unranked_on_the_private_board_and_is_verified(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"competition": {"baseline": "base"}, "analysis": {"resamples": 20}}
    with made(tmp_path, solution, clock, **sections) as competition:
        for number, team in enumerate(["one", "base"]):
            competition.submit(file_of(tmp_path, number), team)
        result = competition.finalize()
        assert [row["team"] for row in result.standings] == ["one"]
        ranked, marked = competition.private_leaderboard()
        assert list(ranked) == list(marked)
        assert (ranked["rank"], marked["rank"]) == (1, None)
        assert (ranked["baseline"], marked["baseline"]) == (False, True)
        truth, usage = competition.solution.truth, competition.solution.usage
        rows = usage == Usage.PRIVATE
        scores = np.random.default_rng(1).random(N_ROWS)
        assert marked["score"] == pytest.approx(roc_auc_score(truth[rows], scores[rows]))
        competition.export(tmp_path / "export")
    manager = PluginManager()
    assert verify_bundle(tmp_path / "export", solution, manager, Silence()) == ()
    changed = json.loads((tmp_path / "export" / "result.json").read_text())
    changed["baseline"]["score"] += 0.01
    (tmp_path / "export" / "result.json").write_text(json.dumps(changed))
    told = verify_bundle(tmp_path / "export", solution, manager, Silence())
    assert "score of the baseline differs." in told


def test_of_more_chosen_than_are_allowed_by_now_the_best_on_public_count(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"final": {"rule": "chosen", "count": 3}, "analysis": {"resamples": 20}}
    with made(tmp_path, solution, clock, **sections) as competition:
        answers = [competition.submit(file_of(tmp_path, n), "one") for n in range(3)]
        competition.select("one", [answer.submission for answer in answers])
        assert competition.finalize().notes[-1].startswith("A team that chose several")
    config = tmp_path / "c" / "competition.toml"
    config.write_text(config.read_text().replace("count = 3", "count = 1"))
    best = max(answers, key=lambda answer: answer.released or 0.0).submission
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        result = competition.finalize()
        assert [row["submission"] for row in result.standings] == [best]
        assert "The team one chose 3 submissions" in result.notes[-1]


def test_tied_teams_share_a_rank_or_the_earlier_is_ahead(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    for ties, ranks in (("shared", [1, 1]), ("earliest", [1, 2])):
        folder = tmp_path / ties
        folder.mkdir()
        sections = {"final": {"ties": ties}, "analysis": {"resamples": 20}}
        with made(folder, solution, clock, **sections) as competition:
            for team in ("zebra", "ape"):
                competition.submit(file_of(tmp_path, 1), team)
            standings = competition.finalize().standings
            assert [(row["team"], row["rank"]) for row in standings] == list(
                zip(["zebra", "ape"], ranks, strict=True)
            )


def test_an_export_is_the_same_bytes_and_can_be_verified(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    sections = {"final": {"rule": "chosen", "count": 2}, "analysis": {"resamples": 50}}
    with made(tmp_path, solution, clock, **sections) as competition:
        with pytest.raises(UsageError, match="arena finalize first"):
            competition.export(tmp_path / "early")
        for number, team in enumerate(["=one", "two", "=one", "three"]):
            competition.submit(file_of(tmp_path, number), team)
        competition.select("=one", [1, 3])
        competition.finalize()
        competition.export(tmp_path / "first")
        competition.finalize()
        competition.export(tmp_path / "second")
        with pytest.raises(InputError, match="not empty"):
            competition.export(tmp_path / "second")
    names = sorted(str(p.relative_to(tmp_path / "first")) for p in (tmp_path / "first").rglob("*"))
    for name in names:
        one, two = tmp_path / "first" / name, tmp_path / "second" / name
        assert one.is_dir() or one.read_bytes() == two.read_bytes()
    assert "'=one" in (tmp_path / "first" / "private.csv").read_text()
    manager = PluginManager()
    assert verify_bundle(tmp_path / "first", solution, manager, Silence()) == ()
    final = next((tmp_path / "second" / "finals").glob("2.csv"))
    lines = final.read_text().splitlines()
    final.write_text("\n".join([lines[0], *(f"{line.split(',')[0]},0.5" for line in lines[1:])]))
    events = (tmp_path / "second" / "events.jsonl").read_text()
    (tmp_path / "second" / "events.jsonl").write_text(events.replace('"two"', '"owt"'))
    problems = verify_bundle(tmp_path / "second", solution, manager, Silence())
    assert any("score of the team two differs" in problem for problem in problems)
    assert any("was changed after it was written" in problem for problem in problems)


# -- changes -------------------------------------------------------------------------------------
