"""The estimators against their definitions, their published figures, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.linear_model import LogisticRegression

from arena.errors import InputError, UsageError
from arena.evaluation.statistic_errors import errors_from_standard_errors
from arena.types import PredictionKind
from arena_bayes_error import annotators, dirichlet, gaussian_setups
from arena_bayes_error.annotators import (
    bias_bound,
    from_counts,
    from_several_hard_labels,
    shares_of,
)
from arena_bayes_error.charts import chart
from arena_bayes_error.dirichlet import dirichlet_fit, expected_bias
from arena_bayes_error.estimators import (
    from_hard_labels,
    from_noisy_soft_labels,
    from_soft_labels,
    from_uncertainty_labels,
    row_floor,
)
from arena_bayes_error.functions import bayes_error
from arena_bayes_error.gaussian_setups import SETUPS, noisy_labels
from arena_bayes_error.platt import fit_platt, from_scores
from arena_bayes_error.positive_confidence import from_positive_confidence
from arena_bayes_error.study import predicted_classes
from bayes_simulation import UNBIASED, draws, truth
from refusals import refusal_of
from thinned import examples

PROBABILITIES = arrays(np.float64, st.integers(2, 60), elements=st.floats(0, 1))
HYPOTHESIS = settings(max_examples=examples(50))
DATA = Path(__file__).parents[3] / "shared" / "data" / "soft-labels"
needs_data = pytest.mark.skipif(not DATA.exists(), reason="the real annotations are not here")


@HYPOTHESIS
@given(PROBABILITIES, st.floats(0.5, 0.999), st.floats(0.001, 0.5))
def test_soft_labels_are_the_plain_mean_with_t_interval_and_hoeffding(c, level, delta):
    estimate = from_soft_labels(c, level=level, delta=delta, resamples=2)
    loss = np.minimum(c, 1 - c)
    assert estimate.estimate == pytest.approx(loss.mean(), abs=1e-12)
    assert estimate.standard_error == pytest.approx(loss.std(ddof=1) / len(c) ** 0.5, abs=1e-12)
    half = stats.t.ppf((1 + level) / 2, len(c) - 1) * estimate.standard_error
    expected = (max(loss.mean() - half, 0), min(loss.mean() + half, 1))
    assert estimate.interval == pytest.approx(expected, abs=1e-9)
    assert estimate.bound == pytest.approx(np.sqrt(np.log(2 / delta) / (8 * len(c))))
    assert estimate.bias_bound == (0, 0)
    assert estimate.n == len(c)


@pytest.mark.slow
@HYPOTHESIS
@given(PROBABILITIES)
def test_equivalent_inputs_agree(c):
    plain = from_soft_labels(c, resamples=2).estimate
    for other in (
        from_soft_labels(1 - c, resamples=2),
        from_soft_labels(np.column_stack([1 - c, c]), resamples=2),
        from_uncertainty_labels(np.minimum(c, 1 - c), resamples=2),
        from_noisy_soft_labels(c, c > 0.5, resamples=2),
        from_noisy_soft_labels(c, np.where(c > 0.5, 1, -1), resamples=2),
    ):
        assert other.estimate == pytest.approx(plain, abs=1e-12)


@HYPOTHESIS
@given(PROBABILITIES, st.floats(0.01, 0.99))
def test_positive_confidence_is_equation_8(r, prior):
    estimate = from_positive_confidence(r, prior, resamples=2)
    with np.errstate(divide="ignore", over="ignore"):
        expected = prior * (1 - np.maximum(0, 2 - 1 / r).mean())
    assert estimate.estimate == pytest.approx(expected, abs=1e-12)
    assert estimate.bound == pytest.approx(prior * np.sqrt(np.log(2 / 0.05) / (2 * len(r))))


@pytest.mark.slow
def test_blocks_do_not_change_a_long_mean():
    c = np.random.default_rng(0).beta(0.2, 1.0, 100_003)
    estimate = from_soft_labels(c)
    loss = np.minimum(c, 1 - c)
    assert estimate.estimate == pytest.approx(loss.mean(), rel=1e-12)
    assert estimate.standard_error == pytest.approx(stats.sem(loss), rel=1e-10)
    assert estimate.bootstrap_interval == pytest.approx(estimate.interval, abs=1.6e-4)
    assert from_soft_labels(c.astype(np.float32)).estimate == pytest.approx(
        estimate.estimate, abs=1e-7
    )


@pytest.mark.slow
def test_bootstrap_is_that_of_the_rows():
    c = np.random.default_rng(1).random(200)
    loss = np.minimum(c, 1 - c)
    rng = np.random.default_rng(2)
    expected = np.quantile(rng.choice(loss, (20_000, 200)).mean(axis=1), [0.025, 0.975])
    estimate = from_soft_labels(c, resamples=20_000, rng=np.random.default_rng(3))
    assert estimate.bootstrap_interval == pytest.approx(tuple(expected), abs=1.2e-3)


@pytest.mark.parametrize("kind", UNBIASED)
@pytest.mark.parametrize("setup", ["A", "B", "C", "D"])
@pytest.mark.parametrize(
    ("n", "repetitions"),
    [
        pytest.param(800, 20, marks=pytest.mark.slow),
        pytest.param(40, 2_000, marks=pytest.mark.campaign),
    ],
)
def test_unbiased(setup, kind, n, repetitions):
    values = np.array(
        [estimate.estimate for estimate in draws(setup, kind, n, repetitions, seed=11)]
    )
    z = (values.mean() - truth(setup)) / stats.sem(values)
    assert abs(z) < 4


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, *(pytest.param(m, marks=pytest.mark.slow) for m in (10, 50))])
@pytest.mark.parametrize("boards", [5, pytest.param(40, marks=pytest.mark.campaign)])
def test_proportions_of_hard_labels_are_too_low_within_the_bound(m, boards):
    rng = np.random.default_rng(m)
    errors, corrected = [], []
    for _ in range(boards):
        r, _ = SETUPS["B"].draw(1_000, rng)
        labels = rng.random((1_000, m)) < r[:, None]
        estimate = from_several_hard_labels(labels.astype(float), resamples=2, rng=rng)
        floor = np.minimum(r, 1 - r).mean()
        errors.append(estimate.estimate - floor)
        corrected.append(estimate.corrected - floor)
        assert estimate.bias_bound == pytest.approx((-0.5 / m**0.5, 0))
    assert np.mean(errors) + 4 * stats.sem(errors) < 0
    assert np.mean(errors) > -0.5 / m**0.5
    assert abs(np.mean(corrected)) < 0.7 * abs(np.mean(errors))


@pytest.mark.slow
def test_bias_bound_of_several_classes_holds_where_it_is_worst():
    rng = np.random.default_rng(4)
    for n_classes in (2, 3, 10):
        counts = rng.multinomial(7, np.full(n_classes, 1 / n_classes), 20_000)
        bias = from_counts(counts, resamples=2).estimate - (1 - 1 / n_classes)
        assert bias_bound(counts.sum(axis=1), n_classes)[0] < bias < 0


def test_correction_knows_when_nothing_can_be_known():
    rng = np.random.default_rng(0)
    assert expected_bias(np.array([[5.0, 0.0], [3.0, 0.0]]), rng) is None
    assert from_counts([[5, 0], [3, 0]], resamples=2).corrected is None


def test_the_bias_of_two_classes_is_that_of_drawn_rows():
    rng = np.random.default_rng(1)
    counts = rng.multinomial(6, rng.dirichlet([0.4, 1.3], 3_000)).astype(float)
    counts[:, 0] += rng.integers(0, 3, 3_000)
    totals = counts.sum(axis=1).astype(int)
    a, b = dirichlet_fit(counts)
    p, m = rng.beta(b, a, 400_000), rng.choice(totals, 400_000)
    u = rng.binomial(m, p) / m
    differences = np.minimum(u, 1 - u) - np.minimum(p, 1 - p)
    assert expected_bias(counts, rng) == pytest.approx(
        differences.mean(), abs=4 * stats.sem(differences)
    )
    assert expected_bias(counts, rng) == expected_bias(counts, rng)


def test_soft_labels_that_are_all_certain_are_told():
    assert "Every soft label is 0 or 1" in from_soft_labels([0, 1, 1]).assumptions[-1]
    assert "Every soft label" not in from_soft_labels([0, 1, 0.5]).assumptions[-1]


@pytest.mark.slow
def test_counts_by_class_and_by_group():
    counts = np.array([[2, 1, 1], [0, 0, 4], [1, 2, 1]])
    assert from_counts(counts).estimate == pytest.approx((0.5 + 0 + 0.5) / 3)
    assert from_counts(counts, [0, 1]).estimate == pytest.approx((0.25 + 0 + 0.25) / 3)
    assert shares_of(counts, [2]).tolist() == [0.25, 1.0, 0.25]
    labels = np.array([[1, 0, np.nan], [1, 1, 1]])
    assert from_several_hard_labels(labels).estimate == 0.25


def test_hard_labels_with_signs_have_wilsons_interval():
    signs = np.ones(1000)
    labels = np.ones(1000)
    labels[:7] = 0
    estimate = from_hard_labels(labels, signs)
    assert estimate.estimate == 0.007
    wilson = stats.binomtest(7, 1000).proportion_ci(method="wilson")
    assert estimate.wilson_interval == pytest.approx((wilson.low, wilson.high))
    assert "No label differs" in from_hard_labels(signs, signs).assumptions[-1]


@pytest.mark.slow
def test_platt_scaling_reaches_the_optimum():
    rng = np.random.default_rng(0)
    scores = 50 + 7 * rng.normal(size=400)
    labels = rng.random(400) < 1 / (1 + np.exp(-(scores - 52) / 4))
    fitted, fit = from_scores(scores, labels, resamples=50)
    reference = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000, solver="newton-cholesky")
    reference.fit(scores[:, None], labels)
    assert fit.slope == pytest.approx(reference.coef_[0, 0], rel=1e-5)
    assert fit.intercept == pytest.approx(reference.intercept_[0], rel=1e-5)
    reverse, _ = from_scores(-scores, ~labels, resamples=50)
    assert reverse.estimate == pytest.approx(fitted.estimate, rel=1e-9)
    assert fitted.refit_interval[1] - fitted.refit_interval[0] > np.diff(fitted.interval)[0]
    layers = chart(fit).to_dict()["layer"]
    assert len(layers) == 2


def test_platt_scaling_is_found_where_a_step_of_newton_goes_too_far():
    """Of scores 0 two of 3 rows are positive, of 4 two of 125, of 33 none of 3.

    The chance at 33 vanishes, so the line of log odds goes through those of 2/3 and of 2/125.
    """
    scores = np.repeat([0.0, 4.0, 33.0], [3, 125, 3])
    labels = np.concatenate([[1, 1, 0], [1, 1], np.zeros(126)]) == 1
    fit = fit_platt(scores, labels)
    assert fit.intercept == pytest.approx(np.log(2), abs=1e-9)
    assert fit.slope == pytest.approx((np.log(2 / 123) - np.log(2)) / 4, abs=1e-9)
    assert fit.probabilities[[0, 3, -1]] == pytest.approx([2 / 3, 2 / 125, 0], abs=1e-9)


@pytest.mark.slow
@needs_data
def test_fashion_mnist_h():
    counts = np.loadtxt(DATA / "fmh_counts.csv", delimiter=",")
    estimate = from_counts(counts, [0, 2, 3, 4, 6])
    half = (estimate.interval[1] - estimate.interval[0]) / 2
    assert (round(100 * estimate.estimate, 3), round(100 * half, 3)) == (3.478, 0.079)


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize(
    ("positive", "estimate", "half"),
    [([2, 3, 4, 5, 6, 7], 0.502, 0.049), ([3, 4, 5, 6, 7], 1.173, None)],
)
def test_cifar_10h(positive, estimate, half):
    counts = np.load(DATA / "cifar10h_counts.npy")
    from_rows = from_counts(counts, positive)
    assert round(100 * from_rows.estimate, 3) == estimate
    if half is not None:
        assert round(50 * (from_rows.interval[1] - from_rows.interval[0]), 3) == half


@pytest.mark.slow
@needs_data
def test_iclr_2017():
    rows = np.genfromtxt(DATA / "iclr_2017.csv", delimiter=",", dtype=str, skip_header=1)
    fitted, _ = from_scores(rows[:, 1].astype(float), rows[:, 2] == "Accept", resamples=4_000)
    assert round(100 * fitted.estimate, 2) == 8.61
    assert round(50 * (fitted.interval[1] - fitted.interval[0]), 2) == 1.12
    assert 50 * (fitted.refit_interval[1] - fitted.refit_interval[0]) == pytest.approx(2.1, abs=0.1)


@pytest.mark.few(6)
@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: from_soft_labels([0.2, 1.1, np.nan]), "Rows 2 and 3: the soft label"),
        (lambda: from_soft_labels([[0.5, 0.4], [0.5, 0.5]]), "Row 1: .*do not sum to 1"),
        (lambda: from_soft_labels([[0.5, 0.5], [1.5, -0.5]]), "Row 2: .*between 0 and 1"),
        (lambda: from_uncertainty_labels([0.2, 0.6]), "Row 2: .*between 0 and 0.5.*kind soft"),
        (lambda: from_noisy_soft_labels([0.2, -0.1], [0, 1]), "Row 2"),
        (lambda: from_noisy_soft_labels([0.2, 0.1], [0.3, 1]), "two values.*kind soft or noisy"),
        (lambda: from_hard_labels([0, 2], [0, 1]), "hard labels must have two values"),
        (lambda: from_counts([[1, 0], [0, 1]]), "only one label.*sign label.*--kind hard"),
        (lambda: from_counts([[1, 1], [0, 0]]), "Row 2: the row has no labels"),
        (lambda: from_counts([[0.5, 0.5], [1, 0]]), "Row 1: .*whole number.*--kind soft"),
        (lambda: from_counts([[-1, 3], [np.nan, 1]]), "Rows 1 and 2"),
        (lambda: from_several_hard_labels([[1], [0]]), "Add sign labels"),
        (lambda: from_several_hard_labels([[1, 2], [0, 1]]), "must be 0 and 1"),
        (lambda: from_scores([1, np.inf], [0, 1]), "Row 2: the score"),
        (lambda: from_scores([1, 2, 3], [1, 1, 1]), "All labels are the same"),
        (lambda: from_scores([1, 2, 3, 4], [0, 0, 1, 1]), "separate the two labels"),
    ],
)
def test_bad_rows_are_refused_by_number(call, said):
    with pytest.raises(InputError, match=said):
        call()


def test_wrong_rows_are_counted_in_every_block():
    shares = np.full(70_000, 0.5)  # a block has 32,768 rows
    for wrong, listed in (
        ([5, 32_767, 32_768, 69_999], "Rows 6, 32768, 32769 and 70000: "),
        ([1, 2, 3, 40_000, 50_000, 60_000, 69_999], "Rows 2, 3, 4, 40001, 50001 and 2 more: "),
        ([*range(1_200), 65_536], "Rows 1, 2, 3, 4, 5 and 1,196 more: "),
    ):
        shares[:] = 0.5
        shares[wrong] = -1
        message = refusal_of(InputError, from_soft_labels, shares)
        assert message is not None
        assert message.startswith(listed)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: from_positive_confidence([0.5, 0.6], 1.0), "prior.*do not determine it"),
        (lambda: from_soft_labels([0.5]), "at least two rows"),
        (lambda: from_soft_labels([0.5, 0.5], level=1.0), "level must be between"),
        (lambda: from_soft_labels([0.5, 0.5], level=0.0), "level must be between"),
        (lambda: from_soft_labels([0.5, 0.5], delta=0.0), "delta must be between"),
        (lambda: from_soft_labels([0.5, 0.5], resamples=1), "At least 2 resamples"),
        (lambda: from_soft_labels(["a", "b"]), "must be numbers"),
        (lambda: from_soft_labels([[0.5], [0.5]]), "at least two columns"),
        (lambda: from_noisy_soft_labels([0.5, 0.5], [1]), "1 sign label for 2 rows"),
        (lambda: from_counts([[1, 1], [0, 2]], [2]), "from 0 to 1"),
        (lambda: from_counts([[1, 1], [0, 2]], [0, 2]), "from 0 to 1"),
        (lambda: from_counts([[1, 1], [0, 2]], [-1, 1]), "from 0 to 1"),
        (lambda: from_counts([[1, 1], [0, 2]], [0, 1]), "Some classes"),
    ],
)
def test_calls_that_do_not_fit_are_refused(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_a_message_holds_no_label():
    with pytest.raises(InputError) as caught:
        from_soft_labels([0.123456, 7.654321])
    assert "7.65" not in str(caught.value)
    assert "0.12" not in str(caught.value)


def test_noise_has_mean_zero_and_stays_inside():
    rng = np.random.default_rng(0)
    r = np.repeat([0.02, 0.3, 0.5, 0.9], 20_000)
    for width in (1.0, 0.4):
        noise = noisy_labels(r, rng, width=width) - r
        reach = width * np.minimum(r, 1 - r)
        assert (np.abs(noise) <= reach + 1e-12).all()
        assert (np.abs(noise.reshape(4, -1).mean(axis=1)) < 4 * reach[::20_000] / 141).all()


def test_true_errors_are_integrals_over_a_grid_or_follow_from_the_distance(monkeypatch):
    """Means one apart in each of d dimensions are sqrt(d) apart: the error is Phi(-sqrt(d) / 2)."""
    for setup, d in (("C", 10), ("D", 20)):
        assert SETUPS[setup].bayes_error == pytest.approx(stats.norm.cdf(-(d**0.5) / 2))
    monkeypatch.setattr(gaussian_setups, "_STEPS", 200)  # of 4,000
    assert SETUPS["A"].bayes_error == pytest.approx(0.094326, abs=1e-4)


def test_several_classes_are_resampled_sixty_times_and_two_as_often_as_can_be_afforded(
    monkeypatch,
):
    """Rows of 2 and of 16 labels have 3 and 17 terms, of which 2,000 are affordable here.

    Above 10,000 labels a bias is simulated, as that of several classes.
    """
    monkeypatch.setattr(dirichlet, "_DRAWS_PER_RESAMPLE", 10)
    monkeypatch.setattr(dirichlet, "_MOST_TERMS", 2e3)
    for counts, resamples, drawn in (
        ([[2, 1, 1], [0, 3, 1], [1, 2, 1]], 200, 60),
        ([[2, 1, 1], [0, 3, 1], [1, 2, 1]], 7, 7),
        ([[9, 7], [1, 1]], 90, 90),
        ([[9, 7], [1, 1]], 200, 100),
        ([[10_001, 0], [1, 1]], 100, 60),
        ([[10_000, 0], [1, 1]], 100, 50),
    ):
        rows, rng = np.array(counts, dtype=float), np.random.default_rng(0)
        assert len(dirichlet.corrected_resamples(rows, resamples, rng)) == drawn


def test_the_class_that_is_predicted_is_the_likeliest():
    shares = np.array([[[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]], [[0.1, 0.1, 0.8], [0.0, 1.0, 0.0]]])
    for kind, predictions, classes in (
        (PredictionKind.LABEL, np.array([[2.0, 0.0]]), [[2, 0]]),
        (PredictionKind.PROBABILITY, np.array([[0.5, 0.49]]), [[1, 0]]),
        (PredictionKind.CLASS_PROBABILITIES, np.array([[0.5, 0.49]]), [[1, 0]]),
        (PredictionKind.CLASS_PROBABILITIES, shares, [[1, 0], [2, 1]]),
    ):
        predicted = predicted_classes(kind, predictions)
        assert predicted is not None
        assert predicted.tolist() == classes
    assert predicted_classes(PredictionKind.VALUE, np.zeros((1, 2))) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setup", "value"), [("A", 0.094326), ("B", 0.168839), ("C", 0.056923), ("D", 0.012674)]
)
def test_true_errors_of_the_set_ups(setup, value):
    assert truth(setup) == pytest.approx(value, abs=1e-6)
    r, labels = SETUPS[setup].draw(40_000, np.random.default_rng(0))
    wrong = (r > 0.5) != labels
    assert wrong.mean() == pytest.approx(value, abs=4 * (value / 40_000) ** 0.5)


@pytest.mark.slow
@pytest.mark.parametrize("setup", ["A", "B", "C"])
def test_coverage_of_the_t_interval(setup):
    samples, _ = SETUPS[setup].draw(4_000 * 1_000, np.random.default_rng(5))
    samples = samples.reshape(4_000, 1_000)
    losses = np.minimum(samples, 1 - samples)
    low, high = stats.t.interval(
        0.95, 999, loc=losses.mean(axis=1), scale=stats.sem(losses, axis=1)
    )
    assert ((low <= truth(setup)) & (truth(setup) <= high)).mean() == pytest.approx(0.95, abs=0.01)
    for sample, interval in zip(samples[:10], zip(low, high, strict=True), strict=False):
        assert from_soft_labels(sample, resamples=2).interval == pytest.approx(interval)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("find", "top"),
    [
        (lambda: from_soft_labels([0.9, 0.2, 0.5]), 1 / 2),
        (lambda: from_soft_labels([[0.5, 0.5], [0.1, 0.9], [1, 0]]), 1 / 2),
        (lambda: from_soft_labels([[0.5, 0.25, 0.25, 0], [1, 0, 0, 0], [0, 0.5, 0.5, 0]]), 3 / 4),
        (lambda: from_uncertainty_labels([0.1, 0.2, 0.5]), 1 / 2),
        (lambda: from_noisy_soft_labels([0.1, 0.2, 0.5], [0, 0, 1]), 1.0),
        (lambda: from_counts([[2, 0, 1], [1, 1, 1], [0, 0, 3]]), 2 / 3),
        (lambda: from_positive_confidence([0.9, 0.8, 0.7], 0.3), 0.3),
    ],
)
def test_the_bound_is_hoeffdings_for_the_range_of_a_row(find, top):
    assert find().bound == pytest.approx(top * np.sqrt(np.log(2 / 0.05) / (2 * 3)))


def test_results_are_documents_frames_and_charts():
    estimate = from_soft_labels(np.random.default_rng(0).random(50))
    assert estimate.to_dict()["bias_bound"] == [0.0, 0.0]
    assert estimate.to_frame()["interval"].tolist() == ["bounded", "t", "bootstrap", "Hoeffding"]
    assert chart(estimate).to_dict()["layer"]


@pytest.mark.parametrize(
    ("signs", "estimate", "contradicted"),
    [([1, 1, 0, 0], 0.425, False), ([1, 0, 0, 0], 0.55, True)],
)
def test_signs_contradict_the_labels_above_a_half(signs, estimate, contradicted):
    noisy = from_noisy_soft_labels([0.9, 0.75, 0.6, 0.75], signs)
    assert noisy.estimate == pytest.approx(estimate)
    assert ("contradict" in noisy.assumptions[-1]) == contradicted
    half = from_hard_labels([1, 0], [1, 1])
    assert half.estimate == 0.5
    assert "contradict" not in half.assumptions[-1]
    assert half.bias_bound == (0.0, 0.0)


def test_a_probability_above_one_by_rounding_leaves_no_error():
    assert row_floor(np.array([[1 + 1e-12, 0.0], [0.25, 0.75]])).tolist() == [0.0, 0.25]


def test_a_seed_that_is_not_whole_is_refused():
    with pytest.raises(UsageError, match="seed"):
        bayes_error([0.9, 0.2], seed=1.5)


def test_a_negative_seed_is_refused():
    with pytest.raises(UsageError, match="seed"):
        bayes_error([0.2, 0.8], seed=-1)


def few_errors(n, rng):
    """Soft labels of which 3% are uncertain, and the Bayes error."""
    return np.where(rng.random(n) < 0.03, rng.uniform(0.3, 0.5, n), 0.0), 0.012, None


def one_large_group(groups):
    """Soft labels with an effect of each group, of which the first has half of the rows."""

    def draw(n, rng):
        codes = np.r_[np.zeros(n // 2, int), 1 + np.arange(n - n // 2) % (groups - 1)]
        logits = 2 * rng.normal(size=groups)[codes] + rng.normal(size=n)
        return 1 / (1 + np.exp(-logits)), 0.20535, codes

    return draw


@pytest.mark.slow
@pytest.mark.parametrize("repetitions", [400, pytest.param(1_000, marks=pytest.mark.campaign)])
@pytest.mark.parametrize(
    ("draw", "n"),
    [
        (few_errors, 30),
        (few_errors, 100),
        (few_errors, 1_000),
        (one_large_group(3), 240),
        (one_large_group(8), 240),
    ],
)
def test_the_reported_interval_holds_where_few_rows_or_groups_count(draw, n, repetitions):
    held = []
    for seed in range(repetitions):
        c, true, codes = draw(n, np.random.default_rng(seed))
        low, high = from_soft_labels(c, clusters=codes, resamples=2).reported_interval
        held.append(low <= true <= high)
    assert np.mean(held) >= 0.93


def test_the_reported_interval_is_that_of_a_proportion_and_hardly_longer_with_many_rows():
    labels, signs = np.r_[np.ones(3), np.zeros(37)], np.zeros(40)
    exact = stats.binomtest(3, 40).proportion_ci(method="exact")
    estimate = from_hard_labels(labels, signs, resamples=2).reported_interval
    assert estimate == pytest.approx((exact.low, exact.high))
    many = from_soft_labels(np.random.default_rng(0).random(5_000), resamples=2)
    assert np.diff(many.reported_interval) < 1.02 * np.diff(many.interval)


def test_labels_that_all_agree_leave_an_error_possible():
    estimate = from_counts(np.tile([3, 0], (50, 1)))
    # A row of error 1/2 shows none with the probability 1/4.
    low, high = estimate.reported_interval
    assert low == 0
    exact = 0.5 * (1 - 0.025 ** (1 / (50 * 0.75)))
    assert exact <= high <= 1.02 * exact


@pytest.mark.slow
def test_a_correction_has_the_degrees_of_freedom_of_the_spread_of_its_losses(monkeypatch):
    degrees = []

    def recorded(*estimates, **options):
        degrees.extend(options["degrees"])
        return errors_from_standard_errors(*estimates, **options)

    monkeypatch.setattr(annotators, "errors_from_standard_errors", recorded)
    from_counts([[5, 0]] * 28 + [[3, 2]] * 4 + [[4, 1]] * 8, resamples=3)
    losses = np.repeat([0.0, 0.4, 0.2], [28, 4, 8])
    kurtosis = stats.kurtosis(losses, fisher=False)
    assert degrees == pytest.approx([2 * 40 / (kurtosis - 1)])
