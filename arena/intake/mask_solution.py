"""Reads a folder or ZIP archive of mask files as the table of a solution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from arena.intake.cells import to_text
from arena.intake.mask_files import LABEL_SEPARATOR, MaskTable, mask_columns, read_masks
from arena.intake.submission import read_table
from arena.intake.table import SOLUTION_BOUNDS, count_from_one
from arena.interfaces import ReadFile
from arena.interfaces.faults import FaultList, show
from arena.types import RawTable, SolutionColumns

MASK_COLUMN = "mask"
"""The column of the run-length encodings."""
CASE_COLUMN, LABEL_COLUMN = "case", "label"
"""The columns that masks with several labels get: rows of a case belong together."""
_ID = "id"


def read_mask_solution(
    path: Path,
    columns: SolutionColumns,
    faults: FaultList,
    *,
    max_bytes: int,
) -> ReadFile:
    """Return the masks of a folder or ZIP archive as the table of a solution.

    The table has a row for each case, or for each case and label if the files have several values:
    id, mask, the sizes and spacings, and ``case`` and ``label``; the masks of a case are then a
    group, unless another column of groups is named. One CSV file beside the masks may
    give further columns, such as Usage or a patient, with a row for each case.

    Raises
    ------
    Refused
        If it cannot be read at all; the fault has been added.
    """
    id_name = columns.id or _ID
    masks = read_masks(path, (id_name, MASK_COLUMN), faults, max_bytes=max_bytes, is_truth=True)
    named: dict[str, Any] = {
        id_name: masks.table.columns[0],
        MASK_COLUMN: masks.table.columns[1],
        **{name: pa.array(values) for name, values in mask_columns(masks).items()},
    }
    if any(masks.labels):
        named[CASE_COLUMN] = pa.array(masks.cases, pa.string())
        named[LABEL_COLUMN] = pa.array(map(str, masks.labels), pa.string())
    others = _of_cases(masks, columns.id, faults)
    table = RawTable(
        (*named, *(name for name, _ in others)),
        (*named.values(), *(values for _, values in others)),
        count_from_one,
    )
    if not columns.targets:
        columns = replace(columns, targets=(MASK_COLUMN,))
    if any(masks.labels) and columns.cluster is None:
        columns = replace(columns, cluster=CASE_COLUMN)
    return ReadFile(table, masks.sha256, replace(columns, id=id_name))


def _of_cases(
    masks: MaskTable, id_name: str | None, faults: FaultList
) -> Sequence[tuple[str, Any]]:
    """Return the columns of the CSV file beside the masks, one value for each mask."""
    if not masks.tables:
        return ()
    if len(masks.tables) > 1:
        names = ", ".join(show(name) for name, _ in masks.tables)
        faults.refuse("several tables", f"There are several CSV files: {names}. Keep one of them.")
    name, data = masks.tables[0]
    table = read_table(data, (), SOLUTION_BOUNDS, faults, name=name)
    listed = list(table.names)
    key = next((column for column in (id_name, _ID) if column in listed), listed[0])
    ids = to_text(table.columns[listed.index(key)]).to_pylist()
    rows: dict[str, int] = {}
    for row, case in enumerate(ids):
        if case in rows:
            faults.add("duplicate id", f"{show(name)} has this case twice: keep one row.", id=case)
        rows.setdefault(case, row)
    cases = set(masks.cases)
    for case in sorted(cases - set(rows)):
        faults.add("missing id", f"{show(name)} has no row for this case: add one.", id=case)
    for case in sorted(set(rows) - cases):
        hint = (
            f" It has a row for each case, not for each label: leave out {LABEL_SEPARATOR!r}."
            if case.rpartition(LABEL_SEPARATOR)[0] in cases
            else ""
        )
        faults.add(
            "unknown id", f"There is no mask file for this row of {show(name)}.{hint}", id=case
        )
    if faults:
        return ()
    order = pa.array([rows[case] for case in masks.cases])
    return [
        (column, to_text(cells).take(order))
        for column, cells in zip(listed, table.columns, strict=True)
        if column != key
    ]
