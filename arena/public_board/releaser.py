"""Releases public scores by a mechanism: one submission after another, or a history again."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.config import Settings
from arena.evaluation.binding import bind, sampled_groups
from arena.evaluation.predictions import ArrayPredictions, block_size
from arena.evaluation.scores import full_scores
from arena.evaluation.standard_errors import (
    comparable_values,
    standard_error,
    standard_error_of_mean,
)
from arena.interfaces import Evaluation, Mechanism, Metric, traits_of
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.plugin.returned import checked
from arena.public_board.clipping import conceivable_scores
from arena.public_board.instances import (
    InstanceRelease,
    Instances,
    LoggedRelease,
    MemoryLog,
    PerTeam,
    ReleaseLog,
    instances,
    late_instance,
    team_code,
)
from arena.public_board.mechanism import (
    clip_of,
    find_mechanism,
    public_metric,
    public_rows,
    submission_budget,
)
from arena.store import Holder, Store
from arena.types import FloatArray, IntArray, Release, Solution
from arena.utils.read_only import read_only

READ_TOGETHER = 64
"""How many submissions are read at once at most, of those that hold the next ranks."""
_HELD_SUBMISSIONS, _HELD_BYTES = 16, 256 * 2**20
"""How many submissions are held for comparison: more than 16 as far as they take 256 MB."""


@dataclass(frozen=True, slots=True)
class SubmissionRef:
    """A submission and its team."""

    submission: int
    team: str
    late: bool = False
    """Whether it came after the deadline."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredSubmission:
    """A submission whose public score is to be released."""

    submission: int
    """Ids grow: the id of a submission that was stored is never used again."""
    team: str
    predictions: npt.NDArray[Any]
    """``(1, n)`` or ``(1, n, n_columns)``: of the public rows."""
    score: float | None = None
    """By the metric of the competition, at full precision; None: not computed yet."""
    score_changes: int = 0
    """How often its score changed since it was submitted: a changed score gets fresh noise."""
    late: bool = False
    """Whether it came after the deadline: its team's late files have an instance of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class _ComparedValues:
    """Compared between submissions: row values, or predictions for a black-box metric."""

    values: FloatArray | None
    block: npt.NDArray[Any] | None


@dataclass(slots=True, eq=False)
class _AheadLog:
    """A log that returns the holders of the ranks with which a submission is compared next.

    Reading one submission alone takes far longer than comparing it, and a new team can be compared
    with every rank. What is read depends on how far it gets, which its release reveals.
    """

    log: ReleaseLog
    prefix: str
    """The prefix of the names of the instances."""
    upcoming: list[int] = field(default_factory=list)

    def state_of(self, instance: str) -> Mapping[str, Any]:
        return self.log.state_of(f"{self.prefix}{instance}")

    def holders(self, outside: Collection[str] = ()) -> Iterator[Holder]:
        holders, size = self.log.holders(outside), 1
        while block := list(itertools.islice(holders, size)):
            # Others were never an improvement: their mechanism compares nothing with them.
            self.upcoming = [
                logged.submission
                for logged in block
                if logged.state.get("submission") == logged.submission
            ]
            yield from block
            size = min(2 * size, READ_TOGETHER)

    def since(self, number: int, team: str) -> Sequence[LoggedRelease]:
        released = self.log.since(number, team)
        return [
            release for release in released if release.released.instance.startswith(self.prefix)
        ]

    def add(self, submission: int, team: str, released: InstanceRelease) -> None:
        self.log.add(submission, team, released)


@dataclass(slots=True, eq=False)
class Releaser:
    """A mechanism at work on the public rows of a competition, in one epoch.

    :meth:`release` is its only method. Its state is in the log that is passed to it, so that a
    transaction that fails, or a process that ends, leaves nothing to undo. It
    keeps the row values of the last submissions that improved or that others were compared with;
    for a black-box metric, and until they are compared, their predictions. They are 16, ``128 * n``
    bytes for n rows, or as many as take 256 MB.
    """

    mechanism: Mechanism
    plugin: str
    """Of the mechanism."""
    metric: Metric
    """Bound to the public rows, and clipped as the mechanism asks."""
    truth: npt.NDArray[Any]
    """``(n,)`` or ``(n, n_targets)``."""
    read: Callable[[Sequence[int]], npt.NDArray[Any]]
    """Returns the public rows of k earlier submissions: ``(k, n)`` or ``(k, n, n_columns)``."""
    seed: int
    """Secret; all noise comes from it, the submission's id and the position of an instance."""
    instances: Instances
    clusters: IntArray | None = None
    """``(n,)`` codes of the group of each row."""
    budget: int | None = None
    baseline_team: str | None = None
    prefix: str = ""
    """The prefix of the names of the instances, if other public rows have instances as well."""
    _clipped: bool = field(init=False)
    _template: Evaluation = field(init=False)
    """The values that are the same for every submission."""
    _baseline: tuple[float, int] | None = None
    """Loss and id of the baseline's best submission."""
    _baseline_seen: int = 0
    _cache: OrderedDict[int, _ComparedValues] = field(default_factory=OrderedDict)
    _candidate: tuple[int, _ComparedValues] | None = None
    """The last submission that was improved on, to be cached once it is known to be stored."""

    def __post_init__(self) -> None:
        self._clipped = clip_of(self.mechanism) is not None
        self._template = Evaluation(
            submission=0,
            score=np.nan,
            greater_is_better=self.metric.greater_is_better,
            n_rows=len(self.truth),
            standard_error_of_difference=lambda _: np.nan,
            budget=self.budget,
            row_range=traits_of(self.metric).row_range,
            score_range=conceivable_scores(self.metric),
        )

    def release(self, submission: ScoredSubmission, log: ReleaseLog) -> InstanceRelease | None:
        """Release the score of a submission and append the release to the log.

        Returns
        -------
        None if the score is not finite: then nothing is released or appended.

        Raises
        ------
        InputError
            If the mechanism starts from the baseline, and that was not submitted yet.
        PluginError
            If the mechanism fails.
        """
        self._settle_cache(submission.submission)
        score = submission.score
        if score is None or self._clipped:
            score = self._score(submission.predictions)
        if not np.isfinite(score):
            return None
        compared_values: list[_ComparedValues] = []
        ahead = _AheadLog(log, self.prefix)

        def own_values() -> _ComparedValues:
            if not compared_values:
                compared_values.append(self._compare(submission.predictions))
            return compared_values[0]

        def error_of_difference(other: int) -> float:
            block, upcoming = submission.predictions, ahead.upcoming
            return self._error_of_difference(block, own_values(), other, upcoming)

        def error() -> float:
            values = own_values().values
            if values is not None:
                return standard_error_of_mean(values, self.clusters)
            block = submission.predictions
            return standard_error(
                self.metric, self.truth, block=block, seed=self.seed, clusters=self.clusters
            )

        baseline = self._best_baseline(submission, score, ahead)
        evaluation = replace(
            self._template,
            submission=submission.submission,
            score=score,
            standard_error_of_difference=error_of_difference,
            standard_error=error,
            baseline=None if baseline is None else self._template.to_loss(baseline[0]),
            baseline_submission=None if baseline is None else baseline[1],
            team=team_code(submission.team),
        )

        def ask(state: Mapping[str, Any], bound: float | None, position: int) -> Release:
            changes = [submission.score_changes] if submission.score_changes else []
            key = (submission.submission, position, *changes)
            stream = np.random.SeedSequence(self.seed, spawn_key=key)
            with attributed_unquoted(self.plugin, "releasing a score"):
                rng = np.random.default_rng(stream)
                answer = self.mechanism.release(read_only(state), evaluation.at_most(bound), rng)
                return checked(answer, Release)

        if submission.late:
            released = PerTeam().release(late_instance(submission.team), ask, ahead)
        else:
            released = self.instances.release(submission.team, ask, ahead)
        if self.prefix:
            released = replace(released, instance=f"{self.prefix}{released.instance}")
        if released.release.improved:
            held = (
                compared_values[0]
                if compared_values
                else _ComparedValues(None, submission.predictions.copy())
            )
            self._candidate = (submission.submission, held)
        log.add(submission.submission, submission.team, released)
        return released

    def _score(self, block: npt.NDArray[Any]) -> float:
        return float(full_scores(self.metric, self.truth, ArrayPredictions(block)).item())

    def _best_baseline(
        self, submission: ScoredSubmission, score: float, log: ReleaseLog
    ) -> tuple[float, int] | None:
        """Return loss and id of the baseline's best submission, perhaps this one; None: none."""
        if self.baseline_team is None:
            return None
        for logged in log.since(self._baseline_seen, self.baseline_team):
            logged_score = None if self._clipped else logged.score
            baseline_score = (
                self._score(self.read([logged.submission]))
                if logged_score is None
                else logged_score
            )
            self._baseline = self._better_baseline(baseline_score, logged.submission)
            self._baseline_seen = logged.number
        if submission.team == self.baseline_team:
            return self._better_baseline(score, submission.submission)
        return self._baseline

    def _better_baseline(self, score: float, submission: int) -> tuple[float, int]:
        candidate = (self._template.to_loss(score), submission)
        return candidate if self._baseline is None else min(self._baseline, candidate)

    # -- what earlier submissions are compared by ------------------------------------------------

    def _error_of_difference(
        self,
        block: npt.NDArray[Any],
        compared: _ComparedValues,
        other: int,
        upcoming: Sequence[int],
    ) -> float:
        if other not in self._cache:
            new = [number for number in upcoming if number != other and number not in self._cache]
            room = max(1, _HELD_BYTES // (8 * block.size))
            together = [other, *new][:room]
            read = self.read(together)
            # One by one: a product of several rows can differ in the last digit.
            for position in reversed(range(len(together))):
                self._put_in_cache(together[position], self._compare(read[position : position + 1]))
        self._cache.move_to_end(other)
        held = self._cache[other]
        if compared.values is not None and held.block is not None:
            held = self._cache[other] = self._compare(held.block)  # improved, and was not compared
        if compared.values is not None and held.values is not None:
            return standard_error_of_mean(compared.values - held.values, self.clusters)
        pair = np.concatenate([block, self.read([other]) if held.block is None else held.block])
        return standard_error(
            self.metric, self.truth, block=pair, seed=self.seed, clusters=self.clusters
        )

    def _compare(self, block: npt.NDArray[Any]) -> _ComparedValues:
        values = comparable_values(self.metric, self.truth, block)
        return (
            _ComparedValues(None, block.copy())
            if values is None
            else _ComparedValues(values[0], None)
        )

    def _settle_cache(self, following: int) -> None:
        """Cache the last improvement, unless its transaction failed and its id is used again."""
        if self._candidate is not None and self._candidate[0] < following:
            self._put_in_cache(*self._candidate)
        self._candidate = None

    def _put_in_cache(self, submission: int, compared: _ComparedValues) -> None:
        self._cache[submission] = compared
        arrays = (compared.values, compared.block)
        size = sum(8 * array.size for array in arrays if array is not None)
        if len(self._cache) > max(_HELD_SUBMISSIONS, _HELD_BYTES // size):
            self._cache.popitem(last=False)


def read_public_rows(
    store: Store, public_rows: npt.NDArray[np.bool_], submissions: Sequence[int]
) -> npt.NDArray[Any]:
    """Return the public rows of k stored submissions: ``(k, n)`` or ``(k, n, n_columns)``."""
    return next(store.predictions(submissions, rows=public_rows).blocks(len(submissions)))[1]


def make_releaser(
    settings: Settings,
    solution: Solution,
    read: Callable[[Sequence[int]], npt.NDArray[Any]],
    manager: PluginManager,
    seed: int,
    prefix: str = "",
) -> Releaser:
    """Return a releaser with the mechanism that the settings ask for.

    ``read`` and ``prefix`` are those of :class:`Releaser`.
    """
    mechanism = find_mechanism(settings, manager)
    metric = public_metric(settings, mechanism, solution.outline(), manager)
    rows = public_rows(solution)
    competition = settings.competition
    return Releaser(
        mechanism=mechanism,
        plugin=manager.mechanisms.plugin_of(settings.public.mechanism),
        metric=bind(metric, solution, rows),
        truth=solution.truth[rows],
        read=read,
        seed=seed,
        instances=instances(
            settings.public.scope,
            greater_is_better=metric.greater_is_better,
            outside=competition.baselines,
        ),
        clusters=sampled_groups(solution, rows),
        budget=submission_budget(settings),
        baseline_team=competition.reference,
        prefix=prefix,
    )


def release_again(
    releasers: Sequence[Releaser],
    history: Sequence[SubmissionRef],
    store: Store,
    solution: Solution,
    scores: Mapping[int, float | None] | None = None,
    score_changes: Mapping[int, int] | None = None,
) -> Iterator[tuple[SubmissionRef, list[InstanceRelease | None]]]:
    """Release a history again by each of some mechanisms, in its order; nothing is stored.

    A submission whose score is not finite is not released: None stands for it. The
    history is read in blocks of 16 MB.

    Parameters
    ----------
    scores
        The public scores of submissions, as in :class:`ScoredSubmission`; others are computed.
    score_changes
        How often the score of a submission changed; 0 where it is missing.
    """
    known_scores, changes = scores or {}, score_changes or {}
    logs = [MemoryLog() for _ in releasers]
    numbers = [scored.submission for scored in history]
    size = block_size(solution.n_rows * len(solution.columns))
    blocks = store.predictions(numbers, rows=public_rows(solution)).blocks(size)
    for start, block in blocks:
        for position in range(len(block)):
            ref = history[start + position]
            score = known_scores.get(ref.submission)
            scored = ScoredSubmission(
                submission=ref.submission,
                team=ref.team,
                predictions=block[position : position + 1],
                score=score,
                score_changes=changes.get(ref.submission, 0),
                late=ref.late,
            )
            yield (
                ref,
                [
                    releaser.release(scored, log)
                    for releaser, log in zip(releasers, logs, strict=True)
                ],
            )
