"""The analysis ``total-failures``: complete failures, and how many more reverse the first two.

A mean of values in a known range can hang on few rows with the worst possible value. Their number
is what the intervals of such a mean are uncertain about. Losses without an upper end have no worst
value, and no rank interval can allow for those that the sample lacks: five times the most that the
same predictions could cost shows what they would do to a team that is claimed not to be the best.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.evaluation.ranks import best_first
from arena.evaluation.score_intervals import MOST_VALUES, range_of
from arena.evaluation.scores import is_mean_of_rows
from arena.evaluation.unit_means import opposite_losses
from arena.interfaces import Study
from arena.types import Finding, FloatArray, IntArray, Table
from arena.utils.formatting import level_text, percent
from arena.utils.text import plural

_BLOCK_VALUES = 2**21
_TABLE_ROWS = 10
_LARGER_LOSS = 5.0
"""As intervals of scores assume at most; see :mod:`arena.evaluation.unit_means`."""


@dataclass(frozen=True, slots=True, eq=False)
class FailedRows:
    """The rows on which m submissions have the worst possible value."""

    counts: IntArray
    """``(m,)``."""
    means: FloatArray
    """``(m,)`` of all row values."""
    usual: FloatArray
    """``(m,)`` means of the other row values; NaN if all rows failed."""
    others: npt.NDArray[np.bool_]
    """``(m,)`` whether any row value is neither the worst nor the best possible one."""
    worst: float
    """The worst possible value; where losses have no upper end, five times the largest one that the
    predictions have, or could have with another truth."""
    bounded: bool
    """Whether it is the worst possible one."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How often submissions fail completely, where the score is a mean of values in a known range.

    Not of right and wrong answers, whose failures are the score itself, and not of weighted rows.
    """

    name: str = "total-failures"

    def suits(self, study: Study) -> bool:
        """Return whether values are not only right or wrong, and failures count.

        They do where a row has the worst value, or where fewer failures than a sample of this size
        can lack would reverse the first two submissions.
        """
        failures = failed_rows(study)
        if failures is None or not failures.others.any():
            return False
        further = _further(study, failures, _compared(study, failures))
        unseen = unseen_rate(len(study.truth), study.level) * len(study.truth)
        return bool(failures.counts.any() or (further is not None and further <= unseen))

    def run(self, study: Study, rng: np.random.Generator) -> Finding:  # noqa: ARG002 - no chance
        """Return the finding.

        Raises
        ------
        ValueError
            If the analysis does not suit the study.
        """
        failures = failed_rows(study)
        if failures is None:
            raise ValueError("the score is no mean of row values with a worst one")
        n, worst = len(study.truth), failures.worst
        order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)
        compared = _compared(study, failures)
        further = _further(study, failures, compared)
        rates = failures.counts / n
        return Finding(
            analysis=self.name,
            verdict=_verdict(study, failures, compared, further),
            document={
                "worst_value": worst,
                "submissions": study.submissions.tolist(),
                "failures": failures.counts.tolist(),
                "failure_rate": rates.tolist(),
                "further_failures_to_reverse": further,
            },
            tables=(
                Table(
                    f"{study.words.rows.capitalize()} with the worst value {worst:g}",
                    (study.words.team, "failed", "rate"),
                    tuple(
                        (study.teams[j], int(failures.counts[j]), percent(float(rates[j])))
                        for j in order[:_TABLE_ROWS].tolist()
                    ),
                ),
            )
            * failures.bounded,
        )


def failed_rows(study: Study) -> FailedRows | None:
    """Return the failures of the submissions of a study, if its score is a mean in a known range.

    Or a mean of losses without an upper end, which have no failures. None: the score is neither, or
    there are more than 6e7 predictions.
    """
    metric, larger = study.metric, study.metric.greater_is_better
    low, high = range_of(study.metric)
    worst, best = (low, high) if larger else (high, low)
    bounded = bool(np.isfinite(worst))
    if (
        study.parts
        or not is_mean_of_rows(metric)
        or not np.isfinite(best)
        or (larger and not bounded)
        or len(study.scores) * len(study.truth) > MOST_VALUES
    ):
        return None
    largest = -np.inf
    blocks: list[tuple[FloatArray, ...]] = []
    for _, block in study.predictions.blocks(max(1, _BLOCK_VALUES // study.truth.size)):
        values = np.asarray(metric.row_values(study.truth, block), dtype=np.float64)
        failed = values == worst
        if not bounded:
            opposite = opposite_losses(metric, study.truth, block)
            most = -np.inf if opposite is None else opposite.max()
            largest = max(largest, values.max(), most)
        counts, means = failed.sum(axis=1), values.mean(axis=1)
        n_others = values.shape[1] - counts
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = np.where(failed, 0.0, values).sum(axis=1) / n_others
        blocks.append((counts, means, usual, (~failed & (values != best)).any(axis=1)))
    counts, means, usual, others = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return FailedRows(
        counts=counts.astype(np.intp),
        means=means,
        usual=usual,
        others=others.astype(np.bool_),
        worst=worst if bounded else float(best + _LARGER_LOSS * (largest - best)),
        bounded=bounded,
    )


def failures_to_reverse(lead: float, cost: float, n_rows: int) -> int | None:
    """Return the fewest further failures of the first that put the second before it.

    Each takes ``cost / n_rows`` from its mean: what a row that did not fail is worth on average,
    over the worst value. None: so many rows do not exist, or all have failed.

    >>> failures_to_reverse(0.03, 0.9, 50), failures_to_reverse(0.0, 0.9, 50)
    (2, 1)
    """
    if not cost > 0:
        return None
    further = int(np.floor(lead * n_rows / cost + 1e-9)) + 1
    return further if further <= n_rows else None


def unseen_rate(n_rows: int, level: float) -> float:
    """Return the largest rate of failures of which n independent rows may show none.

    The upper end of Clopper and Pearson's one-sided interval.

    >>> round(unseen_rate(50, 0.95), 3)
    0.058
    """
    return float(-np.expm1(np.log1p(-level) / n_rows))


def _compared(study: Study, failures: FailedRows) -> IntArray:
    """Return the positions of the first submission and of the one that it is compared with.

    That is the second one; without a worst value, the first one that is claimed not to be the best.
    """
    order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)
    if failures.bounded:
        return order[:2]
    if study.ranks is None or study.ranks.not_offered is not None:
        return order[:1]
    excluded = order[~study.ranks.possible_winner[order]]
    return np.concatenate([order[:1], excluded[:1]])


def _further(study: Study, failures: FailedRows, compared: IntArray) -> int | None:
    if len(compared) < 2:
        return None
    first, second = compared
    return failures_to_reverse(
        abs(float(failures.means[first] - failures.means[second])),
        abs(float(failures.usual[first]) - failures.worst),
        len(study.truth),
    )


def _verdict(study: Study, failures: FailedRows, compared: IntArray, further: int | None) -> str:
    words, n, worst = study.words, len(study.truth), failures.worst
    names = [study.teams[j] for j in compared.tolist()]
    can_lack = f"with a rate of up to {percent(unseen_rate(n, study.level))}"
    confidence = f"({level_text(study.level)} confidence)"
    kind, loss, place = f"further failed {words.row}", "", "first"
    if not failures.bounded:
        text = (
            f"Losses have no upper end, and {n:,} {words.rows} can lack large ones {can_lack} "
            f"{confidence}, which no rank interval allows for."
        )
        kind, place = f"further {words.row}", f"before {names[0]}"
        loss = f" with a loss of {worst:.3g}, five times what any of these predictions can cost,"
    elif failures.counts[compared].any():
        rates = " and ".join(
            f"{study.teams[j]} on {failures.counts[j]:,} ({percent(failures.counts[j] / n)})"
            for j in compared.tolist()
        )
        text = f"Complete failures (the value {worst:g}) on {n:,} {words.rows}: {rates}."
    else:
        text = (
            f"No complete failure (the value {worst:g}) of {' and '.join(names)} on {n:,} "
            f"{words.rows}, which can lack failures {can_lack} {confidence}."
        )
    if further is None or len(compared) < 2:
        return text
    return f"{text} {plural(further, kind)}{loss} of {names[0]} would put {names[1]} {place}."
