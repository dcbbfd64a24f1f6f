"""A database of an older arena: refused with the way out, upgraded, and then as good as new."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.store.database import SCHEMA_VERSION
from competition_folder import as_older_version, document, write_file

pytestmark = pytest.mark.slow


def test_an_older_database_is_upgraded_and_goes_on(here: Path, arena_there: Any) -> None:
    write_file(here / "1.csv", 1)
    first = document(arena_there("submit", here / "1.csv", "--team", "one", "--json"), "submit")
    as_older_version(here / "c" / "arena.duckdb")

    refused = arena_there("leaderboard")
    assert refused.returncode == 1
    assert "written by an older arena (version 2" in refused.stderr
    assert "run `arena upgrade`" in refused.stderr

    upgraded = arena_there("upgrade")
    assert upgraded.returncode == 0, upgraded.stderr
    assert f"upgraded from version 2 to {SCHEMA_VERSION}" in upgraded.stdout
    assert "nothing was changed" in arena_there("upgrade").stdout

    again = document(arena_there("submit", here / "1.csv", "--team", "one", "--json"), "submit")
    assert again == {**first, "receipt": again["receipt"]}  # the older hashes cover no digests
    write_file(here / "2.csv", 2)
    assert arena_there("submit", here / "2.csv", "--team", "two").returncode == 0
    assert arena_there("finalize").returncode == 0
    events = document(arena_there("audit", "--json"), "audit")["events"]
    assert [event["kind"] for event in events if event["kind"] == "upgrade"] == ["upgrade"]
