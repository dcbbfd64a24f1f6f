"""What a simulated team that trains LightGBM costs beside bare ``lightgbm.train``.

The teams of a simulated competition with
its default rows (3,000 training, 1,000 validation, 6,000 to predict) take turns, as in a round, and
each trains, predicts and submits. Bare LightGBM trains the same models on the same rows: one
Dataset per team, made once, and ``lightgbm.train`` and ``predict`` on one thread. Both run in this
process in alternation, each in processor seconds. On a busy machine these pairs differ by more
than a team costs. So the seconds that a team spends outside LightGBM's own calls are measured
as well: the same disturbance meets both parts of one run. The documented figures are those of
``--rounds 8 --runs 7``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time

import lightgbm
import numpy as np

from arena.interfaces import Feedback, Participation
from arena.plugin.manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena_competitors.lightgbm import training

TEAMS = 4
ALWAYS = {
    "num_threads": 1, "verbosity": -1, "deterministic": True, "force_col_wise": True,
    "feature_pre_filter": False, "objective": "binary", "metric": "binary_logloss",
}  # fmt: skip


def start_teams(manager, world, rounds):
    competitor = manager.competitors.resolve("lightgbm-climber")
    metric = manager.metrics.resolve("accuracy")
    part = Participation(
        metric, world.population.n_rows, 2_000, 2, TEAMS * rounds,
        training=world.rows, test=world.population.features,
    )  # fmt: skip
    return [competitor.start(part, np.random.default_rng(number)) for number in range(TEAMS)]


def of_teams(manager, world, rounds):
    """Return the processor seconds of all rounds, and what was trained."""
    players = start_teams(manager, world, rounds)
    trained = []
    began = time.process_time()
    for number in range(rounds):
        for position, player in enumerate(players):
            work = player.computation()
            player.receive_result(work.function(*work.arguments))
            player.submit()
            player.receive(Feedback(0.7 + 0.001 * number, None))
            trained.append((position, work.arguments))
    return time.process_time() - began, trained


def timed_teams(manager, world, rounds):
    """Return the processor seconds of all rounds, and those within LightGBM's own calls."""
    training.kept_training_sets.clear()  # no Dataset of an earlier run
    inside, depth = 0.0, 0

    def timed(function):
        def call(*args, **kwargs):
            nonlocal inside, depth
            depth += 1
            began = time.process_time()
            try:
                return function(*args, **kwargs)
            finally:
                depth -= 1
                if not depth:
                    inside += time.process_time() - began

        return call

    own = [(lightgbm, "train"), (lightgbm.Booster, "predict"), (lightgbm.Dataset, "construct")]
    before = [getattr(place, name) for place, name in own]
    for (place, name), function in zip(own, before, strict=True):
        setattr(place, name, timed(function))
    try:
        return of_teams(manager, world, rounds)[0], inside
    finally:
        for (place, name), function in zip(own, before, strict=True):
            setattr(place, name, function)


def bare(trained):
    """Return the processor seconds of the same models by LightGBM alone."""
    datasets = {}
    began = time.process_time()
    for place, (rows, _, test, settings, fixed) in trained:
        if place not in datasets:
            first = lightgbm.Dataset(
                rows.training.features, rows.training.target, params=ALWAYS, free_raw_data=False
            ).construct()
            second = first.create_valid(
                rows.validation.features, rows.validation.target, params=ALWAYS
            ).construct()
            datasets[place] = first, second
        training, validation = datasets[place]
        model = lightgbm.train(
            {**settings, **ALWAYS},
            training,
            num_boost_round=fixed["rounds"],
            valid_sets=[validation],
            callbacks=[lightgbm.early_stopping(fixed["patience"], verbose=False)],
        )
        model.predict(test, num_threads=1)
    return time.process_time() - began


def main() -> None:
    """Run, print each pair on the standard error, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=2, help="models of each team")
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs")
    options = parser.parse_args()
    world = synthetic_world(Sizes(3_000, 1_000, 6_000), 0)
    manager = PluginManager()
    _, trained = of_teams(manager, world, options.rounds)  # imports
    pairs, outside = [], []
    for number in range(options.runs):
        if number % 2:
            alone, (ours, inside) = bare(trained), timed_teams(manager, world, options.rounds)
        else:
            (ours, inside), alone = timed_teams(manager, world, options.rounds), bare(trained)
        pairs.append((alone, ours))
        outside.append(ours / inside - 1)
        print(
            f"bare {alone:.2f} s, teams {ours:.2f} s: {ours / alone - 1:+.1%}; outside LightGBM "
            f"{outside[-1]:.1%} of the time within",
            file=sys.stderr,
            flush=True,
        )
    shares = np.sort([ours / alone - 1 for alone, ours in pairs])
    least = np.min(pairs, axis=0)
    result = {
        "benchmark": "team_training",
        "teams": TEAMS,
        "models": TEAMS * options.rounds,
        "runs": options.runs,
        "peer_seconds": round(least[0], 3),
        "arena_seconds": round(least[1], 3),
        "overhead": round(least[1] / least[0] - 1, 4),
        "median_overhead": round(np.median(shares), 4),
        "overheads": [round(share, 4) for share in shares],
        "outside_of_inside": round(np.median(outside), 4),
        "load": round(os.getloadavg()[0], 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
