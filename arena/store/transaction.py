"""The operations of a store in one transaction, which stores everything or nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any

import duckdb

from arena.errors import StoreFormatError
from arena.evaluation.predictions import cell_bytes
from arena.store.database import PLACE, Database
from arena.store.derived import Pending, rebuild
from arena.store.events import Event, insert_event
from arena.store.facts import RECORD_KEY, Facts, all_facts, meta_is_recorded, record_key
from arena.store.holders import Holder, select_holders
from arena.store.incoming import Incoming
from arena.store.journal import JournalEntry, Scoring
from arena.store.quotas import change_places, day_name, select_place
from arena.store.releases import (
    ReleaseRecord,
    ScoreRecord,
    TeamRelease,
    copy_releases,
    insert_release,
    insert_releases,
    insert_result,
    select_releases_since,
    select_state,
    upsert_scores,
)
from arena.store.row_counts import ROW_COUNTS, RowCounts
from arena.store.solutions import no_solution, put_solution
from arena.store.statements import execute
from arena.store.submissions import (
    SubmissionName,
    find_submissions,
    insert_lost,
    insert_records,
)
from arena.store.timestamps import as_stored, as_text
from arena.types import PredictionKind, Release, Solution, SubmissionRecord
from arena.utils.strict_json import parse_json

_MOST_UNWRITTEN = 64 * 2**20
"""Bytes of objects that are held in memory until the end of a transaction."""


class Transaction:
    """A transaction from :meth:`arena.store.Store.transaction`, valid until its block ends.

    Times are given by the caller; None is now. Reads through this object see what the transaction
    wrote; the methods of the store see it only after the commit.
    """

    def __init__(self, database: Database, cursor: duckdb.DuckDBPyConnection) -> None:
        self._database = database
        self._cursor = cursor
        self._new: dict[int, SubmissionRecord] = {}
        self._absent: set[SubmissionName] = set()
        """The names that were looked for and not found: no other transaction stores one."""
        self._unscored: set[int] = set()
        """The new submissions that have no scores yet."""
        self.events: list[Event] = []
        """The events that it appended."""
        self._facts = Facts()
        self._has_bound = False
        self._pending = Pending()
        self._keeper = database.keeper
        self._unwritten: dict[str, bytes] = {}
        """Objects that must be written before the commit."""
        self.scoring: Scoring | None = None
        """The submission that was announced last."""

    # -- limits --------------------------------------------------------------------------------

    def take_place(self, team: str, day: date | str | None, allowed: int | None) -> bool:
        """Count a submission of a team on a day or in a week (None: in total).

        Without a limit (``allowed`` is None) it is counted too. False if the limit is reached.
        """
        return self._change_places(team, [day], 1, allowed)

    def take_places(self, team: str, days: Sequence[date | str | None]) -> None:
        """Count a submission of a team on or in each of some days, weeks or the total, at once."""
        self._change_places(team, days, 1, None)

    def return_places(self, team: str, days: Sequence[date | str | None]) -> None:
        """Undo :meth:`take_places`."""
        self._change_places(team, days, -1, None)

    def _change_places(
        self, team: str, days: Sequence[date | str | None], change: int, allowed: int | None
    ) -> bool:
        self._facts.places |= {(team, day_name(day)) for day in days}
        return change_places(self._cursor, team, days=days, change=change, allowed=allowed)

    def quota_used(self, team: str, day: date | str | None) -> int:
        """Return how many submissions of a team count on a day, in a week, or in total."""
        return select_place(self._cursor, team, day)

    # -- submissions ---------------------------------------------------------------------------

    def find_submission(self, team: str, key: str, phase: str = "") -> SubmissionRecord | None:
        """Return the submission of a team in a phase that has this key, if there is one.

        A refused submission is not found: it may be submitted again.
        """
        return self.find_first_submission([(team, phase, key)])

    def find_first_submission(self, names: Sequence[SubmissionName]) -> SubmissionRecord | None:
        """Return the submission of the first of these names that is stored, if one is."""
        records = find_submissions(self._cursor, names)
        self._absent |= {name for name in names if name not in records}
        return next((records[name] for name in names if name in records), None)

    def announce_scoring(self, incoming: Incoming) -> None:
        """Write to the journal, at once, that a submission is about to be scored.

        If the process is killed before the transaction ends, :meth:`arena.store.Store.interrupted`
        returns it when the database is opened again.

        Raises
        ------
        StoreError
            If the journal cannot be written.
        """
        received = as_text(as_stored(incoming.received))
        self.scoring = Scoring(
            incoming.team, incoming.file, incoming.sha256, received, phase=incoming.phase
        )
        if self._database.journal is not None:
            self._database.journal.announce(self.scoring)

    def add_submission(self, incoming: Incoming) -> SubmissionRecord:
        """Store one submission; see :meth:`add_submissions`."""
        return self.add_submissions([incoming])[0]

    def add_submissions(self, incoming: Sequence[Incoming]) -> list[SubmissionRecord]:
        """Store submissions and return their records, in order.

        For submissions that are refused, have faults or have no values, only the record is stored.
        A submission with the team, phase and key of a stored one is not stored again: the first
        record is returned. From four submissions of 100,000 rows on, DuckDB bypasses its log, which
        takes half the time; with 16 at a time a commit takes less than 0.2 s.

        Raises
        ------
        ValueError
            If the shape of values differs from the solution, a value is not finite, or a value is
            a number if texts are predicted.
        StoreError
            If there is no solution, or the disk is full.
        """
        shape, kind = self._shape_and_kind()
        for submission in incoming:
            submission.check(shape, kind)
        stored = insert_records(self._cursor, incoming, self._absent)
        self._absent.clear()
        self._new |= {record.submission: record for record, is_new in stored if is_new}
        new = [record.submission for record, is_new in stored if is_new]
        self._facts.submissions |= set(new)
        self._unscored |= set(new)
        for number in new:
            self._pending.add_submission(self._new[number])
        fresh = {
            record.submission: submission.values
            for (record, is_new), submission in zip(stored, incoming, strict=True)
            if is_new and record.status == "accepted" and submission.values is not None
        }
        if fresh:
            self._database.require_space(sum(map(self._keeper.bytes_of, fresh.values())))
            self._unwritten |= self._keeper.insert(self._cursor, fresh)
            self._facts.predictions |= fresh
            if sum(map(len, self._unwritten.values())) > _MOST_UNWRITTEN:
                self.write_objects()
        return [record for record, _ in stored]

    def add_lost(self, entry: JournalEntry) -> None:
        """Enter a lost submission under its number again; its team must submit it again."""
        insert_lost(self._cursor, entry)
        self._facts.submissions.add(entry.submission)

    # -- releases and scores -------------------------------------------------------------------

    def mechanism_state(self, instance: str, epoch: int = 1) -> Mapping[str, Any]:
        """Return the state of an instance after its last release; empty before the first."""
        self.settle()
        return select_state(self._cursor, instance, epoch)

    def rank_holders(self, epoch: int, outside: Collection[str] = ()) -> Iterator[Holder]:
        """Yield the holders of the ranks of the board, best first, without the teams outside."""
        self.settle()
        return select_holders(self._cursor, epoch, outside)

    def releases_since(self, epoch: int, revision: int, after: int, team: str) -> list[TeamRelease]:
        """Return a team's releases of an epoch after a number, with scores of a revision."""
        return select_releases_since(self._cursor, epoch, revision=revision, after=after, team=team)

    def add_release(
        self,
        submission: int,
        instance: str,
        epoch: int,
        release: Release,
        time: datetime | None = None,
    ) -> ReleaseRecord:
        """Append the release of a submission and the new state; once per submission and epoch.

        Raises
        ------
        ValueError
            If the submission was already released in this epoch.
        """
        number, record = insert_release(
            self._cursor, submission, instance=instance, epoch=epoch, release=release, time=time
        )
        self._facts.releases.add(number)
        self._pending.add_release(number, record)
        return record

    def add_releases(
        self,
        epoch: int,
        releases: Sequence[tuple[int, str, Release]],
        time: datetime | None = None,
    ) -> None:
        """Append ``(submission, instance, release)`` of an epoch, in order."""
        self._note_releases(insert_releases(self._cursor, epoch, releases, time))

    def copy_releases(self, epoch: int, following: int, *, without: Collection[int]) -> None:
        """Append the releases of an epoch to the following one, but those of some submissions."""
        self._note_releases(copy_releases(self._cursor, epoch, following, without=without))

    def _note_releases(self, numbers: Collection[int]) -> None:
        self._facts.releases.update(numbers)
        for number in numbers:
            self._pending.add_release(number)

    def put_scores(
        self, revision: int, submission: int, public: float | None, private: float | None
    ) -> None:
        """Store the scores of a submission in a revision, replacing earlier ones."""
        self.put_all_scores(revision, [ScoreRecord(submission, public, private)])

    def put_all_scores(self, revision: int, scores: Sequence[ScoreRecord]) -> None:
        """Store the scores of many submissions at once, as for a rescore."""
        numbers = {score.submission for score in scores}
        upsert_scores(self._cursor, revision, scores, are_new=numbers <= self._unscored)
        self._unscored -= numbers
        self._facts.scores.setdefault(revision, set()).update(numbers)

    def add_result(self, document: Mapping[str, Any], time: datetime | None = None) -> int:
        """Append a private board that is published, and return its version."""
        version = insert_result(self._cursor, document, time)
        self._facts.results.add(version)
        return version

    # -- the record ----------------------------------------------------------------------------

    def append_event(
        self,
        kind: str,
        actor: str,
        payload: Mapping[str, Any],
        time: datetime | None = None,
    ) -> Event:
        """Append an event to the record; ``payload`` is JSON without NaN or infinities.

        Digests of everything written since the last event are added to it as ``facts``.

        Raises
        ------
        ValueError, TypeError
            If the payload is not valid JSON.
        """
        if not self._has_bound:
            self._facts.take_over(self._database.unbound)
        key = self._database.record_key or record_key(self._cursor)
        facts = self._facts.digests(self._cursor, self._keeper, key)
        event = insert_event(
            self._cursor,
            kind,
            actor=actor,
            payload={**payload, "facts": facts} if facts else payload,
            time=time,
        )
        self.events.append(event)
        self._facts, self._has_bound = Facts(), True
        return event

    def bind_everything(self) -> None:
        """Make the next event record digests of the whole database, as an upgrade does."""
        self._facts = all_facts(self._cursor)

    # -- settings and solutions ----------------------------------------------------------------

    def put_meta(self, name: str, value: str, *, computed: bool = False) -> None:
        """Store a value under a name, replacing an earlier one.

        Parameters
        ----------
        computed
            Whether the value follows from other values, so that a changed one may be replaced.

        Raises
        ------
        StoreFormatError
            If the earlier value is not the recorded one: replacing it would hide who changed it.
        """
        if name in {"application", "schema_version", "identity", PLACE, RECORD_KEY}:
            raise ValueError(f"{name} belongs to the store")
        unrecorded = self._facts.meta | self._database.unbound.meta
        if not computed and name not in unrecorded and not meta_is_recorded(self._cursor, name):
            raise StoreFormatError(
                f"The value '{name}' in the database '{self._database.path}' was changed by "
                "another program, and is not replaced: restore a backup. `arena audit` names "
                "every difference."
            )
        execute(self._cursor, "INSERT OR REPLACE INTO meta VALUES (?, ?)", [name, value])
        self._facts.meta.add(name)

    def put_solution(
        self,
        solution: Solution,
        metric: str | None = None,
        number: int = 1,
        time: datetime | None = None,
    ) -> None:
        """Store a solution; see :meth:`arena.store.Store.put_solution`."""
        self._put_solution(solution, metric, number, time)

    def add_rows(self, solution: Solution, metric: str, number: int) -> None:
        """Store a solution with more rows than the one before, after those of that one.

        The submissions until now keep their length, and the next ones have all rows.

        Raises
        ------
        StoreError
            If the rows of the one before are others, or in another order.
        """
        (n_rows, _), _ = self._shape_and_kind()
        self._put_solution(solution, metric, number, None, rows_added=True)
        row_counts = RowCounts.select(self._cursor, n_rows)
        query = "SELECT coalesce(max(submission), 0) + 1 FROM submissions"
        ((first,),) = execute(self._cursor, query).fetchall()
        self.put_meta(ROW_COUNTS, row_counts.grown(first, solution.n_rows).to_text())

    def _put_solution(
        self,
        solution: Solution,
        metric: str | None,
        number: int,
        time: datetime | None,
        *,
        rows_added: bool = False,
    ) -> None:
        cells = cell_bytes(solution.truth) * solution.truth.size
        self._database.require_space(56 * solution.n_rows + cells)
        path = self._database.path
        if put_solution(
            self._cursor,
            number,
            solution=solution,
            metric=metric,
            time=time,
            path=path,
            rows_added=rows_added,
        ):
            self._facts.solutions.add(number)
            if number == 1:
                self._facts.meta |= {"identity", RECORD_KEY}

    def _shape_and_kind(self) -> tuple[tuple[int, int], PredictionKind]:
        # Sorted here: there are few, and a query with an order takes four times as long.
        query = "SELECT solution, n_rows, columns, kind FROM solutions"
        solutions = execute(self._cursor, query).fetchall()
        if not solutions:
            raise no_solution(self._database.path)
        _, n_rows, columns, kind = max(solutions)
        return (n_rows, len(parse_json(columns))), PredictionKind(kind)

    # -- derived tables ------------------------------------------------------------------------

    def settle(self) -> None:
        """Bring the derived tables up to date; done before the commit."""
        self._pending.settle(self._cursor, self._new)

    def rebuild_derived(self) -> None:
        """Replace the derived tables by what follows from the history."""
        rebuild(self._cursor)
        self._pending = Pending()

    # -- where predictions are kept ------------------------------------------------------------

    def keep_predictions_at(self, url: str | None) -> None:
        """Keep predictions as objects at a location; None: in the database.

        This is chosen before the first submission is accepted. Objects can be moved to another
        location later: they are copied there before.

        Raises
        ------
        StoreError
            If nothing can be written there, if there are predictions in the database or would have
            to be moved into it, or if a copy of an object is missing.
        """
        self._keeper = self._database.keeper_at(self._cursor, url)
        self._facts.meta.add(PLACE)
        if url is None:
            execute(self._cursor, "DELETE FROM meta WHERE name = ?", [PLACE])
            return
        execute(self._cursor, "INSERT OR REPLACE INTO meta VALUES (?, ?)", [PLACE, url])

    # -- the end -------------------------------------------------------------------------------

    def write_objects(self) -> None:
        """Store the objects of new submissions; done before the commit, which names them.

        Raises
        ------
        StoreError
            If that fails.
        """
        if self._unwritten:
            self._keeper.write(self._unwritten)
            self._unwritten = {}

    def acknowledge(self) -> None:
        """Write the journal, after the commit."""
        self._database.keeper = self._keeper
        if self._has_bound:
            self._database.unbound = Facts()
        self._database.unbound.take_over(self._facts)
        if self._database.journal is not None:
            self._database.journal.append(self._new.values(), self.events)
