"""What a plan takes from the classes of a pilot's rows."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.errors import InputError, MetricError
from arena.plugin.manager import PluginManager
from arena.simulation.plan import pilot
from arena.simulation.plan.pilot import (
    FEW_IN_CLASS,
    agreements_of_halves,
    degrees_of_freedom_of,
    notes_on_rejected,
    positions_without_copies,
    refuse_without_variation,
    units_of_the_rarest_class,
    with_full_variance,
)
from refusals import refusal_of

METRICS = PluginManager().metrics


def test_a_mean_of_few_rows_of_a_class_gets_the_variance_that_it_lacks() -> None:
    resampled = np.array([[0.1, 0.3], [0.5, 0.5]])
    # Of 2 rows the variance is too small by 1/2: deviations of 0.1 become 0.1 * sqrt(2).
    wider = [[0.2 - 0.1 * 2**0.5, 0.2 + 0.1 * 2**0.5], [0.5, 0.5]]
    np.testing.assert_allclose(with_full_variance(resampled, 2), wider)
    of_three = [0.2 - 0.1 * 1.5**0.5, 0.2 + 0.1 * 1.5**0.5]
    np.testing.assert_allclose(with_full_variance(resampled, 3)[0], of_three)
    for rarest in (None, FEW_IN_CLASS, FEW_IN_CLASS + 1):
        assert with_full_variance(resampled, rarest) is resampled
    assert with_full_variance(resampled, FEW_IN_CLASS - 1)[0, 0] < 0.1


@pytest.mark.parametrize(
    ("metric", "changes", "by_class", "units"),
    [
        ("roc_auc", {}, False, 2),  # it needs every class: two rows are of class 1
        ("accuracy", {}, False, None),
        ("accuracy", {}, True, 2),
        ("roc_auc", {"classes": None}, True, None),
        ("roc_auc", {"truth": np.zeros((5, 2), dtype=int)}, True, None),
        ("roc_auc", {"clusters": np.array([0, 1, 2, 3, 3])}, False, 1),  # in one group
    ],
)
def test_the_units_of_the_rarest_class(
    metric: str, changes: dict[str, Any], by_class: bool, units: int | None
) -> None:
    plain = {"truth": np.array([0, 0, 0, 1, 1]), "classes": ("a", "b"), "clusters": None}
    study: Any = SimpleNamespace(metric=METRICS.resolve(metric), **{**plain, **changes})
    assert units_of_the_rarest_class(study, by_class=by_class) == units


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return a function for the degrees of freedom of two submissions on four rows.

    It also returns the arguments of the functions that limit them.
    """

    def degrees(
        values: Any,
        *,
        of_pairs: float,
        rarest: int | None = None,
        weights: Any = None,
        **study: Any,
    ) -> Any:
        arguments: dict[str, Any] = {}

        def pairs(values: Any) -> float:
            arguments["values"] = values.tolist()
            return of_pairs

        def sizes(rows: Any, weights: Any) -> float:
            arguments["sizes"] = (list(rows), weights)
            return 6.0

        def units(_: Any, *, by_class: bool) -> int | None:
            arguments["by_class"] = by_class
            return rarest

        for name, function in {
            "comparable_values": lambda *_: values,
            "pair_degrees_of_freedom": pairs,
            "size_degrees_of_freedom": sizes,
            "class_means_are_removed": lambda *_: True,
            "row_weights_of": lambda _: weights,
            "units_of_the_rarest_class": units,
        }.items():
            monkeypatch.setattr(pilot, name, function)
        blocks = SimpleNamespace(blocks=lambda size: [(0, f"a block of {size}")])
        pilot_study: Any = SimpleNamespace(
            metric=SimpleNamespace(greater_is_better=True), scores=np.array([0.5, 0.75]),
            predictions=SimpleNamespace(subset=lambda order: blocks), truth=np.zeros(4),
            **{"classes": ("a", "b"), "clusters": None, "influence": None, **study},
        )  # fmt: skip
        return (*degrees_of_freedom_of(pilot_study), arguments)

    return degrees


def test_degrees_of_freedom_are_those_of_the_tightest_limit(by_hand: Any) -> None:
    values = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 4.0]])
    assert by_hand(values, of_pairs=3.5) == (
        3.5, None, {"values": values.tolist(), "by_class": True}
    )  # fmt: skip
    assert by_hand(values, of_pairs=0.5)[0] == 1.0
    # Classes of nine rows limit them to eight, and ten rows are enough.
    assert [by_hand(values, of_pairs=50.0, rarest=n)[:2] for n in (9, 10)] == [(8, 9), (50, 10)]
    # Three resampled groups of influence leave two.
    influence = SimpleNamespace(values=np.zeros((2, 3)))
    assert by_hand(values, of_pairs=50.0, influence=influence)[0] == 2.0
    # Weights of rows, each of which is a group of its own.
    degrees, _, arguments = by_hand(values, of_pairs=50.0, weights="weights")
    assert (degrees, arguments["sizes"]) == (6.0, ([0, 1, 2, 3], "weights"))


def test_groups_of_rows_are_units_with_the_sums_of_their_deviations(by_hand: Any) -> None:
    values = np.array([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 4.0]])
    clusters = np.array([0, 0, 1, 2])
    degrees, _, arguments = by_hand(values, of_pairs=4.5, clusters=clusters)
    # The means are 0.5 and 1: deviations of 0.5, -0.5, 0.5, -0.5 and of -1, -1, -1, 3.
    assert arguments["values"] == [[0.0, 0.5, -0.5], [-2.0, -1.0, 3.0]]
    assert (degrees, arguments["sizes"]) == (4.5, ([0, 0, 1, 2], None))
    # Without values of rows the three groups leave two.
    assert by_hand(None, of_pairs=4.5, clusters=clusters)[0] == 2.0
    assert by_hand(None, of_pairs=4.5)[0] is None
    assert by_hand(None, of_pairs=4.5)[2] == {"by_class": False}


def test_each_metric_is_compared_once_on_the_same_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    comparisons: list[tuple[str, float]] = []

    def agreement(_: Any, metric: Any, rng: np.random.Generator) -> str:
        comparisons.append((metric.name, rng.random()))
        if metric.name == "broken":
            raise MetricError("It is not defined.")
        return f"of {metric.name}"

    def on_rows(single: Any, _: Any, n_targets: int) -> Any:
        weighted = single.name == "twin"
        name = "own" if weighted else single.name
        return SimpleNamespace(name=name, weights="w" if weighted else None, n_targets=n_targets)

    monkeypatch.setattr(pilot, "split_half_agreement", agreement)
    monkeypatch.setattr(pilot, "metric_on_rows_of", on_rows)
    monkeypatch.setattr(pilot, "row_weights_of", lambda metric: metric.weights)
    study: Any = SimpleNamespace(
        metric=SimpleNamespace(name="own", weights=None), truth=np.zeros(4)
    )
    manager: Any = SimpleNamespace(
        metrics=SimpleNamespace(resolve=lambda name: SimpleNamespace(name=name))
    )
    notes: list[str] = []
    agreements = agreements_of_halves(
        study, ("mae", "broken", "own", "twin"), manager=manager, seed=4, notes=notes
    )
    assert agreements == {"own": "of own", "mae": "of mae"}
    assert [name for name, _ in comparisons] == ["own", "mae", "broken"]
    assert {chance for _, chance in comparisons} == {np.random.default_rng(4).random()}
    assert notes == ["broken is left out: It is not defined."]


@pytest.mark.parametrize(
    ("groups", "rarest", "resampled", "message"),
    [
        (1, None, None, "All private rows of the pilot are in one group, so nothing can be said "
         "about other rows. Use a pilot with more groups, or another column as --cluster."),
        (None, 1, None, "One class of the pilot has a single row among the private rows, and mae "
         "averages within each class: nothing can be said about other rows of it. Use a pilot "
         "with more rows of each class."),
        (3, 1, None, "One class of the pilot has a single group among the private rows, and mae "
         "averages within each class: nothing can be said about other rows of it. Use a pilot "
         "with more rows of each class."),
        (2, 2, [[1.0, 2.0], [2.0, 3.0]], "The scores of the pilot's submissions differ by the same "
         "amounts whichever rows are drawn: any number of rows ranks them alike, and there is "
         "nothing to plan. Use submissions that fail on different rows."),
        (2, 2, [[1.0, 2.0], [2.0, 3.1]], None),
        (None, None, [[1.0, 2.0]], None),
        # Scores of up to 10: differences of 1e-11 are rounding, those of 2e-11 are not.
        (None, None, [[0.0, 0.0], [0.0, 1e-11]], "The scores of the pilot's submissions differ by "
         "the same amounts whichever rows are drawn: any number of rows ranks them alike, and "
         "there is nothing to plan. Use submissions that fail on different rows."),
        (None, None, [[0.0, 0.0], [0.0, 2e-11]], None),
    ],
)  # fmt: skip
def test_a_pilot_that_says_nothing_about_other_rows_is_refused(
    groups: int | None, rarest: int | None, resampled: Any, message: str | None
) -> None:
    study: Any = SimpleNamespace(
        resampled=np.array(resampled or [[1.0, 2.0], [2.0, 1.0]]), scores=np.array([-10.0, 1.0])
    )
    pilot_of_rows: Any = SimpleNamespace(in_rarest_class=rarest, metric="mae")
    sentence = refusal_of(InputError, refuse_without_variation, pilot_of_rows, study, groups=groups)
    assert sentence == message


def test_the_first_five_rejected_files_are_named_and_the_others_counted() -> None:
    files: Any = [
        SimpleNamespace(
            file=f"f{n}\t",
            faults=[SimpleNamespace(message=f"Fault {n}{part}") for part in ".,"[: 2 * (n != 1)]],
        )
        for n in range(7)
    ]
    named = [f"f{n}\\t is rejected and left out: Fault {n}." for n in (0, 2, 3, 4)]
    assert notes_on_rejected(files[:5]) == named
    assert notes_on_rejected(files[:6]) == [*named, "1 more file is rejected."]
    assert notes_on_rejected(files)[-1] == "2 more files are rejected."


def test_copies_are_one_submission_unless_all_scores_are_constant() -> None:
    # The second has the scores of the first; the third and fourth are perfect.
    resampled = np.array([[0.5, 0.75], [0.5, 0.75], [1.0, 1.0], [1.0, 1.0], [0.25, 1.0]])
    assert positions_without_copies(resampled).tolist() == [0, 2, 3, 4]
    assert positions_without_copies(resampled[:2]).tolist() == [0, 1]
    assert positions_without_copies(resampled[2:4]).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("without", "others", "agreed"),
    [(False, ("mae",), True), (False, (), False), (True, ("mae",), False)],
)
def test_a_pilot_is_read_with_the_chance_of_its_seed(
    monkeypatch: pytest.MonkeyPatch, without: bool, others: tuple[str, ...], agreed: bool
) -> None:
    seed = int(np.random.default_rng(3).integers(2**32))

    def agreements(study: Any, names: Any, *, manager: Any, seed: int, notes: list[str]) -> Any:
        notes.append("A note.")
        return {"found": (study, names, manager, seed)}

    monkeypatch.setattr(pilot, "agreements_of_halves", agreements)
    monkeypatch.setattr(pilot, "degrees_of_freedom_of", lambda _: (4.0, 9))
    ranked: Any = SimpleNamespace(
        resampling=SimpleNamespace(without=without), study="study", rejected=[], notes=("Scored.",)
    )
    result = pilot.read_pilot_study(
        ranked, "mae", "ladder", others=others, manager="plugins",  # type: ignore[arg-type]
        rng=np.random.default_rng(3),
    )  # fmt: skip
    expected = {"found": ("study", others, "plugins", seed)} if agreed else {}
    assert (result.agreements, result.notes) == (expected, ("A note.",) if agreed else ())
    assert (result.study, result.degrees, result.in_rarest_class) == (
        (None, None, None) if without else ("study", 4.0, 9)
    )
    assert (result.metric, result.mechanism, result.of_scoring) == ("mae", "ladder", ("Scored.",))
