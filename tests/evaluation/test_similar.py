"""Identical and nearly identical submissions of different teams, of every kind of prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.similar import (
    ComparedContent,
    EqualColumns,
    SimilarSubmissions,
    describe_similar,
    round_nearly_tied,
    similar_submissions,
)
from arena.types import PredictionKind

N, M = 3_000, 12
RNG = np.random.default_rng(4)
TRUTH = RNG.normal(size=N)
VALUES = TRUTH + 0.3 * RNG.normal(size=(M, N))
RIGHT = RNG.random((M, N)) < 0.8
LABELS = np.where(RIGHT, TRUTH > 0, TRUTH <= 0).astype(np.intp)


def found(values: Any, kind: PredictionKind, teams: Any = None) -> list[SimilarSubmissions]:
    names = [f"t{number}" for number in range(len(values))] if teams is None else teams
    return list(
        similar_submissions(ArrayPredictions(values), range(1, len(values) + 1), names, kind)
    )


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (PredictionKind.VALUE, VALUES),
        (PredictionKind.PROBABILITY, 1 / (1 + np.exp(-VALUES))),
        (PredictionKind.SCORE, VALUES),
        (PredictionKind.CLASS_PROBABILITIES, np.stack([VALUES, -VALUES], axis=2)),
        (PredictionKind.LABEL, LABELS),
        (PredictionKind.TEXT, np.char.add("class ", LABELS.astype(str)).astype(object)),
    ],
)
def test_of_every_kind(kind: PredictionKind, values: Any) -> None:
    assert found(values, kind) == []
    copied = values.copy()
    copied[7] = copied[3]
    copied[9] = copied[3]
    copied[11] = copied[1]
    copied[11, 100:112] = copied[5, 100:112]
    exact, near = found(copied, kind)
    assert (exact.identical, exact.submissions, exact.teams) == (
        True, (4, 8, 10), ("t3", "t7", "t9"),
    )  # fmt: skip
    assert (near.identical, near.submissions) == (False, (2, 12))
    assert 0 < near.differing <= 12.5 / N
    # A team's own submissions may be as similar as they like.
    assert found(copied, kind, ["a"] * M) == []


def test_numbers_with_noise_scaled_or_with_the_same_order() -> None:
    for kind in (PredictionKind.VALUE, PredictionKind.SCORE):
        copied = VALUES.copy()
        copied[2] = copied[0] + 1e-3 * RNG.normal(size=N)
        copied[4] = 3 * copied[1] + 5
        assert {group.submissions for group in found(copied, kind)} == {(1, 3), (2, 5)}
    copied[6] = np.exp(copied[5])
    assert {group.submissions for group in found(copied, PredictionKind.SCORE)} == {
        (1, 3), (2, 5), (6, 7),
    }  # fmt: skip


@pytest.mark.parametrize("kind", [PredictionKind.PROBABILITY, PredictionKind.SCORE])
@pytest.mark.parametrize("noise", [1e-12, 1e-9, 1e-7])
def test_copies_with_noise_where_many_values_are_equal(kind: PredictionKind, noise: float) -> None:
    """Noise orders clipped values at random, and a mean rank becomes ranks of all sizes."""
    clipped = np.clip(VALUES, -0.5, 0.5) + 0.5
    clipped[2] = clipped[0] + noise * RNG.normal(size=N)
    clipped[4] = np.clip(clipped[1] + noise * RNG.normal(size=N), 0, 1)
    assert {group.submissions for group in found(clipped, kind)} == {(1, 3), (2, 5)}


def test_good_models_of_an_easy_task_and_constants_are_no_copies() -> None:
    right = RNG.random((M, N)) < 0.998
    easy = np.where(right, TRUTH > 0, TRUTH <= 0).astype(np.intp)
    assert found(easy, PredictionKind.LABEL) == []
    assert found(np.full((M, N), 0.5), PredictionKind.PROBABILITY) == []


def test_extreme_values_and_few_submissions() -> None:
    huge = VALUES[:3] * 1e100
    huge[2] = huge[0] * (1 + 1e-9)
    (group,) = found(huge, PredictionKind.VALUE)
    assert group.submissions == (1, 3)
    assert found(VALUES[:1], PredictionKind.VALUE) == []
    assert found(VALUES[:0], PredictionKind.VALUE) == []
    zeros = np.zeros((2, 5))
    zeros[1] = -0.0
    zeros[:, 0] = 1
    assert found(zeros, PredictionKind.VALUE)[0].identical


def test_of_very_many_only_the_last_of_each_team_is_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Identical submissions are found among all of them."""
    rng = np.random.default_rng(5)
    values = rng.random((24, 400))
    values[7] = values[0]  # of another team: identical, not the last of either
    values[21] = values[20] + 1e-7  # the last of two teams
    values[4] = values[3] + 1e-7  # nearly identical, not the last
    teams = [f"t{number % 8}" for number in range(24)]
    groups = similar_submissions(
        ArrayPredictions(values), list(range(24)), teams, PredictionKind.VALUE, block=5
    )
    assert {group.submissions for group in groups} == {(0, 7), (3, 4), (20, 21)}
    monkeypatch.setattr("arena.evaluation.similar.MOST_COMPARED", 10)
    fewer = similar_submissions(
        ArrayPredictions(values), list(range(24)), teams, PredictionKind.VALUE
    )
    assert [group.submissions for group in fewer] == [(0, 7), (20, 21)]


@pytest.mark.parametrize("kind", [PredictionKind.VALUE, PredictionKind.PROBABILITY])
def test_copies_of_which_a_part_was_changed_are_found_by_equal_numbers(
    kind: PredictionKind,
) -> None:
    probabilities = 1 / (1 + np.exp(-VALUES))
    copied = probabilities.copy()
    copied[7, :600] = probabilities[2, :600]  # 80% of submission 4
    copied[7, 600:] = probabilities[3, 600:]
    (group,) = found(copied, kind)
    assert group.submissions == (4, 8)
    assert group.differing == pytest.approx(0.2, abs=0.05)
    assert "of the predictions differ" in describe_similar(group)
    # Rounded numbers agree by chance, and so do predictions of rows that are known to be 0.
    assert found(copied.round(1), kind) == []
    with_zeros = np.where(TRUTH < 1, 0.0, probabilities)
    assert found(with_zeros, kind) == []
    assert found(copied[:, 590:610], kind) == []  # too few rows to tell


def test_a_large_group_is_named_by_its_first_ten() -> None:
    (group,) = found(np.tile(VALUES[:1], (14, 1)), PredictionKind.VALUE)
    assert len(group.teams) == 14
    assert describe_similar(group).endswith("10 of t9 and 4 more.")


def test_submissions_that_are_known_to_be_equal_are_not_read_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = VALUES.copy()
    values[7] = values[9] = values[3]
    values[11] = values[2] + 1e-6
    values[4] = values[6] = 0.5  # constant
    first = np.array([0, 1, 2, 3, 4, 5, 4, 3, 8, 3, 10, 11])
    names, read = [f"t{number % 5}" for number in range(M)], []

    class Counted(ArrayPredictions):
        def blocks(self, size: int) -> Any:
            read.append(self.n_submissions)
            return super().blocks(size)

        def subset(self, submissions: Any) -> Any:
            return Counted(self.values[submissions])

    def assert_same_groups() -> None:
        arguments = Counted(values), range(1, M + 1), names, PredictionKind.SCORE
        groups = similar_submissions(*arguments)
        assert similar_submissions(*arguments, first_equal=first) == groups != ()

    assert_same_groups()
    assert read == [M, 9]
    # Of many, only the last new one of each team and those with equals are read.
    monkeypatch.setattr("arena.evaluation.similar.MOST_COMPARED", 8)
    assert_same_groups()
    needed = {int(position) for position in first if (first == position).sum() > 1}
    needed |= {
        max(position for position in set(first.tolist()) if names[position] == name)
        for name in names
    }
    assert read[2:] == [M, len(needed)]
    assert len(needed) < 9


@pytest.mark.parametrize(("codes", "sparse"), [(60_000, True), (3, False)])
def test_equal_columns_are_counted_for_every_pair(codes: int, sparse: bool) -> None:
    rng = np.random.default_rng(0)
    table = rng.integers(codes, size=(300, 40)).astype(np.uint16)
    table[17], table[200, :25], table[299, 5] = table[3], table[3, :25], table[3, 5]
    columns = EqualColumns.of(table)
    assert (columns.pairs is not None) == sparse
    counts = (table[:, np.newaxis] == table).sum(axis=2)
    for least, start, stop in ((1, 0, 300), (1, 3, 18), (20, 0, 256), (20, 256, 300)):
        expected = np.argwhere(np.triu(counts >= least, k=1))
        expected = expected[(expected[:, 0] >= start) & (expected[:, 0] < stop)]
        pairs = np.stack(columns.at_least(least, start, stop), axis=1)
        np.testing.assert_array_equal(pairs, expected)


@pytest.mark.parametrize(("n_changed", "is_near"), [(10, True), (11, False)])
def test_one_percent_of_the_labels_may_differ(n_changed: int, is_near: bool) -> None:
    labels = np.tile(np.arange(1_000) % 2, (2, 1))
    labels[1, :n_changed] = 2
    assert [pair.differing for pair in found(labels, PredictionKind.LABEL)] == [0.01] * is_near


@pytest.mark.parametrize(
    ("n", "n_equal", "is_near"),
    [(1_000, 250, True), (1_000, 249, False), (40, 20, True), (40, 19, False)],
)
def test_a_quarter_of_the_numbers_and_at_least_20_are_those_of_a_copy(
    n: int, n_equal: int, is_near: bool
) -> None:
    values = np.random.default_rng(1).normal(size=(2, n))
    values[1, :n_equal] = values[0, :n_equal]
    shares = [pair.differing for pair in found(values, PredictionKind.VALUE)]
    assert shares == [1 - n_equal / n] * is_near


@pytest.mark.parametrize(
    ("n_teams", "n_changed", "is_near"), [(5, 6, True), (5, 7, False), (4, 7, False), (3, 7, True)]
)
def test_copies_are_four_times_closer_than_is_usual(
    n_teams: int, n_changed: int, is_near: bool
) -> None:
    """Teams differ in 20 labels of 1,000, and a copy of the first in 6 or 7 from it.

    From the other teams the copy differs in 26 or 27 labels: the 90th percentile over the pairs.
    The six pairs of three teams and the copy are too few: then 10 labels may differ.
    """
    labels = np.tile(np.arange(1_000) % 2, (n_teams + 1, 1))
    for team in range(n_teams):
        labels[team, 10 * team : 10 * team + 10] = 2
    labels[n_teams] = labels[0]
    labels[n_teams, 900 : 900 + n_changed] = 2
    pairs = [pair.submissions for pair in found(labels, PredictionKind.LABEL)]
    assert pairs == [(1, n_teams + 1)] * is_near


@pytest.mark.parametrize(("n_cells", "shares"), [(4, [0.5, 0.9, 1.0]), (8, [0.34657, 1.15129, 1])])
def test_groups_of_two_cells_hide_some_that_differ(n_cells: int, shares: list[float]) -> None:
    """With two cells in each group, the share of cells is half of -log(1 - share of groups)."""
    content = ComparedContent(
        np.arange(1), np.zeros((1, 4), dtype=np.uint16), n_cells=n_cells, drawn=None,
        codes=np.zeros((0, 0), dtype=np.uint16), repeated=np.zeros(0),
    )  # fmt: skip
    assert content.from_hashes(np.array([0.5, 0.9, 0.905])) == pytest.approx(shares, abs=1e-5)


def test_numbers_within_half_a_step_of_noise_have_one_rank() -> None:
    """The interquartile range is 2, and values are rounded to a hundred-thousandth of it."""
    rows = np.array([[0, 1, 2.000009, 3, 4], [0, 1, 2.000011, 3, 4]])
    np.testing.assert_allclose(round_nearly_tied(rows)[:, 2], [2, 2.00002], rtol=1e-9)
