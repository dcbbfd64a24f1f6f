"""Teams that train LightGBM and are led by what the board shows them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import Answer, Computation, Conduct, Move, Participation, Player
from arena.simulation.data import LabelledRows, TrainingRows
from arena.simulation.submission import shape_for
from arena.types import FloatArray, IntArray
from arena_competitors.guesses import is_better
from arena_competitors.lightgbm_grid import Grid, read_grid

__all__ = ["LightGBMClimber", "LightGBMSeeds", "predictions_of_model"]

Settings = Mapping[str, Any]
_GRID = "team_grid.toml"
_FEATURES_KNOWN = (0.6, 1.0)
_ROWS_USED = (0.5, 1.0)
_SEEDS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LightGBMClimber:
    """An honest team that changes one setting of its best model at a time, as the board shows it.

    Every team knows a share of the features (0.6 to all) and trains on a share of the rows (half
    to all), drawn at its start: that is its skill. Holds the rows it trains on and the features
    of the test.

    Parameters
    ----------
    explore
        How often it draws all settings anew, in [0, 1].
    grid
        A TOML file of settings; None: the small models that come with arena.

    Raises
    ------
    UsageError
        If ``explore`` is out of its range.
    """

    explore: float = 0.2
    grid: str | None = None
    name: str = "lightgbm-climber"
    conduct: ClassVar[Conduct] = "honest"

    def __post_init__(self) -> None:
        if not isinstance(self.explore, int | float) or not 0 <= self.explore <= 1:
            raise UsageError(f"{self.name}: explore is from 0 to 1, not {self.explore!r}.")

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError without training rows."""

        def change(grid: Grid, best: Settings | None) -> Settings:
            drawn = grid.draw(rng)
            if best is None or rng.random() < self.explore:
                return drawn
            name = list(grid.search)[int(rng.integers(len(grid.search)))]
            return {**best, name: drawn[name], "seed": drawn["seed"]}

        return _team(self.name, self.grid, participation, rng, change)


@dataclass(frozen=True, slots=True)
class LightGBMSeeds:
    """An honest team that overfits: one model with ever other seeds, the luckiest of them kept.

    Its models are of equal worth, so that all it gains on the board is luck.

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

        def change(grid: Grid, best: Settings | None) -> Settings:
            return {**(best or grid.draw(rng)), "seed": int(rng.integers(_SEEDS))}

        return _team(self.name, self.grid, participation, rng, change)


def _team(
    name: str,
    grid: str | None,
    participation: Participation,
    rng: np.random.Generator,
    change: Callable[[Grid, Settings | None], Settings],
) -> _Team:
    if not isinstance(participation.training, TrainingRows) or participation.test is None:
        raise UsageError(f"{name} trains on data, and here are none.")
    read = read_grid(Path(grid) if grid else Path(__file__).with_name(_GRID))
    return _Team(read, participation, rng, change)


class _Team:
    """Trains, sends, and goes on from the model that the board likes best."""

    def __init__(
        self,
        grid: Grid,
        participation: Participation,
        rng: np.random.Generator,
        change: Callable[[Grid, Settings | None], Settings],
    ) -> None:
        self._grid, self._change, self._metric = grid, change, participation.metric
        self._shape = shape_for(participation.metric, participation.n_classes)
        self._rows, self._test = _own_view(participation.training, participation.test, rng)
        self._key = _fingerprint(self._rows, self._test)
        self._settings: Settings | None = None
        self._result: npt.NDArray[Any] | None = None
        self._best: tuple[float, Settings, npt.NDArray[Any]] | None = None

    def computation(self) -> Computation:
        """Return the training of the next model."""
        if self._settings is None:
            self._settings = self._change(self._grid, self._best[1] if self._best else None)
        grid = {"rounds": self._grid.rounds, "patience": self._grid.early_stopping}
        told = json.dumps([self._key, dict(self._settings), grid], sort_keys=True)
        arguments = (self._rows, self._key, self._test, dict(self._settings), grid)
        key = hashlib.sha256(told.encode()).hexdigest()
        return Computation(key, predictions_of_model, arguments)

    def take(self, result: npt.NDArray[Any]) -> None:
        """Receive what the model predicts."""
        self._result = result

    def submit(self) -> Move:
        """Send the model that was trained last."""
        if self._result is None:
            computation = self.computation()
            self._result = computation.function(*computation.arguments)
        return Move(self._shape.submission(self._result))

    def hear(self, answer: Answer) -> None:
        """Go on from this model if it is shown as better."""
        if self._settings is None or self._result is None:
            return
        if self._best is None or is_better(answer.score, self._best[0], self._metric):
            self._best = (answer.score, self._settings, self._result)
        self._settings = self._result = None

    def finish(self) -> Move:
        """Return the model that was shown as the best; without any answer a first one."""
        return Move(self._shape.submission(self._best[2])) if self._best else self.submit()


def _own_view(
    rows: TrainingRows, test: FloatArray, rng: np.random.Generator
) -> tuple[TrainingRows, FloatArray]:
    """Return what a team makes of the data: the features it knows, the rows it trains on."""
    n_rows, n_features = rows.training.features.shape
    known = _some(n_features, rng.uniform(*_FEATURES_KNOWN), rng)
    used = _some(n_rows, rng.uniform(*_ROWS_USED), rng)
    categorical = tuple(int(at) for at in np.flatnonzero(np.isin(known, rows.categorical)))
    first = np.unique(rows.training.target, return_index=True)[1] if rows.n_classes else used[:1]
    used = np.union1d(used, first)  # every class occurs
    own = replace(
        rows,
        training=LabelledRows(
            np.ascontiguousarray(rows.training.features[np.ix_(used, known)]),
            rows.training.target[used],
        ),
        validation=LabelledRows(
            np.ascontiguousarray(rows.validation.features[:, known]), rows.validation.target
        ),
        categorical=categorical,
    )
    return own, np.ascontiguousarray(test[:, known])


def _some(n: int, share: float, rng: np.random.Generator) -> IntArray:
    return np.sort(rng.choice(n, max(1, round(share * n)), replace=False))


def _fingerprint(rows: TrainingRows, test: FloatArray) -> str:
    from importlib.metadata import version

    digest = hashlib.sha256(repr((version("lightgbm"), rows.n_classes, rows.categorical)).encode())
    for part in (rows.training, rows.validation):
        for array in (part.features, part.target):
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.ascontiguousarray(test).tobytes())
    return digest.hexdigest()


def predictions_of_model(
    rows: TrainingRows, key: str, test: FloatArray, settings: Settings, grid: Mapping[str, int]
) -> npt.NDArray[np.float32]:
    """Train one model and return what it predicts, ``(n,)`` or ``(n, n_classes)``."""
    from arena_competitors.lightgbm_training import predict, train

    return predict(train(rows, key, settings, **grid), test)
