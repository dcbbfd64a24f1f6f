"""What plugins return is checked where it comes in: each wrong field is named and not quoted."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import PluginError
from arena.hookspecs import hookimpl
from arena.interfaces import (
    CaseScores,
    End,
    FloorEstimate,
    Move,
    Outcome,
    Reproduced,
    Reproduction,
)
from arena.plugin.manager import PluginManager
from arena.plugin.returned import RULES, checked, checked_move
from arena.types import (
    Chart,
    Fault,
    Finding,
    MetricTraits,
    PredictionKind,
    Release,
    Section,
    Table,
)
from competition_info import mae_info
from refusals import refusal_of

TABLE = Table("t", ("a", "b"), ((1, "x"), (None, 2.5)))
CHART = Chart("c", "Title", "What it shows.", {"mark": "bar"})
GOOD: dict[type[Any], Any] = {
    Release: Release(0.5, True, {"submission": 3}, 0.51),
    Fault: Fault(
        kind="kind", message="A sentence.", row=3, id="r1", column="y", count=2, cause="a cause"
    ),
    Table: TABLE,
    Chart: CHART,
    Section: Section("Title", "Text.", (TABLE,), (CHART,)),
    Finding: Finding("a", "A sentence.", {"x": np.float64(1)}, {"c": [1, 2]}, (TABLE,), (CHART,)),
    MetricTraits: MetricTraits(row_range=(0.0, 1.0), score_range=(0.0, 1.0)),
    Move: Move(np.zeros(3)),
    FloorEstimate: FloorEstimate(
        0.5,
        (0.1, 0.6),
        0.95,
        20,
        ("Rows are independent.",),
        standard_error=0.1,
        n_clusters=5,
        bias_bound=(-0.1, 0.1),
    ),
    Reproduced: Reproduced("Table 1", "the loss", 0.5, 0.51, True),
    Reproduction: Reproduction((Reproduced("Table 1", "the loss", 0.5, None, None),), (CHART,), ()),
    CaseScores: CaseScores(["m"], ["q"], np.array([0.5]), ["t"]),
    Outcome: Outcome(
        end=End.CRASH, seconds=1.0, cpu_seconds=0.0, peak_mb=2.0, log=b"text", output=None
    ),
}
WITHOUT_AXES = SimpleNamespace(dtype="float")
WRONG: dict[type[Any], dict[str, list[Any]]] = {
    Release: {
        "score": ["0.5", None, np.nan, np.inf, True, np.array([0.5]), 1j],
        "improved": [1, "yes", None],
        "source": ["3", 0.5, -1, True],
        "state": [
            None,
            {"x": np.nan},
            {"x": np.array([1])},
            {"x": {1}},
            "text",
            {"x": "y" * 10**6},
        ],
        "ranked_by": ["1", np.nan, np.array(1.0)],
    },
    Fault: {
        "kind": [None, "", 3],
        "message": [None, " ", ["x"]],
        "row": ["3", -1, 2.5],
        "id": [3],
        "column": [3],
        "count": [0, "2", True, None],
        "cause": [3],
    },
    Table: {
        "title": [None],
        "columns": ["ab", (1, 2), None],
        "rows": [((1,), (2,)), ((1, 2, 3),), ((1, {}),), ((1, np.array([2])),), "ab", None],
    },
    Chart: {
        "name": ["", None],
        "title": [3],
        "description": [None],
        "specification": [None, [], {"x": {1}}, {"x": object()}],
    },
    Section: {
        "title": ["", None],
        "text": [None, ["x"]],
        "tables": [None, [1], TABLE, (replace(TABLE, rows=((1,),)),)],
        "charts": [None, (TABLE,)],
        "public": ["no", None],
        "technical": [0],
    },
    Finding: {
        "analysis": ["", None],
        "verdict": ["", None, 3],
        "document": [None, [], {"x": {1}}, {"x": object()}],
        "columns": [None, {"c": 3}, {3: [1]}, {"c": "text"}],
        "tables": [None, (replace(TABLE, rows=((1,),)),)],
        "charts": [(1,)],
    },
    MetricTraits: {
        "prediction_range": [None, (1,), (1.0, 0.0), ("a", "b"), 3, (np.nan, 1.0)],
        "truth_range": [None],
        "row_range": [(1.0, 0.0), "01"],
        "score_range": [None, (2.0, 1.0)],
        "needs_every_class": [1],
        "stratify_by_class": ["no"],
        "joint_targets": [None],
        "extra_columns": ["ab", (1,)],
    },
    Move: {
        "prediction": [None, [1.0], 0.5, np.array(0.5), np.zeros((1, 1, 1)), "ab", WITHOUT_AXES],
        "team": [-1, "1", 0.5, True, None],
    },
    FloorEstimate: {
        "estimate": [True],
        "n": [2.5, True],
        "assumptions": ["ab", None, (1,)],
        "standard_error": [np.nan, "0.1"],
        "n_clusters": [-1, 0.5],
        "bias_bound": [(1.0, 0.0), 3],
    },
    Reproduced: {
        "where": ["", None],
        "quantity": [" ", 3],
        "published": [np.nan, "0.1", True],
        "computed": [np.inf, np.array([0.1])],
        "agrees": ["yes", 1],
        "note": [None],
    },
    Reproduction: {
        "figures": [None, [1], (Reproduced("", "q", 0.1, 0.1, True),)],
        "charts": [None, (TABLE,)],
        "missing": ["ab", None],
    },
    CaseScores: {
        "metric": ["", None],
        "greater_is_better": ["yes"],
        "value_range": [(1.0, 0.0), 3],
        "notes": ["ab", (1,)],
        "algorithms": [None, ["a", "b"], "a"],
        "cases": [None, []],
        "values": [None, np.zeros(2)],
        "tasks": [["a", "b"]],
    },
    Outcome: {
        "end": ["failed", None],
        "seconds": [-1.0, np.nan, "1"],
        "cpu_seconds": [None],
        "peak_mb": [np.inf],
        "log": ["text", None],
        "output": ["file"],
    },
}
CASES = [
    (kind, name, value)
    for kind, wrong in WRONG.items()
    for name, values in wrong.items()
    for value in values
]


def test_what_holds_is_returned_as_it_is() -> None:
    for kind, good in GOOD.items():
        assert checked(good, kind) is good


def test_each_wrong_field_is_named() -> None:
    for kind, name, value in CASES:
        sentence = refusal_of((TypeError, ValueError), checked, _with(kind, name, value), kind)
        assert sentence is not None, (kind, name, value)
        assert re.search(f"{name} of|Table|Chart|CaseScores|Reproduced", sentence), sentence
        assert "0.5" not in sentence


def _with(kind: type[Any], name: str, value: Any) -> Any:
    return replace(GOOD[kind], **{name: value})


def test_another_type_is_named() -> None:
    for kind in GOOD:
        for value in (None, 3, "text", (), SimpleNamespace(score=0.5)):
            sentence = f"it returned {type(value).__name__} and no {kind.__name__}"
            assert refusal_of(TypeError, checked, value, kind) == sentence


def test_a_submission_of_a_competitor_has_a_prediction_for_each_row() -> None:
    good = Move(np.zeros((3, 2)))
    assert checked_move("mine", good, 3) is good
    for move, reason in (
        (Move(np.zeros(2)), "prediction of the Move has 2 rows and not 3."),
        (None, "it returned NoneType and no Move."),
        (Move([0.0] * 3), "prediction of the Move must be an array of one or two axes, not list."),  # type: ignore[arg-type]
    ):
        with pytest.raises(PluginError) as raised:
            checked_move("mine", move, 3)
        assert str(raised.value) == f"The competitor mine made no valid submission: {reason}"


@pytest.mark.parametrize(
    ("kind", "name", "allowed", "refused"),
    [
        # Nine signs of JSON around the text make a state of 1,000,000 bytes.
        (Release, "state", {"x": "y" * 999_991}, {"x": "y" * 999_992}),
        (Release, "source", 0, -1),
        (Release, "score", np.float64(-1e300), float("-inf")),
        (Fault, "row", 0, -1),
        (Fault, "count", 1, 0),
        (MetricTraits, "score_range", [1, 1.0], (1.0, 0.9)),
        (MetricTraits, "row_range", None, (0.0, 0.5, 1.0)),
        (Move, "prediction", np.zeros((3, 1)), np.zeros((3, 1, 1))),
        (Move, "team", np.int64(0), np.float64(0)),
        (Outcome, "seconds", 0, -0.001),
        (Chart, "specification", {"x": np.ones(2)}, {1: object()}),
        (Finding, "columns", {}, {"": [1]}),
        (Table, "rows", [[True, np.float64(1)]], ([1, b"x"],)),
    ],
)
def test_a_field_holds_all_up_to_its_bound(
    kind: type[Any], name: str, allowed: Any, refused: Any
) -> None:
    value = replace(GOOD[kind], **{name: allowed})
    assert checked(value, kind) is value
    with pytest.raises(ValueError, match=f"^{name} of the {kind.__name__} must be "):
        checked(replace(GOOD[kind], **{name: refused}), kind)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (Release(np.nan, True), "score of the Release must be a finite number"),
        (Release(True, True), "score of the Release must be a finite number, not bool"),
        (
            replace(GOOD[Fault], count=0),
            "count of the Fault must be a count of at least 1, not int",
        ),
        (
            replace(TABLE, rows=((1, 2), (1,))),
            "a row of the Table has 1 cell for 2 columns",
        ),
        (
            replace(GOOD[CaseScores], cases=["q"] * 1000),
            "cases of the CaseScores has 1,000 values for 1 record",
        ),
        (
            replace(GOOD[CaseScores], repeats="1"),
            "repeats of the CaseScores must be a column, not str",
        ),
        (
            replace(GOOD[CaseScores], algorithms=None),
            "algorithms of the CaseScores must be a column, not NoneType",
        ),
    ],
)
def test_a_wrong_field_is_named_in_a_sentence(value: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        checked(value, type(value))


def test_the_tables_are_complete() -> None:
    """Each field that has a rule is tried, and each kind that a hook hands over has rules."""
    assert GOOD.keys() == WRONG.keys()
    assert {kind.__name__ for kind in GOOD} == RULES.keys()
    for kind in GOOD:
        assert set(RULES[kind.__name__]) <= set(WRONG[kind])
        assert set(WRONG[kind]) <= {field.name for field in fields(kind)}


INFO = mae_info()


@pytest.mark.parametrize(
    ("hook", "returned", "message"),
    [
        ("check_submission", Fault("k", "m"), "TypeError: 'Fault' object is not iterable"),
        ("check_submission", ["no"], "it returned str and no Fault"),
        ("check_submission", "no", "it returned str and no Fault"),
        ("check_submission", [Fault("", "m")], "kind of the Fault must be"),
        ("check_submission", 3, "not iterable"),
        ("provide_report_sections", GOOD[Section], "TypeError at manager.py"),
        ("provide_report_sections", [TABLE], "TypeError at returned.py"),
        ("provide_report_sections", [replace(GOOD[Section], text=3)], "ValueError at returned.py"),
        ("read_predictions", {"id": ["a"]}, "it returned dict and no pyarrow.Table"),
    ],
)
def test_a_hook_that_returns_something_else_is_named(
    hook: str, returned: Any, message: str
) -> None:
    plugin = type("Plugin", (), {hook: hookimpl(lambda self: returned)})
    manager = PluginManager(entry_points=False)
    manager.register(plugin(), "mine")
    arguments = {"provide_report_sections": (None,)}.get(hook, (np.zeros((1, 1)), INFO))
    getattr(manager, hook)(*arguments)
    assert str(manager.failures[0]).startswith(f"plugin 'mine' failed while running {hook}: ")
    assert message in str(manager.failures[0])


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"name": 3}, "the name of the metric"),
        ({"name": " "}, "the name of the metric"),
        ({"greater_is_better": "yes"}, "greater_is_better of m must be True or False"),
        ({"greater_is_better": None}, "greater_is_better of m"),
        ({"prediction": "value"}, "prediction of m must be a PredictionKind"),
        ({"traits": {"row_range": (0, 1)}}, "traits of m: it returned dict and no MetricTraits"),
        ({"traits": None}, "traits of m: it returned NoneType"),
        ({"traits": MetricTraits(score_range=(1.0, 0.0))}, "score_range of the MetricTraits"),
    ],
)
def test_a_metric_with_a_wrong_declaration_is_left_out(
    declared: dict[str, Any], message: str
) -> None:
    attributes = {
        "name": "m",
        "greater_is_better": True,
        "prediction": PredictionKind.VALUE,
        "score": max,
    }
    metric = SimpleNamespace(**{**attributes, **declared})
    plugin = type("Plugin", (), {"provide_metrics": hookimpl(lambda self: [metric])})
    manager = PluginManager(entry_points=False)
    manager.register(plugin(), "mine")
    assert list(manager.metrics) == []
    assert "plugin 'mine' failed while providing a metric" in str(manager.failures[0])
    assert message in str(manager.failures[0])
