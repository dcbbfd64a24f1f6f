"""Choice between the compiled kernels and plain numpy, which give the same results."""

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
from arena_metrics.kernels import interpreted
from arena_metrics.kernels.text_cells import Cells

WORTH_COMPILING = 3 * 10**7
"""Row weights (submissions x rows x resamples) that plain numpy processes in 1 to 1.5 seconds."""
_KERNELS = "arena_metrics.kernels.compiled"
_lock = threading.Lock()
kernels: KernelEngine | None = None
work_so_far = 0


class KernelEngine(Protocol):
    """The functions with a compiled and a numpy version; ``interpreted`` documents the results."""

    def concordant_pairs(
        self,
        predictions: npt.NDArray[np.float64],
        positive: npt.NDArray[np.bool_],
        weights: WeightArray,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return twice the number of concordant pairs, and the number of pairs."""

    def weighted_average_precision(
        self,
        predictions: npt.NDArray[np.float64],
        positive: npt.NDArray[np.bool_],
        weights: WeightArray,
    ) -> FloatArray:
        """Return the average precision under every weighting."""

    def crossing_shares(
        self,
        predictions: npt.NDArray[np.float64],
        positive: npt.NDArray[np.bool_],
        weights: WeightArray,
    ) -> FloatArray:
        """Return the shares of accepted rows where false alarms become as frequent as misses."""

    def least_costs(
        self,
        predictions: npt.NDArray[np.float64],
        positive: npt.NDArray[np.bool_],
        weights: WeightArray,
        *,
        miss: float,
        alarm: float,
    ) -> FloatArray:
        """Return the least costs of misses and false alarms over all thresholds."""

    def centred_midranks(
        self, values: npt.NDArray[np.float64], weights: WeightArray
    ) -> npt.NDArray[np.int32]:
        """Return doubled, centred midranks under every weighting."""

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
        """Return the total weight of each category."""

    def log_losses(
        self, probabilities: npt.NDArray[np.float64], positive: npt.NDArray[np.bool_], clip: float
    ) -> FloatArray:
        """Return minus the logarithm of the probability of the true class."""

    def average_precisions(
        self, truth: Cells, predictions: Cells, shape: tuple[int, int], k: int
    ) -> FloatArray:
        """Return the average precision of lists of words."""

    def check_runs(self, cells: Cells) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the fault code of run-length encoded masks, and the faulty run."""

    def overlaps(
        self, truth: Cells, predictions: Cells, shape: tuple[int, int]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the sizes of intersections and of masks."""

    def concordance_sums(
        self,
        ranks: IntArray,
        times: IntArray,
        weights: FloatArray,
        selected: npt.NDArray[np.bool_],
    ) -> FloatArray:
        """Return for each row twice the weight of the earlier rows with lower ranks."""

    def concordance_totals(
        self,
        ranks: IntArray,
        times: IntArray,
        weights: npt.NDArray[Any],
        selected: npt.NDArray[np.bool_],
    ) -> FloatArray:
        """Return the weighted totals of these sums under every weighting."""


def choose_engine(work: int) -> KernelEngine:
    """Return the compiled kernels if the total work of this process justifies loading them.

    Parameters
    ----------
    work
        The number of row weights to process: submissions x rows x resamples.

    Notes
    -----
    The first call of a kernel compiles it, which takes a few seconds and is logged by the logger
    ``arena``; later runs load it from the disk cache. If no cache folder is writable, a temporary
    one is used.
    """
    global work_so_far, kernels  # noqa: PLW0603 - one process compiles once
    with _lock:
        work_so_far += work
        if kernels is None and work_so_far >= WORTH_COMPILING:
            kernels = _load()
        return kernels or interpreted


def _load() -> KernelEngine:
    try:
        module = importlib.import_module(_KERNELS)
    except RuntimeError as error:
        if "cannot cache" not in str(error):
            raise
        import numba

        # A private cache folder for this process and its children, removed at exit.
        folder = tempfile.mkdtemp(prefix="arena-kernels-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        os.environ["NUMBA_CACHE_DIR"] = folder
        cast("Any", numba.config).CACHE_DIR = folder
        module = importlib.import_module(_KERNELS)
    return cast("KernelEngine", module)
