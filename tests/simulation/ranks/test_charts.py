"""The pictures of a simulation of ranks, of results made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from arena.simulation.ranks.charts import simulation_charts
from arena.simulation.ranks.outcome import RankQuantiles, WinFrequency

N_MODELS, N_TESTS = 120, 12


def result_of(n_models: int, n_tests: int, test_rows: tuple[int, ...]) -> Any:
    """Return the result on models 0, 1, …, the first truly best, with no single board."""
    models = np.arange(n_models)
    quantiles = np.stack([models, models + 1, models + 2, models + 3], axis=1)
    ranks = RankQuantiles(
        test_rows[0], n_models, models=models, true_ranks=models + 1, quantiles=quantiles
    )
    scores = models[:, np.newaxis] + np.arange(n_tests) / 100
    return SimpleNamespace(
        metric="gain",
        win_frequency=[
            WinFrequency(rows, n_models, 0.5, low=0.25, high=0.75, populations=1)
            for rows in test_rows
        ],
        settings=SimpleNamespace(test_rows=test_rows),
        ranks=[ranks],
        boards=[],
        scores=SimpleNamespace(true=-models.astype(float), competition={test_rows[0]: scores}),
    )


def test_ten_tests_of_the_twenty_best_and_the_ranks_of_a_hundred_are_drawn() -> None:
    _, paths, ranks = simulation_charts(result_of(N_MODELS, N_TESTS, (50, 200)))
    others, blue, truth = (layer["data"]["values"] for layer in paths.specification["layer"])
    assert [len(others), len(blue), len(truth)] == [9 * 20, 20, 20]
    assert (blue[1], truth[1]) == ({"rank": 2, "score": 1.0, "test": 0}, {"rank": 2, "score": -1.0})
    assert (others[0], others[-1]["test"]) == ({"rank": 1, "score": 0.01, "test": 1}, 9)
    assert "the scores on 10 of the 12 tests as lines" in paths.description
    values = ranks.specification["data"]["values"]
    assert len(values) == 100
    assert values[99] == {"true": 100, "low": 99, "median": 100, "q90": 101, "high": 102}


def test_few_tests_are_all_drawn_and_one_number_of_rows_has_an_axis_of_words() -> None:
    wins, paths, _ = simulation_charts(result_of(3, 2, (50,)))
    assert [len(layer["data"]["values"]) for layer in paths.specification["layer"]] == [3, 3, 3]
    x = wins.specification["layer"][0]["encoding"]["x"]
    assert (x["type"], x["scale"]) == ("ordinal", {})
    assert x["axis"] == {"format": ",d", "labelAngle": 0}
