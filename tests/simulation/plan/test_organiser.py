"""Prize places, drawn competitions and the choice of a metric, each against a direct simulation."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import arena
from arena.errors import InputError, MetricError, UnknownNameError, UsageError
from arena.evaluation.row_weights import metric_on_rows_of
from arena.evaluation.solution_metric import metric_of_outline
from arena.plugin.manager import PluginManager
from arena.report.plan import plan_report
from arena.simulation.plan import pilot as pilot_module
from arena.simulation.plan.drawn import (
    Design,
    DesignFigures,
    Population,
    RandomNumbers,
    draw_competitions,
    populations_of,
    sweep_designs,
)
from arena.simulation.plan.metric_choice import compare_metrics, split_half_agreement
from arena.simulation.plan.organiser import (
    Questions,
    advise_organiser,
    who_may_win,
    win_probability,
)
from arena.simulation.plan.pilot import Pilot, advise
from arena.simulation.plan.places import (
    RankTarget,
    has_ties,
    least_favourable_for,
    rows_until,
    share_right,
)
from arena.simulation.plan.plan import NeededRows, plan_rows
from arena.simulation.plan.plan_function import plan
from arena.simulation.requests import CompetitionPlanRequest
from arena.types import SolutionOutline
from arena.utils.parallel import NoProgress
from program import run_here, write_csv
from study_boards import Accuracy, make_study

TRUE = np.array([0.9, 0.88, 0.87, 0.8, 0.7])


@pytest.mark.parametrize("target", [RankTarget(1, True), RankTarget(3, True), RankTarget(2, False)])
def test_rows_for_places_are_those_of_boards(target):
    rng = np.random.default_rng(0)
    errors = 0.02 * rng.normal(size=(5, 2_000))
    until = rows_until(TRUE[:, None], errors, 100, target)
    for rows in (50, 100, 400):
        boards = TRUE[:, None] + np.sqrt(100 / rows) * errors
        order = np.argsort(-boards, axis=0)[: target.size]
        if not target.ordered:
            order = np.sort(order, axis=0)
        right = (order == np.arange(target.size)[:, None]).all(axis=0)
        assert (until <= rows).mean() == pytest.approx(right.mean(), abs=1e-9)
        share = share_right(TRUE, np.sqrt(100 / rows) * errors, target)
        assert share == pytest.approx(right.mean(), abs=1e-9)


def test_equal_submissions_take_a_place_by_chance():
    errors = 0.01 * np.random.default_rng(0).normal(size=(4, 4_000))
    true = np.array([0.0, 0.0, 0.0, -9.0])
    assert share_right(true, errors, RankTarget(1, True)) == pytest.approx(1 / 3)
    assert share_right(true, errors, RankTarget(2, True)) == pytest.approx(1 / 6)
    assert share_right(true, errors, RankTarget(2, False)) == pytest.approx(1 / 3)
    assert share_right(-true, errors, RankTarget(2, True)) == pytest.approx(1 / 3)
    assert share_right(-true, errors, RankTarget(3, False)) == pytest.approx(1 / 3)
    assert has_ties(true, RankTarget(2, False))
    assert not has_ties(true, RankTarget(3, False))
    assert has_ties(true, RankTarget(3, True))


def test_the_least_favourable_case_of_a_set_is_at_its_edge():
    errors = 0.1 * np.random.default_rng(0).normal(size=(4, 500))
    scores = np.array([9.0, 8.9, 5.0, 4.9])
    case = least_favourable_for(scores, errors, RankTarget(3, False), 3.0)
    assert case[2] == case[3] == 0.0
    assert (case[:2] > 3).all()


def test_drawn_competitions_are_those_played_out():
    """The best of k submissions by regression, against k submissions drawn one by one."""
    rng = np.random.default_rng(0)
    teams, k, n_public, n_private, within, spread, error = 15, 8, 200, 400, 0.5, 0.02, 0.4
    population = Population(np.array([0.8]), np.ones(1), spread, error)
    design = Design(teams, n_private, n_public, k)
    numbers = RandomNumbers.of(teams, 4_000, rng)
    (shares,) = draw_competitions(population, within, [design], numbers)
    wins, overstated, losses = [], [], []
    for _ in range(1_500):
        team = 0.8 + spread * rng.normal(size=(teams, 1))
        true = team + within * spread * rng.normal(size=(teams, k))
        common = np.sqrt(1 - within**2) * error * rng.normal(size=(teams, 1))
        own = within * error * rng.normal(size=(teams, k))
        public = true + (common + own) / np.sqrt(n_public)
        chosen = public.argmax(axis=1)
        public_scores, truth = (
            scores_of_boards[np.arange(teams), chosen] for scores_of_boards in (public, true)
        )
        private = truth + error / np.sqrt(n_private) * rng.normal(size=teams)
        winner = truth[private.argmax()]
        wins.append(winner == truth.max())
        losses.append(truth.max() - winner)
        overstated.append((public_scores - truth)[public_scores.argmax()])
    assert shares["best_wins"] == pytest.approx(np.mean(wins), abs=0.04)
    assert shares["loss"] == pytest.approx(np.mean(losses), abs=0.001)
    assert shares["overstatement"] == pytest.approx(np.mean(overstated), abs=0.0015)


def test_few_submissions_do_not_make_errors_look_small(monkeypatch):
    monkeypatch.setattr("arena.simulation.plan.drawn.SCENARIOS", 0)
    rng = np.random.default_rng(0)
    errors = 0.5 / np.sqrt(100) * rng.normal(size=(3, 4_000)) + rng.normal(size=4_000)  # + shared
    points, _ = populations_of(np.array([0.7, 0.8, 0.9]), errors, 100, rng)
    assert [point.error for point in points] == pytest.approx([0.5, 0.5], rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("submissions", "expected"), [(4, 3.73), (40, 1.28)])
def test_the_spread_of_true_scores_is_as_uncertain_as_few_submissions_leave_it(
    submissions, expected, monkeypatch
):
    """The 97.5% quantile of the drawn spread is that of the chi-square distribution."""
    monkeypatch.setattr("arena.simulation.plan.drawn.SCENARIOS", 4_000)
    monkeypatch.setattr("arena.simulation.plan.drawn._estimated", lambda *_: [None] * 3)
    rng = np.random.default_rng(0)
    scores, errors = rng.normal(size=submissions), 1e-6 * rng.normal(size=(submissions, 50))
    _, (normal, *_) = populations_of(scores, errors, 100, rng)
    spreads = np.array([population.spread for population in normal]) / np.std(scores, ddof=1)
    assert np.quantile(spreads, 0.975) == pytest.approx(expected, rel=0.07)
    assert spreads.min() < 1 < spreads.max()


def test_one_kind_of_population_has_a_long_upper_tail():
    rng = np.random.default_rng(0)
    scores, errors = rng.normal(size=8), 0.01 * rng.normal(size=(8, 400))
    kinds = populations_of(scores, errors, 100, rng)[1]
    normal, tailed = kinds[0][0], kinds[-1][0]
    assert tailed.spread == pytest.approx(normal.spread, rel=0.01)
    drawn = tailed.true_scores(rng.random(100_000), rng.standard_normal(100_000))
    assert drawn.mean() == pytest.approx(normal.centres[0], abs=0.02 * normal.spread)
    assert drawn.std() == pytest.approx(normal.spread, rel=0.02)
    assert stats.skew(drawn) == pytest.approx(1.14, abs=0.1)  # of Gumbel's distribution


@pytest.mark.slow
def test_standard_errors_of_few_groups_are_drawn():
    rng = np.random.default_rng(0)
    scores, errors = rng.normal(size=8), 0.01 * rng.normal(size=(8, 400))
    few, many = (
        populations_of(scores, errors, 100, rng, degrees_of_freedom=degrees)[1][0]
        for degrees in (3.0, 1e6)
    )
    drawn = np.array([population.error for population in many])
    assert 0.02 < drawn.std() / drawn.mean() < 0.055  # by 400 resamples: 1 / sqrt(2 * 399)
    assert max(population.error for population in few) > 1.5 * many[0].error


@pytest.mark.parametrize("sign", [1, -1])
def test_drawn_scores_stay_within_the_range_of_the_metric(sign):
    """A single public row, and scores near the end of the range."""
    bounds = (0.0, 1.0) if sign == 1 else (-1.0, 0.0)
    population = Population(np.array([bounds[1] - 0.02]), np.ones(1), 0.05, 0.5, bounds)
    design = Design(30, 20, 1, 150)
    numbers = RandomNumbers.of(30, 200, np.random.default_rng(0))
    (bounded,), (free,) = (
        draw_competitions(drawn_from, 0.5, [design], numbers)
        for drawn_from in (population, replace(population, bounds=(-np.inf, np.inf)))
    )
    assert free["overstatement"] > 1
    assert 0 <= bounded["overstatement"] <= 0.1
    assert {**bounded, "overstatement": 0} == {**free, "overstatement": 0}
    assert population.outside == pytest.approx(0.345, abs=0.005)


@pytest.mark.slow
def test_a_sweep_is_paired_and_says_what_it_does_not_show():
    rng = np.random.default_rng(0)
    scores = 0.8 + 0.02 * rng.normal(size=20)
    errors = 0.005 * rng.normal(size=(20, 200))
    populations = populations_of(scores, errors, 1_000, rng)
    assert populations[0][0].spread == pytest.approx(np.std(scores, ddof=1), rel=0.1)
    designs = [Design(20, rows, 400, 10) for rows in (100, 1_000, 1_001)]
    swept = {"rows": ([100, 1_000, 1_001], designs)}
    (sweep,) = sweep_designs(swept, populations, 0.5, 0.95, 0)
    few, many, same = sweep.designs
    assert few.shown_worse
    assert [many.shown_worse, same.shown_worse] == [False, False]
    assert few.low["best_wins"] <= few.point["best_wins"] <= few.high["best_wins"]
    assert few.point["loss"] > many.point["loss"]


@pytest.mark.parametrize(
    ("share", "contenders"), [((0.1, 0.8), (1.0, 9.0)), ((0.01, 0.9), (1.0, 48.0))]
)
def test_a_range_that_says_nothing_is_no_answer(share, contenders):
    ranges = {"best_wins": share, "contenders": contenders, "loss": (-2e-6, 0.034)}
    low, high = ({name: ends[end] for name, ends in ranges.items()} for end in (0, 1))
    point = {"best_wins": 0.314, "contenders": 7.0, "loss": 6.2e-5}
    figures = DesignFigures(Design(50, 800, 343, 150), 800.0, point, low, high, False)
    is_known = share[0] == 0.1
    assert ("31.4%" in win_probability(figures), "7 teams" in who_may_win(figures)) == (
        is_known,
        is_known,
    )
    assert figures.texts("loss") == ("0.000", "0.000", "0.034")


def without_answers(sweep):
    """Return the sweep with an interval of the chance to win that says nothing."""
    return replace(
        sweep,
        designs=tuple(
            replace(
                design,
                low={**design.low, "best_wins": 0.0},
                high={**design.high, "best_wins": 1.0},
            )
            for design in sweep.designs
        ),
    )


@pytest.mark.slow
def test_answers_name_every_question():
    rng = np.random.default_rng(0)
    scores = 0.8 + 0.02 * rng.normal(size=12)
    resampled = scores[:, None] + 0.005 * rng.normal(size=(12, 200))
    row_plan = plan_rows(scores, resampled, 1_000, greater_is_better=True, test_rows=[1_000], top=5)
    questions = Questions(2_000, team_counts=(10, 50), private_rows=(500, 1_000))
    advice = advise_organiser(
        row_plan,
        scores,
        resampled,
        questions,
        metric="accuracy",
        greater_is_better=True,
        score_range=(0.0, 1.0),
        mechanism="ladder-free(noise=2)",
        groups=100,
        metrics=compare_metrics({"accuracy": np.full(25, 0.5), "f1": np.full(25, 0.4)}, 0.95, 12),
    )
    answers = dict(advice.answers())
    assert "set of the top 5" in answers["How many private rows?"]
    assert "arena init chooses ladder-free(noise=2)" in answers["Which mechanism?"]
    assert "Shown to be lower: f1" in answers["Which metric?"]
    assert "the pilot's 1,000 rows are 100 groups" in " ".join(advice.assumptions())
    assert "1,400 private and 600 public rows" in advice.paragraph()
    assert {row.decision for row in advice.decisions()} >= {"public share", "mechanism"}
    unknown = replace(advice, sweeps=tuple(map(without_answers, advice.sweeps)))
    assert unknown.headline().endswith("of an earlier edition (--like).")
    assert replace(unknown, like=("board",)).headline().endswith("would narrow this range.")
    for high, is_answer in ((900, True), (20_000, False), (None, False)):
        needed = (NeededRows(0.9, 300.0, 310.0, 100, high),)
        answered = replace(advice, plan=replace(row_plan, best_wins_rows=needed, targets=()))
        rows = dict(answered.answers())["How many private rows?"]
        assert ("300 under a normal prior" in rows) is is_answer
        assert ("90% would need" in answered.paragraph()) is is_answer
        section = next(section for section in plan_report(answered).sections if section.charts)
        (cells,) = section.tables[0].rows
        assert cells[2:4] == (("300", "310") if is_answer else ("", ""))
    rows_section = next(section for section in plan_report(advice).sections if section.charts)
    _, bands = rows_section.charts[0].specification["layer"]
    assert len({row["what"] for row in bands["data"]["values"]}) == 4
    assert all(row["low"] <= row["high"] for row in bands["data"]["values"])
    document = advice.to_dict()
    assert [sweep["name"] for sweep in document["sweeps"]] == [
        "public_share", "per_day", "rows", "teams",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"public_share": 1.0}, {"teams": 1}, {"within": 2.0}, {"per_day": 0}]
)
def test_questions_out_of_range(change):
    with pytest.raises(UsageError):
        Questions(1_000, **change)
    with pytest.raises(UsageError, match="at least 2 rows"):
        Questions(1)


def test_the_best_metric_is_compared_as_one_selected_on_the_same_splits():
    rng = np.random.default_rng(0)
    agreements = {
        f"m{number}": 0.5 + 0.03 * number + rng.normal(0, 0.01, 25) for number in range(4)
    }
    best, second = (agreements_found := compare_metrics(agreements, 0.95, 12))[:2]
    lost = agreements[best.metric] - agreements[second.metric]
    statistic = lost.mean() / np.sqrt((1 / 25 + 1) * lost.var(ddof=1))
    assert second.p == pytest.approx(min(1, 6 * 2 * stats.t.sf(statistic, 24)))
    assert 0 < second.p < 1
    assert [agreement.metric for agreement in agreements_found] == ["m3", "m2", "m1", "m0"]


def agreement_of_halves(first, second):
    """Kendall's tau of two rankings without ties, over the last axis."""
    winners, losers = np.triu_indices(first.shape[-1], 1)
    same = (first[..., winners] > first[..., losers]) == (
        second[..., winners] > second[..., losers]
    )
    return 2 * same.mean(axis=-1) - 1


@pytest.mark.few(4)
@pytest.mark.parametrize("spread", [0.0, 1.0, 4.0, 8.0])
@pytest.mark.parametrize("m", [2, 3, 5, 12])
def test_intervals_of_tau_hold_over_pilots(m, spread):
    """Pilots of m submissions whose true scores are spread over so many standard errors."""
    rng, true = np.random.default_rng(m), spread * np.linspace(0, 1, m)
    halves = true + np.sqrt(2) * rng.normal(size=(2, 4_000, m))
    truth, held = agreement_of_halves(*halves).mean(), []
    for _ in range(150):
        pilot, split = true + rng.normal(size=m), rng.normal(size=(25, m))
        taus = agreement_of_halves(pilot + split, pilot - split)
        (agreement,) = compare_metrics({"rmse": taus}, 0.95, m)
        assert -1 <= agreement.tau_low <= agreement.tau <= agreement.tau_high <= 1
        held.append(agreement.tau_low <= truth <= agreement.tau_high)
    assert np.mean(held) >= 0.9


def test_few_submissions_that_always_agree_show_no_metric_to_be_worse():
    agreements = {"mae": np.ones(25), "rmse": np.full(25, 1 / 3)}
    assert not any(
        compare_metric.shown_worse for compare_metric in compare_metrics(agreements, 0.95, 3)
    )
    assert compare_metrics(agreements, 0.95, 5)[1].shown_worse


def test_a_plan_leaves_no_plugin_behind():
    manager = PluginManager(entry_points=False)
    for _ in range(2):
        with pytest.raises(UnknownNameError):
            plan("none.csv", ["none"], "roc_auc", manager=manager)
    assert manager.plugins == ()


@pytest.mark.parametrize("name", ["public_share", "per_day", "teams"])
def test_a_plan_needs_a_value_of_each(name):
    with pytest.raises(UsageError, match="at least one"):
        plan("none.csv", ["none"], "roc_auc", **{name: ()})


@pytest.mark.parametrize("name", ["rows", "per_day", "teams"])
@pytest.mark.parametrize("value", [10.5, float("nan")])
def test_what_counts_is_whole(name, value):
    with pytest.raises(UsageError, match="whole numbers"):
        plan("none.csv", ["none"], "roc_auc", **{name: [10, value]})


def answers(n_rows, **right):
    """Return labels of two classes and, for each name, answers right with this probability."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=n_rows)
    predictions = {
        name: np.where(rng.random(n_rows) < share, truth, 1 - truth).tolist()
        for name, share in right.items()
    }
    return truth.tolist(), predictions


@pytest.mark.slow
def test_one_value_needs_no_list(files):
    truth, predictions = answers(100, a=0.9, b=0.7)
    solution, (first, second) = files(truth, predictions)
    single = {"rows": 200, "public_share": 0.2, "per_day": 3, "teams": 5, "metrics": "mcc"}
    listed = {name: [value] for name, value in single.items()}
    folder = first.parent / "files"
    folder.mkdir()
    for path in (first, second):
        path.rename(folder / path.name)
    documents = [
        plan(str(solution), submissions, "accuracy", resamples=20, **values).to_dict()
        for submissions, values in ((str(folder), single), ([folder], listed))
    ]
    assert documents[0] == documents[1]


@pytest.fixture
def ask():
    """Make a plan from a pilot's predictions."""

    def ask(metric, truth, predictions, **changes):
        metric = PluginManager().metrics.resolve(metric)
        study = make_study(metric, truth, predictions)
        few = {"public_share": (0.3,), "per_day": (5,), "teams": (5,), "rows": (100,)}
        pilot = Pilot(study, metric.name, None, "full", {}, ())
        return advise(pilot, CompetitionPlanRequest(**(few | changes)), NoProgress())

    return ask


@pytest.mark.slow
def test_submissions_that_differ_by_a_constant_leave_nothing_to_plan(ask):
    truth = np.random.default_rng(0).normal(size=60)
    with pytest.raises(InputError, match="nothing to plan"):
        ask("rmse", truth, truth + 0.1 * np.arange(1, 5)[:, None])


@pytest.mark.slow
def test_an_attack_gains_no_more_than_the_range_of_the_metric(ask):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    predictions = np.where(
        rng.random((6, 60)) < 0.6 + 0.05 * np.arange(6)[:, None], truth, 1 - truth
    )
    few, many = (ask("accuracy", truth, predictions, total_rows=rows) for rows in (20, 20_000))
    assert few.mechanics.attack_bias <= 0.5
    assert "find out nearly every label of 6 public rows" in dict(few.answers())["Which mechanism?"]
    assert many.mechanics.attack_bias < 0.1
    assert "by about 0.0" in dict(many.answers())["Which mechanism?"]
    for sweep in few.sweeps:
        for design in sweep.designs:
            assert -1 <= design.low["overstatement"] <= design.high["overstatement"] <= 1


@pytest.mark.slow
def test_a_perfect_submission_does_not_put_a_point_outside_its_interval(ask):
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=400)
    others = np.where(rng.random((3, 400)) < 0.8, truth, 1 - truth)
    plan = ask("accuracy", truth, np.vstack([truth, others])).plan
    for one in (*plan.best_wins_rows, *(need for target in plan.targets for need in target.needed)):
        for point in (one.test_rows, one.nonparametric):
            if point is not None:
                assert one.low <= point <= (np.inf if one.high is None else one.high)


def test_rows_of_one_group_say_nothing_about_others():
    truth = np.arange(40) % 2
    predictions = np.array(
        [np.where(np.arange(40) < right, truth, 1 - truth) for right in (38, 30)]
    )
    study = make_study(Accuracy(), truth, predictions, clusters=np.zeros(40, int))
    pilot = Pilot(study, "accuracy", None, "full", {}, ())
    with pytest.raises(InputError, match="in one group"):
        advise(pilot, CompetitionPlanRequest(), NoProgress())


@pytest.fixture
def files(tmp_path):
    """Write a solution and the submissions of a pilot; returns the arguments of ``plan``."""

    def write(truth, submissions, weight=None):
        extra = [] if weight is None else ["w"]
        values = [truth] if weight is None else [truth, weight]
        rows = [(number, *own) for number, own in enumerate(zip(*values, strict=True))]
        write_csv(tmp_path / "solution.csv", ["id", "y", *extra], rows)
        for name, own in submissions.items():
            write_csv(tmp_path / f"{name}.csv", ["id", "y"], list(enumerate(own)))
        return tmp_path / "solution.csv", [tmp_path / f"{name}.csv" for name in submissions]

    return write


@pytest.mark.slow
def test_a_class_of_one_row_leaves_nothing_to_plan(files):
    rng = np.random.default_rng(0)
    truth = (np.arange(60) < 1).astype(int).tolist()
    pilot = files(truth, {name: (truth + rng.normal(size=60)).tolist() for name in "abc"})
    with pytest.raises(InputError, match="One class of the pilot has a single row"):
        plan(*pilot, "roc_auc", resamples=50)


@pytest.mark.slow
def test_the_rows_of_the_rarest_class_count_as_on_a_board(files):
    rng = np.random.default_rng(0)
    truth = (np.arange(400) < 6).astype(int).tolist()
    pilot = files(truth, {name: (truth + rng.normal(size=400)).tolist() for name in "abcd"})
    row_plan = plan(*pilot, "roc_auc", resamples=300, rows=[400, 40_000], seed=1).plan
    assert row_plan.degrees_of_freedom <= 5
    # A board of 12 ordered pairs decides nothing with less than log2(12 / 0.05) = 7.9 positives.
    few, many = (row.interval_width for row in row_plan.rows)
    assert few == 3 > many


def test_a_plan_reads_the_rows_that_it_is_told_to(files, monkeypatch):
    truth, predictions = answers(80, a=0.9, b=0.7, c=0.6)
    solution, submissions = files(truth, predictions)
    header, *rows = solution.read_text().splitlines()
    usage = [f"{row},{'Public' if n < 30 else 'Private'}" for n, row in enumerate(rows)]
    solution.write_text("\n".join([f"{header},Usage", *usage, ""]))
    pilots = []

    def keep(pilot, *_):
        pilots.append(pilot)
        raise UsageError("it was read")

    monkeypatch.setattr(pilot_module, "advise", keep)
    for options in ({}, {"split": "public"}, {"split": "all"}):
        with pytest.raises(UsageError, match="it was read"):
            plan(solution, submissions, "accuracy", resamples=50, **options)
    assert [len(pilot.study.truth) for pilot in pilots] == [50, 30, 80]


@pytest.mark.slow
def test_copies_of_the_best_are_one_submission_and_rejected_files_are_named(files):
    truth, predictions = answers(200, a=0.9, b=0.7, c=0.6)
    pilot = files(truth, {**predictions, "copy": predictions["a"], "wrong": ["maybe"] * 200})
    planned = plan(*pilot, "accuracy", resamples=50)
    assert (planned.plan.submissions, planned.plan.copies) == (3, 1)
    assert planned.notes[0].startswith("wrong.csv is rejected and left out: 'maybe' is not a label")
    perfect = files(truth, {"a": truth, "b": predictions["b"], "c": truth})
    with pytest.raises(InputError, match="2 of 3 submissions share the best score, 1"):
        plan(*perfect, "accuracy", resamples=50)
    nothing = files(truth, {"wrong": ["maybe"] * 200})
    with pytest.raises(InputError, match=r"nothing to plan with\. wrong\.csv is rejected"):
        plan(*nothing, "accuracy", resamples=50)


@pytest.mark.slow
def test_a_plan_takes_the_options_of_a_score(files, tmp_path):
    truth, predictions = answers(200, a=0.9, b=0.7, c=0.6)
    files(truth, predictions, weight=(1 + np.arange(200) % 3 * 4).tolist())
    command = ("plan", "solution.csv", "a.csv", "b.csv", "c.csv", "-m", "accuracy")
    options = ("--target", "y", "--resamples", 50, "--json")
    plain, weighted = (
        json.loads(run_here(*command, *options, *more, cwd=tmp_path).stdout)
        for more in ((), ("--weight", "w", "--split", "all", "--no-stratify"))
    )
    assert weighted["standard_error"] > 1.05 * plain["standard_error"]
    assert weighted["degrees_of_freedom"] < plain["degrees_of_freedom"]
    refused = run_here("plan", "--weight", "w", cwd=tmp_path)
    assert refused.returncode == 2
    assert "does not use --weight: omit it" in " ".join(refused.stderr.split())


def competition_boards(kind, rng, teams=30):
    """True scores of teams of three kinds, larger is better."""
    if kind == "normal":
        return 0.8 + 0.01 * rng.normal(size=teams)
    if kind == "long tail":
        return 0.82 - 0.01 * rng.exponential(1.0, teams)
    if kind == "outstanding":
        return 0.8 + 0.01 * rng.gumbel(size=teams)
    crowd = rng.random(teams) < 0.5
    return np.where(
        crowd, 0.82 + 0.001 * rng.normal(size=teams), 0.79 + 0.01 * rng.normal(size=teams)
    )


@pytest.mark.slow
@pytest.mark.parametrize("submissions", [6, 30])
@pytest.mark.parametrize("kind", ["normal", "long tail", "crowded top", "outstanding"])
def test_drawn_competitions_hold_over_pilots(kind, submissions):
    """The interval of the chance to win holds that of new teams of the same kind."""
    rng = np.random.default_rng(0)
    n, error = 1_000, 0.25
    design, held = Design(30, 2_000, 1, 1), []
    boards = np.stack([competition_boards(kind, rng) for _ in range(2_000)], axis=1)
    private = boards + error / np.sqrt(design.private_rows) * rng.normal(size=boards.shape)
    truth = (private.argmax(axis=0) == boards.argmax(axis=0)).mean()
    for pilot in range(15):
        rng = np.random.default_rng(pilot)
        true = competition_boards(kind, rng, submissions)
        scores = true + error / np.sqrt(n) * rng.normal(size=submissions)
        errors = error / np.sqrt(n) * rng.normal(size=(submissions, 200))
        populations = populations_of(scores, errors, n, rng)
        (sweep,) = sweep_designs({"rows": ([1], [design])}, populations, 0.0, 0.95, pilot)
        (design_shares,) = sweep.designs
        held.append(
            design_shares.low["best_wins"] - 0.01 <= truth <= design_shares.high["best_wins"] + 0.01
        )
    assert np.mean(held) >= 0.8


@pytest.mark.slow
def test_the_function_answers_as_the_command_does(tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    for name, share in (("solution", 1), ("a", 0.9), ("b", 0.85), ("c", 0.7)):
        labels = np.where(rng.random(300) < share, truth, 1 - truth)
        write_csv(tmp_path / f"{name}.csv", ["id", "y"], list(enumerate(labels.tolist())))
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    advice = arena.plan(
        tmp_path / "solution.csv", files, "accuracy",
        rows=[200, 400], per_day=[2, 4], teams=[5, 10], days=3, metrics=["mcc"], resamples=50,
        seed=3,
    )  # fmt: skip
    printed = run_here(
        "plan", "solution.csv", "a.csv", "b.csv", "c.csv", "-m", "accuracy", "--rows", "200,400",
        "--per-day", "2,4", "--teams", "5,10", "--days", 3, "--metrics", "mcc",
        "--resamples", 50, "--seed", 3, "--json", cwd=tmp_path,
    )  # fmt: skip
    document = json.loads(printed.stdout)
    assert document == advice.to_dict()
    assert [metric.metric for metric in advice.metrics] in (
        ["mcc", "accuracy"],
        ["accuracy", "mcc"],
    )
    with pytest.raises(UsageError, match="needs submissions and metric="):
        arena.plan(tmp_path / "solution.csv")
    with pytest.raises(UsageError, match="total_rows takes whole numbers from 2, not 0"):
        arena.plan(tmp_path / "solution.csv", files, "accuracy", total_rows=0, resamples=50)


def test_metrics_of_scores_and_labels_are_compared_on_probabilities():
    metrics, rng = PluginManager().metrics, np.random.default_rng(0)
    truth = rng.integers(2, size=80)
    signal = 2 * truth - 1 + rng.normal(size=(6, 80))
    predictions = 1 / (1 + np.exp(-signal))
    brier, auc, accuracy = (metrics.resolve(name) for name in ("brier", "roc_auc", "accuracy"))
    probable = replace(make_study(brier, truth, predictions), classes=("no", "yes"))
    labels = make_study(accuracy, truth, (predictions >= 0.5).astype(int))
    for metric, direct in ((auc, make_study(auc, truth, predictions)), (accuracy, labels)):
        agreement, expected = (
            split_half_agreement(study, metric, np.random.default_rng(1))
            for study in (probable, direct)
        )
        assert (agreement == expected).all()
        assert (np.abs(agreement) > 0).any()
    with pytest.raises(MetricError, match=r"hold score\. If they are probabilities"):
        split_half_agreement(make_study(auc, truth, predictions), brier, rng)


def test_metrics_are_compared_under_the_weights_of_the_rows():
    metrics, rng = PluginManager().metrics, np.random.default_rng(0)
    truth, predictions = np.zeros(60, int), rng.integers(2, size=(5, 60))
    weights = rng.integers(1, 5, 60).astype(float)
    outline = SolutionOutline(n_public=0, classes=(("0", "1"),), weighted=True)
    weighted = replace(metric_of_outline(metrics.resolve("f1"), outline), weights=weights)
    metric = metric_on_rows_of(metrics.resolve("accuracy"), weighted, 1)
    right = (predictions == truth) @ weights / weights.sum()
    assert metric.score(truth, predictions[0]) == pytest.approx(right[0])
    agreement = split_half_agreement(make_study(weighted, truth, predictions), metric, rng)
    assert agreement.shape == (25,)
    with pytest.raises(MetricError, match="takes no row weights"):
        metric_on_rows_of(metrics.resolve("sklearn:max_error"), weighted, 1)
    with pytest.raises(MetricError, match="needs more than the truth of each row"):
        metric_on_rows_of(metrics.resolve("ndcg_at_k"), weighted, 1)
