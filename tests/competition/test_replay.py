"""What another mechanism would have released, without a trace."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import get_args

import pytest

from arena.competition.replay import CAUTION
from arena.errors import InputError, UnknownNameError
from arena.interfaces import Scope
from program import run_here
from scenario import Scenario
from schemas import check_document, schema


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay")
    with Scenario(folder).create(mechanism="thresholdout") as competition:
        for file, team in Scenario(folder).history(12):
            competition.submit(file, team)
        competition.disqualify(12, "shared an account")
    return folder


def digest(folder: Path) -> dict[str, str]:
    return {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in (folder / "c").iterdir()
        if path.is_file()
    }


@pytest.mark.slow
def test_the_mechanism_in_force_replays_what_was_released(played: Path) -> None:
    with Scenario(played).reopen() as competition:
        replayed = competition.replay(["thresholdout"])
    assert replayed.replayed[0].releases == replayed.released.releases
    assert replayed.replayed[0].standings == replayed.released.standings


@pytest.mark.slow
@pytest.mark.parametrize("scope", get_args(Scope))
def test_a_replay_is_what_the_mechanism_would_have_released(
    played: Path, scenario: Scenario, scope: str
) -> None:
    with scenario.create(mechanism="ladder-free", scope=scope) as competition:
        released = [competition.submit(file, team).released for file, team in scenario.history(12)]
        competition.disqualify(12, "shared an account")
        board = competition.leaderboard()
    with Scenario(played).reopen() as competition:
        replayed = competition.replay(["full", "ladder-free"], scope)  # type: ignore[arg-type]
    assert [
        submission["replayed"][1] for submission in replayed.to_dict()["submissions"]
    ] == released
    assert replayed.replayed[1].standings == board


@pytest.mark.slow
def test_a_replay_leaves_no_trace_and_prints_a_document(played: Path) -> None:
    before = digest(played)
    mechanisms = "ladder(eta=0.05, start=infinity),kaggle(rounding=0.01)"
    called = run_here("replay", "-C", "c", "--mechanism", mechanisms, "--json", cwd=played)
    assert called.returncode == 0, called.stderr
    document = json.loads(called.stdout)
    check_document(document, "replay")
    assert set(document) == set(schema("replay")["properties"])
    assert [board["mechanism"] for board in document["replayed"]] == [
        "ladder(eta=0.05, start=infinity)", "kaggle(rounding=0.01)",
    ]  # fmt: skip
    assert document["caution"] == CAUTION
    assert digest(played) == before


def test_the_boards_stand_side_by_side_and_say_what_they_cannot_tell(played: Path) -> None:
    called = run_here("replay", "-C", "c", "--mechanism", "full,ladder", cwd=played)
    assert called.returncode == 0, called.stderr
    assert "released: thresholdout" in called.stdout
    assert "full: " in called.stdout
    assert "of 12 submissions shown as better than before" in called.stdout
    assert CAUTION in " ".join(called.stdout.split())
    for team in ("team 0", "team 1", "team 2"):
        assert team in called.stdout


def test_an_unknown_mechanism_is_not_replayed(played: Path) -> None:
    with Scenario(played).reopen() as competition:
        with pytest.raises(UnknownNameError, match="Did you mean 'ladder'"):
            competition.replay(["laddre"])
        with pytest.raises(InputError, match="name the baseline's team"):
            competition.replay(["ladder(start=baseline)"])


@pytest.mark.slow
def test_nothing_released_is_nothing_to_replay(tmp_path: Path, scenario: Scenario) -> None:
    scenario.create().close()
    called = run_here("replay", "-C", "c", "--mechanism", "ladder", cwd=tmp_path)
    assert (called.returncode, called.stdout) == (0, "")
    assert "nothing to replay" in called.stderr
    refused = run_here("replay", "-C", "c", "--mechanism", "full", "--phase", "x", cwd=tmp_path)
    assert "this competition has no phases" in refused.stderr
