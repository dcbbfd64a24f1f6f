"""What all teams that train models have in common: their data, habits and reaction to the board."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.interfaces import (
    Computation,
    Conduct,
    Feedback,
    Move,
    Notebook,
    Participation,
    Player,
    Standing,
)
from arena.simulation.data import LabelledRows, TrainingRows
from arena.simulation.ranks.submission import shape_for
from arena.types import FloatArray, IntArray, PredictionKind
from arena_competitors.attackers.guesses import is_better

Settings = Mapping[str, Any]
_SEEDS = 2**31 - 1
_FEATURES_KNOWN = (0.6, 1.0)
_ROWS_USED = (0.5, 1.0)
_OUT_OF_REACH = 3.0
"""The top is out of reach if it is farther away than so many times what a team has gained."""
_FEW = 3
"""Submissions before a team judges whether the top is out of reach."""


class Search(Protocol):
    """Settings to draw models from, and the function that trains one."""

    @property
    def search(self) -> Mapping[str, Sequence[Any]]:
        """The settings that are varied, with their values."""

    @property
    def function(self) -> Callable[..., npt.NDArray[Any]]:
        """Trains a model: takes rows, their key, features, settings and :attr:`fixed`."""

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What is the same for every model, as JSON."""

    @property
    def versions(self) -> str:
        """The version of the library that trains."""

    def draw(self, rng: np.random.Generator) -> dict[str, Any]:
        """Return the settings of one model, including its ``seed``."""


@dataclass(frozen=True, slots=True)
class Habits:
    """How a team works.

    Raises
    ------
    UsageError
        If a value is out of its range.
    """

    name: str
    """Of the competitor, for messages."""
    ensemble: int = 1
    """The team submits the mean of its new model and up to ``ensemble - 1`` models that improved
    its released score. From 1, which is no ensemble."""
    blend: float = 0.0
    """Share in [0, 1) of the best public notebook in what the team submits; the organiser's
    baseline counts as one."""
    persistence: float | None = None
    """Probability in [0, 1] that a team goes on when it has fallen on the public board, or
    when the top is out of reach. One that goes on after a fall tries something new. None: the team
    does not react to the leaderboard."""

    def __post_init__(self) -> None:
        if not isinstance(self.ensemble, int) or self.ensemble < 1:
            raise UsageError(f"{self.name}: ensemble must be 1 or more, not {self.ensemble!r}.")
        check_share(self.name, "blend", self.blend)
        if self.blend == 1:
            raise UsageError(f"{self.name}: blend must be below 1; copycat copies only.")
        if self.persistence is not None:
            check_share(self.name, "persistence", self.persistence)


def check_share(name: str, parameter: str, value: Any) -> None:
    """Refuse a parameter that is not in [0, 1].

    Raises
    ------
    UsageError
        If it is not.
    """
    if not isinstance(value, int | float) or not 0 <= value <= 1:
        raise UsageError(f"{name}: {parameter} must be between 0 and 1, not {value!r}.")


def draw_settings(search: Mapping[str, Sequence[Any]], rng: np.random.Generator) -> dict[str, Any]:
    """Return one value of each setting, and a seed.

    >>> draw_settings({"depth": [7]}, np.random.default_rng(0))["depth"]
    7
    """
    drawn = {name: values[int(rng.integers(len(values)))] for name, values in search.items()}
    return {**drawn, "seed": draw_seed(rng)}


def draw_seed(rng: np.random.Generator) -> int:
    """Return the seed of a model."""
    return int(rng.integers(_SEEDS))


Change = Callable[[Settings | None, bool], Settings]
"""Returns the next settings, from those of the best model and whether to try something new."""


def start_team(
    search: Search,
    habits: Habits,
    participation: Participation,
    rng: np.random.Generator,
    change: Change,
) -> TrainingTeam:
    """Return a team.

    Raises
    ------
    UsageError
        Without training rows, or if it blends and there is no public baseline.
    """
    if not isinstance(participation.training, TrainingRows) or participation.test is None:
        raise UsageError(f"{habits.name} needs training data, and there is none.")
    if habits.blend and participation.baseline is None:
        raise UsageError(f"{habits.name}: blend needs a public baseline, and there is none.")
    return TrainingTeam(search, habits, participation=participation, rng=rng, change=change)


@dataclass(frozen=True, slots=True)
class ClimbingTeam(ABC):
    """An honest team that changes one setting of its best model at a time.

    Parameters
    ----------
    explore
        Probability of redrawing all settings, in [0, 1].
    ensemble, blend, persistence
        See :class:`Habits`.

    Raises
    ------
    UsageError
        If a parameter is out of its range.
    """

    explore: float = 0.2
    ensemble: int = 1
    blend: float = 0.0
    persistence: float | None = None
    name: str = ""
    conduct: ClassVar[Conduct] = "honest"

    def __post_init__(self) -> None:
        check_share(self.name, "explore", self.explore)
        self._habits()

    def _habits(self) -> Habits:
        return Habits(self.name, self.ensemble, self.blend, self.persistence)

    @abstractmethod
    def models(self) -> Search:
        """Return what the team draws its models from."""

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        """Return a player; UsageError without training rows, or a baseline to blend with."""
        models = self.models()

        def change(best: Settings | None, is_new: bool) -> Settings:
            drawn = models.draw(rng)
            if best is None or is_new or rng.random() < self.explore:
                return drawn
            name = list(models.search)[int(rng.integers(len(models.search)))]
            return {**best, name: drawn[name], "seed": drawn["seed"]}

        return start_team(
            models, self._habits(), participation=participation, rng=rng, change=change
        )


class TrainingTeam:
    """Trains, submits, and continues from the model with the best released score."""

    def __init__(
        self,
        search: Search,
        habits: Habits,
        participation: Participation,
        rng: np.random.Generator,
        change: Change,
    ) -> None:
        self._search, self._habits, self._change, self._rng = search, habits, change, rng
        self._part, self._metric = participation, participation.metric
        self._shape = shape_for(participation.metric, participation.n_classes)
        self._rows, self._test = _own_view(participation.training, participation.test, rng)
        self._key = _fingerprint(self._rows, self._test, search.versions)
        self._settings: Settings | None = None
        self._result: npt.NDArray[Any] | None = None
        self._best: tuple[float, Settings] | None = None
        self._best_sent: npt.NDArray[Any] | None = None
        self._sent: npt.NDArray[Any] | None = None
        self._members: list[npt.NDArray[Any]] = []
        self._first: float | None = None
        self._heard = 0
        self._standing: Standing | None = None
        self._fell = self._stopped = False

    def computation(self) -> Computation:
        """Return the training of the next model."""
        if self._settings is None:
            best = self._best[1] if self._best else None
            self._settings = self._change(best, self._fell)
        fixed = dict(self._search.fixed)
        described = json.dumps([self._key, dict(self._settings), fixed], sort_keys=True)
        arguments = (self._rows, self._key, self._test, dict(self._settings), fixed)
        key = hashlib.sha256(described.encode()).hexdigest()
        return Computation(key, self._search.function, arguments)

    def receive_result(self, result: npt.NDArray[Any]) -> None:
        """Receive the predictions of the model."""
        self._result = result

    def submit(self) -> Move:
        """Submit the model that was trained last, with the ensemble and the blend of the team."""
        if self._result is None:
            computation = self.computation()
            self._result = computation.function(*computation.arguments)
        earlier_members = (
            self._members[-(self._habits.ensemble - 1) :] if self._habits.ensemble > 1 else []
        )
        blended = (
            np.mean([*earlier_members, self._result], axis=0) if earlier_members else self._result
        )
        self._sent = self._blended(blended)
        return Move(self._sent)

    def _blended(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        share = self._habits.blend
        if not share:
            return self._shape.submission(predictions)
        notebook = np.asarray(self._best_notebook())
        if self._shape.kind is PredictionKind.LABEL:
            codes = notebook.astype(np.intp)
            notebook = codes if predictions.ndim == 1 else np.eye(predictions.shape[1])[codes]
        blended: npt.NDArray[Any] = (1 - share) * predictions + share * notebook
        return self._shape.submission(blended)

    def _best_notebook(self) -> npt.NDArray[Any]:
        baseline = self._part.baseline
        assert baseline is not None  # noqa: S101 - checked by start_team
        best = Notebook(baseline, self._part.baseline_score)
        for notebook in self._part.notebooks:
            if notebook.score is not None and (
                best.score is None or is_better(notebook.score, best.score, self._metric)
            ):
                best = notebook
        return best.prediction

    def receive(self, feedback: Feedback) -> None:
        """Continue from this model if its released score is better; react to the leaderboard."""
        if self._settings is None or self._result is None:
            return
        improved = self._best is None or is_better(feedback.score, self._best[0], self._metric)
        if improved:
            self._best, self._best_sent = (feedback.score, self._settings), self._sent
            self._members.append(self._result)
            del self._members[: -self._habits.ensemble]
        self._settings = self._result = None
        self._react(feedback)

    def _react(self, feedback: Feedback) -> None:
        before, now = self._standing, feedback.standing
        self._standing, self._heard = now, self._heard + 1
        self._first = feedback.score if self._first is None else self._first
        persistence = self._habits.persistence
        if persistence is None or now is None or self._best is None:
            return
        self._fell = before is not None and now.rank > before.rank
        sign = 1 if self._metric.greater_is_better else -1
        gained, missing = (sign * (after - two) for after, two in (
            (self._best[0], self._first), (now.best, self._best[0])
        ))  # fmt: skip
        is_far = self._heard >= _FEW and missing > _OUT_OF_REACH * gained
        if (self._fell or is_far) and self._rng.random() >= persistence:
            self._stopped = True

    def has_stopped(self) -> bool:
        """Whether the team has given up."""
        return self._stopped

    def finish(self) -> Move:
        """Return the submission with the best released score; without feedback a first one."""
        return self.submit() if self._best_sent is None else Move(self._best_sent)


def _own_view(
    rows: TrainingRows, test: FloatArray, rng: np.random.Generator
) -> tuple[TrainingRows, FloatArray]:
    """Return a team's view of the data: its features and its training rows."""
    n_rows, n_features = rows.training.features.shape
    known_features = _some(n_features, rng.uniform(*_FEATURES_KNOWN), rng)
    used = _some(n_rows, rng.uniform(*_ROWS_USED), rng)
    categorical = tuple(
        int(feature) for feature in np.flatnonzero(np.isin(known_features, rows.categorical))
    )
    first = np.unique(rows.training.target, return_index=True)[1] if rows.n_classes else used[:1]
    used = np.union1d(used, first)  # so that every class occurs
    team_rows = replace(
        rows,
        training=LabelledRows(
            np.ascontiguousarray(rows.training.features[np.ix_(used, known_features)]),
            rows.training.target[used],
        ),
        validation=LabelledRows(
            np.ascontiguousarray(rows.validation.features[:, known_features]),
            rows.validation.target,
        ),
        categorical=categorical,
    )
    return team_rows, np.ascontiguousarray(test[:, known_features])


def _some(n: int, share: float, rng: np.random.Generator) -> IntArray:
    return np.sort(rng.choice(n, max(1, round(share * n)), replace=False))


def _fingerprint(rows: TrainingRows, test: FloatArray, versions: str) -> str:
    digest = hashlib.sha256(repr((versions, rows.n_classes, rows.categorical)).encode())
    for part in (rows.training, rows.validation):
        for array in (part.features, part.target):
            digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(np.ascontiguousarray(test).tobytes())
    return digest.hexdigest()
