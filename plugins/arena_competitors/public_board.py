"""A public board in memory: instances of a mechanism and the releases to each team."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import MetricError
from arena.evaluation.standard_errors import (
    comparable_values,
    standard_error,
    standard_error_of_mean,
)
from arena.interfaces import (
    ClipsScores,
    Evaluation,
    Mechanism,
    Move,
    PublicBoard,
    ReviewsBoard,
    Scope,
    traits_of,
)
from arena.public_board.clipping import clip_values, conceivable_scores
from arena.public_board.instances import InstanceRelease, MemoryLog, instances, team_code
from arena.types import FloatArray, Release
from arena_competitors.rows import Rows
from arena_competitors.scoring import scorer

_BASELINE = 0
"""The baseline's number; attackers' submissions are numbered from 1."""


@dataclass(frozen=True, slots=True)
class BoardSettings:
    """The organiser's settings of the public board, apart from the mechanism."""

    submissions: int
    """The number of submissions before the last one; passed to the mechanism as the budget."""
    scope: Scope = "team"
    """What has an instance of the mechanism."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """The result of a submission, as the organiser sees it."""

    prediction: npt.NDArray[Any]
    public_score: float
    """The public score at full precision."""
    score: float
    """The released score."""
    improved: bool
    previous: float | None
    """The previous release to the same team."""


class PublicBoardRun:
    """Scores submissions on the public rows and releases them through a mechanism.

    The host's rules for scope, clip and standard errors apply. The public rows of every
    committed submission stay in memory, since a mechanism may compare with any of them.
    """

    def __init__(
        self, mechanism: Mechanism, rows: Rows, settings: BoardSettings, seed: int
    ) -> None:
        self._mechanism, self._rows, self._seed = mechanism, rows, seed
        clip = mechanism.clip if isinstance(mechanism, ClipsScores) else None
        self._metric = clip_values(rows.metric, clip)
        self._compared = rows.score if clip is None else scorer(self._metric)
        better = self._metric.greater_is_better
        self._instances = instances(settings.scope, greater_is_better=better)
        self._log = MemoryLog()
        self._predictions: dict[int, npt.NDArray[Any]] = {}
        self._values: dict[int, FloatArray] = {}  # of those that others were compared with
        self._shown: dict[int, float] = {}
        self._unscored = self._evaluation(settings.submissions)
        self.baseline_score: float | None = None
        """The baseline's public score at full precision, if there is a baseline."""
        if rows.baseline is not None:
            self._predictions[_BASELINE] = rows.baseline[rows.public]
            self.baseline_score = self._score(self._predictions[_BASELINE])
            self._unscored = replace(
                self._unscored, baseline=self.baseline_score, baseline_submission=_BASELINE
            )

    def _evaluation(self, budget: int) -> Evaluation:
        """Return the parts of an evaluation that all submissions share."""
        return Evaluation(
            submission=0,
            score=np.nan,
            greater_is_better=self._metric.greater_is_better,
            n_rows=len(self._rows.public),
            standard_error_of_difference=lambda _: np.nan,
            budget=budget,
            row_range=traits_of(self._metric).row_range,
            score_range=conceivable_scores(self._metric),
        )

    def _score(self, public: npt.NDArray[Any]) -> float:
        score = self._compared(self._rows.public_truth, public)
        if not np.isfinite(score):
            raise MetricError(
                f"{self._metric.name} has no finite value for the attack's submission."
            )
        return score

    def send(self, move: Move, *, commit: bool = True) -> Shown:
        """Release a submission; without ``commit`` it is undone afterwards.

        Raises
        ------
        MetricError
            If its score is not finite.
        """
        number = len(self._predictions) + (self.baseline_score is None)
        prediction = np.array(move.prediction)  # an attacker may use its array again
        public = prediction[self._rows.public]
        compared = self._score(public)
        released = self._release(number, move.team, public, compared)
        previous = self._shown.get(move.team)
        if commit:
            self._predictions[number] = public
            self._log.add(number, str(move.team), released)
            self._shown[move.team] = released.release.score
        plain = self._metric is self._rows.metric
        return Shown(
            prediction=prediction,
            public_score=compared if plain else self._rows.score(self._rows.public_truth, public),
            score=released.release.score,
            improved=released.release.improved,
            previous=previous,
        )

    def _release(
        self, number: int, team: int, public: npt.NDArray[Any], score: float
    ) -> InstanceRelease:
        rng = np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=(number,)))
        team_scores: list[FloatArray | None] = []

        def own_values() -> FloatArray | None:
            if not team_scores:
                team_scores.append(self._comparable(public))
            return team_scores[0]

        def error() -> float:
            values = own_values()
            if values is not None:
                return standard_error_of_mean(values)
            block = public[np.newaxis]
            return standard_error(self._metric, self._rows.public_truth, block, self._seed)

        evaluation = replace(
            self._unscored,
            submission=number,
            score=score,
            standard_error_of_difference=lambda other: self._error_of_difference(
                public, own_values(), other
            ),
            standard_error=error,
            team=team_code(str(team)),
        )

        def release(state: Mapping[str, Any], bound: float | None, _: int) -> Release:
            return self._mechanism.release(state, evaluation.at_most(bound), rng)

        return self._instances.release(str(team), release, self._log)

    def _comparable(self, public: npt.NDArray[Any]) -> FloatArray | None:
        values = comparable_values(self._metric, self._rows.public_truth, public[np.newaxis])
        return None if values is None else values[0]

    def _error_of_difference(
        self, public: npt.NDArray[Any], values: FloatArray | None, other: int
    ) -> float:
        if values is None:
            pair = np.stack([public, self._predictions[other]])
            return standard_error(self._metric, self._rows.public_truth, pair, self._seed)
        if other not in self._values:
            of_other = self._comparable(self._predictions[other])
            if of_other is None:
                return np.nan
            self._values[other] = of_other
        return standard_error_of_mean(values - self._values[other])


def review(name: str, mechanism: Mechanism, rows: Rows, settings: BoardSettings) -> list[str]:
    """Return a mechanism's warnings for these rows, in sentences.

    Raises
    ------
    InputError
        If the mechanism cannot be used with the metric.
    """
    if not isinstance(mechanism, ReviewsBoard):
        return []
    clip = mechanism.clip if isinstance(mechanism, ClipsScores) else None
    metric = clip_values(rows.metric, clip)
    baseline = PublicBoardRun(mechanism, rows, settings, seed=0).baseline_score
    board = PublicBoard(
        metric=rows.metric.name,
        greater_is_better=metric.greater_is_better,
        n_rows=len(rows.public),
        score_range=conceivable_scores(metric),
        budget=settings.submissions,
        has_baseline=baseline is not None,
        baseline=baseline,
        scope=settings.scope,
    )
    return [f"{name}: {sentence}" for sentence in mechanism.review(board)]
