"""Records of submissions, and the rows of their predictions, into tables and back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from arena.types import Fault, FloatArray, SubmissionRecord

__all__ = ["Incoming", "insert_predictions", "insert_record", "now", "select_records"]

_COLUMNS = "submission, team, file, sha256, status, received, faults"
_PREDICTIONS = pa.schema(
    [("submission", pa.int32()), ("position", pa.int32()), ("value", pa.float64())]
)


@dataclass(frozen=True, slots=True, eq=False)
class Incoming:
    """A submission on its way into the store."""

    team: str
    file: str
    """As it is shown; nothing is read from it."""
    sha256: str
    """Of the file; empty if it could not be read."""
    values: FloatArray | None
    """``(n, n_columns)`` in the order of the solution; None: the submission is rejected."""
    faults: tuple[Fault, ...] = ()
    """Why it is rejected."""
    key: str | None = None
    """The same key of a team again is the same submission; None: the sha256."""
    received: datetime | None = None
    """None: now."""

    @property
    def idempotency_key(self) -> str:
        """The key, or what stands for it: of a file that could not be read, name and faults."""
        unread = f"{self.file}\n{_json_of(self.faults)}".encode()
        return self.key or self.sha256 or "unread " + hashlib.sha256(unread).hexdigest()


def now() -> datetime:
    """Return the time as the tables hold it: UTC, without saying so."""
    return datetime.now(UTC).replace(tzinfo=None)


def insert_record(
    cursor: duckdb.DuckDBPyConnection, incoming: Incoming
) -> tuple[SubmissionRecord, bool]:
    """Append a record, inside a transaction; return it, and whether it is a new one."""
    key = incoming.idempotency_key
    query = f"SELECT {_COLUMNS} FROM submissions WHERE team = ? AND key = ?"  # noqa: S608
    known = cursor.execute(query, [incoming.team, key]).fetchall()
    if known:
        return _record(known[0]), False
    rejected = incoming.values is None or incoming.faults
    received = incoming.received or now()
    if received.tzinfo is not None:
        received = received.astimezone(UTC).replace(tzinfo=None)
    rows = cursor.execute(
        "INSERT INTO submissions SELECT coalesce(max(submission), 0) + 1, ?, ?, ?, ?, ?, ?, ? "  # noqa: S608
        f"FROM submissions RETURNING {_COLUMNS}",
        [
            incoming.team,
            incoming.file,
            incoming.sha256,
            key,
            "rejected" if rejected else "accepted",
            received,
            _json_of(incoming.faults),
        ],
    ).fetchall()
    return _record(rows[0]), True


def insert_predictions(cursor: duckdb.DuckDBPyConnection, values: Mapping[int, FloatArray]) -> None:
    """Append the predictions of new submissions, by id, inside a transaction."""
    cursor.register("incoming_values", _arrow(values))
    cursor.execute("INSERT INTO predictions SELECT * FROM incoming_values")
    cursor.unregister("incoming_values")


def select_records(cursor: duckdb.DuckDBPyConnection) -> tuple[SubmissionRecord, ...]:
    """Return every record, in the order of ids."""
    query = f"SELECT {_COLUMNS} FROM submissions ORDER BY submission"  # noqa: S608
    return tuple(_record(row) for row in cursor.execute(query).fetchall())


def _json_of(faults: Sequence[Fault]) -> str:
    return json.dumps([asdict(fault) for fault in faults], ensure_ascii=False)


def _record(row: tuple[Any, ...]) -> SubmissionRecord:
    submission, team, file, sha256, status, received, faults = row
    return SubmissionRecord(
        submission=submission,
        team=team,
        file=file,
        sha256=sha256,
        status=status,
        received=received.replace(tzinfo=UTC).isoformat(),
        faults=tuple(Fault(**fault) for fault in json.loads(faults)),
    )


def _arrow(values: Mapping[int, FloatArray]) -> pa.Table:
    """Return predictions as rows of the long table; values are not copied."""
    batches = []
    for submission, array in values.items():
        cells = np.ascontiguousarray(array, dtype=np.float64).reshape(-1)
        ids = np.full(len(cells), submission, dtype=np.int32)
        positions = np.arange(len(cells), dtype=np.int32)
        batches.append(pa.record_batch([ids, positions, cells], schema=_PREDICTIONS))
    return pa.Table.from_batches(batches)
