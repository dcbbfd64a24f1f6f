"""What spreadsheets and pandas do to files is named for what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

import arena
from arena.errors import MetricError
from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.types import PredictionKind, Solution, SolutionColumns

DAMAGE = {
    "dates": (["MAR1", "SEPT2", "a"], ["1-Mar", "2-Sep", "a"], "unknown id", "into dates"),
    "rounded": (
        ["12300000000000000017", "12300000000000000018", "b"],
        ["1.23E+19", "1.23E+19", "b"],
        "unknown id",
        "long numbers were rounded",
    ),
    "zeros": (["001", "002", "003"], ["1", "2", "3"], "unknown id", "row numbers"),
    "formula": (["001", "012", "103"], ['="001"', '="012"', '="103"'], "unknown id", "formulas"),
    "missing": (["NA", "DE", "FR"], ["", "DE", "FR"], "empty id", "keep_default_na=False"),
    "another file": (["a", "b", "c"], ["x", "y", "z"], "unknown id", "is it the right file?"),
    "invisible": (
        ["a", "b", "c"],
        ["a\u200b", "\ufeffb", "\u202ec"],
        "unknown id",
        "invisible characters",
    ),
    "decimals": (["1", "2", "3"], ["1.0", "2.0", "3.0"], "unknown id", "decimal numbers"),
}


def _solution(path: Path, ids: list[str]) -> Solution:
    path.write_text("id,y\n" + "".join(f"{id},{position}\n" for position, id in enumerate(ids)))
    columns = SolutionColumns(targets=("y",))
    return read_solution(path, kind=PredictionKind.VALUE, columns=columns)


@pytest.mark.parametrize(("ids", "sent", "kind", "cause"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_ids_have_a_cause(
    tmp_path: Path, ids: list[str], sent: list[str], kind: str, cause: str
) -> None:
    solution = _solution(tmp_path / "s.csv", ids)
    path = tmp_path / "t.csv"
    path.write_text("id,y\n" + "".join(f"{id},1\n" for id in sent))
    faults = parse_submission(path, SubmissionForm.of(solution)).faults
    of_kind = [fault for fault in faults if fault.kind == kind]
    assert of_kind
    assert all(fault.cause is not None and cause in fault.cause for fault in of_kind), of_kind
    if all(id not in ids for id in sent):
        assert not any("remove the row" in fault.message for fault in of_kind)


@pytest.mark.parametrize("stated", ["sep=;", '"sep=;"', "sep=\t", "sep=,"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_stated_delimiter_is_used(tmp_path: Path, stated: str, end: str) -> None:
    solution = _solution(tmp_path / "s.csv", ["a", "b"])
    mark = stated.strip('"')[-1]
    path = tmp_path / "t.csv"
    path.write_text(end.join([stated, f"id{mark}y", f"b{mark}2", f"a{mark}1", ""]))
    read = parse_submission(path, SubmissionForm.of(solution))
    assert read.values is not None, read.faults
    assert read.values.ravel().tolist() == [1.0, 2.0]
    path.write_text(end.join([stated, f"id{mark}y", f"b{mark}2", f"a{mark}x", ""]))
    (fault,) = parse_submission(path, SubmissionForm.of(solution)).faults
    assert (fault.kind, fault.row) == ("not a number", 4)


def test_targets_are_named_by_a_pattern(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("id,F1,F2,G,F*\na,1,2,3,4\nb,5,6,7,8\n")
    for pattern, names in (
        ("F?", ("F1", "F2", "F*")),
        ("F*", ("F*",)),
        ("[FG]*", ("F1", "F2", "G", "F*")),
    ):
        columns = SolutionColumns(targets=(pattern,))
        solution = read_solution(path, kind=PredictionKind.VALUE, columns=columns)
        assert solution.columns == names


def test_a_target_with_one_value_is_named(tmp_path: Path) -> None:
    rows = {"id": list("abcd"), "x": [1, 2, 3, 4], "y": [5, 5, 5, 5]}
    board = arena.score(rows, {"t": rows}, metric="r2", target=["x", "y"], intervals=False)
    (fault,) = board.rejected[0].faults
    assert "target 'y' has one value: leave it out with --target" in fault.message
    with pytest.raises(MetricError, match="rows of this solution: target 'y' has one value"):
        arena.Competition.create(tmp_path / "c", rows, "r2", target=["x", "y"], public_share=0.0)
