"""What the program prints on stdout for other programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from arena.cli.console import print_document
from program import write_csv


def test_a_document_is_printed_with_a_line_for_each_value(
    capsys: pytest.CaptureFixture[str],
) -> None:
    document = {"schema": "arena/board/1", "rows": [{"team": "a", "score": 0.5}]}
    print_document(document)
    printed = capsys.readouterr().out
    assert printed == json.dumps(document, indent=2) + "\n"


def test_nothing_is_printed_of_a_document_that_json_cannot_represent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(ValueError, match="JSON"):
        print_document({"team": "a", "score": float("nan")})
    assert capsys.readouterr().out == ""


def test_a_long_list_has_one_line_per_entry(capsys: pytest.CaptureFixture[str]) -> None:
    document = {
        "schema": "arena/test/1",
        "events": [{"text": 'a\n"b"', "own": [number, None]} for number in range(1_001)],
        "empty": [],
        "nested": {"a": [{"b": "c\nd"}]},
    }
    print_document(document)
    printed = capsys.readouterr().out
    assert json.loads(printed) == document
    assert list(json.loads(printed)) == list(document)
    assert len(printed.splitlines()) < 1_030
    short = {**document, "events": document["events"][:1_000]}
    print_document(short)
    assert capsys.readouterr().out == json.dumps(short, indent=2) + "\n"
    with pytest.raises(ValueError, match="JSON"):
        print_document({"scores": [0.5] * 1_001 + [float("nan")]})
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("n_entries", [0, 1, 1_000, 1_001, 1_002, 1_500])
def test_an_iterator_is_printed_as_its_list(
    capsys: pytest.CaptureFixture[str], n_entries: int
) -> None:
    events = [{"number": number} for number in range(n_entries)]
    print_document({"schema": "arena/test/1", "events": events})
    expected = capsys.readouterr().out
    print_document({"schema": "arena/test/1", "events": iter(events)})
    assert capsys.readouterr().out == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ["metrics"],
        ["validate", "solution.csv", "team.csv", "--metric", "accuracy"],
        ["score", "solution.csv", "team.csv", "--metric", "accuracy", "--no-intervals"],
        ["score", "solution.csv", "team.csv", "--metric", "accuracy", "--no-intervals", "--json"],
    ],
)
def test_a_reader_that_closes_the_pipe_is_no_fault(tmp_path: Path, arguments: list[str]) -> None:
    rows = [[f"r{i}", i % 2] for i in range(40)]
    write_csv(tmp_path / "solution.csv", ["id", "y"], rows)
    write_csv(tmp_path / "team.csv", ["id", "y"], rows)
    read, write = os.pipe()
    os.close(read)
    called = subprocess.run(
        [sys.executable, "-m", "arena", *arguments],
        cwd=tmp_path, stdout=write, stderr=subprocess.PIPE, text=True, check=False, timeout=900,
    )  # fmt: skip
    os.close(write)
    assert called.returncode == 1
    assert "arena:" not in called.stderr
