"""A task that tells how many threads it may use."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_info


def blas_threads() -> set[int]:
    """Return the numbers of threads of the BLAS libraries that are loaded here."""
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
