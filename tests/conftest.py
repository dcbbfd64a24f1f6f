"""What holds for all tests: one BLAS thread each, as they run side by side."""

from __future__ import annotations

import gc
import os

for library in ("OPENBLAS", "MKL", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_collection_finish() -> None:
    """Leave what was imported to itself: statsmodels has all of it searched at each call."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let it be taken down in order at the end."""
    gc.unfreeze()
