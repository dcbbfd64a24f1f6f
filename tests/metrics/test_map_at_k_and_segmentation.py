"""Metrics of texts: lists of ids and run-length encoded masks, against plain definitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from arena.errors import MetricError, UsageError
from arena.evaluation.scores import influence_values, resample_block
from arena_metrics.kernels import text_cells
from arena_metrics.kernels.text_cells import cells_of
from arena_metrics.map_at_k import MapAtK
from arena_metrics.segmentation import Dice, IntersectionOverUnion
from competition_info import info_of
from kernel_modules import KernelModules
from thinned import examples

WORDS = st.sampled_from(["a", "b", "ab", "bé", "日本", "1"])
LISTS = st.lists(WORDS, max_size=6)
ONE_METRIC_OF_EACH = (MapAtK(k=3), Dice(), IntersectionOverUnion())


def _texts(*cells: str) -> Any:
    return np.array(cells, dtype=object)


def _apk(actual: Sequence[str], predicted: Sequence[str], k: int) -> float:
    """Return what Hamner's ``ml_metrics.apk`` returns, the actual ids each once."""
    if not actual:
        return 0.0
    predicted = predicted[:k]
    score, hits = 0.0, 0.0
    for i, p in enumerate(predicted):
        if p in actual and p not in predicted[:i]:
            hits += 1.0
            score += hits / (i + 1.0)
    return score / min(len(set(actual)), k)


@given(st.lists(st.tuples(LISTS, LISTS), min_size=1), st.integers(1, 4))
@settings(max_examples=examples(80))
def test_map_at_k_is_kaggles(rows: Any, k: int) -> None:
    truth = _texts(*("  ".join(actual) for actual, _ in rows))
    predictions = _texts(*(" ".join(p) + "\t" for _, p in rows))[np.newaxis]
    expected = [_apk(actual, predicted, k) for actual, predicted in rows]
    np.testing.assert_allclose(MapAtK(k).row_values(truth, predictions)[0], expected, rtol=1e-12)


@given(rows=st.lists(st.tuples(LISTS, LISTS), min_size=1), k=st.integers(1, 4))
@settings(max_examples=examples(80))
def test_the_kernel_of_map_at_k_gives_what_python_does(
    kernels: KernelModules, rows: Any, k: int
) -> None:
    truth = cells_of(_texts(*("  ".join(actual) for actual, _ in rows)))
    predictions = cells_of(_texts(*(" ".join(p) + "\t" for _, p in rows)))
    precisions, plain = (
        module.average_precisions(truth, predictions, (1, len(rows)), k)
        for module in (kernels, text_cells)
    )
    assert (precisions == plain).all()


def test_a_repeated_id_counts_once_and_takes_up_a_place() -> None:
    assert MapAtK(k=3).score(_texts("a b"), _texts("a a b")) == pytest.approx((1 + 2 / 3) / 2)
    assert MapAtK(k=2).score(_texts("a b"), _texts("a a b")) == 0.5
    assert MapAtK(k=5).score(_texts("a"), _texts("x a")) == 0.5


def _pixels(mask: str) -> set[int]:
    numbers = [int(word) for word in mask.split()]
    starts, lengths = numbers[::2], numbers[1::2]
    return {p for s, n in zip(starts, lengths, strict=True) for p in range(s, s + n)}


@st.composite
def masks(draw: st.DrawFn) -> str:
    steps = draw(st.lists(st.tuples(st.integers(0, 4), st.integers(1, 5)), max_size=5))
    words, end = [], 1
    for gap, length in steps:
        words += [end + gap, length]
        end += gap + length
    return " ".join(map(str, words))


@pytest.mark.slow
@given(st.lists(st.tuples(masks(), masks()), min_size=1))
@settings(max_examples=examples(80))
def test_dice_and_iou_are_those_of_the_pixels(rows: Any) -> None:
    truth, predictions = _texts(*(a for a, _ in rows)), _texts(*(b for _, b in rows))[np.newaxis]
    dice, iou = [], []
    for true, predicted in ((_pixels(a), _pixels(b)) for a, b in rows):
        common, together = len(true & predicted), len(true | predicted)
        sizes = len(true) + len(predicted)
        dice.append(2 * common / sizes if sizes else 1.0)
        iou.append(common / together if together else 1.0)
    np.testing.assert_allclose(Dice().row_values(truth, predictions)[0], dice)
    np.testing.assert_allclose(IntersectionOverUnion().row_values(truth, predictions)[0], iou)


@given(rows=st.lists(st.tuples(masks(), masks()), min_size=1))
@settings(max_examples=examples(80))
def test_the_kernel_of_overlaps_gives_what_python_does(kernels: KernelModules, rows: Any) -> None:
    truth, predictions = (cells_of(_texts(*texts)) for texts in zip(*rows, strict=True))
    results = (
        module.overlaps(truth, predictions, (1, len(rows))) for module in (kernels, text_cells)
    )
    assert all(
        (compiled_sums == python_sums).all()
        for compiled_sums, python_sums in zip(*results, strict=True)
    )


BAD_MASKS = {
    "1": "start without length",
    "1 2 3": "start without length",
    "0 4": "start before 1",
    "3 0": "empty run",
    "5 3 7 1": "runs out of order",
    "5 3 1 2": "runs out of order",
    "1 2.5": "not a mask",
    "1 -2": "not a mask",
    "-1 1": "not a mask",
    "-1 -1": "not a mask",
    "-12": "not a mask",
    "a b": "not a mask",
    "1 2 x": "not a mask",
    "1,2": "not a mask",
    "\u0661 2": "not a mask",
    "9999999999999999 1": "not a mask",
}
GOOD_MASKS = (
    "",
    "  ",
    "1 1",
    "1 2 3 4",
    " 5\t3  9 1\n",
    "999999999999999 1",
    "-1",
    " -1\n",
    "1 1 2 1 3 1 4 1 5 1 6 1",
)


def test_every_mask_that_cannot_be_scored_is_named() -> None:
    cells = _texts(*BAD_MASKS, *GOOD_MASKS)[:, np.newaxis]
    ids = [f"r{i}" for i in range(len(cells))]
    info = info_of(Dice(), ["rle"], ids)
    faults = list(Dice().faults(cells, info))
    assert [fault.kind for fault in faults] == list(BAD_MASKS.values())
    assert [fault.id for fault in faults] == ids[: len(BAD_MASKS)]
    assert {fault.column for fault in faults} == {"rle"}
    assert "Run 2 of the mask" in faults[1].message
    assert list(Dice().faults_of_truth(cells, info)) == faults


def test_minus_one_is_an_empty_mask(kernels: KernelModules) -> None:
    truth, predictions = _texts("-1", "-1", "1 4", ""), _texts("", "1 2", "-1", " -1 ")
    for module in (kernels, text_cells):
        common, sizes, true_sizes = module.overlaps(cells_of(truth), cells_of(predictions), (1, 4))
        assert (common == 0).all()
        assert sizes.tolist() == [[0, 2, 0, 0]]
        assert true_sizes.tolist() == [0, 0, 4, 0]
    assert Dice().row_values(truth, predictions[np.newaxis]).tolist() == [[1, 0, 0, 1]]


@example([*BAD_MASKS, *GOOD_MASKS])
@given(st.lists(st.text(alphabet="0123 4567-x\n", max_size=12), min_size=1))
@settings(max_examples=examples(150))
def test_the_kernel_finds_the_faults_that_python_finds(
    kernels: KernelModules, texts: list[str]
) -> None:
    results = (module.check_runs(cells_of(_texts(*texts))) for module in (kernels, text_cells))
    for ours, plain in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_a_mask_that_was_never_checked_is_an_error() -> None:
    with pytest.raises(MetricError, match="predicted mask of row 2"):
        Dice().score(_texts("1 2", "1 2", "1 2"), _texts("1 2", "oops", "oops"))
    with pytest.raises(MetricError, match="true mask of row 1"):
        Dice().score(_texts("1", "1 2"), _texts("1 2", "1 2"))


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "x"])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(UsageError, match="whole number k"):
        MapAtK(k=k)


@pytest.fixture(params=ONE_METRIC_OF_EACH, ids=lambda metric: metric.name)
def metric(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def problem(metric: Any) -> Any:
    """Sixty rows, three submissions, five weightings."""
    rng = np.random.default_rng(6)

    def cell() -> str:
        if metric.name == "map_at_k":
            return " ".join(rng.choice([*"abcdefgh"], rng.integers(0, 5)))
        steps = rng.integers(1, 9, 2 * rng.integers(0, 4))
        ends = np.cumsum(steps)
        return " ".join(f"{ends[i]} {steps[i + 1]}" for i in range(0, len(steps), 2))

    truth, *predictions = [_texts(*(cell() for _ in range(60))) for _ in range(4)]
    return truth, np.stack(predictions), rng.poisson(1.0, (60, 5)).astype(np.uint8)


def test_the_order_of_the_rows_does_not_matter(metric: Any, problem: Any) -> None:
    truth, predictions, weights = problem
    shuffled = np.random.default_rng(0).permutation(60)
    np.testing.assert_allclose(
        resample_block(metric, truth[shuffled], predictions[:, shuffled], weights[shuffled]),
        resample_block(metric, truth, predictions, weights),
        rtol=1e-12,
    )


def test_resamples_are_scores_of_repeated_rows(metric: Any, problem: Any) -> None:
    truth, predictions, weights = problem
    resampled = resample_block(metric, truth, predictions, weights)
    for b in range(5):
        rows = np.repeat(np.arange(60), weights[:, b])
        repeated = [metric.score(truth[rows], prediction[rows]) for prediction in predictions]
        weighted = [metric.score(truth, prediction, weights[:, b]) for prediction in predictions]
        np.testing.assert_allclose(resampled[:, b], repeated, rtol=1e-12)
        np.testing.assert_allclose(weighted, repeated, rtol=1e-12)


def test_the_truth_is_the_best_prediction(metric: Any, problem: Any) -> None:
    truth, predictions, _ = problem
    best = metric.score(truth, truth)
    assert all(metric.score(truth, prediction) < best for prediction in predictions)
    if metric.name != "map_at_k":
        assert best == 1.0


def test_influence_values_are_centred_row_values(metric: Any, problem: Any) -> None:
    truth, predictions, _ = problem
    rows = metric.row_values(truth, predictions)
    influences = influence_values(metric, truth, predictions)
    np.testing.assert_allclose(influences, rows - rows.mean(axis=1, keepdims=True), atol=1e-9)
    assert 0.0 <= rows.min() <= rows.max() <= 1.0
