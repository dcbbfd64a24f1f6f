"""A faulty file has the same faults in the solution's order and in another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.interfaces import TABLE
from arena.types import PredictionKind, SolutionColumns
from arena_metrics.modalities import MASKS

FAULTS = {
    "mask beyond the image": (PredictionKind.TEXT, "mask,height,width", "3 2,2,2", "4 1", "4 2"),
    "NUL byte": (PredictionKind.TEXT, "mask,height,width", "3 2,2,2", "4 1", "4\0"),
    "not a number": (PredictionKind.VALUE, "y", "1", "2", "x"),
    "out of range": (PredictionKind.CLASS_PROBABILITIES, "y", "1", "0.5", "1.5"),
    "unknown label": (PredictionKind.LABEL, "y", "1", "0", "7"),
    "empty cell": (PredictionKind.LABEL, "y", "1", "0", ""),
}


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("order", ["abc", "bca"])
def test_a_fault_does_not_depend_on_the_order(tmp_path: Path, kind: str, order: str) -> None:
    content, columns, true, valid, bad = FAULTS[kind]
    name = columns.partition(",")[0]
    other = true.replace("1", "0", 1) if content is not PredictionKind.TEXT else true
    modality = MASKS if content is PredictionKind.TEXT else TABLE
    columns_of = SolutionColumns(targets=(name,))
    path = tmp_path / "s.csv"
    path.write_text(f"id,{columns}\na,{true}\nb,{other}\nc,{true}\n")
    solution = read_solution(path, kind=content, columns=columns_of, modality=modality)
    form = SubmissionForm.of(solution, modality=modality)
    cells = {"a": valid, "b": bad, "c": valid}
    rows = "".join(f"{id},{cells[id]}\n" for id in order)
    (tmp_path / "t.csv").write_text(f"id,{name}\n{rows}")
    faults = parse_submission(tmp_path / "t.csv", form).faults
    assert [(fault.kind, fault.row) for fault in faults] == [(kind, 2 + order.index("b"))]
