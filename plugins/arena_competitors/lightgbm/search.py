"""``lightgbm``: a team that draws the settings of its models from a grid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Feedback, Move, Participation, Player
from arena.simulation.data import TrainingRows
from arena.simulation.ranks.submission import shape_for
from arena.types import FloatArray
from arena_competitors.attackers.guesses import is_better
from arena_competitors.lightgbm.grid import Grid, read_grid


@dataclass(frozen=True, slots=True)
class LightGBMSearch:
    """Random search over a grid of LightGBM's parameters, with early stopping.

    Parameters
    ----------
    grid
        A TOML file; None: arena's default grid.

    Examples
    --------
    >>> search = LightGBMSearch()
    >>> sorted(search.draw(np.random.default_rng(0)))[:2]
    ['bagging_fraction', 'bagging_freq']
    """

    name: str = field(default="lightgbm", init=False)
    grid: str | None = None
    read: Grid | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.grid is not None:  # read here: a worker may not have the file
            object.__setattr__(self, "read", read_grid(Path(self.grid)))

    @property
    def _grid(self) -> Grid:
        return self.read or read_grid(None)

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player that submits models in turn and keeps the one with the best score.

        Raises
        ------
        UsageError
            If there are no rows to train on.
        """
        if not isinstance(participation.training, TrainingRows):
            raise UsageError(
                f"{self.name} needs training data, but there are labels only: use it in simulated "
                f"competitions."
            )
        return _Searcher(self, participation, rng)

    def identity(self) -> str:
        """Return a hash of the grid and the version of LightGBM."""
        from importlib.metadata import version

        return f"lightgbm {version('lightgbm')} {self._grid.identity()}"

    def check(self, rows: TrainingRows) -> None:
        """Train one tree with every value of the grid.

        Raises
        ------
        InputError
            If LightGBM refuses one.
        """
        from arena_competitors.lightgbm.training import check_grid

        check_grid(self._grid, rows)

    def draw(self, rng: np.random.Generator) -> Mapping[str, Any]:
        """Return the parameters of one model."""
        return self._grid.draw(rng)

    def predictions(
        self, rows: TrainingRows, key: str, features: FloatArray, settings: Mapping[str, Any]
    ) -> npt.NDArray[np.float32]:
        """Train one model and return what it predicts."""
        from arena_competitors.lightgbm.training import predict, train

        grid = self._grid
        model = train(rows, key, settings, rounds=grid.rounds, patience=grid.early_stopping)
        return predict(model, features)


class _Searcher:
    """Draws, trains and submits models; the one with the best released score is final."""

    def __init__(
        self, search: LightGBMSearch, participation: Participation, rng: np.random.Generator
    ) -> None:
        self._search, self._participation, self._rng = search, participation, rng
        self._shape = shape_for(participation.metric, participation.n_classes)
        self._key = f"participation {id(participation.training)}"
        self._sent: npt.NDArray[Any] | None = None
        self._best: npt.NDArray[Any] | None = None
        self._best_score: float | None = None

    def submit(self) -> Move:
        """Train a model with other settings."""
        part = self._participation
        settings = self._search.draw(self._rng)
        raw = self._search.predictions(part.training, self._key, part.test, settings)
        self._sent = self._shape.submission(raw)
        return Move(self._sent)

    def receive(self, feedback: Feedback) -> None:
        """Keep the model if its released score is the best so far."""
        metric = self._participation.metric
        if self._best_score is None or is_better(feedback.score, self._best_score, metric):
            self._best, self._best_score = self._sent, feedback.score

    def finish(self) -> Move:
        """Return the model with the best released score; without feedback the last one."""
        submission = self._best if self._best is not None else self._sent
        if submission is None:
            raise UsageError("A team without submissions has no last submission.")
        return Move(submission)
