"""Tables with several rows per id: one row per id, whose cells hold lists.

A metric that declares ``rows="any"`` scores sets of rows: the boxes of an image, the answers of
several annotators. Everything else in arena has one row per id: ids are checked, resampled, split
into public and private, and held out as whole sets.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa

from arena.intake.cells import to_text
from arena.interfaces.faults import FaultList, show
from arena.types import RawTable


def fold_rows(
    table: RawTable, id_column: str, faults: FaultList, *, single: Collection[str] = ()
) -> RawTable:
    """Return a table with one row per id, in the order in which the ids first occur.

    A cell is the JSON list of the texts of the rows of its id. In the columns ``single`` all rows
    of an id must have the same text, and the cell is that text; else a fault is added.
    """
    ids = to_text(table.columns[table.names.index(id_column)])
    encoded = ids.dictionary_encode()
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    first = order[starts[:-1]]
    columns = []
    for name, column in zip(table.names, table.columns, strict=True):
        if name == id_column:
            columns.append(encoded.dictionary)
            continue
        texts = to_text(column)
        cells = texts.take(pa.array(order)).to_pylist()
        sets = [cells[start:stop] for start, stop in itertools.pairwise(starts)]
        if name not in single:
            columns.append(pa.array(map(json.dumps, sets), pa.string()))
            continue
        columns.append(texts.take(pa.array(first)))
        for position, row_set in enumerate(sets):
            if len(set(row_set)) > 1:
                message = (
                    f"The rows of id {show(encoded.dictionary[position].as_py())} differ here."
                )
                row = table.row_number(int(first[position]))
                faults.add("different in one id", message, column=name, row=row)
    return RawTable(
        table.names,
        tuple(columns),
        row_number=lambda position: table.row_number(int(first[position])),
        header_row=table.header_row,
        decimal_comma=table.decimal_comma,
    )


def rows_of_cells(cells: Sequence[str]) -> tuple[list[list[str]], list[int]]:
    """Return the lists in folded cells, and their lengths.

    >>> rows_of_cells(['["1", "2"]', '["3"]'])
    ([['1', '2'], ['3']], [2, 1])
    """
    lists = [json.loads(cell) if cell else [] for cell in cells]
    return lists, [len(cell) for cell in lists]
