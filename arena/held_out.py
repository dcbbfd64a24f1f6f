"""Random partitions of the rows into folds, to choose on one part and to judge on another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from arena.errors import UsageError
from arena.types import IntArray

__all__ = ["held_out_folds"]


def held_out_folds(
    n_rows: int,
    rng: np.random.Generator,
    partitions: int = 50,
    folds: int = 5,
    strata: IntArray | None = None,
    clusters: IntArray | None = None,
) -> npt.NDArray[np.bool_]:
    """Draw random partitions of the rows into folds of nearly the same size.

    Parameters
    ----------
    n_rows
        The number n of rows.
    rng
        The source of chance.
    partitions
        The number of partitions.
    folds
        Folds per partition; fewer are made when there are fewer rows or clusters.
    strata
        ``(n,)`` class codes, each spread evenly over the folds. A cluster counts under the rarest
        class that it holds.
    clusters
        ``(n,)`` codes of groups; a group stays whole. Folds have nearly the same number of groups.

    Returns
    -------
    ``(n, partitions * folds)``: True where a row is held out. Columns of one partition stand
    together and hold each row exactly once. One byte per element: 25 MB for 100,000 rows.

    Raises
    ------
    UsageError
        If a number is not positive, or folds < 2.

    Examples
    --------
    >>> held = held_out_folds(6, np.random.default_rng(0), partitions=2, folds=3)
    >>> held.shape, held[:, :3].sum(axis=0).tolist(), held[:, :3].sum(axis=1).tolist()
    ((6, 6), [2, 2, 2], [1, 1, 1, 1, 1, 1])
    """
    if n_rows < 1 or partitions < 1 or folds < 2:
        raise UsageError("Holding out needs at least one row, one partition and two folds.")
    unit_of_row, unit_strata = _units(n_rows, strata, clusters)
    n_units = len(unit_strata)
    folds = min(folds, n_units)
    held = np.zeros((n_rows, partitions * folds), dtype=np.bool_)
    fold_of_unit = np.empty(n_units, dtype=np.intp)
    rows = np.arange(n_rows)
    for partition in range(partitions):
        dealt = np.lexsort((rng.random(n_units), unit_strata))
        fold_of_unit[dealt] = (np.arange(n_units) + rng.integers(folds)) % folds
        held[rows, partition * folds + fold_of_unit[unit_of_row]] = True
    return held


def _units(
    n_rows: int, strata: IntArray | None, clusters: IntArray | None
) -> tuple[IntArray, IntArray]:
    """Return the unit (row or cluster) of each row, and the stratum of each unit."""
    if strata is None:
        codes = np.zeros(n_rows, dtype=np.intp)
    else:
        codes = np.unique(strata, return_inverse=True)[1]
    if clusters is None:
        return np.arange(n_rows), codes
    unit_of_row = np.unique(clusters, return_inverse=True)[1]
    by_frequency = np.argsort(np.argsort(np.bincount(codes), kind="stable"), kind="stable")
    unit_strata = np.full(unit_of_row.max() + 1, len(by_frequency), dtype=np.intp)
    np.minimum.at(unit_strata, unit_of_row, by_frequency[codes])
    return unit_of_row, unit_strata
