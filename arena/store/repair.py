"""Opens a database again whose write-ahead log is damaged, and says what was lost.

Everything is copied first, into a quarantine folder beside the database. Then the log is cut where
DuckDB says that it is damaged, or, if it names no place, at the last byte up to which it can be
replayed. What the journal knows and the database lacks was lost: those submissions are entered
again under their numbers, as refused and without predictions, so that no number is given twice.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from arena.errors import DamagedLogError, LossError, StoreError, StoreFormatError
from arena.store.database import Database
from arena.store.events import insert_event
from arena.store.journal import Acknowledged, JournalEntry, missing
from arena.store.locks import owner_only
from arena.store.records import insert_lost, select_records

__all__ = ["RepairReport", "repair"]

_PLACE = r"byte position (\d+)"
"""Where in the log the damage is, as DuckDB says it."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What was wrong with a database, and what was done about it."""

    sentence: str
    """For the organiser."""
    quarantine: Path | None = None
    """The folder with the copies; None: nothing was wrong."""
    cut_at: int | None = None
    """The byte of the log from which on it was cut; None: it was not."""
    lost: tuple[JournalEntry, ...] = ()
    """Submissions that were acknowledged and are gone: their teams must send them again."""
    lost_events: int = 0
    """How many events of the record are gone with them, at least."""


def repair(path: Path, *, actor: str = "host", time: datetime | None = None) -> RepairReport:
    """Open a database whose log is damaged or was lost; nothing is done to a whole one.

    Takes as much room as the database, for the copy, and up to 26 openings of the database.

    Raises
    ------
    StoreBusyError
        If another process holds it.
    StoreFormatError
        If the database itself is damaged, or none of arena, or predictions are incomplete.
    StoreError
        If there is no room for the copy, or the files cannot be written.

    Examples
    --------
    >>> from arena.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "competition.duckdb"
    ...     Store.open(path).close()
    ...     repair(path).quarantine is None
    True
    """
    reason = _what_is_wrong(path)
    if reason is None:
        return RepairReport(f"The database '{path}' is whole: nothing was done.")
    quarantine = _copy_to_quarantine(path, time or datetime.now(UTC))
    cut_at = None
    if isinstance(reason, DamagedLogError):
        cut_at = _cut(path, str(reason.__cause__), quarantine)
    database = Database(path, create=False, checked=False)
    try:
        _require_whole(database, quarantine)
        report = _account(database, RepairReport("", quarantine, cut_at), actor, time)
    finally:
        database.close()
    return replace(report, sentence=_sentence(path, report))


def _what_is_wrong(path: Path) -> DamagedLogError | LossError | None:
    """Return what can be repaired, or nothing; raise what cannot."""
    try:
        database = Database(path, create=False)
    except (DamagedLogError, LossError) as error:
        return error
    try:
        _require_whole(database)
    finally:
        database.close()
    return None


def _require_whole(database: Database, quarantine: Path | None = None) -> None:
    """Refuse a database that opens, but does not hold what it should."""
    try:
        database.read_everything()
        _check_predictions(database)
    except StoreFormatError as error:
        if quarantine is None:
            raise
        copy = f"A copy of how it was lies in '{quarantine}'."
        raise StoreFormatError(f"{error} {copy}") from error


def _check_predictions(database: Database) -> None:
    """Refuse accepted submissions without one cell at each position from 0 on, the same number.

    The checksums of DuckDB's log miss equal words that are damaged in pairs.
    """
    query = """
        WITH cells AS (
            SELECT submission, count(*) AS n, min(position) AS low, max(position) AS high,
                sum(position::BIGINT) AS total
            FROM predictions GROUP BY submission
        )
        SELECT submission FROM submissions LEFT JOIN cells USING (submission)
        WHERE status = 'accepted' AND NOT coalesce(
            low = 0 AND high = n - 1 AND total = n * (n - 1) // 2
            AND n = (SELECT max(n) FROM cells SEMI JOIN submissions USING (submission)), false)
        ORDER BY submission
    """
    with database.reading() as cursor:
        incomplete = [str(submission) for (submission,) in cursor.execute(query).fetchall()]
    if incomplete:
        raise StoreFormatError(
            f"The predictions of submission {', '.join(incomplete)} in '{database.path}' are "
            "incomplete, which no cut of its write-ahead log can mend: put back a backup, or take "
            "in the submission files anew, into another database."
        )


def _copy_to_quarantine(path: Path, time: datetime) -> Path:
    files = [path, *(file for file in path.parent.iterdir() if _belongs(file, path))]
    size, free = sum(file.stat().st_size for file in files), shutil.disk_usage(path.parent).free
    if free < size:
        raise StoreError(
            f"To repair '{path}', {size / 2**20:.0f} MB are needed for a copy, and "
            f"{free / 2**20:.0f} MB are free. Nothing was done. Free some space and try again."
        )
    name = f"{path.name}.quarantine-{time.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    taken = sum(other.name.startswith(name) for other in path.parent.iterdir())
    folder = path.with_name(f"{name}-{taken + 1}" if taken else name)
    with owner_only():
        folder.mkdir()
        for file in files:
            shutil.copy2(file, folder / file.name)
    return folder


def _belongs(file: Path, path: Path) -> bool:
    return file.is_file() and file.name.startswith(f"{path.name}.")


def _cut(path: Path, damage: str, quarantine: Path) -> int:
    """Cut the log where it is damaged, and return the place."""
    log = _log_of(path)
    named = re.search(_PLACE, damage)
    if named and _opens(path, int(named[1])):
        position = int(named[1])
    else:
        position = _last_that_opens(path, log.stat().st_size)
    if position < 0:
        raise StoreFormatError(
            f"The database '{path}' cannot be opened without its write-ahead log either: it is "
            f"damaged itself. Put back a backup; '{quarantine}' has a copy of what is here."
        )
    os.truncate(log, position)
    return position


def _last_that_opens(path: Path, size: int) -> int:
    """Return the length of the longest beginning of the log that can be replayed, or -1.

    A log that ends early is one that a kill cut short: every length up to the damage opens.
    """
    low, high = -1, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _opens(path, middle) else (low, middle)
    return low


def _opens(path: Path, length: int) -> bool:
    """Whether the database opens with this much of its log; tried beside it, for reading only."""
    with owner_only(), tempfile.TemporaryDirectory(dir=path.parent, prefix=".repair-") as name:
        trial = Path(name) / "trial.duckdb"
        try:
            trial.hardlink_to(path)
        except OSError:
            shutil.copyfile(path, trial)
        shutil.copyfile(_log_of(path), _log_of(trial))
        os.truncate(_log_of(trial), length)
        try:
            with duckdb.connect(str(trial), read_only=True) as connection:
                connection.execute("SELECT count(*) FROM submissions").fetchall()
        except duckdb.Error:
            return False
    return True


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _account(
    database: Database, report: RepairReport, actor: str, time: datetime | None
) -> RepairReport:
    """Find what was lost, put it on record, and begin the journal anew."""
    journal = database.journal
    known = journal.read() if journal else Acknowledged()
    with database.exclusively():
        with database.transaction() as cursor:
            gone = missing(cursor, known)
            lost_events = len({sequence for sequence, _ in gone.events})
            for entry in gone.submissions:
                insert_lost(cursor, entry)
            payload = {
                "cut_at": report.cut_at,
                "lost_submissions": [entry.submission for entry in gone.submissions],
                "lost_events": lost_events,
                "quarantine": report.quarantine.name if report.quarantine else None,
            }
            event = insert_event(cursor, "repair", actor, payload, time)
            records = select_records(cursor)
        if journal:
            journal.restart(records, [event])
    return replace(report, lost=gone.submissions, lost_events=lost_events)


def _sentence(path: Path, report: RepairReport) -> str:
    parts = [f"The database '{path}' opens again."]
    if report.cut_at is not None:
        parts.append(f"Its write-ahead log was cut at byte {report.cut_at}.")
    if report.lost:
        named = ", ".join(f"{one.submission} of {one.team} ({one.file})" for one in report.lost)
        parts.append(f"Lost, and to be sent again: submission {named}.")
    else:
        parts.append("No submission that its journal knows was lost.")
    if report.lost_events:
        parts.append(
            f"At least {report.lost_events} events of its record are gone: look whether "
            "selections and disqualifications still stand."
        )
    parts.append(f"A copy of how it was lies in '{report.quarantine}'.")
    return " ".join(parts)
