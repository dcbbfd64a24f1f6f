"""Ranks on new tasks: the tasks are drawn whole, and the rank intervals hold on others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import arena

TASKS, CASES, ALGORITHMS = 12, 30, 5


def table(seed: int) -> dict[str, Any]:
    """Return values whose differences vary by task; the lower the number, the better."""
    rng = np.random.default_rng(seed)
    tasks = np.repeat(np.arange(TASKS), CASES)
    difficulty = rng.normal(size=TASKS)[tasks] + rng.normal(size=len(tasks))
    values = {
        f"a{number}": difficulty
        - 0.02 * number
        + rng.normal(0, 0.15, TASKS)[tasks]
        + 0.3 * rng.normal(size=len(tasks))
        for number in range(ALGORITHMS)
    }
    return {"case": np.arange(len(tasks)), "task": tasks, **values}


def held(seed: int, cluster: str | None) -> bool:
    """Return whether all rank intervals of a board hold the ranks over all tasks."""
    columns = arena.CaseColumns(task="task", cluster=cluster)
    board = arena.rank(
        table(seed), columns=columns, greater_is_better=True, resamples=200, workers=1
    )
    return all(
        row["rank_low"] <= int(row["team"][1:]) + 1 <= row["rank_high"] for row in board.standings
    )


@pytest.mark.slow
def test_ranks_hold_on_new_tasks_if_tasks_are_the_groups():
    seeds = range(25)
    assert all(held(seed, "task") for seed in seeds)
    assert sum(held(seed, None) for seed in seeds) < 23
