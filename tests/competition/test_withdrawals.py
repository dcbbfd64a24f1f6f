"""A withdrawn file leaves every board, for good, and changes no other score."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.record.rebuild import REBUILT
from arena.errors import UsageError
from arena.utils.parallel import NoProgress
from scenario import MANAGER, Scenario, standings

LADDER = {"mechanism": "ladder-free"}


def released(competition: Competition) -> dict[int, tuple[float, int]]:
    rows = competition.submissions()
    return {row["submission"]: (row["released"], row["source"]) for row in rows}


@pytest.mark.slow
def test_withdrawing_shows_nothing_new_also_after_a_rebuild_for_another_cause(
    scenario: Scenario,
) -> None:
    with scenario.create(**LADDER) as competition:
        scenario.send(competition, ("A", 50), ("A", 90), ("A", 61), ("B", 81))
        before = released(competition)
        assert before[3] == (0.9, 2)
        competition.withdraw("A", 2)
        assert released(competition) == before
        # The score of the withdrawn file was repeated for the third one, and leaves with it.
        assert standings(competition) == [(1, "B", 0.81, 4), (2, "A", 0.5, 1)]
        scenario.send(competition, ("A", 75), ("A", 95))
        assert released(competition)[5] == (0.9, 2)
        assert standings(competition)[0] == (1, "A", 0.95, 6)
        competition.disqualify(6, "a leak")
        assert len(competition.events(REBUILT)) == 1
        # In the rebuild the withdrawn file kept its place: it is repeated as before.
        assert released(competition)[5] == (0.9, 2)
        assert standings(competition) == [(1, "B", 0.81, 4), (2, "A", 0.5, 1)]
        assert competition.audit() == ()


@pytest.mark.slow
def test_the_final_board_is_that_of_a_team_without_the_file(scenario: Scenario) -> None:
    with scenario.create(**LADDER) as competition:
        scenario.send(competition, ("A", 90), ("A", 61), ("B", 81))
        competition.withdraw("A", 1)
        finals = {row["team"]: row["submission"] for row in competition.evaluate().standings}
    assert finals == {"A": 2, "B": 3}


@pytest.mark.slow
def test_an_export_with_withdrawn_and_repeated_scores_is_verified(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(**LADDER) as competition:
        scenario.send(competition, ("A", 50), ("A", 90), ("A", 61), ("B", 81), ("C", 70))
        competition.withdraw("A", 2)
        competition.disqualify(5, "a leak")
        competition.finalize()
        competition.export(tmp_path / "export")
    solution = tmp_path / "solution.csv"
    assert verify_bundle(tmp_path / "export", solution, MANAGER, NoProgress()) == ()
    text = (tmp_path / "export" / "submissions.csv").read_text()
    (tmp_path / "export" / "submissions.csv").write_text(text.replace("withdrawn", "accepted"))
    problems = verify_bundle(tmp_path / "export", solution, MANAGER, NoProgress())
    assert any("submission 2: status is accepted" in problem for problem in problems)


@pytest.mark.slow
def test_what_cannot_be_withdrawn(scenario: Scenario) -> None:
    with scenario.create(**LADDER, baseline="base") as competition:
        scenario.send(competition, ("base", 50), ("A", 90), ("B", 81))
        competition.withdraw("A", 2)
        for team, number, message in (
            ("A", 2, "withdrawn before"),
            ("A", 3, "not an accepted submission"),
            ("base", 1, "is a baseline"),
            ("X", 9, "No submission of a team"),
        ):
            with pytest.raises(UsageError, match=message):
                competition.withdraw(team, number)
        again = competition.submit(scenario.file_right_on(90), "A")
        assert (again.submission, again.known) == (2, True)


@pytest.mark.slow
def test_a_disqualified_baseline_stays_the_start_until_another_file_comes(
    scenario: Scenario,
) -> None:
    with scenario.create(
        mechanism="ladder(eta=0.01, start=baseline)", baseline="base"
    ) as competition:
        scenario.send(competition, ("base", 50), ("A", 40), ("A", 60))
        before = standings(competition)
        competition.disqualify(1, "wrong file")
        assert standings(competition) == [row for row in before if row[1] != "base"]
        scenario.send(competition, ("B", 45), ("B", 70))
        assert standings(competition)[0][1:3] == ("B", 0.7)
        assert competition.audit() == ()
    with scenario.reopen() as competition:
        scenario.send(competition, ("base", 55), ("C", 52))
        assert {row[1]: row[2] for row in standings(competition)}["C"] == 0.55
