"""How many rows each submission has, where rows were added during a competition."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from arena.errors import StoreFormatError
from arena.store.row_counts import LengtheningReader, RowCounts


def selected(text: str | None) -> RowCounts:
    """Return the row counts of a database that stores this text; with None it stores no value."""
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE meta AS SELECT 'seed' AS name, '[[0, 1]]' AS value")
        if text is not None:
            connection.execute("INSERT INTO meta VALUES ('row_counts', ?)", [text])
        return RowCounts.select(connection, 7)


def test_submissions_have_the_rows_that_there_were_when_they_were_sent() -> None:
    assert selected(None) == RowCounts((0,), (7,))
    counts = selected("[[0, 5], [3, 9]]")
    assert counts.of([0, 1, 2, 3, 4]).tolist() == [5, 5, 5, 9, 9]
    assert counts.cells(2)([2, 3]).tolist() == [10, 18]
    assert counts.grown(6, 12).to_text() == "[[0, 5], [3, 9], [6, 12]]"
    # Of several additions before the next submission, the last one counts.
    assert counts.grown(3, 12).to_text() == "[[0, 5], [3, 12]]"


@pytest.mark.few(4)
@pytest.mark.parametrize(
    "text",
    [
        "no JSON", "7", "[]", "[7]", "[[0]]", "[[0, 5], [3]]", "[[0, 5, 1]]", '[[0, "5"]]',
        "[[0, 5.0]]", "[[false, 5]]", "[[-1, 5]]", "[[0, 0]]", "[[3, 5], [3, 9]]",
        "[[3, 5], [0, 9]]", "[[0, 5], [3, 5]]", "[[0, 9], [3, 5]]", f"[[0, {2**62}]]",
    ],
)  # fmt: skip
def test_a_value_that_arena_does_not_write_is_a_damaged_database(text: str) -> None:
    with pytest.raises(StoreFormatError, match="The value 'row_counts' in meta, which .* changed"):
        selected(text)
    assert selected(f"[[0, {2**62 - 1}]]").counts == (2**62 - 1,)


def test_a_reader_of_several_lengths_is_sent_to_workers_if_each_can_be() -> None:
    counts = RowCounts((0, 3), (5, 9))
    here: Any = SimpleNamespace(for_workers=lambda: None)
    anywhere: Any = SimpleNamespace(for_workers=lambda: "there")
    assert LengtheningReader(counts, {5: anywhere, 9: here}, n_rows=9).for_workers() is None
    reader = LengtheningReader(counts, {5: anywhere, 9: anywhere}, n_rows=9).for_workers()
    assert reader is not None
    assert reader.readers == {5: "there", 9: "there"}
    assert (reader.n_rows, reader.row_counts) == (9, counts)
