"""The analysis ``total-failures``: complete failures, and how many more reverse the first two.

A mean of values in a known range can hang on few rows with the worst possible value. Their number
is what the intervals of such a mean are uncertain about.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arena.evaluation.ranks import best_first
from arena.evaluation.score_intervals import range_of
from arena.evaluation.scores import is_mean_of_rows
from arena.interfaces import Study
from arena.interfaces.faults import plural
from arena.types import Finding, FloatArray, IntArray, Table
from arena.utils.formatting import level_text, percent

_MOST_VALUES = 6e7
_BLOCK_VALUES = 2**21
_TABLE_ROWS = 10


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
        further = _further(study, failures)
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
            raise ValueError("the score is no mean of row values in a known range")
        n, worst = len(study.truth), _worst(study)
        order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)
        further = _further(study, failures)
        rates = failures.counts / n
        return Finding(
            analysis=self.name,
            verdict=_verdict(study, failures, order[:2], further, worst),
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
            ),
        )


def failed_rows(study: Study) -> FailedRows | None:
    """Return the failures of the submissions of a study, if its score is a mean in a known range.

    None: it is none, or there are more than 6e7 predictions.
    """
    metric, score_range = study.metric, range_of(study.metric)
    if (
        study.parts
        or not is_mean_of_rows(metric)
        or not np.isfinite(score_range).all()
        or len(study.scores) * len(study.truth) > _MOST_VALUES
    ):
        return None
    worst = _worst(study)
    best = sum(score_range) - worst
    blocks: list[tuple[FloatArray, ...]] = []
    for _, block in study.predictions.blocks(max(1, _BLOCK_VALUES // study.truth.size)):
        values = np.asarray(metric.row_values(study.truth, block), dtype=np.float64)
        failed = values == worst
        counts, means = failed.sum(axis=1), values.mean(axis=1)
        n_others = values.shape[1] - counts
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = np.where(failed, 0.0, values).sum(axis=1) / n_others
        blocks.append((counts, means, usual, (~failed & (values != best)).any(axis=1)))
    counts, means, usual, others = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return FailedRows(counts.astype(np.intp), means, usual, others.astype(np.bool_))


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


def _further(study: Study, failures: FailedRows) -> int | None:
    order = best_first(study.scores, greater_is_better=study.metric.greater_is_better)
    if len(order) < 2:
        return None
    first, second = order[:2]
    return failures_to_reverse(
        abs(float(failures.means[first] - failures.means[second])),
        abs(float(failures.usual[first]) - _worst(study)),
        len(study.truth),
    )


def _worst(study: Study) -> float:
    low, high = range_of(study.metric)
    return float(low if study.metric.greater_is_better else high)


def _verdict(
    study: Study, failures: FailedRows, leaders: IntArray, further: int | None, worst: float
) -> str:
    words, n = study.words, len(study.truth)
    if failures.counts[leaders].any():
        rates = " and ".join(
            f"{study.teams[j]} on {failures.counts[j]:,} ({percent(failures.counts[j] / n)})"
            for j in leaders.tolist()
        )
        text = f"Complete failures (the value {worst:g}) on {n:,} {words.rows}: {rates}."
    else:
        names = " and ".join(study.teams[j] for j in leaders.tolist())
        text = (
            f"No complete failure (the value {worst:g}) of {names} on {n:,} {words.rows}, which "
            f"can lack failures with a rate of up to {percent(unseen_rate(n, study.level))} "
            f"({level_text(study.level)} confidence)."
        )
    if further is None or len(leaders) < 2:
        return text
    first, second = (study.teams[j] for j in leaders.tolist())
    more = plural(further, f"further failed {words.row}")
    return f"{text} {more} of {first} would put {second} first."
