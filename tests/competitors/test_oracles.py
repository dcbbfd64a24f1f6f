"""Labels read off the board: how many, in how few submissions, and when not at all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.interfaces import Feedback
from arena_competitors.attackers.bit_code import HIDDEN, BitCode
from arena_competitors.attackers.log_loss_oracle import LogLossOracle
from arena_competitors.campaign import Campaign
from arena_competitors.rows import synthetic_rows
from attacks import competitor_named, mechanism_named, metric_named, run_attack
from thinned import examples

RECOVERED, MISTAKEN = "labels_recovered", "labels_mistaken"


@pytest.mark.few(1)
@pytest.mark.parametrize("mechanism", ["full", "kaggle"])
def test_198_labels_in_at_most_20_submissions(mechanism: str) -> None:
    curve = run_attack(
        "log-loss-oracle", mechanism, metric="log_loss", rows=198, submissions=19, repeats=20
    )
    assert curve.submissions[-1] == 19  # and the last one, which uses them
    assert curve.mean[RECOVERED][-1] == 198
    assert curve.mean[MISTAKEN].max() == 0
    assert curve.mean["released"][-1] < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "metric"),
    [
        ("ladder(eta=0.02, clip=5, start=baseline)", "log_loss"),
        ("ladder(start=baseline)", "log_loss(clip=0.01)"),
    ],
)
def test_a_clipped_ladder_from_the_baseline_releases_nothing(mechanism: str, metric: str) -> None:
    """In at least 95 of 100 runs: what is shown is the baseline's score to the end."""
    chosen = metric_named(metric)
    campaign = Campaign(lambda rng: synthetic_rows(chosen, 198, 198, 2, rng), 20, 1)
    oracle, ladder = competitor_named("log-loss-oracle"), mechanism_named(mechanism)
    quiet = 0
    for seed in range(100):
        single = Campaign(campaign.make_rows, 20, 1, seed=seed)
        (curve,) = single.run({"oracle": oracle}, {"ladder": ladder})
        releases = curve.mean["released"]
        # The baseline is 1/2 everywhere, as the first submission: nothing else was ever shown.
        quiet += bool((releases == releases[0]).all()) and curve.mean[RECOVERED].max() == 0
        assert curve.mean[MISTAKEN].max() == 0
    assert quiet >= 95


def test_hidden_rows_are_told_from_public_ones() -> None:
    curve = run_attack(
        "log-loss-oracle",
        "kaggle",
        metric="log_loss",
        rows=100,
        total_rows=300,
        submissions=80,
        repeats=3,
    )
    assert curve.mean[RECOVERED][-1] == 100
    assert curve.mean[MISTAKEN].max() == 0
    # Hidden rows keep 1/2: nothing is known of them.
    assert curve.mean["fresh"][-1] == pytest.approx(np.log(2))


@pytest.mark.parametrize("mechanism", ["ladder-free(clip=5)", "thresholdout(clip=5)"])
def test_no_label_is_claimed_from_a_board_that_cannot_be_trusted(mechanism: str) -> None:
    curve = run_attack(
        "log-loss-oracle", mechanism, metric="log_loss", rows=198, submissions=40, repeats=5
    )
    assert curve.mean[MISTAKEN].max() == 0


@given(
    all_public=st.booleans(),
    spacing=st.floats(0.001, 0.3),
    noise=st.floats(-0.24, 0.24),
    data=st.data(),
)
@settings(max_examples=examples(60))
def test_every_outcome_of_a_batch_is_read_back(
    all_public: bool, spacing: float, noise: float, data: st.DataObject
) -> None:
    code = BitCode.design(spacing=spacing, largest=30.0, all_public=all_public)
    n_rows = data.draw(st.integers(1, len(code.weights)))
    values = [0, 1] if all_public else [HIDDEN, 0, 1]
    values_drawn = tuple(data.draw(st.sampled_from(values)) for _ in range(n_rows))
    excess = sum(dict(code.outcomes(j))[value] for j, value in enumerate(values_drawn))
    assert code.read(excess + noise * spacing, n_rows) == values_drawn


def test_what_fits_no_outcome_is_not_read() -> None:
    code = BitCode.design(spacing=0.1, largest=30.0, all_public=True)
    between = code.outcomes(0)[0][1] + 0.05
    assert code.read(between, 1) is None


def test_an_equal_score_is_no_answer() -> None:
    """A board that repeats itself leaves the batch for later, and is not believed."""
    metric = metric_named("log_loss")
    rows = synthetic_rows(metric, 50, 50, 2, np.random.default_rng(0))
    player = LogLossOracle().start(rows.participation(20, None), np.random.default_rng(0))
    last_score = None
    for _ in range(20):
        player.submit()
        player.receive(Feedback(0.69315, last_score))
        last_score = 0.69315
    assert (player.known_labels() == -1).all()  # type: ignore[attr-defined]


def test_auc_tells_a_label_with_every_submission() -> None:
    curve = run_attack(
        "auc-oracle",
        "kaggle",
        metric="roc_auc",
        rows=60,
        total_rows=100,
        submissions=101,
        repeats=3,
    )
    assert curve.mean[RECOVERED][-1] == 60
    assert curve.mean[MISTAKEN].max() == 0
    assert curve.mean["released"][-1] == 1.0


@pytest.mark.slow
def test_auc_tells_little_through_a_ladder() -> None:
    curve = run_attack(
        "auc-oracle", "ladder-free", metric="roc_auc", rows=60, submissions=60, repeats=3
    )
    assert curve.mean[RECOVERED][-1] <= 2
    assert curve.mean[MISTAKEN].max() == 0


@pytest.mark.slow
def test_pairs_of_rows_pass_the_published_ladder() -> None:
    """Two rows that both improve gain 2/n, more than sqrt(2)/n."""
    curve = run_attack("pair-probe", "ladder-free", submissions=700, repeats=3)
    assert curve.mean[RECOVERED][-1] > 250
    assert curve.mean[MISTAKEN].max() == 0


@pytest.mark.slow
def test_a_minimum_step_stops_them() -> None:
    curve = run_attack("pair-probe", "ladder-free(minimum_step=0.01)", submissions=700, repeats=3)
    assert curve.mean[RECOVERED].max() == 0
    assert curve.mean[MISTAKEN].max() == 0


@pytest.mark.slow
def test_a_board_of_every_score_gives_away_pairs_that_were_right_as_well() -> None:
    ladder, kaggle = (
        run_attack("pair-probe", name, rows=1000, submissions=200, repeats=3)
        for name in ("ladder-free", "kaggle")
    )
    assert kaggle.mean[RECOVERED][-1] > 1.5 * ladder.mean[RECOVERED][-1]
    assert kaggle.mean[MISTAKEN].max() == ladder.mean[MISTAKEN].max() == 0


@pytest.mark.slow
def test_a_baseline_start_claims_nothing_before_its_own_score_is_shown() -> None:
    curve = run_attack(
        "pair-probe", "ladder-free(start=baseline)", rows=400, submissions=100, repeats=20
    )
    assert curve.mean[MISTAKEN].max() == 0
