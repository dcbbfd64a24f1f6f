"""Tables derived from the history, so that no command has to read all of it.

They are updated in the transaction that stores a submission or a release. No event records them:
:mod:`arena.store.audit` recomputes and compares them, and :func:`rebuild` replaces them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import duckdb

from arena.store.holders import holders_differ, is_rank, move_holders, rebuild_holders
from arena.store.releases import ReleaseRecord
from arena.store.statements import execute
from arena.store.timestamps import as_stored
from arena.types import SubmissionRecord

_NEW_ROWS = {
    "team_counts": """
        SELECT phase, team, count(*)::INTEGER, count(*) FILTER (status = 'accepted')::INTEGER
        FROM submissions WHERE submission BETWEEN $first AND $last GROUP BY phase, team
    """,
    "standings": """
        SELECT epoch, phase, team,
            max({'rank_value': coalesce(ranked_by, score), 'minus_submission': -submission,
                 'score': score}),
            min({'rank_value': coalesce(ranked_by, score), 'submission': submission,
                 'score': score})
        FROM releases JOIN submissions USING (submission)
        WHERE release BETWEEN $first AND $last AND NOT late GROUP BY epoch, phase, team
    """,
    "instances": """
        SELECT epoch, instance, max(release)
        FROM releases WHERE release BETWEEN $first AND $last GROUP BY epoch, instance
    """,
}
"""A table -> the query of its rows from submissions or releases of consecutive numbers."""
_MERGED = {
    "team_counts": "sent = sent + excluded.sent, accepted = accepted + excluded.accepted",
    "standings": "highest = greatest(highest, excluded.highest), "
    "lowest = least(lowest, excluded.lowest)",
    "instances": "release = greatest(release, excluded.release)",
}
"""A table -> how a new row is merged into the existing one."""
_HIGHEST = "{'rank_value': $rank_value, 'minus_submission': -$submission, 'score': $score}"
_LOWEST = "{'rank_value': $rank_value, 'submission': $submission, 'score': $score}"
_ONE_ROW = {
    "team_counts": (
        "sent = sent + 1, accepted = accepted + $accepted WHERE phase = $phase AND team = $team",
        "$phase, $team, 1, $accepted",
    ),
    "standings": (
        f"highest = greatest(highest, {_HIGHEST}), lowest = least(lowest, {_LOWEST}) "
        "WHERE epoch = $epoch AND phase = $phase AND team = $team",
        f"$epoch, $phase, $team, {_HIGHEST}, {_LOWEST}",
    ),
    "instances": (
        "release = greatest(release, $release) WHERE epoch = $epoch AND instance = $instance",
        "$epoch, $instance, $release",
    ),
}
"""A table -> how a single submission or release changes its row, and the row if it is missing."""
_OF_RELEASES = ("standings", "instances")
_ALL = {"first": 1, "last": 2**31 - 1}


@dataclass(frozen=True, slots=True)
class Standing:
    """The best release of a team in an epoch and a phase."""

    team: str
    submission: int
    score: float
    """The released score."""
    rank_value: float
    """The value that the public board ranks by."""


@dataclass(slots=True)
class Pending:
    """The numbers of new rows that the derived tables do not include yet, as inclusive ranges."""

    submissions: tuple[int, int] | None = None
    releases: tuple[int, int] | None = None
    submission: SubmissionRecord | None = None
    """The last submission that was noted."""
    release: ReleaseRecord | None = None
    """The last release that was noted with its record."""

    def add_submission(self, record: SubmissionRecord) -> None:
        """Note a new submission."""
        self.submissions = _extended(self.submissions, record.submission)
        self.submission = record

    def add_release(self, number: int, record: ReleaseRecord | None = None) -> None:
        """Note a new release."""
        self.releases = _extended(self.releases, number)
        self.release = record

    def settle(
        self, cursor: duckdb.DuckDBPyConnection, new: Mapping[int, SubmissionRecord]
    ) -> None:
        """Update the derived tables, inside the transaction that stored the ``new`` submissions.

        A single row is entered as it was stored, without being read again.
        """
        if self.submissions is not None:
            if self.submission is not None and self.submissions[0] == self.submissions[1]:
                _count_submission(cursor, self.submission)
            else:
                _merge(cursor, "team_counts", self.submissions)
        if self.releases is not None:
            first, last = self.releases
            submission = None if self.release is None else new.get(self.release.submission)
            if first == last and self.release is not None and submission is not None:
                _enter_release(cursor, first, record=self.release, submission=submission)
                if is_rank(self.release.instance):
                    move_holders(cursor, first, last)
            else:
                for table in _OF_RELEASES:
                    _merge(cursor, table, self.releases)
                move_holders(cursor, first, last)
        self.submissions = self.releases = self.submission = self.release = None


def _extended(numbers: tuple[int, int] | None, number: int) -> tuple[int, int]:
    return (number, number) if numbers is None else (min(numbers[0], number), number)


def _merge(cursor: duckdb.DuckDBPyConnection, table: str, numbers: tuple[int, int]) -> None:
    execute(
        cursor,
        f"INSERT INTO {table} {_NEW_ROWS[table]} ON CONFLICT DO UPDATE SET {_MERGED[table]}",
        {"first": numbers[0], "last": numbers[1]},
    )


def _count_submission(cursor: duckdb.DuckDBPyConnection, record: SubmissionRecord) -> None:
    accepted = int(record.status == "accepted")
    row = {"phase": record.phase, "team": record.team, "accepted": accepted}
    _merge_one(cursor, "team_counts", row)


def _enter_release(
    cursor: duckdb.DuckDBPyConnection,
    number: int,
    *,
    record: ReleaseRecord,
    submission: SubmissionRecord,
) -> None:
    of_epoch = {"epoch": record.epoch}
    _merge_one(cursor, "instances", {**of_epoch, "instance": record.instance, "release": number})
    if submission.late:
        return
    score, ranked_by = record.release.score, record.release.ranked_by
    row = {
        **of_epoch,
        "phase": submission.phase,
        "team": submission.team,
        "rank_value": score if ranked_by is None else ranked_by,
        "submission": record.submission,
        "score": score,
    }
    _merge_one(cursor, "standings", row)


def _merge_one(cursor: duckdb.DuckDBPyConnection, table: str, values: Mapping[str, Any]) -> None:
    """Merge the values of one new row: DuckDB plans this much faster than :func:`_merge`."""
    changes, row = _ONE_ROW[table]
    ((n_updated,),) = execute(cursor, f"UPDATE {table} SET {changes}", values).fetchall()  # noqa: S608
    if not n_updated:
        execute(cursor, f"INSERT INTO {table} VALUES ({row})", values)  # noqa: S608


def rebuild(cursor: duckdb.DuckDBPyConnection) -> None:
    """Replace the content of the derived tables, inside a transaction."""
    for table, rows in _NEW_ROWS.items():
        execute(cursor, f"DELETE FROM {table}")  # noqa: S608
        execute(cursor, f"INSERT INTO {table} {rows}", _ALL)
    rebuild_holders(cursor)


def changed_tables(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the names of the derived tables that differ from the history.

    Where the public board reads a table, it is also read by the same query as the board's.
    """
    changed = [
        table
        for table, rows in _NEW_ROWS.items()
        if execute(
            cursor,
            f"SELECT * EXCLUDE (n) FROM (SELECT *, 1 AS n FROM {table} UNION ALL "  # noqa: S608
            f"SELECT *, -1 FROM ({rows})) GROUP BY ALL HAVING sum(n) <> 0 LIMIT 1",
            _ALL,
        ).fetchall()
    ]
    if "standings" not in changed and _board_differs(cursor):
        changed.append("standings")
    return [*changed, "holders"] if holders_differ(cursor) else changed


def _board_differs(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the rows of any public board differ from those that the history gives."""
    query = "SELECT DISTINCT epoch, phase FROM releases JOIN submissions USING (submission)"
    return any(
        set(best_releases(cursor, epoch, phase, greater_is_better=direction))
        != set(best_releases(cursor, epoch, phase, greater_is_better=direction, computed=True))
        for epoch, phase in execute(cursor, query).fetchall()
        for direction in (True, False)
    )


def best_releases(
    cursor: duckdb.DuckDBPyConnection,
    epoch: int,
    phase: str | None = None,
    *,
    greater_is_better: bool,
    computed: bool = False,
) -> list[Standing]:
    """Return the best release of each team in a phase, or in each phase.

    ``computed``: from the history, not from the table.
    """
    best, order = (
        ("highest", "-highest.minus_submission")
        if greater_is_better
        else ("lowest", "lowest.submission")
    )
    source = f"({_NEW_ROWS['standings']}) AS rows (epoch, phase, team, highest, lowest)"
    rows = execute(
        cursor,
        f"SELECT team, {order}, {best}.score, {best}.rank_value "  # noqa: S608
        f"FROM {source if computed else 'standings'} "
        "WHERE epoch = $epoch AND phase = coalesce($phase, phase)",
        {"epoch": epoch, "phase": phase, **(_ALL if computed else {})},
    ).fetchall()
    return [Standing(*row) for row in rows]


def select_standings(
    cursor: duckdb.DuckDBPyConnection,
    epoch: int,
    phase: str | None = None,
    *,
    greater_is_better: bool,
    excluded: Collection[int] = (),
    until: datetime | None = None,
) -> list[Standing]:
    """Return the best release of each team in a phase, or in each, without excluded submissions.

    They are in no order. A score of an excluded submission that was repeated for another one is
    excluded too.

    Parameters
    ----------
    until
        Only of submissions that were received until then, which reads all releases; None: of all.
    """
    standings = best_releases(cursor, epoch, phase, greater_is_better=greater_is_better)
    standings_kept = [
        standing for standing in standings if until is None and standing.submission not in excluded
    ]
    counted = {standing.team for standing in standings_kept}
    again = [standing.team for standing in standings if standing.team not in counted]
    if again:
        rows = execute(
            cursor,
            f"""
            SELECT DISTINCT ON (team) team, submission, score, coalesce(ranked_by, score) AS value
            FROM releases JOIN submissions USING (submission)
            WHERE epoch = ? AND phase = coalesce(?, phase) AND list_contains(?::VARCHAR[], team)
                AND NOT list_contains(?::INTEGER[], submission)
                AND NOT list_contains(?::INTEGER[], source)
                AND NOT late AND received <= coalesce(?, 'infinity'::TIMESTAMP)
            ORDER BY team, value {"DESC" if greater_is_better else ""}, submission
            """,  # noqa: S608
            [
                epoch,
                phase,
                again,
                sorted(excluded),
                sorted(excluded),
                None if until is None else as_stored(until),
            ],
        ).fetchall()
        standings_kept += [Standing(*row) for row in rows]
    return standings_kept
