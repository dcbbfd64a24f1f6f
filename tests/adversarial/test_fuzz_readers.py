"""Mutated submission files: valid predictions or harmless faults, and never an exception."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.intake import read_submission
from arena.types import PredictionKind, Solution
from fuzz_readers import BATCH, corpus, mutate, run_apart, wrong_with
from thinned import examples

CASES = int(os.environ.get("ARENA_FUZZ_CASES", "100000"))
"""Of the slow run. See fuzz_readers.py for more."""


@pytest.mark.slow
def test_mutated_files() -> None:
    assert run_apart(0, 300)[0] == []


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(
    at=st.deferred(lambda: st.integers(0, len(corpus()) - 1)),
    seed=st.integers(0, 2**32),
    more=st.binary(max_size=40),
)
def test_mutated_files_as_they_are_submitted(
    at: int, seed: int, more: bytes, solution: Solution
) -> None:
    data = mutate(corpus()[at], np.random.default_rng(seed)) + more
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        read = read_submission(Path(file.name), solution)
    assert wrong_with(read, PredictionKind.PROBABILITY) is None


@pytest.mark.campaign
def test_many_mutated_files() -> None:
    for first in range(300, CASES, BATCH):
        assert run_apart(first, first + BATCH)[0] == []
