"""Simulated competitions from Python: a competitor of one's own, two mechanisms, several seeds.

Run it as ``python examples/simulated_competition.py FOLDER``: about a minute.
"""

# %% A competitor of one's own. It sees what a real team sees, and hears what is released.
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from arena.config import Settings
from arena.execution import Silence
from arena.hookspecs import hookimpl
from arena.interfaces import Answer, Move, Participation
from arena.plugin_manager import PluginManager
from arena.simulation.competition.grounds import grounds_of_world
from arena.simulation.competition.rehearsal import rehearse
from arena.simulation.competition.roster import kind_of, read_kinds
from arena.simulation.competition.run import Request, hold, open_request
from arena.simulation.data import Sizes, synthetic_world

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "simulated-competitions")
SEEDS = range(3)
KINDS = "lightgbm-climber=4, nearest-mean=2, copycat=2, block-flip(rows=4, base=baseline)=2"


class NearestMean:
    """Predicts the class whose mean is nearer, on features that it draws anew each time."""

    name = "nearest-mean"
    conduct = "honest"

    def start(self, participation: Participation, rng: np.random.Generator) -> NearestMeanPlayer:
        return NearestMeanPlayer(participation, rng)


class NearestMeanPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self.rng, self.rows = rng, participation.training.training
        self.test = participation.test
        self.sent = self.best = np.zeros(participation.n_rows, dtype=np.intp)
        self.best_score = -np.inf

    def submit(self) -> Move:
        chosen = self.rng.choice(self.test.shape[1], 4, replace=False)
        means = [self.rows.features[self.rows.target == label].mean(axis=0) for label in (0, 1)]
        distances = [((self.test - mean)[:, chosen] ** 2).sum(axis=1) for mean in means]
        self.sent = (distances[1] < distances[0]).astype(np.intp)
        return Move(self.sent)

    def hear(self, answer: Answer) -> None:
        if answer.score > self.best_score:
            self.best, self.best_score = self.sent, answer.score

    def finish(self) -> Move:
        return Move(self.best)


class OwnPlugin:
    """In a package of its own this is a module with an entry point in the group ``arena``."""

    @hookimpl
    def provide_competitors(self) -> list[NearestMean]:
        return [NearestMean()]


manager = PluginManager()
manager.register(OwnPlugin(), "my-competitors")

# %% The same competition under two mechanisms, for several seeds: one simulation is one story.
errors: dict[str, list[float]] = {}
for seed in SEEDS:
    grounds = grounds_of_world(synthetic_world(Sizes(1_500, 500, 2_000), seed))
    settings = Settings.model_validate(
        {
            "competition": {"title": f"SIMULATED: seed {seed}", "baseline": "simulated baseline"},
            "data": dict(grounds.columns),
            "metric": {"name": "accuracy"},
            "limits": {"per_day": 12},
            "analysis": {"resamples": 200},
        }
    )
    asked = Request(
        FOLDER / f"seed-{seed}",
        grounds,
        settings,
        mechanisms=("full", "ladder-free(minimum_step=0.005)"),
        kinds=read_kinds(KINDS, manager.competitors),
        baseline=kind_of("lightgbm-climber", manager.competitors),
        teams=10,
        days=6,
        seed=seed,
    )
    rehearse(asked, manager)  # whatever cannot be is said here, before anything is trained
    venue = open_request(asked)
    for mechanism in asked.mechanisms:
        held = hold(venue, asked, mechanism, manager, workers=1, progress=Silence())
        outcome = held.outcome
        errors.setdefault(mechanism, []).append(outcome.leaderboard_error or 0.0)
        print(
            f"seed {seed}, {mechanism}: best won: {outcome.best_won}, cost {outcome.loss:.4f}, "
            f"the top shows {outcome.days[-1].shown_best:.4f} and is truly worth "
            f"{outcome.days[-1].true_of_leader:.4f}"
        )

# %% What the seeds have in common.
for mechanism, found in errors.items():
    print(f"{mechanism}: mean leaderboard error {np.mean(found):.4f} over {len(found)} seeds")
