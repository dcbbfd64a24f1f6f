"""The guarantee of the Ladder as a calculator: Blum and Hardt (2015), Theorem 3.1."""

from __future__ import annotations

import numpy as np

from arena.types import DEFAULT_LEVEL, FloatArray

_STEPS = np.concatenate([np.arange(10, 100) * 10.0**power for power in range(-5, -1)] + [[1.0]])
"""Steps of two digits, so that the best one does not depend on the last bits of a logarithm."""


def leaderboard_error_bound(
    n_rows: int, submissions: int, eta: float | FloatArray, level: float = DEFAULT_LEVEL
) -> FloatArray:
    """Return an upper bound of the leaderboard error of a Ladder that holds with this confidence.

    The error after k submissions is the difference of the released loss and the best true loss so
    far, in shares of the range of the loss. It is at most ``eta + epsilon``, with epsilon from
    ``exp(-2 epsilon^2 n + (1/eta + 2) log(4 k / eta) + 1) = 1 - level``.

    Parameters
    ----------
    n_rows
        n public rows.
    submissions
        k, of one team.
    eta
        The step, in (0, 1].

    Examples
    --------
    >>> [round(float(leaderboard_error_bound(4_000, 400, eta)), 3) for eta in (0.153, 0.069)]
    [0.255, 0.215]
    """
    exponent = (1 / eta + 2) * np.log(4 * submissions / eta) + 1 - np.log(1 - level)
    return np.asarray(eta + np.sqrt(exponent / (2 * n_rows)))


def best_step(n_rows: int, submissions: int, level: float = DEFAULT_LEVEL) -> float:
    """Return the step, of two digits, with the smallest :func:`leaderboard_error_bound`.

    >>> best_step(4_000, 400), best_step(1_000, 100), best_step(100_000, 1_000)
    (0.069, 0.1, 0.026)
    """
    bounds = leaderboard_error_bound(n_rows, submissions, _STEPS, level)
    return float(round(_STEPS[int(bounds.argmin())], 12))
