"""Positions repeated as often as counts say: as numpy repeats them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.utils.counts import repeated


@pytest.mark.slow
@given(st.lists(st.integers(0, 4), max_size=20))
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint64])
def test_positions_are_repeated_as_numpy_repeats_them(dtype: type, counts: list[int]) -> None:
    found = repeated(np.array(counts, dtype=dtype))
    np.testing.assert_array_equal(found, np.repeat(np.arange(len(counts)), counts))
    assert found.dtype == np.intp


def test_sums_of_small_counts_do_not_overflow() -> None:
    assert repeated(np.full(300, 255, dtype=np.uint8)).tolist() == sorted(255 * list(range(300)))
