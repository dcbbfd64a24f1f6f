"""How often a metric is called that can only be called as a whole, and on which rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena import PluginManager
from arena.errors import RankingError, UnknownNameError
from arena.evaluation import best_score, bootstrap
from arena.evaluation.bootstrap import Resamples, draw_halves, draw_resamples
from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores
from arena.hookspecs import hookimpl
from arena.interfaces import Deferred, RankSets, Study
from arena.scoring import private_board
from arena.scoring.board import BoardRun
from arena.scoring.private_board import PrivateBoard, RankedRows, Resampling, analyse, study_of
from arena.scoring.settings import BoardSettings
from arena.types import Finding, MetricTraits, PredictionKind, Usage
from counted_progress import CountedProgress

N, M = 40, 3
TRUTH = np.random.default_rng(0).normal(size=N)
SENT = TRUTH + np.random.default_rng(1).normal(size=(M, N)) * np.array([[0.1], [0.5], [1.0]])


@dataclass(frozen=True)
class Mae:
    """The mean absolute error; ``fewest`` distinct rows and ``most`` copies of a row are taken.

    It is undefined without the row ``needed``.
    """

    fewest: int = 0
    most: int = N
    needed: int | None = None
    name: str = "mae_of_rows"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE
    calls: list[int] = field(default_factory=list)

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        self.calls.append(len(truth))
        _, copies = np.unique(truth, return_counts=True)
        if len(copies) < self.fewest or copies.max() > self.most:
            raise ValueError("not these rows")
        if self.needed is not None and TRUTH[self.needed] not in truth:
            raise ValueError("undefined")
        return float(np.average(abs(prediction - truth), weights=weight))


def board(
    metric: Any, resamples: int, **settings: Any
) -> tuple[Study, Resampling, PrivateBoard | None]:
    predictions = ArrayPredictions(SENT)
    chosen = BoardSettings(resamples, workers=1, **settings)
    study, resampling = study_of(
        metric,
        RankedRows(TRUTH, None),
        tuple("abc"),
        np.arange(M),
        predictions,
        full_scores(metric, TRUTH, predictions),
        chosen,
    )
    if resampling.without:
        return study, resampling, None
    return study, resampling, analyse(study, chosen, PluginManager(), resampling.weights)


@pytest.mark.parametrize(
    ("resamples", "intervals", "calls"),
    # one for each score, one for each resample, and one for the rows that it lacks
    [(2, True, M * (1 + 2 + 2)), (7, False, M)],
)
def test_a_metric_is_called_as_often_as_resamples_are_asked_for(
    resamples: int, intervals: bool, calls: int
) -> None:
    metric = Mae()
    _, resampling, analysis = board(metric, resamples, intervals=intervals)
    assert len(metric.calls) == calls
    assert (analysis is not None) == intervals
    assert bool(resampling.without) != intervals


@dataclass(frozen=True)
class Limited(Mae):
    """A metric with a time limit: its calls are announced."""

    traits: MetricTraits = field(default_factory=lambda: MetricTraits(time_limit=1.0))


class LimitedRows(Limited):
    """The same with row values: it is not called as a whole."""

    def row_values(self, truth: Any, predictions: Any) -> Any: ...

    def from_mean(self, mean: Any) -> Any: ...


class Counted(Limited):
    """A metric of sums over cases."""

    def counter(self, truth: Any, prediction: Any) -> Any: ...

    def combine(self, sums: Any) -> Any: ...


PUBLIC = "once for its score, once for its public score"


@pytest.mark.parametrize(
    ("metric", "settings", "calls", "parts"),
    [  # for three submissions of two teams
        (Counted(), BoardSettings(10), 8, f"{PUBLIC}, once for the counts of its cases"),
        (Counted(), BoardSettings(10, intervals=False), 5, PUBLIC),
        (Limited(), BoardSettings(10, intervals=False), 5, PUBLIC),
        (
            Limited(),
            BoardSettings(90),
            545,
            f"{PUBLIC}, 90 times for its intervals and 90 to correct the best score",
        ),
        (
            Limited(),
            BoardSettings(401, full_bootstrap=True),
            2_408,
            f"{PUBLIC}, 401 times for its intervals and 400 to correct the best score",
        ),
        (
            Limited(),
            BoardSettings(91),
            275,
            f"{PUBLIC}, 90 times on parts of the rows for its intervals (182 more if "
            "these do not determine them; up to 500 times on a row or a few alone if it is a mean "
            "over rows)",
        ),
    ],
)
def test_calls_of_a_limited_metric_are_announced(
    metric: Any, settings: BoardSettings, calls: int, parts: str
) -> None:
    announced: list[str] = []
    run: Any = SimpleNamespace(
        metric=metric,
        settings=settings,
        solution=SimpleNamespace(usage=np.array([Usage.PRIVATE, Usage.PUBLIC])),
        progress=SimpleNamespace(say=announced.append),
        _shows_public=True,
    )
    records: Any = [SimpleNamespace(team=team) for team in "aab"]
    BoardRun._announce(run, records)
    BoardRun._announce(run, [])
    for quiet in (Mae(), LimitedRows()):
        run.metric = quiet
        BoardRun._announce(run, records)
    assert announced == [
        f"mae_of_rows is going to be called {calls:,} times for 3 submissions; for each {parts}."
    ]


def test_a_metric_that_takes_no_repeated_row_gets_halves_of_the_rows() -> None:
    metric = Mae(most=1)
    study, resampling, analysis = board(metric, 90)
    assert resampling.halves
    assert resampling.redrawn == 0
    assert not resampling.without
    usual, *_ = board(Mae(), 90)
    spread = study.resampled.std(axis=1, ddof=1)
    assert spread == pytest.approx(usual.resampled.std(axis=1, ddof=1), rel=0.25)
    assert analysis is not None
    assert "rank_low" in analysis.columns


def test_a_metric_that_is_undefined_on_the_first_resamples_still_takes_repeated_rows() -> None:
    seed, missing = next(
        (seed, rows)
        for seed in range(100)
        if (rows := np.flatnonzero(draw_resamples(N, 5, seed).weights.sum(axis=1) == 0)).size
    )
    study, resampling, _ = board(Mae(needed=int(missing[0])), 40, seed=seed)
    assert (resampling.halves, resampling.without) == (False, "")
    assert resampling.undefined >= 5
    assert study.resampled.shape[1] == 40 - resampling.undefined > 10


def test_a_metric_that_is_undefined_on_the_first_halves_still_takes_a_part_of_the_rows() -> None:
    # Each row is in half of the halves, so that one of 32 is in none of the first five.
    halves = draw_halves(N, 5, 0)
    missing = int(np.flatnonzero(halves.sum(axis=1) == 0)[0])
    assert missing > 0  # the row that is left out to see whether the metric takes a part
    study, resampling, _ = board(Mae(most=1, needed=missing), 90)
    assert (resampling.halves, resampling.without) == (True, "")
    assert study.resampled.shape[1] == 90 - resampling.undefined > 10


def test_a_metric_that_takes_each_row_twice_gets_no_halves() -> None:
    assert draw_resamples(N, 10, 0).weights.max(axis=0).min() > 2  # each has a row three times
    _, resampling, _ = board(Mae(most=2), 10)
    assert (resampling.halves, resampling.redrawn) == (False, 0)
    assert resampling.without == "mae_of_rows is undefined on resamples of the 40 ranked rows."


def test_a_metric_that_takes_all_rows_only_keeps_its_scores() -> None:
    metric = Mae(most=1, fewest=N)
    study, resampling, analysis = board(metric, 90)
    assert len(metric.calls) == M + 2 * (5 + 1)
    assert "neither repeated rows nor a part of them" in resampling.without
    assert study.scores == pytest.approx(abs(SENT - TRUTH).mean(axis=1))
    assert analysis is None


def test_a_metric_has_intervals_if_it_is_defined_on_two_resamples() -> None:
    distinct_rows = (draw_resamples(N, 10, 3).weights > 0).sum(axis=0)
    *_, third, second, most = sorted(distinct_rows.tolist())
    assert third < second < most
    without = "mae_of_rows is undefined on resamples of the 40 ranked rows."
    for fewest in (N, most):
        study, resampling, _ = board(Mae(fewest=fewest), 10, seed=3)
        assert (study.resampled.shape, resampling.without) == ((M, 0), without)
    study, resampling, _ = board(Mae(fewest=second), 10, seed=3)
    assert (study.resampled.shape, resampling.undefined) == ((M, 2), 8)
    assert resampling.weights is not None
    assert resampling.weights.shape == (N, 2)


@dataclass(frozen=True)
class Broken:
    """A ranker whose rank sets do not fit, or none."""

    missing: int
    name: str = "simultaneous"

    def rank(self, study: Study) -> RankSets:
        m = len(study.teams) - self.missing
        return RankSets(*np.ones((3, m), dtype=np.intp), np.ones(m, dtype=np.bool_), study.level)


@dataclass(frozen=True)
class Provider:
    """A plugin with one ranker, and analyses."""

    ranker: Any
    analyses: tuple[Any, ...] = ()

    @hookimpl
    def provide_rankers(self) -> list[Any]:
        return [self.ranker]

    @hookimpl
    def provide_analyses(self) -> tuple[Any, ...]:
        return self.analyses


@pytest.mark.parametrize("ranker", [Broken(1), Deferred("simultaneous", "no.such:Module")])
def test_a_ranker_that_fails_is_an_error_of_the_board(ranker: Any) -> None:
    manager = PluginManager(entry_points=False)
    manager.register(Provider(ranker), "mine")
    study, *_ = board(Mae(), 10)
    with pytest.raises(RankingError, match=r"'mine' failed while .*'simultaneous'"):
        analyse(study, BoardSettings(10, workers=1), manager)


@dataclass(frozen=True)
class Verdict:
    """An analysis with a verdict and nothing else."""

    name: str

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        return Finding(self.name, "It is so.", {})


class Stages(CountedProgress):
    """Keeps the stages with the numbers of their steps."""

    def __init__(self) -> None:
        super().__init__()
        self.stages: list[tuple[str, int]] = []

    def start(self, label: str, total: int) -> None:
        self.stages.append((label, total))


def test_ranking_and_each_analysis_are_stages_of_one_step() -> None:
    study, *_ = board(PluginManager().metrics.resolve("mae"), 10)
    manager, progress = PluginManager(entry_points=False), Stages()
    manager.register(Provider(Broken(0), (Verdict("first"), Verdict("second"))), "mine")
    findings = analyse(study, BoardSettings(10, workers=1), manager, progress=progress).findings
    assert [finding.analysis for finding in findings] == ["first", "second"]
    ranking, *of_scores, first, second = progress.stages
    assert ranking == ("Ranking", 1)
    assert first == ("Running the analysis first", 1)
    assert second == ("Running the analysis second", 1)
    assert progress.done == 3 + sum(total for _, total in of_scores)


class Failing:
    """An analysis without a verdict."""

    name = "verdict"

    def run(self, study: Study, rng: np.random.Generator) -> Any:
        raise ValueError


class Undecided(Failing):
    """An analysis that cannot say whether it suits."""

    def suits(self, study: Study) -> bool:
        raise ValueError


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("analysis", "failed_while"),
    [
        (Failing(), "running the analysis 'verdict'"),
        (Undecided(), "asking whether a board suits the analysis 'verdict'"),
    ],
)
def test_the_verdict_of_the_rankers_plugin_belongs_to_the_board(
    analysis: Any, failed_while: str
) -> None:
    """An analysis of another plugin that fails is named, and the board is complete without it."""
    study, *_ = board(Mae(), 10)
    manager = PluginManager(entry_points=False)
    manager.register(Provider(Broken(0), (analysis,)), "mine")
    with pytest.raises(RankingError, match=f"'mine' failed while {failed_while}"):
        analyse(study, BoardSettings(10, workers=1), manager)
    manager = PluginManager(entry_points=False)
    manager.register(Provider(Broken(0)), "mine")
    manager.register(Provider(Broken(0, "other"), (analysis,)), "theirs")
    assert analyse(study, BoardSettings(10, workers=1), manager).study.ranks is not None
    assert [failure.plugin for failure in manager.failures] == ["theirs"]


@dataclass(frozen=True)
class WithScoreIntervals(Broken):
    """A ranker with intervals of the scores."""

    def rank(self, study: Study) -> RankSets:
        low, high = np.array([0.125, 0.0625, 0.75]), np.array([0.5, 0.75, 0.25])
        return replace(super().rank(study), score_low=low, score_high=high)


def test_a_board_has_the_ranks_and_intervals_of_its_ranker_or_none() -> None:
    study, *_ = board(Mae(), 10)
    private_board = analyse(study, BoardSettings(10, workers=1), PluginManager(entry_points=False))
    assert private_board.study.ranks is None
    assert list(private_board.columns) == ["score_low", "score_high"]
    manager = PluginManager(entry_points=False)
    manager.register(Provider(Broken(0)), "mine")
    with pytest.raises(UnknownNameError, match="no ranker 'other'"):
        analyse(study, BoardSettings(10, workers=1, ranker="other"), manager)
    manager = PluginManager(entry_points=False)
    manager.register(Provider(WithScoreIntervals(0)), "mine")
    corrected = analyse(study, BoardSettings(10, workers=1), manager).corrected
    assert (corrected.low, corrected.high) == (0.0625, 0.25)
    assert (corrected.winner_low, corrected.winner_high) == (0.125, 0.5)
    assert corrected.estimate == 0.125  # the best score is the smallest error


@dataclass(frozen=True)
class Withholding(Broken):
    """A ranker whose rank sets are not offered."""

    def rank(self, study: Study) -> RankSets:
        return replace(super().rank(study), not_offered="Too few rows.")


@pytest.mark.parametrize(
    ("teams", "ranker", "told"),
    [
        ("abc", Broken(0), True),
        ("abc", Withholding(0), False),
        ("aba", Broken(0), False),  # any of the two of a team may be its best
        ("aba", Withholding(0), False),
    ],
)
def test_ranks_that_are_offered_tell_who_may_be_first(
    monkeypatch: pytest.MonkeyPatch, teams: str, ranker: Any, told: bool
) -> None:
    mae, predictions = PluginManager().metrics.resolve("mae"), ArrayPredictions(SENT)
    settings, submissions = BoardSettings(10, workers=1), np.arange(M)
    study, _ = study_of(
        mae,
        RankedRows(TRUTH, None),
        tuple(teams),
        submissions,
        predictions,
        full_scores(mae, TRUTH, predictions),
        settings,
    )
    candidates: list[Any] = []

    def corrected_best(*given: Any, may_be_first: Any, **named: Any) -> Any:
        candidates.append(may_be_first)
        return best_score.corrected_best(*given, may_be_first=may_be_first, **named)

    monkeypatch.setattr(private_board, "corrected_best", corrected_best)
    manager = PluginManager(entry_points=False)
    manager.register(Provider(ranker), "mine")
    analyse(study, settings, manager)
    (may_be_first,) = candidates
    assert (None if may_be_first is None else may_be_first.tolist()) == (
        [True] * M if told else None
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("at_once", [0, 3, 10])  # 0: not even one fits, and one is drawn
def test_resamples_are_the_same_however_many_are_drawn_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    mae = PluginManager().metrics.resolve("mae")
    expected, *_ = board(mae, 10)
    monkeypatch.setattr(private_board, "WEIGHT_BYTES", at_once * N)
    monkeypatch.setattr(bootstrap, "_KEPT_BYTES", 0)  # later parts are drawn in place of earlier
    assert np.array_equal(board(mae, 10)[0].resampled, expected.resampled)
    assert expected.resampled.shape == (M, 10)


def test_rows_are_drawn_within_classes_by_cluster_and_until_every_class_occurs() -> None:
    """Twelve rows in six pairs; two rows of the first pair have the rare class."""
    classes, pairs = np.repeat([1, 0], [2, 10]), np.repeat(np.arange(6), 2)
    predictions = ArrayPredictions(np.eye(12)[:M])
    for traits, expected_rows, labels, clusters, stratify in (
        ("", "any rows", True, None, None),
        ("", "within classes", True, None, True),
        ("", "any rows", True, pairs, False),
        ("stratify_by_class", "within classes", True, None, None),
        ("stratify_by_class", "any rows", True, None, False),
        ("stratify_by_class", "any rows", False, None, None),
        ("stratify_by_class", "any rows", True, pairs, None),
        ("needs_every_class", "complete rows", True, None, None),
        ("needs_every_class", "complete rows", True, pairs, None),
        ("needs_every_class", "any rows", False, None, None),
    ):
        metric: Any = Limited(traits=MetricTraits(**({traits: True} if traits else {})))
        rows = RankedRows(classes, ("a", "b") if labels else None, clusters)
        _, resampling = study_of(
            metric, rows, teams=tuple("abc"), submissions=np.arange(M), predictions=predictions,
            scores=full_scores(metric, classes, predictions),
            settings=BoardSettings(40, workers=1, stratify=stratify),
        )  # fmt: skip
        weights, case = resampling.weights, (traits, labels, clusters is not None, stratify)
        assert weights is not None
        of_rare = weights[:2].sum(axis=0)
        is_paired = bool((weights[::2] == weights[1::2]).all())
        assert is_paired == (clusters is not None), case
        assert bool((of_rare == 2).all()) == (expected_rows == "within classes"), case
        assert bool(of_rare.all()) == (expected_rows != "any rows"), case
        assert bool(resampling.redrawn) == (expected_rows == "complete rows"), case


class Worst(Mae):
    """The largest error, which no linear function of the rows approximates."""

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        self.calls.append(len(truth))
        return float(abs(prediction - truth).max())


def test_more_resamples_than_calls_follow_from_parts_of_the_rows_if_these_determine_them() -> None:
    on_parts = 2 * 4  # calls for the first two submissions: is the score the mean of four parts?
    for metric, full_bootstrap, follow, calls in (
        (Mae(), False, True, M * (1 + 40) + on_parts),  # a mean: once on each row
        (Worst(), False, False, M * (1 + 40 + 20 + 121) + on_parts),  # without a row, and on halves
        (Mae(), True, False, M * (1 + 121)),
    ):
        predictions, settings = ArrayPredictions(SENT), BoardSettings(121, workers=1)
        _, resampling = study_of(
            metric, RankedRows(TRUTH, None), teams=tuple("abc"), submissions=np.arange(M),
            predictions=predictions, scores=full_scores(metric, TRUTH, predictions),
            settings=replace(settings, full_bootstrap=full_bootstrap),
        )  # fmt: skip
        jackknife, weights = resampling.jackknife, resampling.weights
        assert (jackknife is None) == full_bootstrap
        assert (jackknife is not None and jackknife.influence is not None) == follow
        assert (weights is None) == follow
        assert len(metric.calls) == calls


@dataclass(frozen=True)
class CountedReads(ArrayPredictions):
    """Predictions that count how often each submission was read."""

    reads: list[int] = field(default_factory=lambda: [0] * M)

    def blocks(self, size: int) -> Iterator[tuple[int, Any]]:
        for start, block in super().blocks(size):
            for position in range(start, start + len(block)):
                self.reads[position] += 1
            yield start, block.copy()


@pytest.mark.parametrize(
    ("at_once", "held_bytes", "reads"),
    [(300, 8 * M * N - 1, 1), (200, 8 * M * N, 1), (200, 8 * M * N - 1, 1 + 3)],
)
def test_predictions_that_fit_into_memory_are_read_once_for_all_parts_of_the_resamples(
    monkeypatch: pytest.MonkeyPatch, at_once: int, held_bytes: int, reads: int
) -> None:
    """Of 200 resamples that fit, 128 are drawn: kernels process so many together."""
    mae, resample_counts = PluginManager().metrics.resolve("mae"), []

    def draw(n_rows: int, resamples: int, *given: Any, **named: Any) -> Resamples:
        resample_counts.append(resamples)
        return draw_resamples(n_rows, resamples, *given, **named)

    monkeypatch.setattr(private_board, "draw_resamples", draw)
    monkeypatch.setattr(private_board, "WEIGHT_BYTES", at_once * N)
    monkeypatch.setattr("arena.evaluation.predictions.HELD_BYTES", held_bytes)
    predictions = CountedReads(SENT)
    study_of(
        mae,
        RankedRows(TRUTH, None),
        tuple("abc"),
        np.arange(M),
        predictions,
        full_scores(mae, TRUTH, ArrayPredictions(SENT)),
        BoardSettings(300, workers=1),
    )
    # One submission is looked at to know whether all fit.
    assert predictions.reads == [reads, *[reads - (reads > 1)] * (M - 1)]
    assert resample_counts == ([300] if at_once == 300 else [128, 128, 44])
