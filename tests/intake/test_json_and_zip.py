"""Submissions as JSON Lines, as a JSON list, and as one file in a ZIP archive."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any

import pytest

from arena.intake import find_submissions
from arena.types import PredictionKind
from submission_files import N_ROWS, Send, Solve, kinds, only, rows_of, zipped

PLAIN = ("id,y\n" + rows_of()).encode()
ROWS = [{"id": f"{row:03d}", "y": row / N_ROWS} for row in range(N_ROWS)]
LINES = "\n".join(map(json.dumps, ROWS[::-1])) + "\n\n"


@pytest.mark.parametrize(
    "content", [LINES, json.dumps(ROWS), json.dumps(ROWS, indent=1), "\ufeff" + LINES]
)
def test_one_object_per_row_is_read(send: Send, content: str) -> None:
    read = send(content, name="t.jsonl")
    assert read.values is not None
    assert read.values[:, 0].tolist() == [row["y"] for row in ROWS]


def test_faults_name_the_line_of_the_object(send: Send) -> None:
    lines = [json.dumps(row) for row in ROWS]
    lines[2] = '{"id": "002"}'
    lines[4] = '{"id": "004", "y": [0.5]}'
    read = send("\n".join(lines))
    assert {fault.row for fault in read.faults} == {3, 5}
    assert kinds(read) == {"empty cell", "not a number"}
    broken = send('{"id": "000", "y": 1}\n{"id": "001", "y": }\n')
    assert only(broken, "damaged file").row == 2
    for content in ('[{"id": 1}, 2]', '{"a": 1, "a": 2}', "[" * 100_000, "[[1, 2]]", "[{}]"):
        assert send(content).values is None


def test_texts_are_kept_as_they_are_written(send: Send, solve: Solve) -> None:
    solution = solve("id,y\n1,a\n2,b\n", PredictionKind.TEXT)
    read = send('{"id": 1, "y": 0.10}\n{"id": 2, "y": {"box": [1, 2.5]}}', solution)
    assert read.values is not None
    assert read.values[:, 0].tolist() == ["0.10", '{"box": [1, 2.5]}']


def test_a_solution_may_be_json_lines(solve: Solve) -> None:
    solution = solve('{"id": 7, "y": "cat"}\n{"id": 8, "y": "dog"}', PredictionKind.LABEL)
    assert solution.ids.to_pylist() == ["7", "8"]
    assert solution.targets[0].classes == ("cat", "dog")


def test_a_zip_archive_with_one_file_is_read(send: Send) -> None:
    packed = zipped({"__MACOSX/._t.csv": b"x", ".DS_Store": b"", "deep/t.csv": PLAIN})
    read = send(packed, name="t.zip")
    assert read.values is not None
    assert read.sha256 == hashlib.sha256(packed).hexdigest()


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (zipped({"a.csv": PLAIN, "b.csv": PLAIN}), "wrong format", "contains 2 files: send"),
        (zipped({}) + b"", "wrong format", ""),
        (zipped({"a.csv": PLAIN})[:-30], "damaged file", "is damaged"),
        (zipped({"a.csv": PLAIN}).replace(b"\x08\x00", b"\x63\x00"), "damaged file", "is damaged"),
        (zipped({"a.zip": zipped({"a.csv": PLAIN})}), "wrong format", "compressed twice"),
        (gzip.compress(zipped({"a.csv": PLAIN}), mtime=0), "wrong format", "compressed twice"),
        (zipped({"a.pdf": b"%PDF-1.7"}), "wrong format", "This is a PDF"),
        (zipped({"a.csv": bytes(2**22)}), "file too large", "decompression was stopped"),
    ],
)
def test_other_zip_archives_are_refused(send: Send, content: bytes, kind: str, said: str) -> None:
    read = send(content, name="t.zip", max_bytes=2**21)
    assert read.values is None
    if said:
        assert said in only(read, kind).message


def test_the_team_is_the_name_without_the_suffixes(tmp_path: Any) -> None:
    for name in ("a.csv.zip", "b.jsonl", "c.json.gz"):
        (tmp_path / name).touch()
    assert [file.team for file in find_submissions([tmp_path])] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("columns", "data", "said"),
    [
        ("5", "5", "list of names"),
        ('["id"]', "5", "list of names"),
        ('["id"]', "[5]", "list of names"),
        ('["id", "y"]', "[[5]]", "list of names"),
        ("null", "[]", "list of names"),
        ('["id", "y", "y"]', '[["000", 1, 0]]', "twice"),
    ],
)
def test_columns_and_data_of_another_form_are_refused(
    send: Send, columns: str, data: str, said: str
) -> None:
    read = send(f'{{"columns": {columns}, "data": {data}}}')
    assert said in only(read, "damaged file").message


ARFF = "@relation r\n@attribute id string\n@attribute y integer\n@data\n"


def test_a_column_of_integers_in_arff_keeps_fractions(send: Send, solve: Solve) -> None:
    solution = solve("id,y\na,1\nb,2\n", PredictionKind.VALUE)
    read = send(f"{ARFF}a,0.7\nb,3\n", solution)
    assert read.values is not None
    assert read.values[:, 0].tolist() == [0.7, 3.0]


@pytest.mark.parametrize("data", ["a,inf\n", "a,1e999\n", "{0 a}{\n", "{0 a%\n", "a,'\\ud800'\n"])
def test_damaged_arff_is_refused(send: Send, data: str) -> None:
    assert send(ARFF + data).values is None
