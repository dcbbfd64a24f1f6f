"""The suites find each mistake of a plugin, and the plugins of arena make none of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import arena_bayes_error
import arena_competitors
import arena_mechanisms
import arena_metrics
import arena_ranking
import arena_readers
import arena_sandboxes
import arena_sota
from arena.hookspecs import hookimpl
from arena.interfaces import FloorEstimate, Reproduced, Reproduction, SuitsStudies
from arena.plugin.manager import PluginManager
from arena.testing import (
    check_analysis,
    check_floor_estimator,
    check_mechanism,
    check_paper,
    check_plugin,
    example_study,
)
from arena.types import Chart, Fault, Finding, Release, Section, Table

MANAGER = PluginManager()
OWN = (
    arena_bayes_error, arena_competitors, arena_mechanisms, arena_metrics, arena_ranking,
    arena_readers, arena_sandboxes, arena_sota,
)  # fmt: skip


@pytest.mark.parametrize("plugin", OWN, ids=lambda one: one.__name__)
def test_the_plugins_of_arena_conform(plugin: Any) -> None:
    check_plugin(plugin).require()


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [entry.name for entry in MANAGER.mechanisms])
def test_the_mechanisms_of_arena_conform(name: str) -> None:
    check_mechanism(MANAGER.mechanisms.resolve(name)).require()


@pytest.mark.parametrize("name", [entry.name for entry in MANAGER.analyses])
def test_the_analyses_of_arena_conform(name: str) -> None:
    analysis = MANAGER.analyses.resolve(name)
    study = example_study(n_submissions=4, n_rows=80, resamples=50)
    if isinstance(analysis, SuitsStudies) and not analysis.suits(study):
        pytest.skip("it needs another board")
    check_analysis(analysis, study).require()


TABLE = Table("t", ("a",), ((1,),))
SECTION = Section("Title", "Text.", (TABLE,))
HOOKS: dict[str, tuple[str, Any]] = {
    "a metric without a score": ("provide_metrics", lambda self: [object()]),
    "half of its metrics": ("provide_metrics", lambda self: (1 / 0 for _ in range(2))),
    "no list of mechanisms": ("provide_mechanisms", lambda self: 3),
    "a ranker without rank": ("provide_rankers", lambda self: [object()]),
    "an analysis without run": ("provide_analyses", lambda self: [object()]),
    "a competitor without start": ("provide_competitors", lambda self: [object()]),
    "an estimator without options": ("provide_floor_estimators", lambda self: [object()]),
    "a paper without title": ("provide_papers", lambda self: [object()]),
    "a reader without read": ("provide_case_readers", lambda self: [object()]),
    "a sandbox without run": ("provide_sandboxes", lambda self: [object()]),
    "a reader of everything": ("read_predictions", lambda self, path: path.read_bytes()),
    "a rule that raises": ("check_submission", lambda self, predictions: [np.log(-1) or 1 / 0]),
    "a rule without a list": ("check_submission", lambda self, predictions: Fault("k", "m")),
    "a rule that writes": ("check_submission", lambda self, predictions: predictions.sort(0)),
    "a listener that raises": ("submission_scored", lambda self, release: 1 / 0),
    "another listener": ("competition_finalized", lambda self, result: 1 / 0),
    "a section without a list": ("provide_report_sections", lambda self, result: SECTION),
    "a ragged table": (
        "provide_report_sections",
        lambda self, result: [replace(SECTION, tables=(replace(TABLE, rows=((1, 2),)),))],
    ),
    "an unknown hook": ("provide_metrik", lambda self: []),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("mistake", HOOKS)
def test_each_mistake_of_a_hook_is_found(mistake: str) -> None:
    hook, function = HOOKS[mistake]
    plugin = type("Plugin", (), {hook: hookimpl(function)})
    assert len(check_plugin(plugin()).failed) == 1


def test_the_first_failure_of_a_hook_is_reported() -> None:
    hooks: dict[str, Any] = {
        "provide_papers": lambda self: [Fine(), object()],
        "check_submission": lambda self: [Fault("k", "A sentence.")],  # a rule may refuse
    }
    plugin = type("Plugin", (), {name: hookimpl(function) for name, function in hooks.items()})
    (check,) = check_plugin(plugin()).failed
    assert (check.name, check.message) == (
        "its papers",
        "providing a paper: TypeError: Fine is no paper: it lacks title, reproduce",
    )


class Fine:
    name = "fine"
    finding = Finding("fine", "A sentence.", {"x": 1.0}, {"c": [1] * 8}, (TABLE,))

    def run(self, study: Any, rng: Any) -> Any:
        return self.finding


ANALYSES: dict[str, tuple[dict[str, Any], str]] = {
    "NaN in its document": ({"document": {"x": float("nan")}}, "its document"),
    "an array in its document": ({"document": {"x": np.ones(2)}}, "its document"),
    "a set in its document": ({"document": {"x": {1}}}, "its document"),
    "a ragged table": ({"tables": (replace(TABLE, rows=((1, 2),)),)}, "a finding"),
    "another name": ({"analysis": "other"}, "a finding"),
    "no sentence": ({"verdict": "no sentence"}, "a finding"),
    "a short column": ({"columns": {"c": [1]}}, "its columns"),
}


@pytest.mark.parametrize("mistake", ANALYSES)
def test_each_mistake_of_an_analysis_is_found(mistake: str) -> None:
    check_analysis(Fine()).require()
    changed, name = ANALYSES[mistake]
    wrong = type("Wrong", (Fine,), {"finding": replace(Fine.finding, **changed)})
    assert name in {check.name for check in check_analysis(wrong()).failed}


def test_an_analysis_that_writes_is_found() -> None:
    class Writes(Fine):
        def run(self, study: Any, rng: Any) -> Any:
            study.scores.sort()
            return self.finding

    assert check_analysis(Writes()).failed


class Estimates:
    name = "estimates"
    description = "Labels."
    options = frozenset({"label"})
    found: tuple[Any, ...] = (0.2, (0.1, 0.3), 0.95, 3, ("Rows are independent.",))

    def estimate(self, parsed: Any, settings: Any) -> Any:
        return FloorEstimate(*self.found)


class Papers:
    name = "papers"
    title = "A paper"
    found: Any = Reproduction((Reproduced("Table 1", "the loss", 0.5, 0.5, True),), (), ())

    def reproduce(self, options: Any, progress: Any) -> Any:
        return self.found


CHART = Chart("c", "Title", "What it shows.", {"mark": "bar"})
ITEMS: dict[str, Any] = {
    "an option that there is not": type("Own", (Estimates,), {"options": {"labels"}}),
    "an estimate outside its interval": type(
        "Own", (Estimates,), {"found": (0.9, *Estimates.found[1:])}
    ),
    "rows that are no count": type("Own", (Estimates,), {"found": (0.2, (0.1, 0.3), 0.9, 2.5, ())}),
    "other numbers each time": type(
        "Own",
        (Estimates,),
        {"estimate": lambda *_: FloorEstimate(np.random.random(), (0, 1), 0.9, 3, ())},  # noqa: NPY002
    ),
    "data that it changes": type(
        "Own",
        (Estimates,),
        {"estimate": lambda _, parsed, __: parsed[0].sort() or FloorEstimate(*Estimates.found)},
    ),
    "no reproduction": type("Own", (Papers,), {"found": None}),
    "a figure of no number": type(
        "Own", (Papers,), {"found": Reproduction((Reproduced("T", "q", "0.5", 1, True),), (), ())}
    ),
    "an agreement with nothing": type(
        "Own", (Papers,), {"found": Reproduction((Reproduced("T", "q", None, 1.0, True),), (), ())}
    ),
    "two charts of one name": type(
        "Own", (Papers,), {"found": Reproduction((), (CHART, CHART), ())}
    ),
}


def check_item(item: Any) -> Any:
    """Check an estimator, or a paper."""
    if isinstance(item, Papers):
        return check_paper(item)
    return check_floor_estimator(item, (np.array([3.0, 1.0, 2.0]),))


@pytest.mark.parametrize("mistake", ITEMS)
def test_each_mistake_of_an_estimator_or_a_paper_is_found(mistake: str) -> None:
    for right in (Estimates(), Papers()):
        check_item(right).require()
    assert len(check_item(ITEMS[mistake]()).failed) == 1


@dataclass(frozen=True)
class Reverses:
    """Shows the smallest score as the best in one of the two directions."""

    greater_is_better: bool
    name: str = "reverses"

    def release(self, state: Any, evaluation: Any, rng: Any) -> Release:
        turned = evaluation.greater_is_better is self.greater_is_better
        return Release(1 - evaluation.score if turned else evaluation.score, not state, {"n": 1})


@pytest.mark.parametrize("greater_is_better", [True, False])
def test_a_mechanism_that_reverses_the_board_is_found(greater_is_better: bool) -> None:
    failed = check_mechanism(Reverses(greater_is_better)).failed
    assert [check.name for check in failed] == ["the direction of the metric"]


@dataclass(frozen=True)
class Repeats:
    """A step without a source, or with that of no submission."""

    source: int | None
    name: str = "repeats"

    def release(self, state: Any, evaluation: Any, rng: Any) -> Release:
        if "best" in state and not evaluation.beats(state["best"], by=0.01):
            return Release(state["best"], False, dict(state), source=self.source)
        return Release(evaluation.score, True, {"best": evaluation.score})


@pytest.mark.parametrize("source", [None, 1_000])
def test_a_mechanism_that_hides_whose_score_it_repeats_is_found(source: int | None) -> None:
    failed = check_mechanism(Repeats(source)).failed
    assert [check.name for check in failed] == ["repeated scores"]
