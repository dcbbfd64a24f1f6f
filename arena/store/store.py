"""The store of one competition: solutions, submissions, releases, scores and events."""

from __future__ import annotations

import contextlib
import logging
import random
import tempfile
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from datetime import date, datetime
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

import duckdb
import numpy as np
import numpy.typing as npt

from arena.errors import StoreBusyError
from arena.store.database import Database
from arena.store.derived import Standing, changed_tables, select_standings
from arena.store.digests import first_positions
from arena.store.events import (
    ChainCheck,
    Event,
    TimeCheck,
    each_event,
    each_stored_event,
    select_events,
    select_events_backwards,
    select_head,
    select_last_of_kinds,
)
from arena.store.facts import record_key, select_prediction_digests
from arena.store.incoming import Incoming
from arena.store.journal import Acknowledged, Scoring
from arena.store.quotas import select_place
from arena.store.releases import (
    ReleaseRecord,
    ResultRecord,
    ScoreRecord,
    select_first_release,
    select_releases,
    select_results,
    select_scores,
    select_shown,
)
from arena.store.row_counts import RowCounts
from arena.store.solutions import no_solution, select_outline, select_solution
from arena.store.statements import execute
from arena.store.stored_predictions import StoredPredictions, select_predictions
from arena.store.submissions import select_records
from arena.store.timestamps import as_stored
from arena.store.transaction import Transaction
from arena.types import Fault, IntArray, Solution, SolutionOutline, SubmissionRecord
from arena.utils.collection import collection_paused

if TYPE_CHECKING:
    from arena.evaluation.similar import Comparison

T = TypeVar("T")

_RETRY_SECONDS = 0.1
_SECONDS_FOR_A_NAME = 1.0


class Store:
    """The DuckDB file of a competition. A context manager; safe to use from several threads.

    Only one process at a time can write to the file. Each method stores everything or nothing,
    even if the process is killed. DuckDB uses at most 1 GB of memory.

    Examples
    --------
    >>> with Store.open() as store:
    ...     store.submissions()
    ()
    """

    def __init__(self, database: Database, folder: contextlib.ExitStack | None = None) -> None:
        self.database = database
        self._folder = folder
        self._solutions: dict[int, Solution] = {}
        self._kept: tuple[int | None, dict[Hashable, Any]] = (None, {})
        self._kinds_until: tuple[int, frozenset[str]] = (0, frozenset())
        """The kinds of the events up to a sequence."""
        self._times: TimeCheck | None = None
        """Checks the times of new events once :meth:`watch_times` was called; None before."""

    @classmethod
    def open(
        cls,
        path: Path | None = None,
        *,
        create: bool = True,
        wait: float = 0.0,
        read_only: bool = False,
        objects: Path | None = None,
    ) -> Self:
        """Open a store, created if missing; without a path a temporary one, deleted when closed.

        While another process has the file open, retry for ``wait`` seconds. With ``read_only``
        nothing is written, and several processes can read at once. With ``objects``, a folder is
        used instead of the place of predictions outside the database, for a trial.

        Raises
        ------
        StoreBusyError
            If another process still has the file open; the message has its PID.
        StoreFormatError
            If it is not a database of arena, is damaged, has another version, or lacks a
            submission that was acknowledged.
        StoreError
            If it cannot be read or written, does not exist and is not created, or the disk is
            full.
        """
        if path is not None:
            return cls(
                _open_patiently(path, create, wait=wait, read_only=read_only, objects=objects)
            )
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="arena-"))
            return cls(Database(Path(folder) / "arena.duckdb", journaled=False), stack.pop_all())

    def close(self) -> None:
        """Write everything to the file and close it."""
        self.database.close()
        if self._folder is not None:
            self._folder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The DuckDB file."""
        return self.database.path

    @property
    def must_be_reopened(self) -> bool:
        """Whether to close and open it again: its log grows since an error of DuckDB."""
        return self.database.must_be_reopened

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield an exclusive transaction: when the block ends, everything is stored, or nothing.

        After the block the data is on disk, so that it can be acknowledged.

        Raises
        ------
        StoreError
            If it could not be written.
        RuntimeError
            If this thread already has an open transaction.

        Examples
        --------
        >>> with Store.open() as store:
        ...     with store.transaction() as transaction:
        ...         places = [transaction.take_place("team", None, allowed=1) for _ in range(2)]
        ...     used = store.quota_used("team", None)
        >>> places, used
        ([True, False], 1)
        """
        with self.database.exclusively():
            with self.database.transaction() as cursor:
                transaction = Transaction(self.database, cursor)
                yield transaction
                transaction.settle()
                transaction.write_objects()
            transaction.acknowledge()
            self._warn_of_times(transaction.events)

    def _read_once(self, key: Hashable, read: Callable[[duckdb.DuckDBPyConnection], T]) -> T:
        """Return what was read under this key since the last commit, or read it.

        A command asks for the settings and the decisions dozens of times, each time by a query.
        """
        state = self.database.state  # before reading: what a commit changes meanwhile is not kept
        if state is None or state != self._kept[0]:
            self._kept = (state, {})
        kept_values = self._kept[1]
        if key not in kept_values:
            with self.database.reading() as cursor:
                kept_values[key] = read(cursor)
        return cast(T, kept_values[key])

    # -- solutions and settings ----------------------------------------------------------------

    def put_solution(self, solution: Solution, metric: str | None = None, number: int = 1) -> None:
        """Store a solution; storing an equal one again has no effect.

        A corrected solution gets the next number; it must have the same rows, columns and classes.

        Raises
        ------
        StoreError
            If another solution is stored under this number, or the stored one has other rows.
        ValueError
            If a number is skipped.
        """
        with self.transaction() as transaction:
            transaction.put_solution(solution, metric, number)
        self._solutions.setdefault(number, solution)

    def solution(self, number: int | None = None) -> Solution:
        """Return a solution, by default the latest; each is read once and then cached.

        Raises
        ------
        StoreError
            If there is none.
        """
        if number is None:
            number = self.latest_solution()
        with self.database.reading() as cursor:
            stored = self._solutions.get(number) or select_solution(cursor, number)
        if stored is None:
            raise no_solution(self.path)
        return self._solutions.setdefault(number, stored)

    def solution_outline(self) -> SolutionOutline:
        """Return what is known of the latest solution without reading its rows.

        Raises
        ------
        StoreError
            If there is none.
        """
        number = self.latest_solution()
        if number in self._solutions:
            return self._solutions[number].outline()
        with self.database.reading() as cursor:
            solution_outline = select_outline(cursor, number)
        if solution_outline is None:
            raise no_solution(self.path)
        return solution_outline

    def latest_solution(self) -> int:
        """Return the number of the latest solution; 0 if there is none."""
        query = "SELECT coalesce(max(solution), 0) FROM solutions"
        return self._read_once(query, lambda cursor: int(execute(cursor, query).fetchall()[0][0]))

    def meta(self, name: str) -> str | None:
        """Return the value stored under a name, or None."""
        return self.metas([name])[0]

    def metas(self, names: Sequence[str]) -> list[str | None]:
        """Return the value stored under each name, or None."""
        query = "SELECT name, value FROM meta"
        values = self._read_once(query, lambda cursor: dict(execute(cursor, query).fetchall()))
        return [values.get(name) for name in names]

    # -- submissions ---------------------------------------------------------------------------

    def add_submission(
        self,
        team: str,
        file: str,
        sha256: str,
        values: npt.NDArray[Any] | None,
        faults: Sequence[Fault] = (),
        key: str | None = None,
        received: datetime | None = None,
    ) -> SubmissionRecord:
        """Store one submission; see :meth:`add_submissions`."""
        incoming = Incoming(
            team=team,
            file=file,
            sha256=sha256,
            values=values,
            faults=tuple(faults),
            key=key,
            received=received,
        )
        return self.add_submissions([incoming])[0]

    def add_submissions(self, incoming: Sequence[Incoming]) -> list[SubmissionRecord]:
        """Store submissions in one transaction; see :meth:`Transaction.add_submissions`."""
        with self.transaction() as transaction:
            return transaction.add_submissions(incoming)

    def submissions(
        self,
        team: str | None = None,
        numbers: Collection[int] | None = None,
        phase: str | None = None,
    ) -> tuple[SubmissionRecord, ...]:
        """Return every submission, or those of a team, of any status, in the order of ids.

        ``numbers``: only those with these ids. ``phase``: only those that count for it.
        """
        with self.database.reading() as cursor:
            return select_records(cursor, team, numbers, phase)

    def interrupted(self) -> Scoring | None:
        """Return the submission that was being scored when the last process was killed, or None.

        It is returned until something else is stored; it has no record and no event.
        """
        journal = self.database.journal
        scoring = journal.last_scoring() if journal else None
        if scoring is None:
            return None
        # The process may have been killed after the commit, before the journal was written.
        ended = self.events("submission failed", "submission interrupted")
        if any(event.payload.get("attempt") == scoring.attempt for event in ended):
            return None
        when = datetime.fromisoformat(scoring.received)
        for submission in self.submissions(scoring.team):
            if (submission.sha256, datetime.fromisoformat(submission.received)) == (
                scoring.sha256,
                when,
            ):
                return None
        return scoring

    def scoring_ended(self) -> None:
        """Write that what was announced as being scored was not stored, and uses no place."""
        if self.database.journal is not None:
            with self.database.exclusively():
                self.database.journal.announce(None)

    def teams(self) -> tuple[str, ...]:
        """Return the teams with a submission of any status, sorted by name."""
        with self.database.reading() as cursor:
            query = "SELECT DISTINCT team FROM team_counts ORDER BY team"
            return tuple(team for (team,) in execute(cursor, query).fetchall())

    def phases(self) -> tuple[str, ...]:
        """Return the phases with a submission of any status, sorted by name."""
        with self.database.reading() as cursor:
            query = "SELECT DISTINCT phase FROM team_counts ORDER BY phase"
            return tuple(phase for (phase,) in execute(cursor, query).fetchall())

    def accepted_counts(
        self, until: datetime | None = None, phase: str | None = None
    ) -> dict[str, int]:
        """Return the number of accepted submissions of each team with a submission.

        ``until``: of those that were received until then, which reads all of them; None: of all.
        ``phase``: of those that count for it; None: of all.
        """
        counted = (
            "SELECT team, sum(accepted)::INTEGER FROM team_counts "
            "WHERE phase = coalesce(?, phase) GROUP BY team"
        )
        received = (
            "SELECT team, count(*) FILTER (status = 'accepted') FROM submissions "
            "WHERE phase = coalesce(?, phase) AND received <= ? GROUP BY team"
        )
        with self.database.reading() as cursor:
            if until is not None:
                return dict(execute(cursor, received, [phase, as_stored(until)]).fetchall())
            return dict(execute(cursor, counted, [phase]).fetchall())

    def late(self) -> frozenset[int]:
        """Return the submissions that were received after the deadline and are not ranked."""
        with self.database.reading() as cursor:
            rows = execute(cursor, "SELECT submission FROM submissions WHERE late").fetchall()
        return frozenset(number for (number,) in rows)

    @collection_paused()
    def accepted(self, phase: str | None = None) -> list[tuple[int, str]]:
        """Return each accepted submission with its team, in the order of ids.

        ``phase``: only those that count for it; None: all.
        """
        query = (
            "SELECT submission, team FROM submissions "
            "WHERE status = 'accepted' AND phase = coalesce(?, phase) ORDER BY ALL"
        )
        with self.database.reading() as cursor:
            return execute(cursor, query, [phase]).fetchall()

    def check_place(self, url: str | None) -> None:
        """Raise the error of :meth:`Transaction.keep_predictions_at` for another place."""
        with self.database.reading() as cursor:
            self.database.keeper_at(cursor, url)

    def quota_used(self, team: str, day: date | str | None) -> int:
        """Return how many submissions of a team count on a day, in a week, or in total."""
        with self.database.reading() as cursor:
            return select_place(cursor, team, day)

    def predictions(
        self,
        submissions: Sequence[int] | IntArray,
        rows: IntArray | npt.NDArray[np.bool_] | None = None,
    ) -> StoredPredictions:
        """Return the predictions of accepted submissions, for reading in blocks.

        Parameters
        ----------
        submissions
            ``(m,)`` ids.
        rows
            Positions of rows of the solution, or a mask ``(n_rows,)``; None: all rows.

        Raises
        ------
        StoreError
            If a submission does not exist or was not accepted.
        """
        return select_predictions(self.database, self.solution(), submissions, rows)

    def row_counts(self, submissions: Sequence[int]) -> IntArray:
        """Return ``(m,)`` how many rows the stored predictions of submissions have.

        It is fewer than the solution has where rows were added after a submission, which
        :meth:`predictions` reads with its last row repeated.
        """
        n_rows = self.solution().n_rows
        with self.database.reading() as cursor:
            row_counts = RowCounts.select(cursor, n_rows)
        return row_counts.of(submissions)

    def first_equal(self, submissions: Sequence[int]) -> IntArray:
        """Return for each submission the position of the first one with the same predictions.

        By the digests that were recorded when they were stored; no prediction is read. A submission
        without such a digest is its own.

        Parameters
        ----------
        submissions
            ``(m,)`` ids, each once.
        """
        with self.database.reading() as cursor:
            digests = select_prediction_digests(cursor)
        return first_positions(digests.get(submission, submission) for submission in submissions)

    def reading_once(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which predictions are read that are not read again soon.

        The database then keeps 128 MB of them in memory, instead of a gigabyte.
        """
        return self.database.reading_once()

    def limit_memory(self, size: int) -> None:
        """Set how many bytes of the database stay in memory: 128 MB to a gigabyte (the default)."""
        self.database.limit_memory(size)

    @property
    def predictions_outside(self) -> str | None:
        """Where predictions are kept outside the database; None: they are in it."""
        return self.database.keeper.outside

    def unused_objects(self) -> list[str]:
        """Return the names of objects outside that belong to no submission.

        A process that was killed before its commit leaves one; it harms nothing.
        """
        with self.database.reading() as cursor:
            return self.database.keeper.unused(cursor)

    def lacking_objects(self) -> list[str]:
        """Return the names of objects of submissions that are not at the place; none is read."""
        with self.database.reading() as cursor:
            return self.database.keeper.lacking(cursor)

    def remove_unused_objects(self) -> list[str]:
        """Remove what :meth:`unused_objects` returns, and return it."""
        with self.database.exclusively():
            unused = self.unused_objects()
            self.database.keeper.remove(unused)
            return unused

    # -- releases, scores and events -----------------------------------------------------------

    def releases(
        self, epoch: int | None = None, teams: Collection[str] | None = None
    ) -> tuple[ReleaseRecord, ...]:
        """Return the releases, or those of an epoch, in order; ``teams``: only of these."""
        with self.database.reading() as cursor:
            return select_releases(cursor, epoch, teams)

    def shown(
        self, epoch: int, revision: int, phase: str | None = None
    ) -> list[tuple[int, float | None, float | None, float | None, int | None]]:
        """Return what is known of each accepted submission, in the order of ids.

        Its id, its public score in a revision at full precision, the released score in an epoch,
        the value that the board ranks by, and the submission whose score was released; None where
        there is none. ``phase``: only of those that count for it; None: of all.
        """
        with self.database.reading() as cursor:
            return select_shown(cursor, epoch, revision, phase)

    def first_release(self, submission: int) -> ReleaseRecord | None:
        """Return the first release of a submission, or None."""
        with self.database.reading() as cursor:
            return select_first_release(cursor, submission)

    def standings(
        self,
        epoch: int,
        *,
        greater_is_better: bool,
        phase: str | None = None,
        excluded: Collection[int] = (),
        until: datetime | None = None,
    ) -> list[Standing]:
        """Return the best release of each team in an epoch, in no order.

        Parameters
        ----------
        greater_is_better
            The direction of the metric.
        phase
            Only submissions that count for it; None: all, and a release for each phase.
        excluded
            Submissions that do not count.
        until
            Only submissions that were received until then; None: all.
        """
        with self.database.reading() as cursor:
            return select_standings(
                cursor,
                epoch,
                phase,
                greater_is_better=greater_is_better,
                excluded=excluded,
                until=until,
            )

    def results(self) -> tuple[ResultRecord, ...]:
        """Return the private boards that were published, in the order of their versions."""
        with self.database.reading() as cursor:
            return select_results(cursor)

    def changed_tables(self) -> list[str]:
        """Return the derived tables that do not follow from the history."""
        with self.database.reading() as cursor:
            return changed_tables(cursor)

    def scores(self, revision: int, team: str | None = None) -> tuple[ScoreRecord, ...]:
        """Return the scores of a revision, or those of a team, in the order of submissions."""
        with self.database.reading() as cursor:
            return select_scores(cursor, revision, team)

    def events(self, *kinds: str) -> tuple[Event, ...]:
        """Return the record, or its events of some kinds, in order.

        Those of some kinds are kept until the next commit.
        """
        if not kinds:
            with self.database.reading() as cursor:
                return select_events(cursor, kinds)
        stored_kinds = self._read_once("kinds of events", self._select_kinds)
        # Most kinds that a command asks for never happened: to read none costs nothing.
        chosen = tuple(sorted(stored_kinds.intersection(kinds)))
        if not chosen:
            return ()
        return self._read_once(chosen, lambda cursor: select_events(cursor, chosen))

    def _select_kinds(self, cursor: duckdb.DuckDBPyConnection) -> frozenset[str]:
        """Return the kinds of events that happened; only events since the last look are read."""
        last, kinds = self._kinds_until
        latest = select_last_of_kinds(cursor, last)
        self._kinds_until = max([last, *latest.values()]), kinds.union(latest)
        return self._kinds_until[1]

    def each_event(self, *kinds: str, after: int | None = None) -> Iterator[Event]:
        """Yield what :meth:`events` returns, one by one; a thousand are in memory.

        ``after``: only events of a higher sequence.
        """
        with self.database.reading() as cursor:
            yield from each_event(cursor, kinds, after)

    def _each_stored(self) -> Iterator[tuple[Event, str]]:
        with self.database.reading() as cursor:
            yield from each_stored_event(cursor)

    def last_events(self, block: int = 256) -> Iterator[Event]:
        """Yield the events from the last to the first; ``block`` are read at a time."""
        with self.database.reading() as cursor:
            for events in select_events_backwards(cursor, block):
                yield from reversed(events)

    def last_sequence(self) -> int:
        """Return the sequence of the last event; 0 if there is none."""
        return next((event.sequence for event in self.last_events(1)), 0)

    def watch_times(self) -> None:
        """Warn from now on of each new event that has a time before the last one."""
        self._times = TimeCheck()
        for event in islice(self.last_events(1), 1):
            self._times.add(event)

    def _warn_of_times(self, events: Iterable[Event]) -> None:
        if self._times is None:
            return
        for event in events:
            if "program" not in event.payload:  # it has the time of an event that may be older
                self._times.add(event)
        for problem in self._times.problems:
            logging.getLogger("arena").warning("%s", problem)
        self._times.problems.clear()

    def head(self) -> str | None:
        """Return the hash of the last event; None if there is none."""
        with self.database.reading() as cursor:
            return select_head(cursor)

    def receipt(self, submission: int) -> str | None:
        """Return the hash of the event that stored a submission, or None."""
        with self.database.reading() as cursor:
            return select_head(cursor, submission)

    def record_key(self) -> bytes:
        """Return the key of the digests in the record, for the organiser only."""
        with self.database.reading() as cursor:
            return record_key(cursor)

    @collection_paused()
    def audit(
        self,
        *,
        since: int = 0,
        watch: Callable[[Event], None] | None = None,
        outside: bool = True,
        compare: Comparison | None = None,
    ) -> tuple[str, ...]:
        """Return a sentence on each difference between the tables and the record.

        The events are read one by one, and the chain of their hashes is checked as a whole. Their
        times are not: see :class:`~arena.store.events.TimeCheck`.

        Parameters
        ----------
        since
            The sequence of an event: the content of submissions, predictions, releases and scores
            is compared only if a later event recorded it. 0: everything.
        watch
            Called with each event, in order.
        outside
            Whether predictions that are kept outside the database are read.
        compare
            Every prediction that is read is added to it.

        Raises
        ------
        StoreFormatError
            If the record cannot be read.
        """
        # Not further: what reads the tables expects their columns and types.
        if changed := self.database.changed_schema():
            return changed
        from arena.store.audit import Recorded, differences  # most commands do no audit

        recorded = Recorded()
        journal = self._journal()
        broken = self._broken(journal.events, recorded.add, *([watch] if watch else ()))
        problems = [broken] if broken else []
        if journal.overlong_at is not None:
            problems.append(
                f"The journal of the database has a line at byte {journal.overlong_at:,} that is "
                "longer than any that arena writes: it was damaged or changed. Move it to another "
                "folder; a new one begins with the next submission."
            )
        return (
            *problems,
            *differences(self.database, recorded, since=since, outside=outside, compare=compare),
        )

    @collection_paused()
    def verify_events(self) -> str | None:
        """Return a sentence that names the first broken event of the record, or None.

        The journal next to the database is compared too: without it, events removed at the end
        could not be detected.
        """
        return self._broken(self._journal().events)

    def events_without_journal(self) -> int:
        """Return how many events at the end of the record the journal does not confirm.

        One at most after a process was killed; more if the journal was removed or cut off.
        """
        if self.database.journal is None:
            return 0
        sequences = [sequence for sequence, _ in self.database.journal.read_end().events]
        return max(0, self.last_sequence() - max(sequences, default=0))

    def journal_faults(self) -> tuple[str, ...]:
        """Return what arena does not write into the journal, or only once and in order.

        A kill or a power failure can damage a line, or cost one.
        """
        journal = self._journal()
        numbers = [entry.submission for entry in journal.submissions]
        series = ([sequence for sequence, _ in journal.events], numbers)
        disordered = sum(
            after <= number
            for numbers_of_series in series
            for number, after in pairwise(numbers_of_series)
        )
        with self.database.reading() as cursor:
            query = "SELECT submission FROM submissions ORDER BY submission"
            stored = [number for (number,) in execute(cursor, query).fetchall()]
        known_numbers = set(numbers)
        # A journal that has nothing is reported by events_without_journal.
        lacking = (
            [number for number in stored if number not in known_numbers] if any(series) else []
        )
        before = sum(number < min(known_numbers, default=number + 1) for number in lacking)
        counts = {
            "damaged lines": journal.damaged,
            "entries that are there twice or in another order": disordered,
            "submissions before its first": before,
            "missing submissions after its first": len(lacking) - before,
            "events before its first": self._events_before(journal),
        }
        return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)

    def _events_before(self, journal: Acknowledged) -> int:
        """Return how many events are before the first of a journal; a repair begins a new one."""
        first = journal.events[0][0] if journal.events else 1
        begins = next(self.each_event(after=first - 1), None)
        repaired = begins is not None and begins.kind == "repair"
        return 0 if repaired else first - 1

    def _broken(
        self, acknowledged: Sequence[tuple[int, str]], *watching: Callable[[Event], None]
    ) -> str | None:
        named = {sequence for sequence, _ in acknowledged}
        hashes: dict[int, str] = {}
        check = ChainCheck()
        for event, text in self._each_stored():
            check.add(event, text)
            if event.sequence in named:
                hashes[event.sequence] = event.hash
            for watch in watching:
                watch(event)
        if check.problem:
            return check.problem
        for sequence, digest in acknowledged:
            if hashes.get(sequence) != digest:
                state = "is missing" if sequence not in hashes else "was replaced by another"
                return f"The record is broken: event {sequence} is in the journal and {state}."
        return None

    def _journal(self) -> Acknowledged:
        journal = self.database.journal
        return journal.read() if journal else Acknowledged()

    def sequence_of(self, digest: str) -> int | None:
        """Return the sequence of the event with this hash, or None."""
        with self.database.reading() as cursor:
            query = "SELECT min(sequence) FROM events WHERE hash = ?"
            ((sequence,),) = execute(cursor, query, [digest]).fetchall()
        return None if sequence is None else int(sequence)


def _open_patiently(
    path: Path, create: bool, wait: float, read_only: bool, objects: Path | None
) -> Database:
    until = time.monotonic() + wait
    while True:
        try:
            return Database(path, create=create, read_only=read_only, objects=objects)
        except StoreBusyError as error:
            # Without a PID, it was closed while DuckDB looked up the process.
            patience = 0.0 if "(PID " in str(error) else _SECONDS_FOR_A_NAME
            if time.monotonic() >= until + patience:
                raise
        time.sleep(_RETRY_SECONDS * random.uniform(0.5, 1.5))  # noqa: S311 # desynchronises waiting processes
