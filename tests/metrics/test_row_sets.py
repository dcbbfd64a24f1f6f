"""Solutions and submissions with several rows per id, for metrics that take them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena import BoardSettings, Competition, ScoreSettings, Settings, SolutionColumns, score
from arena.config import SAMPLE_NAME
from arena.errors import InputError, UsageError
from arena.intake import SubmissionForm, parse_submission, read_solution
from arena.plugin.manager import PluginManager
from arena.types import MetricTraits, PredictionKind, RowContext, Solution
from arena_metrics.modalities import ROW_SETS

POINTS = """
class ParticipantVisibleError(Exception):
    pass

def score(solution, submission, row_id_column_name):
    del solution[row_id_column_name], submission[row_id_column_name]
    found = 0
    for tomogram, points in solution.groupby("experiment"):
        sent = submission[submission["experiment"] == tomogram]
        found += sum(abs(sent["x"] - x).min() < 1 for x in points["x"])
    return found / len(solution)
"""
SOLUTION = "id,experiment,x,Usage\n" + "".join(
    f"{row},t{row // 3},{row * 10},{'Public' if row // 3 % 3 == 0 else 'Private'}\n"
    for row in range(60)
)
TRAITS = MetricTraits(joint_targets=True)


def read(path: Path, text: str, **columns: Any) -> Solution:
    path.write_text(text)
    solution_columns = SolutionColumns(**columns)
    return read_solution(
        path, kind=PredictionKind.TEXT, columns=solution_columns, traits=TRAITS, modality=ROW_SETS
    )


def sent(hits: int, every: int = 1) -> str:
    rows = [
        f"{9 * row},t{row // 3},{row * 10 + (0 if row % 3 < hits else 5)}\n"
        for row in range(60)
        if row % 3 % every == 0
    ]
    return "id,experiment,x\n" + "".join(reversed(rows))


def test_each_id_is_one_row_and_missing_ones_are_named(tmp_path: Path) -> None:
    solution = read(tmp_path / "s.csv", SOLUTION, id="experiment")
    assert solution.n_rows == 20
    assert solution.truth[1].tolist() == ['["3", "4", "5"]', '["30", "40", "50"]']
    assert solution.usage.tolist() == [0, 1, 1] * 6 + [0, 1]
    form = SubmissionForm.of(solution, modality=ROW_SETS)
    path = tmp_path / "t.csv"
    path.write_text(
        "experiment,x,id\n" + "".join(f"t{number},1,a\nt{number},2,b\n" for number in range(19))
    )
    (fault,) = parse_submission(path, form).faults
    assert (fault.kind, fault.id) == ("missing id", "t19")
    path.write_text(path.read_text() + "t19,1,a\n")
    values = parse_submission(path, form).values
    assert values is not None
    assert values[-2:].tolist() == [['["a", "b"]', '["1", "2"]'], ['["a"]', '["1"]']]


def test_rows_of_an_id_are_of_one_split(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="The rows of id 'a' differ here") as caught:
        read(tmp_path / "s.csv", "id,y,Usage\na,1,Public\na,2,Private\n")
    assert "row 2" in str(caught.value)


def test_a_set_is_drawn_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(
        "def score(solution, submission, name):\n"
        "    sizes = solution.groupby(name).size(), submission.groupby(name).size()\n"
        "    return float(sum(sizes[0]) * 100 + sum(sizes[1]) + len(sizes[0]) / 10)\n"
    )
    metric: Any = PluginManager().metrics.resolve(f"kaggle:{tmp_path / 'm.py'}(rows=any)")
    context = RowContext("id", pa.array(["a", "b"], pa.string()), ("y",), ("y",))
    own = metric.for_rows(context)
    truth = np.array(['["1", "2"]', '["3"]'], dtype=object)
    predictions = np.array(['["1"]', '["2", "3", "4"]'], dtype=object)
    assert own.score(truth, predictions) == 304.2
    assert own.score(truth, predictions, np.array([3, 0])) == 603.3
    assert own.score(truth, predictions, np.array([1, 2])) == 407.3
    with pytest.raises(UsageError, match="rows of math:hypot must be one"):
        PluginManager().metrics.resolve("math:hypot(rows=any)")


@pytest.mark.slow
def test_points_of_tomograms_are_scored_from_beginning_to_end(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(POINTS)
    (tmp_path / "s.csv").write_text(SOLUTION)
    (tmp_path / "sent").mkdir()
    for team, text in {"a": sent(3), "b": sent(2), "c": sent(3, every=2)}.items():
        (tmp_path / "sent" / f"{team}.csv").write_text(text)
    name = f"kaggle:{tmp_path / 'm.py'}(rows=any, row_id=id)"
    settings = ScoreSettings(
        name, SolutionColumns(id="experiment"), board=BoardSettings(20, workers=1)
    )
    result = score(tmp_path / "s.csv", [tmp_path / "sent"], settings)
    assert {row["team"]: row["score"] for row in result.standings} == {
        "a": 1.0, "b": pytest.approx(2 / 3), "c": pytest.approx(2 / 3),
    }  # fmt: skip
    assert (result.n_rows, result.resamples) == (13, 20)
    document = {
        "metric": {"name": name},
        "data": {"id": "experiment"},
        "public": {"mechanism": "kaggle"},
    }
    with Competition.create(
        tmp_path / "c", tmp_path / "s.csv", Settings.model_validate(document)
    ) as opened:
        assert opened.submit(tmp_path / "sent" / "b.csv", "b").released == 0.66667
        assert opened.submit(tmp_path / "c" / SAMPLE_NAME, "sample").status == "accepted"
