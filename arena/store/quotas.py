"""Submission quotas: counts the submissions of a team, per day and in total."""

from __future__ import annotations

from datetime import date

import duckdb


def change_place(
    cursor: duckdb.DuckDBPyConnection,
    team: str,
    day: date | str | None,
    change: int,
    allowed: int | None,
) -> bool:
    """Change the count by one; return False if ``allowed`` are used (None: no limit)."""
    used = select_place_or_none(cursor, team, day_name(day))
    if allowed is not None and (used or 0) >= allowed:
        return False
    # Of a new row DuckDB need not look for the old one, which takes five times as long.
    replaced = "" if used is None else "ON CONFLICT DO UPDATE SET used = excluded.used"
    cursor.execute(
        f"INSERT INTO places VALUES (?, ?, ?) {replaced}",  # noqa: S608
        [team, day_name(day), max((used or 0) + change, 0)],
    )
    return True


def select_place(cursor: duckdb.DuckDBPyConnection, team: str, day: date | str | None) -> int:
    """Return the number of submissions counted."""
    return select_place_or_none(cursor, team, day_name(day)) or 0


def select_place_or_none(cursor: duckdb.DuckDBPyConnection, team: str, day: str) -> int | None:
    """Return the number of submissions counted by the name of a day; None without a row."""
    # With both conditions at once, DuckDB would read the whole table and not the index of teams.
    query = (
        "WITH of_team AS MATERIALIZED (SELECT day, used FROM places WHERE team = ?) "
        "SELECT used FROM of_team WHERE day = ?"
    )
    found = cursor.execute(query, [team, day]).fetchall()
    return found[0][0] if found else None


def day_name(day: date | str | None) -> str:
    """Return the name of a day, of a week such as 2026-W49, or of the total, in the table."""
    if day is None:
        return "total"
    return day if isinstance(day, str) else day.isoformat()


def week_name(day: date) -> str:
    """Return the name of the ISO week of a day.

    >>> week_name(date(2026, 12, 1)), week_name(date(2027, 1, 1))
    ('2026-W49', '2026-W53')
    """
    year, week, _ = day.isocalendar()
    return f"{year}-W{week:02}"
