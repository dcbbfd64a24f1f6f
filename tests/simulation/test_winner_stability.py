"""The example: its trends, on few models."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from arena.simulation.data import Sizes
from arena.simulation.ranks import RankSettings

EXAMPLE = Path(__file__).parents[2] / "examples" / "winner_stability.py"
GRID = """
rounds = 60
early_stopping = 5
[fixed]
learning_rate = 0.1
feature_fraction = 0.8
bagging_fraction = 0.8
[search]
num_leaves = [15, 31, 63]
bagging_freq = [0, 1]
min_data_in_leaf = [5, 10, 20]
"""


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("winner_stability", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.slow
def test_trends_with_rows_and_models(example, tmp_path):
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    settings = RankSettings((300, 3_000, 15_000), (4, 24), tests=40, boards=0)
    search = f"lightgbm(grid={str(tmp_path / 'grid.toml')!r})"
    result = example.study(tmp_path / "m", settings, Sizes(1_000, 500, 15_000), search)
    assert example.against_the_trend(result) == []
    found = {(one.test_rows, one.competitors): one for one in result.win_frequency}
    assert found[300, 24].high < found[15_000, 24].low + 0.2
    assert found[300, 24].frequency < found[15_000, 4].frequency - 0.3
    assert "300" in example.table(result, {(300, 4): 0.5})


def test_a_frequency_against_the_trend_is_named(example):
    from types import SimpleNamespace as Namespace

    def one(rows, count, frequency):
        return Namespace(
            test_rows=rows,
            competitors=count,
            frequency=frequency,
            low=frequency - 0.05,
            high=frequency + 0.05,
        )

    result = Namespace(
        settings=Namespace(test_rows=(10, 20), competitors=(2,)),
        win_frequency=[one(10, 2, 0.9), one(20, 2, 0.3)],
    )
    assert example.against_the_trend(result) == ["(10, 2) wins more often than (20, 2)"]
