"""``arena rank`` against challengeR on the same table.

The expected figures were printed by challengeR itself (github.com/wiesenfa/challengeR at beb3b67, R
4.2) for the table that :func:`table` draws: ``aggregateThenRank`` and ``rankThenAggregate`` with
``mean`` and ``median``, ``ties.method = "min"``, large values better.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.plugin.manager import PluginManager
from arena.scoring.rank import rank
from arena.scoring.settings import BoardSettings
from arena_ranking.challenger import consensus_ranking

RANKS = {
    ("mean", "colon"): [3, 5, 4, 6, 2, 1],
    ("mean", "liver"): [6, 5, 4, 2, 3, 1],
    ("mean", "spleen"): [3, 3, 6, 5, 1, 2],
    ("median", "colon"): [2, 4, 5, 6, 3, 1],
    ("median", "liver"): [6, 5, 4, 1, 3, 2],
    ("median", "spleen"): [3, 4, 4, 4, 1, 1],
    ("rank-then-mean", "colon"): [4, 4, 3, 6, 2, 1],
    ("rank-then-mean", "liver"): [6, 5, 3, 1, 4, 1],
    ("rank-then-mean", "spleen"): [4, 3, 6, 5, 2, 1],
    ("rank-then-median", "colon"): [3, 4, 4, 6, 2, 1],
    ("rank-then-median", "liver"): [6, 4, 2, 1, 4, 2],
    ("rank-then-median", "spleen"): [3, 3, 5, 5, 1, 1],
}
SCORES = {
    ("mean", "colon"): [0.5996000, 0.5913333, 0.5947333, 0.4297667, 0.6275333, 0.7241000],
    ("median", "spleen"): [0.75, 0.70, 0.70, 0.70, 0.80, 0.80],
    ("rank-then-mean", "liver"): [4.366667, 4.033333, 3.266667, 3.0, 3.3, 3.0],
    ("rank-then-median", "colon"): [3.5, 4.0, 4.0, 5.0, 3.0, 2.0],
}
TASKS = ("colon", "liver", "spleen")


def table() -> dict[str, Any]:
    """Return values of 6 algorithms on 30 cases of each task; those of the last have many ties."""
    rng = np.random.default_rng(20)
    tables = {}
    for task in TASKS:
        shared, skill = rng.normal(size=30), rng.normal(scale=0.4, size=6)
        values = 1 / (1 + np.exp(-(1 + shared + skill[:, None] + rng.normal(size=(6, 30)))))
        tables[task] = values.round(1 if task == "spleen" else 3)
    return tables


@pytest.mark.few(4)
@pytest.mark.parametrize(("aggregate", "task"), list(RANKS))
def test_the_ranks_are_those_of_challenger(aggregate: str, task: str) -> None:
    values = table()[task]
    wide = {"case": np.arange(30), **{f"a{j}": values[j] for j in range(6)}}
    result = rank(
        wide,
        greater_is_better=True,
        aggregate=aggregate,
        ties="min",
        board=BoardSettings(10, workers=1),
        manager=PluginManager(entry_points=False),
    )
    standings = {row["team"]: row for row in result.standings}
    assert [standings[f"a{j}"]["rank"] for j in range(6)] == RANKS[aggregate, task]
    if (aggregate, task) in SCORES:
        scores = [standings[f"a{j}"]["score"] for j in range(6)]
        assert scores == pytest.approx(SCORES[aggregate, task], abs=5e-7)


def test_the_consensus_of_the_tasks_is_by_mean_ranks() -> None:
    ranks = np.array([RANKS["mean", task] for task in TASKS]).T
    means = np.array([ranks[j].mean() for j in range(6)])
    assert np.argsort(consensus_ranking(ranks).mean_rank)[0] == np.argmin(means) == 5
