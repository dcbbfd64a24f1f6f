"""The study of winner stability: its trends, on few models."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

import arena
from arena.interfaces import PaperOptions
from arena.simulation.ranks import paper
from arena.simulation.ranks.coverage import Coverage
from arena.simulation.ranks.outcome import win_frequency
from arena.simulation.ranks.scores import ModelScores
from arena.utils.parallel import NoProgress
from kept import check_kept_reproduction

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


@pytest.mark.slow
def test_trends_with_rows_and_models(tmp_path):
    """Within 3 standard errors everywhere, and beyond them from one corner to the other."""
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    result = arena.simulate_ranks(
        [300, 3_000, 30_000], [4, 16, 64], tests=40, boards=0, train_rows=1_000,
        validation_rows=500, population=30_000, grid=tmp_path / "grid.toml", models=tmp_path / "m",
    )  # fmt: skip
    frequencies = paper.frequencies(result)
    assert paper.against_the_trend(frequencies) == []
    assert [frequencies[300, count].sets for count in (4, 16, 64)] == [16, 4, 1]
    most, least = frequencies[30_000, 4], frequencies[300, 64]
    assert most.mean > 0.7
    assert least.mean < 0.3
    assert most.mean - least.mean > 3 * (most.error + least.error)
    rows = paper.compared(frequencies, {(30_000, 4): 0.0, (300, 4): 0.5, (300, 64): 1.0})
    agrees = {row.published: row.agrees for row in rows if row.published is not None}
    assert agrees == {0.5: True, 0.0: False, 1.0: None}  # there is one set of 64 models
    json.dumps(paper.chart(frequencies, {(300, 4): 0.5}).specification, allow_nan=False)


@pytest.mark.slow
def test_a_quick_study_says_what_it_leaves_out():
    reproduction = paper.WinnerStability().reproduce(
        PaperOptions(quick=True, workers=1), NoProgress()
    )
    assert len([row for row in reproduction.figures if row.where == "win frequency"]) == 4
    assert any("best_winning.csv is not in --data" in text for text in reproduction.missing)


def test_a_frequency_against_the_trend_is_named():
    frequencies = {
        (10, 2): paper.Frequency(0.9, 0.05, (0.9,) * 3),
        (20, 2): paper.Frequency(0.3, 0.05, (0.3,) * 3),
        (10, 4): paper.Frequency(0.8, 0.05, (0.8,) * 2),
        (20, 4): paper.Frequency(0.4, 0.05, (0.4,) * 2),
    }
    assert paper.against_the_trend(frequencies) == [
        "(10, 2) wins more often than (20, 2)",
        "(10, 4) wins more often than (20, 4)",
    ]
    frequencies[10, 4] = paper.Frequency(0.99, 0.02, (0.99,) * 2)
    assert paper.against_the_trend(frequencies)[1:] == ["(10, 4) wins more often than (20, 4)"]


@pytest.mark.parametrize("kind", ["published", "alone"])
def test_what_a_study_shows_is_the_kept_whole(tmp_path, monkeypatch, kind):
    """Of drawn scores, whose errors shrink with the root of the rows."""
    rng, n_models = np.random.default_rng(0), 3_000
    true = rng.normal(size=n_models)
    shown_scores = {
        rows: true[:, None] + 30 / np.sqrt(rows) * rng.normal(size=(n_models, 3))
        for rows in (10_000, 100_000)
    }
    scores = ModelScores(true, shown_scores, greater_is_better=True)
    sizes = [(rows, count) for rows in shown_scores for count in (100, 1_000)]
    study = SimpleNamespace(
        scores=scores,
        win_frequency=[win_frequency(scores, *size) for size in sizes],
        coverage=[
            Coverage(
                300,
                16,
                kind="spread",
                level=0.95,
                boards=2,
                all_ranks=0.5,
                best=1.0,
                each=0.9375,
            )
        ],
    )
    calls = []

    def simulate_ranks(*sizes, models, progress, grid, **settings):
        calls.append([*sizes, grid.name, settings])
        return study

    monkeypatch.setattr(paper, "simulate_ranks", simulate_ranks)
    options = PaperOptions(quick=True, seed=4)
    if kind == "published":
        file = tmp_path / "winstab" / "best_winning.csv"
        file.parent.mkdir()
        file.write_text("test_size_N,models_M,win_freq\n10000,100,0.5\n10000,3000,0.25\n")
        options = PaperOptions(
            data=tmp_path, models=tmp_path / "m", workers=3, engine="dask", address="here:1"
        )
    reproduction = paper.WinnerStability().reproduce(options, NoProgress())
    check_kept_reproduction(f"winner-stability-{kind}", reproduction, asked=calls)
