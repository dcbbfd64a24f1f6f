"""What plugins are handed: nothing that they do to it reaches the board or another plugin."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from arena.evaluation.predictions import ArrayPredictions
from arena.evaluation.scores import full_scores, influence_values, score_under_weights
from arena.hookspecs import hookimpl
from arena.interfaces import Candidates, Notebook, Participation, Study
from arena.plugin.manager import PluginManager
from arena.scoring.private_board import RankedRows, analyse, study_of
from arena.scoring.settings import BoardSettings
from arena.testing import example_study
from arena.testing.examples import MeanAbsolute, ShareRight
from arena.types import Finding
from arena.utils.read_only import read_only
from competition_info import mae_info


class Pair(NamedTuple):
    name: str
    values: np.ndarray


def _spoil(array: np.ndarray) -> None:
    """Write to an array in every way that a careless or stubborn plugin may try."""
    attempts: list[Callable[[], Any]] = [
        lambda: array.__setitem__(..., 0),
        array.sort,
        lambda: array.setflags(write=True),
        lambda: array.base.__setitem__(..., 0),  # type: ignore[union-attr]
        lambda: array.view().setflags(write=True),
        lambda: np.clip(array, 0, 0, out=array),
        lambda: np.asarray(array).__setitem__(..., 0),
        lambda: array.reshape(-1).__setitem__(..., 0),
    ]
    for attempt in attempts:
        with contextlib.suppress(
            ValueError, TypeError, AttributeError, IndexError, NotImplementedError
        ):
            attempt()


ARRAYS = [
    np.array([3.0, 1.0, 2.0]),
    np.array([[3, 1], [2, 5]], order="F"),
    np.array([True, False]),
    np.array(["b", "a"]),
    np.array(["b", "a"], dtype=object),
    np.arange(12.0)[::-2],
    np.array(["2020-01-02", "2020-01-01"], dtype="M8[D]"),
    np.ones(()),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda one: f"{one.dtype}-{one.ndim}")
def test_an_array_cannot_be_written_to(array: np.ndarray) -> None:
    before = array.copy()
    handed = read_only(array)
    _spoil(handed)
    np.testing.assert_array_equal(array, before)
    np.testing.assert_array_equal(handed, before)
    assert read_only(handed) is handed or array.dtype.kind == "M"


@dataclasses.dataclass(frozen=True)
class Holder:
    values: Any
    other: int = 1


CONTAINERS: dict[str, tuple[Callable[[np.ndarray], Any], Callable[[Any], Any]]] = {
    "dict": (lambda one: {"x": one}, lambda it: it["x"]),
    "proxy": (lambda one: MappingProxyType({"x": one}), lambda it: it["x"]),
    "list": (lambda one: [one], lambda it: it[0]),
    "tuple": (lambda one: (1, one), lambda it: it[1]),
    "named tuple": (lambda one: Pair("x", one), lambda it: it.values),
    "dataclass": (Holder, lambda it: it.values),
    "nested": (lambda one: Holder(({"x": [Holder(one)]},)), lambda it: it.values[0]["x"][0].values),
    "frame": (
        lambda one: pd.DataFrame({"x": one}, copy=False),
        lambda it: it["x"].to_numpy(copy=False),
    ),
    "predictions": (
        lambda one: ArrayPredictions(one[None]),
        lambda it: next(it.blocks(1))[1][0],
    ),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_arrays_in_containers_cannot_be_written_to(kind: str) -> None:
    make, take = CONTAINERS[kind]
    array = np.array([3.0, 1.0, 2.0])
    handed = read_only(make(array))
    assert type(handed) is type(make(array))
    _spoil(take(handed))
    assert array.tolist() == [3.0, 1.0, 2.0]


def test_a_container_is_the_plugins_own() -> None:
    values: dict[str, Any] = {"state": [1, {"deep": [2]}]}
    handed = read_only(values)
    handed["state"][1]["deep"].append(3)
    handed["more"] = 1
    assert values == {"state": [1, {"deep": [2]}]}
    frame = pd.DataFrame({"x": [1.0, 2.0]})
    copied = read_only(frame)
    copied.loc[0, "x"] = 9.0
    assert frame["x"].tolist() == [1.0, 2.0]


def test_what_holds_no_array_is_not_copied() -> None:
    for value in ("text", 3, None, (1, "a"), Holder(2), MeanAbsolute()):
        assert read_only(value) is value


@pytest.mark.parametrize("kind", [Study, Candidates, Participation, Notebook])
def test_every_array_of_what_is_handed_over_is_read_only(kind: type[Any]) -> None:
    """A field that is an array is found by its type, so that a new one is not forgotten."""
    names = [
        field.name
        for field in dataclasses.fields(kind)
        if "Array" in str(field.type) or field.name in {"training", "test"}
    ]
    fields = {field.name: None for field in dataclasses.fields(kind)}
    arrays = {name: np.arange(4.0) for name in names}
    handed = kind(**{**fields, **arrays})
    for name in names:
        _spoil(getattr(handed, name))
        assert arrays[name].tolist() == [0.0, 1.0, 2.0, 3.0], name
    assert len(names) >= 1


class Rewriting:
    """An analysis that writes to all that it is handed."""

    name = "rewriting"

    def run(self, study: Study, rng: np.random.Generator) -> Finding:
        for field in dataclasses.fields(study):
            value = getattr(study, field.name)
            if isinstance(value, np.ndarray):
                _spoil(value)
        for _, block in study.predictions.blocks(2):
            _spoil(block)
        study.scores.sort()
        raise AssertionError("unreachable")


def test_an_analysis_cannot_rewrite_the_board() -> None:
    example = example_study(n_submissions=4, n_rows=60)
    predictions = ArrayPredictions(next(example.predictions.blocks(9))[1])

    def board(*analyses: Any) -> tuple[dict[str, float], PluginManager]:
        plugin = type("Plugin", (), {"provide_analyses": hookimpl(lambda self: list(analyses))})
        manager = PluginManager(entry_points=False)
        manager.register(plugin(), "mine")
        settings = BoardSettings(resamples=20)
        study, _ = study_of(
            MeanAbsolute(),
            RankedRows(example.truth, None),
            example.teams,
            example.submissions,
            predictions,
            full_scores(MeanAbsolute(), example.truth, predictions),
            settings,
        )
        private_board = analyse(study, settings, manager)
        return dict(
            zip(private_board.study.teams, private_board.study.scores.tolist(), strict=True)
        ), manager

    attacked, manager = board(Rewriting())
    assert [failure.plugin for failure in manager.failures] == ["mine"]
    assert "ValueError" in str(manager.failures[0])
    assert attacked == board()[0]


class Writes(ShareRight):
    """A metric that changes its arguments in every method."""

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        _spoil(truth)
        _spoil(prediction)
        return super().score(truth, prediction, weight)

    def row_values(self, truth: Any, predictions: Any) -> Any:
        _spoil(truth)
        _spoil(predictions)
        return super().row_values(truth, predictions)


class WritesInfluence(Writes):
    def influence_values(self, truth: Any, predictions: Any) -> Any:
        _spoil(truth)
        _spoil(predictions)
        return np.zeros(predictions.shape)


class WritesAsAWhole(MeanAbsolute):
    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        _spoil(truth)
        _spoil(prediction)
        return super().score(truth, prediction, weight)


@pytest.mark.parametrize("metric", [Writes(), WritesInfluence(), WritesAsAWhole()])
def test_a_metric_cannot_change_the_truth_for_the_next_submission(metric: Any) -> None:
    truth, block = np.array([0, 1, 1, 0, 1]), np.array([[0, 1, 1, 1, 1], [1, 1, 1, 0, 1]])
    before = truth.copy(), block.copy()
    weights = np.ones((5, 3), dtype=np.uint8)
    full_scores(metric, truth, ArrayPredictions(block))
    score_under_weights(metric, truth, ArrayPredictions(block), weights)
    influence_values(metric, truth, block)
    np.testing.assert_array_equal(truth, before[0])
    np.testing.assert_array_equal(block, before[1])


@pytest.mark.parametrize(
    "hook", ["check_submission", "competition_finalized", "provide_report_sections"]
)
def test_what_a_hook_hands_over_cannot_be_written_to(hook: str) -> None:
    array, arrays = np.ones((3, 1)), []
    implementations = {
        "check_submission": lambda self, predictions: arrays.append(predictions),
        "competition_finalized": lambda self, result: arrays.append(result.values["scores"]),
        "provide_report_sections": lambda self, result: arrays.append(result.values["scores"]),
    }
    plugin = type("Plugin", (), {hook: hookimpl(implementations[hook])})
    manager = PluginManager(entry_points=False)
    manager.register(plugin(), "mine")
    info = mae_info()
    arguments = {"check_submission": (array, info), "competition_finalized": (_held(array), info)}
    getattr(manager, hook)(*arguments.get(hook, (_held(array),)))
    _spoil(arrays[0])
    assert (array == 1).all()


def _held(array: np.ndarray) -> Holder:
    return Holder({"scores": array})
