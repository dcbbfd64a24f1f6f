"""Products whose rows have the same bits in any block."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import score_under_weights, weighted_means
from arena.utils.row_products import weighted_sums
from arena_metrics.pointwise import LogLoss


@pytest.mark.few(4)
@pytest.mark.parametrize("n", [1, 40, 1024, 2500])
@pytest.mark.parametrize("n_columns", [1, 5, 100, 250])
def test_a_row_has_the_same_bits_in_any_block(n: int, n_columns: int) -> None:
    rng = np.random.default_rng(0)
    left = rng.standard_normal((90, n))
    right = rng.integers(0, 6, (n, n_columns)).astype(float)
    whole = weighted_sums(left, right)
    np.testing.assert_allclose(whole, left @ right, rtol=1e-10, atol=1e-10)
    for m in (1, 2, 3, 7, 8, 17, 88):
        first = int(rng.integers(0, len(left) - m + 1))
        own = slice(first, first + m)
        np.testing.assert_array_equal(weighted_sums(left[own], right), whole[own])


@pytest.mark.slow
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the names are of x86 processors")
@pytest.mark.parametrize("core", ["Nehalem", "Sandybridge", "Haswell", ""])
def test_so_it_does_with_the_routines_of_other_processors(core: str) -> None:
    """The empty name is that of the routines that OpenBLAS chooses itself."""
    environment = {name: value for name, value in os.environ.items() if "OPENBLAS" not in name}
    if core:
        environment["OPENBLAS_CORETYPE"] = core
    test = f"{__file__}::{test_a_row_has_the_same_bits_in_any_block.__name__}"
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", test],
        env=environment,
        check=True,
        cwd=Path(__file__).parents[2],
    )


def test_submissions_have_the_same_means_alone_as_together() -> None:
    rng = np.random.default_rng(0)
    truth, block = rng.integers(0, 2, 3000), rng.random((9, 3000))
    weights = rng.multinomial(3000, np.full(3000, 1 / 3000), size=30).T.astype(np.uint8)
    together = weighted_means(LogLoss(), truth, block, weights)
    for number in range(len(block)):
        alone = weighted_means(LogLoss(), truth, block[number : number + 1], weights)
        np.testing.assert_array_equal(alone[0], together[number])
    scores = score_under_weights(LogLoss(), truth, ArrayPredictions(block), weights)
    np.testing.assert_allclose(scores, together, rtol=1e-11)
