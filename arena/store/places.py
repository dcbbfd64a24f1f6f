"""The places of a limit, taken one by one inside a transaction."""

from __future__ import annotations

from datetime import date

import duckdb

__all__: list[str] = []


def change_place(
    cursor: duckdb.DuckDBPyConnection,
    team: str,
    day: date | None,
    change: int,
    allowed: int | None,
) -> bool:
    """Use one place more or less; False if ``allowed`` are used (None: no limit)."""
    row = [team, _name(day)]
    cursor.execute("INSERT INTO places VALUES (?, ?, 0) ON CONFLICT DO NOTHING", row)
    taken = cursor.execute(
        "UPDATE places SET used = greatest(used + ?, 0) "
        "WHERE team = ? AND day = ? AND (? IS NULL OR used < ?) RETURNING used",
        [change, *row, allowed, allowed],
    ).fetchall()
    return bool(taken)


def select_place(cursor: duckdb.DuckDBPyConnection, team: str, day: date | None) -> int:
    """Return how many places are used."""
    query = "SELECT used FROM places WHERE team = ? AND day = ?"
    found = cursor.execute(query, [team, _name(day)]).fetchall()
    return found[0][0] if found else 0


def _name(day: date | None) -> str:
    return "total" if day is None else day.isoformat()
