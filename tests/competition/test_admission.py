"""When files are received: start and deadline, a pause, the limit of a week, and exemptions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import UsageError
from scenario import Clock, Scenario

MONDAY = datetime(2026, 11, 30, 12, tzinfo=UTC)
DATES = {"start": MONDAY.isoformat(), "deadline": (MONDAY + timedelta(days=14)).isoformat()}


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return Scenario(tmp_path, settings=DATES, clock=Clock(MONDAY))


def send(competition: Competition, root: Path, number: int, team: str = "A") -> str:
    answer = competition.submit(Scenario(root).file(number, right=0.7), team)
    return answer.status if not answer.faults else answer.faults[0].kind


@pytest.mark.slow
def test_files_are_received_between_the_start_and_the_deadline(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create() as competition:
        for delay, outcome in (
            (timedelta(seconds=-1), "start"), (timedelta(0), "accepted"),
            (timedelta(days=14), "accepted"), (timedelta(days=14, seconds=1), "deadline"),
        ):  # fmt: skip
            scenario.clock.now = MONDAY + delay
            assert send(competition, tmp_path, delay.seconds + delay.days) == outcome, delay
        assert competition.quota_used("A") == 2


@pytest.mark.slow
def test_a_pause_refuses_files_uncounted_until_it_ends(tmp_path: Path, scenario: Scenario) -> None:
    with scenario.create() as competition:
        competition.pause("The labels are checked.")
        assert send(competition, tmp_path, 1) == "pause"
        with pytest.raises(UsageError, match="paused already"):
            competition.pause("again")
    with scenario.reopen() as competition:
        assert competition.paused() == {
            "time": MONDAY.isoformat(), "reason": "The labels are checked.",
        }  # fmt: skip
        assert send(competition, tmp_path, 1) == "pause"
        competition.resume()
        assert send(competition, tmp_path, 1) == "accepted"
        assert competition.quota_used("A") == 1
        assert competition.audit() == ()
        with pytest.raises(UsageError, match="is not paused"):
            competition.resume()


@pytest.mark.slow
def test_a_week_starts_on_monday_and_an_exemption_adds_to_each_limit(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create(per_week=2) as competition:
        scenario.clock.now = MONDAY + timedelta(days=6)  # a Sunday
        assert [send(competition, tmp_path, n) for n in range(3)] == ["accepted"] * 2 + ["limit"]
        competition.exempt("A", extra=1, reason="a crash")
        assert [send(competition, tmp_path, n) for n in (3, 4)] == ["accepted", "limit"]
        assert send(competition, tmp_path, 5, "B") == "accepted"
        scenario.clock.now += timedelta(hours=12)
        assert send(competition, tmp_path, 6) == "accepted"
        assert competition.quota_used("A", "2026-W50") == 1
        assert competition.quota_used("A", "2026-W49") == 3


@pytest.mark.slow
def test_an_exempted_team_submits_after_the_deadline_and_keeps_it_by_any_name(
    tmp_path: Path, scenario: Scenario
) -> None:
    with scenario.create() as competition:
        assert send(competition, tmp_path, 1) == "accepted"
        with pytest.raises(UsageError, match="not after the deadline"):
            competition.exempt("A", until=MONDAY, reason="ill")
        with pytest.raises(UsageError, match="Name until when"):
            competition.exempt("A", reason="ill")
        competition.exempt("A", until=MONDAY + timedelta(days=15), reason="ill")
        competition.rename_team("A", "Z")
        scenario.clock.now = MONDAY + timedelta(days=15)
        assert (send(competition, tmp_path, 2, "Z"), send(competition, tmp_path, 3, "B")) == (
            "accepted",
            "deadline",
        )
        (exemption,) = competition.exemptions()
        assert (exemption["team"], exemption["reason"]) == ("Z", "ill")
        assert competition.audit() == ()


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["rank", "team"])
def test_late_files_are_scored_listed_apart_and_change_nothing(
    tmp_path: Path, scenario: Scenario, scope: str
) -> None:
    with scenario.create(
        late_until=(MONDAY + timedelta(days=20)).isoformat(),
        mechanism="ladder-free",
        scope=scope,
    ) as competition:
        competition.submit(scenario.file(1, 0.6), "A")
        competition.submit(scenario.file(2, 0.7), "B")
        before, finals = competition.leaderboard(), competition.evaluate().standings
        scenario.clock.now = MONDAY + timedelta(days=15)
        late = competition.submit(scenario.file(3, 0.95), "A")
        assert (late.status, late.late) == ("accepted", True)
        assert late.released is not None
        rows = competition.leaderboard()
        assert [{**row, "n_submissions": 1} for row in rows] == before
        assert competition.evaluate().standings == finals
        (listed,) = competition.late_files()
        assert (listed["team"], listed["score"]) == ("A", late.released)
        with pytest.raises(UsageError, match="not an accepted submission"):
            competition.select("A", [3], late=True)
        competition.disqualify(1, "a leak")
        assert [row["team"] for row in competition.leaderboard()] == ["B"]
        assert competition.late_files() == [listed]
        assert competition.audit() == ()
        scenario.clock.now = MONDAY + timedelta(days=21)
        assert send(competition, tmp_path, 4) == "deadline"


@pytest.mark.parametrize(
    ("dates", "said"),
    [
        ({"late_until": DATES["deadline"]}, "late_until needs a deadline"),
        ({"late_until": DATES["start"], "deadline": DATES["deadline"]}, "must be after deadline"),
    ],
)
def test_a_late_time_that_cannot_be_is_refused_by_name(dates: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Settings.of(metric="accuracy", **dates)


def test_a_start_after_the_deadline_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="start must be before deadline"):
        Settings.of(metric="accuracy", start=DATES["deadline"], deadline=DATES["start"])
