"""Repairs a database whose write-ahead log is damaged or missing, and reports what was lost.

The repair works on a copy, in three steps. First it determines which file is damaged: if it is the
database file itself, the repair is refused, even if the log is intact. Then it cuts the log where
DuckDB reports the damage or, if DuckDB names no position, at the last byte up to which the log can
be replayed. Entries of the journal that the database lacks were lost: those submissions are entered
again under their numbers, as refused and without predictions, so that no number is used twice.
Finally it opens and audits a copy of the result and submits to it. Only then does the result
replace the files, which are kept in a quarantine folder next to the database.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np

from arena.errors import DamagedLogError, LossError, StoreError, StoreFormatError
from arena.store.database import Database, connect, journal_path
from arena.store.events import select_events
from arena.store.facts import RECORD_KEY, facts_of
from arena.store.incoming import Incoming
from arena.store.journal import Acknowledged, JournalEntry, missing
from arena.store.locks import owner_only
from arena.store.row_counts import incomplete_predictions
from arena.store.schema import Catalog
from arena.store.store import Store
from arena.store.submissions import select_records
from arena.store.transaction import Transaction
from arena.types import PredictionKind, Release

BYTE_POSITION = r"byte position (\d+)"
"""The position of the damage in the log, as DuckDB reports it."""
_COPIES = 3
"""The number of copies: the quarantine, the repaired one, and one to test that."""


@dataclass(frozen=True, slots=True)
class RepairReport:
    """The damage of a database and its repair."""

    sentence: str
    """The report for the organiser."""
    quarantine: Path | None = None
    """The folder with the original files; None: there was no damage."""
    cut_at: int | None = None
    """The byte at which the log was cut; None: it was not cut."""
    lost: tuple[JournalEntry, ...] = ()
    """Acknowledged submissions that were lost: their teams must submit them again."""
    lost_events: int = 0
    """The minimum number of events of the record that were lost."""
    damaged_lines: int = 0
    """The number of damaged lines of the journal: their submissions may be lost as well."""


def repair(path: Path, *, actor: str = "host", time: datetime | None = None) -> RepairReport:
    """Repair a database whose log is damaged or missing; one without damage is not changed.

    Needs space for three copies of the database, and opens it up to 30 times.

    Raises
    ------
    StoreBusyError
        If another process has it open.
    StoreFormatError
        If the database itself is damaged, is not one of arena, or differs from its record after
        the repair; the files are unchanged then.
    StoreError
        If there is no space for the copies, or the files cannot be written.

    Examples
    --------
    >>> from arena.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "competition.duckdb"
    ...     Store.open(path).close()
    ...     repair(path).quarantine is None
    True
    """
    if tables := _rebuild_derived(path, actor, time):
        return RepairReport(
            f"Tables of the database '{path}' that are derived from its history were rebuilt "
            f"({', '.join(tables)}). Nothing else was checked: run arena repair again."
        )
    reason = _what_is_wrong(path)
    if reason is None:
        outside = _outside(path)
        return RepairReport(f"The database '{path}' is intact: nothing was changed.{outside}")
    quarantine = copy_to_quarantine(path, time or datetime.now(UTC))
    try:
        with _workplace(path) as folder:
            trial = folder / path.name
            for file in quarantine.iterdir():
                shutil.copy2(file, folder / file.name)
            report = RepairReport("", quarantine)
            if isinstance(reason, DamagedLogError):
                report = replace(report, cut_at=cut_log(trial, str(reason.__cause__)))
            database = Database(trial, create=False, checked=False)
            try:
                _require_whole(database)
                report = record_losses(database, report, actor, time)
            finally:
                database.close()
            _try_out(trial)
            put_in_place(trial, path)
    except StoreFormatError as error:
        # Name the organiser's path, not that of the copy.
        message = str(error).replace(str(trial), str(path))
        copy = f"Nothing was changed; '{quarantine}' has a copy of the files."
        raise StoreFormatError(f"{message} {copy}") from error
    return replace(report, sentence=f"{describe_repair(path, report)}{_outside(path)}")


def _outside(path: Path) -> str:
    """Return a sentence on predictions outside the database, after a space; empty if none are."""
    with Store.open(path, create=False, read_only=True) as store:
        outside = store.predictions_outside
    return f" The predictions at {outside} were not read: run arena audit." if outside else ""


@contextlib.contextmanager
def _workplace(path: Path) -> Iterator[Path]:
    """Yield a temporary folder next to the database, accessible to its owner only."""
    with owner_only(), tempfile.TemporaryDirectory(dir=path.parent, prefix=".repair-") as name:
        yield Path(name)


def _try_out(path: Path) -> None:
    """Open a copy of a database, audit it, submit to it, and open and audit it again.

    A damaged index is only detected when something is written.

    Raises
    ------
    StoreFormatError
        If any of this fails.
    """
    with _workplace(path) as folder:
        copy = folder / path.name
        for file in (path, _log_of(path), journal_path(path)):
            if file.exists():
                shutil.copy2(file, folder / file.name)
        try:
            for _ in range(2):
                with Store.open(copy, create=False, objects=folder / "objects") as store:
                    problems = store.audit(outside=False) if store.events() else ()
                    if not problems:
                        store_a_submission(store)
                if problems:
                    raise StoreFormatError(
                        f"The database '{path}' differs from its record: {problems[0]} Restore a "
                        "backup."
                    )
        except (StoreError, duckdb.Error) as error:
            message = str(error).replace(str(copy), str(path))
            if isinstance(error, duckdb.Error):
                message = (
                    f"The database '{path}' is damaged: a submission could not be stored. "
                    "Restore a backup."
                )
            raise StoreFormatError(message) from error


def store_a_submission(store: Store) -> None:
    """Store a submission with predictions, release, scores and event."""
    try:
        solution = store.solution()
    except StoreFormatError:
        raise
    except StoreError:
        return  # there is none yet
    shape = (solution.n_rows, len(solution.columns))
    is_text = solution.kind is PredictionKind.TEXT
    values = np.full(shape, "", dtype=object) if is_text else np.zeros(shape)
    team = "arena repair"
    with store.transaction() as transaction:
        transaction.take_place(team, None, None)
        key = secrets.token_hex(16)
        record = transaction.add_submission(Incoming(team, "trial", "", values, key=key))
        transaction.add_release(record.submission, team, 1, Release(0.0, False))
        transaction.put_scores(1, record.submission, 0.0, None)
        transaction.append_event("submission", team, {"submission": record.submission})


def put_in_place(repaired: Path, path: Path) -> None:
    """Replace the files by the repaired ones.

    A kill in between leaves a database that is refused because it lacks acknowledged data.
    """
    _log_of(path).unlink(missing_ok=True)
    # DuckDB does not always write the log into the file when it closes: then the log has the rest.
    for file in (repaired, _log_of(repaired), journal_path(repaired)):
        if file.exists():
            with file.open("rb") as content:
                os.fsync(content.fileno())
            file.replace(path.with_name(file.name))


def _what_is_wrong(path: Path) -> DamagedLogError | LossError | None:
    """Return the damage if it can be repaired, None if there is none; raise any other error."""
    try:
        # Read-only: closing would write the log into a database that may be damaged.
        database = Database(path, create=False, read_only=True)
    except (DamagedLogError, LossError) as error:
        return error
    try:
        _require_whole(database)
    finally:
        database.close()
    _try_out(path)
    return None


def _rebuild_derived(path: Path, actor: str, time: datetime | None) -> list[str]:
    """Rebuild the derived tables if they differ from the history; return their names."""
    try:
        with Store.open(path, create=False, read_only=True) as store:
            tables = store.changed_tables()
        if tables:
            with Store.open(path, create=False) as store, store.transaction() as transaction:
                transaction.rebuild_derived()
                transaction.append_event("repair", actor, {"rebuilt": tables}, time)
    except (DamagedLogError, LossError, StoreFormatError, duckdb.Error):
        return []  # reported by what follows
    return tables


def _require_whole(database: Database) -> None:
    """Refuse a database that opens, but whose content is damaged."""
    database.read_everything()
    _check_predictions(database)


def _check_predictions(database: Database) -> None:
    """Refuse accepted submissions whose predictions are incomplete.

    The checksums of DuckDB's log do not detect equal damage in a pair of equal words.
    """
    with database.reading() as cursor:
        incomplete = [
            str(submission) for submission in incomplete_predictions(database.keeper, cursor)
        ]
    if incomplete:
        raise StoreFormatError(
            f"The predictions of submission {', '.join(incomplete)} in '{database.path}' are "
            "incomplete, which a repair of the write-ahead log cannot fix: restore a backup, or "
            "import the submission files into a new database."
        )


def copy_to_quarantine(path: Path, time: datetime) -> Path:
    """Copy a database and its files to a new folder beside it; StoreError without the space."""
    beside = (file for file in path.parent.iterdir() if file.is_file())
    files = [path, *(file for file in beside if file.name.startswith(f"{path.name}."))]
    size = _COPIES * sum(file.stat().st_size for file in files)
    free = shutil.disk_usage(path.parent).free
    if free < size:
        raise StoreError(
            f"To repair '{path}', {size / 2**20:.0f} MB are needed for copies, and "
            f"{free / 2**20:.0f} MB are free. Nothing was changed. Free some space and try again."
        )
    name = f"{path.name}.quarantine-{time.astimezone(UTC):%Y%m%dT%H%M%SZ}"
    n_folders = sum(other.name.startswith(name) for other in path.parent.iterdir())
    folder = path.with_name(f"{name}-{n_folders + 1}" if n_folders else name)
    with owner_only():
        folder.mkdir()
        for file in files:
            shutil.copy2(file, folder / file.name)
    return folder


def cut_log(path: Path, damage: str) -> int:
    """Cut the log where it is damaged, and return the position."""
    log = _log_of(path)
    if not _opens(path, 0):
        raise StoreFormatError(
            f"The database '{path}' cannot be opened without its write-ahead log either: the "
            "database file is damaged. Restore a backup."
        )
    named = re.search(BYTE_POSITION, damage)
    if named and _opens(path, int(named[1])):
        position = int(named[1])
    else:
        position = _last_that_opens(path, log.stat().st_size)
    os.truncate(log, position)
    return position


def _last_that_opens(path: Path, size: int) -> int:
    """Return the length of the longest prefix of the log that can be replayed.

    DuckDB accepts a log that ends early: every prefix up to the damage opens.
    """
    low, high = 0, size
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _opens(path, middle) else (low, middle)
    return low


def _opens(path: Path, length: int) -> bool:
    """Whether the database opens with this prefix of its log; with length 0 every table is read."""
    with owner_only(), tempfile.TemporaryDirectory(dir=path.parent, prefix=".repair-") as name:
        trial = Path(name) / "trial.duckdb"
        try:
            trial.hardlink_to(path)
        except OSError:
            shutil.copyfile(path, trial)
        shutil.copyfile(_log_of(path), _log_of(trial))
        os.truncate(_log_of(trial), length)
        try:
            with connect(trial, read_only=True) as connection:
                if length == 0:
                    with contextlib.closing(Catalog(connection)) as catalog:
                        catalog.read_tables()
        except duckdb.Error:
            return False
    return True


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def record_losses(
    database: Database, report: RepairReport, actor: str, time: datetime | None
) -> RepairReport:
    """Find what was lost, record it, and start a new journal."""
    journal = database.journal
    acknowledged = journal.read() if journal else Acknowledged()
    with database.exclusively():
        with database.transaction() as cursor:
            gone = missing(cursor, acknowledged)
            lost_events = len({sequence for sequence, _ in gone.events})
            transaction = Transaction(database, cursor)
            for entry in gone.submissions:
                transaction.add_lost(entry)
            payload = {
                "cut_at": report.cut_at,
                "lost_submissions": [entry.submission for entry in gone.submissions],
                "lost_events": lost_events,
                "damaged_lines": acknowledged.damaged,
                "quarantine": report.quarantine.name if report.quarantine else None,
            }
            if not any(RECORD_KEY in facts_of(event.payload).get("meta", ())
                       for event in select_events(cursor, ())):  # fmt: skip
                transaction.bind_everything()
            transaction.rebuild_derived()
            event = transaction.append_event("repair", actor, payload, time)
            records = select_records(cursor)
        if journal:
            journal.restart(records, [event])
            if acknowledged.scoring is not None:
                journal.announce(acknowledged.scoring)
    return replace(
        report, lost=gone.submissions, lost_events=lost_events, damaged_lines=acknowledged.damaged
    )


def describe_repair(path: Path, report: RepairReport) -> str:
    """Return what a repair did, and what is to be done next."""
    parts = [f"The database '{path}' opens again."]
    if report.cut_at is not None:
        parts.append(f"Its write-ahead log was cut at byte {report.cut_at}.")
    if report.lost:
        named = ", ".join(f"{lost.submission} of {lost.team} ({lost.file})" for lost in report.lost)
        parts.append(f"Lost, to be submitted again: submission {named}.")
    else:
        parts.append("No submission in its journal was lost.")
    if report.lost_events:
        parts.append(
            f"At least {report.lost_events} events of its record were lost: check selections and "
            "disqualifications."
        )
    if report.damaged_lines:
        parts.append(
            f"Its journal has damaged lines ({report.damaged_lines}): their submissions may be "
            "lost too. Compare arena submissions with the answers that the teams received."
        )
    parts.append(f"The original files are in '{report.quarantine}'.")
    return " ".join(parts)
