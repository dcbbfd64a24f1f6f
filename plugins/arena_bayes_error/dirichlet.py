"""The bias of proportions of few labels, from a Dirichlet distribution fitted to their counts.

The class probabilities of the rows are modelled as draws from a Dirichlet distribution (beta for
two classes). It is fitted by two moments, the mean proportions and how often two labels of one
row agree. The bias of 1 - max_k u_k is the mean of max_k p_k - max_k u_k under it: exact for two
classes, by the beta-binomial distribution, otherwise simulated. Beyond Ishida et al.
(2023).

It was compared with the jackknife over labels. On 2,000 rows of six distributions with known truth,
of which only the last is a Dirichlet distribution, root mean squared errors over 80 repetitions
were, in per cent (plain, jackknife, Dirichlet):

============================== ================= ================= =================
truth                          m = 3             m = 5             m = 50
============================== ================= ================= =================
Gaussian set-up A              2.87, 2.87, 0.35  1.66, 1.66, 0.28  0.19, 0.20, 0.09
Gaussian set-up C              1.49, 1.49, 0.39  0.82, 0.82, 0.27  0.10, 0.13, 0.07
Gaussian set-up D              0.31, 0.31, 0.17  0.19, 0.19, 0.10  0.03, 0.05, 0.03
5 classes, normal logits       9.37, 4.81, 0.97  5.74, 0.81, 0.62  0.58, 0.18, 0.15
10 classes, confused in pairs  1.92, 1.92, 0.91  0.99, 0.99, 0.66  0.10, 0.14, 0.13
4 classes, Dirichlet           13.5, 7.90, 0.69  8.42, 1.08, 0.46  0.93, 0.22, 0.16
============================== ================= ================= =================

With few labels the Dirichlet correction was best in every case, and with 50 labels in all but one,
where it is 0.02 worse than no correction. It is therefore used here
(``tests/bayes_error/test_bias_of_few_labels.py`` repeats the comparison). The jackknife responds to
ties only, and two classes never tie if m is odd.

The interval of the corrected estimate repeats the fit in every resample of the rows
(:func:`corrected_resamples`) and is cut to the possible range by the rule for proportions
(:func:`~arena_bayes_error.estimate.bounded_interval`). Simulated coverage at a level of 0.95 where
the model is right, two classes with probabilities of a beta distribution (200 repetitions, standard
error 0.015):

============= ======== ======= ======= =======
distribution  labels   n = 50  300     2,000
============= ======== ======= ======= =======
beta(1, 1)    2        0.980   0.965   0.955
beta(1, 1)    3        0.985   0.945   0.960
beta(1, 1)    5        0.985   0.975   0.945
beta(1, 1)    10       0.970   0.980   0.970
beta(1, 1)    50       0.945   0.960   0.925
beta(0.5, 2)  2        0.980   0.930   0.925
beta(0.5, 2)  3        0.960   0.965   0.935
beta(0.5, 2)  5        0.950   0.970   0.935
beta(0.5, 2)  10       0.955   0.930   0.975
beta(0.05, 1) 3        0.980   0.955   0.955
beta(0.05, 1) 10       0.990   0.965   0.945
============= ======== ======= ======= =======

With the fit taken as known, 0.85, 0.89 and 0.91 were covered at m = 3, 5 and 10. Where no beta
distribution fits, as with probabilities near 0.02 and 0.9 only, no interval of this estimate is
valid: see :mod:`arena_bayes_error.moment_bounds`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray
from arena_bayes_error.sampling import blocks

_DRAWS = 400_000
_DRAWS_PER_RESAMPLE = 20_000
_RESAMPLES_DRAWN = 60
_MOST_LABELS = 10_000
_MOST_TERMS = 2e6
_BLOCK = 10_000
_LEAST = 1e-6


def dirichlet_fit(counts: FloatArray) -> FloatArray | None:
    """Return the ``(n_classes,)`` parameters of the Dirichlet distribution, by moments.

    Two labels of a row agree with probability sum p²; its mean is sum pi² + (1 - sum pi²)/(s + 1),
    with pi the mean proportions and s the sum of the parameters.

    Parameters
    ----------
    counts
        ``(n, n_classes)``, at least one label in each row.

    Returns
    -------
    The parameters; None where the labels do not determine them: no row has two labels, or all
    labels are of one class.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.multinomial(20, rng.dirichlet([1, 2, 3], 5000)).astype(float)
    >>> dirichlet_fit(counts).round(1).tolist()
    [1.0, 2.0, 3.0]
    """
    (fitted,) = _fits(counts, np.ones((1, len(counts))))
    return fitted if np.isfinite(fitted).all() else None


def _fits(counts: FloatArray, weights: FloatArray) -> FloatArray:
    """Return ``(B, n_classes)`` parameters, one set per ``(B, n)`` weights; NaN if undetermined."""
    totals = counts.sum(axis=1)
    mean = weights @ (counts / totals[:, None]) / weights.sum(axis=1, keepdims=True)
    chance = np.square(mean).sum(axis=1)
    several = totals > 1
    pairs = np.maximum(totals * (totals - 1), 1)
    agree = (counts * (counts - 1)).sum(axis=1) / pairs
    with np.errstate(invalid="ignore", divide="ignore"):
        agreement = (weights @ (agree * several)) / (weights @ several)
        share = np.clip((agreement - chance) / (1 - chance), _LEAST, 1 - _LEAST)
        fitted = mean * ((1 - share) / share)[:, None]
    fitted[~(np.isfinite(share) & (chance <= 1 - _LEAST))] = np.nan
    return np.asarray(fitted)


def expected_bias(counts: FloatArray, rng: np.random.Generator) -> float | None:
    """Return the bias of the mean of 1 - max_k u_k, at most 0; None where no fit is possible.

    Exact for two classes of at most 10,000 labels per row. Otherwise 400,000 rows are simulated,
    each with the number of labels of a row drawn from the counts: the result has an error of about
    0.0001.

    Parameters
    ----------
    counts
        ``(n, n_classes)``, at least one label in each row.
    rng
        The generator of the simulation.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.multinomial(3, rng.dirichlet([1, 1], 5000)).astype(float)
    >>> abs(expected_bias(counts, rng) - (1 / 6 - 1 / 4)) < 0.005  # E min(u, 1-u) - E min(c, 1-c)
    True
    """
    parameters = dirichlet_fit(counts)
    if parameters is None:
        return None
    totals = counts.sum(axis=1).astype(np.int64)
    if len(parameters) == 2 and totals.max() <= _MOST_LABELS:
        labels, rows = np.unique(totals, return_counts=True)
        shares = (rows / len(totals))[None]
        return min(float(_of_two_classes(parameters[None], labels, shares)[0]), 0.0)
    return min(_simulated(parameters[parameters > 0], totals, _DRAWS, rng), 0.0)


def corrected_resamples(
    counts: FloatArray, resamples: int, rng: np.random.Generator, codes: IntArray | None = None
) -> FloatArray:
    """Return corrected estimates of resamples of the rows, with the Dirichlet fit in each.

    Parameters
    ----------
    counts
        ``(n, n_classes)``, at least one label in each row.
    resamples
        Their number B. Fewer are returned if they are slow: 60 for more than two classes,
        each with a bias simulated on 20,000 rows.
    rng
        The generator of the resamples.
    codes
        ``(n,)`` codes of groups of rows that are resampled whole.

    Returns
    -------
    ``(B,)`` proportions in [0, 1]. Memory: B times the number of distinct rows of counts; with
    groups, that number times the number of groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.multinomial(3, rng.dirichlet([1, 1], 2000)).astype(float)
    >>> values = corrected_resamples(counts, 200, rng)
    >>> abs(float(values.mean()) - 0.25) < 0.02, float(values.std()) < 0.02
    (True, True)
    """
    cells, inverse, rows = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()
    totals = cells.sum(axis=1).astype(np.int64)
    labels, of_labels = np.unique(totals, return_inverse=True)
    exact = cells.shape[1] == 2 and labels[-1] <= _MOST_LABELS
    affordable = _MOST_TERMS / (labels + 1).sum() if exact else _RESAMPLES_DRAWN
    resamples = min(resamples, max(int(affordable), 50))
    if codes is None:
        weights = rng.multinomial(len(counts), rows / len(counts), resamples).astype(np.float64)
    else:
        table = np.zeros((int(codes.max()) + 1, len(cells)))
        np.add.at(table, (codes, inverse), 1.0)
        groups = len(table)
        drawn = rng.multinomial(groups, np.full(groups, 1 / groups), resamples)
        weights = drawn @ table
    sizes = weights.sum(axis=1)
    raw = weights @ (1 - cells.max(axis=1) / totals) / sizes
    fitted = _fits(cells, weights)
    is_fitted = np.isfinite(fitted).all(axis=1)
    bias = np.zeros(resamples)
    if exact:
        shares = np.zeros((resamples, len(labels)))
        np.add.at(shares.T, of_labels, (weights / sizes[:, None]).T)
        bias[is_fitted] = _of_two_classes(fitted[is_fitted], labels, shares[is_fitted])
    else:
        all_totals = totals[inverse]
        for position in np.flatnonzero(is_fitted):
            positive = fitted[position][fitted[position] > 0]
            bias[position] = _simulated(positive, all_totals, _DRAWS_PER_RESAMPLE, rng)
    return np.asarray(np.clip(raw - np.minimum(bias, 0.0), 0.0, 1.0))


def _of_two_classes(
    parameters: FloatArray, labels: npt.NDArray[np.int64], shares: FloatArray
) -> FloatArray:
    """Return ``(B,)`` E min(u, 1-u) - E min(p, 1-p) for p of beta distributions.

    ``labels`` are the ``(t,)`` different numbers of labels, ``shares`` their ``(B, t)`` shares.

    >>> _of_two_classes(np.ones((1, 2)), np.array([3]), np.ones((1, 1))).round(12)  # 1/6 - 1/4
    array([-0.08333333])
    """
    from scipy.special import betainc, betaln, gammaln

    a, b = parameters.T[:, :, None]
    below, above = betainc(a + 1, b, 0.5), 1 - betainc(a, b + 1, 0.5)
    truth = ((a * below + b * above) / (a + b))[:, 0]
    reached = np.zeros(len(parameters))
    for m, share in zip(labels.tolist(), shares.T, strict=True):
        ones = np.arange(m + 1)
        choices = gammaln(m + 1) - gammaln(ones + 1) - gammaln(m - ones + 1)
        logs = choices + betaln(ones + a, m - ones + b) - betaln(a, b)
        reached += share * (np.exp(logs) @ (np.minimum(ones, m - ones) / m))
    return np.asarray(reached - truth)


def _simulated(
    parameters: FloatArray, totals: npt.NDArray[np.int64], draws: int, rng: np.random.Generator
) -> float:
    total = 0.0
    for rows in blocks(draws, _BLOCK):
        n = rows.stop - rows.start
        gammas = rng.standard_gamma(parameters, (n, len(parameters)))
        empty = gammas.sum(axis=1) == 0  # all underflow: one class is certain
        certain = rng.choice(len(parameters), int(empty.sum()), p=parameters / parameters.sum())
        gammas[np.flatnonzero(empty), certain] = 1
        p = gammas / gammas.sum(axis=1, keepdims=True)
        m = rng.choice(totals, n)
        u = rng.multinomial(m, p).max(axis=1) / m
        total += float((p.max(axis=1) - u).sum())
    return total / draws
