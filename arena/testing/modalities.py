"""Conformance checks of modalities."""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path

import pyarrow as pa

from arena.interfaces import Modality
from arena.interfaces.faults import FaultList
from arena.testing.conformance import Conformance, Outcome, Verdict, run_checks
from arena.types import RawTable, SolutionColumns

_OK: Verdict = (Outcome.OK, "")
_MOST_BYTES = 1_000_000


def check_modality(modality: Modality) -> Conformance:
    """Check that a modality can be sent to other processes and leaves plain tables intact.

    Examples
    --------
    >>> from arena.interfaces import TABLE
    >>> check_modality(TABLE).failed
    ()
    """
    checks = (
        ("its copy in another process", _survives_pickling),
        ("files of others", _takes_no_other_file),
        ("the rows of a table", _keeps_ids),
        ("a sample", _writes_a_sample),
        ("the time of reading", _needs_time),
    )
    return run_checks(modality.name, checks, modality)


def _survives_pickling(modality: Modality) -> Verdict:
    copy = pickle.loads(pickle.dumps(modality))  # noqa: S301 - of this process
    if copy == modality and hash(copy) == hash(modality):
        return _OK
    return Outcome.FAILED, "A copy of it is not equal to it: make it a frozen dataclass."


def _takes_no_other_file(modality: Modality) -> Verdict:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_text("id,y\na,1\n")
        faults = FaultList()
        files = (
            modality.read_solution(path, SolutionColumns(), _MOST_BYTES, faults),
            modality.read_submission(path, pa.array(["a"]), ("id", "y"), None, _MOST_BYTES, faults),
        )
    if faults or any(file is not None for file in files):
        return Outcome.FAILED, "It must return None for a CSV file, which arena reads."
    return _OK


def _keeps_ids(modality: Modality) -> Verdict:
    ids, faults = ["b", "a", "c"], FaultList()
    table = RawTable(("id", "y"), (pa.array(ids), pa.array(["1", "2", ""])), lambda row: row + 2)
    arranged = modality.arrange(table, "id", faults, single=("y",))
    if faults or "id" not in arranged.names:
        return Outcome.FAILED, "arrange must keep the id column of a table, and find no fault."
    arranged_ids = arranged.columns[arranged.names.index("id")].to_pylist()
    if arranged_ids != ids or [arranged.row_number(row) for row in range(3)] != [2, 3, 4]:
        return Outcome.FAILED, "arrange must keep rows with different ids, and their numbers."
    return _OK


def _writes_a_sample(modality: Modality) -> Verdict:
    for column in ("y", *modality.sent_columns(("y",))):
        if not isinstance(modality.sample_cell(column, ()), str):
            return Outcome.FAILED, f"sample_cell of {column!r} must return a text."
    return _OK


def _needs_time(modality: Modality) -> Verdict:
    seconds = [modality.seconds(rows, None) for rows in (0, 10)]
    if 0 <= seconds[0] <= seconds[1] < float("inf"):
        return _OK
    return Outcome.FAILED, "seconds must be finite and must not fall with the number of rows."
