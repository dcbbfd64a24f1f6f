"""Compiled kernels that need no sorting: category counts and log losses."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from arena.types import FloatArray, WeightArray
from arena_metrics.kernels.compilation import (
    bits_of_float,
    compiled,
    compiled_with_fma,
    float_of_bits,
    prefetch_cell,
)

_ONE = 0x3FF0000000000000
_SQRT_HALF_INT = 0x3FE6A09E667F3BCD
_SQRT_HALF = np.uint64(_SQRT_HALF_INT)
_OFFSET = np.uint64(_ONE - _SQRT_HALF_INT)
_MANTISSA = np.uint64(2**52 - 1)
_MANTISSA_BITS = np.uint64(52)
_TWO_52_BITS = np.uint64(0x4330000000000000)
_TWO_52_AND_BIAS = 2.0**52 + 1023.0
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_L1, _L2, _L3, _L4, _L5, _L6, _L7 = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)

_CELLS_AT_ONCE = 256
"""2 kB: of 4 kB or more, many are not yet loaded when they are read, or no longer in the cache."""
_CELLS_OF_A_LINE = 8


@compiled
def _count_pass(
    codes: npt.NDArray[np.int64], weights: WeightArray, counts: npt.NDArray[np.int64]
) -> None:
    for row in range(weights.shape[0]):
        code = codes[row]
        for b in range(weights.shape[1]):
            counts[code, b] += weights[row, b]


def category_counts(
    codes: npt.NDArray[np.int64], n_categories: int, weights: WeightArray
) -> npt.NDArray[np.int64]:
    """Return ``(m, n_categories, B)``: the total weight of each category of ``(m, n)`` codes."""
    counts = np.zeros((len(codes), n_categories, weights.shape[1]), np.int64)
    for code, result in zip(codes, counts, strict=True):
        _count_pass(code, weights, result)
    return counts


@compiled_with_fma
def _loss_pass(
    cells: npt.NDArray[np.float64],
    step: int,
    other: npt.NDArray[np.float64],
    clip: float,
    losses: npt.NDArray[np.float64],
) -> None:
    """Write minus the logarithms of the clipped distances from ``other``, which is 1 or 0.

    Row i of the ``(m, n)`` probabilities begins at cell i x ``step``. A loop over adjacent cells
    without branches or calls is vectorised; ``numpy.log`` is not on processors without AVX-512. The
    algorithm is that of fdlibm (Sun Microsystems 1993, ``e_log.c``): write the value as 2^k (1 + f)
    with sqrt(1/2) <= 1 + f < sqrt(2); with s = f / (2 + f), log(1 + f) is approximated by a
    polynomial in s^2. The error is below 1 unit in the last place.

    The rows are short pieces of long ones. The processor begins to load ahead only after some lines
    of each piece, so the cells below those at hand are prefetched.
    """
    n = losses.shape[1]
    for row in range(losses.shape[0]):
        for start in range(0, n, _CELLS_AT_ONCE):
            stop = min(start + _CELLS_AT_ONCE, n)
            below = (row + 1) * step
            if below < len(cells):
                for i in range(below + start, below + stop, _CELLS_OF_A_LINE):
                    prefetch_cell(cells, i)
            row_cells = cells[row * step + start : row * step + stop]
            others = other[start:stop]
            result = losses[row, start:stop]
            for i in range(stop - start):
                chosen = min(max(abs(row_cells[i] - others[i]), clip), 1.0 - clip)
                shifted = bits_of_float(chosen) + _OFFSET
                k = float_of_bits((shifted >> _MANTISSA_BITS) | _TWO_52_BITS) - _TWO_52_AND_BIAS
                f = float_of_bits((shifted & _MANTISSA) + _SQRT_HALF) - 1.0
                s = f / (2.0 + f)
                z = s * s
                w = z * z
                even = w * (_L2 + w * (_L4 + w * _L6))
                odd = z * (_L1 + w * (_L3 + w * (_L5 + w * _L7)))
                half = 0.5 * f * f
                result[i] = (half - (s * (half + even + odd) + k * _LN2_LOW)) - f - k * _LN2_HIGH


def log_losses(
    probabilities: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], clip: float
) -> FloatArray:
    """Return ``(m, n)``: minus the logarithm of the clipped probability of the true class.

    ``probabilities`` are ``(m, n)``, of the positive class, and clipped to [clip, 1 - clip].
    """
    m, n = len(probabilities), len(positive)
    losses = np.empty((m, n))
    if losses.size:
        if probabilities.strides[1] != losses.itemsize or probabilities.strides[0] < 0:
            probabilities = np.ascontiguousarray(probabilities)
        step = probabilities.strides[0] // losses.itemsize
        # Not a copy: the rows of a block are cut out of longer ones.
        cells = as_strided(probabilities, ((m - 1) * step + n,), (losses.itemsize,))
        _loss_pass(cells, step, np.where(positive, 0.0, 1.0), clip, losses)
    return losses
