"""Which team holds which rank of a board that has an instance of the mechanism for each rank.

The holders follow from the releases of an epoch, one after another (:class:`Holders`). The derived
table ``holders`` has the result, so that a submission reads the ranks of the board and not its
history.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from arena.store.statements import execute
from arena.utils.lazy import pa
from arena.utils.strict_json import parse_json

if TYPE_CHECKING:
    import duckdb

RANK = "rank "
"""How the names of the instances begin: ``rank 1`` and so on."""
_RANK_NAME = re.compile(r"rank \d+")
_COLUMNS = "team, state, mark, submission"
_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class Holder:
    """A team on a rank."""

    team: str
    state: Any
    """Of the instance after the team's last release: a mapping; in the table, its JSON text."""
    mark: float
    """The score that the rank was last improved to."""
    submission: int
    """The submission that improved it."""


class Holders:
    """The holders of the ranks, best first.

    A release gives a team its rank, and moves the teams that it passed down by one.
    """

    def __init__(self, ranks: Iterable[Holder] = ()) -> None:
        self.ranks = list(ranks)
        self._teams = [holder.team for holder in self.ranks]
        self._known = set(self._teams)

    def __contains__(self, team: object) -> bool:
        """Return whether a team holds a rank."""
        return team in self._known

    def add(
        self, submission: int, team: str, instance: str, improved: bool, mark: float, state: Any
    ) -> None:
        """Apply a release; one of an instance that is not a rank's has no effect."""
        if not _RANK_NAME.fullmatch(instance):
            return
        position = int(instance.removeprefix(RANK)) - 1
        holder = Holder(team, state, mark, submission)
        if team in self._known:
            # Most submissions do not move their team: a search of the list is the exception.
            stays = self._teams[position : position + 1] == [team]
            former = position if stays else self._teams.index(team)
            before = self.ranks.pop(former)
            del self._teams[former]
            if not improved:
                holder = replace(before, state=state)
        self._known.add(team)
        self.ranks.insert(position, holder)
        self._teams.insert(position, team)


def is_rank(instance: str) -> bool:
    """Return whether an instance may be that of a rank of the board."""
    return instance.startswith(RANK)


def move_holders(cursor: duckdb.DuckDBPyConnection, first: int, last: int) -> None:
    """Apply releases of consecutive numbers to the table, inside a transaction."""
    rows = _releases(cursor, first, last).fetchall()
    for epoch, releases in itertools.groupby(rows, lambda row: row[0]):
        before = _stored(cursor, epoch)
        holders = Holders(before)
        for _, *release in releases:
            holders.add(*release)
        pairs = itertools.zip_longest(before, holders.ranks)
        changed = [position for position, (old, new) in enumerate(pairs) if old != new]
        if changed:
            start, stop = changed[0], changed[-1] + 1
            query = "DELETE FROM holders WHERE epoch = ? AND position >= ? AND position < ?"
            execute(cursor, query, [epoch, start, stop])
            _insert(cursor, epoch, start, holders.ranks[start:stop])


def rebuild_holders(cursor: duckdb.DuckDBPyConnection) -> None:
    """Replace the content of the table, inside a transaction."""
    expected = list(_followed(cursor))
    execute(cursor, "DELETE FROM holders")
    for epoch, ranks in expected:
        _insert(cursor, epoch, 0, ranks)


def holders_differ(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the table differs from what follows from the releases."""
    query = f"SELECT epoch, position, {_COLUMNS} FROM holders ORDER BY ALL"  # noqa: S608
    stored = execute(cursor, query).fetchall()
    expected = [
        (epoch, position, rank.team, rank.state, rank.mark, rank.submission)
        for epoch, ranks in _followed(cursor)
        for position, rank in enumerate(ranks)
    ]
    return stored != expected


def select_holders(
    cursor: duckdb.DuckDBPyConnection, epoch: int, outside: Collection[str] = ()
) -> Iterator[Holder]:
    """Yield the holders of the ranks in an epoch, best first, without those of some teams."""
    ranks = _stored(cursor, epoch)
    if any(holder.team in outside for holder in ranks):
        # They held ranks before the settings named them baselines.
        ranks = dict(_followed(cursor, outside)).get(epoch, [])
    for holder in ranks:
        yield replace(holder, state=parse_json(holder.state))


def _stored(cursor: duckdb.DuckDBPyConnection, epoch: int) -> list[Holder]:
    query = f"SELECT {_COLUMNS} FROM holders WHERE epoch = ? ORDER BY position"  # noqa: S608
    return [Holder(*row) for row in execute(cursor, query, [epoch]).fetchall()]


def _insert(cursor: duckdb.DuckDBPyConnection, epoch: int, start: int, ranks: list[Holder]) -> None:
    columns = {name: [getattr(rank, name) for rank in ranks] for name in _COLUMNS.split(", ")}
    positions = range(start, start + len(ranks))
    table = pa.table({"epoch": [epoch] * len(ranks), "position": positions, **columns})
    cursor.register("incoming_holders", table)
    execute(cursor, "INSERT INTO holders SELECT * FROM incoming_holders")
    cursor.unregister("incoming_holders")


def _followed(
    cursor: duckdb.DuckDBPyConnection, outside: Collection[str] = ()
) -> Iterator[tuple[int, list[Holder]]]:
    """Yield each epoch with ranks, and their holders after all releases but those of some teams."""
    cursor_of_releases = _releases(cursor, 0, 2**31 - 1)
    rows = itertools.chain.from_iterable(iter(lambda: cursor_of_releases.fetchmany(_ROWS), []))
    for epoch, releases in itertools.groupby(rows, lambda row: row[0]):
        holders = Holders()
        for _, *release in releases:
            if release[1] not in outside:
                holders.add(*release)
        if holders.ranks:
            yield epoch, holders.ranks


def _releases(
    cursor: duckdb.DuckDBPyConnection, first: int, last: int
) -> duckdb.DuckDBPyConnection:
    """Select the epoch of each release of a rank, and what :meth:`Holders.add` takes."""
    query = (
        "SELECT epoch, submission, team, instance, improved, coalesce(ranked_by, score), state "
        "FROM releases JOIN submissions USING (submission) "
        "WHERE release BETWEEN ? AND ? AND starts_with(instance, ?) ORDER BY epoch, release"
    )
    return execute(cursor, query, [first, last, RANK])
