"""How far public scores of similar submissions can be from their true values, with certainty.

After Mania, Miller, Schmidt, Hardt and Recht (2019), *Model similarity mitigates test set overuse*,
NeurIPS: a few submissions, the centres, stand for all others. The bound of an error is that of the
centres, plus that of the differences of the others from their centres, which vary little. The paper
assumes that the similarity is known. Here it is estimated from the private rows, and the bound
includes the error of this estimate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv

from arena.interfaces import HasRowValues, Study
from arena.types import FloatArray
from arena.utils.read_only import read_only

_BLOCK = 64
_MOST_CENTRES = 200
_OF_SIMILARITY = 0.25
"""The share of the error probability that is spent on how similar the submissions are."""


@dataclass(frozen=True, slots=True)
class SimilarityBound:
    """A bound of the errors of all public scores, for submissions chosen without the public rows.

    Rows are independent, and a submission is right or wrong on each.
    """

    similarity: float
    """The share of private rows on which two submissions are both right or both wrong, mean over
    pairs."""
    similarity_if_independent: float
    """The same if the errors of the two were independent."""
    bound: float
    """At the level of the study, the largest error of any public score is at most this."""
    bound_by_number: float
    """The same from the number of submissions alone."""
    centres: int
    """The submissions that stand for the others in ``bound``; all of them if similarity does not
    make it smaller."""


def similarity_bound(public: Study, private: Study) -> SimilarityBound | None:
    """Return the bound, from studies of the same submissions.

    Returns
    -------
    None if a submission is not just right or wrong on a row, if rows have weights or belong to
    groups, or if there is a single submission.
    """
    right, rates = _right_rows(private), private.scores
    if right is None or len(right) == 1 or public.clusters is not None:
        return None
    n_public, alpha = len(public.truth), 1 - public.level
    bound, centres = _smallest_bound(right, len(private.truth), n_public, alpha)
    return SimilarityBound(
        similarity=_mean_similarity(right, len(private.truth)),
        similarity_if_independent=_similarity_if_independent(rates),
        bound=bound,
        bound_by_number=_error_of_centres(len(rates), n_public, alpha),
        centres=centres,
    )


def _right_rows(study: Study) -> npt.NDArray[np.uint8] | None:
    """Return ``(m, ceil(n / 8))`` bits of the rows on which row values are 1; None: others are."""
    metric = study.metric
    if not isinstance(metric, HasRowValues) or study.clusters is not None:
        return None
    parts = []
    for start, predictions in study.predictions.blocks(_BLOCK):
        values = metric.row_values(*read_only((study.truth, predictions)))
        scores = study.scores[start : start + len(values)]
        if not np.isin(values, (0, 1)).all() or not np.allclose(values.mean(axis=1), scores):
            return None
        parts.append(np.packbits(values == 1, axis=1))
    return np.concatenate(parts)


def _mean_similarity(right: npt.NDArray[np.uint8], n_rows: int) -> float:
    m = len(right)
    counts = sum(np.unpackbits(bits, count=n_rows).astype(np.intp) for bits in right)
    alike = counts * (counts - 1) + (m - counts) * (m - counts - 1)
    return float(np.mean(alike) / (m * (m - 1)))


def _similarity_if_independent(rates: FloatArray) -> float:
    """Return the mean over pairs of the chance that both are right or both are wrong.

    >>> round(_similarity_if_independent(np.array([0.756, 0.756])), 3)
    0.631
    """
    m = len(rates)
    both = [(side.sum() ** 2 - (side**2).sum()) / (m * (m - 1)) for side in (rates, 1 - rates)]
    return float(sum(both))


def _smallest_bound(
    right: npt.NDArray[np.uint8], n_private: int, n_public: int, alpha: float
) -> tuple[float, int]:
    """Return the smallest bound over numbers of centres, and that number.

    Centres are chosen on the private rows, and the errors on the public rows do not depend on them.
    Any pair of submissions could have become a centre and a submission that it stands for.
    """
    m = len(right)
    for_similarity, for_errors = _OF_SIMILARITY * alpha, (1 - _OF_SIMILARITY) * alpha
    bounds = [(_error_of_centres(m, n_public, for_errors), m)]
    for n_centres, largest_distance in enumerate(_largest_distances(right), 1):
        equal = n_private - largest_distance
        confidence = 1 - for_similarity / (m * (m - 1) / 2)
        share = float(betaincinv(largest_distance + 1, equal, confidence)) if equal else 1.0
        errors = _error_of_centres(n_centres, n_public, for_errors / 2)
        errors += _error_of_differences(share, m - n_centres, n_public, alpha=for_errors / 2)
        bounds.append((errors, n_centres))
    return min(bounds)


def _largest_distances(right: npt.NDArray[np.uint8]) -> Iterator[int]:
    """Yield, for 1, 2, … centres, the most rows on which a submission differs from its centre.

    Each further centre is the submission that differs most from its own.
    """
    centre = right[0]
    nearest = np.full(len(right), np.iinfo(np.intp).max)
    for _ in range(min(len(right) - 1, _MOST_CENTRES)):
        differing = np.bitwise_count(right ^ centre).sum(axis=1, dtype=np.intp)
        nearest = np.minimum(nearest, differing)
        yield int(nearest.max())
        centre = right[nearest.argmax()]


def _error_of_centres(count: int, n_rows: int, alpha: float) -> float:
    """Return a bound of the errors of this many shares of rows (Hoeffding)."""
    return float(np.sqrt(np.log(2 * count / alpha) / (2 * n_rows)))


def _error_of_differences(share: float, count: int, n_rows: int, *, alpha: float) -> float:
    """Return a bound of the errors of differences of two shares of rows (Bernstein).

    Parameters
    ----------
    share
        At most this share of all rows has a difference other than 0, which is 1 or -1.
    count
        The number of differences.
    """
    logarithm = np.log(2 * count / alpha) / n_rows
    linear = 2 * logarithm / 3
    return float(linear + np.sqrt(linear**2 + 2 * share * logarithm))
