"""Teams that train LightGBM and react to released scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.interfaces import Conduct, Participation, Player
from arena.simulation.data import TrainingRows
from arena.types import FloatArray
from arena_competitors.lightgbm.grid import Grid, read_grid
from arena_competitors.training_team import (
    ClimbingTeam,
    Habits,
    Search,
    Settings,
    draw_seed,
    start_team,
)

_GRID = "team_grid.toml"


@dataclass(frozen=True, slots=True)
class LightGBMClimber(ClimbingTeam):
    """An honest team that changes one setting of its best model at a time.

    Every team knows a share of the features (0.6 to all) and trains on a share of the rows (half
    to all), drawn at its start: this is its skill. Memory: its training rows and the test features.

    Parameters
    ----------
    explore
        Probability of redrawing all settings, in [0, 1].
    grid
        A TOML file of settings; None: the small models that come with arena.
    ensemble, blend, persistence
        See :class:`~arena_competitors.training_team.Habits`: how many of its models the team
        averages, the share of the best public notebook, and the probability that it goes on after
        a fall. 1, 0 and None: none of these.

    Raises
    ------
    UsageError
        If a parameter is out of its range.
    """

    grid: str | None = None
    name: str = "lightgbm-climber"

    def models(self) -> Search:
        """Return the models of the grid; InputError if its file is not valid."""
        return _GridSearch(_read(self.grid))


@dataclass(frozen=True, slots=True)
class LightGBMSeeds:
    """An honest team that overfits: it tries many seeds of one model and keeps the luckiest.

    Its models are equally good, so all its gains on the board are luck.

    Parameters
    ----------
    grid
        A TOML file of settings; None: the small models that come with arena.
    """

    grid: str | None = None
    name: str = "lightgbm-seeds"
    conduct: ClassVar[Conduct] = "honest"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError without training rows."""
        grid = _read(self.grid)

        def change(best: Settings | None, _: bool) -> Settings:
            return {**(best or grid.draw(rng)), "seed": draw_seed(rng)}

        return start_team(
            _GridSearch(grid),
            Habits(self.name),
            participation=participation,
            rng=rng,
            change=change,
        )


def _read(grid: str | None) -> Grid:
    return read_grid(Path(grid) if grid else Path(__file__).with_name(_GRID))


@cache
def _lightgbm_version() -> str:
    """Return the version, which is read from a file."""
    from importlib.metadata import version

    return version("lightgbm")


@dataclass(frozen=True, slots=True)
class _GridSearch:
    grid: Grid

    @property
    def search(self) -> Mapping[str, Sequence[Any]]:
        return self.grid.search

    @property
    def function(self) -> Callable[..., npt.NDArray[Any]]:
        return predictions_of_model

    @property
    def fixed(self) -> Mapping[str, Any]:
        return {"rounds": self.grid.rounds, "patience": self.grid.early_stopping}

    @property
    def versions(self) -> str:
        return _lightgbm_version()

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        return self.grid.draw(rng)


def predictions_of_model(
    rows: TrainingRows, key: str, test: FloatArray, settings: Settings, grid: Mapping[str, int]
) -> npt.NDArray[np.float32]:
    """Train one model and return what it predicts, ``(n,)`` or ``(n, n_classes)``."""
    from arena_competitors.lightgbm.training import predict, train

    return predict(train(rows, key, settings, **grid), test)
