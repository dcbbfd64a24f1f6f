"""Metrics that must know their rows, and take all targets at once, from a stranger's plugin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import arena_mechanisms
from arena.competition.competition import Competition
from arena.competition.exports.verify import verify_bundle
from arena.config import CONFIG_NAME, Settings
from arena.errors import PluginError, UsageError
from arena.evaluation.binding import part_of_context
from arena.hookspecs import hookimpl
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.types import (
    CompetitionInfo,
    Fault,
    MetricTraits,
    PredictionKind,
    RowContext,
    SolutionColumns,
)
from arena.utils.parallel import NoProgress
from arena_metrics.segmentation import Dice
from arena_ranking.fingerprints import first_identical, row_fingerprints
from program import run_here, write_csv

IDS = [f"r{row:02d}" for row in range(60)]


def test_the_context_of_some_rows_has_their_groups_and_tasks() -> None:
    """Of the groups 0, 2, 2 and 1 those of the last three are renumbered from 0."""
    context = RowContext(
        "id",
        pa.array([*"abcd"]),
        ("y",),
        ("y",),
        clusters=np.array([0, 2, 2, 1]),
        extra={"age": np.arange(4.0)},
        tasks=np.array([0, 1, 0, 1]),
        task_names=("s", "t"),
    )
    rows = np.array([1, 2, 3])
    part, of_task = part_of_context(context, rows), part_of_context(context, rows, "t")
    for part_context in (part, of_task):
        assert part_context.ids.to_pylist() == ["b", "c", "d"]
        assert part_context.extra["age"].tolist() == [1.0, 2.0, 3.0]
        assert part_context.clusters is not None
        assert part_context.clusters.tolist() == [1, 1, 0]
    assert part.tasks is not None
    assert (part.tasks.tolist(), part.task_names) == ([1, 0, 1], ("s", "t"))
    assert of_task.tasks is not None
    assert (of_task.tasks.tolist(), of_task.task_names) == ([0, 0, 0], ("t",))
    bare = part_of_context(replace(context, clusters=None, tasks=None), rows)
    assert (bare.clusters, bare.tasks) == (None, None)


@dataclass(frozen=True)
class Joint:
    """Takes all targets at once, must know its rows, and has no faster method."""

    name: str = "joint"
    greater_is_better: bool = True
    prediction: PredictionKind = PredictionKind.TEXT
    rows: RowContext | None = None

    @property
    def traits(self) -> MetricTraits:
        return MetricTraits(joint_targets=True, extra_columns=("age",))

    def for_rows(self, context: RowContext) -> Metric:
        return Joint(rows=context)

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        """Return the share of rows whose guess is the first target, the second, and the id."""
        assert self.rows is not None
        assert self.rows.columns == ("first", "second", "own_id")
        assert self.rows.targets == ("y", "z")
        assert truth.shape == (len(self.rows.ids), 2)
        assert prediction.shape == (len(self.rows.ids), 3)
        ids = np.array(self.rows.ids.to_pylist(), dtype=object)
        expected = np.column_stack([truth, ids])
        right = (expected == prediction).all(axis=1)
        assert self.rows.extra["age"].tolist() == [float(id[1:]) for id in ids]
        return float(np.average(right, weights=weight))

    def faults(self, predictions: Any, competition: CompetitionInfo) -> Iterable[Fault]:
        for row in np.flatnonzero((predictions == "bad").any(axis=1)).tolist():
            yield Fault("bad\u202eword", "It says bad.\x1b[31m", id=competition.ids[row].as_py())


class Unbindable(Joint):
    """Breaks what was agreed."""

    def for_rows(self, context: RowContext) -> Any:
        return Dice()


@dataclass(frozen=True)
class _Plugin:
    metric: Any

    @hookimpl
    def provide_metrics(self) -> Iterable[Metric]:
        return [self.metric]


def _manager(metric: Any) -> PluginManager:
    manager = PluginManager(entry_points=False)
    manager.register(_Plugin(metric), "strange")
    manager.register(arena_mechanisms, "mechanisms")
    return manager


@pytest.fixture
def joint_files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [(id, *rng.choice([*"pq"], 2), float(id[1:])) for id in IDS]
    write_csv(tmp_path / "solution.csv", ["id", "y", "z", "age"], rows)
    header = ["second", "id", "first", "own_id"]
    for team, share in (("a", 0.9), ("b", 0.6)):
        rows_of_team = [(z, id, y if rng.random() < share else "?", id) for id, y, z, _ in rows]
        write_csv(tmp_path / "submissions" / f"{team}.csv", header, rows_of_team)
    write_csv(tmp_path / "submissions" / "c.csv", header, [("bad", id, "", "") for id in IDS])
    return tmp_path


COLUMNS = SolutionColumns(targets=("y", "z"), submission=("first", "second", "own_id"))


@pytest.mark.slow
def test_a_metric_of_texts_takes_all_columns_at_once_and_knows_its_rows(joint_files: Path) -> None:
    result = score(
        joint_files / "solution.csv",
        [joint_files / "submissions"],
        ScoreSettings("joint", COLUMNS, board=BoardSettings(40, workers=1)),
        manager=_manager(Joint()),
    )
    assert [row["team"] for row in result.standings] == ["a", "b"]
    best = result.best_score_corrected
    assert best["low"] < best["estimate"] <= result.standings[0]["score"] + 1e-9
    (rejected,) = result.rejected
    assert "".join(rejected.faults[0].message).isprintable()
    assert len(rejected.faults) == 21


@pytest.mark.slow
def test_columns_are_named_in_the_settings_and_on_the_command_line(
    joint_files: Path, tmp_path: Path
) -> None:
    settings = Settings.model_validate(
        {
            "metric": {"name": "joint"},
            "data": {"target": ["y", "z"], "submission_columns": COLUMNS.submission},
        }
    )
    manager = _manager(Joint())
    solution = joint_files / "solution.csv"
    with Competition.create(
        tmp_path / "c", solution, settings, seed=0, manager=manager
    ) as competition:
        assert (tmp_path / "c" / "sample_submission.csv").read_text().splitlines()[0] == (
            "id,first,second,own_id"
        )
        answer = competition.submit(joint_files / "submissions" / "a.csv", "a")
        assert answer.released is not None
        competition.finalize()
        competition.export(tmp_path / "export")
        assert verify_bundle(tmp_path / "export", solution, manager, NoProgress()) == ()
    assert "submission_columns" in (tmp_path / "c" / CONFIG_NAME).read_text()
    called = run_here(
        "score", "solution.csv", "submissions", "-m", "map_at_k", "--columns", "a,b",
        "--target", "y", cwd=joint_files,
    )  # fmt: skip
    assert called.returncode == 2
    assert "omit --columns" in called.stderr


def test_columns_apart_are_for_metrics_that_take_all_at_once(joint_files: Path) -> None:
    settings = ScoreSettings("dice", COLUMNS)
    with pytest.raises(UsageError, match="omit --columns"):
        score(joint_files / "solution.csv", [joint_files], settings)


def test_a_metric_that_cannot_be_bound_again_is_its_plugins_fault(joint_files: Path) -> None:
    with pytest.raises(PluginError, match="'strange' failed while binding .*: TypeError") as error:
        score(
            joint_files / "solution.csv",
            [joint_files / "submissions"],
            ScoreSettings("joint", COLUMNS),
            manager=_manager(Unbindable()),
        )
    assert "without for_rows" in str(error.value.__cause__)  # which --verbose prints


@pytest.mark.slow
def test_what_a_mean_over_targets_is_of_decides_whether_it_must_be_bound(tmp_path: Path) -> None:
    rows = [(id, f"q{row % 10}", row % 4, row % 3) for row, id in enumerate(IDS)]
    write_csv(tmp_path / "solution.csv", ["id", "query", "y", "z"], rows)
    for team in "ab":
        write_csv(tmp_path / "s" / f"{team}.csv", ["id", "y", "z"],
                  [(id, row % 4, row % (5 if team == "a" else 3))
                   for row, id in enumerate(IDS)])  # fmt: skip
    columns = SolutionColumns(targets=("y", "z"), cluster="query")
    result = score(
        tmp_path / "solution.csv",
        [tmp_path / "s"],
        ScoreSettings("ndcg_at_k", columns, board=BoardSettings(40)),
    )
    assert [row["team"] for row in result.standings] == ["b", "a"]
    assert result.standings[0]["score"] == pytest.approx(1.0)


def test_identical_submissions_of_texts_are_found() -> None:
    texts = np.array([["a", "b"], ["a", "c"], ["a", "b"]], dtype=object)
    assert first_identical(row_fingerprints(texts)).tolist() == [0, 1, 0]
    several = np.stack([texts, texts[:, ::-1]], axis=2)
    assert first_identical(row_fingerprints(several, np.array([0, 0]))).tolist() == [0, 1, 0]
