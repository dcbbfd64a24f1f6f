"""What ``arena simulate ranks`` costs beside bare ``lightgbm.train``, and scoring beside training.

One worker, in this process; the least of the runs, in seconds of processor time, so that others on
the machine do not count. The bare loop trains with the same parameters on one shared Dataset; what
a model predicts for the population is timed apart, since both need it. The documented figures are
those of ``--rows 20000 --models 5``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np

from arena.plugin.manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.ranks.model_cache import ModelsFolder
from arena.simulation.ranks.scores import score_models
from arena.simulation.ranks.training import describe_models, model_settings, train_models
from arena.utils.engines import local_engine

TESTS = 50
OURS = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_col_wise": True}
OBJECTIVE = {"objective": "binary", "metric": "binary_logloss", "feature_pre_filter": False}


def bare(world, search, n_models):
    """Return the seconds of training and of predicting."""
    rows = world.rows
    began = time.process_time()
    training = lightgbm.Dataset(
        rows.training.features,
        rows.training.target,
        params={**OURS, **OBJECTIVE},
        free_raw_data=False,
    ).construct()
    validation = training.create_valid(
        rows.validation.features, rows.validation.target, params={**OURS, **OBJECTIVE}
    ).construct()
    models = [
        lightgbm.train(
            {**model_settings(search, number, 0), **OURS, **OBJECTIVE},
            training,
            num_boost_round=10_000,
            valid_sets=[validation],
            callbacks=[lightgbm.early_stopping(10, verbose=False)],
        )
        for number in range(n_models)
    ]
    trained = time.process_time() - began
    began = time.process_time()
    for model in models:
        model.predict(world.population.features, num_threads=1)
    return trained, time.process_time() - began


def ours(world, search, metric, n_models, tests):
    """Return the seconds of training with predicting, and of scoring."""
    with tempfile.TemporaryDirectory() as path:
        about = describe_models(world, search, 0)
        folder = ModelsFolder.open(Path(path), about, world.population.n_rows)
        began = time.process_time()
        train_models(world, search, folder, n_models, seed=0, engine=local_engine(1))
        trained = time.process_time() - began
        began = time.process_time()
        score_models(world, metric, folder, n_models, [10_000], tests, seed=0)
        return trained, time.process_time() - began


def main() -> None:
    """Run and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000, help="training rows")
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--runs", type=int, default=3, help="the fastest counts")
    options = parser.parse_args()
    world = synthetic_world(Sizes(options.rows, options.rows // 4, 50_000), 0)
    manager = PluginManager()
    search = manager.competitors.resolve("lightgbm")
    metric = manager.metrics.resolve("roc_auc")
    ours(synthetic_world(Sizes(200, 100, 20_000), 0), search, metric, 2, 2)  # compiled kernels
    both = [
        (bare(world, search, options.models), ours(world, search, metric, options.models, TESTS))
        for _ in range(options.runs)
    ]
    training, predicting = np.min([seconds for seconds, _ in both], axis=0)
    whole, scoring = np.min([other for _, other in both], axis=0)
    result = {
        "benchmark": "simulate",
        "models": options.models,
        "training_rows": options.rows,
        "tests": TESTS,
        "peer_training_seconds": round(training, 3),
        "peer_predicting_seconds": round(predicting, 3),
        "arena_training_and_predicting_seconds": round(whole, 3),
        "arena_scoring_seconds": round(scoring, 3),
        "overhead": round(whole / (training + predicting) - 1, 4),
        "overhead_of_training": round((whole - training - predicting) / training, 4),
        "scoring_of_training": round(scoring / training, 4),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
