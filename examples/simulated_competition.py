"""Simulated competitions from Python: a custom competitor, two mechanisms, several seeds.

Run it as ``python examples/simulated_competition.py FOLDER``: about a minute.
"""

# %% A custom competitor. It sees what a real team sees and receives released scores.
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import arena
from arena.interfaces import Feedback, Move, Participation

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "simulated-competitions")
KINDS = "lightgbm-climber=4, nearest-mean=2, copycat=2, block-flip(rows=4, base=baseline)=2"


class NearestMean:
    """Predicts the class with the nearer mean, on randomly drawn features."""

    name = "nearest-mean"
    conduct = "honest"

    def start(self, participation: Participation, rng: np.random.Generator) -> NearestMeanPlayer:
        return NearestMeanPlayer(participation, rng)


class NearestMeanPlayer:
    def __init__(self, participation: Participation, rng: np.random.Generator) -> None:
        self.rng, self.rows = rng, participation.training.training
        self.test = participation.test
        self.predicted = self.best = np.zeros(participation.n_rows, dtype=np.intp)
        self.best_score = -np.inf

    def submit(self) -> Move:
        chosen = self.rng.choice(self.test.shape[1], 4, replace=False)
        means = [self.rows.features[self.rows.target == label].mean(axis=0) for label in (0, 1)]
        distances = [((self.test - mean)[:, chosen] ** 2).sum(axis=1) for mean in means]
        self.predicted = (distances[1] < distances[0]).astype(np.intp)
        return Move(self.predicted)

    def receive(self, feedback: Feedback) -> None:
        if feedback.score > self.best_score:
            self.best, self.best_score = self.predicted, feedback.score

    def finish(self) -> Move:
        return Move(self.best)


class OwnPlugin:
    """In a separate package this is a module with an entry point in the group ``arena``."""

    @arena.hookimpl
    def provide_competitors(self) -> list[NearestMean]:
        return [NearestMean()]


manager = arena.PluginManager()
manager.register(OwnPlugin(), "my-competitors")

# %% The same competition under two mechanisms, with three seeds.
with arena.ProgressDisplay() as progress:
    simulation = arena.simulate(
        FOLDER,
        ["full", "ladder-free(minimum_step=0.005)"],
        teams=10,
        days=3,
        kinds=KINDS,
        per_day=6,
        rows=2_000,
        train_rows=1_500,
        validation_rows=500,
        seeds=3,
        manager=manager,
        progress=progress,
    )
for story in simulation.stories:
    for outcome in story.outcomes:
        last = outcome["days"][-1]
        print(
            f"seed {story.seed}, {outcome['mechanism']}: best won: {outcome['best_won']}, the top "
            f"shows {last['shown_best']:.4f}; its true score is {last['true_of_leader']:.4f}"
        )

# %% Paired differences over the seeds, with their significance.
for summary in simulation.comparison.summaries:
    if summary.measure == "leaderboard_error":
        error = f"mean leaderboard error {summary.mean:.4f}"
        print(f"{summary.mechanism}: {error} over {summary.seeds} seeds")
for text in simulation.sentences():
    print(text)
