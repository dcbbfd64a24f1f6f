"""The Ladders: what they release, what they never do, and what an organiser is told."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.errors import InputError, UsageError
from arena.evaluation.scores import round_significant
from arena.interfaces import Evaluation, Mechanism, PublicBoard
from arena.plugin.manager import PluginManager
from arena_mechanisms.boot import LadderBoot
from arena_mechanisms.bounds import best_step, leaderboard_error_bound
from arena_mechanisms.ladder import Ladder, LadderFree, default_eta
from arena_mechanisms.noisy import NoisyLadder, Thresholdout, noise_for_step
from run_mechanism import evaluation, run_mechanism
from thinned import examples

LADDERS = [
    Ladder(),
    Ladder(eta=0.05),
    Ladder(eta=0.05, start="baseline"),
    LadderFree(),
    LadderFree(rounding=None, z=2),
    LadderFree(minimum_step=0.03, start="baseline"),
    LadderBoot(),
    LadderBoot(bayes_factor=1, resamples=1, start="baseline"),
    NoisyLadder(eta=0.05),
    NoisyLadder(eta=0.02, noise=0.02, start="baseline"),
]
ALL = [*LADDERS, Thresholdout(), Thresholdout(threshold=0.1, budget=2, start="baseline")]
BASELINE = {"baseline": 0.5, "baseline_submission": 7}
losses = st.lists(st.sampled_from([i / 100 for i in range(101)]), min_size=1, max_size=25)
quiet = settings(max_examples=examples(60))


def run_all(mechanism: Mechanism, scores: list[float], **changes: Any) -> list[Any]:
    return run_mechanism(mechanism, scores, **{**BASELINE, **changes})


# -- the paper's algorithms --------------------------------------------------------------------


def test_the_ladder_is_that_of_figure_1() -> None:
    scores = [0.52, 0.45, 0.40, 0.39, 0.41, 0.11]
    last_shown, expected = math.inf, []
    for score in scores:
        if score < last_shown - 0.1:
            last_shown = round(score / 0.1) * 0.1
        expected.append(last_shown)
    releases = run_mechanism(Ladder(eta=0.1), scores)
    assert [release.score for release in releases] == pytest.approx(expected)
    assert [release.improved for release in releases] == [True, False, False, True, False, True]


def test_the_parameter_free_ladder_is_that_of_figure_2() -> None:
    rng = np.random.default_rng(5)
    n = 400
    vectors = [rng.random(n) < 0.5 - 0.01 * t for t in range(30)]
    best, last_shown, expected = np.zeros(n), math.inf, []
    for losses_sent in map(np.asarray, vectors):
        if (
            losses_sent.mean()
            < last_shown - np.std(losses_sent - best, ddof=1) / np.sqrt(n) - 1e-12
        ):
            best, last_shown = losses_sent.astype(float), round(losses_sent.mean() * n) / n
        expected.append(last_shown)
    state: Any = {}
    for t, losses_sent in enumerate(vectors):

        def error(other: int, losses_sent: Any = losses_sent) -> float:
            return float(np.std(losses_sent.astype(float) - vectors[other], ddof=1) / np.sqrt(n))

        now = Evaluation(t, float(losses_sent.mean()), False, n, error, score_range=(0.0, 1.0))
        release = LadderFree().release(state, now, rng)
        state = release.state
        assert release.score == pytest.approx(expected[t])
    assert len(set(expected)) > 3


@pytest.mark.slow
@pytest.mark.parametrize("width", [7_300.0, 1.0, 3.0, 2.5e6, 1e-4])
def test_an_exact_tie_is_not_released_for_any_range(width: float) -> None:
    n = 370
    rows = np.arange(1, n + 1)
    losses = round_significant(width * rows / n)
    for better, worse in itertools.pairwise(losses.tolist()):
        changes: Any = {
            "n_rows": n,
            "standard_error_of_difference": lambda _: width / n,
            "score_range": (0.0, width),
        }
        for mechanism in (LadderFree(rounding=None), LadderFree(z=0.0, minimum_step=1 / n)):
            tied = run_mechanism(mechanism, [worse, better], **changes)
            assert [release.improved for release in tied] == [True, False]
        ahead = run_mechanism(LadderFree(z=0.9, rounding=None), [worse, better], **changes)
        assert [release.improved for release in ahead] == [True, True]


@pytest.mark.parametrize("width", [0.02, 40.0, 7_300.0])
@given(scores=losses)
@quiet
def test_a_ladder_does_not_depend_on_the_unit(width: float, scores: list[float]) -> None:
    releases = run_mechanism(Ladder(eta=0.05), scores)
    scaled = run_mechanism(
        Ladder(eta=0.05), [width * score for score in scores], score_range=(0.0, width)
    )
    assert [release.improved for release in scaled] == [release.improved for release in releases]
    assert [release.score for release in scaled] == pytest.approx(
        [width * release.score for release in releases]
    )


@pytest.mark.slow
def test_an_exact_tie_is_never_released() -> None:
    for n in (7, 100, 4_000, 8_192, 99_991):
        for wrong in range(1, n // 2, max(1, n // 200)):
            # One row less wrong: the gain 1/n is exactly the standard error 1/n.
            scores = [wrong / n, (wrong - 1) / n]
            error = {"standard_error_of_difference": lambda _, n=n: 1 / n, "n_rows": n}
            assert not run_mechanism(LadderFree(), scores, **error)[1].improved
            assert not run_mechanism(Ladder(eta=1 / n), scores, n_rows=n)[1].improved
            two = [wrong / n, (wrong - 2) / n]
            if wrong > 2:
                assert run_mechanism(LadderFree(), two, **error)[1].improved


class CountingGenerator(np.random.Generator):
    """Counts the numbers that are drawn."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(1))
        self.drawn = 0

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        self.drawn += 1 if size is None else int(np.prod(size))
        return super().laplace(loc, scale, size)


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", ALL, ids=str)
@given(scores=losses, better=st.floats(0, 1), worse=st.floats(0, 1))
@settings(max_examples=examples(25))
def test_a_mechanism_does_the_same_work_for_every_score(
    mechanism: Mechanism, scores: list[float], better: float, worse: float
) -> None:
    state = run_all(mechanism, scores)[-1].state
    work = []
    for score in (better, worse):
        compared: list[int] = []

        def error(other: int, compared: list[int] = compared) -> float:
            compared.append(other)
            return 0.01

        rng = CountingGenerator()
        submission_score = evaluation(99, score, standard_error_of_difference=error, **BASELINE)
        mechanism.release(state, submission_score, rng)
        work.append((compared, rng.drawn))
    assert work[0] == work[1]


def test_options_make_the_step_larger() -> None:
    scores = [0.50, 0.48, 0.46]
    error = {"standard_error_of_difference": lambda _: 0.015}
    assert run_mechanism(LadderFree(), scores, **error)[1].score == 0.48
    assert run_mechanism(LadderFree(z=2), scores, **error)[1].score == 0.50
    assert run_mechanism(LadderFree(minimum_step=0.03), scores, **error)[1].score == 0.50
    assert run_mechanism(LadderFree(minimum_step=0.03), scores, **error)[2].score == 0.46
    assert run_mechanism(LadderFree(rounding=0.05), scores, **error)[2].score == 0.45
    assert run_mechanism(LadderFree(rounding=None), [0.123456], **error)[0].score == 0.123456


def test_a_start_from_the_baseline_shows_the_baseline_until_it_is_beaten() -> None:
    baseline = {"baseline": 0.52, "baseline_submission": 9}
    releases = run_mechanism(Ladder(eta=0.05, start="baseline"), [0.60, 0.48, 0.46], **baseline)
    assert [release.score for release in releases] == [0.5, 0.5, 0.45]
    assert [release.improved for release in releases] == [False, False, True]
    compared_with: list[int] = []
    error = {"standard_error_of_difference": lambda other: compared_with.append(other) or 0.01}
    free = run_mechanism(LadderFree(start="baseline"), [0.60, 0.50, 0.47], **baseline, **error)
    assert [release.score for release in free] == [0.52, 0.50, 0.47]
    assert compared_with == [9, 9, 2]
    with pytest.raises(InputError, match="Submit it first"):
        run_mechanism(Ladder(eta=0.05, start="baseline"), [0.4])


def test_the_step_is_a_share_of_the_metrics_range() -> None:
    wide = {"score_range": (0.0, 10.0)}
    assert [
        release.score for release in run_mechanism(Ladder(eta=0.1), [5.2, 4.1, 3.9], **wide)
    ] == [
        5,
        5,
        4,
    ]
    assert run_mechanism(LadderFree(), [5.234], **wide)[0].score == pytest.approx(5.2)
    gains = run_mechanism(LadderFree(minimum_step=0.1), [5.0, 4.1, 3.9], **wide)
    assert [gain.improved for gain in gains] == [True, False, True]
    assert default_eta(4_000, 400) == 0.069
    assert default_eta(1, 1) == 0.68


def test_a_gain_that_rounding_hides_changes_nothing() -> None:
    """The same score is shown, and later submissions have to beat what it was shown for."""
    for mirrored in (False, True):
        first, hidden, last = run_mechanism(
            LadderFree(rounding=0.1), [0.52, 0.47, 0.44], mirrored=mirrored
        )
        assert (first.improved, hidden.improved, last.improved) == (True, False, True)
        assert abs(hidden.score) == 0.5
        assert hidden.state == first.state
        assert abs(last.score) == 0.4


def test_the_whole_range_is_the_largest_step() -> None:
    assert Ladder(eta=1).eta == 1
    assert LadderFree(minimum_step=1).minimum_step == 1
    assert run_mechanism(Ladder(eta=1.0), [0.4, 0.0])[1].improved is False


def test_a_difference_without_a_standard_error_is_not_released() -> None:
    single = {"standard_error_of_difference": lambda _: math.nan}
    assert [release.improved for release in run_mechanism(LadderFree(), [0.5, 0.1], **single)] == [
        True,
        False,
    ]


def test_a_baseline_of_which_only_the_score_is_known_cannot_be_paired() -> None:
    baseline_facts = {"baseline": 0.5, "standard_error_of_difference": lambda _: 0.3}
    start = LadderFree(start="baseline", minimum_step=0.02)
    released = run_mechanism(start, [0.485, 0.475, 0.45, 0.17], **baseline_facts)
    assert [release.improved for release in released] == [False, True, False, True]


# -- what holds for every one ------------------------------------------------------------------


@pytest.mark.few(3)
@pytest.mark.parametrize("mechanism", LADDERS, ids=str)
@given(scores=losses)
@quiet
def test_released_scores_never_get_worse(mechanism: Mechanism, scores: list[float]) -> None:
    releases = run_all(mechanism, scores)
    shown_scores = [release.score for release in releases]
    assert shown_scores == sorted(shown_scores, reverse=True)
    for before, after in itertools.pairwise(releases):
        assert after.improved == (after.score < before.score)


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", ALL, ids=str)
@given(scores=losses)
@quiet
def test_a_state_that_was_stored_is_the_state(mechanism: Mechanism, scores: list[float]) -> None:
    assert run_all(mechanism, scores) == run_all(mechanism, scores, kept=True)


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "mechanism",
    [mechanism for mechanism in ALL if isinstance(mechanism, Ladder | LadderFree)],
    ids=str,
)
@given(scores=losses)
@quiet
def test_a_score_is_a_loss_mirrored(mechanism: Mechanism, scores: list[float]) -> None:
    down, up = run_all(mechanism, scores), run_all(mechanism, scores, mirrored=True)
    assert [release.score for release in up] == [-release.score for release in down]
    assert [release.improved for release in up] == [release.improved for release in down]


@pytest.mark.few(4)
@pytest.mark.parametrize("mechanism", ALL, ids=str)
@given(scores=losses)
@quiet
def test_what_is_shown_is_conceivable(mechanism: Mechanism, scores: list[float]) -> None:
    assert all(0 <= release.score <= 1 for release in run_all(mechanism, scores))


# -- noise -------------------------------------------------------------------------------------


def test_thresholdout_answers_again_only_far_from_the_last_answer() -> None:
    n = {"n_rows": 10_000}
    releases = run_mechanism(Thresholdout(), [0.5, 0.501, 0.499, 0.3, 0.301], **n)
    shown_scores = [release.score for release in releases]
    assert shown_scores[0] == shown_scores[1] == shown_scores[2] != 0.5
    assert shown_scores[0] == pytest.approx(0.5, abs=0.03)
    assert shown_scores[3] == shown_scores[4] == pytest.approx(0.3, abs=0.03)
    worse = run_mechanism(Thresholdout(), [0.3, 0.5], **n)
    assert worse[1].score == pytest.approx(0.5, abs=0.03)
    assert not worse[1].improved


@pytest.mark.slow
def test_thresholdout_repeats_an_unchanged_score_as_often_as_it_says() -> None:
    mechanism, n_answers = Thresholdout(), 0
    for seed in range(4_000):
        rng = np.random.default_rng(seed)
        state = {"score": 0.5, "best": 0.5, "threshold": 0.04 + 0.005 * rng.laplace(), "used": 1}
        now = Evaluation(2, 0.5, False, 10_000, lambda _: 0.0)
        n_answers += mechanism.release(state, now, rng).state["used"] == 2
    # P(T + Lap(2s) + Lap(4s) < 0) with T = 16 s.
    expected = (4 / 3 * math.exp(-4) - math.exp(-8) / 3) / 2
    assert expected == pytest.approx(0.0121, abs=1e-4)
    assert n_answers / 4_000 == pytest.approx(expected, abs=0.0055)


def test_thresholdout_improves_where_an_answer_is_better_than_the_best_one() -> None:
    """The noise takes 0.01 off the last of four numbers: answers are 0.49 and 0."""
    mechanism, state = Thresholdout(threshold=0.1, noise=0.01), {}
    rng: Any = SimpleNamespace(laplace=lambda size: np.array([0.0, 0.0, 0.0, -1.0]))
    released = []
    for submission, loss in enumerate((0.5, 0.0, 0.5, 0.0), start=1):
        release = mechanism.release(state, evaluation(submission, loss), rng)
        state = dict(release.state)
        released.append((release.score, release.improved, state["best"]))
    assert released == [
        (0.49, True, 0.49), (0.0, True, 0.0), (0.49, False, 0.0), (0.0, False, 0.0)
    ]  # fmt: skip


def test_thresholdout_ends_with_its_budget() -> None:
    scores = [0.9, 0.7, 0.5, 0.3, 0.1]
    releases = run_mechanism(Thresholdout(threshold=0.1, budget=2), scores)
    assert [release.improved for release in releases] == [True, True, False, False, False]
    assert len({release.score for release in releases}) == 2


def test_the_noise_of_a_step_lets_a_submission_without_a_gain_pass_as_rarely_as_it_says() -> None:
    rng = np.random.default_rng(0)
    noise = rng.laplace(size=200_000) + 2 * rng.laplace(size=200_000)
    for submissions in (1, 10):
        step = 1 / noise_for_step(1.0, submissions)
        assert np.mean(noise > step) == pytest.approx(0.05 / submissions, rel=0.05)


def test_a_noisy_ladder_draws_the_noise_of_its_bar_again_only_after_a_pass() -> None:
    mechanism, board = NoisyLadder(eta=0.02), {"n_rows": 4_000}
    states: list[Any] = [{}]
    for submission, score in enumerate([0.5, 0.5, 0.5, 0.4, 0.4], start=1):
        rng = np.random.default_rng(submission)
        now = evaluation(submission, score, **board)
        states.append(mechanism.release(states[-1], now, rng).state)
    bars = [state["bar"] for state in states[1:]]
    assert bars[0] == bars[1] == bars[2] != bars[3] == bars[4]
    assert [state["score"] for state in states[1:]] == pytest.approx([0.5] * 3 + [0.4] * 2)
    assert bars[0] != states[1]["score"]


def test_a_noisy_ladder_renews_its_bar_if_the_noisy_score_of_a_pass_is_not_better() -> None:
    state, now = {"score": 0.5, "bar": 9.0, "submission": 1}, evaluation(2, 0.6)
    release = NoisyLadder(eta=0.02, noise=1e-9).release(state, now, np.random.default_rng(0))
    assert (release.score, release.improved, release.source) == (0.5, False, 1)
    assert release.state["bar"] == pytest.approx(0.5)


@pytest.mark.parametrize(("compared", "improved"), [(-0.0099, False), (-0.0101, True)])
def test_a_noisy_ladder_compares_with_twice_its_noise(compared: float, improved: bool) -> None:
    state, now = {"score": 0.5, "bar": 0.5, "submission": 1}, evaluation(2, 0.5)
    generator: Any = SimpleNamespace(laplace=lambda **_: np.array([0.0, compared, 0.06, 0.01]))
    release = NoisyLadder(eta=0.02).release(state, now, generator)
    # The noisy score to be shown is worse than the last one: only the bar changes.
    assert (release.score, release.improved) == (0.5, False)
    assert release.state["bar"] == pytest.approx(0.51 if improved else 0.5)


@pytest.mark.slow
def test_ladder_boot_decides_and_releases_as_a_bayesian_bootstrap_does() -> None:
    rng = np.random.default_rng(4)
    n, resamples = 150, 6_000
    right = rng.random((2, n)) < np.array([[0.7], [0.78]])
    weights = rng.exponential(size=(resamples, n))
    resampled = right @ (weights / weights.sum(axis=1, keepdims=True)).T
    better = float(np.mean(resampled[1] > resampled[0]))
    scores, gain = right.mean(axis=1), right[1].astype(float) - right[0]
    now = evaluation(
        2,
        float(scores[1]),
        greater_is_better=True,
        standard_error_of_difference=lambda _: float(gain.std(ddof=1) / np.sqrt(n)),
        standard_error=lambda: float(right[1].std(ddof=1) / np.sqrt(n)),
    )
    state = {"score": float(scores[0]), "bar": float(scores[0]), "submission": 1}
    factor = better / (1 - better)
    for threshold, passes in ((0.8 * factor, True), (1.25 * factor, False)):
        mechanism = LadderBoot(bayes_factor=threshold)
        assert (mechanism.release(state, now, rng).state["submission"] == 2) == passes
    shown_scores = [LadderBoot().release({}, now, rng).score for _ in range(1_500)]
    expected = resampled[1].reshape(-1, 10).mean(axis=1)
    assert np.mean(shown_scores) == pytest.approx(expected.mean(), abs=0.002)
    assert np.std(shown_scores) == pytest.approx(expected.std(), rel=0.1)


def test_ladder_boot_adds_noise_also_where_no_error_is_known() -> None:
    unknown = {"standard_error": lambda: math.nan}
    rng = np.random.default_rng(0)
    shown_scores = [
        LadderBoot().release({}, evaluation(1, 0.5, **unknown), rng).score for _ in range(99)
    ]
    assert np.std(shown_scores) > 0.2


# -- what an organiser is told -----------------------------------------------------------------


@pytest.mark.few(8)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "ladder(eta=0)",
            "ladder: eta must be a share of the metric's range, above 0 and",
        ),
        ("ladder(eta=1.5)", "not 1.5"),
        ("ladder(eta=True)", "eta must be a share"),
        ("ladder(eta=big)", "not 'big'"),
        ("ladder(start=zero)", "start must be infinity or baseline, not 'zero'"),
        ("ladder(clip=0)", "clip must be a positive number"),
        ("ladder(clip=inf)", "clip must be a positive number"),
        ("ladder(clip=[-1e999, 1])", "clip must be a positive number"),
        ("ladder(clip=[1, 1])", "clip must be a positive number"),
        ("ladder(clip=[2, 1])", "clip must be a positive number"),
        ("ladder(clip=[None, 1])", "clip must be a positive number"),
        ("ladder(clip=[1, 2, 3])", "clip must be a positive number"),
        ("ladder(clip=[1])", "clip must be a positive number"),
        ("ladder(etta=0.1)", "has no parameter 'etta'. Did you mean 'eta'"),
        ("ladder(clip=abc)", "clip must be a positive number"),
        ("ladder-free(z=-1)", "z must be a number of at least 0"),
        ("ladder-free(z=inf)", "z must be a number of at least 0"),
        ("ladder-free(z=True)", "z must be a number of at least 0"),
        ("ladder-free(z=big)", "z must be a number of at least 0"),
        ("ladder-free(rounding=inf)", "rounding must be"),
        ("ladder-free(rounding=-0.1)", "rounding must be"),
        ("ladder-free(rounding=True)", "rounding must be"),
        ("ladder-free(rounding=abc)", "rounding must be"),
        ("ladder-free(minimum_step=2)", "minimum_step must be a share"),
        ("ladder-free(minimum_step=None)", "minimum_step must be a share"),
        ("ladder-free(rounding=0)", "rounding must be"),
        ("thresholdout(budget=0)", "budget must be a whole number of at least 1"),
        ("thresholdout(noise=0)", "noise must be a share"),
        ("noisy-ladder(noise=-1)", "noise must be a share"),
        ("ladder-boot(bayes_factor=0.5)", "bayes_factor must be a number of at least 1, not 0.5"),
        ("ladder-boot(resamples=0.5)", "resamples must be a whole number of at least 1"),
    ],
)
def test_a_parameter_out_of_range_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        PluginManager().mechanisms.resolve(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "name", ["ladder", "ladder-free", "ladder-boot", "thresholdout", "noisy-ladder"]
)
def test_scores_without_bounds_ask_for_a_clip(name: str) -> None:
    board = PublicBoard(
        metric="log_loss",
        greater_is_better=False,
        n_rows=4_000,
        score_range=None,
        budget=400,
        has_baseline=False,
        baseline=None,
    )
    mechanism: Any = PluginManager().mechanisms.resolve(name)
    with pytest.raises(InputError) as caught:
        mechanism.review(board)
    assert "no such range: one row can move the score by any amount" in str(caught.value)
    assert f"{name}(clip=5): a bound of your choice." in str(caught.value)
    for clip, written in (((0.0, 7.5), "7.5"), ((-1.2, 1.0), "[-1.2, 1]")):
        with pytest.raises(InputError) as caught:
            mechanism.review(replace(board, suggested_clip=clip))
        sentence = f"{name}(clip={written}): a few times what a constant prediction costs."
        assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("budget", "said"),
    [(400, "0.069, from 4,000 public rows for at most 400 submissions"),
     (None, "0.073, from 4,000 public rows with no limit on submissions")],
)  # fmt: skip
def test_a_ladder_without_a_step_says_what_its_step_costs(budget: int | None, said: str) -> None:
    board = PublicBoard(
        metric="accuracy",
        greater_is_better=True,
        n_rows=4_000,
        score_range=(0.0, 1.0),
        budget=budget,
        has_baseline=False,
        baseline=None,
    )
    (sentence,) = Ladder().review(board)
    assert said in sentence
    assert "use ladder-free" in sentence
    assert not Ladder(eta=0.02).review(board)


def test_a_step_that_nothing_can_pass_is_said() -> None:
    close = PublicBoard(
        metric="accuracy",
        greater_is_better=True,
        n_rows=4_000,
        score_range=(0.0, 1.0),
        budget=400,
        has_baseline=True,
        baseline=0.94,
    )
    far = PublicBoard(
        metric="accuracy",
        greater_is_better=True,
        n_rows=4_000,
        score_range=(0.0, 1.0),
        budget=400,
        has_baseline=True,
        baseline=0.84,
    )
    assert "no improvement over the baseline" in Ladder().review(close)[0]
    assert not Ladder(eta=0.01).review(close)
    assert not Ladder(eta=0.1).review(far)
    assert LadderFree(minimum_step=0.2).review(close)
    for baseline, blocked in ((8.0, True), (7.8, False)):
        wide = PublicBoard(
            metric="kappa",
            greater_is_better=True,
            n_rows=4_000,
            score_range=(-10.0, 10.0),
            budget=400,
            has_baseline=True,
            baseline=baseline,
        )
        for mechanism in (Ladder(eta=0.105), LadderFree(minimum_step=0.105)):
            assert bool(mechanism.review(wide)) == blocked
    for baseline, blocked in ((0.15, True), (0.16, False)):
        loss = PublicBoard(
            metric="brier",
            greater_is_better=False,
            n_rows=4_000,
            score_range=(0.0, 1.0),
            budget=400,
            has_baseline=True,
            baseline=baseline,
        )
        assert bool(NoisyLadder(eta=0.153).review(loss)) == blocked
        assert bool(Ladder(eta=0.153).review(loss)) == blocked
    half = PublicBoard(
        metric="brier",
        greater_is_better=False,
        n_rows=4_000,
        score_range=(0.0, 1.0),
        budget=400,
        has_baseline=True,
        baseline=0.5,
    )
    assert Ladder(eta=0.5).review(half)  # a gain that equals the step is not released
    assert not Ladder(eta=0.499).review(half)
    with pytest.raises(InputError, match="name the baseline's team"):
        Ladder(start="baseline").review(
            PublicBoard(
                metric="accuracy",
                greater_is_better=True,
                n_rows=4_000,
                score_range=(0.0, 1.0),
                budget=400,
                has_baseline=False,
                baseline=None,
            )
        )


def test_the_default_threshold_is_four_over_the_root_of_the_rows() -> None:
    assert [Thresholdout()._threshold(rows) for rows in (4, 10_000)] == [1.0, 0.04]
    assert Thresholdout(threshold=0.2)._threshold(10_000) == 0.2


def test_the_step_in_the_docs_is_calculated() -> None:
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "public-board.md").read_text()
    sentence = (
        r"It is ([\d.]+) for ([\d,]+) rows and ([\d,]+) submissions, with a bound of ([\d.]+)\."
    )
    ((step, n_rows, submissions, bound),) = re.findall(sentence, text)
    n, k = (int(number.replace(",", "")) for number in (n_rows, submissions))
    assert best_step(n, k) == pytest.approx(float(step), abs=6e-4)
    assert float(leaderboard_error_bound(n, k, best_step(n, k))) == pytest.approx(
        float(bound), abs=6e-4
    )


class NoNoise(np.random.Generator):
    """Draws of Laplace noise that are all 0; their scales are kept."""

    def __init__(self) -> None:
        super().__init__(np.random.PCG64(1))
        self.scales: list[float] = []

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        self.scales.append(scale)
        return np.zeros(size) if size else 0.0


def test_thresholdout_answers_anew_strictly_beyond_its_threshold() -> None:
    """Without noise: 0.75 and 0.25 are just the threshold away from the last answer 0.5."""
    mechanism = Thresholdout(threshold=0.25)
    first = mechanism.release({}, evaluation(1, 0.5), NoNoise())
    answers = []
    for score in (0.75, 0.25, 0.7501, 0.2499):
        release = mechanism.release(first.state, evaluation(2, score), NoNoise())
        answers.append((release.score, release.improved, release.state["used"]))
    assert answers == [(0.5, False, 1), (0.5, False, 1), (0.7501, False, 2), (0.2499, True, 2)]


@pytest.mark.parametrize(("eta", "level"), [(0.069, 0.95), (0.5, 0.99)])
def test_the_bound_of_the_leaderboard_error_fails_as_rarely_as_it_says(
    eta: float, level: float
) -> None:
    """By the theorem, exp(-2 epsilon² n + (1/eta + 2) log(4 k / eta) + 1) is 1 - level."""
    epsilon = float(leaderboard_error_bound(4_000, 400, eta, level)) - eta
    exponent = -2 * epsilon**2 * 4_000 + (1 / eta + 2) * math.log(4 * 400 / eta) + 1
    assert math.exp(exponent) == pytest.approx(1 - level)


@pytest.mark.parametrize(("noise", "scale"), [(None, noise_for_step(0.05, 100)), (0.02, 0.02)])
def test_the_noise_of_a_noisy_ladder_is_that_of_its_step_or_a_share_of_the_range(
    noise: float | None, scale: float
) -> None:
    rng = NoNoise()
    release = NoisyLadder(eta=0.05, noise=noise).release({}, evaluation(1, 0.523), rng)
    assert release.score == pytest.approx(0.5)
    assert rng.scales == pytest.approx([scale])
