"""What ``arena simulate ranks`` costs beside bare ``lightgbm.train``, and scoring beside training.

Run: ``python tests/benchmarks/bench_simulate.py``. One worker, in this process; minimum of three
runs, in seconds of processor time, so that others on the machine do not count. The bare loop trains
with the same parameters on one shared Dataset; what a model predicts for the population is timed
apart, since both need it.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import lightgbm
import numpy as np

from arena.engines import local_engine
from arena.plugin_manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.models_folder import ModelsFolder
from arena.simulation.scores import score_models
from arena.simulation.training import describe_models, model_settings, train_models

RUNS = 3
MODELS = 5
OURS = {"num_threads": 1, "verbosity": -1, "deterministic": True, "force_col_wise": True}
OBJECTIVE = {"objective": "binary", "metric": "binary_logloss", "feature_pre_filter": False}


def bare(world, search):
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
        for number in range(MODELS)
    ]
    trained = time.process_time() - began
    began = time.process_time()
    for model in models:
        model.predict(world.population.features, num_threads=1)
    return trained, time.process_time() - began


def ours(world, search, metric, tests):
    """Return the seconds of training with predicting, and of scoring."""
    with tempfile.TemporaryDirectory() as path:
        about = describe_models(world, search, 0)
        folder = ModelsFolder.open(Path(path), about, world.population.n_rows)
        began = time.process_time()
        train_models(world, search, folder, MODELS, seed=0, engine=local_engine(1))
        trained = time.process_time() - began
        began = time.process_time()
        score_models(world, metric, folder, MODELS, [10_000], tests, seed=0)
        return trained, time.process_time() - began


def main(training_rows: int = 20_000) -> None:
    world = synthetic_world(Sizes(training_rows, training_rows // 4, 50_000), 0)
    manager = PluginManager()
    search = manager.competitors.resolve("lightgbm")
    metric = manager.metrics.resolve("roc_auc")
    ours(synthetic_world(Sizes(200, 100, 20_000), 0), search, metric, 2)  # compiled kernels
    both = [(bare(world, search), ours(world, search, metric, 50)) for _ in range(RUNS)]
    training, predicting = np.min([one for one, _ in both], axis=0)
    whole, scoring = np.min([other for _, other in both], axis=0)
    print(f"{MODELS} models on {training_rows:,} rows, 50 tests of 10,000 rows")
    print(f"bare lightgbm.train {training:.2f} s, predicting the population {predicting:.2f} s")
    print(
        f"arena, both {whole:.2f} s: overhead {whole / (training + predicting) - 1:+.1%} of both,"
    )
    print(f"  {(whole - training - predicting) / training:+.1%} of the training")
    print(f"scoring {scoring:.2f} s: {scoring / training:.1%} of the training")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
