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
    """Within 3 standard errors everywhere, and beyond them from one corner to the other."""
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    settings = RankSettings((300, 3_000, 30_000), (4, 16, 64), tests=40, boards=0)
    result = example.study(
        tmp_path / "m", settings, Sizes(1_000, 500, 30_000), tmp_path / "grid.toml"
    )
    found = example.frequencies(result)
    assert example.against_the_trend(found) == []
    assert [found[300, count].sets for count in (4, 16, 64)] == [16, 4, 1]
    most, least = found[30_000, 4], found[300, 64]
    assert most.mean > 0.7
    assert least.mean < 0.3
    assert most.mean - least.mean > 3 * (most.error + least.error)
    assert "[0.50]" in example.table(found, {(300, 4): 0.5})


def test_a_frequency_against_the_trend_is_named(example):
    found = {
        (10, 2): example.Frequency(0.9, 0.05, 3),
        (20, 2): example.Frequency(0.3, 0.05, 3),
        (10, 4): example.Frequency(0.8, 0.05, 2),
        (20, 4): example.Frequency(0.4, 0.05, 2),
    }
    assert example.against_the_trend(found) == [
        "(10, 2) wins more often than (20, 2)",
        "(10, 4) wins more often than (20, 4)",
    ]
    found[10, 4] = example.Frequency(0.99, 0.02, 2)
    assert example.against_the_trend(found)[1:] == ["(10, 4) wins more often than (20, 4)"]
