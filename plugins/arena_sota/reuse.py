"""How far the reuse of the public rows has made public scores better than private ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Study
from arena.types import FloatArray, IntArray
from arena.utils.tabular import as_json
from arena_sota.similarity_bound import SimilarityBound, similarity_bound

_MOST_PARTS = 10
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Gap:
    """A mean of how much better public scores are than private ones, with its interval."""

    mean: float
    """In the metric's unit; positive: the public scores are better, in either direction."""
    low: float
    high: float
    n: int
    """The number of submissions, or of teams, in the mean."""


@dataclass(frozen=True, slots=True, eq=False)
class Reuse:
    """Public and private scores of a board's history, after Roelofs et al. (2019).

    A gap is how much better the public score of a submission is than its private score. The two
    sets of rows differ in difficulty by chance, which moves all gaps together; adaptation to the
    public rows makes the gaps of later submissions larger.
    """

    submissions: IntArray
    """``(m,)`` ids, in the order in which they were received."""
    public: FloatArray
    """``(m,)`` exact scores on all public rows, not those that were released."""
    private: FloatArray
    """``(m,)`` scores on all private rows."""
    drift: Gap | None
    """The gap of a team's last submission minus that of its first, mean over teams. None: no team
    has two submissions."""
    gaps: FloatArray
    """``(m,)``, in the metric's unit; positive: the public score is better."""
    history: tuple[Gap, ...]
    """The gaps of the first submissions, and so on: ten parts, or one per submission."""
    widest: float
    """The largest error of a public score, at ``level``, among submissions that are as similar as
    these but were chosen without the public rows."""
    widest_if_independent: float
    """The same if their errors were independent."""
    equivalent: float
    """The number of independent submissions whose largest standardised error is as large."""
    level: float
    similarity: SimilarityBound | None
    """None: submissions are not just right or wrong on rows that are independent."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, with a row per submission."""
        names = ("submission", "public", "private")
        columns = (self.submissions.tolist(), self.public.tolist(), self.private.tolist())
        document: dict[str, Any] = as_json(
            {
                "drift": None if self.drift is None else asdict(self.drift),
                "history": [asdict(gap) for gap in self.history],
                "widest": self.widest,
                "widest_if_independent": self.widest_if_independent,
                "equivalent": self.equivalent,
                "level": self.level,
                "similarity": None if self.similarity is None else asdict(self.similarity),
            }
        )
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return {**document, "submissions": rows}


def reuse_of_public_rows(public: Study, private: Study) -> Reuse:
    """Return the gaps over the history of a board, from studies of the same submissions.

    Every interval is normal, with the standard error of the joint resamples of both sets of rows.
    It takes the submissions as given: without adaptation an interval of the drift contains 0 with
    probability ``level``.

    The largest error of m public scores is the quantile of the largest standardised deviation of
    the joint resamples, times the median standard error: about right. :func:`similarity_bound` is
    larger and holds for any number of rows.

    Raises
    ------
    UsageError
        If the studies are not of the same submissions.
    """
    if public.submissions.tolist() != private.submissions.tolist():
        raise UsageError("The public and the private scores are of different submissions.")
    better = 1.0 if public.metric.greater_is_better else -1.0
    gaps = better * (public.scores - private.scores)
    resampled = (public.resampled, private.resampled)
    level = public.level

    def gap(contrast: FloatArray, n: int) -> Gap:
        mean = float(contrast @ gaps)
        variances = [np.var(contrast @ scores, ddof=1) for scores in resampled]
        half = _NORMAL.inv_cdf((1 + level) / 2) * float(np.sqrt(sum(variances)))
        return Gap(mean, mean - half, mean + half, n)

    m = len(gaps)
    parts = np.array_split(np.arange(m), min(_MOST_PARTS, m))
    history = tuple(gap(_mean_of(part, m), len(part)) for part in parts)
    first, last = _first_and_last(public.teams)
    drift = gap(_mean_of(last, m) - _mean_of(first, m), len(first)) if len(first) else None
    widest, independent, equivalent = _largest_error(public)
    return Reuse(
        submissions=public.submissions,
        public=public.scores,
        private=private.scores,
        drift=drift,
        gaps=gaps,
        history=history,
        widest=widest,
        widest_if_independent=independent,
        equivalent=equivalent,
        level=level,
        similarity=similarity_bound(public, private),
    )


def _mean_of(positions: IntArray, m: int) -> FloatArray:
    """Return ``(m,)`` the weights of a mean over positions, which may repeat."""
    return np.bincount(positions, minlength=m) / len(positions)


def _first_and_last(teams: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return the positions of the first and the last submission of teams that have several."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for position, team in enumerate(teams):
        first.setdefault(team, position)
        last[team] = position
    several = [team for team in first if first[team] != last[team]]
    ends = [[positions[team] for team in several] for positions in (first, last)]
    return np.array(ends[0], dtype=np.intp), np.array(ends[1], dtype=np.intp)


def _largest_error(study: Study) -> tuple[float, float, float]:
    """Return ``widest``, ``widest_if_independent`` and ``equivalent`` of a :class:`Reuse`."""
    errors = study.resampled.std(axis=1, ddof=1)
    varying = errors > 0
    if not varying.any():
        return 0.0, 0.0, 1.0
    deviations = np.abs(study.resampled[varying] - study.scores[varying, np.newaxis])
    largest = (deviations / errors[varying, np.newaxis]).max(axis=0)
    critical = float(np.quantile(largest, study.level))
    m = int(varying.sum())
    independent = _NORMAL.inv_cdf((1 + study.level ** (1 / m)) / 2)
    inside = min(max(2 * _NORMAL.cdf(critical) - 1, study.level), study.level ** (1 / m))
    equivalent = float(np.log(study.level) / np.log(inside))
    typical = float(np.median(errors[varying]))
    return critical * typical, independent * typical, equivalent
