"""Chooses between the compiled kernels and plain numpy, which give the same numbers."""

from __future__ import annotations

import atexit
import importlib
import os
import shutil
import tempfile
import threading
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from arena.types import FloatArray, IntArray, WeightArray
from arena_metrics.text_cells import Cells

__all__ = ["Engine", "choose_engine"]

_WORTH_COMPILING = 3 * 10**7
"""Row weights (submissions x rows x resamples) that plain numpy passes in 1 to 1.5 seconds."""
_KERNELS = "arena_metrics.kernels"
_lock = threading.Lock()
_kernels: Engine | None = None
_work_so_far = 0


class Engine(Protocol):
    """The procedures that exist twice; see ``interpreted`` for what each returns."""

    def column_sums(self, weights: WeightArray) -> npt.NDArray[np.int64]:
        """Return the sums of the columns of counts."""

    def pairs_won(
        self,
        predictions: npt.NDArray[np.float64],
        positive: npt.NDArray[np.bool_],
        weights: WeightArray,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return twice the pairs won, and the number of pairs."""

    def precision_sums(
        self,
        predictions: npt.NDArray[np.float64],
        positive: npt.NDArray[np.bool_],
        weights: WeightArray,
    ) -> FloatArray:
        """Return sums over the positive rows of the precision at their prediction."""

    def centred_midranks(
        self, values: npt.NDArray[np.float64], weights: WeightArray
    ) -> npt.NDArray[np.int32]:
        """Return doubled and centred midranks under every weighting."""

    def rank_sums(
        self,
        predictions: npt.NDArray[np.float64],
        response: npt.NDArray[np.float64] | npt.NDArray[np.int32],
        weights: WeightArray,
    ) -> tuple[FloatArray, FloatArray]:
        """Return sums of rank times response, and of squared ranks."""

    def category_counts(
        self, codes: npt.NDArray[np.int64], n_categories: int, weights: WeightArray
    ) -> npt.NDArray[np.int64]:
        """Return the weight of each category."""

    def log_losses(
        self, probabilities: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], clip: float
    ) -> FloatArray:
        """Return minus the logarithm of the probability of the truth."""

    def average_precisions(
        self, truth: Cells, predictions: Cells, shape: tuple[int, int], k: int
    ) -> FloatArray:
        """Return average precisions of lists of words."""

    def check_runs(self, cells: Cells) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return what is wrong with run-length encoded masks, and in which run."""

    def overlaps(
        self, truth: Cells, predictions: Cells, shape: tuple[int, int]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sizes of intersections and of masks."""

    def sums_of_earlier_below(
        self,
        places: IntArray,
        times: IntArray,
        weights: FloatArray,
        asked: npt.NDArray[np.bool_],
    ) -> FloatArray:
        """Return at each row the doubled weight of the earlier rows below it."""


def choose_engine(work: int) -> Engine:
    """Return the compiled kernels if the work done so far, and this, is worth loading them.

    Parameters
    ----------
    work
        The number of row weights that will be passed: submissions x rows x resamples.

    Notes
    -----
    A kernel is compiled when it is first called, for a few seconds, and the logger ``arena`` says
    so; later runs load what the first one left on disk. Where no folder for that is writable, a
    temporary one is used.
    """
    global _work_so_far, _kernels  # noqa: PLW0603 - one process compiles once
    with _lock:
        _work_so_far += work
        if _kernels is None and _work_so_far >= _WORTH_COMPILING:
            _kernels = _load()
        return _kernels or _interpreted()


def _interpreted() -> Engine:
    from arena_metrics import interpreted

    return interpreted


def _load() -> Engine:
    try:
        module = importlib.import_module(_KERNELS)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        _cache_in_temporary_folder()
        module = importlib.import_module(_KERNELS)
    return cast("Engine", module)


def _cache_in_temporary_folder() -> None:
    """Give numba, and the processes started from here, a private folder for this run only."""
    import numba

    folder = tempfile.mkdtemp(prefix="arena-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = folder
    cast("Any", numba.config).CACHE_DIR = folder
