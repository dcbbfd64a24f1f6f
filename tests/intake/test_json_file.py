"""Every form of a JSON document: the table that is read, or why it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from arena.intake.json_file import is_json, read_json
from arena.intake.table import Bounds
from arena.interfaces.faults import FaultList, Refused, fault_lines
from kept import check_kept

ROWS = '[{"id": "a", "y": 1}, {"id": "b", "y": 2.50}]'
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "lines": ('{"id": "a", "y": 1}\n\n{"id": "b", "z": true}\n', {}),
    "a line that is no object": ('{"id": "a"}\n[1]\n', {}),
    "a damaged line": ('{"id": "a"}\n{"id": \n', {}),
    "one object": ('{"id": "a", "y": 1}', {}),
    "one object on several lines": ('{\n"id": "a",\n"y": 1}', {}),
    "a list of objects": (ROWS, {}),
    "a list of values": ("[1, 2]", {}),
    "a list of lists": ("[[1, 2]]", {}),
    "an empty list": ("[]", {}),
    "an empty object": ("{}", {}),
    "a list in an object": (f'{{"rows": {ROWS}, "n": 2}}', {}),
    "two lists in an object": (f'{{"rows": {ROWS}, "others": {ROWS}}}', {}),
    "a list by its key": (f'{{"a": {{"rows": {ROWS}}}, "b": {ROWS}}}', {"records": "a.rows"}),
    "no such key": (f'{{"rows": {ROWS}}}', {"records": "lines"}),
    "no keys": (f'{{"rows": {ROWS}}}', {"records": "rows.x"}),
    "a key of a text": ('{"rows": "x"}', {"records": "rows"}),
    "columns": ('{"id": ["a", "b"], "y": [1, 2]}', {}),
    "columns of other lengths": ('{"id": ["a", "b"], "y": [1]}', {}),
    "names and rows": ('{"columns": ["id", "y"], "data": [["a", 1], ["b", null]]}', {}),
    "names and an index": ('{"columns": ["y"], "index": ["a", "b"], "data": [[1], [2]]}', {}),
    "a name twice": ('{"columns": ["y", "y"], "data": [[1, 2]]}', {}),
    "rows of other lengths": ('{"columns": ["id", "y"], "data": [["a"]]}', {}),
    "columns by row": ('{"y": {"a": 1, "b": 2}, "z": {"b": 3}}', {}),
    "columns by row number": ('{"id": {"0": "a", "1": "b"}, "y": {"0": 1, "1": 2}}', {}),
    "rows by id": ('{"a": {"y": 1}, "b": {"y": 2}}', {"expected": ("id", "y")}),
    "rows by key": ('{"a": {"id": 1}, "b": {"id": 2}}', {"expected": ("id", "y")}),
    "values by id": ('{"a": 1, "b": 2}', {"expected": ("id", "y")}),
    "values by id of several columns": ('{"a": 1, "b": 2}', {"expected": ("id", "y", "z")}),
    "nested cells": ('[{"id": "a", "y": {"b": ["é"], "c": {"d": null}}}]', {}),
    "nested cells as columns": ('[{"id": "a", "y": {"b": [1], "c": {"d": null}}}]', {"flat": True}),
    "numbers as they are written": ("[" + '{"y": 1e3, "z": -0.10, "w": NaN, "v": "é"}' + "]", {}),
    "a key twice": ('[{"y": 1, "y": 2}]', {}),
    "no JSON": ("[{]", {}),
    "three rows": ('[{"y": 1}, {"y": 1}, {"y": 1}]', {}),
    "four rows": ('[{"y": 1}, {"y": 1}, {"y": 1}, {"y": 1}]', {}),
    "five columns": ('[{"a": 1, "b": 1, "c": 1, "d": 1, "e": 1}]', {}),
    "questions": (
        '{"data": [{"paragraphs": [{"qas": [{"id": "q", "answers": [{"text": "x"}]}]}]}]}', {},
    ),
}  # fmt: skip


def test_every_form_of_a_document_is_read_or_refused_in_a_sentence() -> None:
    lines = []
    for form, (text, options) in FORMS.items():
        faults = FaultList()
        lines += ["", f"{form}:"]
        try:
            table = read_json(
                text.encode(), Bounds(3, 4, unpacked_bytes=1000), faults=faults, **options
            )
        except Refused:
            lines += fault_lines(faults.to_tuple())
            continue
        cells = [column.to_pylist() for column in table.columns]
        lines.append(" | ".join(table.names))
        for position, row in enumerate(zip(*cells, strict=True)):
            lines.append(f"{table.row_number(position)}: {' | '.join(row)}")
    check_kept("intake/json-forms.txt", "\n".join(lines) + "\n")


@pytest.mark.parametrize("digits", [4_000, 4_001])
def test_a_whole_number_has_at_most_four_thousand_digits(digits: int) -> None:
    faults = FaultList()
    text = f'[{{"y": {"7" * digits}}}]'.encode()
    if digits == 4_000:
        table = read_json(text, Bounds(3, 4, unpacked_bytes=10_000), faults=faults)
        assert table.columns[0].to_pylist() == ["7" * digits]
        return
    with pytest.raises(Refused):
        read_json(text, Bounds(3, 4, unpacked_bytes=10_000), faults=faults)
    (fault,) = faults.to_tuple()
    assert "a number has 4,001 digits, and at most 4,000 can be" in fault.message


@pytest.mark.parametrize(
    ("text", "is_a_document"),
    [
        ("[1, 2]", True),
        ("[1, 2", False),
        ('["a"]', True),
        ("[-1]", True),
        ("[a]", False),
        ("{}", True),
        ("{x}", False),
        (" " * 4_095 + "[[", False),
        (" " * 4_094 + "[[", True),
        ("[1," + " " * 5_000 + "2]" + " " * 4_095, True),
        ("[1," + " " * 5_000 + "2]" + " " * 4_096, False),
    ],
)
def test_the_first_and_the_last_four_kibibytes_tell_a_document(
    text: str, is_a_document: bool
) -> None:
    assert is_json(text.encode()) is is_a_document
