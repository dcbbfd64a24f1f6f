"""A limit counts what was sent, whenever it was set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.competition.record.quota import Quota
from arena.config import Settings, settings_as_toml
from competition_model import Rules
from few_rows import manager_of_few, settings_of, write_files

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.slow
def test_a_limit_that_is_set_later_counts_what_was_sent_before(tmp_path: Path) -> None:
    write_files(tmp_path)
    unlimited = Rules(per_day=None, total=None)
    now = START

    def settings(rules: Rules) -> Settings:
        return settings_of(rules, "share_right", "full")

    created = Competition.create(
        tmp_path / "c",
        tmp_path / "solution.csv",
        settings(unlimited),
        manager=manager_of_few(),
        clock=lambda: now,
    )
    with created as competition:
        statuses = [competition.submit(tmp_path / f"{n}.csv", "one").status for n in range(3)]
        assert statuses == ["accepted"] * 3
    limited = {
        "3 submissions in all": Rules(per_day=None, total=3),
        "3 submissions a day": Rules(per_day=3, total=None),
    }
    for words, rules in limited.items():
        toml = settings_as_toml(settings(rules))
        (tmp_path / "c" / "competition.toml").write_text(toml, encoding="utf-8")
        with Competition.open(
            tmp_path / "c", manager=manager_of_few(), clock=lambda: now
        ) as competition:
            answer = competition.submit(tmp_path / "3.csv", "one")
            assert answer.status == "refused"
            assert words in answer.faults[0].message
            assert competition.submit(tmp_path / "3.csv", "other").status == "accepted"
    now += timedelta(days=1)
    with Competition.open(tmp_path / "c", manager=manager_of_few(), clock=lambda: now) as later:
        assert later.submit(tmp_path / "3.csv", "one").status == "accepted"


TODAY = START.date().isoformat()


class Places:
    """A transaction that knows only the places that were used."""

    def __init__(self, **used: int) -> None:
        self.used = {("a", "total"): used.get("a", 0), ("b", "total"): used.get("b", 0)}
        self.used |= {("a", TODAY): used.get("a_today", 0)}
        self.taken: list[tuple[str, str]] = []

    def quota_used(self, team: str, day: str) -> int:
        return self.used.get((team, day), 0)

    def take_places(self, team: str, days: Sequence[str]) -> None:
        self.taken += [(team, day) for day in days]


def quota(now: datetime = START, team: str = "a", **limits: int | None) -> Quota:
    document: dict[str, Any] = {
        "metric": {"name": "rmse"},
        "competition": {"baseline": "host", "deadline": START + timedelta(hours=1)},
        "limits": {"per_day": None, "total": None} | limits,
    }
    return Quota(Settings.model_validate(document), team, now, (team, "b"))


@pytest.mark.parametrize(
    ("limits", "used", "refused"),
    [
        ({}, {"a": 99, "a_today": 99}, None),
        ({"total": 3}, {"a": 2}, None),
        ({"total": 3}, {"a": 3}, "3 submissions in all"),
        ({"total": 3}, {"a": 4}, "3 submissions in all"),
        ({"total": 3}, {"a": 2, "b": 1}, "3 submissions in all"),  # under its former name
        ({"per_day": 2}, {"a": 99, "a_today": 1}, None),
        ({"per_day": 2}, {"a_today": 2}, "2 submissions a day"),
        ({"per_day": 2, "total": 3}, {"a": 3, "a_today": 2}, "3 submissions in all"),
    ],
)
def test_a_team_is_refused_from_the_last_place_on(
    limits: dict[str, int | None], used: dict[str, int], refused: str | None
) -> None:
    places: Any = Places(**used)
    refusal = quota(**limits).refusal(places)
    if refused is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert (refusal.kind, refused in refusal.message) == ("limit", True)
    assert quota(team="host", **limits).refusal(places) is None  # the baseline has no limit


@pytest.mark.parametrize(("late", "refused"), [(0, False), (1, True)])
def test_the_deadline_itself_is_in_time(late: int, refused: bool) -> None:
    places: Any = Places()
    refusal = quota(START + timedelta(hours=1, microseconds=late)).refusal(places)
    assert (refusal is not None) == refused
    if refusal is not None:
        assert (refusal.kind, refusal.message) == (
            "deadline",
            "The competition ended at 2026-03-01 13:00 UTC.",
        )
    assert quota(START + timedelta(hours=1, microseconds=late), "host").refusal(places) == refusal


@pytest.mark.parametrize(
    ("second", "is_late", "refused"),
    [(0, False, False), (1, True, False), (60, True, False), (61, False, True)],
)
def test_a_file_is_late_from_the_deadline_to_the_last_moment(
    second: int, is_late: bool, refused: bool
) -> None:
    dates = {"deadline": START, "late_until": START + timedelta(seconds=60)}
    settings = Settings.model_validate({"metric": {"name": "rmse"}, "competition": dates})
    quota_of_file = Quota(settings, "a", START + timedelta(seconds=second), ("a",))
    places: Any = Places()
    assert (quota_of_file.is_late, quota_of_file.refusal(places) is not None) == (is_late, refused)


def test_a_place_is_used_of_each_period_whatever_the_limits() -> None:
    places: Any = Places()
    east = timezone(timedelta(hours=14))
    quota(START.astimezone(east)).use(places)  # the next day there, and not in UTC
    quota(team="host", total=1).use(places)
    periods = ["total", "2026-W09", TODAY]
    assert places.taken == [(team, period) for team in ("a", "host") for period in periods]


def test_a_refusal_names_a_total_of_one_and_of_more_submissions() -> None:
    transaction: Any = SimpleNamespace(quota_used=lambda name, day: 1)
    for total, sentence in (
        (1, "1 submission in all, and this team has used it."),
        (2, "2 submissions in all, and this team has used them."),
    ):
        quota = Quota(Settings.of(metric="mae", total=total), "a", now=START, members=("a", "b"))
        if total == 1:
            quota = replace(quota, members=("a",))
        fault = quota.refusal(transaction)
        assert fault is not None
        assert fault.message == f"A team may send {sentence}"
    assert replace(quota, members=("a",)).refusal(transaction) is None
