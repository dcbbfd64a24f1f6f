"""The sample maximum of ROC AUC for binormal scores, independent or correlated, by simulation.

A negative row has the score sqrt(rho) Z_i + sqrt(1 - rho) e_ij and a positive one mu_j more, where
Z_i is common to all classifiers: AUC_j = Phi(mu_j / sqrt 2). With rho = 0 this is the model of
Møllersen and Holsbø, section 5.2; they leave correlation as future work (5.3.1). The AUC is
not approximated by a normal distribution, which for 52 positives is off by more than two standard
deviations.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from arena.errors import UsageError
from arena.types import FloatArray, IntArray
from arena_sota.checks import success_probabilities
from arena_sota.distribution import BestScoreDistribution

_FEW = 256
_FEW_RARE = 256
_MOST_DRAWN = 512
_BINS = 400
_EDGE = 6.0
_REACH = 7.0
_POINTS = 5
_BLOCK = 4_000_000
_TINY = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class DrawnMaximum(BestScoreDistribution):
    """A simulated distribution of the best of m observed AUCs."""

    draws: FloatArray
    """``(repetitions,)``, ascending."""
    theta_sota: float
    """The AUC of the best classifier."""
    left_out: float = 0.0
    """Always 0: this model has no bounds."""

    @property
    def mean(self) -> float:
        """The expected best score."""
        return float(self.draws.mean())

    @property
    def std(self) -> float:
        """The standard deviation of the best score."""
        return float(self.draws.std(ddof=1)) if len(self.draws) > 1 else 0.0

    @property
    def simulation_error(self) -> float:
        """Standard error of the mean."""
        return self.std / float(np.sqrt(len(self.draws)))

    @property
    def std_simulation_error(self) -> float:
        """Standard error of the standard deviation, from the kurtosis of the draws."""
        centred = self.draws - self.draws.mean()
        variance = float((centred**2).mean())
        if variance == 0:
            return 0.0
        kurtosis = float((centred**4).mean()) / variance**2
        return self.std * float(np.sqrt(max(kurtosis - 1, 0.0) / (4 * len(self.draws))))

    def at_least(self, score: float) -> float:
        """Return the share of draws in which the best score is ``score`` or higher."""
        return float((self.draws >= score).mean())

    def at_least_error(self, score: float) -> float:
        """Return the standard error of :meth:`at_least`, with one draw more on each side.

        Without them a share of 0 or 1 would have no error.
        """
        share = ((self.draws >= score).sum() + 1) / (len(self.draws) + 2)
        return float(np.sqrt(share * (1 - share) / len(self.draws)))

    def cdf(self, score: float) -> float:
        """Return the probability that the best score is at most ``score``; linear between draws."""
        ranks = (np.arange(len(self.draws)) + 0.5) / len(self.draws)
        return float(np.interp(score, self.draws, ranks, left=0.0, right=1.0))

    def quantile(self, share: float) -> float:
        """Return the score that the best one does not exceed with this probability."""
        return float(np.quantile(self.draws, share))

    def quantile_error(self, share: float) -> float:
        """Return the standard error of a quantile: half the distance between two others.

        Their shares are one binomial standard error below and above.
        """
        step = float(np.sqrt(share * (1 - share) / len(self.draws)))
        ends = np.quantile(self.draws, [max(share - step, 0.0), min(share + step, 1.0)])
        return float(ends[1] - ends[0]) / 2


def separation(auc: FloatArray) -> FloatArray:
    """Return mu, by how many standard deviations positives score higher.

    >>> separation(np.array([0.5, 0.9])).round(4).tolist()
    [0.0, 1.8124]
    """
    return np.asarray(np.sqrt(2) * special.ndtri(auc))


def auc_maximum(
    auc: FloatArray,
    positives: int,
    negatives: int,
    rng: np.random.Generator,
    *,
    rho: float = 0.0,
    repetitions: int = 1_000,
) -> DrawnMaximum:
    """Draw the best of m observed AUCs.

    At most 512 scores of the rarer class are drawn; if it has more rows, the deviation of their
    mean is scaled to that of all rows. Up to 256 rows of the other class are drawn as well. If it
    has more, the AUC given the rarer class is a mean over independent rows and is drawn from a
    distribution with the first three moments of this mean. Classifiers more than 7 standard
    deviations below the best are excluded.

    Parameters
    ----------
    auc
        ``(m,)`` true AUCs in [0, 1].
    positives, negatives
        Numbers of rows of the two classes.
    rng
        The generator; the same state gives the same rows and errors for every ``auc``.
    rho
        The share of a score's variance that all classifiers have in common, in [0, 1).
    repetitions
        How often to draw; the mean then has a standard error of std / sqrt(repetitions).

    Raises
    ------
    UsageError
        If an argument is out of range.

    Examples
    --------
    >>> best = auc_maximum(np.full(50, 0.9), 52, 2_948, np.random.default_rng(0), repetitions=200)
    >>> 0.93 < best.mean < 0.945
    True
    """
    values = success_probabilities(auc)
    check_simulation(positives, negatives, rho, repetitions)
    mu = separation(np.clip(values, 1e-12, 1 - 1e-12))
    rare, other = min(positives, negatives), max(positives, negatives)
    mu = mu[relevant_classifiers(values, rare, other, rho)]
    draw = _draw_rows if other <= _FEW else _draw_given_rare
    drawn = [float(draw(mu, rare, other=other, rho=rho, rng=rng)) for _ in range(repetitions)]
    return DrawnMaximum(np.sort(np.array(drawn)), float(values.max()))


def check_simulation(positives: int, negatives: int, rho: float, repetitions: int) -> None:
    """Raise UsageError if an AUC of such rows cannot be simulated."""
    if positives < 1 or negatives < 1:
        raise UsageError("An AUC needs at least one positive and one negative row.")
    if not 0 <= rho < 1:
        raise UsageError(f"The correlation rho must be at least 0 and below 1, not {rho:g}.")
    if repetitions < 2:
        raise UsageError("A simulation needs at least two repetitions.")


def relevant_classifiers(values: FloatArray, rare: int, other: int, rho: float) -> IntArray:
    """Return the classifiers that can overtake the best one, in descending order.

    The variance of an AUC is exact for independent rows. Of two rows of one class it needs the
    chance that both are in the right order with the same row of the other class: that two normal
    variables with the correlation 1/2 are both below a bound.
    """
    top = float(values.max())
    both = values - 2 * special.owens_t(special.ndtri(values), 1 / np.sqrt(3))
    of_pairs = (rare + other - 2) * (both - values**2)
    deviation = np.sqrt(np.maximum(values * (1 - values) + of_pairs, 0.0) / (rare * other))
    reach = _REACH * deviation * min(1.0, np.sqrt(1 - rho) + 0.2)
    reachable = np.flatnonzero(top - values <= reach)
    return reachable[np.argsort(-values[reachable], kind="stable")]


def _draw_rows(
    mu: FloatArray, rare: int, other: int, rho: float, rng: np.random.Generator
) -> float:
    """Draw every row of both classes, and return the largest AUC."""
    common = np.sqrt(rho) * rng.standard_normal(rare + other)
    best = 0.0
    size = max(_BLOCK // (rare + other), 1)
    for start in range(0, len(mu), size):
        shift = mu[start : start + size, np.newaxis]
        scores = rng.standard_normal((len(shift), rare + other))
        scores *= np.sqrt(1 - rho)
        scores += common
        scores[:, :rare] += shift
        best = max(best, (largest_rank_sum(scores, rare) - rare * (rare + 1) / 2) / (rare * other))
    return best


def largest_rank_sum(scores: FloatArray, rare: int) -> float:
    """Return the largest sum of the ranks (from 1) of the first ``rare`` columns, over the rows.

    ``(k, n)`` untied scores, which are overwritten, with n at most 4,096. Sorting takes a tenth of
    the time of sorting positions, so the lowest bit of each score says to which class it belongs.
    """
    bits = scores.view(np.int64)
    bits ^= (bits >> 63) & np.int64(2**63 - 1)  # integers in the order of the scores
    bits &= -2
    bits[:, :rare] |= 1
    bits.sort(axis=1)
    bits &= 1
    # Whole numbers below 2^24 are exact in single precision, where a product is much faster.
    ranks = np.arange(1, bits.shape[1] + 1, dtype=np.float32)
    return float((bits.astype(np.float32) @ ranks).max())


def _draw_given_rare(
    mu: FloatArray, rare: int, other: int, rho: float, rng: np.random.Generator
) -> float:
    """Draw the rarer class, and each AUC given it; return the largest.

    By symmetry the rarer class is treated as the positive one.
    """
    drawn = min(rare, _MOST_DRAWN)
    common = np.sqrt(rho) * rng.standard_normal(drawn)
    grid, below = _common_rows(other, rho, rng)
    table = _moments_by_auc(drawn, rho) if drawn > _FEW_RARE else None
    best = 0.0
    size = max(_BLOCK // drawn, 1)
    for start in range(0, len(mu), size):
        shift = mu[start : start + size, np.newaxis]
        noise = np.sqrt(1 - rho) * rng.standard_normal((len(shift), drawn))
        scores = shift + common + noise
        shares = special.ndtr(scores)
        mean = _as_of_all(shares, special.ndtr(shift[:, 0] / np.sqrt(2)), rare)
        if rho:  # the common component of the other class
            mean += (_interpolated(scores, grid, below) - shares).mean(axis=1)
        if table is None:
            variance, skewness = _moments_of_a_row(np.sort(scores, axis=1), rho)
        else:
            variance, skewness = (np.interp(mean, table[0], quantiles) for quantiles in table[1:])
        normal = rng.standard_normal(len(shift))
        skewed = normal + skewness / np.sqrt(other) * (normal**2 - 1) / 6  # Cornish and Fisher
        aucs = mean + np.sqrt(variance / other) * skewed
        best = max(best, float(np.clip(aucs, 0.0, 1.0).max()))
    return best


def _as_of_all(shares: FloatArray, auc: FloatArray, rare: int) -> FloatArray:
    """Return the mean of ``(k, drawn)`` shares as if all rows of the rarer class had been drawn.

    The deviation from its expectation is narrowed, and so is its skewness (Cornish and Fisher).
    """
    drawn = shares.shape[1]
    deviation = shares.mean(axis=1) - auc
    if drawn == rare:
        return np.asarray(auc + deviation)
    centred = shares - auc[:, np.newaxis]
    squares = np.square(centred)
    variance = float(squares.mean())
    skewness = float((squares * centred).mean()) / variance**1.5
    excess = skewness * (1 / np.sqrt(drawn) - 1 / np.sqrt(rare)) / 6
    bend = excess * (deviation**2 * drawn / variance - 1) * np.sqrt(variance / rare)
    return np.asarray(auc + deviation * np.sqrt(drawn / rare) - bend)


@lru_cache(maxsize=4)
def _moments_by_auc(drawn: int, rho: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return AUCs, and variance and skewness of a row where the rarer class gave that AUC.

    With that many rows its scores are near their expected quantiles, shifted.
    """
    aucs = np.concatenate([np.linspace(0.01, 0.95, 48), np.linspace(0.955, 0.9995, 24)])
    quantiles = special.ndtri((np.arange(drawn) + 0.5) / drawn)
    variance, skewness = _moments_of_a_row(separation(aucs)[:, np.newaxis] + quantiles, rho)
    return aucs, variance, skewness


def _moments_of_a_row(scores: FloatArray, rho: float) -> tuple[FloatArray, FloatArray]:
    """Return variance and skewness of what one row of the other class adds to an AUC.

    It adds the share h of the ``(k, rare)`` ascending scores above its own; given its common part
    z, the mean of ``h^p`` is a sum over the scores of P(own score < s) times the number of p-tuples
    of which s is the least. Averaged over z, because the mean given z adds no variance.
    """
    rare = scores.shape[1]
    above = np.arange(rare, 0, -1.0) / rare
    tuples = [above**power - (above - 1 / rare) ** power for power in (1, 2, 3)]
    nodes, weights = np.polynomial.hermite_e.hermegauss(_POINTS if rho else 1)
    variance = third = np.zeros(len(scores))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        share = special.ndtr((scores - np.sqrt(rho) * node) / np.sqrt(1 - rho))
        first, square, cube = (share @ tuple_ for tuple_ in tuples)
        variance = variance + weight * (square - first**2)
        third = third + weight * (cube - 3 * first * square + 2 * first**3)
    variance = np.maximum(variance, _TINY)
    return variance, third / variance**1.5


def _common_rows(other: int, rho: float, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Return a grid of scores, and the share of the other class below, given what is common."""
    if rho == 0:
        return np.empty(0), np.empty(0)
    grid, chances, shares = _shares_below(rho)
    below: FloatArray = np.asarray(shares @ rng.multinomial(other, chances) / other)
    return grid, below


def _interpolated(scores: FloatArray, grid: FloatArray, values: FloatArray) -> FloatArray:
    """Return what :func:`numpy.interp` does on a grid of equal steps, in a tenth of the time.

    >>> grid = np.linspace(-1.0, 1.0, 5)
    >>> _interpolated(np.array([-9.0, -0.75, 0.5, 9.0]), grid, np.square(grid)).tolist()
    [1.0, 0.625, 0.25, 1.0]
    """
    last = len(grid) - 1
    steps = np.clip((scores - grid[0]) * (last / (grid[-1] - grid[0])), 0, last)
    below = steps.astype(np.intp)
    steps -= below
    rises = np.diff(values, append=values[-1])
    return np.asarray(values.take(below) + steps * rises.take(below))


@lru_cache(maxsize=4)
def _shares_below(rho: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return a grid of scores, the chances of bins of the common part, and what lies below each.

    Of the rows of a bin the share ``(n_grid, n_bins)`` lies below a score.
    """
    edges = np.linspace(-_EDGE, _EDGE, _BINS + 1)
    chances = np.diff(special.ndtr(edges))
    middles = (edges[1:] + edges[:-1]) / 2
    grid = np.linspace(-2 * _EDGE, 2 * _EDGE, _BINS)
    shares = special.ndtr((grid[:, np.newaxis] - np.sqrt(rho) * middles) / np.sqrt(1 - rho))
    return grid, chances / chances.sum(), shares
