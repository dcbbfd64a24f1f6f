"""Headers of two lines, as pandas writes columns of two levels: ``unet,unet`` above ``dice,hd``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from arena.intake.cells import to_text
from arena.types import RawTable
from arena.utils.text import is_number


def with_joined_levels(table: RawTable, value: str | None = None) -> RawTable:
    """Return a table whose names are those of both lines, such as ``unet.dice``.

    The same table if no name is repeated, or the first row does not tell the columns apart. A third
    line may name the columns of the row labels alone.

    Parameters
    ----------
    value
        A name of either level: it becomes the last part of the names.
    """
    if len(set(table.names)) == len(table.names) or not table.n_rows:
        return table
    columns = [to_text(column) for column in table.columns]
    second = [column[0].as_py().strip() for column in columns]
    pairs = list(zip(table.names, second, strict=True))
    counts = Counter(table.names)
    if max(counts[name] for name in counts if name) == 1:  # only columns without a name
        return table
    repeated = [name for upper, name in pairs if counts[upper] > 1]
    if len(set(pairs)) < len(pairs) or any(not name or is_number(name) for name in repeated):
        return table
    if value in table.names and value not in second:
        pairs = [(lower, upper) for upper, lower in pairs]
    names = [".".join(filter(None, pair)) for pair in pairs]
    third = [column[1].as_py().strip() for column in columns] if table.n_rows > 1 else []
    labels = [position for position, name in enumerate(names) if not name]
    n_leading = 1
    if labels and third and {position for position, cell in enumerate(third) if cell} <= {*labels}:
        n_leading = 2
        for position in labels:
            names[position] = third[position]
    return replace(
        table,
        names=tuple(names),
        columns=tuple(column.slice(n_leading) for column in table.columns),
        row_number=lambda position: table.row_number(position + n_leading),
        header_row=None,
    )
