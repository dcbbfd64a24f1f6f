"""What holds for every attacker, and what sets each apart."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena.interfaces import Competitor, Feedback, HasVariants, Move, Participation, Player
from arena.plugin.registry import Registry
from arena.types import MetricTraits, PredictionKind
from arena_competitors.attack import checkpoints, play
from arena_competitors.attackers.guesses import encode
from arena_competitors.attackers.numbers import Steps
from arena_competitors.catalogue import all_competitors
from arena_competitors.public_board import BoardSettings, PublicBoardRun
from arena_competitors.rows import Rows, synthetic_rows
from attacks import competitor_named, manager, mechanism_named, metric_named, run_attack
from kept import check_kept_document

ATTACKS = {
    "boosting": "accuracy",
    "boosting(vote=signed)": "brier",
    "multiclass": "accuracy",
    "block-flip(rows=3)": "f1",
    "pair-probe": "accuracy",
    "random-search": "mae",
    "log-loss-oracle": "log_loss",
    "auc-oracle": "roc_auc",
    "sybil(of=boosting, teams=3)": "roc_auc",
    "sybil(of='block-flip(rows=2)', teams=4)": "accuracy",
}


SPREAD = 0.5 * (8 / 225) ** 0.5
"""Half of the standard deviation of 0.2, 0.6 and 0.2."""


def rows_for(metric: str, seed: int = 0) -> Rows:
    return synthetic_rows(metric_named(metric), 40, 100, 2, np.random.default_rng(seed))


def predictions(player: Player, rows: Rows, count: int) -> list[np.ndarray]:
    """Play against a board of every score, and return all that was sent."""
    predictions_sent, last_score = [], None
    for _ in range(count):
        move = player.submit()
        score = rows.score(rows.public_truth, move.prediction[rows.public])
        player.receive(Feedback(score, last_score))
        predictions_sent.append(move.prediction)
        last_score = score
    return [*predictions_sent, player.finish().prediction]


@pytest.mark.few(3)
@pytest.mark.parametrize(("attack", "metric"), ATTACKS.items())
def test_it_plays_and_the_same_seed_gives_the_same_play(attack: str, metric: str) -> None:
    once, again = (
        run_attack(attack, "kaggle", metric=metric, rows=40, total_rows=100, submissions=12)
        for _ in range(2)
    )
    for measure, values in once.mean.items():
        np.testing.assert_array_equal(values, again.mean[measure])
    assert once.submissions == tuple(range(1, 13))


def test_two_labels_are_known_by_a_gain_over_a_score_that_is_not_the_baseline() -> None:
    """Of 40 public rows: two more right ones add 2/40 to the accuracy, two fewer take it."""
    rows = rows_for("accuracy")
    for first, change, n_known in ((0.5, 2, 0), (0.45, 2, 2), (0.45, -2, 2), (0.45, 1, 0)):
        player: Any = competitor_named("pair-probe").start(
            rows.participation(9, baseline_score=0.5), np.random.default_rng(0)
        )
        before = player.submit().prediction
        player.receive(Feedback(first, None))
        after = player.submit().prediction
        player.receive(Feedback(first + change / 40, first))
        known_labels = player.known_labels()
        assert np.count_nonzero(known_labels >= 0) == n_known
        right = after if change > 0 else before
        assert (known_labels[known_labels >= 0] == right[known_labels >= 0]).all()
        assert (before != after).sum() == 2


def test_the_settings_of_a_competitor_are_its_parameters() -> None:
    habits = ["explore", "ensemble", "blend", "persistence", "name"]
    parameters_of_name = {
        "boosting": ["vote", "name"],
        "block-flip": ["rows", "base", "name"],
        "lightgbm": ["grid"],
        "lightgbm-climber": [*habits, "grid"],
        "lightgbm-seeds": ["grid", "name"],
        "copycat": ["share", "name"],
        **dict.fromkeys(("linear", "neighbours", "forest", "network"), habits),
        "sybil": ["of", "teams", "name", "resolve"],
        "program": ["of", "name", "resolve"],
    }
    for competitor in all_competitors():
        parameters = [*inspect.signature(type(competitor)).parameters]
        assert parameters == parameters_of_name.get(competitor.name, ["name"])
        # The display shows each of them but what resolves names.
        displayed_names = re.findall(r"(\w+)=", repr(competitor))
        assert {*displayed_names} == {*parameters, "name"} - {"resolve"}


@pytest.mark.few(3)
@pytest.mark.parametrize(("attack", "metric"), ATTACKS.items())
def test_it_sees_nothing_but_released_scores(attack: str, metric: str) -> None:
    """Other labels on the hidden rows change nothing that it sends."""
    rows = rows_for(metric)
    other = replace(rows, hidden_truth=rows_for(metric, seed=1).hidden_truth)
    played = [
        predictions(
            competitor_named(attack).start(
                own_rows.participation(9, 0.5), np.random.default_rng(2)
            ),
            own_rows,
            9,
        )
        for own_rows in (rows, other)
    ]
    for first, second in zip(*played, strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.few(3)
@pytest.mark.parametrize(("attack", "metric"), ATTACKS.items())
def test_the_end_changes_nothing(attack: str, metric: str) -> None:
    """What is measured on the way does not show in what follows."""
    rows, settings = rows_for(metric), BoardSettings(8)
    mechanism = mechanism_named("kaggle")
    ends = [
        play(competitor_named(attack), mechanism, rows, settings, days, np.random.default_rng(1), 3)
        for days in (range(1, 9), [8])
    ]
    assert ends[0][-1] == ends[1][-1]


@pytest.mark.few(3)
@pytest.mark.parametrize(("attack", "metric"), ATTACKS.items())
def test_its_submissions_are_valid(attack: str, metric: str) -> None:
    rows = rows_for(metric)
    player = competitor_named(attack).start(rows.participation(9, 0.5), np.random.default_rng(2))
    for prediction in predictions(player, rows, 9):
        assert len(prediction) == rows.n_rows
        assert np.isfinite(prediction).all()
        low, high = getattr(rows.metric, "traits", None).prediction_range  # type: ignore[union-attr]
        assert low <= prediction.min() <= prediction.max() <= high


@pytest.mark.parametrize(
    ("attack", "metric", "says"),
    [
        ("multiclass", "rmse", "guesses labels"),
        ("pair-probe", "roc_auc", "mean over rows"),
        ("log-loss-oracle", "accuracy", "log_loss"),
        ("log-loss-oracle", "brier", "log_loss"),
        ("auc-oracle", "accuracy", "roc_auc"),
        ("sybil(of=nobody)", "accuracy", "no competitor 'nobody'"),
        ("sybil(of='sybil(teams=2)')", "accuracy", "no competitor 'sybil'"),
    ],
)
def test_it_says_what_it_needs(attack: str, metric: str, says: str) -> None:
    rows = rows_for(metric)
    with pytest.raises(Exception, match=says):
        competitor_named(attack).start(rows.participation(5, None), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("attack", "mechanism"),
    [("boosting", "kaggle"), ("boosting", "ladder-free"), ("block-flip(rows=16)", "kaggle")],
)
def test_numbers_are_attacked_too(attack: str, mechanism: str) -> None:
    rows = synthetic_rows(metric_named("mae"), 500, 1_500, 2, np.random.default_rng(0))
    settings = BoardSettings(200)
    (end,) = play(
        competitor_named(attack),
        mechanism_named(mechanism),
        rows,
        settings,
        [200],
        np.random.default_rng(1),
        3,
    )
    assert end.final_public < end.fresh - 0.02
    # What is learnt from the public rows is of no use on the hidden ones.
    assert end.fresh > rows.hidden_score(np.ones(1_500)) - 0.01


def test_more_classes_than_two_need_the_attack_for_them() -> None:
    rows = synthetic_rows(metric_named("accuracy"), 40, 40, 3, np.random.default_rng(0))
    with pytest.raises(UsageError, match="multiclass"):
        competitor_named("boosting").start(rows.participation(5, None), np.random.default_rng(0))


@pytest.mark.parametrize(
    "attack", ["boosting(vote=loud)", "block-flip(rows=0)", "sybil(teams=0)", "boosting(votes=1)"]
)
def test_a_wrong_parameter_is_refused(attack: str) -> None:
    with pytest.raises(UsageError):
        competitor_named(attack)


def test_all_are_provided_by_the_plugin() -> None:
    provided = {
        entry.name for entry in manager().competitors if entry.plugin == "arena_competitors"
    }
    assert provided == {competitor.name for competitor in all_competitors()}
    assert not manager().failures


@pytest.mark.slow
def test_many_classes_protect() -> None:
    """The bias falls as 1/m (Feldman, Frostig and Hardt 2019), in the sizes measured here."""
    two, ten = (
        run_attack("multiclass", "kaggle", rows=1000, classes=classes, submissions=100)
        for classes in (2, 10)
    )
    assert two.mean["bias"][-1] > 1.5 * ten.mean["bias"][-1] > 0.03


@pytest.mark.slow
def test_a_sweep_finds_the_best_block() -> None:
    curve = run_attack("block-flip", "kaggle", rows=300, submissions=60, repeats=3)
    alone = {
        rows: run_attack(f"block-flip(rows={rows})", "kaggle", rows=300, submissions=60, repeats=3)
        for rows in (1, 4, 16, 64)
    }
    best = max(alone, key=lambda rows: alone[rows].last_bias)
    assert curve.setting == f"block-flip(rows={best})"
    assert curve.last_bias == alone[best].last_bias


@pytest.mark.slow
def test_block_flip_climbs_and_random_search_hardly_does() -> None:
    climbed, searched = (
        run_attack(name, "kaggle", rows=1000, submissions=300, repeats=3)
        for name in ("block-flip(rows=16)", "random-search")
    )
    assert climbed.last_bias > 2 * searched.last_bias > 0
    # The best of 300 random candidates: sqrt(2 log 300) standard errors at most.
    assert searched.last_bias < np.sqrt(2 * np.log(300)) * 0.5 / np.sqrt(1000) + 0.02


def test_sybil_runs_every_setting_of_the_other_attack() -> None:
    sybil = competitor_named("sybil(of='block-flip', teams=2)")
    assert isinstance(sybil, HasVariants)
    settings = [getattr(variant, "of", None) for variant in sybil.variants()]
    assert settings[:2] == ["block-flip(rows=1)", "block-flip(rows=4)"]
    assert len(settings) == 6


def test_sybil_takes_its_teams_in_turn() -> None:
    rows = rows_for("accuracy")
    player = competitor_named("sybil(of=boosting, teams=3)").start(
        rows.participation(7, None), np.random.default_rng(0)
    )
    teams = []
    for score in (0.5, 0.4, 0.7, 0.6, 0.5, 0.5, 0.5):
        teams.append(player.submit().team)
        player.receive(Feedback(score, None))
    assert teams == [0, 1, 2, 0, 1, 2, 0]
    assert player.finish().team == 2


def test_the_board_in_memory_is_the_hosts() -> None:
    """The same submissions through the parameter-free Ladder, its formula written out."""
    rows = rows_for("accuracy")
    board = PublicBoardRun(mechanism_named("ladder-free"), rows, BoardSettings(30), seed=1)
    player = competitor_named("random-search").start(
        rows.participation(30, None), np.random.default_rng(5)
    )
    shown_loss, best, n = np.inf, np.zeros(40), 40
    for _ in range(30):
        move = player.submit()
        losses = (move.prediction[rows.public] != rows.public_truth).astype(float)
        step = np.std(losses - best, ddof=1) / np.sqrt(n)
        if shown_loss - losses.mean() - (step if np.isfinite(shown_loss) else 0) > 1e-12:
            shown_loss, best = losses.mean(), losses
        assert 1 - board.send(move).score == pytest.approx(shown_loss)


def test_checkpoints_are_even_and_end_at_the_end() -> None:
    for submissions in (1, 7, 40, 41, 400, 701):
        days = checkpoints(submissions)
        assert days[-1] == submissions
        assert len(days) == len(set(days)) == min(submissions, 40)


def test_an_attack_of_somebody_else_plays_too() -> None:
    class Stubborn:
        name = "stubborn"

        def start(self, participation: object, rng: object) -> Player:
            return competitor_named("random-search").start(participation, rng)  # type: ignore[arg-type]

    registry = Registry[Competitor]("competitor")
    registry.add("stubborn", Stubborn(), plugin="theirs")
    assert registry.resolve("stubborn").name == "stubborn"
    assert isinstance(Stubborn(), Competitor)


@dataclass(frozen=True)
class OneArray:
    """Guesses at random; one array for all of its submissions, or a new one for each."""

    again: bool
    name: str = "one-array"

    def start(self, participation: Participation, rng: np.random.Generator) -> Player:
        return OneArrayPlayer(participation.n_rows, rng, self.again)


class OneArrayPlayer:
    def __init__(self, n_rows: int, rng: np.random.Generator, again: bool) -> None:
        self.sent, self.rng, self.again = np.zeros(n_rows, dtype=np.intp), rng, again

    def submit(self) -> Move:
        self.sent[:] = self.rng.integers(0, 2, len(self.sent))
        return Move(self.sent if self.again else self.sent.copy())

    def receive(self, feedback: Feedback) -> None:
        pass

    def finish(self) -> Move:
        return Move(np.zeros_like(self.sent))


def test_an_attacker_may_use_its_array_again() -> None:
    rows = synthetic_rows(metric_named("accuracy"), 60, 180, 2, np.random.default_rng(0))
    plays = [
        play(
            OneArray(again),
            mechanism_named("full"),
            rows,
            BoardSettings(30),
            checkpoints(30),
            np.random.default_rng(1),
            0,
        )
        for again in (True, False)
    ]
    assert plays[0] == plays[1]
    assert plays[0][-1].released > plays[0][-1].released_fresh


@dataclass(frozen=True)
class Counting:
    """A competitor that counts the files that it makes."""

    files: list[int]
    name: str = "counting"

    def start(self, participation: Participation, rng: np.random.Generator) -> Counting:
        return self

    def submit(self) -> Move:
        self.files.append(len(self.files))
        return Move(np.zeros(100, dtype=np.intp))

    def receive(self, feedback: Feedback) -> None:
        pass

    def finish(self) -> Move:
        return Move(np.ones(100, dtype=np.intp))


def test_an_attack_sends_as_many_files_as_its_last_point_says() -> None:
    competitor, rng = Counting([]), np.random.default_rng(0)
    rows, settings = rows_for("accuracy"), BoardSettings(submissions=5)
    points = play(competitor, mechanism_named("full"), rows, settings, (2, 5), rng, 0)
    assert [point.submissions for point in points] == [2, 5]
    assert len(competitor.files) == 5


@pytest.mark.parametrize("attack", ["boosting", "multiclass"])
def test_votes_follow_a_file_that_is_right_on_every_row(attack: str) -> None:
    participation = rows_for("accuracy").participation(10, 0.5)
    player = competitor_named(attack).start(participation, np.random.default_rng(0))
    prediction = player.submit().prediction
    player.receive(Feedback(1.0, None))
    np.testing.assert_array_equal(player.finish().prediction, prediction)


def test_what_every_attack_reaches_is_the_kept_curve() -> None:
    """With few submissions, on each kind of prediction."""
    curves = {}
    for attack, metric, settings in (
        ("multiclass", "accuracy", {"n_classes": 3}),
        ("boosting(vote=signed)", "roc_auc", {}),
        ("auc-oracle", "roc_auc", {}),
        ("log-loss-oracle", "log_loss(clip=0.01)", {}),
        ("pair-probe", "log_loss(clip=0.01)", {}),
        ("random-search", "rmse", {}),
        ("random-search", "log_loss(clip=0.01)", {"n_classes": 3}),
        ("random-search", "accuracy", {"n_classes": 3}),
        ("copycat", "mae", {}),
        ("boosting", "accuracy", {}),
        ("block-flip(rows=4)", "f1", {}),
        ("sybil(of='random-search', teams=3)", "mae", {}),
    ):
        classes = settings.get("n_classes", 2)
        curve = run_attack(
            attack, "kaggle(rounding=0.01)", metric=metric, rows=20, total_rows=50, submissions=7,
            repeats=2, classes=classes,
        )  # fmt: skip
        curves[f"{attack} on {metric}, {classes} classes"] = [
            {
                name: round(cell, 9) if isinstance(cell, float) else cell
                for name, cell in row.items()
            }
            for row in curve.to_rows()[::3]
        ]
    check_kept_document("attack-curves", curves)


@pytest.mark.parametrize(
    ("baseline", "stepped"),
    [
        (None, [0.5, 1, 1.5]),
        ([0.2, 0.6, 0.2], [0.2 - SPREAD, 0.6, 0.2 + SPREAD]),
        ([0.0, 0.0, 0.0], [-0.5, 0, 0.5]),
        ([-2.0, -2.0, -2.0], [-3, -2, -1]),
        (
            [1.75, 1.75, 1.75],
            [0.875, 1.75, 2],
        ),  # 2 is the largest prediction that the metric allows
    ],
)
def test_a_step_is_half_of_what_the_baseline_varies_or_of_its_size(
    baseline: Any, stepped: list[float]
) -> None:
    metric = SimpleNamespace(traits=MetricTraits(prediction_range=(-3.0, 2.0)))
    participation: Any = SimpleNamespace(baseline=baseline, n_rows=3, metric=metric)
    assert Steps(participation).prediction(np.array([-1, 0, 1], dtype=np.int8)) == pytest.approx(
        np.array(stepped)
    )


def test_a_guess_shares_the_rest_among_the_other_classes() -> None:
    guesses = {
        kind: encode(np.array([2, 0]), SimpleNamespace(prediction=kind), 3).tolist()  # type: ignore[arg-type]
        for kind in (PredictionKind.LABEL, PredictionKind.CLASS_PROBABILITIES)
    }
    assert guesses == {
        PredictionKind.LABEL: [2, 0],
        PredictionKind.CLASS_PROBABILITIES: [[0.125, 0.125, 0.75], [0.75, 0.125, 0.125]],
    }
    scores = encode(np.array([1, 0]), SimpleNamespace(prediction=PredictionKind.SCORE), 2)  # type: ignore[arg-type]
    assert scores.tolist() == [1, 0]
