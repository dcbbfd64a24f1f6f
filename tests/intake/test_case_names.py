"""Tables with the names and words that other programs give their columns and cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.errors import ArenaError
from arena.intake import CaseColumns, read_case_table, read_solution
from arena.types import PredictionKind, Usage

ROWS = (("A", 7.0), ("B", 5.5))


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_usual_names_of_columns_and_row_names_are_recognised(tmp_path: Path) -> None:
    text = '"","task","alg_name","value","case"\n"1","t","A",0.5,1\n"2","t","B",0.25,1\n'
    table = read_case_table(write(tmp_path / "r.csv", text))
    assert table.algorithms.to_pylist() == ["A", "B"]
    assert table.values.tolist() == [0.5, 0.25]
    assert "Column 'alg_name' holds the algorithms; --algorithm" in table.notes[0]
    text = "System,seg_id,score\nA,7,1\nB,7,0\n"
    table = read_case_table(write(tmp_path / "wmt.csv", text))
    assert table.cases.to_pylist() == ["7", "7"]
    assert table.metric == "score"
    assert "Column 'System' holds the algorithms, and 'seg_id' the cases" in table.notes[0]
    text = "Method,Patient,DSC\nA,p1,0.5\nB,p1,0.25\n"
    table = read_case_table(write(tmp_path / "dsc.csv", text))
    assert (table.cases.to_pylist(), table.metric) == (["p1", "p1"], "DSC")


def test_patients_are_no_cases_where_there_are_images(tmp_path: Path) -> None:
    text = "method,patient,image,dice\nA,p,1,0.5\nA,p,2,0.25\n"
    table = read_case_table(write(tmp_path / "dice.csv", text), CaseColumns(value="dice"))
    assert table.cases.to_pylist() == ["1", "2"]


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_tables_of_records_are_read(tmp_path: Path, ending: str) -> None:
    rows = [f'{{"model": "{name}", "question_id": 1, "score": {value}}}' for name, value in ROWS]
    text = f"[{', '.join(rows)}]" if ending == ".json" else "\n".join(rows)
    table = read_case_table(write(tmp_path / f"judged{ending}", text))
    assert table.algorithms.to_pylist() == [name for name, _ in ROWS]
    assert table.values.tolist() == [value for _, value in ROWS]


def test_a_wide_table_may_have_an_algorithm_with_such_a_name(tmp_path: Path) -> None:
    table = read_case_table(write(tmp_path / "wide.csv", "id,model,system\n1,0.5,NA\n2,0.25,1\n"))
    assert list(table.algorithms) == ["model", "model", "system", "system"]
    assert table.notes == ()


def test_what_is_named_or_ambiguous_is_not_guessed(tmp_path: Path) -> None:
    text = "method,model,case,value\nA,x,1,0.5\nB,x,1,0.25\n"
    path = write(tmp_path / "two.csv", text)
    with pytest.raises(ArenaError):
        read_case_table(path)
    named = read_case_table(path, CaseColumns(algorithm="method", value="value"))
    assert named.algorithms.to_pylist() == ["A", "B"]
    assert named.notes == ()


def test_the_older_words_of_kaggle_say_which_rows_are_public(tmp_path: Path) -> None:
    text = "id,y,Usage\na,1,PublicTest\nb,0,PrivateTest\nc,1,privatetest\nd,1,Ignored\n"
    path = write(tmp_path / "solution.csv", text)
    solution = read_solution(path, kind=PredictionKind.LABEL)
    expected = [Usage.PUBLIC, Usage.PRIVATE, Usage.PRIVATE, Usage.IGNORED]
    assert solution.usage.tolist() == expected
    path.write_text(text.replace("privatetest", "Test"))
    with pytest.raises(ArenaError, match="'Test' is not Public, Private or Ignored"):
        read_solution(path, kind=PredictionKind.LABEL)
