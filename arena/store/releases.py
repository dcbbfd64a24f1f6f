"""What the public board showed, what its mechanism goes on from, and the scores behind it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from arena.store.times import as_stored, as_text
from arena.types import Release

__all__ = ["ReleaseRecord", "ScoreRecord", "TeamRelease"]

_COLUMNS = "submission, epoch, instance, score, ranked_by, improved, state, released"


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """What was shown for one submission, and when."""

    submission: int
    epoch: int
    """Counted up when the mechanism is changed."""
    instance: str
    """Of the mechanism: such as the name of a team."""
    release: Release
    released: str
    """UTC, ISO 8601 with microseconds."""


@dataclass(frozen=True, slots=True)
class TeamRelease:
    """A release with its place among all, its team, and the score behind it."""

    number: int
    """Releases are counted from 1 over all epochs."""
    team: str
    public: float | None
    """The public score at full precision, in a revision."""
    record: ReleaseRecord


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """The full-precision scores of a submission; None or NaN where there is none."""

    submission: int
    public: float | None
    private: float | None


def insert_release(
    cursor: duckdb.DuckDBPyConnection,
    submission: int,
    instance: str,
    epoch: int,
    release: Release,
    time: datetime | None,
) -> ReleaseRecord:
    """Append a release, inside a transaction; ValueError if the epoch has one of it."""
    state = json.dumps(dict(release.state))
    ranked_by = None if release.ranked_by is None else float(release.ranked_by)
    row = [submission, epoch, instance, float(release.score), ranked_by]
    row += [bool(release.improved), state, as_stored(time)]
    query = (
        "INSERT INTO releases SELECT coalesce(max(release), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ? "  # noqa: S608
        f"FROM releases RETURNING {_COLUMNS}"
    )
    try:
        stored = cursor.execute(query, row).fetchall()
    except duckdb.ConstraintException as error:
        message = f"submission {submission} was released in epoch {epoch} before"
        raise ValueError(message) from error
    return _record(stored[0])


def select_state(cursor: duckdb.DuckDBPyConnection, instance: str, epoch: int) -> Mapping[str, Any]:
    """Return the state of an instance: that of its last release, or empty."""
    found = cursor.execute(
        "SELECT state FROM releases WHERE epoch = ? AND instance = ? ORDER BY release DESC LIMIT 1",
        [epoch, instance],
    ).fetchall()
    state: dict[str, Any] = json.loads(found[0][0]) if found else {}
    return state


def select_releases(
    cursor: duckdb.DuckDBPyConnection, epoch: int | None
) -> tuple[ReleaseRecord, ...]:
    """Return the releases, or those of an epoch, in their order."""
    query = f"SELECT {_COLUMNS} FROM releases WHERE epoch = ? OR ? IS NULL ORDER BY release"  # noqa: S608
    return tuple(_record(row) for row in cursor.execute(query, [epoch, epoch]).fetchall())


def select_releases_since(
    cursor: duckdb.DuckDBPyConnection, epoch: int, revision: int, after: int
) -> list[TeamRelease]:
    """Return the releases of an epoch after one of them, in their order, with their teams."""
    columns = ", ".join(f"r.{column}" for column in _COLUMNS.split(", "))
    query = (
        f"SELECT r.release, s.team, p.public_score, {columns} FROM releases r "  # noqa: S608
        "JOIN submissions s USING (submission) "
        "LEFT JOIN scores p ON p.submission = r.submission AND p.revision = ? "
        "WHERE r.epoch = ? AND r.release > ? ORDER BY r.release"
    )
    rows = cursor.execute(query, [revision, epoch, after]).fetchall()
    return [TeamRelease(number, team, public, _record(row)) for number, team, public, *row in rows]


def upsert_scores(
    cursor: duckdb.DuckDBPyConnection, revision: int, scores: Sequence[ScoreRecord]
) -> None:
    """Put scores of different submissions, in the place of those that were in the revision."""
    columns = [[getattr(one, name) for one in scores] for name in ScoreRecord.__slots__]
    cursor.execute(
        "INSERT OR REPLACE INTO scores SELECT ?, "
        "unnest(?::INTEGER[]), unnest(?::DOUBLE[]), unnest(?::DOUBLE[])",
        [revision, *columns],
    )


def select_scores(cursor: duckdb.DuckDBPyConnection, revision: int) -> tuple[ScoreRecord, ...]:
    """Return the scores of a revision, in the order of submissions."""
    query = (
        "SELECT submission, public_score, private_score FROM scores "
        "WHERE revision = ? ORDER BY submission"
    )
    return tuple(ScoreRecord(*row) for row in cursor.execute(query, [revision]).fetchall())


def _record(row: Sequence[Any]) -> ReleaseRecord:
    submission, epoch, instance, score, ranked_by, improved, state, released = row
    release = Release(score, improved, json.loads(state), ranked_by)
    return ReleaseRecord(submission, epoch, instance, release, as_text(released))
