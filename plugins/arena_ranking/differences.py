"""Standard errors of the differences between the scores of all pairs of submissions.

They come from row or influence values where a metric has them, else from how the scores moved over
joint resamples of the rows. Both are distances between m vectors, found by one matrix product.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import FloatArray, IntArray
from arena.utils.parallel import run_tasks

FEW_ROWS = 10
"""With fewer differing rows, a standard error is raised to its value for ten rows."""

_BLOCK = 256
_PAIRS_AT_ONCE = 2**22
_CANCELLED = 1e-6
_NOISE = 1e-9
"""Influence values are found by a numerical slope with a relative error of about 1e-11."""


def sum_by_unit(values: FloatArray, units: IntArray | None) -> FloatArray:
    """Sum ``(k, n)`` values over the rows of each cluster; without clusters return them.

    >>> sum_by_unit(np.array([[1.0, 2.0, 3.0]]), np.array([0, 1, 0]))
    array([[4., 2.]])
    """
    if units is None:
        return values
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=units[order[0]] - 1))
    return np.asarray(np.add.reduceat(values[:, order], starts, axis=1))


def standard_errors_from_values(
    values: FloatArray, n_rows: int | None = None, *, workers: int = 1
) -> FloatArray:
    """Return the standard errors of all pairwise differences, from row or influence values.

    ``SE_jk = sqrt(U / (U - 1)) / n * ||v_j - v_k||`` with each v centred: for U = n rows the
    usual standard error of a mean difference, for U clusters the cluster-robust one.

    Parameters
    ----------
    values
        ``(m, U)`` values of mean zero, or their sums over U clusters (:func:`sum_by_unit` of
        centred values).
    n_rows
        The number n of rows, where U counts clusters.
    workers
        Threads.

    Returns
    -------
    ``(m, m)`` in the units of the score, symmetric, 0 on the diagonal; all 0 if U < 2. Memory:
    this matrix and blocks of 256 rows of it, 80 MB for 3,000 submissions.

    Raises
    ------
    UsageError
        If the values are no matrix of finite numbers.

    Examples
    --------
    >>> rows = np.array([[1.0, 0, 1, 1], [0, 0, 1, 0]])
    >>> values = rows - rows.mean(axis=1, keepdims=True)
    >>> standard_errors_from_values(values).round(4)[0, 1]  # std([1, 0, 0, 1], ddof=1) / sqrt(4)
    np.float64(0.2887)
    """
    _check_matrix(values)
    m, n_units = values.shape
    if n_units < 2:
        return np.zeros((m, m))
    factor = np.sqrt(n_units / (n_units - 1)) / (n_units if n_rows is None else n_rows)
    errors = _distances(values, workers)
    errors *= float(factor)
    return errors


def standard_errors_from_resamples(resampled: FloatArray, *, workers: int = 1) -> FloatArray:
    """Return the standard errors of all pairwise differences, from jointly resampled scores.

    The standard deviation of ``theta*_j - theta*_k`` over the B resamples, by one matrix product.

    Parameters
    ----------
    resampled
        ``(m, B)`` finite scores, B >= 2.
    workers
        Threads.

    Returns
    -------
    ``(m, m)`` as :func:`standard_errors_from_values`, with a relative error of about ``1 / sqrt(2
    B)``.

    Raises
    ------
    UsageError
        If the scores are no matrix of finite numbers, or there are fewer than two resamples.

    Examples
    --------
    >>> standard_errors_from_resamples(np.array([[1.0, 2, 3], [1.0, 1, 1]]))
    array([[0., 1.],
           [1., 0.]])
    """
    _check_matrix(resampled)
    if resampled.shape[1] < 2:
        raise UsageError("Standard errors need at least two resamples.")
    centred = resampled - resampled.mean(axis=1, keepdims=True)
    errors = _distances(centred, workers)
    errors /= float(np.sqrt(resampled.shape[1] - 1))
    return errors


def _check_matrix(matrix: FloatArray) -> None:
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise UsageError("Standard errors need one row of finite numbers per submission.")


def _distances(vectors: FloatArray, workers: int) -> FloatArray:
    """Return ``(m, m)`` Euclidean distances between the rows of ``(m, d)`` vectors.

    Blocks of rows are computed in place: a second matrix of all pairs would double the memory.
    """
    m = len(vectors)
    squared = np.zeros((m, m))
    blocks = ((vectors, squared, start) for start in range(0, m, _BLOCK))
    for _ in run_tasks(_fill_products, blocks, workers=workers):
        pass
    norms = squared.diagonal().copy()
    starts = ((squared, norms, start) for start in range(0, m, _BLOCK))
    close = list(run_tasks(_subtract_products, starts, workers=workers))
    np.fill_diagonal(squared, 0.0)
    for first, second in close:
        _fill_exactly(vectors, squared, first, second)
    return np.sqrt(squared, out=squared)


def _subtract_products(
    squared: FloatArray, norms: FloatArray, start: int
) -> tuple[IntArray, IntArray]:
    """Turn rows of products into squared distances, and return the nearly equal pairs."""
    close = []
    for row in range(start, min(start + _BLOCK, len(squared))):  # which stays in the cache
        squared_row = squared[row]
        scale = norms[row] + norms
        squared_row *= -2.0
        squared_row += scale
        scale *= _CANCELLED
        close.append(row + 1 + np.flatnonzero(squared_row[row + 1 :] <= scale[row + 1 :]))
    return np.repeat(np.arange(start, start + len(close)), [len(k) for k in close]), np.concatenate(
        close
    )


def _fill_products(vectors: FloatArray, products: FloatArray, start: int) -> None:
    """Fill one block of rows from the diagonal on, and its mirror image."""
    stop = start + _BLOCK
    block = vectors[start:stop] @ vectors[start:].T
    square = block[:, : len(block)]
    square += square.T.copy()  # the product is symmetric only up to rounding
    square /= 2
    products[start:stop, start:] = block
    products[start:, start:stop] = block.T


def _fill_exactly(
    vectors: FloatArray, squared: FloatArray, first: IntArray, second: IntArray
) -> None:
    """Compute nearly equal pairs directly, since the product form loses digits there."""
    step = max(1, _PAIRS_AT_ONCE // max(1, vectors.shape[1]))
    for start in range(0, len(first), step):
        j, k = first[start : start + step], second[start : start + step]
        difference = vectors[j] - vectors[k]
        squared[j, k] = squared[k, j] = np.einsum("pd,pd->p", difference, difference)


def floor_standard_errors(
    standard_errors: FloatArray,
    differing: npt.NDArray[np.uint8],
    scores: FloatArray,
    *,
    n_units: int | None = None,
    needed: float = 0.0,
    without_error: float = np.inf,
    overwrite: bool = False,
) -> FloatArray:
    """Return standard errors that are safe for claims about ranks.

    If two submissions differ in r < 10 rows, their standard error comes from r numbers only; it is
    multiplied by ``sqrt(10 / r)``, which for accuracy makes it ``sqrt(10) / n``. A pair that
    differs in fewer rows than ``needed`` cannot be decided and gets infinity. Neither applies if
    every unit differs: small numbers of groups are handled by the degrees of freedom. Where r is 0,
    or the standard error is within the noise of floating point, it is 0: see
    :func:`arena_ranking.simultaneous.rank_intervals`.

    Parameters
    ----------
    standard_errors
        ``(m, m)``.
    differing
        ``(m, m)`` numbers of rows, or clusters, in which two submissions differ.
    scores
        ``(m,)``; the larger one of a pair sets its level of floating-point noise.
    n_units
        The number of rows, or clusters. None: more than differ.
    needed
        From :func:`arena_ranking.small_samples.sign_test_units`.
    without_error
        The standard error of two different scores that no single unit changes.
    overwrite
        Whether the given standard errors are changed, instead of a copy.

    Examples
    --------
    >>> errors = np.array([[0.0, 0.1], [0.1, 0.0]])
    >>> floor_standard_errors(errors, np.array([[0, 5], [5, 0]], dtype=np.uint8),
    ...                       np.array([0.5, 0.6])).round(4).tolist()
    [[0.0, 0.1414], [0.1414, 0.0]]
    """
    floored = standard_errors if overwrite else standard_errors.copy()
    for start in range(0, len(floored), _BLOCK):
        rows = slice(start, start + _BLOCK)
        _floor_rows(
            floored[rows],
            differing[rows],
            row_scores=scores[rows],
            scores=scores,
            n_units=n_units,
            needed=needed,
            without_error=without_error,
        )
    return floored


def _floor_rows(
    floored: FloatArray,
    differing: npt.NDArray[np.uint8],
    row_scores: FloatArray,
    scores: FloatArray,
    n_units: int | None,
    needed: float,
    without_error: float,
) -> None:
    """Raise a block of rows in place; ``row_scores`` are those of its submissions."""
    some_equal = differing < (np.inf if n_units is None else n_units)
    few = (differing < FEW_ROWS) & (differing > 0) & some_equal
    floored[few] *= np.sqrt(FEW_ROWS / differing[few])
    floored[(differing < needed) & some_equal] = np.inf
    floored[differing == 0] = 0.0
    sizes = _NOISE * np.abs(scores)
    floored[floored <= np.maximum(_NOISE * np.abs(row_scores)[:, np.newaxis], sizes)] = 0.0
    if n_units is not None:
        # Not a constant difference, but one with an unknown standard error, such as that of
        # an F1 score of 0.
        floored[(floored == 0) & (differing < min(n_units, 255)) & (differing > 0)] = np.inf
        floored[(differing == 0) & (row_scores[:, np.newaxis] != scores)] = without_error
