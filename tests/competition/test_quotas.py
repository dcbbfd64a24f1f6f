"""A limit counts what was sent, whenever it was set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from arena.competition.competition import Competition
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

    made = Competition.create(
        tmp_path / "c",
        tmp_path / "solution.csv",
        settings(unlimited),
        manager=manager_of_few(),
        clock=lambda: now,
    )
    with made as competition:
        sent = [competition.submit(tmp_path / f"{n}.csv", "one").status for n in range(3)]
        assert sent == ["accepted"] * 3
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
