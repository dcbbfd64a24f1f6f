"""Ids that are no column: several columns joined, as ``location,date``, or numbers of the rows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import pyarrow as pa

from arena.intake.cells import to_text
from arena.intake.text_lines import LINE
from arena.types import RawTable
from arena.utils.lazy import pc

SEPARATOR = "|"


def parts_of(name: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the columns that a name lists, or the name if it is one of them or one is missing.

    >>> parts_of("lp, sid", ("lp", "sid", "text")), parts_of("lp,x", ("lp", "sid"))
    (('lp', 'sid'), ('lp,x',))
    """
    parts = tuple(part.strip() for part in name.split(","))
    return (name,) if name in names or not set(parts) <= set(names) else parts


def with_ids(table: RawTable, name: str, kept_columns: Collection[str] = ()) -> RawTable:
    """Return a table with a column of ids: as :func:`with_joined`, or the numbers of the rows.

    These are the ids if the name is ``line`` and no column has this name.

    >>> with_ids(RawTable(("y",), (pa.array(["b", "a"]),), int), "line").columns[0].to_pylist()
    ['1', '2']
    """
    if name != LINE or name in table.names:
        return with_joined(table, name, kept_columns)
    numbers = pa.array([str(row) for row in range(1, table.n_rows + 1)], pa.string())
    return replace(table, names=(LINE, *table.names), columns=(numbers, *table.columns))


def with_joined(table: RawTable, name: str, kept_columns: Collection[str] = ()) -> RawTable:
    """Return a table in which the columns that a name lists are one column of that name.

    The same table if it has a column of that name, or lacks one that is listed.
    ``kept_columns`` have another role as well.

    Examples
    --------
    >>> columns = (pa.array(["de", "fr"]), pa.array([1, 2]), pa.array(["x", "y"]))
    >>> table = with_joined(RawTable(("lp", "sid", "text"), columns, int), "lp,sid")
    >>> table.names, table.columns[0].to_pylist()
    (('lp,sid', 'text'), ['de|1', 'fr|2'])
    """
    parts = parts_of(name, table.names)
    if parts == (name,):
        return table
    cells = [to_text(table.columns[table.names.index(part)]) for part in parts]
    joined = pc.binary_join_element_wise(*cells, pa.scalar(SEPARATOR))
    empty = pc.equal(joined, SEPARATOR * (len(parts) - 1))
    others = [
        position
        for position, column in enumerate(table.names)
        if column not in parts or column in kept_columns
    ]
    return replace(
        table,
        names=(name, *(table.names[position] for position in others)),
        columns=(pc.if_else(empty, "", joined), *(table.columns[position] for position in others)),
    )
