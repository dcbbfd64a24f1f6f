"""A clock that jumps: what follows it, what does not, and that the organiser hears of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.competition.state import INEXACT, clock_set_back
from arena.competition.view import CompetitionView
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.server.records.accounts import Accounts
from arena.server.records.mails import Mail, Mails
from arena.server.records.sign_ins import IDLE, SESSION
from arena.utils.parallel import NoProgress
from scenario import START, Scenario

DAY = timedelta(days=1)
FAR = datetime(2290, 1, 1, tzinfo=UTC)
"""Nanoseconds since 1970 do not fit into 64 bits."""


def backwards(problems: Sequence[str]) -> list[int]:
    """Return the events at which time runs backwards: all problems are about these."""
    matches = [re.match(r"Time runs backwards: event (\d+) ", problem) for problem in problems]
    assert all(matches), problems
    return [int(match[1]) for match in matches if match]


def slow(*values: timedelta) -> list[ParameterSet]:
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-DAY, *slow(3 * DAY, -20_000 * DAY, FAR - START)])
def test_limits_of_a_day_follow_the_clock_and_the_total_does_not(
    scenario: Scenario, jump: timedelta
) -> None:
    with scenario.create(per_day=1, total=3) as competition:

        def send(number: int) -> str:
            return str(competition.submit(scenario.file(number), "one").status)

        assert [send(1), send(2)] == ["accepted", "refused"]
        scenario.clock.now += jump
        assert [send(3), send(4)] == ["accepted", "refused"]  # another day, and its only place
        scenario.clock.now -= jump
        assert send(5) == "refused"  # the day that was used before
        scenario.clock.now += timedelta(hours=1)
        assert [send(6), send(7)] == ["accepted", "refused"]
        scenario.clock.now += DAY
        assert send(8) == "refused"  # the total
        assert competition.quota_used("one") == 3
        assert backwards(competition.audit()) == ([4] if jump < timedelta() else [6])


@pytest.mark.slow
def test_order_ties_and_scores_follow_the_record_and_not_the_clock(tmp_path: Path) -> None:
    boards = []
    for name, jumps in {"steady": [0, 1, 2, 3], "jumping": [0, -400, 40_000, -3]}.items():
        scenario = Scenario(tmp_path / name)
        with scenario.create() as competition:
            for number, jump in enumerate(jumps):
                scenario.clock.now = START + jump * DAY
                # The same predictions twice: the earlier submission is ranked first.
                team = f"team {number}"
                assert competition.submit(scenario.file(number // 2), team).status == "accepted"
            scenario.clock.now = START + 50_000 * DAY
            competition.finalize()
            assert backwards(competition.audit()) == ([3, 5] if name == "jumping" else [])
            assert [event.sequence for event in competition.events()] == [1, 2, 3, 4, 5, 6]
            competition.export(scenario.root / "out")
            boards.append((competition.leaderboard(), competition.private_leaderboard()))
        files = (scenario.root / "out", scenario.solution_file)
        problems = verify_bundle(*files, PluginManager(), NoProgress())
        assert backwards(problems) == ([3, 5] if name == "jumping" else [])
    assert boards[0] == boards[1]


@pytest.mark.slow
def test_a_deadline_follows_the_clock_in_both_directions(scenario: Scenario) -> None:
    over = START + DAY
    with scenario.create(deadline=over) as competition:
        scenario.clock.now = over
        assert competition.submit(scenario.file(1), "one").status == "accepted"
        scenario.clock.now = FAR
        assert competition.submit(scenario.file(2), "one").faults[0].kind == "deadline"
        scenario.clock.now = START
        assert competition.submit(scenario.file(2), "one").status == "accepted"
        (problem,) = competition.audit()
        assert problem.startswith(
            "Time runs backwards: event 4 (submission, 2026-03-01T23:00:00.000000+00:00) is before "
            "event 3 (submission, 2290-01-01T00:00:00.000000+00:00)"
        )


@pytest.mark.slow
def test_the_organiser_hears_of_a_clock_before_the_last_event(scenario: Scenario) -> None:
    with scenario.create() as competition:
        scenario.clock.now += DAY
        competition.submit(scenario.file(1), "one")
    for opened in (Competition, CompetitionView):
        for back, n_notes in ((timedelta(), 0), (timedelta(seconds=59), 0), (DAY, 1)):
            if n_notes and opened is Competition:
                continue
            with opened.open(
                scenario.folder, clock=lambda back=back: scenario.clock.now - back
            ) as competition:
                notes = [note for note in competition.notes if "clock" in note]
            assert len(notes) == n_notes
    with pytest.raises(UsageError, match="of 2026-03-02 23:00 UTC: set the clock"):
        Competition.open(scenario.folder, clock=lambda: scenario.clock.now - DAY)
    assert "shows 2026-03-01 23:00 UTC" in notes[0]
    assert "of 2026-03-02 23:00 UTC: set the clock" in notes[0]


@pytest.mark.parametrize(("seconds_back", "n_warnings"), [(60, 0), (61, 1)])
def test_the_organiser_hears_at_once_of_a_clock_that_is_set_back(
    scenario: Scenario, caplog: pytest.LogCaptureFixture, seconds_back: int, n_warnings: int
) -> None:
    with scenario.create() as competition:
        scenario.clock.now -= timedelta(seconds=seconds_back)
        for number in (1, 2):
            competition.submit(scenario.file(number), "one")
    warnings = [record.getMessage() for record in caplog.records if record.name == "arena"]
    assert backwards(warnings) == [2] * n_warnings


@pytest.mark.parametrize(("seconds_ahead", "n_notes"), [([], 0), ([60], 0), ([61], 1)])
def test_a_clock_is_behind_the_record_by_more_than_a_minute(
    seconds_ahead: list[int], n_notes: int
) -> None:
    times = [START + timedelta(seconds=seconds) for seconds in seconds_ahead]
    events = [SimpleNamespace(time=time.isoformat()) for time in times]
    store: Any = SimpleNamespace(last_events=lambda most: events[:most])
    note = (
        "The clock of this machine shows 2026-03-01 23:00 UTC, but the last event of the record is "
        "of 2026-03-01 23:01 UTC: set the clock. The deadline and the limits of a day follow it."
    )
    assert clock_set_back(store, START) == [note] * n_notes


def test_a_sign_in_from_the_future_is_over(tmp_path: Path, scenario: Scenario) -> None:
    accounts = Accounts(tmp_path / "intake.sqlite", scenario.clock)
    account = accounts.register("Ann").account
    scenario.clock.now += 300 * DAY
    future = accounts.open_session(account)
    assert accounts.session(future) is not None
    scenario.clock.now -= 300 * DAY
    assert accounts.session(future) is None
    now = accounts.open_session(account)
    assert accounts.session(now) is not None
    scenario.clock.now += min(IDLE, SESSION) + timedelta(seconds=1)
    assert accounts.session(now) is None
    accounts.close()


def test_a_mail_that_waits_for_a_time_far_ahead_is_sent(tmp_path: Path, scenario: Scenario) -> None:
    mails = Mails(tmp_path / "intake.sqlite", scenario.clock)
    scenario.clock.now += 300 * DAY
    mails.add([Mail("key", "c", "ann@example.org", "subject", "text")])
    scenario.clock.now -= 300 * DAY
    claimed = mails.claim()
    assert claimed is not None
    mails.postpone(claimed, "The server is busy.")
    assert mails.claim() is None  # it waits a minute
    mails.close()


def test_a_clock_that_is_set_back_by_more_than_it_may_be_inexact_is_named() -> None:
    last = SimpleNamespace(time=START.isoformat())
    store: Any = SimpleNamespace(last_events=lambda _: iter([last]))
    assert clock_set_back(store, START - INEXACT) == []
    (note,) = clock_set_back(store, START - INEXACT - timedelta(seconds=1))
    assert note.startswith("The clock of this machine shows ")
    store.last_events = lambda _: iter([])
    assert clock_set_back(store, START) == []
