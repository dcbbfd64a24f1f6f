"""The source of the compiled loops, run without the compiler on few submissions."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from arena_ranking import max_statistics
from arena_ranking.max_statistics import compiled_maxima, largest_leads, numpy_maxima

M = 9
SCALES = ((1.0, 1.0), (1e-200, 1e200), (1e200, 1e-200), (1.0, 1e36))
"""Scales of errors and precisions. Single precision needs a product of at most 1e30."""


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine submissions are several tiles, and several tasks."""
    monkeypatch.setattr(max_statistics, "compiled", lambda function: function)
    monkeypatch.setattr(max_statistics, "TILE", 4)
    monkeypatch.setattr(max_statistics, "_ROWS_PER_TASK", 3)


def problems(scales: tuple[float, float]) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield errors, precisions and open pairs; in each another pair differs most."""
    for seed, (j, k) in enumerate(itertools.combinations(range(M), 2)):
        rng = np.random.default_rng(seed)
        errors = scales[0] * rng.normal(size=(M, 12)) * rng.choice([0.1, 1.0, 3.0], (M, 1))
        precisions = rng.random((M, M)) ** 3
        precisions += precisions.T
        precisions[j, k] = precisions[k, j] = 9.0
        np.fill_diagonal(precisions, 0)
        open_pairs = rng.random((M, M)) < rng.random()
        open_pairs[j, k], open_pairs[k, j] = [(True, False), (False, True), (True, True)][seed % 3]
        np.fill_diagonal(open_pairs, False)
        yield errors, scales[1] * precisions, open_pairs


@pytest.mark.parametrize("scales", SCALES)
def test_largest_differences_have_the_bits_of_the_numpy_form(scales: tuple[float, float]) -> None:
    for errors, precisions, open_pairs in problems(scales):
        np.testing.assert_array_equal(
            compiled_maxima(errors, precisions, open_pairs),
            numpy_maxima(errors, precisions, open_pairs),
        )


@pytest.mark.parametrize("scales", SCALES[::3])
def test_leads_that_count_are_exact_and_others_no_larger(scales: tuple[float, float]) -> None:
    rows, others = np.array([0, 3, 4, 7, 8]), np.array([0, 1, 2, 3, 5, 8])
    for number, (errors, precisions, _) in enumerate(problems(scales)):
        expected = dict(largest_leads(errors, precisions, rows, others))
        assert [*expected] == rows.tolist()
        all_leads = dict(largest_leads(errors, precisions, rows, others, loaded=True))
        limits = np.array([np.quantile(leads, number % 6 / 6) for leads in expected.values()])
        large_leads = dict(
            largest_leads(errors, precisions, rows, others, least=limits, loaded=True)
        )
        assert all_leads.keys() == large_leads.keys() == expected.keys()
        for j, limit in zip(rows.tolist(), limits, strict=True):
            np.testing.assert_array_equal(all_leads[j], expected[j])
            counts = expected[j] >= limit
            np.testing.assert_array_equal(large_leads[j][counts], expected[j][counts])
            assert (large_leads[j] <= expected[j]).all()


def test_a_pair_without_a_precision_never_differs() -> None:
    errors = np.random.default_rng(0).normal(size=(3, 12))
    open_pairs, precisions = ~np.eye(3, dtype=bool), np.ones((3, 3))
    precisions[0, 2] = precisions[2, 0] = 0  # the pair that follows one with a precision
    np.testing.assert_array_equal(
        compiled_maxima(errors, precisions, open_pairs),
        np.abs([errors[0] - errors[1], errors[1] - errors[2]]).max(axis=0),
    )


def test_compiled_code_is_for_many_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three submissions and two resamples: 3 x 3 x 2 differences, as many leads."""
    errors, all_of_them = np.zeros((3, 2)), np.arange(3)
    compilations = []
    monkeypatch.setattr(max_statistics, "compiled", lambda _: lambda *_: compilations.append(1))
    for limit, expected in ((18, [1, 1]), (18.1, [])):
        monkeypatch.setattr(max_statistics, "COMPILE_ABOVE", limit)
        compilations.clear()
        max_statistics.largest_differences(errors, np.ones((3, 3)), ~np.eye(3, dtype=bool))
        list(largest_leads(errors, np.ones((3, 3)), all_of_them, all_of_them))
        assert compilations == expected
