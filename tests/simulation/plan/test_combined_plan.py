"""A plan of a combination is the plan of the score that the board ranks."""

from __future__ import annotations

import numpy as np
import pytest

import arena
from arena.errors import UsageError
from arena.types import SolutionColumns


@pytest.fixture
def pilot(tmp_path):
    """Return the solution and the folder of four submissions to three tasks."""
    rng, n = np.random.default_rng(0), 150
    truth, task = rng.integers(2, size=n), rng.integers(3, size=n)
    rows = [f"{i},{y},task {t}" for i, (y, t) in enumerate(zip(truth, task, strict=True))]
    (tmp_path / "solution.csv").write_text("\n".join(["id,y,task", *rows]))
    (tmp_path / "teams").mkdir()
    for team in range(4):
        odds = (2 * truth - 1) * (1 + 0.2 * team) + rng.normal(size=n)
        cells = [f"{i},{p:.4f}" for i, p in enumerate(1 / (1 + np.exp(-odds)))]
        (tmp_path / "teams" / f"{team}.csv").write_text("\n".join(["id,y", *cells]))
    return tmp_path / "solution.csv", tmp_path / "teams"


@pytest.mark.slow
def test_a_plan_of_tasks_and_metrics_is_that_of_their_board(pilot):
    columns = SolutionColumns(tasks="task")
    options = {"combine": "mean", "columns": columns, "resamples": 200}
    advice = arena.plan(*pilot, "roc_auc,accuracy", difference=0.01, rows=[150], **options)
    board = arena.score(
        *pilot, metric=["roc_auc", "accuracy"], tasks="task", combine="mean", resamples=200
    )
    assert advice.metric == "mean of roc_auc and accuracy over tasks"
    first, second = (row["score"] for row in board.standings[:2])
    assert advice.plan.submissions == 4
    lead = arena.plan(*pilot, "roc_auc,accuracy", rows=[150], **options).plan.difference
    assert lead == pytest.approx(first - second, abs=1e-9)
    assert advice.mechanics.mechanism.startswith("ladder-free")


def test_what_cannot_be_combined_is_refused(pilot):
    with pytest.raises(UsageError, match="need combine="):
        arena.plan(*pilot, "roc_auc,accuracy")
    with pytest.raises(UsageError, match="depends on all teams"):
        arena.plan(*pilot, "roc_auc,accuracy", combine="mean_rank")
