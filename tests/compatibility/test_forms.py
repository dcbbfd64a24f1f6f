"""The forms in which files really come: each gives the same arrays as the plain one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError
from arena.intake import CaseColumns, SubmissionForm, parse_submission, read_solution
from arena.plugin.manager import PluginManager
from arena.scoring.rank import CaseSettings, rank, read_cases
from arena.types import PredictionKind, SolutionColumns

MANAGER = PluginManager()
BOARD = {"a": 0.75, "b": 0.5}
RECORDS = [
    {"algorithm": name, "case": case, "value": value}
    for name, values in {"a": (1.0, 0.5), "b": (0.75, 0.25)}.items()
    for case, value in zip("xy", values, strict=True)
]
BY_NAME = {"a": {"x": 1.0, "y": 0.5}, "b": {"x": 0.75, "y": 0.25}}
COLUMNS = {key: [record[key] for record in RECORDS] for key in ("algorithm", "case", "value")}
NESTED = [{"model": record["algorithm"], "case": record["case"], "scores": {"ari": record["value"]}}
          for record in RECORDS]  # fmt: skip
THREE = "classifierName,dataset_name,accuracy\n" + "".join(
    f"{record['algorithm']},{record['case']},{record['value']}\n" for record in RECORDS
)

TABLES: dict[str, tuple[Any, CaseColumns]] = {
    "records": (RECORDS, CaseColumns()),
    "records under a key": ({"performances": RECORDS, "version": 2}, CaseColumns()),
    "records under a path": (
        {"results": {"rows": RECORDS, "more": [{"z": 1}]}},
        CaseColumns(records="results.rows"),
    ),
    "columns": (COLUMNS, CaseColumns()),
    "values by algorithm and case": (BY_NAME, CaseColumns()),
    "pandas, columns": (
        {
            key: {str(position): cell for position, cell in enumerate(cells)}
            for key, cells in COLUMNS.items()
        },
        CaseColumns(),
    ),
    "pandas, split": (
        {
            "columns": list(COLUMNS),
            "index": [0, 1, 2, 3],
            "data": [list(record.values()) for record in RECORDS],
        },
        CaseColumns(),
    ),
    "nested cells": (NESTED, CaseColumns(value="scores.ari")),
    "values nested under algorithms": (
        [
            {
                "q": case,
                "gold": "x",
                **{name: {"ok": BY_NAME[name][case], "text": "-"} for name in "ab"},
            }
            for case in "xy"
        ],
        CaseColumns(case="q", value="ok"),
    ),
    "three columns": (THREE, CaseColumns()),
    "columns of a case": (
        "algorithm,place,day,value\na,x,1,1\na,x,2,.5\nb,x,1,.75\nb,x,2,.25\n",
        CaseColumns(case="place,day"),
    ),
    "a column of a case that is a group too": (
        "algorithm,place,day,value\na,x,1,1\na,x,2,.5\nb,x,1,.75\nb,x,2,.25\n",
        CaseColumns(case="place,day", cluster="day", task="place"),
    ),
    "a column for each case": (
        "model,note,x,y,z\na,-,1,.5,\nb,-,.75,.25,\n",
        CaseColumns(algorithm="model", case="columns", value="[xy]"),
    ),
    "columns of numbers": (
        "algorithm,note,x,y\na,-,1,.5\nb,-,.75,.25\n",
        CaseColumns(case="columns"),
    ),
    "two lines of names": (
        ",a,a,b,b\n,dice,hd,dice,hd\ncase,,,,\nx,1,3,.75,5\ny,.5,2,.25,4\n",
        CaseColumns(value="dice"),
    ),
    "two lines of names, the values above": (
        "case,dice,dice,hd,hd\n,a,b,a,b\nx,1,.75,3,5\ny,.5,.25,2,4\n",
        CaseColumns(value="dice"),
    ),
    "ARFF": (
        "% by x\n@RELATION t\n@ATTRIBUTE algorithm {a,b}\n@ATTRIBUTE 'case' STRING\n"
        "@ATTRIBUTE value NUMERIC\n@DATA\na,'x 1',1\na,y,0.5\nb,'x 1',0.75\nb,y,0.25\n",
        CaseColumns(),
    ),
    "words of a case": (
        "case,a,b,kind\nx,1,.75,bird\ny,.5,.25,NA\n",
        CaseColumns(),
    ),
    "right and wrong beside words": (
        "case,a,b,kind\nw,True,True,bird\nx,true,true,fish\ny,True,False,NA\nz,False,False,fox\n",
        CaseColumns(),
    ),
    "numbers above the names": (
        ",Class->,7,7,9,9\nteam,no,f1,hd,f1,hd\na,1,1,2,.5,3\nb,2,.75,2,.25,3\n",
        CaseColumns(algorithm="team", case="columns", value="*.f1"),
    ),
    "sums of cases": (
        "case,a,b,Average\nx,1,.75,.875\ny,.5,.25,.375\nMean,.8,.5,.6\nTotal,1.5,1,1.25\n",
        CaseColumns(),
    ),
    "unnumbered repeats": (
        "algorithm,case,value\na,x,1\na,x,1\na,y,.5\nb,x,.5\nb,x,1\nb,y,.25\n",
        CaseColumns(repeat="auto"),
    ),
}


def _scores(board: Any) -> dict[str, float]:
    return {standing["team"]: standing["score"] for standing in board.standings}


def _write(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(("content", "columns"), TABLES.values(), ids=TABLES)
def test_forms_of_tables_give_one_board(tmp_path: Path, content: Any, columns: CaseColumns) -> None:
    settings = CaseSettings(greater_is_better=True, columns=columns)
    table = read_cases(_write(tmp_path / "table.json", content), settings, MANAGER)
    means = table.matrix.values.mean(axis=1).tolist()
    assert dict(zip(table.matrix.algorithms, means, strict=True)) == BOARD


@pytest.mark.parametrize("source", ["name", "folder"])
def test_a_file_for_each_algorithm(tmp_path: Path, source: str) -> None:
    for name, cells in BY_NAME.items():
        below = f"{name}.csv" if source == "name" else f"{name}/result.csv"
        _write(
            tmp_path / "t" / below, "case,dice\n" + "".join(f"{k},{v}\n" for k, v in cells.items())
        )
    columns = CaseColumns(algorithm_from=source)
    for tables in (tmp_path / "t", sorted((tmp_path / "t").rglob("*.csv"))):
        board = rank(tables, columns=columns, greater_is_better=True, resamples=20)
        assert _scores(board) == BOARD


def test_numbered_columns_are_repeats_of_the_algorithm_of_a_file(tmp_path: Path) -> None:
    paths = [
        _write(tmp_path / "a.csv", "dataset,0,1\nx,.5,1.5\ny,.25,.75\n"),
        _write(tmp_path / "b.csv", "dataset,0,1\nx,1,.5\ny,.25,.25\n"),
    ]
    columns = CaseColumns(algorithm_from="name")
    board = rank(paths, columns=columns, greater_is_better=True, resamples=20)
    assert _scores(board) == BOARD


@pytest.mark.parametrize("k", [1, 2, 5])
def test_answers_that_pass_are_counted_without_bias(k: int) -> None:
    rng = np.random.default_rng(0)
    right = rng.random((2, 6, 7)) < 0.3
    rows = [(name, f"c{case}", bool(answer)) for name, cases in zip("ab", right, strict=True)
            for case, answers in enumerate(cases) for answer in answers]  # fmt: skip
    table = dict(zip(("algorithm", "case", "value"), zip(*rows, strict=True), strict=True))
    board = rank(table, columns=CaseColumns(repeat="auto"), greater_is_better=True,
                 aggregate=f"pass@{k}", resamples=20)  # fmt: skip
    expected = {
        name: np.mean([1 - math.comb(7 - int(c), k) / math.comb(7, k) for c in cases.sum(axis=1)])
        for name, cases in zip("ab", right, strict=True)
    }
    assert _scores(board) == pytest.approx(expected)
    with pytest.raises(InputError, match=r"'a' has 7 answers to the case 'c0', and pass@8 needs 8"):
        rank(table, columns=CaseColumns(repeat="auto"), aggregate="pass@8", resamples=20)
    table["value"] = [0.5 * value for value in table["value"]]
    with pytest.raises(InputError, match=r"right \(1\) or wrong \(0\)"):
        rank(table, columns=CaseColumns(repeat="auto"), aggregate="pass@1", resamples=20)


def test_infinite_distances_have_ranks_and_no_mean(tmp_path: Path) -> None:
    path = _write(tmp_path / "hd.csv", "case,a,b\nx,1,Infinity\ny,2,3\nz,inf,2\n")
    with pytest.raises(InputError, match=r"'a' has an infinite value for the case 'z'.*rank-then"):
        rank(path, greater_is_better=False, resamples=20)
    board = rank(path, greater_is_better=False, aggregate="rank-then-mean", resamples=20)
    assert _scores(board) == {"a": pytest.approx(4 / 3), "b": pytest.approx(5 / 3)}


ANSWERS = {"q1": "cat", "q2": "dog"}
DOCUMENTS: dict[str, Any] = {
    "answers by id": ANSWERS,
    "rows by id": {id: {"y": label} for id, label in ANSWERS.items()},
    "columns": {"id": list(ANSWERS), "y": list(ANSWERS.values())},
    "records": [{"id": id, "y": label} for id, label in ANSWERS.items()],
    "lines": "".join(json.dumps({"id": id, "y": answer}) + "\n" for id, answer in ANSWERS.items()),
    "columns by row": {"id": {"0": "q1", "1": "q2"}, "y": {"0": "cat", "1": "dog"}},
    "SQuAD": {
        "version": "1.1",
        "data": [
            {
                "title": id,
                "paragraphs": [
                    {"context": "-", "qas": [{"id": id, "answers": [{"text": answer}] * 2}]}
                ],
            }
            for id, answer in ANSWERS.items()
        ],
    },
    "pretty": json.dumps(
        {"answers": [{"id": id, "y": answer} for id, answer in ANSWERS.items()]}, indent=2
    ),
}


@pytest.mark.parametrize("content", DOCUMENTS.values(), ids=DOCUMENTS)
def test_forms_of_documents_are_solutions_and_submissions(tmp_path: Path, content: Any) -> None:
    path = _write(tmp_path / "s.json", content)
    columns = SolutionColumns(targets=("y",))
    solution = read_solution(path, kind=PredictionKind.LABEL, columns=columns)
    assert solution.ids.to_pylist() == ["q1", "q2"]
    assert solution.targets[0].classes == ("cat", "dog")
    read = parse_submission(path, SubmissionForm.of(solution))
    assert read.faults == ()
    assert read.values is not None
    np.testing.assert_array_equal(read.values.ravel(), [0, 1])


def test_a_part_of_an_id_may_be_a_group(tmp_path: Path) -> None:
    gold = _write(tmp_path / "gold.csv", "lp,sid,score\nde,1,0.5\nfr,1,0.25\nfr,2,0.25\n")
    columns = SolutionColumns(id="lp,sid", tasks="lp", cluster="sid")
    solution = read_solution(gold, kind=PredictionKind.VALUE, columns=columns)
    assert solution.ids.to_pylist() == ["de|1", "fr|1", "fr|2"]
    assert solution.columns == ("score",)
    assert solution.task_names == ("de", "fr")


def test_an_id_of_several_columns(tmp_path: Path) -> None:
    gold = _write(tmp_path / "gold.tsv", "lp\tsid\tscore\nen-de\t1\t0.5\nen-fr\t1\t0.25\n")
    columns = SolutionColumns(id="lp,sid", targets=("score",))
    solution = read_solution(gold, kind=PredictionKind.VALUE, columns=columns)
    for text in (
        "sid,score,lp\n1,2,en-fr\n1,1,en-de\n",
        'score,"lp,sid"\n2,en-fr|1\n1,en-de|1\n',
    ):
        read = parse_submission(_write(tmp_path / "t.csv", text), SubmissionForm.of(solution))
        assert read.values is not None, read.faults
        assert read.values.ravel().tolist() == [1.0, 2.0]
