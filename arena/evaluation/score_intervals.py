"""Standard errors and intervals of scores that hold with few rows.

A score's standard error is estimated from the same rows as the score. With few effective units
(groups, positives, errors) it is noisy, it depends on the score itself, and the best of many scores
tends to have one that is too small. :func:`score_errors` therefore gives each score's standard
error on a scale where it hardly depends on the score, raised to the median of its neighbours on the
board, and with its degrees of freedom; :func:`interval_ends` turns a normal critical value into
ends that stay within the range of the metric.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.ndimage import percentile_filter
from scipy.special import betaincinv, gammainc, ndtr, ndtri, stdtrit

from arena.evaluation.class_weights import class_weights
from arena.evaluation.clusters import cluster_leverage, size_degrees_of_freedom
from arena.evaluation.levels import check_level
from arena.evaluation.row_weights import effective_rows, is_weighted_mean, row_weights_of
from arena.evaluation.scores import influence_values
from arena.interfaces import HasRowValues, Metric, Study, traits_of
from arena.types import TEAMS, FloatArray, IntArray, Vocabulary

__all__ = [
    "LongTails",
    "ScoreErrors",
    "errors_from_moments",
    "errors_from_resamples",
    "interval_ends",
    "own_intervals",
    "range_of",
    "score_errors",
]

_BLOCK_BYTES = 2**24
_MOST_VALUES = 6e7
_NEIGHBOURS = 31
"""The width of the window over neighbours on the board: 15 on each side."""
_NOISE = 1e-8
_FEWEST_UNITS = 3.5
_MOST_TIMES = 100.0
_FEW_IN_CLASS = 10
"""With fewer rows or clusters in the rarest of several classes, :func:`class_weights` counts."""
_MUCH_MORE, _FEWEST_COSTLY = 3.0, 5
"""An error is costly if one of the same size on the other side costs less than a third of it. With
quantile losses at .9 and .99 on 50 to 2,000 rows, intervals of single scores held on .63 of the 104
simulated boards with fewer than four units with costly errors; those that are given with at least
five held on .98 of 317."""
_SKEWNESS_FACTOR = 2.0
"""The skewness of a sample is smaller than that of its distribution if the tail is long.

Share of the intervals of single scores that held without the correction, with the factor 1.5, and
with this one (nominal .95, 30 submissions, 200 boards): mean squared errors of 5 groups
.939/.967/.971, of 10 groups .927/.952/.964, of 40 groups .953/.978/.986; absolute errors with a
lognormal scale per row at n = 50 .944/.971/.979. Upper ends lie 34, 28, 22 and 23% higher."""
_LIGHT_TAILS, _LIGHT_SHARE = 12.0, 7.0
"""Tails are too heavy where the degrees of freedom at the 90th percentile of the kurtosis among the
m neighbours are fewer than ``12 (1 + 1/m)``, or than ``(1 + 2/m) U / 7`` if that is less, and the
tail index, where it is known, is larger than ``_HEAVY_INDEX`` by two standard errors.

The kurtosis alone is a poor guide: a sample looks light just where it lacks the rare large losses
and its mean is too small. Of the intervals that it let pass for a single submission with Pareto
losses of infinite variance (index 2/3), .57, .34, .34 and .55 held at n = 20, 50, 100 and 1,000;
with the tail index and :class:`LongTails` .94, .96, .97 and .97 (400 boards each)."""
_HEAVY_INDEX = 0.6
_TAIL_FACTOR, _FEWEST_TAIL_UNITS, _LARGEST_INDEX = 1.4, 20, 0.9
"""The tail is that of the ``1.4 sqrt(U)`` largest of at least 20 units; its index counts as at most
0.9 (1: the mean is infinite)."""


@dataclass(frozen=True, slots=True, eq=False)
class LongTails:
    """The largest values of m submissions over the units, towards smaller and larger scores.

    Distances are measured from the value at the other end. With an upper tail index g, an estimate
    of the mean of the values above the (k + 1)th largest, q, is ``q / (1 - g)`` (Peng 2001). It
    allows for large values that the sample lacks, which neither its kurtosis nor its skewness show.
    """

    index: FloatArray
    """``(2, m)`` Hill's (1975) estimate; 0.5 and more: infinite variance, 1 and more: no mean."""
    start: FloatArray
    """``(2, m)`` share in the score of the k largest values if they were the (k + 1)th largest."""
    share: FloatArray
    """``(2, m)`` their actual share."""
    units: int
    """The number k."""

    @property
    def error(self) -> float:
        """Relative standard error of the index: ``1 / sqrt(k)``.

        Neighbours do not make it smaller: their largest losses fall on the same rows. With absolute
        errors of 30 submissions and Pareto tails of index 2/3 in the target (300 rows, 300 boards),
        .904 of the single intervals held when they did, and .957 without.
        """
        return float(1 / np.sqrt(self.units))

    def possible(self, critical: float | FloatArray) -> FloatArray:
        """Return how much larger the score can be than observed, at normal critical values.

        >>> light = LongTails(np.full((2, 1), 0.1), np.ones((2, 1)), np.full((2, 1), 1.2), 16)
        >>> light.possible(2.0).max().round(3)
        np.float64(-0.024)
        """
        index = self.index * (1 + critical * self.error)
        return np.asarray(self.start / (1 - np.minimum(index, _LARGEST_INDEX)) - self.share)


@dataclass(frozen=True, slots=True, eq=False)
class ScoreErrors:
    """The uncertainty of m scores, on a scale where it hardly depends on the score itself.

    With a range [a, b] the standard error is ``spread * sqrt((x - a) * (b - x))``, as for a
    proportion of ``1 / spread^2`` rows; with one end ``spread * |x - a|``, as for a mean of losses;
    and with none ``spread`` itself.
    """

    scores: FloatArray
    """``(m,)`` in the metric's natural sign."""
    spread: FloatArray
    """``(m,)`` standard errors on that scale; NaN where unknown (see ``limit_units``)."""
    degrees_of_freedom: FloatArray
    """``(m,)`` degrees of freedom of each spread, at least 1."""
    score_range: tuple[float, float]
    """The range of the metric; either end may be infinite."""
    n_units: int
    """The number of rows, or of clusters."""
    limit_units: float
    """With a range [a, b]: the number n of independent rows in an upper bound of the variance. The
    variance of a mean of n values in [a, b] is at most ``(x - a) * (b - x) / n``, and that of a
    ROC AUC at most this with the rows of the rarer class (van Dantzig 1951). ``inf``: no bound."""
    heavy: npt.NDArray[np.bool_]
    """``(m,)`` whether the values of a submission or its neighbours have tails too heavy for a
    valid interval; never with a range [a, b]."""
    skewness: FloatArray
    """``(2, m)`` skewness of the score on that scale, towards smaller and towards larger values, at
    least 0; it moves the lower and the upper end outwards (Hall 1992)."""
    tails: LongTails | None = None
    """The largest values; None: unknown, or both ends of the range are finite."""
    equal_losses: FloatArray | None = None
    """``(2, m)``: the variance is that of so many equally large losses, and how many there must be
    for an interval to be given; ``inf`` and 0 where it is given whatever their number. None: so
    everywhere."""
    costly: FloatArray | None = None
    """``(m,)`` units with an error on the side where errors cost much more; ``inf`` where neither
    side does, or most errors are on that side. None: unknown."""
    words: Vocabulary = TEAMS
    """The nouns for what is scored, and on what."""

    @property
    def effective_units(self) -> FloatArray:
        """``(m,)`` numbers of normally distributed rows with equal information on the spread."""
        return self.degrees_of_freedom + 1

    def why_none(
        self, submission: int, low: float = float("nan"), high: float = float("nan")
    ) -> str | None:
        """Return why the interval of a submission is withheld, in a sentence, or None.

        ``low`` and ``high`` are its ends, or NaN before they are computed. An interval that is too
        wide to be useful is withheld, too: one with an end more than 100 times as far from the
        only bound of the metric as the score.
        """
        words = self.words
        if self.heavy[submission]:
            return (
                f"A few of the {self.n_units:,} {words.rows} or groups dominate the score, and "
                "larger ones may be missing: the true score may not even be finite."
            )
        if self.costly is not None and self.costly[submission] < _FEWEST_COSTLY:
            return (
                "Errors on one side cost much more than on the other, and only "
                f"{self.costly[submission]:.0f} of the {self.n_units:,} {words.rows} or groups "
                "have one: they may be too few or too small to show the true score."
            )
        bounded = np.isfinite(self.score_range).all()
        if not bounded and self.effective_units[submission] < _FEWEST_UNITS:
            return (
                f"The {self.n_units:,} {words.rows} or groups are worth only "
                f"{self.effective_units[submission]:.1f} of equal size, which is too few."
            )
        bound = [end for end in self.score_range if np.isfinite(end)]
        if len(bound) == 1:
            distance = abs(float(self.scores[submission]) - bound[0])
            if max(abs(low - bound[0]), abs(high - bound[0])) > _MOST_TIMES * distance > 0:
                return (
                    f"The {self.n_units:,} {words.rows} or groups are worth only "
                    f"{self.effective_units[submission]:.1f} of equal size, which is too few: the "
                    f"true score could be more than {_MOST_TIMES:.0f} times as far from "
                    f"{bound[0]:g} as the score."
                )
        if np.isnan(self.spread[submission]) and not (bounded and np.isfinite(self.limit_units)):
            return (
                f"No {words.row} changes this score, so its error cannot be estimated from the "
                f"{words.rows}."
            )
        return None


def score_errors(study: Study) -> ScoreErrors:
    """Return the uncertainty of the scores of a study.

    Row or influence values are read in blocks if the metric has them and ``m * n <= 6e7``;
    otherwise the joint resamples are used, which contain less information about the tails.
    """
    metric, truth = study.metric, study.truth
    clusters = None if study.clusters is None else np.unique(study.clusters, return_inverse=True)[1]
    score_range = range_of(metric)
    is_mean = isinstance(metric, HasRowValues) or is_weighted_mean(metric)
    if not np.isfinite(score_range).any() and _counts_rows(study):
        score_range = (0.0, 1.0)  # no range is declared
    values = _unit_values(study, clusters, score_range, is_mean)
    weighted_mean, weights = is_weighted_mean(metric), row_weights_of(metric)
    by_class = not is_mean and truth.ndim == 1 and np.issubdtype(truth.dtype, np.integer)
    limit_units = _limit_units(truth if by_class else np.zeros(len(truth)), clusters, weights)
    if not (by_class or weighted_mean or _is_affine(metric)):
        limit_units = np.inf
    n_units = len(truth) if clusters is None else int(clusters.max()) + 1
    # With two classes, a rank statistic or a function of a confusion matrix carries the information
    # of about two rows of the rarer class (Hanley and McNeil 1982); ten, in units of [-1, 1]. A
    # larger estimate is due to chance.
    two_classes = by_class and len(np.unique(truth)) == 2
    most = 2.5 * limit_units * np.square(np.diff(score_range))[0] if two_classes else np.inf
    if values is None:
        found = errors_from_resamples(
            study.scores,
            study.resampled,
            n_units,
            score_range=score_range,
            limit_units=limit_units,
            is_mean=is_mean,
        )
    else:
        standard_errors, kurtosis, skewness, tails = values
        found = errors_from_moments(
            study.scores,
            standard_errors,
            kurtosis,
            skewness,
            n_units,
            score_range=score_range,
            limit_units=limit_units,
            tails=tails,
            is_mean=is_mean,
        )
    units = np.arange(n_units) if clusters is None else clusters
    most_degrees = size_degrees_of_freedom(units, weights)
    if by_class and not two_classes and limit_units < _FEW_IN_CLASS:
        # Few rows of a class may not show an error that costs much. The score is no better known
        # than a proportion of rows that can change it as much as the metric says.
        typical = np.argsort(study.scores)[len(study.scores) // 2 :][:1]
        ((_, block),) = study.predictions.subset(typical).blocks(1)
        changes = class_weights(metric, truth, block[0])
        if changes is not None and changes.any():
            most = np.square(np.diff(score_range))[0] / np.square(changes).sum()
            most_degrees = min(most_degrees, size_degrees_of_freedom(units, changes))
    return replace(
        found,
        spread=np.maximum(found.spread, 1 / np.sqrt(most)),
        degrees_of_freedom=np.clip(found.degrees_of_freedom, 1.0, max(most_degrees, 1.0)),
        costly=_costly_units(study, units),
        words=study.words,
    )


def errors_from_resamples(
    scores: FloatArray,
    resampled: FloatArray,
    n_units: int,
    *,
    score_range: tuple[float, float] = (-np.inf, np.inf),
    limit_units: float = np.inf,
    is_mean: bool = True,
) -> ScoreErrors:
    """Return the uncertainty of scores, from ``(m, B)`` joint resamples of the rows.

    The excess kurtosis of a resampled mean is that of the rows divided by their number. Resamples
    in which a score is undefined are left out; with fewer than two others every spread is NaN.
    """
    defined = resampled[:, np.isfinite(resampled).all(axis=0)]
    if defined.shape[1] < 2:
        nothing, light = np.full(len(scores), np.nan), np.zeros(len(scores), dtype=np.bool_)
        even = np.zeros((2, len(scores)))
        return ScoreErrors(
            scores=scores,
            spread=nothing,
            degrees_of_freedom=nothing,
            score_range=score_range,
            n_units=n_units,
            limit_units=np.inf,
            heavy=light,
            skewness=even,
        )
    resamples = defined.shape[1]
    squares, third, fourth = np.zeros((3, len(scores)))
    for j, own in enumerate(defined):  # row by row: no second (m, B) array
        if own.min() == own.max():  # exactly 0, despite rounding
            continue
        centred = own - own.mean()
        squared = np.square(centred)
        squares[j], fourth[j] = squared.mean(), np.square(squared).mean()
        third[j] = (squared * centred).mean()
    skewness = np.divide(third, squares**1.5, out=np.zeros(len(scores)), where=squares > 0)
    excess = np.divide(fourth, squares**2, out=np.full(len(scores), 3.0), where=squares > 0) - 3
    # Subtract the standard errors of kurtosis and skewness in a normal sample of size B.
    excess = _of_neighbours(scores, excess) - np.sqrt(24 / resamples)
    skewness = _of_neighbours(scores, skewness)
    skewness = np.sign(skewness) * np.maximum(np.abs(skewness) - np.sqrt(6 / resamples), 0.0)
    deviations = np.sqrt(squares * resamples / (resamples - 1))
    return errors_from_moments(
        scores,
        deviations * np.sqrt(n_units / max(n_units - 1, 1)),
        3 + n_units * np.maximum(excess, 0.0),
        skewness,
        n_units,
        score_range=score_range,
        limit_units=limit_units,
        is_mean=is_mean,
    )


def errors_from_moments(
    scores: FloatArray,
    standard_errors: FloatArray,
    kurtosis: FloatArray,
    skewness: FloatArray,
    n_units: int,
    *,
    score_range: tuple[float, float] = (-np.inf, np.inf),
    limit_units: float = np.inf,
    tails: LongTails | None = None,
    is_mean: bool = True,
) -> ScoreErrors:
    """Return the uncertainty of scores, from the moments of their values over the units.

    A spread is raised to the median of up to 31 neighbours on the board: among equal submissions
    the best one tends to be the one whose standard error is too small. The degrees of freedom are
    ``min(U - 1, 2 U / (kurtosis - 1))``, from ``var(s^2) = sigma^4 (kurtosis - 1) / U``, with the
    kurtosis raised in the same way.

    The mean of few values with a long right tail tends to be too small, and so does its standard
    error, so that the upper end is too low. On a logarithmic scale the skewness of the studentised
    mean is that of the mean minus 1.5 times the spread (Edgeworth expansion to the order
    ``U^(-1/2)``); the upper end is corrected for it.

    Parameters
    ----------
    scores
        ``(m,)`` in the metric's natural sign.
    standard_errors
        ``(m,)``; 0 if the score does not depend on the rows.
    kurtosis
        ``(m,)`` fourth over squared second central moment of the values of the U units; a normal
        distribution has 3.
    skewness
        ``(m,)`` of these values, over the square root of U.
    n_units
        The number U of rows, or of clusters.
    tails
        The largest values; None: unknown, and only the kurtosis tells whether tails are too heavy.
    is_mean
        Whether the scores are functions of means over the units, whose values then have no long
        tail towards a bound.
    """
    low, high = score_range
    with np.errstate(divide="ignore", invalid="ignore"):
        room = np.ones(len(scores))
        if np.isfinite(low) and np.isfinite(high):
            room = np.sqrt((scores - low) * (high - scores))
        elif np.isfinite(low) or np.isfinite(high):
            room = np.abs(scores - (low if np.isfinite(low) else high))
        spread = standard_errors / room
        unit = np.abs(scores) if not np.isfinite(score_range).any() else 1.0
    # Influence values come from a numerical slope: groups of equal sums can differ by its error.
    moving = np.isfinite(spread) & (spread > _NOISE * unit)
    spread = np.where(moving, spread, np.nan)
    degrees = np.full(len(scores), np.inf)
    heavy = np.zeros(len(scores), dtype=np.bool_)
    leaning = np.zeros((2, len(scores)))
    equal_losses = np.repeat([[np.inf], [0.0]], len(scores), axis=1)
    if tails is not None:
        usual = np.stack([_of_neighbours(scores, one) for one in tails.index])
        tails = replace(tails, index=np.maximum(tails.index, usual))
    if moving.any():
        board, own = scores[moving], kurtosis[moving]
        spread[moving] = np.maximum(spread[moving], _of_neighbours(board, spread[moving]))
        usual = np.maximum(own, _of_neighbours(board, own))
        degrees[moving] = 2 * n_units / np.maximum(usual - 1, 1e-9)
        if not (np.isfinite(low) and np.isfinite(high)):
            largest = _of_neighbours(board, own, percentile=90)
            # With few neighbours, a sample without the rare large values seems to have light tails.
            fewest = min(
                _LIGHT_TAILS * (1 + 1 / len(board)), (1 + 2 / len(board)) * n_units / _LIGHT_SHARE
            )
            least = 2 * n_units / np.maximum(largest - 1, 1e-9)
            heavy[moving] = least < fewest
            if tails is not None:
                long = tails.index.max(axis=0)[moving] > _HEAVY_INDEX * (1 + 2 * tails.error)
                heavy[moving] &= long
                counts = np.stack([least / 2, np.full(len(least), fewest / 2)])
                equal_losses[:, moving] = np.where(long, counts, equal_losses[:, moving])
            unbounded = not (np.isfinite(low) or np.isfinite(high))
            for end, sign in _long_sides(score_range, is_mean).items():
                outwards = sign * skewness[moving]
                outwards = _SKEWNESS_FACTOR * np.maximum(outwards, _of_neighbours(board, outwards))
                if np.isfinite(score_range[end]):  # towards the bound, the logarithm stretches
                    outwards = outwards + 1.5 * spread[moving]
                elif not unbounded:
                    # Losses count as no less skewed than a gamma distribution with their
                    # spread: few rows of few submissions may not show it.
                    gamma = (2 + 1 / len(board)) * spread[moving]
                    outwards = np.maximum(outwards, gamma) - 1.5 * spread[moving]
                leaning[end, moving] = outwards
            np.maximum(leaning, 0.0, out=leaning)
    degrees = np.clip(degrees, 1.0, max(n_units - 1, 1))
    return ScoreErrors(
        scores=scores,
        spread=spread,
        degrees_of_freedom=degrees,
        score_range=score_range,
        n_units=n_units,
        limit_units=limit_units,
        heavy=heavy,
        skewness=leaning,
        tails=tails,
        equal_losses=equal_losses,
    )


def interval_ends(
    errors: ScoreErrors, critical: float | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the ``(m,)`` ends of intervals at normal critical values, in natural sign.

    The critical value c of each submission becomes that of Student's t with its degrees of freedom,
    ``t(Phi(c))``, raised where its values are skewed. With a range [a, b] the score is
    treated as a proportion of ``1 / spread^2`` rows, with the ends of Clopper and Pearson (1934)
    (Korn and Graubard 1998, with this t in place of theirs). With one end they are
    ``a + (x - a) exp(+-c spread)``, and with none ``x +- c spread``; an end on the side of a long
    tail is not nearer than :class:`LongTails` allows. They lie within the range, and x between
    them; both are NaN where the spread is unknown.

    For a single proportion at 95% they cover .951 to .998, over 5 to 1,000 rows and proportions
    from .5 to .995, where Wilson's cover .859 to .990 and are 1 to 18% narrower.

    Examples
    --------
    Nine of ten rows correct, at 95%:

    >>> one = ScoreErrors(np.array([0.9]), np.array([0.33]), np.array([9.0]), (0.0, 1.0), 10, 10.0,
    ...                   np.array([False]), np.zeros((2, 1)))
    >>> [float(end.round(4)[0]) for end in interval_ends(one, 1.959964)]
    [0.555, 0.9975]
    """
    low, high = errors.score_range
    x = errors.scores
    if np.isfinite(low) and np.isfinite(high):
        # Neighbours increase the degrees of freedom of a spread; the bound of the variance, which
        # needs no estimate, needs no t.
        degrees = errors.degrees_of_freedom * np.clip((len(x) + 1) / 2, 1, 2)
        needed = np.square(critical / (_student(critical, degrees) * errors.spread))
        known = np.isfinite(errors.spread) | np.isfinite(errors.limit_units)
        units = np.where(known, np.fmax(needed, _finite(errors.limit_units)), np.nan)
        share, tail = (x - low) / (high - low), ndtr(-critical)
        right, wrong = share * units, (1 - share) * units
        below = np.where(right == 0, 0.0, betaincinv(right, wrong + 1, tail))
        above = np.where(wrong == 0, 1.0, betaincinv(right + 1, wrong, 1 - tail))
        ends = low + (high - low) * below, low + (high - low) * above
    else:
        student = _student(critical, errors.degrees_of_freedom)
        below, above = _skewed(student, errors.skewness) * errors.spread
        with np.errstate(over="ignore"):
            chosen = _where_enough(critical, errors)
            if np.isfinite(low):
                nearest = np.minimum(np.exp(-below), chosen)
                ends = low + (x - low) * nearest, low + (x - low) * np.exp(above)
            elif np.isfinite(high):
                nearest = np.minimum(np.exp(-above), chosen)
                ends = high - (high - x) * np.exp(below), high - (high - x) * nearest
            else:
                ends = x - below, x + above
        if errors.tails is not None:
            further = errors.tails.possible(critical)
            ends = np.minimum(ends[0], x - further[0]), np.maximum(ends[1], x + further[1])
    return np.clip(np.minimum(ends[0], x), low, high), np.clip(np.maximum(ends[1], x), low, high)


def own_intervals(errors: ScoreErrors, level: float) -> tuple[FloatArray, FloatArray]:
    """Return the ``(m,)`` ends of each score's interval, not corrected for multiplicity.

    Both are NaN where :meth:`ScoreErrors.why_none` gives a reason.

    Raises
    ------
    UsageError
        If the level is not between 0 and 1.
    """
    check_level(level)
    low, high = interval_ends(errors, float(ndtri((1 + level) / 2)))
    none = np.array([
        errors.why_none(j, *ends) is not None
        for j, ends in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    ])  # fmt: skip
    return np.where(none, np.nan, low), np.where(none, np.nan, high)


def range_of(metric: Metric) -> tuple[float, float]:
    """Return the declared range of a metric's scores, narrowed by the range of its row values."""
    traits = traits_of(metric)
    low, high = traits.score_range
    if isinstance(metric, HasRowValues) and traits.row_range is not None:
        ends = np.sort(metric.from_mean(np.asarray(traits.row_range, dtype=np.float64)))
        low, high = max(low, float(ends[0])), min(high, float(ends[1]))
    return low, high


def _student(critical: float | FloatArray, degrees: FloatArray) -> FloatArray:
    """Return the t value with the tail probability of a normal critical value."""
    # Computed in the lower tail, because 1 - p loses precision.
    return np.asarray(-stdtrit(degrees, ndtr(-critical)))


def _skewed(critical: FloatArray, skewness: FloatArray) -> FloatArray:
    """Return the critical values of a studentised mean whose units are skewed outwards.

    Its Cornish-Fisher expansion to the order ``U^(-1/2)`` (Johnson 1978; Hall 1992). The monotone
    form of Hall covers as often, but its ends can lie ten times as high with ten rows.

    >>> _skewed(np.array(2.0), np.array([0.0, 0.2])).round(2).tolist()
    [2.0, 2.3]
    """
    return np.asarray(critical + skewness * (2 * np.square(critical) + 1) / 6)


def _where_enough(critical: float | FloatArray, errors: ScoreErrors) -> FloatArray:
    """Return ``(m,)`` the least share of its loss that each submission can truly have, up to 1.

    If the interval is given only where there are K equally large losses, a sample that has just so
    many may have them by chance. The end is therefore found under this condition: it is the
    Poisson mean at which x of them, or more, have the probability of one tail given at least K.

    >>> one = ScoreErrors(np.array([0.9]), np.array([0.3]), np.array([9.0]), (0.0, np.inf), 100,
    ...                   np.inf, np.array([False]), np.zeros((2, 1)),
    ...                   equal_losses=np.array([[12.0], [6.0]]))
    >>> _where_enough(1.959964, one).round(2).tolist()
    [0.46]
    """
    found = np.ones(len(errors.scores))
    if errors.equal_losses is None:
        return found
    observed, needed = errors.equal_losses
    at = np.flatnonzero(np.isfinite(observed) & (observed >= needed))
    observed, needed = observed[at], needed[at]
    tail = np.broadcast_to(ndtr(-np.asarray(critical)), found.shape)[at]
    low, high = np.zeros(len(at)), observed.copy()
    for _ in range(50):
        middle = (low + high) / 2
        too_likely = gammainc(observed, middle) > tail * gammainc(needed, middle)
        low, high = np.where(too_likely, low, middle), np.where(too_likely, middle, high)
    found[at] = low / observed
    return found


def _finite(limit: float) -> float:
    return limit if np.isfinite(limit) else np.nan


def _of_neighbours(scores: FloatArray, values: FloatArray, percentile: float = 50) -> FloatArray:
    """Return a percentile over each submission's neighbours on the board, itself included."""
    order = np.lexsort((values, scores))
    found = np.empty(len(scores))
    found[order] = percentile_filter(values[order], percentile, size=_NEIGHBOURS, mode="reflect")
    return found


def _limit_units(
    codes: npt.NDArray[np.generic], clusters: IntArray | None, weights: FloatArray | None = None
) -> float:
    """Return the effective number of clusters (Kish), or of rows, that hold the rarest code.

    >>> _limit_units(np.array([0, 0, 0, 1]), None)
    1.0
    >>> _limit_units(np.zeros(4), np.array([0, 0, 1, 1]))
    2.0
    """
    fewest = np.inf
    for code in np.unique(codes):
        rows = codes == code
        sizes = np.ones(rows.sum()) if weights is None else weights[rows]
        if clusters is not None:
            sizes = np.bincount(clusters[rows], sizes)
        fewest = min(fewest, effective_rows(sizes) if sizes.any() else 0.0)
    return fewest


def _is_affine(metric: Metric) -> bool:
    """Return whether the score is the mean of row values, up to its unit and origin.

    A bound of the variance of a mean does not hold for a function of it, such as a square root.
    """
    if not isinstance(metric, HasRowValues):
        return False
    low, middle, high = metric.from_mean(np.array([0.25, 0.5, 0.75])).tolist()
    return bool(abs(low + high - 2 * middle) <= 1e-12 * (abs(low) + abs(high)))


def _costly_units(study: Study, units: IntArray) -> FloatArray | None:
    """Return :attr:`ScoreErrors.costly`: each error is compared with that on the other side."""
    metric, truth = study.metric, study.truth
    if not isinstance(metric, HasRowValues) or not np.issubdtype(truth.dtype, np.floating):
        return None
    if len(study.scores) * len(truth) > _MOST_VALUES:
        return None
    found = np.full(len(study.scores), np.inf)
    lowest, highest = traits_of(metric).prediction_range
    for start, block in study.predictions.blocks(_block_size(truth.size)):
        with np.errstate(all="ignore"):
            opposite = np.clip(2 * truth - block, lowest, highest)
            values, mirrored = (metric.row_values(truth, each) for each in (block, opposite))
            total, other = values.sum(axis=1), mirrored.sum(axis=1)  # NaN: not compared
        if (other <= _MUCH_MORE * total).all():
            continue
        costly = values > _MUCH_MORE * mirrored
        for j in np.flatnonzero(other > _MUCH_MORE * total):
            found[start + j] = len(np.unique(units[costly[j]]))
    return np.asarray(np.minimum(found, _of_neighbours(study.scores, found)))


def _counts_rows(study: Study) -> bool:
    """Return whether the first block has row values 0 and 1 only: the score is a proportion."""
    metric, probes = study.metric, np.array([0.3, 0.7])
    if not isinstance(metric, HasRowValues) or not (metric.from_mean(probes) == probes).all():
        return False
    _, block = next(iter(study.predictions.blocks(_block_size(len(study.truth)))))
    values = np.asarray(metric.row_values(study.truth, block))
    return bool(((values == 0) | (values == 1)).all())


def _block_size(n_values: int) -> int:
    """Return how many submissions of so many values are read at once."""
    return max(1, _BLOCK_BYTES // (8 * n_values))


def _unit_values(
    study: Study, clusters: IntArray | None, score_range: tuple[float, float], is_mean: bool
) -> tuple[FloatArray, FloatArray, FloatArray, LongTails | None] | None:
    """Return standard errors, kurtosis, skewness and tails over the units; None without values."""
    n, m = len(study.truth), len(study.scores)
    if m * n > _MOST_VALUES:
        return None
    errors, kurtosis, skewness = np.empty((3, m))
    codes = np.arange(n) if clusters is None else clusters
    order = np.argsort(codes, kind="stable")
    starts = np.unique(codes[order], return_index=True)[1]
    weights = row_weights_of(study.metric)
    uneven = (clusters is not None or weights is not None) and len(starts) > 1
    factors = cluster_leverage(codes, weights) if uneven else None
    sides: dict[int, float] = {}
    if len(starts) >= _FEWEST_TAIL_UNITS:
        sides = _long_sides(score_range, is_mean)
    index, first, share = np.zeros((3, 2, m))
    tails = LongTails(index, first, share, int(np.ceil(_TAIL_FACTOR * np.sqrt(len(starts)))))
    for start, block in study.predictions.blocks(_block_size(n)):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = influence_values(study.metric, study.truth, block)
        if values is None or not np.isfinite(values).all():
            return None
        values = values - values.mean(axis=1, keepdims=True)
        if clusters is not None:
            values = np.add.reduceat(values[:, order], starts, axis=1)
        if factors is not None:
            values *= factors
        units = values.shape[1]
        squares = np.square(values)
        total, fourth = squares.sum(axis=1), np.square(squares).sum(axis=1)
        third = np.einsum("ju,ju->j", squares, values)
        rows = slice(start, start + len(block))
        errors[rows] = np.sqrt(total * units / max(units - 1, 1)) / n
        kurtosis[rows] = np.divide(
            units * fourth, total**2, out=np.full(len(total), 3.0), where=total > 0
        )
        skewness[rows] = np.divide(third, total**1.5, out=np.zeros(len(total)), where=total > 0)
        for end, sign in sides.items():
            lengths = sign * values
            lengths -= lengths.min(axis=1, keepdims=True)
            lengths.partition(units - tails.units - 1, axis=1)
            q, largest = np.split(lengths[:, units - tails.units - 1 :], [1], axis=1)
            ratios = np.divide(largest, q, out=np.ones_like(largest), where=q > 0)
            logarithms = np.log(ratios).mean(axis=1)
            index[end, rows] = np.where(q[:, 0] > 0, logarithms, largest.max(axis=1) > 0)
            first[end, rows] = tails.units * q[:, 0] / n
            share[end, rows] = largest.sum(axis=1) / n
    return errors, kurtosis, skewness, tails if sides else None


def _long_sides(score_range: tuple[float, float], is_mean: bool) -> dict[int, float]:
    """Return the ends whose other end is a bound, or all without any, with their direction.

    The values of a mean with one bound have no long tail towards it. Those of a ratio can: if rare
    large numbers carry the variance of the truth, a sample without them has too small an R², and
    with two sides .96 of the nominal 95% intervals held where .82 did with one (lognormal truth,
    n = 100).
    """
    finite = np.isfinite(score_range)
    if not finite.any() or (finite.sum() == 1 and not is_mean):
        return {0: -1.0, 1: 1.0}
    return {end: sign for end, sign in ((0, -1.0), (1, 1.0)) if finite[1 - end] and not finite[end]}
