"""The kinds of teams: what each sends next, after what it was shown."""

from __future__ import annotations

import numpy as np
import pytest

from arena.errors import UsageError
from arena.interfaces import Answer, ComputesAhead, DeclaresConduct, Participation
from arena_competitors.catalogue import all_competitors
from arena_competitors.copycat import disturbed
from simulated_competition import WORLD, few_plugins

BASELINE = (WORLD.population.chance > 50).astype(np.intp)


@pytest.fixture(scope="module")
def manager():
    return few_plugins()


def start(manager, competitor, metric="accuracy", baseline=BASELINE, **changes):
    given = {"training": WORLD.rows, "test": WORLD.population.features, **changes}
    part = Participation(
        manager.metrics.resolve(metric), 240, 80, 2, 50, baseline=baseline, **given
    )
    return manager.competitors.resolve(competitor).start(part, np.random.default_rng(4))


def settings_of(player):
    return player.computation().arguments[3]


def shown(player, scores):
    """Answer one submission after the other, and return the settings of each."""
    told = []
    for score in scores:
        told.append(settings_of(player))
        player.submit()
        player.hear(Answer(score, None))
    return told


def test_climber_changes_one_setting_of_what_was_shown_as_best(manager):
    player = start(manager, "lightgbm-climber(explore=0)")
    first, second, third, fourth = shown(player, [0.6, 0.7, 0.65, 0.5])
    for before, after in ((first, second), (second, third), (second, fourth)):
        changed = {name for name in before if before[name] != after[name]} - {"seed"}
        assert len(changed) <= 1
        assert before["seed"] != after["seed"]
    best = start(manager, "lightgbm-climber(explore=0)")
    best.submit()
    best.hear(Answer(0.6, None))
    expected = best.submit().prediction
    assert np.array_equal(player.finish().prediction, expected)


def test_seeds_change_nothing_but_the_seed(manager):
    told = shown(start(manager, "lightgbm-seeds"), [0.6, 0.5, 0.7])
    for settings in told[1:]:
        assert {name for name in settings if settings[name] != told[0][name]} == {"seed"}
    assert len({settings["seed"] for settings in told}) == 3


def test_explorer_draws_everything_anew(manager):
    told = shown(start(manager, "lightgbm-climber(explore=1)"), [0.6] * 4)
    assert max(sum(one[name] != told[0][name] for name in one) for one in told) > 2


def test_what_was_computed_elsewhere_is_what_is_sent(manager):
    alone, helped = (start(manager, "lightgbm-climber") for _ in range(2))
    assert isinstance(helped, ComputesAhead)
    work = helped.computation()
    assert helped.computation().key == work.key
    helped.take(work.function(*work.arguments))
    assert np.array_equal(helped.submit().prediction, alone.submit().prediction)
    assert start(manager, "lightgbm-seeds").computation().key != work.key


def test_teams_know_different_features_and_rows(manager):
    rng = np.random.default_rng(0)
    part = Participation(
        manager.metrics.resolve("accuracy"), 240, 80, 2, 9,
        training=WORLD.rows, test=WORLD.population.features,
    )  # fmt: skip
    climber = manager.competitors.resolve("lightgbm-climber")
    rows = [climber.start(part, rng).computation().arguments[0] for _ in range(6)]
    sizes = {one.training.features.shape for one in rows}
    assert len(sizes) > 2
    assert all(100 <= n <= 200 and 6 <= d <= 10 for n, d in sizes)


@pytest.mark.parametrize("name", ["lightgbm-climber", "lightgbm-seeds"])
def test_who_trains_needs_rows(manager, name):
    with pytest.raises(UsageError, match="trains on data"):
        start(manager, name, training=None)


def test_copycat_starts_from_the_baseline_and_keeps_what_is_liked(manager):
    player = start(manager, "copycat(share=0.1)")
    first = player.submit().prediction
    assert np.array_equal(first, BASELINE)
    player.hear(Answer(0.7, None))
    second = player.submit().prediction
    assert 0 < (second != first).sum() <= 24
    player.hear(Answer(0.6, 0.7))
    assert np.array_equal(player.finish().prediction, first)
    third = player.submit().prediction
    player.hear(Answer(0.8, 0.6))
    assert np.array_equal(player.finish().prediction, third)
    with pytest.raises(UsageError, match="there is none"):
        start(manager, "copycat", baseline=None)


def test_changed_predictions_stay_valid():
    rng = np.random.default_rng(0)
    shares = rng.dirichlet([1, 1, 1], 50)
    moved = disturbed(shares, 0.5, rng)
    assert moved.sum(axis=1) == pytest.approx(1)
    assert (moved >= 0).all()
    texts = np.array(["a", "b", "c"] * 10, dtype=object)
    assert set(disturbed(texts, 1.0, rng)) <= {"a", "b", "c"}


def test_attack_from_the_baseline_flips_so_many_rows_of_it(manager):
    player = start(manager, "block-flip(rows=4, base=baseline)")
    assert np.array_equal(player.submit().prediction, BASELINE)
    player.hear(Answer(0.7, None))
    assert (player.submit().prediction != BASELINE).sum() == 4
    for metric, baseline, said in (
        ("roc_auc", BASELINE, "metric of labels"),
        ("accuracy", None, "public baseline"),
    ):
        with pytest.raises(UsageError, match=said):
            start(manager, "block-flip(base=baseline)", metric, baseline)
    with pytest.raises(UsageError, match="base is baseline"):
        manager.competitors.resolve("block-flip(base=best)")


def test_every_competitor_of_ours_says_how_it_plays():
    told = {one.name: one.conduct for one in all_competitors() if isinstance(one, DeclaresConduct)}
    assert told["copycat"] == "copies"
    honest = {name for name, conduct in told.items() if conduct == "honest"}
    assert honest == {"lightgbm-climber", "lightgbm-seeds"}
    assert {one.name for one in all_competitors()} - set(told) == {"lightgbm", "random-search"}
