"""A first line of data is refused at every entrance, and files without a header are read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import arena
from arena.errors import InputError
from arena.intake import CaseColumns, SubmissionForm, parse_submission, read_case_table
from arena.intake import read_solution as read
from arena.scoring.submissions import header_of
from arena.scoring.validation import validate
from arena.types import PredictionKind, SolutionColumns

Write = Callable[[str, str], Path]

DATA_FIRST = {
    "number": "a,1\nb,0\nc,1\n",
    "fraction": "a,0.25\nb,0.5\nc,1.5\n",
    "ids": "s1,cat\ns2,dog\ns3,cat\n",
    "ids alone": "img_07.png,x\nimg_08.png,y\nimg_10.png,z\n",
    "a label again": "a\tcat\nb\tdog\nc\tcat\n",
    "usage": "a,cat,Public\nb,dog,Private\nc,eel,Public\n",
    "equal numbers": "a,0,0\nb,1,0\nc,0,1\n",
}
HEADER_FIRST = {
    "plain": "id,y\na,1\nb,0\n",
    "labels": "id,0,1,2\na,1,0,0\nb,0,1,0\nc,0,0,1\n",
    "years": "id,2023,2024\na,1,0\nb,0,1\n",
    "id with a digit": "id1,y\n10,1\n11,0\n",
    "words": "id,word\n" + "".join(f"{i},w{i % 7}\n" for i in range(300)) + "300,word\n",
    "index": ",y\n0,1\n1,0\n",
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    return to_file


@pytest.mark.parametrize("text", DATA_FIRST.values(), ids=DATA_FIRST)
def test_data_in_the_place_of_names_is_refused(write: Write, text: str) -> None:
    path = write("gold.csv", text)
    kind = PredictionKind.CLASS_PROBABILITIES
    with pytest.raises(InputError, match=r"row 1: The first line seems to hold data.*--no-header"):
        read(path, kind=kind)
    with pytest.raises(InputError, match=r"row 1: The first line seems to hold data.*--no-header"):
        read_case_table(path)
    n_names = 3 if text.count(",") == 6 else 2
    names = ("id", "y", "Usage" if "Public" in text else "z")[:n_names]
    columns = SolutionColumns(no_header=names, targets=tuple({"y", "z"} & set(names)))
    assert read(path, kind=PredictionKind.TEXT, columns=columns).n_rows == 3


@pytest.mark.parametrize("text", HEADER_FIRST.values(), ids=HEADER_FIRST)
def test_names_are_names(write: Write, text: str) -> None:
    path = write("gold.csv", text)
    names = text.partition("\n")[0].split(",")
    read_rows = read(path, kind=PredictionKind.TEXT, columns=SolutionColumns(targets=(names[1],)))
    assert read_rows.n_rows == text.count("\n") - 1
    if len(names) == 2:
        assert read(path, kind=PredictionKind.LABEL).targets[0].name == names[1]


def test_a_named_column_says_that_the_first_line_is_a_header(write: Write) -> None:
    path = write("gold.csv", "a,1\nb,0\nc,1\n")
    named = SolutionColumns(targets=("1",))
    assert read(path, kind=PredictionKind.LABEL, columns=named).ids.to_pylist() == ["b", "c"]


@pytest.mark.slow
def test_files_without_a_header_are_scored_with_and_without_one(write: Write) -> None:
    gold = write("gold.csv", "s1,1\ns2,0\ns3,1\ns4,0\n")
    for name in ("bare", "named"):
        head = "id,y\n" if name == "named" else ""
        write(f"sent/{name}.csv", head + "s4,0.5\ns2,0.2\ns3,0.7\ns1,0.9\n")
    folder, names = gold.parent / "sent", ["id", "y"]
    board = arena.score(gold, folder, metric="brier", no_header=names, intervals=False)
    assert [standing["score"] for standing in board.standings] == [
        pytest.approx((0.25 + 0.04 + 0.1) / 4)
    ] * 2
    columns = SolutionColumns(no_header=("id", "y"))
    assert len(validate(gold, folder, "brier", columns)[0]) == 2
    rejected = validate(gold, folder, "brier", SolutionColumns(targets=("1",)))[1]
    assert "no header" in {fault.kind for submission in rejected for fault in submission.faults}


def test_columns_without_a_header_come_in_the_order_of_the_names() -> None:
    solution: Any = SimpleNamespace(id_column="id", columns=("b", "a", "more"))
    assert header_of(solution, ("a", "Usage", "id", "b")) == ("a", "id", "b", "more")
    assert header_of(solution, ("text",)) == ("text",)
    assert header_of(solution, ()) == ()


def test_rows_of_a_file_without_a_header_are_counted_from_its_first_line(write: Write) -> None:
    gold = write("gold.csv", "y,i\n1,a\n0,b\n1,c\n")
    solution = read(gold, kind=PredictionKind.VALUE, columns=SolutionColumns(id="i"))
    form = SubmissionForm.of(solution, header=("y", "i"))
    faults = parse_submission(write("t.csv", "1,a\n\nx,b\n2\n3,c\n"), form).faults
    assert [(fault.kind, fault.row) for fault in faults if fault.row] == [
        ("too few fields", 4),
        ("not a number", 3),
    ]
    (fault,) = parse_submission(write("t.csv", "1\n2\n"), form).faults
    assert (fault.kind, fault.row) == ("wrong number of columns", 1)


def test_a_table_without_a_header_is_ranked(write: Write) -> None:
    path = write("dice.csv", "u,c1,0.3\nu,c2,0.5\nv,c1,0.2\nv,c2,0.4\n")
    columns = CaseColumns(no_header=("algorithm", "case", "value"))
    assert read_case_table(path, columns).values.tolist() == [0.3, 0.5, 0.2, 0.4]
