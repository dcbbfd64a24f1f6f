"""Teams that are renamed or merged, on record: boards, limits, decisions, audit and export."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.claims import read_claims
from arena.competition.exports.receipts import receipt_problems
from arena.competition.exports.verify import verify_bundle
from arena.config import DATABASE_NAME
from arena.errors import InputError
from arena.plugin.manager import PluginManager
from arena.store import Store
from arena.utils.parallel import NoProgress
from competition_folder import change
from scenario import Clock, Scenario


@pytest.fixture
def competition(scenario: Scenario) -> Any:
    with scenario.create(per_day=3, total=5, final_rule="chosen") as competition:
        yield competition


def board(competition: Competition) -> dict[str, int]:
    assert competition.audit() == ()
    return {row["team"]: row["n_submissions"] for row in competition.leaderboard()}


@pytest.mark.slow
def test_a_renamed_team_continues_under_its_new_name(
    competition: Competition, scenario: Scenario
) -> None:
    first = competition.submit(scenario.file(1), "old")
    competition.submit(scenario.file(2), "other")
    competition.select("old", [1])
    competition.rename_team("old", "new")
    assert board(competition) == {"new": 1, "other": 1}
    assert [row["team"] for row in competition.submissions("new")] == ["new"]
    assert competition.submissions("old") == competition.submissions("new")
    assert [row["selected"] for row in competition.submissions("new")] == [True]
    # Both names are the same team: its submissions, its limit and its first answers.
    again = competition.submit(scenario.file(1), "new")
    assert (again.known, again.submission, again.team) == (True, first.submission, "new")
    assert competition.submit(scenario.file(3), "new").team == "new"
    assert competition.submit(scenario.file(4), "old").team == "new"
    assert competition.submit(scenario.file(5), "new").status == "refused"
    assert board(competition) == {"new": 3, "other": 1}
    with Store.open(competition.folder / DATABASE_NAME) as store:
        instances = {release.instance for release in store.releases()}
        assert instances == {"old", "other"}  # it continues
    competition.disqualify_team("old", "a reason")
    assert board(competition) == {"other": 1}
    competition.reinstate(team="new", reason="a mistake")
    competition.rename_team("new", "old")
    assert board(competition) == {"old": 3, "other": 1}
    event = next(event for event in competition.events() if event.kind == "team renamed")
    assert {key: event.payload[key] for key in ("team", "to")} == {"team": "old", "to": "new"}


@pytest.mark.slow
def test_a_merged_team_is_counted_together(competition: Competition, scenario: Scenario) -> None:
    for number, team in ((1, "a"), (2, "b"), (3, "b")):
        competition.submit(scenario.file(number), team)
    competition.select("a", [1])
    competition.select("b", [2, 3])
    competition.merge_teams("a", "b")
    assert board(competition) == {"b": 3}
    assert [row["selected"] for row in competition.submissions("b")] == [True] * 3
    assert competition.submit(scenario.file(4), "a").status == "refused"  # 3 on this day
    assert competition.submit(scenario.file(1), "b").known  # sent as a's
    scenario.clock.now += timedelta(days=1)
    assert competition.submit(scenario.file(4), "a").team == "b"
    assert competition.submit(scenario.file(5), "b").status == "accepted"
    assert "5 submissions in all" in competition.submit(scenario.file(6), "b").faults[0].message
    (row,) = competition.finalize().standings
    assert row["team"] == "b"
    assert len(competition.events("finalized")[-1].payload["finals"]["b"]) == 2
    competition.select("b", [5])
    selected = [row["submission"] for row in competition.submissions("b") if row["selected"]]
    assert selected == [5]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["old", "new"])
def test_a_team_that_was_renamed_is_no_baseline(
    competition: Competition, scenario: Scenario, name: str
) -> None:
    competition.submit(scenario.file(1), "old")
    competition.rename_team("old", "new")
    competition.close()
    change(scenario.folder, "# baseline =", f'baseline = "{name}"  #')
    with pytest.raises(InputError, match="a team that was renamed or merged"):
        Competition.open(scenario.folder, clock=Clock())


@pytest.mark.slow
def test_an_export_with_renamed_and_merged_teams_verifies(
    competition: Competition, scenario: Scenario, tmp_path: Path
) -> None:
    answers = [competition.submit(scenario.file(n), team) for n, team in enumerate("abc")]
    competition.rename_team("a", "d")
    competition.merge_teams("b", "c")
    competition.submit(scenario.file(9), "d")
    competition.finalize()
    competition.export(tmp_path / "export")
    assert (
        verify_bundle(tmp_path / "export", scenario.solution_file, PluginManager(), NoProgress())
        == ()
    )
    receipt = tmp_path / "receipt.json"
    events = read_claims(tmp_path / "export").events
    for answer in answers:  # of a name that the team has no more
        receipt.write_text(str(answer.to_dict()).replace("'", '"').replace("None", "null"))
        assert receipt_problems(receipt, events) == ()
    submissions = tmp_path / "export" / "submissions.csv"
    text = submissions.read_text()
    submissions.write_text(text.replace("1,d,", "1,a,", 1))
    (problem,) = verify_bundle(
        tmp_path / "export", scenario.solution_file, PluginManager(), NoProgress()
    )
    assert "submission 1: team is a, and events.jsonl records d" in problem


@pytest.mark.slow
def test_a_private_board_is_out_of_date_after_a_change_of_teams(
    competition: Competition, scenario: Scenario
) -> None:
    for number, team in ((1, "a"), (2, "b")):
        competition.submit(scenario.file(number), team)
    competition.finalize()
    competition.merge_teams("a", "b")
    assert "older than a change of the submissions" in str(competition.outdated())


@pytest.mark.slow
def test_another_mechanism_has_one_instance_for_a_merged_team(
    competition: Competition, scenario: Scenario
) -> None:
    for number, team in ((1, "a"), (2, "b")):
        competition.submit(scenario.file(number), team)
    competition.merge_teams("a", "b")
    competition.close()
    path = competition.folder / "competition.toml"
    path.write_text(path.read_text().replace('mechanism = "full"', 'mechanism = "kaggle"'))
    with Competition.open(competition.folder, clock=Clock()) as opened:
        assert board(opened) == {"b": 2}
    with Store.open(competition.folder / DATABASE_NAME) as store:
        assert {release.instance for release in store.releases(2)} == {"b"}
