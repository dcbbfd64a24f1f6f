"""A file in an unusual form is read as it is meant, or refused: it never has another number."""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.types import PredictionKind, SolutionColumns

IDS = [f"r{row}" for row in range(6)]
VALUES = [1.5, 2.25, -3.0, 1000.0, 0.001, 12.0]
_DIGITS = {"Arabic": 0x660, "wide": 0xFF10, "Bengali": 0x9E6}
"""The character that writes 0."""


def _grouped(point: str, group: str) -> Callable[[float], str]:
    marks = str.maketrans({",": group, ".": point})
    return lambda value: f"{value:,.3f}".translate(marks)


def _in_digits(zero: int) -> Callable[[float], str]:
    digits = {ord("0") + digit: zero + digit for digit in range(10)}
    return lambda value: str(value).translate(digits)


NUMBERS: dict[str, Callable[[float], str]] = {
    **{f"group {group!r}": _grouped(".", group) for group in ("'", " ", "\u00a0", "\u202f", "_")},
    "groups of India": lambda value: "1,0,00.0" if value == 1000 else str(value),
    "groups of Europe": _grouped(",", "."),
    **{name: _in_digits(zero) for name, zero in _DIGITS.items()},
    "another minus": lambda value: str(value).replace("-", "\u2212"),
    "brackets": lambda value: f"({-value})" if value < 0 else str(value),
    "minus behind": lambda value: f"{-value}-" if value < 0 else str(value),
    "percent": lambda value: f"{value}%",
    "money": lambda value: f"${value}",
    "unit": lambda value: f"{value} kg",
    "plus": lambda value: f"{value:+}",
    "Fortran": lambda value: f"{value:.4e}".replace("e", "D"),
    "power": lambda value: f"{value:.6E}".replace("E+0", " * 10^"),
    "hexadecimal": float.hex,
    "bits": lambda value: struct.pack(">d", value).hex(),
    "fraction": lambda value: "3/2" if value == 1.5 else str(value),
    "half": lambda value: "1½" if value == 1.5 else str(value),
    "superscript": lambda value: "10³" if value == 1000 else str(value),
    "about": lambda value: f"~{value}",
    "thousand": lambda value: "1k" if value == 1000 else str(value),
    "a list": lambda value: f"[{value}]",
    "a tensor": lambda value: f"tensor({value})",
    "of numpy": lambda value: f"np.float64({value})",
    "complex": lambda value: f"{value}+0j",
    "formula": lambda value: f'="{value}"',
    "apostrophe": lambda value: f"'{value}",
    "a month": lambda value: "1-May" if value == 1.5 else str(value),
    "a date": lambda value: "2026-05-01" if value == 1.5 else str(value),
    "a time": lambda value: "12:00" if value == 12 else str(value),
    "infinite": lambda value: "inf" if value == 1000 else str(value),
    "dash": lambda value: "-" if value == 1000 else str(value),
    "not available": lambda value: "#N/A" if value == 1000 else str(value),
}  # fmt: skip
TEXT = "id,y\n" + "".join(f"{id},{value}\n" for id, value in zip(IDS, VALUES, strict=True))
FILES: dict[str, bytes] = {
    **{name: TEXT.encode(name) for name in
       ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037", "gb18030")},
    **{f"line end {end!r}": TEXT.replace("\n", end).encode()
       for end in ("\r", "\n\r", "\r\r\n", "\n\n", "\x0c\n", "\x85", "\u2028")},
    **{f"delimiter {mark!r}": TEXT.replace(",", mark).encode()
       for mark in (";", "\t", "|", ":", "^", "\x01", "\x1f", "  ", ", ", " , ")},
    **{f"quote {quote!r}": "\n".join(
        f"{quote[0]}{line.replace(',', f'{quote[1]},{quote[0]}')}{quote[1]}"
        for line in TEXT.splitlines()).encode() for quote in ('""', "''", "“”", "``")},
    **{f"{mark!r} in an id": TEXT.replace("r3", f"r{mark}3").encode()
       for mark in ("\0", "\ufeff", "\u200b", "\u202e", "\u00ad", "\\", '"')},
    "title": f"Results\n{TEXT}".encode(),
    "total": f"{TEXT}Total,1012.751\n".encode(),
    "twice": f"{TEXT}{TEXT}".encode(),
    "end of file": f"{TEXT}\x1a".encode(),
    "two marks": f"\ufeff\ufeff{TEXT}".encode(),
    "units": TEXT.replace("id,y\n", "id,y\n-,kg\n").encode(),
    "Markdown": TEXT.replace("id,y\n", "id,y\n-,-\n").replace(",", " | ").encode(),
    "gzip": gzip.compress(TEXT.encode()),
    "gzip twice": gzip.compress(gzip.compress(TEXT.encode())),
    "bzip2": bz2.compress(TEXT.encode()),
    "xz": lzma.compress(TEXT.encode()),
    "Zstandard": pa.compress(TEXT.encode(), "zstd", asbytes=True),
    "upper case": TEXT.upper().encode(),
}  # fmt: skip
TABLES: dict[str, Any] = {
    "dictionary": pa.array(VALUES).dictionary_encode(),
    "texts": [str(value) for value in VALUES],
    "decimals": [Decimal(str(value)) for value in VALUES],
    "lists": [[value] for value in VALUES],
    "structs": [{"y": value} for value in VALUES],
    "map": pa.array([[("y", value)] for value in VALUES], pa.map_(pa.string(), pa.float64())),
    "nothing": pa.nulls(len(VALUES)),
    "gaps": [None if value == 1000 else value for value in VALUES],
    "times": pa.array([int(value) for value in VALUES], pa.timestamp("s")),
    "dates": pa.array([int(value) for value in VALUES], pa.date32()),
    "bytes": [str(value).encode() for value in VALUES],
}


@pytest.fixture
def form(tmp_path: Path) -> SubmissionForm:
    path = tmp_path / "solution.csv"
    path.write_text(TEXT)
    columns = SolutionColumns(targets=("y",))
    return SubmissionForm.of(read_solution(path, kind=PredictionKind.VALUE, columns=columns))


@pytest.mark.slow
def test_no_form_has_other_numbers(form: SubmissionForm, tmp_path: Path) -> None:
    written = {
        f"number {name}": b"id;y\n"
        + "".join(f"{id};{write(value)}\n" for id, value in zip(IDS, VALUES, strict=True)).encode()
        for name, write in NUMBERS.items()
    }
    outcomes = {"read": 0, "refused": 0}
    for name, data in {**written, **FILES}.items():
        path = tmp_path / "sent.csv"
        path.write_bytes(data)
        outcomes[_outcome(form, path, name)] += 1
    for name, values in TABLES.items():
        path = tmp_path / "sent.parquet"
        pq.write_table(pa.table({"id": IDS, "y": values}), path)
        outcomes[_outcome(form, path, name)] += 1
        for new in (pa.ipc.new_file, pa.ipc.new_stream):
            table = pa.table({"id": IDS, "y": values})
            with new(path, table.schema) as writer:
                writer.write_table(table)
            outcomes[_outcome(form, path, name)] += 1
    assert min(outcomes.values()) > 10, outcomes


def _outcome(form: SubmissionForm, path: Path, name: str) -> str:
    read = parse_submission(path, form)
    if read.values is None:
        assert read.faults, name
        return "refused"
    np.testing.assert_array_equal(np.asarray(read.values).ravel(), VALUES, err_msg=name)
    return "read"
