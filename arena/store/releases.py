"""The tables of releases, of mechanism states and of full-precision scores."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from arena.store.statements import execute
from arena.store.timestamps import as_stored, as_text
from arena.types import Release
from arena.utils.collection import collection_paused
from arena.utils.strict_json import parse_json

_COLUMNS = "submission, epoch, instance, score, ranked_by, improved, state, released, source"


@dataclass(frozen=True, slots=True)
class ReleaseRecord:
    """The released score of one submission, with its time."""

    submission: int
    epoch: int
    """Increases by 1 when the mechanism is changed."""
    instance: str
    """The instance of the mechanism, such as the name of a team."""
    release: Release
    released: str
    """UTC, ISO 8601 with microseconds."""


@dataclass(frozen=True, slots=True)
class TeamRelease:
    """A release with its number, its team and the score behind it."""

    number: int
    """Counted from 1 over all epochs."""
    team: str
    public: float | None
    """The public score at full precision, in the requested revision."""
    record: ReleaseRecord


@dataclass(frozen=True, slots=True)
class ScoreRecord:
    """The full-precision scores of a submission; None or NaN if there is none."""

    submission: int
    public: float | None
    private: float | None


@dataclass(frozen=True, slots=True)
class ResultRecord:
    """A private board as it was published."""

    version: int
    """Counted from 1."""
    document: Mapping[str, Any]
    published: str
    """UTC, ISO 8601 with microseconds."""


def insert_result(
    cursor: duckdb.DuckDBPyConnection, document: Mapping[str, Any], time: datetime | None
) -> int:
    """Append a published board, inside a transaction, and return its version."""
    query = (
        "INSERT INTO results SELECT coalesce(max(version), 0) + 1, ?, ? FROM results "
        "RETURNING version"
    )
    text = json.dumps(document, allow_nan=False)
    ((version,),) = execute(cursor, query, [text, as_stored(time)]).fetchall()
    return int(version)


def select_results(cursor: duckdb.DuckDBPyConnection) -> tuple[ResultRecord, ...]:
    """Return the published boards in the order of their versions."""
    query = "SELECT version, document, published FROM results ORDER BY version"
    return tuple(
        ResultRecord(version, parse_json(document), as_text(published))
        for version, document, published in execute(cursor, query).fetchall()
    )


def insert_release(
    cursor: duckdb.DuckDBPyConnection,
    submission: int,
    instance: str,
    epoch: int,
    release: Release,
    time: datetime | None,
) -> tuple[int, ReleaseRecord]:
    """Append a release, inside a transaction, and return it with its number.

    Raises
    ------
    ValueError
        If the submission was already released in this epoch.
    """
    state = json.dumps(dict(release.state))
    ranked_by = None if release.ranked_by is None else float(release.ranked_by)
    row = [submission, epoch, instance, float(release.score), ranked_by]
    row += [bool(release.improved), state, as_stored(time), release.source or submission]
    query = (
        "INSERT INTO releases SELECT coalesce(max(release), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ?, ? "  # noqa: S608
        f"FROM releases RETURNING release, {_COLUMNS}"
    )
    try:
        stored = execute(cursor, query, row).fetchall()
    except duckdb.ConstraintException as error:
        message = f"submission {submission} was released in epoch {epoch} before"
        raise ValueError(message) from error
    return stored[0][0], _record(stored[0][1:])


def insert_releases(
    cursor: duckdb.DuckDBPyConnection,
    epoch: int,
    releases: Sequence[tuple[int, str, Release]],
    time: datetime | None,
) -> list[int]:
    """Append ``(submission, instance, release)`` in order, inside a transaction.

    Returns their numbers.
    """
    if not releases:
        return []
    columns = (
        [submission for submission, *_ in releases],
        [instance for _, instance, _ in releases],
        [float(release.score) for *_, release in releases],
        [
            None if release.ranked_by is None else float(release.ranked_by)
            for *_, release in releases
        ],
        [bool(release.improved) for *_, release in releases],
        [json.dumps(dict(release.state)) for *_, release in releases],
        [release.source or submission for submission, _, release in releases],
    )
    rows = execute(
        cursor,
        "INSERT INTO releases "
        "SELECT (SELECT coalesce(max(release), 0) FROM releases) + unnest(range(1, ? + 1)), "
        "unnest(?::INTEGER[]), ?, unnest(?::VARCHAR[]), unnest(?::DOUBLE[]), "
        "unnest(?::DOUBLE[]), unnest(?::BOOLEAN[]), unnest(?::VARCHAR[]), ?, unnest(?::INTEGER[]) "
        "RETURNING release",
        [len(releases), columns[0], epoch, *columns[1:-1], as_stored(time), columns[-1]],
    ).fetchall()
    return sorted(number for (number,) in rows)


def copy_releases(
    cursor: duckdb.DuckDBPyConnection, epoch: int, following: int, *, without: Collection[int]
) -> list[int]:
    """Append the releases of an epoch to the following one, but those of some submissions.

    Returns their numbers.
    """
    rows = execute(
        cursor,
        "INSERT INTO releases "
        "SELECT (SELECT max(release) FROM releases) + row_number() OVER (ORDER BY release), "
        "submission, ?, instance, score, ranked_by, improved, state, released, source "
        "FROM releases WHERE epoch = ? AND NOT list_contains(?::INTEGER[], submission) "
        "RETURNING release",
        [following, epoch, sorted(without)],
    ).fetchall()
    return sorted(number for (number,) in rows)


def select_state(cursor: duckdb.DuckDBPyConnection, instance: str, epoch: int) -> Mapping[str, Any]:
    """Return the state of an instance after its last release, or an empty one."""
    rows = execute(
        cursor, "SELECT release FROM instances WHERE epoch = ? AND instance = ?", [epoch, instance]
    ).fetchall()
    query = "SELECT state FROM releases WHERE release = ?"
    rows = execute(cursor, query, list(rows[0])).fetchall() if rows else []
    state: dict[str, Any] = parse_json(rows[0][0]) if rows else {}
    return state


@collection_paused()
def select_releases(
    cursor: duckdb.DuckDBPyConnection, epoch: int | None, teams: Collection[str] | None = None
) -> tuple[ReleaseRecord, ...]:
    """Return the releases, or those of an epoch or of some teams, in order."""
    of_teams = "submission IN (SELECT submission FROM submissions WHERE team IN (SELECT unnest(?)))"
    conditions: list[tuple[str, Any]] = []
    if epoch is not None:
        conditions.append(("epoch = ?", epoch))
    if teams is not None:
        conditions.append((of_teams, sorted(teams)))
    where = " AND ".join(condition for condition, _ in conditions) or "true"
    query = f"SELECT {_COLUMNS} FROM releases WHERE {where} ORDER BY release"  # noqa: S608
    rows = execute(cursor, query, [value for _, value in conditions]).fetchall()
    return tuple(_record(row) for row in rows)


@collection_paused()
def select_shown(
    cursor: duckdb.DuckDBPyConnection, epoch: int, revision: int, phase: str | None = None
) -> list[tuple[int, float | None, float | None, float | None, int | None]]:
    """Return each accepted submission with its public, released and ranking score, in order.

    Last comes the submission whose score was released for it. ``phase``: only of those that count
    for it; None: of all.
    """
    query = (
        "SELECT s.submission, p.public_score, r.score, coalesce(r.ranked_by, r.score), r.source "
        "FROM submissions s "
        "LEFT JOIN releases r ON r.submission = s.submission AND r.epoch = ? "
        "LEFT JOIN scores p ON p.submission = s.submission AND p.revision = ? "
        "WHERE s.status = 'accepted' AND s.phase = coalesce(?, s.phase) ORDER BY s.submission"
    )
    return execute(cursor, query, [epoch, revision, phase]).fetchall()


def select_first_release(
    cursor: duckdb.DuckDBPyConnection, submission: int
) -> ReleaseRecord | None:
    """Return the first release of a submission, if there is one."""
    query = f"SELECT {_COLUMNS} FROM releases WHERE submission = ? ORDER BY epoch LIMIT 1"  # noqa: S608
    row = execute(cursor, query, [submission]).fetchone()
    return None if row is None else _record(row)


def select_releases_since(
    cursor: duckdb.DuckDBPyConnection, epoch: int, revision: int, after: int, team: str
) -> list[TeamRelease]:
    """Return the releases of a team in an epoch after a given one, with their scores."""
    # Mostly there is none, which DuckDB finds in half of the time of the whole query.
    query = (
        "SELECT 1 FROM releases WHERE epoch = ? AND release > ? "
        "AND submission IN (SELECT submission FROM submissions WHERE team = ?) LIMIT 1"
    )
    if not execute(cursor, query, [epoch, after, team]).fetchall():
        return []
    columns = ", ".join(f"r.{column}" for column in _COLUMNS.split(", "))
    query = (
        f"SELECT r.release, s.team, p.public_score, {columns} FROM releases r "  # noqa: S608
        "JOIN submissions s USING (submission) "
        "LEFT JOIN scores p ON p.submission = r.submission AND p.revision = ? "
        "WHERE r.epoch = ? AND r.release > ? AND s.team = ? ORDER BY r.release"
    )
    rows = execute(cursor, query, [revision, epoch, after, team]).fetchall()
    return [TeamRelease(number, team, public, _record(row)) for number, team, public, *row in rows]


def upsert_scores(
    cursor: duckdb.DuckDBPyConnection,
    revision: int,
    scores: Sequence[ScoreRecord],
    *,
    are_new: bool = False,
) -> None:
    """Store scores of different submissions, replacing their scores in the revision.

    ``are_new``: it is known that they have none.
    """
    columns = [[getattr(score, name) for score in scores] for name in ScoreRecord.__slots__]
    query = "SELECT 1 FROM scores WHERE revision = ? AND submission IN (SELECT unnest(?)) LIMIT 1"
    stored = not are_new and execute(cursor, query, [revision, columns[0]]).fetchall()
    # Of new rows DuckDB need not look for the old ones, which takes longer.
    execute(
        cursor,
        f"INSERT {'OR REPLACE' if stored else ''} INTO scores SELECT ?, "
        "unnest(?::INTEGER[]), unnest(?::DOUBLE[]), unnest(?::DOUBLE[])",
        [revision, *columns],
    )


@collection_paused()
def select_scores(
    cursor: duckdb.DuckDBPyConnection, revision: int, team: str | None = None
) -> tuple[ScoreRecord, ...]:
    """Return the scores of a revision, or those of a team, in the order of submissions."""
    of_team = (
        "" if team is None else "SEMI JOIN (FROM submissions WHERE team = ?) USING (submission)"
    )
    query = (
        f"SELECT submission, public_score, private_score FROM scores {of_team} "  # noqa: S608
        "WHERE revision = ? ORDER BY submission"
    )
    parameters = [*([] if team is None else [team]), revision]
    return tuple(ScoreRecord(*row) for row in execute(cursor, query, parameters).fetchall())


def _record(row: Sequence[Any]) -> ReleaseRecord:
    submission, epoch, instance, score, ranked_by, improved, state, released, source = row
    repeated = None if source == submission else source
    release = Release(
        score, improved, state=parse_json(state), ranked_by=ranked_by, source=repeated
    )
    return ReleaseRecord(
        submission, epoch, instance=instance, release=release, released=as_text(released)
    )
