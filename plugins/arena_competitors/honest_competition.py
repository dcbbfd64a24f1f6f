"""A simulated honest competition: teams with correlated errors that improve over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from arena.interfaces import Metric
from arena.types import FloatArray
from arena_competitors.rows import Rows


@dataclass(frozen=True)
class Honest:
    """A simulated competition like Photo Quality: teams with correlated errors that improve."""

    n_rows: int = 12_000
    n_public: int = 3_600
    n_teams: int = 200
    n_submissions: int = 1_785
    seed: int = 0

    def rows(self, metric: Metric) -> Rows:
        """Return labels drawn from probabilities, the first rows public."""
        truth = (np.random.default_rng(self.seed).random(self.n_rows) < self._sure()).astype(int)
        return Rows(
            metric=metric,
            n_classes=2,
            n_rows=self.n_rows,
            public=np.arange(self.n_public),
            public_truth=truth[: self.n_public],
            hidden=np.arange(self.n_public, self.n_rows),
            hidden_truth=truth[self.n_public :],
            baseline=np.full(self.n_rows, 0.5),
        )

    def _signal(self) -> FloatArray:
        return np.random.default_rng(self.seed + 1).normal(0, 2, self.n_rows)

    def _sure(self) -> FloatArray:
        return 1 / (1 + np.exp(-self._signal()))

    def submissions(self) -> Iterator[tuple[int, FloatArray]]:
        """Yield ``(team, prediction)`` in the order of arrival."""
        rng = np.random.default_rng(self.seed + 2)
        extra = rng.multinomial(
            self.n_submissions - self.n_teams, rng.dirichlet(np.ones(self.n_teams))
        )
        order = np.concatenate([np.arange(self.n_teams), np.repeat(np.arange(self.n_teams), extra)])
        signal, common = self._signal(), rng.normal(size=self.n_rows)
        skill = rng.gamma(4, 0.2, self.n_teams)
        n_sent = np.zeros(self.n_teams)
        for team in [*order[: self.n_teams], *rng.permutation(order[self.n_teams :])]:
            team_noise = np.random.default_rng([self.seed, team]).normal(size=self.n_rows)
            error = 0.3 + skill[team] + 0.5 / (1 + n_sent[team])
            noise = 0.6 * team_noise + 0.8 * common + 0.15 * rng.normal(size=self.n_rows)
            n_sent[team] += 1
            yield int(team), 1 / (1 + np.exp(-0.8 * (signal + error * noise)))
