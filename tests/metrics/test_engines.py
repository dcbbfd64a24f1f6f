"""The kernels, compiled or not, and their plain counterparts give the same numbers."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

from arena.evaluation.shared_weights import share_each_row
from arena_metrics.kernels import engine, interpreted
from kernel_modules import KernelModules, compiled_kernels
from thinned import thinned

LARGEST_WEIGHT = 15
SIZES = [(1, 1), (2, 7), (5, 16), (9, 130), (60, 130), (700, 40), (300, 3)]
"""Numbers of rows and of weightings: 130 weightings are two strips, and 256 rows a flush."""


def _columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return columns without ties, with some, with nothing else, and with both zeros."""
    return np.stack(
        [
            rng.normal(size=n),
            np.round(rng.random(n), 2),
            np.zeros(n),
            rng.choice([-0.0, 0.0, 1.0], n),
            1.0 + 2.0**-52 * rng.integers(0, 4, n),
        ]
    )


@pytest.fixture(params=thinned(SIZES, every=3), ids=str)
def problem(request: pytest.FixtureRequest) -> Any:
    n, n_resamples = request.param
    rng = np.random.default_rng(n)
    weights = rng.integers(0, LARGEST_WEIGHT + 1, (n, n_resamples)).astype(np.uint8)
    return _columns(rng, n), rng.random(n) < 0.4, weights


def _equal(first: Any, second: Any) -> None:
    for first_array, second_array in zip(np.atleast_1d(first), np.atleast_1d(second), strict=True):
        np.testing.assert_array_equal(first_array, second_array)


def test_counts_and_ranks_are_equal_to_the_last_bit(kernels: KernelModules, problem: Any) -> None:
    predictions, positive, weights = problem
    codes = np.random.default_rng(0).integers(0, 6, predictions.shape)
    for engine_name, arguments in {
        "concordant_pairs": (predictions, positive, weights),
        "weighted_average_precision": (predictions, positive, weights),
        "category_counts": (codes, 7, weights),
        "centred_midranks": (predictions[1], weights),
    }.items():
        ours = getattr(kernels, engine_name)(*arguments)
        plain = getattr(interpreted, engine_name)(*arguments)
        if isinstance(ours, tuple):
            for our_values, other in zip(ours, plain, strict=True):
                np.testing.assert_array_equal(our_values, other)
        else:
            np.testing.assert_array_equal(ours, plain)


def test_strips_of_resamples_change_no_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 12 rows: one strip for all resamples, strips of two, and of one although it is larger."""
    rng = np.random.default_rng(0)
    weights = rng.integers(0, LARGEST_WEIGHT + 1, (12, 5)).astype(np.uint8)
    arguments = rng.random((2, 12)).round(1), rng.random(12) < 0.4, weights
    whole = interpreted.weighted_average_precision(*arguments)
    for elements in (60, 24, 5):
        monkeypatch.setattr(interpreted, "_STRIP_ELEMENTS", elements)
        _equal(interpreted.weighted_average_precision(*arguments), whole)


def test_rank_sums_are_equal_but_for_rounding(kernels: KernelModules, problem: Any) -> None:
    predictions, _, weights = problem
    ranks = interpreted.centred_midranks(predictions[0], weights)
    for values, rounding in ((ranks, 0.0), (predictions[0], 1e-12)):
        for ours, plain in zip(
            kernels.rank_sums(predictions, values, weights),
            interpreted.rank_sums(predictions, values, weights),
            strict=True,
        ):
            np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=rounding * weights.sum() ** 2)


def test_thresholds_of_errors_are_equal_and_those_of_a_walk(
    kernels: KernelModules, problem: Any
) -> None:
    predictions, positive, weights = problem
    shares = kernels.crossing_shares(predictions, positive, weights)
    _equal(shares, interpreted.crossing_shares(predictions, positive, weights))
    costs = {"miss": 0.3, "alarm": 0.7}
    least = kernels.least_costs(predictions, positive, weights, **costs)
    plain = interpreted.least_costs(predictions, positive, weights, **costs)
    np.testing.assert_allclose(least, plain, rtol=1e-12)
    counts = np.where(positive, 1, 0), np.where(positive, 0, 1)
    hits, alarms = (of_class * weights[:, 0].astype(np.int64) for of_class in counts)
    if min(hits.sum(), alarms.sum()) == 0:
        assert np.isnan(shares[..., 0]).any(axis=(1, 2)).all()
        assert np.isnan(least[:, 0]).all()
        return
    for prediction, of_submission, cost in zip(predictions, shares, least, strict=True):
        walk = [(0.0, 0.0)] + [
            (hits[accepted].sum() / hits.sum(), alarms[accepted].sum() / alarms.sum())
            for accepted in (prediction >= bound for bound in np.unique(prediction)[::-1])
        ]
        crossing = next(t for t, (hit, alarm) in enumerate(walk) if alarm - (1 - hit) > -1e-12)
        assert of_submission[:, :, 0].tolist() == [
            list(walk[crossing - 1]), list(walk[crossing])
        ]  # fmt: skip
        assert cost[0] == pytest.approx(min(0.3 * (1 - hit) + 0.7 * alarm for hit, alarm in walk))


def test_thresholds_of_three_rows_are_those_by_hand(kernels: KernelModules) -> None:
    """Accepted from the largest prediction down are the first, the second and the third row.

    Positive are the first and the third: shares of hits and false alarms 0 0, 1/2 0, 1/2 1, 1 1.
    A miss costs 9, a false alarm 1: 9, 4.5, 5.5 and 1, so all rows are accepted. Positive is the
    second: 0 0, 0 1/2, 1 1/2, 1 1. A miss costs 4: 4, 4.5, 0.5 and 1.
    """
    predictions, once = np.array([[3.0, 2.0, 1.0]]), np.ones((3, 1), np.uint8)
    for positive, miss, before, crossing, least in [
        ([True, False, True], 9.0, [0.5, 0.0], [0.5, 1.0], 1.0),
        ([False, True, False], 4.0, [0.0, 0.5], [1.0, 0.5], 0.5),
    ]:
        rows = predictions, np.array(positive), once
        for functions in (kernels, interpreted):
            assert functions.crossing_shares(*rows)[0, :, :, 0].tolist() == [before, crossing]
            assert functions.least_costs(*rows, miss=miss, alarm=1.0)[0, 0] == least


@pytest.mark.parametrize("accepted", [1, 63, 64, 65, 150, 191])
def test_a_crossing_is_found_between_any_two_of_many_thresholds(
    kernels: KernelModules, accepted: int
) -> None:
    """The rows accepted first are all of one class: the crossing is where it ends."""
    predictions, once = -np.arange(192.0)[np.newaxis], np.ones((192, 1), np.uint8)
    of_class = np.arange(192) < accepted
    for positive, class_accepted in ((of_class, 0), (~of_class, 1)):
        shares = kernels.crossing_shares(predictions, positive, once)[0, :, :, 0]
        assert shares[:, class_accepted].tolist() == [(accepted - 1) / accepted, 1.0]
        assert shares[:, 1 - class_accepted].tolist() == [0.0, 0.0]


def test_pairs_are_counted_one_by_one(kernels: KernelModules, problem: Any) -> None:
    predictions, positive, weights = problem
    doubled, pairs = kernels.concordant_pairs(predictions, positive, weights)
    counts = weights.astype(np.int64)
    for prediction, result in zip(predictions, doubled, strict=True):
        wins = 1 + np.sign(prediction[positive][:, np.newaxis] - prediction[~positive]).astype(int)
        expected = np.einsum("ib,ij,jb->b", counts[positive], wins, counts[~positive])
        np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(pairs, counts[positive].sum(0) * counts[~positive].sum(0))


@pytest.mark.slow
def test_groups_of_ties_of_any_size_may_cross_a_flush(kernels: KernelModules) -> None:
    rng = np.random.default_rng(1)
    for largest in (3, 120, 300, 700):
        sizes = rng.integers(1, largest + 1, 2_000 // largest + 1)
        prediction = rng.permutation(np.repeat(np.arange(len(sizes)), sizes)).astype(float)
        # A third of the groups have both classes.
        chance = rng.choice([0.0, 0.4, 1.0], len(sizes))[prediction.astype(int)]
        positive = rng.random(len(prediction)) < chance
        weights = rng.integers(0, LARGEST_WEIGHT + 1, (len(prediction), 2)).astype(np.uint8)
        weights[:, 1] = LARGEST_WEIGHT
        arguments = (prediction[np.newaxis], positive, weights)
        doubled, pairs = kernels.concordant_pairs(*arguments)
        _equal(doubled, interpreted.concordant_pairs(*arguments)[0])
        _equal(pairs, interpreted.concordant_pairs(*arguments)[1])


def test_large_counts_take_the_plain_path(kernels: KernelModules, problem: Any) -> None:
    predictions, positive, weights = problem
    weights = weights + np.uint8(200)
    ours = kernels.concordant_pairs(predictions, positive, weights)
    np.testing.assert_array_equal(
        ours[0], interpreted.concordant_pairs(predictions, positive, weights)[0]
    )


@pytest.mark.few(1)
def test_shared_predictions_are_sorted_once(
    kernels: KernelModules, problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictions, positive, weights = problem
    arguments = [(positive, weights), (positive, weights[::-1].copy()), (~positive, weights)]
    expected = [
        kernels.concordant_pairs(predictions, *labels_and_weights)
        for labels_and_weights in arguments
    ]
    sorter, sorted_rows = kernels.of_name["roc_auc"].RowSorter, []
    sort = sorter.sort
    monkeypatch.setattr(
        sorter, "sort", lambda self, values: (sorted_rows.append(values), sort(self, values))
    )
    share_each_row(predictions)
    for labels_and_weights, pairs in zip(arguments, expected, strict=True):
        for block in (slice(3), slice(3, None)):
            doubled, of_classes = kernels.concordant_pairs(predictions[block], *labels_and_weights)
            _equal(doubled, pairs[0][block])
            _equal(of_classes, pairs[1])
    assert len(sorted_rows) == 2 * len(predictions)  # once for each set of positive rows


def test_two_counts_share_a_byte_and_no_row_crosses_a_cache_line(kernels: KernelModules) -> None:
    strips_and_bytes = {
        **dict.fromkeys((1, 16), (1, 8)),
        **dict.fromkeys((17, 32), (1, 16)),
        **dict.fromkeys((33, 64), (1, 32)),
        **dict.fromkeys((65, 128), (1, 64)),
        **dict.fromkeys((129, 256), (2, 64)),
        257: (3, 64),
    }
    rng = np.random.default_rng(0)
    for n_resamples, (n_strips, size) in strips_and_bytes.items():
        weights = rng.integers(0, LARGEST_WEIGHT + 1, (3, n_resamples)).astype(np.uint8)
        lines = kernels.of_name["roc_auc"].pack_weights(weights)
        assert lines.shape == (n_strips, 3, size)
        assert lines.ctypes.data % 64 == 0
        halves = np.stack([lines & 15, lines >> 4], axis=2)
        unpacked = halves.swapaxes(0, 1).reshape(3, -1)
        np.testing.assert_array_equal(unpacked[:, :n_resamples], weights)
        assert not unpacked[:, n_resamples:].any()


def test_kernels_release_the_interpreter_and_are_kept_on_disk() -> None:
    for module in compiled_kernels().of_name.values():
        for kernel in vars(module).values():
            if hasattr(kernel, "py_func"):
                assert kernel.targetoptions["nogil"]
                assert kernel.targetoptions["error_model"] == "numpy"
                assert kernel.stats.cache_path


@pytest.mark.slow
def test_threads_do_not_disturb_each_other(problem: Any) -> None:
    predictions, positive, weights = problem
    kernels = compiled_kernels()
    alone = kernels.concordant_pairs(predictions, positive, weights)[0]
    with ThreadPoolExecutor(4) as threads:
        blocks = [
            threads.submit(kernels.concordant_pairs, predictions, positive, weights)
            for _ in range(8)
        ]
        for block in blocks:
            np.testing.assert_array_equal(block.result()[0], alone)


def test_logarithms_are_right_to_the_last_place(kernels: KernelModules) -> None:
    n, rng = 5000 if kernels.compiled else 150, np.random.default_rng(0)
    probabilities = np.concatenate(
        [rng.random(n), 10.0 ** -rng.uniform(0, 300, n), [0.0, 0.5, 1.0, 2**-0.5]]
    )[np.newaxis]
    positive = rng.random(probabilities.size) < 0.5
    for clip in (2.3e-308, 2.2e-16, 0.3):
        ours = kernels.log_losses(probabilities, positive, clip)
        plain = interpreted.log_losses(probabilities, positive, clip)
        assert (np.abs(ours - plain) <= 2 * np.spacing(plain)).all()


@pytest.mark.parametrize(
    "cut",
    [
        lambda whole: whole[2:5, 3:590],
        lambda whole: whole[::3, 1:],
        lambda whole: whole[:, ::2],
        lambda whole: whole[::-1],
        lambda whole: whole[:, ::-1],
        lambda whole: whole.T,
        lambda whole: np.broadcast_to(whole[0], whole.shape),
        lambda whole: whole[:0],
        lambda whole: whole[:, :0],
    ],
)
def test_logarithms_of_a_part_of_the_probabilities(kernels: KernelModules, cut: Any) -> None:
    shape = (10, 601) if kernels.compiled else (6, 257)  # one cell more than at once
    part = cut(np.random.default_rng(0).uniform(0.1, 0.9, shape))
    positive = np.random.default_rng(1).random(part.shape[1]) < 0.5
    losses = kernels.log_losses(part, positive, 1e-15)
    assert losses.shape == part.shape
    np.testing.assert_allclose(losses, interpreted.log_losses(part, positive, 1e-15), rtol=1e-15)


HOSTILE = {
    "uniform": lambda rng, n: rng.random(n),
    "signed, all magnitudes": lambda rng, n: (
        rng.normal(size=n) * 10.0 ** rng.integers(-300, 300, n)
    ),
    "last bits only": lambda rng, n: 1.0 + 2.0**-52 * rng.integers(0, n, n),
    "few values": lambda rng, n: rng.integers(-2, 3, n).astype(float),
    "constant": lambda _, n: np.full(n, -7.0),
    "zeros of both signs": lambda rng, n: rng.choice([-0.0, 0.0], n),
    "an outlier": lambda rng, n: np.r_[1e300, 1.0 + 1e-15 * rng.integers(0, 9, n)][:n],
    "subnormal": lambda rng, n: rng.integers(0, 2**20, n).astype(np.uint64).view(np.float64),
}


@pytest.mark.parametrize("kind", HOSTILE)
@pytest.mark.parametrize("n", thinned([130, 1, 2, 63, 65, 20_000], every=6))
def test_rows_are_sorted_stably_and_ties_are_found(
    kernels: KernelModules, kind: str, n: int
) -> None:
    values = HOSTILE[kind](np.random.default_rng(n), n)
    sorter = kernels.of_name["sorting"].RowSorter(n)
    sorter.sort(values[::-1])
    sorter.sort(values)
    expected = np.argsort(values, kind="stable")
    np.testing.assert_array_equal(sorter.order, expected)
    ordered = values[expected]
    np.testing.assert_array_equal(sorter.first, np.r_[True, ordered[1:] != ordered[:-1]])


SCRIPT = """
import logging, sys
import numpy as np
{before}
from arena_metrics.kernels import engine
from arena_metrics.classification import BalancedAccuracy
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
rng = np.random.default_rng(0)
truth, predictions = rng.integers(0, 2, 300), rng.integers(0, 2, (3, 300))
scores = BalancedAccuracy().resample(truth, predictions, np.ones((300, 20), np.uint8))
found = [(predictions[0] == truth)[truth == k].mean() for k in range(2)]
assert abs(scores[0, 0] - np.mean(found)) < 1e-12
print("numba" in sys.modules)
{after}
"""


def _run(before: str = "", after: str = "", **environment: str) -> str:
    program = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(before=before, after=after)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert program.returncode == 0, program.stderr
    return program.stdout


@pytest.mark.slow
def test_a_small_job_neither_compiles_nor_imports_numba() -> None:
    assert _run() == "False\n"


AT_ONCE = "import arena_metrics.kernels.engine as e; e.WORTH_COMPILING = 1"


@pytest.mark.slow
def test_the_compiler_is_announced_once(tmp_path: Path) -> None:
    announced = "Compiling a kernel for large inputs. This takes a few seconds, once per machine."
    cold, warm = (_run(AT_ONCE, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert cold.splitlines() == [announced, "True"]
    assert warm.splitlines() == ["True"]


def test_many_small_jobs_are_worth_compiling_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "kernels", None)
    monkeypatch.setattr(engine, "work_so_far", 0)
    half = engine.WORTH_COMPILING // 2
    assert engine.choose_engine(half) is interpreted
    kernels = compiled_kernels().of_name["compiled"]
    assert engine.choose_engine(half) is kernels
    assert engine.choose_engine(1) is kernels


def test_only_a_cache_that_cannot_be_written_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, numba = compiled_kernels().of_name["compiled"], importlib.import_module("numba")
    before = numba.config.CACHE_DIR
    monkeypatch.setattr(numba.config, "CACHE_DIR", before)
    monkeypatch.setenv("NUMBA_CACHE_DIR", before)
    monkeypatch.setattr(engine, "work_so_far", engine.WORTH_COMPILING)
    monkeypatch.setattr(engine, "kernels", None)
    importing = mock.Mock(side_effect=[RuntimeError("no memory")])
    monkeypatch.setattr(engine.importlib, "import_module", importing)
    with pytest.raises(RuntimeError, match="no memory"):
        engine.choose_engine(0)
    importing.side_effect = [RuntimeError("cannot cache function 'f'"), compiled]
    assert engine.choose_engine(0) is compiled
    folder = os.environ["NUMBA_CACHE_DIR"]
    assert folder == numba.config.CACHE_DIR != before
    assert Path(folder).is_dir()


@pytest.mark.slow
def test_without_a_writable_cache_a_temporary_folder_serves() -> None:
    nowhere = (
        "import numba.core.caching as c\n"
        "c.CacheImpl._locator_classes = [c.UserProvidedCacheLocator]"
    )
    after = "import os; print(os.path.isdir(os.environ['NUMBA_CACHE_DIR']))"
    lines = _run(f"{AT_ONCE}\n{nowhere}", after, NUMBA_CACHE_DIR="").splitlines()
    assert lines[-2:] == ["True", "True"]
