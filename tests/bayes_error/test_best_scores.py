"""The floor check, the floors of other metrics, and the bounds by neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from arena.errors import InputError, UsageError
from arena_bayes_error.best_scores import METRIC_FLOORS, best_score, error_against_soft_labels
from arena_bayes_error.estimators import row_floor
from arena_bayes_error.floor_check import check_against_floor, check_labels, errors_distribution
from arena_bayes_error.gaussian_setups import SETUPS
from arena_bayes_error.neighbours import cover_hart
from arena_bayes_error.study import metric_floor
from floor_study import study_of
from thinned import examples

FLOORS = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 0.5))


@settings(max_examples=examples(50))
@given(FLOORS)
def test_errors_are_poisson_binomial(floors):
    distribution = errors_distribution(floors)
    expected = stats.poisson_binom(floors).pmf(np.arange(len(floors) + 1))
    assert distribution == pytest.approx(expected[: len(distribution)], abs=1e-12)
    assert expected[len(distribution) :].sum() == pytest.approx(0, abs=1e-12)


@pytest.mark.slow
def test_the_best_predictor_is_rarely_flagged():
    rng = np.random.default_rng(0)
    r, _ = SETUPS["A"].draw(400, rng)
    floors = np.minimum(r, 1 - r)
    errors = (rng.random((20_000, 400)) < floors).sum(axis=1)
    single = check_against_floor(errors, floors).p_values <= 0.05
    assert single.mean() <= 0.05 + 4 * (0.05 * 0.95 / 20_000) ** 0.5
    assert single.mean() > 0.01  # it is not idle


@pytest.mark.parametrize("clusters", [None, [0, 0, 1, 1, 2]])
def test_more_errors_than_rows_that_can_go_wrong_are_not_implausible(clusters):
    floors = np.array([0.0, 0.3, 0.0, 0.5, 0.0])
    floor_check = check_against_floor([5, 3, 2], floors, clusters=clusters)
    assert floor_check.p_values == pytest.approx([1.0, 1.0, 1.0])
    assert (floor_check.p_values <= 1).all()
    assert not floor_check.flagged.any()


def test_false_alarms_of_a_whole_board():
    rng = np.random.default_rng(1)
    floors = rng.beta(0.3, 2.0, 300) / 2
    boards = (rng.random((1_000, 8, 300)) < floors).sum(axis=2)
    p_values = check_against_floor(boards.ravel(), floors).p_values.reshape(1_000, 8)
    alarms = p_values.min(axis=1) * 8 <= 0.05  # whether Holm's first step flags anybody
    for errors, alarm in zip(boards[:5], alarms[:5], strict=True):
        assert check_against_floor(errors, floors).flagged.any() == alarm
    assert np.mean(alarms) <= 0.05 + 4 * (0.05 * 0.95 / 1_000) ** 0.5


def test_false_alarms_where_the_labels_of_a_group_agree():
    """The same chance decides all labels of a group: rows alone would accuse the innocent."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(60), 5)
    floors = np.repeat(rng.beta(0.5, 1, 60) / 2, 5) * rng.uniform(0.6, 1, 300)
    errors = (rng.random((4_000, 60))[:, codes] < floors).sum(axis=1)
    as_rows = check_against_floor(errors, floors).p_values <= 0.05
    as_groups = check_against_floor(errors, floors, clusters=codes).p_values <= 0.05
    assert as_rows.mean() > 0.15
    assert 0 < as_groups.mean() <= 0.05


@settings(max_examples=examples(6))
@given(FLOORS, st.integers(0, 2**32 - 1))
@pytest.mark.slow
def test_the_bound_for_groups_is_none_below_the_probability(floors, seed):
    """Neither for independent errors, nor for those of groups that err together."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 5, len(floors))
    if len(np.unique(codes)) < 2:
        return
    counts = np.arange(len(floors) + 1)
    bound = check_against_floor(counts, floors, clusters=codes).p_values
    assert (bound >= check_against_floor(counts, floors).p_values - 1e-9).all()
    together = [np.sort(floors[codes == code]) for code in np.unique(codes)]
    sums = np.ones(1)
    for own in together:  # P(S_g = j): between the j-th and the next largest probability
        reached = np.concatenate([[1.0], own[::-1], [0.0]])
        sums = np.convolve(sums, -np.diff(reached))
    assert (bound >= np.cumsum(sums) - 1e-9).all()


@pytest.mark.parametrize("n", [100, 300, 1_000])
def test_no_probability_is_above_one(n):
    """Rounded, the probabilities of all numbers of errors can sum to more."""
    floor_check = check_against_floor(np.arange(n + 1), np.full(n, 0.2))
    assert floor_check.p_values.max() <= 1
    assert floor_check.p_values[-1] == pytest.approx(1.0)
    assert (np.diff(floor_check.p_values) >= 0).all()


def test_a_probability_of_exactly_alpha_is_flagged():
    floor_check = check_against_floor([0], np.array([0.5]), alpha=0.5)
    assert floor_check.p_values.tolist() == [0.5]
    assert floor_check.flagged.tolist() == [True]


def test_who_knows_the_labels_is_flagged():
    floors = np.full(500, 0.1)
    floor_check = check_against_floor([0, 30, 50, 500], floors)
    assert floor_check.flagged.tolist() == [True, True, False, False]
    assert floor_check.adjusted[0] <= floor_check.adjusted[1]
    assert not check_against_floor([0], np.zeros(10)).flagged.any()
    assert floor_check.to_frame().shape == (4, 4)
    for alpha in (0.0, 1.0):
        with pytest.raises(UsageError, match="alpha"):
            check_against_floor([0], floors, alpha)
    with pytest.raises(UsageError, match="Errors must be"):
        check_against_floor([501], floors)


def test_more_errors_than_uncertain_rows_are_possible():
    """A submission may err on rows whose label is certain; the best predictor never does."""
    floors = np.array([0.5, 0.5, 0.0, 0.0, 0.0])
    floor_check = check_against_floor([0, 1, 2, 3, 5], floors)
    assert floor_check.p_values == pytest.approx([0.25, 0.75, 1, 1, 1])
    assert check_against_floor([4], np.zeros(5)).p_values.tolist() == [1.0]


def test_no_number_of_errors_is_negative_and_there_may_be_none():
    with pytest.raises(UsageError, match="Errors must be from 0 to the 3 rows"):
        check_against_floor([2, -1], np.full(3, 0.1))
    nothing = check_against_floor([], np.full(3, 0.1))
    assert (nothing.errors.size, nothing.adjusted.size, nothing.flagged.size) == (0, 0, 0)


def test_a_label_at_even_odds_is_the_likelier_one_if_positive():
    label_check = check_labels(np.array([1, 1, 1, 0]), np.array([0.5, 0.5, 0.4, 0.6]))
    assert (label_check.differing, label_check.expected) == (2, pytest.approx(1.8))


def test_the_bound_for_groups_is_chernoffs_best():
    """Over all t, as a search finds it, for rows of a group that err together."""
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(0)
    floors, codes = rng.uniform(0, 0.5, 60), rng.integers(0, 20, 60)
    codes = np.unique(codes, return_inverse=True)[1]
    groups = [np.sort(floors[codes == code])[::-1] for code in range(codes.max() + 1)]

    def exponent(t, count):
        moments = [
            1 - (1 - np.exp(-t)) * (own @ np.exp(-t * np.arange(len(own)))) for own in groups
        ]
        return t * count + np.log(moments).sum()

    for count in (0, 3, 8, 12, 14):
        (bound,) = check_against_floor([count], floors, clusters=codes).p_values
        best = minimize_scalar(
            lambda log_t, count=count: exponent(np.exp(log_t), count), bounds=(-9, 3.4),
            method="bounded",
        ).fun  # fmt: skip
        assert np.log(bound) == pytest.approx(best, abs=0.01)


def test_probabilities_of_groups_are_at_most_1():
    floors = np.array([0.3, 0.2, 0.0, 0.4, 0.1])
    floor_check = check_against_floor(np.arange(6), floors, clusters=[0, 0, 1, 1, 2])
    assert (floor_check.p_values <= 1).all()
    assert floor_check.p_values[-1] == 1
    assert (np.diff(floor_check.p_values) >= 0).all()
    assert (floor_check.adjusted <= 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 4])
def test_labels_that_were_drawn_fit_their_soft_labels(n_classes):
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.5] * n_classes, 300)
    soft = shares[:, 1].copy() if n_classes == 2 else shares
    labels_of_draws = (rng.random((400, 300, 1)) > shares.cumsum(axis=1)).sum(axis=2)
    checks = [check_labels(truth, soft) for truth in labels_of_draws]
    for name in ("p_so_few", "p_so_many"):
        values = np.array([getattr(check, name) for check in checks])
        assert 0.01 < (values <= 0.05).mean() <= 0.05 + 4 * (0.05 * 0.95 / 400) ** 0.5
    mean = np.mean([check.differing for check in checks])
    assert mean == pytest.approx(checks[0].expected, rel=0.02)
    assert check_labels(shares.argmax(axis=1), soft).p_so_few < 1e-9
    assert check_labels(shares.argmin(axis=1), soft).p_so_many < 1e-9
    codes = np.arange(300) // 2
    assert check_labels(shares.argmin(axis=1), soft, codes).p_so_many < 1e-9
    assert all(
        check_labels(labels, soft, codes).p_so_many > 0.05 for labels in labels_of_draws[:10]
    )


def test_error_against_soft_labels_is_never_below_the_floor():
    rng = np.random.default_rng(0)
    for soft, n_classes in ((rng.random(200), 2), (rng.dirichlet([0.5] * 4, 200), 4)):
        predicted = rng.integers(0, n_classes, 200)
        errors = error_against_soft_labels(predicted, soft)
        assert (errors >= row_floor(soft) - 1e-12).all()
        both = np.column_stack([1 - soft, soft]) if soft.ndim == 1 else soft
        counts = np.array([rng.multinomial(400, p) for p in both])
        sampled = 1 - counts[np.arange(200), predicted].sum() / (400 * 200)
        assert errors.mean() == pytest.approx(sampled, abs=0.01)


@pytest.mark.slow
def test_floors_of_metrics_are_what_the_soft_label_itself_reaches():
    rng = np.random.default_rng(0)
    c = rng.beta(0.5, 0.5, 300)
    labels = (rng.random((600, 300)) < c).astype(int)
    from sklearn import metrics

    reached = {
        "accuracy": [metrics.accuracy_score(y, c > 0.5) for y in labels],
        "log_loss": [metrics.log_loss(y, c, labels=[0, 1]) for y in labels],
        "brier": [metrics.brier_score_loss(y, c) for y in labels],
        "roc_auc": [metrics.roc_auc_score(y, c) for y in labels],
        "average_precision": [metrics.average_precision_score(y, c) for y in labels],
    }
    assert set(reached) == set(METRIC_FLOORS)
    for name, values in reached.items():
        bias = 0.003 if name in {"roc_auc", "average_precision"} else 0
        assert best_score(name, c).value == pytest.approx(
            np.mean(values), abs=4 * stats.sem(values) + bias
        )
        several = np.column_stack([1 - c, c])
        assert best_score(name, several).value == pytest.approx(best_score(name, c).value)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "metric", ["accuracy", "log_loss", "log_loss(clip=0.2)", "brier", "roc_auc",
               "average_precision"],
)  # fmt: skip
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_floor_of_a_board_is_what_its_own_metric_gives_the_soft_labels(metric, n_classes):
    """On average over labels that are drawn with them, and no other prediction does better."""
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([0.5] * n_classes, 200)
    soft = shares[:, 1].copy() if n_classes == 2 else shares
    study = study_of(metric, soft)
    floor = metric_floor(study)
    if n_classes == 3 and metric in {"roc_auc", "average_precision"}:
        assert floor is None
        return
    labels = (rng.random((150, 200, 1)) > shares.cumsum(axis=1)).sum(axis=2)
    is_accuracy = study.metric.name == "accuracy"
    best = shares.argmax(axis=1) if is_accuracy else soft
    other = (
        (best + (rng.random(200) < 0.1)) % n_classes if is_accuracy else (soft + 1 / n_classes) / 2
    )
    reached, worse = (
        np.array([study.metric.score(drawn_labels, predictions) for drawn_labels in labels])
        for predictions in (best, other)
    )
    assert floor.value == pytest.approx(reached.mean(), abs=4 * stats.sem(reached) + 0.004)
    gap = (reached - worse).mean() * (1 if study.metric.greater_is_better else -1)
    assert gap > -1e-9  # rankings stay as they were
    if metric in {"log_loss", "brier"}:
        assert floor.value == pytest.approx(best_score(metric, soft).value)
        assert floor.standard_error == pytest.approx(best_score(metric, soft).standard_error)


def test_metrics_of_which_no_floor_is_known():
    soft = np.array([0.2, 0.7, 0.4])
    assert metric_floor(study_of("f1", soft)) is None
    assert metric_floor(study_of("roc_auc", np.zeros(3))) is None
    grouped = study_of("brier", soft, clusters=np.array([0, 1, 0]))
    alone = metric_floor(study_of("brier", soft))
    assert metric_floor(grouped).value == alone.value
    assert metric_floor(grouped).standard_error != alone.standard_error
    both = np.column_stack([1 - soft, soft])  # a column for each of the two classes
    assert metric_floor(study_of("brier", both)) == alone


def test_brier_of_shares_is_corrected_for_few_labels():
    rng = np.random.default_rng(0)
    c = rng.random(50_000)
    shares = rng.binomial(5, c) / 5
    expected = (c * (1 - c)).mean()
    assert best_score("brier", shares).value < expected - 0.02
    assert best_score("brier", shares, 5).value == pytest.approx(expected, abs=0.002)
    with pytest.raises(UsageError, match="at least two labels"):
        best_score("brier", shares, 1)


def test_metrics_without_a_known_floor_are_refused():
    with pytest.raises(UsageError, match="not f1"):
        best_score("f1", [0.5, 0.5])
    with pytest.raises(UsageError, match="two classes only"):
        best_score("roc_auc", np.full((5, 4), 0.25))
    with pytest.raises(InputError, match="Row 2"):
        best_score("accuracy", [0.5, 2])


@pytest.mark.parametrize("neighbours", [1, 5])
def test_cover_hart_encloses_the_truth(neighbours):
    rng = np.random.default_rng(0)
    y = rng.random(3_000) < 0.5
    x = rng.normal(y * 2.0, 1.0)[:, None]
    cover_hart_bounds = cover_hart(x, y, neighbours=neighbours)
    assert cover_hart_bounds.lower_end < stats.norm.cdf(-1) < cover_hart_bounds.upper_end
    assert cover_hart_bounds.upper - cover_hart_bounds.lower < 0.15


def test_no_bound_exceeds_the_error_of_a_guess():
    cover_hart_bounds = cover_hart(
        np.arange(10.0)[:, None], np.arange(10) % 2
    )  # each has other neighbours
    assert (
        cover_hart_bounds.error,
        cover_hart_bounds.upper,
        cover_hart_bounds.upper_end,
        cover_hart_bounds.lower,
    ) == (1, 0.5, 0.5, 0.5)
    unit = np.column_stack(
        [np.repeat([0.0, 1.0], 50), 1_000 * np.random.default_rng(0).random(100)]
    )
    labels = np.repeat([0, 1], 50)
    assert (
        cover_hart(unit, labels).error < 0.05 < cover_hart(unit, labels, standardised=False).error
    )


def test_rows_with_the_features_of_another_one_are_counted():
    """Two rows at 0 and three at 5 are copies; those at 1 and at 9 are not."""
    x = np.array([0.0, 5.0, 0.0, 1.0, 5.0, 9.0, 5.0])[:, None]
    assert cover_hart(x, [0, 1, 0, 1, 0, 1, 1]).copies == 5
    assert cover_hart(x[[0, 1, 3, 5]], [0, 1, 0, 1]).copies == 0


def test_neighbours_that_cannot_be():
    x, y = np.arange(10.0)[:, None], np.arange(10) % 2
    with pytest.raises(InputError, match="only one class"):
        cover_hart(x, np.zeros(10))
    with pytest.raises(InputError, match="not a finite number"):
        cover_hart(x * np.nan, y)
    for settings_, message in (
        ({"neighbours": 2}, "odd number"),
        ({"neighbours": 10}, "from 1 to 9"),
        ({"level": 2.0}, "level must be between"),
    ):
        with pytest.raises(UsageError, match=message):
            cover_hart(x, y, **settings_)
    with pytest.raises(UsageError, match="same n"):
        cover_hart(x, y[:5])
