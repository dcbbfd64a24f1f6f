"""The conformance suite finds what is wrong with an item, and says what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import UsageError
from arena.interfaces import Evaluation, Move, RankSets, Study
from arena.plugin.manager import PluginManager
from arena.simulation.data import Sizes, synthetic_world
from arena.testing import (
    Outcome,
    check_analysis,
    check_competitor,
    check_mechanism,
    check_metric,
    check_ranker,
    competitor_problem,
)
from arena.testing.examples import Guess, MeanAbsolute, Repeat
from arena.types import Finding, MetricTraits, PredictionKind, Release

MANAGER = PluginManager()


@dataclass(frozen=True)
class Pointwise(MeanAbsolute):
    """A metric with everything, to be broken one thing at a time."""

    @property
    def traits(self) -> MetricTraits:
        return MetricTraits(row_range=(0.0, np.inf), score_range=(0.0, np.inf))

    def row_values(self, truth: Any, predictions: Any) -> Any:
        return np.abs(predictions - truth)

    def from_mean(self, mean: Any) -> Any:
        return mean


class Changes(Pointwise):
    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        prediction += 1.0
        return super().score(truth, prediction - 1.0, weight)


class Forgets(Pointwise):
    def __reduce__(self) -> Any:
        raise TypeError("a lock cannot be pickled")


class Orders(Pointwise):
    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        return float(np.abs(truth - prediction)[: len(truth) // 2].mean())


class Wanders(Pointwise):
    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        noise = float(np.random.default_rng().random())
        return super().score(truth, prediction, weight) + noise


def backwards() -> Pointwise:
    return Pointwise(greater_is_better=True)


class Halves(Pointwise):
    def row_values(self, truth: Any, predictions: Any) -> Any:
        return np.abs(predictions - truth) / 2


class Borrows(Pointwise):
    def row_values(self, truth: Any, predictions: Any) -> Any:
        rows = np.abs(predictions - truth)
        return (rows + rows.mean(axis=0)) / 2


class Exaggerates(Pointwise):
    def influence_values(self, truth: Any, predictions: Any) -> Any:
        rows = np.abs(predictions - truth)
        return 2 * (rows - rows.mean(axis=1, keepdims=True))


class Drifts(Pointwise):
    def influence_values(self, truth: Any, predictions: Any) -> Any:
        return np.abs(predictions - truth)


class Draws(Pointwise):
    def resample(self, truth: Any, predictions: Any, weights: Any) -> Any:
        return np.abs(predictions - truth) @ weights / len(truth)


class Tells(Pointwise):
    def score(self, truth: Any, prediction: Any, weight: Any = None) -> Any:
        return str(super().score(truth, prediction, weight))


class Narrow(Pointwise):
    @property
    def traits(self) -> MetricTraits:
        return MetricTraits(row_range=(0.0, 0.01), score_range=(0.0, np.inf))


class Stops(Pointwise):
    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        if np.ptp(truth) == 0:
            raise RuntimeError("all alike")
        return super().score(truth, prediction, weight)


BROKEN = {
    "its arguments": Changes,
    "worker processes": Forgets,
    "the order of the rows": Orders,
    "the same data twice": Wanders,
    "better and worse": backwards,
    "resample": Draws,
    "ordinary data": Tells,
    "undefined on few rows": Stops,
}


@pytest.mark.parametrize("name", BROKEN)
def test_every_mistake_is_found(name: str) -> None:
    failed = {check.name: check.message for check in check_metric(BROKEN[name]()).failed}
    assert name in failed
    assert failed[name]


@pytest.mark.parametrize("broken", [Halves, Borrows, Narrow])
def test_wrong_row_values_are_found(broken: type[Pointwise]) -> None:
    assert "row values" in {check.name for check in check_metric(broken()).failed}


@pytest.mark.parametrize("broken", [Exaggerates, Drifts])
def test_wrong_influence_values_are_found(broken: type[Pointwise]) -> None:
    assert {check.name for check in check_metric(broken()).failed} == {"influence values"}


def test_a_failure_is_told_to_pytest() -> None:
    with pytest.raises(AssertionError, match="mean_absolute does not conform.\nbetter and worse"):
        check_metric(backwards()).require()
    check_metric(Pointwise()).require()


def test_what_is_lacking_says_what_it_costs() -> None:
    conformance = check_metric(MeanAbsolute())
    assert not conformance.failed
    lacking = {check.name: check.message for check in conformance.checks
               if check.outcome is Outcome.LACKING}  # fmt: skip
    assert set(lacking) == {"row values", "influence values", "the cost of a resample"}
    assert "calls for 100 submissions of" in lacking["the cost of a resample"]


LONG = {"concordance_index", "dice", "iou", "map_at_k", "mean_average_precision"}
LONG |= {"forest", "hausdorff", "instance_f1", "panoptic_quality", "network", "surface_dice"}
LONG |= {"bleu", "chrf", "trec_map", "trec_mrr", "trec_ndcg", "trec_recall", "word_error_rate"}
"""What takes seconds each; its own tests are in the default run."""


EXTRA = {"word_error_rate": "rapidfuzz", "bleu": "sacrebleu", "chrf": "sacrebleu"}
"""Metrics that need a package of the extra ``texts``."""


@pytest.mark.few(16)
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(metric, id=metric.name, marks=[pytest.mark.slow] * (metric.name in LONG))
        for metric in MANAGER.metrics
    ],
)
def test_every_metric_of_ours_conforms(entry: Any) -> None:
    pytest.importorskip(EXTRA.get(entry.name, "numpy"))
    check_metric(entry.item).require()


@pytest.mark.parametrize("name", ["sklearn:jaccard_score", "sklearn:median_absolute_error"])
def test_metrics_of_scikit_learn_conform(name: str) -> None:
    check_metric(MANAGER.metrics.resolve(name)).require()


@pytest.mark.few(3)
@pytest.mark.parametrize("entry", tuple(MANAGER.mechanisms), ids=lambda entry: entry.name)
def test_every_mechanism_of_ours_conforms(entry: Any) -> None:
    check_mechanism(entry.item).require()


@pytest.mark.parametrize("entry", tuple(MANAGER.rankers), ids=lambda entry: entry.name)
def test_every_ranker_of_ours_conforms(entry: Any) -> None:
    check_ranker(entry.item).require()


@pytest.mark.parametrize("entry", tuple(MANAGER.analyses), ids=lambda entry: entry.name)
def test_every_analysis_of_ours_conforms(entry: Any) -> None:
    check_analysis(entry.item).require()


METRICS = {"log-loss-oracle": "log_loss", "auc-oracle": "roc_auc", "multiclass": "accuracy"}
"""Of competitors that do not play for accuracy."""
TRAINS = ("linear", "program", "neighbours", "forest", "network")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(
            competitor,
            id=competitor.name,
            marks=pytest.mark.slow if competitor.name in LONG else (),
        )
        for competitor in MANAGER.competitors
    ],
)
def test_every_competitor_of_ours_conforms(entry: Any) -> None:
    metric = MANAGER.metrics.resolve(METRICS.get(entry.name, "accuracy"))
    problem = competitor_problem(metric)
    if entry.name.startswith("lightgbm-") or entry.name in TRAINS:
        world = synthetic_world(Sizes(60, 30, 80), 0)
        problem = competitor_problem(
            metric, submissions=2, training=world.rows,
            test=world.population.features, truth=world.population.target,
        )  # fmt: skip
    conformance = check_competitor(entry.item, problem)
    conformance.require()
    tried = entry.name != "lightgbm"  # which trains models for rank simulations only
    assert (conformance.checks[0].outcome is Outcome.OK) == tried, conformance.checks


@dataclass(frozen=True)
class Flawed(Guess):
    """A competitor with one fault in its player."""

    fault: str = ""

    def start(self, participation: Any, rng: Any) -> Any:
        player = super().start(participation, rng)
        if self.fault == "refuses":
            raise UsageError("flawed needs numbers.")
        if self.fault == "baseline":
            participation.baseline[0] = 1 - participation.baseline[0]
        if self.fault == "wipes":  # the second game finds what the first one left
            participation.baseline[:] = 0
        if self.fault == "breaks":
            raise ValueError("no such file")
        return FlawedPlayer(self.fault, player, participation)


class FlawedPlayer:
    all_sent = 0

    def __init__(self, fault: str, inner: Any, participation: Any) -> None:
        self.fault, self.inner, self.part, self.sent = fault, inner, participation, 0

    def submit(self) -> Move:
        move, self.sent = self.inner.submit(), self.sent + 1
        FlawedPlayer.all_sent += 1
        n_rows, alternating = self.part.n_rows, FlawedPlayer.all_sent % 2
        wrong = {
            "shape": move.prediction[1:],
            "labels": move.prediction + 1,
            "list": move.prediction.tolist(),
            "words": np.full(n_rows, "yes"),
            "alternates": np.full(n_rows, alternating),
            "chance": np.random.default_rng().integers(0, 2, n_rows),
        }
        prediction: Any = wrong.get(self.fault, move.prediction)
        return Move(prediction, team=int(self.fault == "team"))

    def receive(self, feedback: Any) -> None:
        self.inner.receive(feedback)

    def finish(self) -> Move:
        if self.fault == "finish":
            self.inner.submit()
        if self.fault == "short":
            assert self.sent > 1
        return self.inner.finish()

    def known_labels(self) -> Any:
        claimed = np.zeros(self.part.n_rows, dtype=int)
        return claimed if self.fault == "claims" else claimed - 1


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        ("shape", "its submissions"),
        ("labels", "its submissions"),
        ("team", "its submissions"),
        ("list", "its submissions"),
        ("words", "its submissions"),
        ("alternates", "the same seed twice"),
        ("chance", "the same seed twice"),
        ("finish", "finish at any time"),
        ("short", "a single submission"),
        ("baseline", "a game"),
        ("wipes", "a game"),
        ("breaks", "a game"),
        ("claims", "known labels"),
    ],
)
def test_every_mistake_of_a_competitor_is_found(fault: str, name: str) -> None:
    check_competitor(Flawed()).require()
    assert name in {check.name for check in check_competitor(Flawed(fault=fault)).failed}


def test_what_is_no_competitor_fails_in_a_sentence() -> None:
    no_competitor: Any = object()
    (check,) = check_competitor(no_competitor).failed
    assert check.message == "A competitor needs a name and a method start."
    wrong_shape = check_competitor(Flawed(fault="shape")).failed[0]
    assert wrong_shape.message == "A prediction has the shape (119,) for 120 rows."


def test_a_competitor_that_does_not_support_the_problem_is_not_tried() -> None:
    (check,) = check_competitor(Flawed(fault="refuses")).checks
    assert check.outcome is Outcome.NOT_TRIED
    assert "flawed needs numbers. Pass one that it supports." in check.message


class Infinite(Repeat):
    def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
        return Release(evaluation.score, not state, {"best": float("inf")})


class Remembers(Repeat):
    def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
        next_state = {**state, str(evaluation.submission): "x" * 1_000}
        return Release(evaluation.score, not state, next_state)


class Overwrites(Repeat):
    def release(self, state: Mapping[str, Any], evaluation: Evaluation, rng: Any) -> Release:
        state["last"] = evaluation.submission  # type: ignore[index]
        return Release(evaluation.score, improved=True, state=state)


class Gambles(Repeat):
    def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
        chance = float(np.random.default_rng().random())
        return Release(evaluation.score + chance, not state, {})


@dataclass(frozen=True)
class Counts(Repeat):
    seen: list[int] = field(default_factory=list)

    def release(self, state: Any, evaluation: Evaluation, rng: Any) -> Release:
        self.seen.append(evaluation.submission)
        return Release(float(len(self.seen)), not state, {})


@pytest.mark.parametrize(
    ("broken", "name"),
    [
        (Infinite, "a restart"),
        (Remembers, "the size of its state"),
        (Overwrites, "the state it is given"),
        (Gambles, "the same history twice"),
        (Counts, "the same history twice"),
    ],
)
def test_every_mistake_of_a_mechanism_is_found(broken: type[Repeat], name: str) -> None:
    assert name in {check.name for check in check_mechanism(broken()).failed}


@dataclass(frozen=True)
class Counting:
    """An analysis that counts teams."""

    name: str = "counting"
    finding: Finding = field(default_factory=lambda: Finding("counting", "There are teams.", {}))

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        return replace(self.finding, document={"teams": len(study.teams)} | self.finding.document)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"verdict": ""}, "a finding"),
        ({"document": {"x": object()}}, "its document"),
        ({"columns": {"a": [1]}}, "its columns"),
    ],
)
def test_every_mistake_of_an_analysis_is_found(change: dict[str, Any], name: str) -> None:
    check_analysis(Counting()).require()
    broken = Counting(finding=replace(Counting().finding, **change))
    assert name in {check.name for check in check_analysis(broken).failed}


@dataclass(frozen=True)
class Unranked:
    """A ranker that excludes nothing, less what ``change`` makes of it at its next call."""

    change: tuple[tuple[str, Any], ...] = ()
    name: str = "unranked"
    calls: list[int] = field(default_factory=list)

    def rank(self, study: Study) -> RankSets:
        m = len(study.teams)
        self.calls.append(m)
        ones = np.ones(m, dtype=np.intp)
        sets = RankSets(ones, ones * m, ones, ones == 1, study.level)
        if self.change == ():
            return sets
        name, changed = self.change[0]
        return replace(sets, **{name: changed(m, len(self.calls))})


@pytest.mark.parametrize(
    ("attribute", "made", "name"),
    [
        ("low", lambda m, _: np.full(m, m + 1), "its rank sets"),
        ("high", lambda m, _: np.full(m - 1, m), "its rank sets"),
        ("low", lambda m, _: np.full(m, 2), "one claim"),
        ("possible_winner", lambda m, _: np.zeros(m, dtype=np.bool_), "one claim"),
        ("high", lambda m, _: np.ones(m, dtype=np.intp), "the board's ranks"),
        ("tier", lambda m, call: np.full(m, 1 + call), "the same study twice"),
    ],
)
def test_every_mistake_of_a_ranker_is_found(attribute: str, made: Any, name: str) -> None:
    check_ranker(Unranked()).require()
    broken = Unranked(((attribute, made),))
    assert name in {check.name for check in check_ranker(broken).failed}


def test_a_metric_of_texts_needs_an_example_of_its_own() -> None:
    with pytest.raises(Exception, match="give it a method example"):
        check_metric(replace(MeanAbsolute(), prediction=PredictionKind.TEXT))


def test_of_a_file_nothing_can_be_made_up_and_the_way_to_try_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "metric.py"
    path.write_text("def score(solution, submission, row_id_column_name): return 0.5\n")
    with pytest.raises(UsageError, match="try it on your own files with arena score"):
        check_metric(MANAGER.metrics.resolve(f"kaggle:{path}"))
