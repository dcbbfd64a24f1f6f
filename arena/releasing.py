"""Releases public scores by a mechanism: one submission after another, or a whole history anew."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.clipping import conceivable_scores
from arena.config import Settings
from arena.interfaces import Evaluation, Mechanism, Metric, traits_of
from arena.paired_error import (
    comparable_values,
    standard_error_of_difference,
    standard_error_of_mean,
)
from arena.plugin_info import attributed_unquoted
from arena.plugin_manager import PluginManager
from arena.predictions import ArrayPredictions
from arena.public_mechanism import (
    budget_of,
    clip_of,
    find_mechanism,
    public_metric,
    public_rows,
)
from arena.resampling import full_scores
from arena.row_context import bind, clusters_of
from arena.scopes import Instances, Placed, RankInstances, TeamInstances, instances
from arena.store import Store
from arena.types import FloatArray, IntArray, Release, Solution

__all__ = ["Past", "Releaser", "release_again", "releaser_of"]

_HELD_SUBMISSIONS = 16
_BLOCK = 16


@dataclass(frozen=True, slots=True)
class Past:
    """A submission and whose it is."""

    submission: int
    team: str


@dataclass(frozen=True, slots=True, eq=False)
class _Held:
    """An earlier submission: what is compared of it, or for an opaque metric its predictions."""

    values: FloatArray | None
    block: npt.NDArray[Any] | None


@dataclass(frozen=True, slots=True, eq=False)
class Releaser:
    """A mechanism at work on the public rows of a competition, in one epoch.

    It holds the row values of the last 16 submissions that others were compared with, or will be,
    ``128 * n`` bytes for n rows; for an opaque metric their predictions.
    """

    mechanism: Mechanism
    plugin: str
    """Of the mechanism."""
    metric: Metric
    """Bound to the public rows, and clipped as the mechanism asks."""
    truth: npt.NDArray[Any]
    """``(n,)`` or ``(n, n_targets)``."""
    read: Callable[[int], npt.NDArray[Any]]
    """Returns the public rows of an earlier submission: ``(1, n)`` or ``(1, n, n_columns)``."""
    seed: int
    """Secret; all noise comes from it, the submission's number and the place of an instance."""
    instances: Instances
    clusters: IntArray | None = None
    """``(n,)`` codes of the group of each row."""
    budget: int | None = None
    baseline_team: str | None = None
    _baselines: dict[int, float] = field(default_factory=dict)
    _of_baseline: TeamInstances = field(default_factory=TeamInstances)
    _held: OrderedDict[int, _Held] = field(default_factory=OrderedDict)
    _placed: dict[int, _Held] = field(default_factory=dict)
    """What was compared of the submission that was placed last."""

    @property
    def is_clipped(self) -> bool:
        """Whether what the mechanism compares is not the metric's own score."""
        return clip_of(self.mechanism) is not None

    def score(self, block: npt.NDArray[Any]) -> float:
        """Return the score that the mechanism compares; NaN where it is undefined."""
        return float(full_scores(self.metric, self.truth, ArrayPredictions(block))[0])

    def place(self, past: Past, block: npt.NDArray[Any], score: float) -> Placed:
        """Return what is released for a submission; nothing is kept of it.

        Parameters
        ----------
        block
            ``(1, n)`` or ``(1, n, n_columns)`` predictions of the public rows.
        score
            As :meth:`score` returns it; finite.

        Raises
        ------
        InputError
            If the mechanism starts from the baseline, and that was not submitted yet.
        PluginError
            If the mechanism fails.
        """
        baselines = dict(self._baselines)
        if past.team == self.baseline_team:
            baselines[past.submission] = score
        sign = -1 if self.metric.greater_is_better else 1
        best = min(baselines, key=lambda one: (sign * baselines[one], one), default=None)
        own = functools.cache(lambda: self._compared(block))

        def error_of_difference(other: int) -> float:
            self._placed[past.submission] = own()
            return self._standard_error(block, own(), other)

        self._placed.clear()
        whole = Evaluation(
            submission=past.submission,
            score=score,
            greater_is_better=self.metric.greater_is_better,
            n_rows=len(self.truth),
            standard_error_of_difference=error_of_difference,
            budget=self.budget,
            baseline=None if best is None else baselines[best],
            row_range=traits_of(self.metric).row_range,
            score_range=conceivable_scores(self.metric),
            baseline_submission=best,
        )

        def answer(state: Mapping[str, Any], bound: float | None, position: int) -> Release:
            stream = np.random.SeedSequence(self.seed, spawn_key=(past.submission, position))
            with attributed_unquoted(self.plugin, "releasing a score"):
                return self.mechanism.release(
                    state, _bounded(whole, bound), np.random.default_rng(stream)
                )

        placed = self._instances_of(past.team, None).place(past.team, answer)
        if not placed.release.improved:
            self._placed.clear()
        return placed

    def take_up(self, past: Past, placed: Placed, score: float | None) -> None:
        """Go on from what was released. The score is that of :meth:`score`, if it is known."""
        self._instances_of(past.team, placed.instance).take_up(past.team, placed)
        if past.team == self.baseline_team:
            own = self.score(self.read(past.submission)) if score is None else score
            self._baselines[past.submission] = own

    def _instances_of(self, team: str, instance: str | None) -> Instances:
        """Return where a team's submissions go; a baseline, now or then, holds no rank."""
        apart = team in (self.baseline_team, instance)
        ranks = isinstance(self.instances, RankInstances)
        return self._of_baseline if ranks and apart else self.instances

    def keep(self, submission: int) -> None:
        """Hold what was compared of the submission that was placed last, if it was better.

        To be called once it is stored: then its number is that of no other any more.
        """
        if submission in self._placed:
            self._hold(submission, self._placed.pop(submission))

    def _standard_error(self, block: npt.NDArray[Any], own: _Held, other: int) -> float:
        if other not in self._held:
            self._hold(other, self._compared(self.read(other)))
        self._held.move_to_end(other)
        held = self._held[other]
        if own.values is not None and held.values is not None:
            return standard_error_of_mean(own.values - held.values, self.clusters)
        pair = np.concatenate([block, self.read(other) if held.block is None else held.block])
        return standard_error_of_difference(self.metric, self.truth, pair, self.seed, self.clusters)

    def _compared(self, block: npt.NDArray[Any]) -> _Held:
        values = comparable_values(self.metric, self.truth, block)
        return _Held(None, block.copy()) if values is None else _Held(values[0], None)

    def _hold(self, submission: int, held: _Held) -> None:
        self._held[submission] = held
        if len(self._held) > _HELD_SUBMISSIONS:
            self._held.popitem(last=False)


def _bounded(evaluation: Evaluation, bound: float | None) -> Evaluation:
    """Return an evaluation whose score counts as no better than a bound."""
    if bound is None:
        return evaluation
    worse = min if evaluation.greater_is_better else max
    return replace(evaluation, score=worse(evaluation.score, bound))


def releaser_of(
    settings: Settings, solution: Solution, store: Store, manager: PluginManager, seed: int
) -> Releaser:
    """Return the mechanism that the settings ask for, before its first release."""
    mechanism = find_mechanism(settings, manager)
    metric = public_metric(settings, mechanism, solution, manager)
    rows = public_rows(solution)

    def read(submission: int) -> npt.NDArray[Any]:
        return next(store.predictions([submission], rows=rows).blocks(1))[1]

    return Releaser(
        mechanism=mechanism,
        plugin=manager.mechanisms.plugin_of(settings.public.mechanism),
        metric=bind(metric, solution, rows),
        truth=solution.truth[rows],
        read=read,
        seed=seed,
        instances=instances(settings.public.scope, greater_is_better=metric.greater_is_better),
        clusters=clusters_of(solution, rows),
        budget=budget_of(settings),
        baseline_team=settings.competition.baseline,
    )


def release_again(
    releasers: Sequence[Releaser], history: Sequence[Past], store: Store, solution: Solution
) -> Iterator[tuple[Past, list[Placed | None]]]:
    """Release a history anew by each of some mechanisms, in its order; nothing is stored.

    A submission whose score is not finite is released by none: None stands for it. At most 16
    submissions are held at a time.
    """
    numbers = [past.submission for past in history]
    blocks = store.predictions(numbers, rows=public_rows(solution)).blocks(_BLOCK)
    for start, block in blocks:
        for at in range(len(block)):
            past = history[start + at]
            yield past, [_take(one, past, block[at : at + 1]) for one in releasers]


def _take(releaser: Releaser, past: Past, block: npt.NDArray[Any]) -> Placed | None:
    score = releaser.score(block)
    if not np.isfinite(score):
        return None
    placed = releaser.place(past, block, score)
    releaser.keep(past.submission)
    releaser.take_up(past, placed, score)
    return placed
