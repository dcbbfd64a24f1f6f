"""Products of tiles of row values and weights whose rows do not depend on one another.

BLAS computes the last rows and columns of a matrix, and small matrices, by other routines, which
add in another order. So the last bit of a submission's score would depend on how many submissions
are in its block: equal submissions could have different scores, and blocks of another size, as on a
cluster, other numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray

TILE_ROWS = 1_024
"""Rows that are multiplied together: a tile of weights as float64 fits into a processor's cache."""
UNIT = 8
"""The routines of OpenBLAS for whole matrices take rows and columns in eights, or in divisors."""
_SMALL = 10**6
"""OpenBLAS has other routines for products of at most so many multiplications, on AVX-512."""


class RowProduct:
    """Multiplies ``(m, k)`` by ``(k, n_columns)`` tiles, k at most ``depth``.

    A row of the result has the same bits for any m. The matrices are filled up with zeros: rows and
    columns to a multiple of eight, rows so that no product is small, and the last tile of
    values to ``depth``, so that weights that an earlier tile left there do not count. A single
    column is added up by numpy, row by row.

    Holds ``8 * depth * (n_columns + 7)`` bytes, and ``8 * depth`` for each row if m or k is filled
    up.

    Examples
    --------
    >>> product = RowProduct(1, 3, 2)
    >>> product.right(3)[:] = [[1, 0], [1, 2], [1, 0]]
    >>> product.of(np.array([[1.0, 2.0, 3.0]]))
    array([[6., 4.]])
    """

    def __init__(self, m: int, depth: int, n_columns: int) -> None:
        self._m, self._n_columns = m, n_columns
        columns = n_columns if n_columns == 1 else _up(n_columns)
        least = 1 + _SMALL // max(1, depth * columns)
        self._shape = (_up(max(m, least)), depth)
        self._right = np.zeros((depth, columns))
        self._left: FloatArray | None = None
        self._k = 0

    def right(self, k: int) -> FloatArray:
        """Return the ``(k, n_columns)`` matrix on the right, to be filled in."""
        self._k = k
        return self._right[:k, : self._n_columns]

    def of(self, left: npt.NDArray[np.float64]) -> FloatArray:
        """Return the ``(m, n_columns)`` product of a matrix ``(m, k)`` and the right one."""
        if self._n_columns == 1:
            sums: FloatArray = (left * self._right[: self._k, 0]).sum(axis=1, keepdims=True)
            return sums
        if left.shape != self._shape:
            if self._left is None:
                self._left = np.zeros(self._shape)
            self._left[: self._m, : self._k] = left
            self._left[:, self._k :] = 0.0
            left = self._left
        return (left @ self._right)[: self._m, : self._n_columns]


def weighted_sums(values: FloatArray, weights: npt.NDArray[Any]) -> FloatArray:
    """Return the ``(k, B)`` sums of ``(k, n)`` values under ``(n, B)`` weights, in tiles of rows.

    A row of the result has the same bits for any k. Only one tile of weights is converted to
    float64 at a time.

    >>> weighted_sums(np.array([[1.0, 2.0, 3.0]]), np.array([[1, 0], [1, 2], [1, 0]]))
    array([[6., 4.]])
    """
    n, n_columns = weights.shape
    sums = np.zeros((len(values), n_columns))
    product = RowProduct(len(values), min(TILE_ROWS, n), n_columns)
    for start in range(0, n, TILE_ROWS):
        rows = slice(start, start + TILE_ROWS)
        product.right(len(weights[rows]))[:] = weights[rows]
        sums += product.of(values[:, rows])
    return sums


def _up(number: int) -> int:
    return -(-number // UNIT) * UNIT
