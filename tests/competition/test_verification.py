"""Winners are verified between the private board and its publication."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.competition.verification import not_verified, warnings_of
from arena.errors import UsageError
from program import run_here
from scenario import Scenario


def test_teams_that_may_be_first_are_counted_and_five_are_named() -> None:
    rows = [{"team": name, "rank": 1} for name in "ABCDEF"]
    warning = (
        "1 team may be first and is not verified: A. Record what was verified by `arena winners`."
    )
    assert warnings_of([rows[:1]]) == (warning,)
    (six,) = warnings_of([rows[:3], rows])  # on several boards: each once
    assert six.startswith("6 teams may be first and are not verified: A, B, C, D, E. Record")
    failed = {"team": "G", "rank": 3, "verification": "failed"}
    verified = {"team": "H", "rank": 1, "verification": "verified"}
    unranked = {"team": "I", "rank": None}
    assert not_verified([[failed, verified, unranked]]) == {"unverified": [], "failed": ["G"]}


@pytest.mark.slow
def test_a_verification_marks_the_board_and_publishing_warns(scenario: Scenario) -> None:
    with scenario.create(resamples=20, intervals=True) as competition:
        for team, right in (("Ants", 90), ("Bees", 40)):
            assert competition.submit(scenario.file_right_on(right), team).status == "accepted"
        competition.finalize()
        first = competition.private_leaderboard()
        assert "verification" not in first[0]
        (unverified,) = competition.publication_warnings()
        assert unverified.startswith("2 teams may be first and are not verified: Ants, Bees.")
        with pytest.raises(UsageError, match="needs a note"):
            competition.verify_winner(1, "failed")
        for wrong in ((9, "verified"), (1, "perhaps")):
            with pytest.raises(UsageError):
                competition.verify_winner(*wrong)
        competition.verify_winner(1, "failed", note="Other predictions.")
        failed, unverified = competition.publication_warnings()
        assert failed.startswith("Ants failed the verification")
        assert unverified.startswith("1 team may be first and is not verified: Bees. Record what")
        competition.verify_winner(1, "verified", note="The same file came out.")
        competition.verify_winner(2, "verified")
        assert competition.publication_warnings() == ()
        next_result = competition.next_result()
        assert next_result is not None
        assert (next_result["unverified"], next_result["failed"]) == ([], [])
        competition.publish()
        published = competition.published_private_leaderboard()
        assert published is not None
        assert [row["verification"] for row in published["leaderboard"]] == ["verified", "verified"]
        for submission in (1, 2):
            competition.verify_winner(submission, "open")
        assert competition.private_leaderboard() == first
        assert competition.audit() == ()


@pytest.mark.slow
def test_who_may_be_first_on_any_board_or_in_a_bracket_is_to_be_verified(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(
        resamples=20,
        intervals=True,
        bracket={"students": {}},
        board={"both": {"columns": ["accuracy", "f1(average=macro)"]}},
        deadline="2027-01-01T00:00:00Z",
    ) as competition:
        for team, right in (("Ants", 0.9), ("Bees", 0.2), ("Cats", 0.1)):
            file = scenario.file(1, right)
            assert competition.submit(file, team).status == "accepted"
        competition.assign_bracket("Cats", "students")
        competition.finalize()
        (unverified,) = competition.publication_warnings()
        assert unverified.startswith("2 teams may be first and are not verified: Ants, Cats.")
        next_result = competition.next_result()
        assert next_result is not None
        assert next_result["unverified"] == ["Ants", "Cats"]
    listed = run_here("winners", "-C", scenario.folder, cwd=tmp_path).stdout
    assert listed.count("Cats") == 3  # on each board, and in the warning
    assert "both:" in listed
    refused = run_here("publish", "-C", scenario.folder, cwd=tmp_path).stderr
    assert "Files are received until 2027-01-01 00:00 UTC: publish after that" in refused
    board = run_here(
        "leaderboard", "--private", "--bracket", "students", "-C", scenario.folder, cwd=tmp_path
    )
    assert "In the bracket students, Cats may truly be the best." in board.stdout
    assert "Ants" not in board.stdout


@pytest.mark.slow
def test_the_command_records_and_lists(tmp_path: Path, scenario: Scenario) -> None:
    with scenario.create(resamples=20, intervals=True) as competition:
        competition.submit(scenario.file_right_on(90), "Ants")
        competition.finalize()
    folder = scenario.folder
    listed = run_here("winners", "-C", folder, cwd=tmp_path)
    assert "Ants  submission 1  not verified" in listed.stdout
    assert run_here("winners", "1", "-C", folder, cwd=tmp_path).returncode == 2
    refused = run_here("winners", "--phase", "x", "-C", folder, cwd=tmp_path)
    assert "this competition has no phases" in refused.stderr
    published = run_here("publish", "-C", folder, cwd=tmp_path)
    assert "Warning: 1 team may be first and is not verified: Ants." in published.stdout
    run_here("winners", "1", "--state", "verified", "--note", "ok", "-C", folder, cwd=tmp_path)
    assert "verified: ok" in run_here("winners", "-C", folder, cwd=tmp_path).stdout
    assert "not verified" not in run_here("winners", "-C", folder, cwd=tmp_path).stdout
