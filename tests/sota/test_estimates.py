"""Estimates from boards: what they solve, what they refuse, and how the scores are read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from arena.errors import InputError, UsageError
from arena_sota.auc_estimate import estimate_auc_sota
from arena_sota.board_file import ShownScores, exact_scores, read_numbers, read_scores
from arena_sota.estimate import estimate_sota
from arena_sota.functions import sota
from arena_sota.maximum import sample_maximum
from arena_sota.posterior import best_posterior
from arena_sota.verdict import (
    HARDLY,
    assumptions_of,
    of_the_predictions,
    reach_of_others,
    sota_verdict,
    who_counts,
    who_is_left_out,
)

N = 3000
SCORES = np.round(0.91 - 0.03 * np.linspace(0, 1, 400) ** 1.5, 4)


@pytest.mark.slow
@pytest.mark.parametrize("theta", ["bootstrap", "fixed"])
def test_shrink_makes_the_expected_best_score_the_observed_one(theta):
    sota_estimate = estimate_sota(SCORES, N, 5, theta=theta)
    shrunk = sota_estimate.parameter * SCORES + (1 - sota_estimate.parameter) / 5
    again = sample_maximum(N, shrunk, random=theta == "bootstrap", rho0=0.6)
    assert sota_estimate.solved
    assert again.mean == pytest.approx(0.91, abs=2e-6)
    assert sota_estimate.sota == pytest.approx(shrunk.max())
    assert sota_estimate.n_above == (sota_estimate.sota < SCORES).sum()
    assert sota_estimate.interval == again.interval()


@pytest.mark.slow
def test_upper_end_is_the_more_cautious():
    mean, upper = (estimate_sota(SCORES, N, 5, target=target) for target in ("mean", "upper"))
    assert upper.sota < mean.sota
    assert upper.interval[1] == pytest.approx(0.91, abs=1 / N)
    assert upper.maximum.cdf(0.91) == pytest.approx(0.975, abs=0.002)


@pytest.mark.slow
def test_crop_returns_the_step_before_and_after():
    sota_estimate = estimate_sota(SCORES, N, 5, method="crop")
    (low, below), (high, above) = sota_estimate.neighbours
    assert low < high
    assert below <= 0.91 < above
    assert sota_estimate.parameter in (low, high)
    assert sota_estimate.to_dict()["crop"] == sota_estimate.sota


def test_a_winner_who_stands_out_is_a_result():
    sota_estimate = estimate_sota([0.97, *SCORES], N, 5)
    assert not sota_estimate.solved
    assert sota_estimate.sota is None
    assert "exceeds what selection explains under these assumptions" in sota_estimate.verdict
    fixed = estimate_sota([0.97, *SCORES], N, 5, theta="fixed")
    assert fixed.solved
    assert fixed.sota == pytest.approx(0.97, abs=5e-4)
    assert "almost nothing" in fixed.verdict


def test_a_perfect_score_leaves_no_room_for_a_common_cause():
    with pytest.raises(UsageError, match="The best score is 1, .* Give --rho 0"):
        estimate_sota([1.0, *SCORES], N, 5)
    assert estimate_sota([1.0, *SCORES], N, 5, rho0=0.0).observed_maximum == 1.0


def test_a_lead_within_the_reach_of_luck_does_not_stand_out():
    """Draws with replacement miss the first so often that the mean of the best is below it."""
    sota_estimate = estimate_sota([0.915, *np.linspace(0.905, 0.8, 10)], N, 2, rho0=0.0)
    assert not sota_estimate.solved
    assert sota_estimate.expected_maximum < 0.915
    assert "exceeds what selection explains" not in sota_estimate.verdict
    assert "do not show more" in sota_estimate.verdict


@pytest.mark.slow
@pytest.mark.parametrize(("first", "stands_out"), [(0.9, False), (0.97, True)])
def test_an_error_of_simulation_makes_no_winner_stand_out(first, stands_out):
    """The mean of these draws is below the best score by chance only; of other seeds it is not."""
    rng = np.random.default_rng(6)
    scores = [first, 0.895, 0.89, 0.7]
    sota_estimate = estimate_auc_sota(scores, 40, 400, rng, rho=0.99, repetitions=40)
    assert not sota_estimate.solved
    assert sota_estimate.expected_maximum < first
    assert ("exceeds what selection explains" in sota_estimate.verdict) == stands_out
    assert ("do not show more" in sota_estimate.verdict) != stands_out


def test_a_board_of_guesses_is_a_result():
    sota_estimate = estimate_sota(np.full(300, 0.502), 100, 2, rho0=0.0)
    assert not sota_estimate.solved
    assert "selection alone explains" in sota_estimate.verdict


def test_few_rows_may_leave_nothing_sure():
    sota_estimate = estimate_sota([19 / 27, 18 / 27, 0.6, 0.55], 27, 2, target="upper")
    assert not sota_estimate.solved
    assert "would be within the expected range" in sota_estimate.verdict


@pytest.mark.slow
def test_bootstrap_has_no_seed():
    assert estimate_sota(SCORES, N, 5).to_dict() == estimate_sota(SCORES, N, 5).to_dict()


def test_chance_is_left_out_first():
    sota_estimate = estimate_sota([0.2, 0.1, *SCORES], N, 5)
    assert sota_estimate.at_or_below_chance == 2
    assert replace(sota_estimate, left_out=1 / 3).to_dict()["left_out"] == 0.333333
    assert sota_estimate.n_teams == len(SCORES)


@pytest.mark.parametrize(
    ("scores", "settings", "words"),
    [
        ([0.9], {}, "at least two teams"),
        ([0.9, 1.2], {}, "number 2 is 1.2"),
        ([0.9, float("nan")], {}, "number 2 is nan"),
        ([0.4, 0.3], {}, "above 0.5"),
        ([0.9, 0.8], {"method": "crop", "theta": "fixed"}, "bootstrap"),
        ([0.9, 0.8], {"level": 0.0}, "level"),
        ([0.9, 0.8], {"level": 1.0}, "level"),
        ([0.9, 0.8], {"rho0": 1.2}, "rho0"),
        ([1.0, 0.8], {}, "Give --rho 0"),
    ],
)
def test_bad_input(scores, settings, words):
    with pytest.raises(UsageError, match=words):
        estimate_sota(scores, N, 2, **settings)


@pytest.mark.slow
def test_rows_may_be_numbers_of_numpy():
    assert sota(SCORES, np.int64(N)).to_dict() == sota(SCORES, N).to_dict()


@pytest.mark.parametrize(
    ("rows", "settings"),
    [
        (np.int64(300), {}),
        ((30, 200, 3), {}),
        ((30, 200), {"rho": -0.5}),
        ((30, 200), {"seed": -1}),
    ],
)
def test_arguments_of_an_auc_are_checked(rows, settings):
    with pytest.raises(UsageError, match="two numbers|rho|seed"):
        sota(SCORES, rows, metric="roc_auc", **settings)


@pytest.mark.slow
def test_auc_is_shrunk_toward_a_half_with_the_same_chance():
    scores = 0.9 - 0.1 * np.linspace(0, 1, 60)
    first, second = (
        estimate_auc_sota(scores, 40, 400, np.random.default_rng(1), repetitions=60)
        for _ in range(2)
    )
    assert first.to_dict() == second.to_dict()
    assert first.expected_maximum == pytest.approx(0.9, abs=0.001)
    assert first.sota == pytest.approx(first.parameter * 0.9 + (1 - first.parameter) / 2)
    common = estimate_auc_sota(scores, 40, 400, np.random.default_rng(1), rho=0.7, repetitions=60)
    assert common.sota > first.sota  # the common part does not favour the first


def test_posterior_agrees_with_drawing():
    """Draw from the prior, keep what comes near, and compare."""
    rng = np.random.default_rng(0)
    scores, n = np.array([0.8, 0.78, 0.76, 0.7]), 100
    posterior = best_posterior(scores, n, 2, rho0=0.0)
    best = rng.uniform(0.5, 1.0, 200_000)
    theta = 0.5 + (scores - 0.5) / 0.3 * (best[:, np.newaxis] - 0.5)
    chosen = np.take_along_axis(theta, rng.integers(4, size=theta.shape), axis=1)
    counts = rng.binomial(n, np.clip(chosen, 0, 1)).max(axis=1)
    conditional = best[np.abs(counts - 80) <= 1]
    assert posterior.mean == pytest.approx(conditional.mean(), abs=0.004)
    assert posterior.interval() == pytest.approx(
        tuple(np.quantile(conditional, [0.025, 0.975])), abs=0.01
    )


def test_what_has_no_posterior_is_told_in_a_sentence():
    for scores, classes, given, words in (
        ([0.9, 0.8], 1, {}, "There must be at least two classes."),
        ([0.9, 0.5], 2, {}, "A posterior needs at least two scores above guessing."),
        ([0.9, 0.8], 2, {"epsilon": 0.0}, "Epsilon must be above 0."),
        ([0.9, 0.8], 2, {"epsilon": np.nan}, "Epsilon must be above 0."),
    ):
        with pytest.raises(UsageError) as refused:
            best_posterior(scores, 20, classes, **given)
        assert str(refused.value) == words


@pytest.mark.slow
def test_posterior_takes_a_prior():
    scores = np.array([0.8, 0.78, 0.76, 0.7])
    prior = stats.norm(0.75, 0.005).pdf
    assert best_posterior(scores, 100, 2, prior=prior).mean == pytest.approx(0.75, abs=0.01)


def test_readings_of_shown_scores():
    counts = np.arange(60, 90)
    rounded = ShownScores(np.round(counts / 130, 4), 4)
    cut = ShownScores(np.floor(counts / 130 * 1e4) / 1e4, 4)
    for shown_scores, n_notes in ((rounded, 0), (cut, 1)):
        scores, notes = exact_scores(shown_scores, 130, "rows")
        assert (scores * 130).round(6).tolist() == counts.tolist()
        assert len(notes) == n_notes
        assert all("truncated" in note for note in notes)
    _, notes = exact_scores(rounded, 132, "rows")
    assert "they are of 1/130" in notes[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("team,score\na,0.5\n", "at least two"),
        ("team,points\na,0.5\nb,0.6\n", "no column score"),
        ("team,score\na,0.5\nb,x\n", "row 3, column score: x"),
        ("team,score\na,0.5\nb,nan\n", "row 3"),
        ("team,score\na,0.5\nb,55.2\n", "percent"),
    ],
)
def test_board_files_are_refused_with_the_place(tmp_path, text, words):
    path = tmp_path / "board.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        read_scores(path, "score")


def test_single_rows_that_are_no_scores_are_left_out_and_named(tmp_path):
    path = tmp_path / "board.csv"
    cells = [f"{value:.5f}" for value in np.linspace(0.2, 0.9, 199)]
    cells.insert(120, "-0.00592")
    path.write_text("score\n" + "\n".join(cells) + "\n", encoding="utf-8")
    shown_scores = read_scores(path, "score")
    assert len(shown_scores.values) == 199
    assert shown_scores.values.min() == 0.2
    assert shown_scores.notes == (
        "Left out, because they are no scores between 0 and 1: -0.00592 (row 122).",
    )
    for n_wrong, more in ((5, ""), (6, " and 1 more"), (7, " and 2 more")):
        path.write_text("score\n" + "?\n" * n_wrong + "0.5\n" * 700, encoding="utf-8")
        listed = ", ".join(f"? (row {number})" for number in range(2, 7))
        assert read_scores(path, "score").notes == (
            f"Left out, because they are no scores between 0 and 1: {listed}{more}.",
        )
    cells[0:3] = ["1.5", "?", "nan"]
    path.write_text("score\n" + "\n".join(cells) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2, column score: 1.5"):
        read_scores(path, "score")


def test_percentages_are_divided_by_100_if_asked(tmp_path):
    path = tmp_path / "board.csv"
    path.write_text("name,win_rate\na,55.12\nb,7%\nc,100\nd,0\n")
    shown_scores = read_scores(path, "win_rate", percent=True)
    assert shown_scores.values.tolist() == [0.5512, 0.07, 1.0, 0.0]
    assert shown_scores.decimals == 4
    with pytest.raises(InputError, match="row 2, .*: 55.12 is not .* 0 and 1.* pass --percent"):
        read_scores(path, "win_rate")
    path.write_text("name,win_rate\na,155\nb,7\n")
    with pytest.raises(InputError, match="155 is not a score between 0 and 100"):
        read_scores(path, "win_rate", percent=True)


def test_a_missing_column_of_scores_names_the_option(tmp_path):
    path = tmp_path / "board.csv"
    path.write_text("name,win_rate\na,0.5\nb,0.7\n")
    with pytest.raises(InputError, match=r"name, win_rate\. Name .* with --score-column"):
        read_scores(path, "score")
    path.write_text(",".join(f"c{number}" for number in range(21)) + "\n")
    with pytest.raises(InputError, match=r"c18, c19\. Name"):  # twenty of them
        read_scores(path, "score")


def test_one_split_of_two_stacked_boards(tmp_path):
    path = tmp_path / "board.csv"
    path.write_text("board,score\nPrivate,0.5\nPrivate,0.6\nPublic,0.7\nPublic,0.8\n")
    private = read_scores(path, "score")
    assert private.values.tolist() == [0.5, 0.6]
    assert "2 private rows of the column board" in private.notes[0]
    public = read_scores(path, "score", "board=Public")
    assert public.values.tolist() == [0.7, 0.8]
    assert public.notes == ()
    with pytest.raises(InputError, match="no row with board=public; the values are Private, Pub"):
        read_scores(path, "score", "board=public")
    with pytest.raises(UsageError, match="COLUMN=VALUE"):
        read_scores(path, "score", "Public")


def test_a_mean_of_dice_is_no_accuracy():
    means = np.random.default_rng(0).random(40).round(5)
    assert (
        "such as Dice, it is no accuracy" in exact_scores(ShownScores(means, 5), 300, "rows")[1][0]
    )


def test_numbers_from_a_file(tmp_path):
    path = tmp_path / "theta.txt"
    path.write_text("0.5\n\n0.6\n", encoding="utf-8")
    assert read_numbers(path).tolist() == [0.5, 0.6]
    path.write_text("0.5\nhalf\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2: half"):
        read_numbers(path)


BOARDS = Path(__file__).parents[3] / "shared" / "data" / "kaggle-boards"


@pytest.mark.skipif(not BOARDS.exists(), reason="the boards are not here")
def test_a_real_board_that_cuts_off():
    shown_scores = read_scores(BOARDS / "mci-prediction.csv", "score")
    scores, notes = exact_scores(shown_scores, 250, "rows")
    assert "truncated" in notes[0]
    assert np.allclose(scores * 250, (scores * 250).round())


def test_the_reach_of_the_others_is_the_upper_end_of_their_best_score():
    @dataclass
    class Maximum:
        """Of a simulation, or exact without draws."""

        scores: list[float]
        std: float = 0.02
        draws: list[float] | None = None

        def interval(self, level):
            return min(self.scores), max(self.scores) + level

    exact = reach_of_others(np.array([0.7, 0.9, 0.8]), 0.95, lambda own, _: Maximum(own.tolist()))
    assert exact == pytest.approx(0.8 + 0.95)
    reach = reach_of_others(
        np.array([0.7, 0.9, 0.8]), 0.5, lambda own, _: Maximum(own.tolist(), draws=[0.0] * 100)
    )
    assert reach == pytest.approx(0.8 + 0.5 + 2 * 0.02 / 10)
    settled: list[float] = []
    reach_of_others(
        np.array([0.7, 0.9]), 0.5, lambda own, to: settled.append(to) or Maximum(own.tolist())
    )
    assert 0 < settled[0] < HARDLY


def test_what_a_verdict_says_at_its_limits():
    def said(side, target="mean", observed=0.9, sota=0.85, n_teams=1_200, **changes):
        return sota_verdict(side, target, observed, 0.88, sota, n_teams, 7, **changes)

    assert said(0).startswith("The best of 1,200 scores is 0.9000 on average if")
    assert "is 0.8500: 0.0500 of the best score is selection bias. 7 teams scored" in said(0)
    for n_above in (None, 0):
        assert "0 teams scored above" in sota_verdict(0, "mean", 0.9, 0.88, 0.85, 9, n_above)
    assert "0.9000 is within the range expected of the best of 1,200" in said(0, "upper")
    assert "almost nothing" in said(0, sota=0.8996)
    assert "almost nothing" not in said(0, sota=0.9 - HARDLY - 1e-9)
    assert "almost nothing" not in said(0, observed=HARDLY, sota=0.0)
    for side, estimate in ((-1, 0.85), (0, None), (-1, None)):
        assert "would be about 0.8800, above the observed 0.9000" in said(side, sota=estimate)
        assert "a best score of 0.9000 would be within" in said(side, "upper", sota=estimate)
    assert "exceeds what selection explains" in said(1, reach=0.89)
    assert "rarely score above 0.8900, and the winner reached 0.9000, 0.0100 more" in said(
        1, reach=0.89
    )
    assert "is within what selection explains" in said(1, reach=0.9)
    assert "of the other 1,199 teams equalled" in said(1)
    assert "of the other team equalled" in said(1, n_teams=2)
    assert "of the other 2 teams equalled" in said(1, n_teams=3)


def test_who_counts_is_said_in_the_right_number():
    assert who_counts(5, 5, 5) == ""
    assert who_counts(1_005, 1_004, 1_004) == (
        "The model of selection counts 1,004 of 1,005 scores: 1 near-duplicate is left out."
    )
    assert who_counts(5, 5, 4).endswith(
        "4 of 5 scores: 1 score no better than guessing is left out."
    )
    assert who_counts(5, 3, 3).endswith("3 of 5 scores: 2 near-duplicates are left out.")
    assert who_counts(5, 4, 3).endswith(
        "1 near-duplicate and 1 score no better than guessing are left out."
    )
    assert who_is_left_out(2, 0.5).startswith("2 teams score too low for a correlation of 0.500")
    assert who_is_left_out(1.5, 0.5).startswith("1.5 teams score too low")


def test_what_the_predictions_show_is_said():
    document = {"submissions": 1_006, "clusters": 6, "rho0": 0.5, "rho0_interval": [0.4, None]}
    text = of_the_predictions(document)
    assert text.startswith("The 1,006 submissions count as 6; near-duplicates count once. ")
    assert text.endswith("of 0.500; the predictions do not show how large it is.")
    for ends in ([None, 0.6], [None, None]):
        assert "do not show" in of_the_predictions(document | {"rho0_interval": ends})
    assert "one between 0.400 and 0.600." in of_the_predictions(
        document | {"rho0_interval": [0.4, 0.6]}
    )


@pytest.mark.parametrize(
    ("method", "rho0", "source", "theta", "words"),
    [
        ("shrink", 0.6, "given", "fixed", ["as given", "0.600 with one", "0.360.", "shrunk"]),
        ("crop", 0.0, "predictions", "bootstrap", ["stored pred", "independent.", "up to a limit"]),
    ],
)
def test_assumptions_follow_the_model(method, rho0, source, theta, words):
    rho, cause, drawn, last = assumptions_of(method, rho0, source, theta)
    assert rho.startswith(f"rho0 is {rho0:.3f}, ")
    for word in words:
        assert word in f"{rho} {cause} {drawn}"
    assert ("common cause" in cause) == (rho0 > 0)
    assert ("resampled with replacement" in drawn) == (theta == "bootstrap")
    assert last.startswith("No score is itself the best of several")


@pytest.mark.parametrize("name", ["metric", "method", "target", "theta"])
def test_a_word_that_is_no_choice_is_refused(name):
    with pytest.raises(UsageError, match=f"The {name} must be .* or .*, not 'x'"):
        sota([0.9, 0.8, 0.7], 100, **{name: "x"})
    with pytest.raises(UsageError, match="seed"):
        sota([0.9, 0.8, 0.7], (10, 90), metric="roc_auc", seed=1.5)
