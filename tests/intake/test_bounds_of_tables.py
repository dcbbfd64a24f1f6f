"""Each format is read up to its bounds, and a file beyond a bound is refused in a sentence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.intake import arff_file, parquet_file
from arena.intake.arff_file import read_arff
from arena.intake.arrow_file import read_arrow
from arena.intake.parquet_file import read_parquet
from arena.intake.table import Bounds
from arena.intake.text_lines import read_lines
from arena.interfaces.faults import FaultList, Refused
from arena.types import RawTable
from submission_files import arrow, parquet

TABLE = pa.table({"id": pa.array([1, 2, 3]), "y": pa.array([0.5, 0.25, 0.125])})
PARQUET = parquet(TABLE)
_METADATA = pq.read_metadata(pa.BufferReader(PARQUET)).row_group(0)
UNPACKED = sum(_METADATA.column(column).total_uncompressed_size for column in range(2))
ARROW = arrow(TABLE, pa.ipc.new_stream)
ARFF = b"@relation t\n@attribute id integer\n@attribute y real\n@data\n1,0.5\n2,0.25\n3,0.125\n"


def lines(data: bytes, bounds: Bounds, faults: FaultList) -> RawTable:
    return read_lines(data, "text", bounds, faults)


def blocks(data: bytes, bounds: Bounds, faults: FaultList) -> RawTable:
    return read_lines(data, "text", bounds, faults, blocks=True)


class Case(NamedTuple):
    """A file, the smallest bounds that allow it, and how it is refused under smaller ones."""

    read: Callable[[bytes, Bounds, FaultList], RawTable]
    data: bytes
    least: Bounds
    refusals: tuple[tuple[Bounds, str, str], ...]


ROWS, COLUMNS, SIZE = "too many rows", "too many columns", "file too large"
CASES = {
    "parquet": Case(
        read_parquet, PARQUET, Bounds(3, 2, UNPACKED),
        (
            (Bounds(2, 2, UNPACKED), ROWS, "The file has 3 rows: send one row per id."),
            (Bounds(3, 1, UNPACKED), COLUMNS, "The file has 2 columns."),
            (
                Bounds(3, 2, UNPACKED - 1), SIZE,
                f"The file decompresses to {UNPACKED} bytes, but at most {UNPACKED - 1} are "
                "allowed.",
            ),
        ),
    ),
    # Three numbers of 8 bytes in each of two columns.
    "arrow": Case(
        read_arrow, ARROW, Bounds(3, 2, 48),
        (
            (Bounds(2, 2, 48), ROWS, "The file has at least 3 rows: send one row per id."),
            (Bounds(3, 1, 48), COLUMNS, "The file has 2 columns."),
            (
                Bounds(3, 2, 47), SIZE,
                "The file decompresses to at least 48 bytes, but at most 47 are allowed.",
            ),
        ),
    ),
    # Seven lines: a file may have as many lines as the bounds of rows and of columns together.
    "arff": Case(
        read_arff, ARFF, Bounds(5, 2, 0),
        (
            (Bounds(4, 2, 0), ROWS, "The file has too many lines: send one row per id."),
            (Bounds(5, 1, 0), ROWS, "The file has too many lines: send one row per id."),
        ),
    ),
    "lines": Case(
        lines, b"a\n\nb", Bounds(3, 2, 0),
        ((Bounds(2, 2, 0), ROWS, "The file has 3 lines: send one for each id."),),
    ),
    "blocks": Case(
        blocks, b"a\nb\n\nc\n", Bounds(2, 2, 0),
        ((Bounds(1, 2, 0), ROWS, "The file has 2 blocks: send one for each id."),),
    ),
    "no lines": Case(
        lines, b"\n", Bounds(1, 2, 0),
        ((Bounds(0, 2, 0), ROWS, "The file has 1 line: send one for each id."),),
    ),
}  # fmt: skip


def _refused(read: Callable[..., Any], data: bytes, bounds: Bounds) -> tuple[str, str]:
    faults = FaultList()
    with pytest.raises(Refused):
        read(data, bounds, faults)
    (fault,) = faults.to_tuple()
    return fault.kind, fault.message


@pytest.mark.parametrize("name", CASES)
def test_a_file_is_read_up_to_its_bounds(name: str) -> None:
    case = CASES[name]
    assert case.read(case.data, case.least, FaultList()).columns
    for bounds, kind, message in case.refusals:
        assert _refused(case.read, case.data, bounds) == (kind, message)


def test_rows_that_the_footer_does_not_count_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_file, "_check_size", lambda *_: None)
    assert len(read_parquet(PARQUET, Bounds(3, 2, UNPACKED), FaultList()).columns[0]) == 3
    sentence = "The file has more than 2 rows: send one row per id."
    assert _refused(read_parquet, PARQUET, Bounds(2, 2, UNPACKED)) == (ROWS, sentence)


def test_folded_texts_are_read_up_to_the_bound_of_bytes() -> None:
    """Each of three cells of two bytes counts, though they share one entry of the dictionary."""
    table = pa.table({"id": [1, 2, 3], "y": pa.array(["ab"] * 3).dictionary_encode()})
    for size, names in ((6, ("id", "y")), (5, ("id",))):
        faults = FaultList()
        read = parquet_file.table_of_arrow(table, Bounds(3, 2, size), faults)
        assert read.names == names
        assert [fault.column for fault in faults.to_tuple()] == ["y"][: 2 - len(names)]


def test_a_file_without_content_is_refused() -> None:
    sentence = "The file is empty: send one line for each id."
    assert _refused(lines, b"", Bounds(3, 2, 0)) == ("empty file", sentence)
    sentence = "The file contains no rows: add one row per id."
    no_rows = ARFF[: ARFF.index(b"1,")]
    assert _refused(read_arff, no_rows, Bounds(3, 2, 0)) == ("no rows", sentence)


def test_the_reason_of_an_arff_file_is_cut_at_200_characters_without_its_stop() -> None:
    for text, reason in (
        ("x" * 200, "x" * 200), ("x" * 201, "x" * 199 + "\u2026"), ("Bad line...", "Bad line"),
    ):  # fmt: skip
        assert arff_file.reason_of_parser(ValueError(text)) == reason

    class QuotingError(ValueError):
        line = 7

        def __str__(self) -> str:
            raise TypeError("not enough arguments for format string")

    assert arff_file.reason_of_parser(QuotingError()) == "line 7"
