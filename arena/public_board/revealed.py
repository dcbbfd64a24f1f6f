"""How many labels one submission reveals through a mechanism: measured by an oracle.

The oracle marks a few target rows, whose labels it wants, and sends the same prediction for every
other row, so that the released number depends on the targets alone where the metric permits it. It
knows the number of public rows, the distribution of their labels, and two candidates for the label
of each target. Its submission is the first one on the board, or that of each of several teams of
one person, who takes the mean of what they are shown. Every assignment of labels is tried, with the
labels of the other rows and the mechanism's noise drawn again and again. From half of the draws the
oracle learns what each released score means, and on the other half its claims are tested.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.interfaces import (
    Evaluation,
    HasResample,
    Mechanism,
    Metric,
    NeedsRowContext,
    Scope,
    traits_of,
)
from arena.public_board.clipping import clip_values, conceivable_scores
from arena.public_board.instances import MemoryLog, instances, team_code
from arena.public_board.mechanism import clip_of
from arena.types import FloatArray, PredictionKind, Release

MOST_ROWS = 2_000
"""Of more public rows so many are tried: with more of them each label shows less."""
_SURE = 0.95
_PRIOR = 0.05
"""How many outcomes the guess counts as that all assignments are equally likely."""
_DRAWS = {1: 100, 2: 50, 3: 25, 6: 4, 10: 2}
"""Target rows -> draws of everything else for each of the 2^k assignments of labels."""


@dataclass(frozen=True, slots=True)
class Revealed:
    """What one submission reveals."""

    rows: float
    """The expected number of labels that are known with 95% probability or more afterwards."""
    bits: float
    """The information about the labels of the target rows; one row has at most 1 bit."""

    @property
    def shown_rows(self) -> float:
        """The number of rows to one decimal, as it is compared with what is accepted."""
        return round(self.rows, 1)


@dataclass(frozen=True, slots=True, eq=False)
class _Design:
    """The predictions of a submission: one for each target, and one for all other rows."""

    targets: npt.NDArray[Any]
    """``(most, ...)``: of the first, second, … target."""
    other: Any


def is_measurable(metric: Metric) -> bool:
    """Return whether the oracle can read a metric: it takes no texts and nothing but the truth.

    A metric that runs in a process of its own is not measured: it takes too long.
    """
    return not (
        metric.prediction is PredictionKind.TEXT
        or isinstance(metric, NeedsRowContext)
        or traits_of(metric).joint_targets
        or traits_of(metric).time_limit is not None
    )


def rows_revealed(
    metric: Metric,
    mechanism: Mechanism,
    truth: npt.NDArray[Any],
    n_classes: int,
    *,
    targets: int | None = None,
    teams: int = 1,
    scope: Scope = "team",
) -> Revealed:
    """Return what one submission reveals of binary questions about the public labels.

    Parameters
    ----------
    metric
        Of one target, and :func:`is_measurable`.
    truth
        ``(n,)`` public labels, as codes or values; more than 2,000 are thinned.
    n_classes
        0 for numeric targets.
    targets
        The most target rows; None: 10.
    teams
        How many teams of one person send the same predictions.
    scope
        What has an instance of the mechanism.

    Examples
    --------
    >>> from arena.plugin.manager import PluginManager
    >>> manager = PluginManager()
    >>> labels = np.arange(200) % 2
    >>> log_loss = manager.metrics.resolve("log_loss")
    >>> kaggle = manager.mechanisms.resolve("kaggle")
    >>> rows_revealed(log_loss, kaggle, labels, 2, targets=3).shown_rows
    3.0
    >>> accuracy = manager.metrics.resolve("accuracy")
    >>> rows_revealed(accuracy, manager.mechanisms.resolve("ladder-free"), labels, 2).shown_rows
    0.0
    """
    step = -(-len(truth) // MOST_ROWS)
    oracle = ReleaseOracle(metric, mechanism, truth[::step], n_classes, teams=teams, scope=scope)
    designs, revealed_amounts = list(oracle.designs()), [Revealed(0.0, 0.0)]
    for k in (k for k in _DRAWS if targets is None or k <= targets):
        measured = [oracle.measure(design, k) for design in designs]
        revealed_amounts += measured
        # More targets are worth their time where most of the fewer ones were revealed.
        designs = [design for design, of in zip(designs, measured, strict=True) if of.rows >= k / 4]
    return Revealed(
        max(revealed.rows for revealed in revealed_amounts),
        max(revealed.bits for revealed in revealed_amounts),
    )


class ReleaseOracle:
    """Sends one design under every assignment of labels and groups what is released."""

    def __init__(
        self,
        metric: Metric,
        mechanism: Mechanism,
        truth: npt.NDArray[Any],
        n_classes: int,
        *,
        teams: int,
        scope: Scope,
    ) -> None:
        self._instances = instances(scope, greater_is_better=metric.greater_is_better)
        self._teams = [(number, str(number), team_code(str(number))) for number in range(teams)]
        self._metric = clip_values(metric, clip_of(mechanism))
        # Asked once: a protocol is compared by its members, which takes as long as a score.
        self._fast = self._metric if isinstance(self._metric, HasResample) else None
        self._mechanism, self._truth, self._n_classes = mechanism, truth, n_classes
        low, high = (0, 1) if n_classes else np.quantile(truth, [0.25, 0.75]).tolist()
        if low == high:
            low, high = float(truth.min()), float(truth.max())
        self._candidates = np.array([low, high])
        self._evaluation = Evaluation(
            submission=1,
            score=np.nan,
            greater_is_better=metric.greater_is_better,
            n_rows=len(truth),
            standard_error_of_difference=lambda _: 0.0,  # of equal predictions
            row_range=traits_of(self._metric).row_range,
            score_range=conceivable_scores(self._metric),
        )

    def designs(self) -> Iterator[_Design]:
        """Yield designs for the kind of predictions that the metric takes."""
        most = np.arange(max(_DRAWS))
        kind = self._metric.prediction
        if kind is PredictionKind.LABEL:
            for other in (0, 1):
                yield _Design(np.full(len(most), 1 - other), other)
        elif kind is PredictionKind.VALUE:
            yield from self._of_values(most)
        else:
            yield from self._of_probabilities(most, ranks=kind is PredictionKind.SCORE)

    def _of_values(self, most: npt.NDArray[Any]) -> Iterator[_Design]:
        low, high = np.clip(traits_of(self._metric).prediction_range, -1e12, 1e12)
        first, second = self._candidates
        width = second - first
        others = (float(np.median(self._truth)), (first + second) / 2, second + 1e4 * width, 0.0)
        for other in np.unique(np.clip(others, low, high)):
            for size in (0.0, 1.0, 1e2, 1e4, 1e6):
                yield _Design(np.clip(first + size * width * 2.0**most, low, high), other)

    def _of_probabilities(self, most: npt.NDArray[Any], *, ranks: bool) -> Iterator[_Design]:
        if ranks and self._n_classes == 2:
            yield _Design(most + 1.0, 0.0)
            return
        for size in (0.003, 0.03, 0.3, np.inf):
            chance = 1 / (1 + np.exp(-size * 2.0**most))
            if self._n_classes == 2:
                yield _Design(chance, 0.5)
                continue
            spread = np.zeros((len(most), self._n_classes))
            spread[:, 1], spread[:, 0] = chance, 1 - chance
            yield _Design(spread, np.full(self._n_classes, 1 / self._n_classes))

    def measure(self, design: _Design, k: int) -> Revealed:
        """Return what a design with k targets reveals."""
        n, draws = len(self._truth), _DRAWS[k]
        if n <= k:
            return Revealed(0.0, 0.0)
        prediction = np.broadcast_to(design.other, (n, *design.targets.shape[1:])).copy()
        prediction = prediction.astype(design.targets.dtype)
        prediction[:k] = design.targets[:k]
        assignments = np.array(list(itertools.product((0, 1), repeat=k)))
        outcomes: list[tuple[float | None, int]] = []
        for draw in range(draws):
            rng = np.random.default_rng([k, draw])
            labels = rng.choice(self._truth, n)
            for number, assignment in enumerate(assignments):
                labels[:k] = self._candidates[assignment]
                released = self._released(labels, prediction, (k, draw, number))
                outcomes.append((released, number))
        half = draws // 2 * len(assignments)
        return learned(outcomes[:half], outcomes[half:], assignments)

    def _score(self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> float:
        """Return the score, by a metric's fast resampling where it has one."""
        if self._fast is not None:
            once = np.ones((len(truth), 1), dtype=np.uint8)
            return float(self._fast.resample(truth, prediction[np.newaxis], once).item())
        return float(self._metric.score(truth, prediction))

    def _released(
        self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any], seed: tuple[int, ...]
    ) -> float | None:
        """Return the mean of what the teams are shown; None: their file has no score."""
        try:
            with np.errstate(all="ignore"):
                score = self._score(truth, prediction)
        except (ValueError, ZeroDivisionError):
            return None
        if not np.isfinite(score):
            return None
        log, scores = MemoryLog(), []
        for number, team, code in self._teams:
            evaluation = replace(
                self._evaluation,
                submission=number + 1,
                score=score,
                standard_error=partial(self._standard_error, truth, prediction),
                team=code,
            )
            ask = partial(self._ask, evaluation, (*seed, number))
            released = self._instances.release(team, ask, log)
            log.add(evaluation.submission, team, released)
            scores.append(released.release.score)
        return float(f"{np.mean(scores):.11e}")

    def _standard_error(self, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]) -> float:
        from arena.evaluation.standard_errors import standard_error  # few mechanisms ask for it

        return standard_error(self._metric, truth, prediction[np.newaxis], 0)

    def _ask(
        self,
        evaluation: Evaluation,
        seed: tuple[int, ...],
        state: Mapping[str, Any],
        bound: float | None,
        position: int,
    ) -> Release:
        rng = np.random.default_rng([*seed, position])
        return self._mechanism.release(state, evaluation.at_most(bound), rng)


def learned(
    known_scores: Sequence[tuple[float | None, int]],
    tested: Sequence[tuple[float | None, int]],
    assignments: npt.NDArray[Any],
) -> Revealed:
    """Return what released scores reveal to an attacker who knows what some of them meant.

    Each outcome is a released score (None: none) and the number of its assignment. A score is
    interpreted by the known outcomes equal to it, or by its k nearest ones, where k is the number
    of known outcomes of each assignment: scores of many digits are never equal.
    """
    before, meant = _outcomes(known_scores)
    after, right = _outcomes(tested)
    distances = np.abs(after[:, np.newaxis] - before)
    near = len(known_scores) // len(assignments)
    reach = np.partition(distances, near - 1, axis=1)[:, near - 1 : near]
    each = [
        _read(_counts(distances <= within, meant, len(assignments)), right, assignments)
        for within in (0.0, reach)
    ]
    return Revealed(
        max(revealed.rows for revealed in each), max(revealed.bits for revealed in each)
    )


def _outcomes(
    outcomes: Sequence[tuple[float | None, int]],
) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Return the released scores ``(m,)``, and the numbers ``(m,)`` of the assignments."""
    none = -1e300  # far from every score
    scores = [none if score is None else score for score, _ in outcomes]
    return np.array(scores), np.array([number for _, number in outcomes], dtype=np.intp)


def _counts(is_near: npt.NDArray[np.bool_], meant: npt.NDArray[np.intp], size: int) -> FloatArray:
    """Return ``(m, size)``: how many known outcomes near each score have each assignment."""
    counts = np.zeros((len(is_near), size))
    score, outcome = np.nonzero(is_near)
    np.add.at(counts, (score, meant[outcome]), 1)
    return counts


def _read(
    counts: FloatArray, right: npt.NDArray[np.intp], assignments: npt.NDArray[Any]
) -> Revealed:
    """Return what is revealed if each score has the assignments of the known outcomes near it.

    Labels are claimed where those outcomes agree: if fewer than 95% of the claims are right,
    nothing is revealed. The bits are a lower bound, by cross-entropy.
    """
    size, k = assignments.shape
    chance = counts + np.where(counts.any(axis=1, keepdims=True), _PRIOR / size, 1.0)
    chance /= chance.sum(axis=1, keepdims=True)
    bits = k + float(np.log2(chance[np.arange(len(right)), right]).mean())
    share = chance @ assignments
    claimed = np.maximum(share, 1 - share) >= _SURE
    is_right = claimed & ((share > 0.5) == assignments[right].astype(bool))
    sure = is_right.sum() >= _SURE * claimed.sum()
    rows = float(is_right.sum()) / len(right)
    return Revealed(rows if sure else 0.0, max(0.0, bits))
