"""The parts of a simulated competition, each held against something computed otherwise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from arena.competition.competition import Competition
from arena.config import Settings
from arena.errors import UnknownNameError, UsageError
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.similar import SimilarSubmissions
from arena.simulation.competition.calendar import FIRST_DAY, calendar, first_day
from arena.simulation.competition.charts import over_time_chart
from arena.simulation.competition.flags import NEAR_COPY, TOO_GOOD, flags_of, floor_was_checked
from arena.simulation.competition.submit import submission_table
from arena.simulation.competition.summary import about_time, about_winner
from arena.simulation.competition.teams import assign_teams, read_kinds
from arena.simulation.competition.true_scores import true_scores
from arena.types import Finding, PredictionKind, Solution, Target
from simulated_competition import few_plugins, held, request


@pytest.fixture(scope="module")
def manager():
    return few_plugins()


def participants(manager, kinds, teams=12):
    return assign_teams(read_kinds(kinds, manager.competitors), teams)


def settings(**limits):
    deadline = limits.pop("deadline", None)
    document = {"metric": {"name": "accuracy"}, "limits": limits}
    return Settings.model_validate({**document, "competition": {"deadline": deadline}})


# -- who takes part, and when ----------------------------------------------------------------------


def test_shares_are_kept_and_names_say_that_they_are_simulated(manager):
    some = participants(
        manager, "random-search=5, copycat=3, block-flip(rows=16)=2, boosting=0", 11
    )
    counts = Counter(participant.kind.specification for participant in some)
    assert counts == {"random-search": 6, "copycat": 3, "block-flip(rows=16)": 2}
    assert all(participant.team().startswith("simulated ") for participant in some)
    assert len({participant.team() for participant in some}) == 11


def test_kinds_that_are_none(manager):
    with pytest.raises(UnknownNameError, match="copycat"):
        read_kinds("copycatt=3", manager.competitors)
    with pytest.raises(UsageError, match="share above 0"):
        read_kinds("copycat=0", manager.competitors)


@pytest.mark.parametrize("limits", [{}, {"per_day": 1}, {"per_day": 4}, {"per_day": 2, "total": 5}])
def test_calendar_keeps_the_limits(manager, limits):
    some = participants(manager, "random-search=6, boosting=2, sybil(teams=3)=1", 9)
    rounds = calendar(some, settings(**limits), 6, seed=3)
    visits = [visit for visits_of_round in rounds for visit in visits_of_round]
    assert [visit.when for visit in visits] == sorted(visit.when for visit in visits)
    assert all(
        len({visit.participant for visit in visits_of_round}) == len(visits_of_round)
        for visits_of_round in rounds
    )
    for participant in some:
        own_visits = [visit for visit in visits if visit.participant == participant.number]
        assert [visit.is_last for visit in own_visits] == [False] * (len(own_visits) - 1) + [True]
        assert len(own_visits) <= limits.get("total", 10**6) * participant.kind.accounts
        by_day = Counter(visit.when.date() for visit in own_visits)
        assert max(by_day.values()) <= limits.get("per_day", 3) * participant.kind.accounts
        if participant.kind.conduct == "attacks" and "total" not in limits:
            assert len(own_visits) == 6 * limits.get("per_day", 3) * participant.kind.accounts


def test_calendar_depends_on_the_seed_alone_and_ends_with_the_deadline(manager):
    some = participants(manager, "random-search=6, boosting=2")
    assert calendar(some, settings(), 6, seed=3) == calendar(some, settings(), 6, seed=3)
    assert calendar(some, settings(), 6, seed=3) != calendar(some, settings(), 6, seed=4)
    assert first_day(settings(), 6) == FIRST_DAY
    deadline = datetime(2026, 3, 9, 12, tzinfo=UTC)
    until = settings(deadline=deadline)
    assert first_day(until, 6) == datetime(2026, 3, 4, tzinfo=UTC)
    times = [
        visit.when
        for visits_of_round in calendar(some, until, 6, seed=3)
        for visit in visits_of_round
    ]
    assert max(times) <= deadline
    assert max(times) > deadline - timedelta(hours=12)
    assert first_day(settings(deadline=datetime(2026, 3, 9, tzinfo=UTC)), 1).day == 8


# -- what was true ---------------------------------------------------------------------------------


def solution(chance, usage):
    import pyarrow as pa

    ids = pa.array([str(row) for row in range(len(usage))])
    classes = ("a", "b") if chance.ndim == 1 else tuple("abc")
    truth = np.zeros(len(usage), dtype=np.intp)
    return Solution(
        id_column="id",
        targets=(Target("y", classes),),
        columns=("y",),
        kind=PredictionKind.LABEL,
        ids=ids,
        truth=truth,
        usage=usage,
        sha256="",
        soft_labels=chance,
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_true_accuracy_is_the_mean_chance_of_the_predicted_labels(manager, n_classes):
    rng = np.random.default_rng(0)
    usage = rng.integers(0, 3, 200).astype(np.uint8)
    chances = rng.multinomial(100, [1 / n_classes] * n_classes, 200) / 100
    soft = chances if n_classes > 2 else chances[:, 1]
    codes = rng.integers(0, n_classes, (5, 200))
    metric = manager.metrics.resolve("accuracy")
    true = true_scores(metric, solution(soft, usage), ArrayPredictions(codes))
    scored = usage != 2
    expected = [chances[scored, assigned[scored]].mean() for assigned in codes]
    assert true == pytest.approx(expected)


def test_true_auc_is_that_of_all_pairs(manager):
    rng = np.random.default_rng(1)
    chance = rng.integers(0, 101, 60) / 100
    scores = rng.normal(size=60).round(1)
    above = (scores[:, None] > scores) + 0.5 * (scores[:, None] == scores)
    pairs = np.outer(chance, 1 - chance)
    metric = manager.metrics.resolve("roc_auc")
    usage = np.ones(60, dtype=np.uint8)
    (score,) = true_scores(metric, solution(chance, usage), ArrayPredictions(scores[np.newaxis]))
    assert score == pytest.approx((pairs * above).sum() / pairs.sum())


@pytest.mark.slow
def test_leaderboard_error_is_that_of_the_equation(manager, tmp_path):
    kinds = "random-search=3, block-flip(rows=5)=2"
    (play,) = held(request(tmp_path / "s", manager, kinds=kinds, mechanisms=["full"]), manager)
    with Competition.open(tmp_path / "s", manager=manager) as competition:
        rows = [row for row in competition.submissions() if row["team"] != "simulated baseline"]
        chance = competition.solution.soft_labels
        submissions = [row["submission"] for row in rows]
        codes = np.concatenate(
            [block for _, block in competition._state.store.predictions(submissions).blocks(8)]
        )
    true = np.where(codes == 1, chance, 1 - chance).mean(axis=1)
    released = np.array([row["released"] for row in rows])
    losses, tops = np.minimum.accumulate(1 - true), np.minimum.accumulate(1 - released)
    assert play.outcome.leaderboard_error == pytest.approx(np.abs(losses - tops).max())
    by_day = [abs(day.shown_best - day.true_best) for day in play.outcome.days]
    assert play.outcome.leaderboard_error_mean == pytest.approx(sum(by_day) / len(by_day))
    assert play.outcome.leaderboard_error_mean < play.outcome.leaderboard_error
    last = play.outcome.days[-1]
    assert (last.shown_best, last.true_best) == pytest.approx((released.max(), true.max()))
    assert last.true_of_leader == pytest.approx(true[released.argmax()])
    assert last.submissions == len(rows) == play.outcome.submissions
    ranked = sorted(play.outcome.teams, key=lambda team: -team.true_score)
    assert [team.true_rank for team in ranked] == sorted(team.true_rank for team in ranked)
    assert play.outcome.best.true_score == ranked[0].true_score
    lost = ranked[0].true_score - play.outcome.winner.true_score
    if play.outcome.degenerate is None:
        assert play.outcome.loss == pytest.approx(0 if play.outcome.best_won else lost)
    else:  # the final labels do not tell these teams from a constant prediction
        assert play.outcome.loss is None
    worst = int(np.abs(losses - tops).argmax())
    received = datetime.fromisoformat(rows[worst]["received"])
    assert f"on day {(received - FIRST_DAY).days + 1}." in about_time(play.outcome)
    (line,) = over_time_chart(play.outcome, "accuracy").specification["layer"]
    assert line["encoding"]["x"]["axis"]["values"] == [1, 2, 3, 4]


@pytest.mark.slow
def test_several_that_are_truly_best_are_told_as_several(manager, tmp_path):
    (play,) = held(request(tmp_path / "s", manager), manager)
    first, *others = play.outcome.teams
    tied = tuple(replace(team, true_rank=1) for team in (first, *others))
    won = about_winner(replace(play.outcome, teams=tied, degenerate=None))
    assert won.startswith(f"One of the {len(tied)} truly best teams won")
    last = (replace(first, true_rank=len(tied), rank=1), *(replace(t, rank=2) for t in tied[1:]))
    lost = about_winner(replace(play.outcome, teams=last, degenerate=None))
    assert lost.startswith(f"None of the {len(tied) - 1} truly best teams won")


@pytest.mark.slow
def test_without_chances_the_truth_is_not_claimed(manager, tmp_path):
    from arena.simulation.competition.setup import data_from_world
    from simulated_competition import WORLD

    world = replace(WORLD, population=replace(WORLD.population, chance=None))
    simulation = request(tmp_path / "s", manager, data=data_from_world(world))
    (play,) = held(simulation, manager)
    document = play.outcome.to_dict()
    assert document["truth"] == "private"
    assert [document[key] for key in ("best", "best_won", "loss")] == [None] * 3
    assert {row["true_score"] for row in document["standings"]} == {None}
    assert play.outcome.leaderboard_error > 0


def test_flags_are_judged_by_who_was_flagged(manager):
    honest, copier, attacker = participants(manager, "random-search, copycat, boosting", 3)
    sybil = participants(manager, "sybil(teams=2)", 1)[0]
    teams = [honest.team(), copier.team(), attacker.team(), sybil.team(), sybil.team(1)]
    competitors = dict(zip(teams, (honest, copier, attacker, sybil, sybil), strict=True))
    standings = [{"submission": number, "team": team} for number, team in enumerate(teams)]
    rows = [{"team": team, "flagged": position in (0, 2)} for position, team in enumerate(teams)]
    findings = [
        Finding("one", "", {"near_copies": [[0, 1], [3, 4]], "submissions": 5}),
        Finding("two", "", {"near_copies": [[0, 1]], "submissions": rows}),
    ]
    flags = {
        (flag.check, flag.team): flag.deserved
        for flag in flags_of(findings, standings, competitors)
    }
    assert floor_was_checked(findings)
    assert not floor_was_checked(findings[:1])
    assert flags == {
        (NEAR_COPY, teams[0]): False,
        (NEAR_COPY, teams[1]): True,
        (NEAR_COPY, teams[3]): True,
        (NEAR_COPY, teams[4]): True,
        (TOO_GOOD, teams[0]): False,
        (TOO_GOOD, teams[2]): True,
    }


def test_a_copy_of_the_baseline_is_flagged(manager):
    honest, copier = participants(manager, "random-search, copycat", 2)
    competitors = {honest.team(): honest, copier.team(): copier}
    pair = SimilarSubmissions(True, (1, 2), ("simulated baseline", copier.team()), 0.0, None)
    (flag,) = flags_of([], [], competitors, [pair, replace(pair, identical=False, differing=0.01)])
    assert (flag.check, flag.team, flag.deserved) == (NEAR_COPY, copier.team(), True)
    assert flag.others == ("simulated baseline",)


@pytest.mark.slow
def test_a_simulated_copycat_is_flagged(manager, tmp_path):
    simulation = request(
        tmp_path / "s", manager, kinds="random-search=4, copycat=1", baseline="random-search"
    )
    (play,) = held(simulation, manager)
    flagged = {flag.team for flag in play.outcome.flags if flag.check == NEAR_COPY}
    assert (
        flagged >= {team.team for team in play.outcome.teams if team.conduct == "copies"} != set()
    )


def test_what_is_sent_is_written_as_it_is():
    data = solution(np.full(3, 0.5), np.ones(3, dtype=np.uint8))
    table = submission_table(np.array([1, 0, 7, 1]), data)
    assert table.to_pydict() == {"id": ["0", "1", "2", "more 0"], "y": ["b", "a", "7", "b"]}
    assert submission_table(np.zeros((3, 2)), data).column_names == ["id", "y", "column 1"]
    below = submission_table(np.array([1, 0, -1]), data)
    assert below["y"].to_pylist() == ["b", "a", "-1"]


def test_labels_that_are_numbers_have_the_codes_of_the_solution(tmp_path):
    from dataclasses import replace

    from arena.intake import read_solution
    from arena.simulation.competition.setup import data_from_world
    from simulated_competition import WORLD

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 240)
    population = replace(WORLD.population, target=codes, chance=None)
    rows = replace(WORLD.rows.training, target=rng.integers(0, 3, 200))
    training = replace(WORLD.rows, training=rows, validation=rows, n_classes=3)
    world = replace(WORLD, population=population, rows=training, classes=("10", "100", "9"))
    data = data_from_world(world)
    data.write(tmp_path / "solution.csv")
    solution = read_solution(tmp_path / "solution.csv", kind=PredictionKind.CLASS_PROBABILITIES)
    assert solution.targets[0].classes == data.classes == ("9", "10", "100")
    assert [("10", "100", "9")[code] for code in codes] == [
        data.classes[code] for code in solution.truth
    ]
    labels = [data.classes[code] for code in data.training.training.target]
    assert labels == [("10", "100", "9")[code] for code in rows.target]
