"""An organiser's own solution comes out of its copy for a simulation as it went in."""

from __future__ import annotations

import numpy as np
import pytest

from arena.competition.create import read_settings_solution
from arena.config import Settings
from arena.errors import InputError, UsageError
from arena.simulation.competition.existing import (
    OwnCompetition,
    data_from_solution,
    read_rows,
)
from arena.simulation.competition.prepare import existing_competition
from arena.simulation.requests import SimulationRequest
from arena.types import ROW_WEIGHTS
from program import write_csv
from simulated_competition import few_plugins

N = 90


@pytest.fixture(scope="module")
def manager():
    return few_plugins()


def settings(metric, **data):
    return Settings.model_validate({"metric": {"name": metric}, "data": data})


def own(folder, manager, chosen):
    rng = np.random.default_rng(0)
    third = rng.dirichlet([1, 1, 1], N).round(3)
    third[:, 2] = (1 - third[:, 0] - third[:, 1]).round(3)
    columns = {
        "pid": [f"p,{row}" for row in range(N)],
        "number": rng.normal(size=N),
        "animal": rng.choice(["dog", "cat", "owl, barn"], N),
        "ill": rng.choice(["yes", "no"], N),
        "split": rng.choice(["Public", "Private", "Ignored"], N),
        "group": rng.choice(["a", "b", "c", "d"], N),
        "ward": rng.choice(["east", "west"], N),
        "chance": rng.random(N).round(3),
        **{
            f"p_{name}": third[:, position]
            for position, name in enumerate(("cat", "dog", "owl, barn"))
        },
    }
    path = folder / "solution.csv"
    write_csv(path, list(columns), list(zip(*columns.values(), strict=True)))
    solution = read_settings_solution(path, chosen, manager)
    return OwnCompetition("own", chosen, solution)


CASES = {
    "labels": ("accuracy", {"target": ["animal"]}),
    "two": ("roc_auc", {"target": ["ill"], "positive": "no", "soft_labels": ["chance"]}),
    "numbers": ("mae", {"target": ["number"]}),
    "weights": ("mae", {"target": ["number"], "weight": "chance"}),
    "soft": ("log_loss", {"target": ["animal"], "soft_labels": ["p_cat", "p_dog", "p_owl, barn"]}),
}


@pytest.mark.parametrize("case", CASES)
def test_solution_is_the_same_in_its_copy(tmp_path, manager, case):
    metric, data = CASES[case]
    more = {"id": "pid", "usage": "split", "cluster": "group", "tasks": "ward"}
    before = own(tmp_path, manager, settings(metric, **data, **more))
    data = data_from_solution(before, None)
    data.write(tmp_path / "copy.csv")
    again = read_settings_solution(tmp_path / "copy.csv", settings(metric, **data.columns), manager)
    first = before.solution
    counted = first.usage != 2
    assert again.ids.equals(first.ids)
    assert (again.id_column, again.targets, again.columns) == (
        first.id_column, first.targets, first.columns,
    )  # fmt: skip
    assert np.array_equal(again.usage, first.usage)
    assert np.array_equal(again.truth[counted], first.truth[counted])
    assert again.task_names == first.task_names
    assert np.array_equal(again.tasks, first.tasks)
    extra = {ROW_WEIGHTS} if case == "weights" else set()
    assert again.extra.keys() == first.extra.keys() == extra
    for name, values in first.extra.items():
        assert again.extra[name][counted] == pytest.approx(values[counted])
    same = [solution.clusters[:, None] == solution.clusters for solution in (first, again)]
    assert np.array_equal(*same)
    if first.soft_labels is None:
        assert again.soft_labels is None
    else:
        assert again.soft_labels[counted] == pytest.approx(first.soft_labels[counted])


def rows_of(folder, manager, change=lambda train, test: None):
    before = own(folder, manager, settings("accuracy", id="pid", target=["animal"]))
    rng = np.random.default_rng(1)
    ids = before.solution.ids.to_pylist()
    labels = ["dog", "cat", "owl, barn"] * 20
    train = [[*rng.normal(size=2), rng.choice(["x", "y"]), label] for label in labels]
    test = [[name, *rng.normal(size=2), rng.choice(["y", "z"])] for name in reversed(ids)]
    change(train, test)
    write_csv(folder / "train.csv", ["a", "b", "c", "animal"], train)
    write_csv(folder / "test.csv", ["pid", "a", "b", "c"], test)
    paths = folder / "train.csv", folder / "test.csv"
    return test, read_rows(*paths, "animal", before.solution, most=40, seed=0)


def test_rows_to_predict_stand_in_the_order_of_the_solution(tmp_path, manager):
    test, (rows, features) = rows_of(tmp_path, manager)
    assert features.shape == (N, 3)
    assert features[:, 0] == pytest.approx([row[1] for row in reversed(test)])
    assert (len(rows.training.target), len(rows.validation.target)) == (30, 10)
    assert rows.categorical == (2,)
    assert rows.n_classes == 3
    codes = {row[3]: set() for row in test}
    for row, code in zip(reversed(test), features[:, 2], strict=True):
        codes[row[3]].add(code)
    assert all(len(own) == 1 for own in codes.values())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda train, test: test.pop(), "lacks the id"),
        (lambda train, test: test.append(test[0]), "twice"),
        (
            lambda train, test: train.__setitem__(5, [1, 2, "x", "wolf"]),
            "animal in data row 6 does not occur in the solution",
        ),
        (lambda train, test: train.__delitem__(slice(7, None)), "too few rows with a animal"),
        (lambda train, test: train.__delitem__(slice(8, None)), "None of the 2 validation rows"),
        (lambda train, test: [row.__setitem__(3, "wolf") for row in train], "too few rows"),
        (lambda train, test: [row.__setitem__(3, "dog") for row in train], "one value only"),
        (
            lambda train, test: [row.__setitem__(3, "dog") for row in train[::3] + train[1::3]],
            "None of the 30 training rows .* has the label 'cat'",
        ),
    ],
)
def test_files_that_do_not_go_together_are_refused(tmp_path, manager, change, said):
    with pytest.raises(InputError, match=said):
        rows_of(tmp_path, manager, change)


def test_a_label_that_a_part_of_the_training_rows_lacks_is_named(tmp_path, manager):
    """One of 40 rows is a cat: it is among the 30 that train, or the 10 that stop it early."""
    before = own(tmp_path, manager, settings("accuracy", id="pid", target=["animal"]))
    labels = ["cat", *["dog", "owl, barn"] * 19, "dog"]
    train = [[row, label] for row, label in enumerate(labels)]
    write_csv(tmp_path / "train.csv", ["a", "animal"], train)
    ids = before.solution.ids.to_pylist()
    write_csv(tmp_path / "test.csv", ["pid", "a"], [[name, 0] for name in ids])
    paths = tmp_path / "train.csv", tmp_path / "test.csv"
    messages = set()
    for seed in range(12):
        with pytest.raises(InputError) as refused:
            read_rows(*paths, "animal", before.solution, most=40, seed=seed)
        messages.add(str(refused.value))
    assert messages == {
        f"None of the {part} rows of {paths[0]} has the label 'cat'. Use more rows of this kind, "
        "or remove the label from the file."
        for part in ("30 training", "10 validation")
    }


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"metric": "accuracy"}, "decides it: omit --metric."),
        ({"per_day": 1}, "decides it: omit --per-day."),
        ({"positive": "yes"}, "decides it: omit --positive."),
        ({"public_share": 0.0}, "decides it: omit --public-share."),
        ({"drift": 0.1}, "decides it: omit --drift."),
        ({"training_drift": 0.1}, "decides it: omit --training-drift."),
    ],
)
def test_what_the_competition_decides_is_not_asked(tmp_path, manager, asked, said):
    with pytest.raises(UsageError) as refused:
        existing_competition(SimulationRequest(directory=tmp_path, **asked), manager)
    assert str(refused.value) == f"The competition in {tmp_path} {said}"


@pytest.mark.parametrize("name", ["data", "test"])
def test_training_rows_and_features_go_together(tmp_path, manager, name):
    with pytest.raises(UsageError) as refused:
        existing_competition(
            SimulationRequest(directory=tmp_path, **{name: tmp_path / "own.csv"}), manager
        )
    assert str(refused.value) == (
        "--data has the rows to train on and --test the features of the rows to predict: give "
        "both, or neither for teams that train nothing."
    )
