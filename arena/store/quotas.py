"""Submission quotas: counts the submissions of a team, per day and in total."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import duckdb

from arena.store.statements import execute


def change_places(
    cursor: duckdb.DuckDBPyConnection,
    team: str,
    days: Sequence[date | str | None],
    change: int,
    allowed: int | None,
) -> bool:
    """Change each count by one; return False if ``allowed`` are used of one (None: no limit)."""
    places = {day: (used, place) for day, used, place in _select(cursor, team, "rowid")}
    names = [day_name(day) for day in days]
    counted = [places[name] for name in names if name in places]
    if allowed is not None and max((used for used, _ in counted), default=0) >= allowed:
        return False
    # Not INSERT OR REPLACE, which takes three times as long.
    if counted:
        marks = ", ".join("?" * len(counted))
        execute(
            cursor,
            f"UPDATE places SET used = greatest(used + ?, 0) WHERE rowid IN ({marks})",  # noqa: S608
            [change, *(place for _, place in counted)],
        )
    new = [name for name in names if name not in places]
    if new:
        rows = ", ".join(["(?, ?, ?)"] * len(new))
        execute(
            cursor,
            f"INSERT INTO places VALUES {rows}",  # noqa: S608
            [cell for name in new for cell in (team, name, max(change, 0))],
        )
    return True


def select_place(cursor: duckdb.DuckDBPyConnection, team: str, day: date | str | None) -> int:
    """Return the number of submissions counted."""
    return select_places(cursor, team).get(day_name(day), 0)


def select_places(cursor: duckdb.DuckDBPyConnection, team: str) -> dict[str, int]:
    """Return the number of submissions of a team by the names of days."""
    return dict(_select(cursor, team))


def _select(cursor: duckdb.DuckDBPyConnection, team: str, *others: str) -> list[tuple[Any, ...]]:
    """Return the name of the day, the count and other columns of the rows of a team."""
    # Not a condition on the day as well: DuckDB would read the whole table and not the index.
    columns = ", ".join(["day", "used", *others])
    query = f"SELECT {columns} FROM places WHERE team = ?"  # noqa: S608
    return execute(cursor, query, [team]).fetchall()


def day_name(day: date | str | None) -> str:
    """Return the name of a day, of a week such as 2026-W49, or of the total, in the table."""
    if day is None:
        return "total"
    return day if isinstance(day, str) else day.isoformat()


def count_name(day: date | str | None, phase: str) -> str:
    """Return the name of a count in a phase; without phases that of the day.

    >>> count_name(None, ""), count_name(date(2026, 12, 1), "final")
    ('total', 'final/2026-12-01')
    """
    return f"{phase}/{day_name(day)}" if phase else day_name(day)


def week_name(day: date) -> str:
    """Return the name of the ISO week of a day.

    >>> week_name(date(2026, 12, 1)), week_name(date(2027, 1, 1))
    ('2026-W49', '2026-W53')
    """
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"
