"""Predictions in blocks: how many at a time, and that every submission is taken once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.evaluation import scores
from arena.evaluation.case_counts import case_counts
from arena.evaluation.predictions import (
    ArrayPredictions,
    MappedPredictions,
    cell_bytes,
    in_memory,
)
from arena.evaluation.scores import score_under_weights
from arena.evaluation.shared_weights import derived_once
from toy_metrics import PointwiseRmse


def test_each_submission_is_counted_once_and_in_its_order() -> None:
    predictions = np.array([[1, 2], [3, 4], [5, 6]])

    def counter(truth: Any, prediction: Any) -> Any:
        assert not truth.flags.writeable
        assert not prediction.flags.writeable
        return lambda: prediction[:, np.newaxis] + truth[:, np.newaxis]

    metric: Any = SimpleNamespace(name="counts", counter=counter)
    counts = case_counts(
        metric, np.array([10, 20]), predictions=ArrayPredictions(predictions), workers=1
    )
    assert [count[:, 0].tolist() for count in counts] == [[11, 22], [13, 24], [15, 26]]


def test_scores_do_not_depend_on_the_rows_of_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seven rows in tiles of two, of three submissions: 15 cells are two tiles and a half."""
    rng = np.random.default_rng(0)
    truth, predictions = rng.normal(size=7), rng.normal(size=(3, 7))
    weights = rng.integers(0, 3, (7, 4)).astype(np.uint8)
    weights[0] = 1
    squares = (predictions - truth) ** 2
    expected = np.sqrt((squares @ weights) / weights.sum(axis=0))
    monkeypatch.setattr(scores, "TILE_ROWS", 2)
    for cells in (0, 1, 14, 15, 10_000):
        monkeypatch.setattr(scores, "_TILE_CELLS", cells)
        resampled = score_under_weights(
            PointwiseRmse(), truth, predictions=ArrayPredictions(predictions), weights=weights
        )
        np.testing.assert_allclose(resampled, expected, rtol=1e-11)


def test_a_text_takes_60_bytes_and_its_mean_length_among_a_thousand() -> None:
    """Of 3,000 cells every third one is looked at."""
    sizes = {("a", "abc", "abcde"): 63, ("abcd",): 64, (): 60, ("a", "bb", "cccc") * 1000: 61}
    for texts, size in sizes.items():
        assert cell_bytes(np.array([texts], dtype=object)) == size
    assert cell_bytes(np.zeros(3)) == 8


def test_numbers_that_fit_into_memory_are_read_once_and_share_what_is_derived_from_them() -> None:
    read = []

    def reader(block: Any) -> Any:
        read.append(len(block))
        return block * 2

    numbers = np.arange(12).reshape(3, 2, 2)
    held = in_memory(MappedPredictions(ArrayPredictions(numbers), reader))
    for _ in range(2):
        ((_, block),) = held.blocks(3)
        np.testing.assert_array_equal(block, numbers * 2)
    assert read == [1, 1, 1]
    for start, block in held.subset(np.arange(3)).blocks(2):
        for position, row in enumerate(block, start):
            assert derived_once(row, np.copy) is derived_once(row, np.copy)
            np.testing.assert_array_equal(derived_once(row, np.copy), numbers[position] * 2)
    for _, (row,) in held.subset(np.array([1, 0])).blocks(1):  # a copy
        assert derived_once(row, np.copy) is not derived_once(row, np.copy)
    texts = ArrayPredictions(np.array([["a"], ["b"]], dtype=object))
    assert in_memory(texts) is texts
