"""What the objects of the interfaces compute and refuse, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from arena.interfaces.analyses import GroupInfluence, RankSets
from arena.interfaces.floors import FloorEstimate
from arena.interfaces.mechanisms import Evaluation
from arena.interfaces.metrics import MetricOfSums, PointwiseMetric
from arena.interfaces.modalities import TABLE
from arena.interfaces.papers import Reproduction, rounded, within
from arena.interfaces.sandboxes import Box
from arena.types import FloatArray, RawTable
from run_mechanism import evaluation


class Product(MetricOfSums):
    """The cube of the sum of the predictions, times the sum of the truth."""

    def case_statistics(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        return np.stack([predictions, np.broadcast_to(truth, predictions.shape)], axis=-1)

    def combine(self, sums: FloatArray) -> FloatArray:
        return np.asarray(sums[..., 0] ** 3 * sums[..., 1])


class SquaredError(PointwiseMetric):
    """The root of the mean of the squared errors."""

    def row_values(self, truth: npt.NDArray[Any], predictions: npt.NDArray[Any]) -> FloatArray:
        return np.asarray((predictions - truth) ** 2, dtype=np.float64)

    def from_mean(self, mean: FloatArray) -> FloatArray:
        return np.sqrt(mean)


TRUTH = np.array([1.0, 2.0, 3.0])
PREDICTIONS = np.array([[2.0, 0.0, 4.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])


def test_a_metric_of_sums_scores_under_weights() -> None:
    metric = Product()
    assert metric.score(TRUTH, PREDICTIONS[0]) == 6**3 * 6
    assert metric.score(TRUTH, PREDICTIONS[0], np.array([1, 0, 2])) == 10**3 * 7
    weights = np.array([[1, 1, 0], [1, 0, 0], [1, 2, 0]])
    # Sums of predictions 6, 10 and of truth 6, 7; of the second 3, 3 and 6, 7.
    expected = [[1296.0, 7000.0, np.nan], [162.0, 189.0, np.nan], [0.0, 0.0, np.nan]]
    np.testing.assert_array_equal(metric.resample(TRUTH, PREDICTIONS, weights), expected)


def test_influence_values_are_derivatives() -> None:
    # Sums (6, 6): the derivatives are 3 * 36 * 6 = 648 and 216; cases differ from their means by
    # (0, -2, 2) and (-1, 0, 1): 3 * (648 * (0, -2, 2) + 216 * (-1, 0, 1)).
    # Sums (3, 6): 27 for the truth, and predictions that do not differ: 3 * 27 * (-1, 0, 1).
    expected = [[-648.0, -3888.0, 4536.0], [-81.0, 0.0, 81.0], [0.0, 0.0, 0.0]]
    values = Product().influence_values(TRUTH, PREDICTIONS)
    np.testing.assert_allclose(values, expected, rtol=1e-6)


@pytest.mark.parametrize("metric", [Product(), SquaredError()])
def test_without_rows_that_count_a_score_is_not_defined(metric: Any) -> None:
    nothing = np.array([])
    for scored in (
        metric.score(nothing, nothing),
        metric.score(nothing, nothing, nothing),
        metric.score(TRUTH, PREDICTIONS[0], np.zeros(3)),
    ):
        assert np.isnan(scored)


def test_a_pointwise_score_is_a_function_of_the_weighted_mean() -> None:
    # Squared errors 1, 4 and 1.
    assert SquaredError().score(TRUTH, PREDICTIONS[0]) == np.sqrt(2.0)
    assert SquaredError().score(TRUTH, PREDICTIONS[0], np.array([1, 3, 0])) == np.sqrt(13 / 4)


def test_a_table_has_the_rows_of_its_columns() -> None:
    assert RawTable((), (), int).n_rows == 0
    assert RawTable(("y",), ([1, 2],), int).n_rows == 2


def test_a_score_beats_another_by_more_than_rounding() -> None:
    better, worse = (evaluation(1, 0.5, greater_is_better=up) for up in (True, False))
    assert [better.beats(other) for other in (0.4, 0.5, 0.6)] == [True, False, False]
    assert [worse.beats(other) for other in (0.4, 0.5, 0.6)] == [False, False, True]
    assert [better.beats(0.25, by=by) for by in (0.2, 0.25, 0.3)] == [True, False, False]
    sums = evaluation(1, 0.1 + 0.2, greater_is_better=True)
    assert not sums.beats(0.3)  # larger by the rounding of a sum
    # The tolerance is 1e-11 times (0.5 + 0.5), and a gain above it counts.
    assert [better.beats(0.5 - gain) for gain in (0.9e-11, 1.1e-11)] == [False, True]
    assert better.beats(0.25, by=0.25 - 2e-11)
    assert not evaluation(1, 0.0, greater_is_better=True).beats(0.0)


def test_a_score_is_limited_on_its_better_side() -> None:
    up, down = (evaluation(1, 0.5, greater_is_better=up) for up in (True, False))
    assert [up.at_most(bound).score for bound in (None, 0.4, 0.6)] == [0.5, 0.4, 0.5]
    assert [down.at_most(bound).score for bound in (None, 0.4, 0.6)] == [0.5, 0.5, 0.6]


def test_a_range_is_that_of_scores_or_rows_or_one() -> None:
    scores, rows = (-1.0, 3.0), (0.0, 7.0)
    of: list[Evaluation] = [
        evaluation(1, 0.5, score_range=of_scores, row_range=of_rows)
        for of_scores, of_rows in ((scores, rows), (None, rows), (None, None))
    ]
    assert [item.range_width for item in of] == [4.0, 7.0, 1.0]
    assert [of[0].within_range(score) for score in (-2.0, 0.5, 4.0)] == [-1.0, 0.5, 3.0]
    assert [of[2].within_range(score) for score in (-9e9, 9e9)] == [-9e9, 9e9]


ESTIMATE: dict[str, Any] = {
    "estimate": 0.1, "interval": (0.0, 0.2), "level": 0.95, "n": 1, "assumptions": (),
}  # fmt: skip
NO_FLOORS: dict[str, dict[str, Any]] = {
    "The estimate must be from 0 to 1, not -0.1.": {"estimate": -0.1},
    "The estimate must be from 0 to 1, not 1.1.": {"estimate": 1.1},
    "The interval must ascend from 0 to 1, not -0.1 to 0.2.": {"interval": (-0.1, 0.2)},
    "The interval must ascend from 0 to 1, not 0.3 to 0.2.": {"interval": (0.3, 0.2)},
    "The interval must ascend from 0 to 1, not 0.3 to 1.1.": {"interval": (0.3, 1.1)},
}


@pytest.mark.parametrize("sentence", NO_FLOORS)
def test_a_floor_is_an_error_rate(sentence: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole sentence is compared
        FloorEstimate(**{**ESTIMATE, **NO_FLOORS[sentence]})
    assert str(refused.value) == sentence


def test_a_floor_may_be_at_the_ends_and_has_a_level_and_rows() -> None:
    for changes in (
        {"estimate": 0.0}, {"estimate": 1.0}, {"interval": (0.0, 1.0)}, {"interval": (0.5, 0.5)},
        {"level": 0.001}, {"level": 0.999},
    ):  # fmt: skip
        FloorEstimate(**{**ESTIMATE, **changes})
    for changes in ({"level": 0.0}, {"level": 1.0}, {"level": -1.0}, {"level": 1.5}, {"n": 0}):
        with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole sentence is compared
            FloorEstimate(**{**ESTIMATE, **changes})
        assert str(refused.value) == "The level must be between 0 and 1, and n at least 1."


def test_published_numbers_are_compared_as_printed_or_within_reach() -> None:
    printed = [rounded("Table 1", "mean", 0.5, computed, 1).agrees for computed in (0.54, 0.56)]
    assert printed == [True, False]
    differing = [within("Figure 1", "loss", 0.5, 0.5 + by, 0.25) for by in (-0.25, 0.25, 0.375)]
    assert [item.agrees for item in differing] == [True, True, False]
    assert differing[0].note == "they may differ by 0.25: both are simulated"
    noted = within("Figure 1", "loss", 0.5, 0.5, 0.25, "exact")
    assert noted.note == "exact"
    assert Reproduction((noted,), (), ("Table 2",)).to_dict() == {
        "figures": [
            {
                **{"where": "Figure 1", "quantity": "loss", "published": 0.5, "computed": 0.5},
                **{"agrees": True, "note": "exact"},
            }
        ],
        "charts": [],
        "missing": ["Table 2"],
    }


def test_the_limits_of_a_trial_differ_in_its_time() -> None:
    limits = {
        "trial_seconds": 5, "seconds": 60, "memory_mb": "64", "disk_mb": 8, "cores": 2,
        "processes": 10, "gpus": 1,
    }  # fmt: skip
    box = Box.of(limits, trial=False, output_bytes=7)
    assert box == Box(
        **{"seconds": 60.0, "memory_mb": 64, "disk_mb": 8, "cores": 2.0, "processes": 10},
        output_bytes=7,
        gpus=1,
    )
    assert Box.of(limits, trial=True, output_bytes=7).seconds == 5.0


def test_withheld_sets_have_no_columns() -> None:
    sets = {
        **{"low": np.array([1, 1]), "high": np.array([1, 2]), "tier": np.array([1, 2])},
        **{"possible_winner": np.array([True, False]), "level": 0.95},
    }
    columns = {
        **{"rank_low": [1, 1], "rank_high": [1, 2], "tier": [1, 2]},
        "possible_winner": [True, False],
    }
    assert RankSets(**sets).columns() == columns
    withheld = RankSets(**sets, not_offered="Few rows.").columns()
    assert withheld == {key: [None, None] for key in columns}


def test_influence_of_groups_is_that_of_chosen_submissions() -> None:
    influence = GroupInfluence(np.array([0, 1, 1]), np.array([[0.2, -0.1], [0.4, -0.2]]))
    assert influence.subset(np.array([1])).sums.tolist() == [[0.4, -0.4]]


def test_a_plain_table_has_numbers_or_empty_cells_in_its_sample() -> None:
    samples = [TABLE.sample_cell("y", truth) for truth in (["1", "2.5"], ["1", "a"], [])]
    assert samples == ["0", "", ""]
    assert TABLE.sent_columns(["y"]) == ()
    assert TABLE.seconds(10, None) == 0.0
