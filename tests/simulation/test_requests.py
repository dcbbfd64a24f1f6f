"""What a simulation is asked is refused before it starts where it cannot be answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.competition.view import CompetitionView
from arena.errors import UsageError
from arena.plugin.manager import PluginManager
from arena.simulation.competition import simulate
from arena.simulation.plan import plan_function
from arena.simulation.ranks import simulate as ranks
from arena.simulation.requests import (
    CompetitionPlanRequest,
    PilotPlanRequest,
    PlanRequest,
    QueuePlanRequest,
    RanksRequest,
    SimulationRequest,
)
from arena.types import SolutionColumns
from arena.utils.parallel import NoProgress
from arena.utils.requests import EngineChoice
from refusals import refusal_of


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("public_share", (0, 0.5, None), (-0.5, -1e-9, 1, 1.5)),
        ("level", (0.5, 0.99), (0, 1, -0.5)),
        ("teams", (1, 30), (0, -1)),
        ("days", (1, 30), (0, -1)),
        ("seeds", (1, 20), (0, -1)),
    ],
)
def test_values_out_of_range_are_refused(
    name: str, allowed: tuple[Any, ...], refused: tuple[Any, ...]
) -> None:
    for value in allowed:
        assert getattr(SimulationRequest(directory=Path("made"), **{name: value}), name) == value
    for value in refused:
        with pytest.raises(UsageError):
            SimulationRequest(directory=Path("made"), **{name: value})


@pytest.mark.parametrize("other", [{"kinds": "copycat=1"}, {"baseline": "copycat"}])
def test_drawn_predictions_leave_no_place_to_competitors(other: dict[str, str]) -> None:
    SimulationRequest(directory=Path("made"), **other)
    with pytest.raises(UsageError, match="no competitor plays"):
        SimulationRequest(directory=Path("made"), drawn=True, **other)


GRID = {"test_rows": (2,), "competitors": (2,), "tests": 2, "boards": 2}
LIST = "Name at least one number of test rows and one of competitors."
A_PLAN = (
    "A plan needs at least one public share, one number of submissions per day and one number of "
    "teams."
)
PILOT = {"solution": Path("s.csv"), "submissions": (Path("a.csv"),), "metric": "accuracy"}
A_PILOT = "A pilot needs submissions and --metric in addition to SOLUTION."


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (RanksRequest, GRID, None),
        (RanksRequest, {**GRID, "data": Path("d.csv"), "target": "y"}, None),
        (RanksRequest, {"data": Path("d.csv")}, "--data and --target go together."),
        (RanksRequest, {"target": "y"}, "--data and --target go together."),
        (RanksRequest, {"test_rows": ()}, LIST),
        (RanksRequest, {"competitors": ()}, LIST),
        (RanksRequest, {**GRID, "boards": 3}, "The boards are at most the tests."),
        (
            SimulationRequest,
            {"directory": Path("s"), "public_share": 1},
            "The public share must be at least 0 and less than 1.",
        ),
        (PlanRequest, {}, None),
        (PlanRequest, {"public_share": ()}, A_PLAN),
        (PlanRequest, {"per_day": ()}, A_PLAN),
        (PlanRequest, {"teams": ()}, A_PLAN),
        (PilotPlanRequest, PILOT, None),
        (PilotPlanRequest, {**PILOT, "submissions": ()}, A_PILOT),
        (PilotPlanRequest, {**PILOT, "metric": None}, A_PILOT),
        (
            PilotPlanRequest,
            {**PILOT, "combine": "mean_rank"},
            "A mean of ranks depends on all teams, so a pilot does not tell it for others: plan "
            "with --combine mean.",
        ),
        (QueuePlanRequest, {"programs": 1, "minutes": 1e-9, "hours": 24}, None),
        (QueuePlanRequest, {"programs": 99_999, "minutes": 99_999, "hours": 1e-9}, None),
        (QueuePlanRequest, {"programs": 1, "machines": ()}, "Give a number of machines."),
        *(
            (
                QueuePlanRequest,
                {"programs": 1, name: value},
                f"--{name} must be above 0 and below 100,000.",
            )
            for name, value in (
                ("programs", 100_000), ("minutes", 100_000), ("minutes", 0), ("hours", 0),
            )
        ),
    ],
)  # fmt: skip
def test_a_request_is_refused_beyond_its_ends_only(
    kind: Any, fields: dict[str, Any], message: str | None
) -> None:
    assert refusal_of(UsageError, kind, **fields) == message


def test_the_sizes_of_a_study_are_every_number_of_rows_with_every_number_of_models() -> None:
    request = RanksRequest(test_rows=(20, 10), competitors=(3, 5))
    assert request.n_models == 5
    assert request.sizes == [(20, 3), (20, 5), (10, 3), (10, 5)]


HERE_TOO = EngineChoice("local", None, workers=0)


@pytest.fixture
def request_of(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return the request that the arguments of a function in Python become."""
    passed: list[Any] = []

    def keep(request: Any, *others: Any) -> Any:
        passed.extend([request, *others])
        return SimpleNamespace(simulation="the simulation")

    monkeypatch.setattr(simulate, "prepare_simulation", keep)
    monkeypatch.setattr(
        simulate, "run_simulation", lambda *_, installed: keep(("installed", installed))
    )
    monkeypatch.setattr(ranks, "prepare", keep)
    monkeypatch.setattr(ranks, "run", lambda _, folder, progress: keep(folder))
    for name in ("plan_files", "plan_competition"):
        monkeypatch.setattr(plan_function, name, keep)

    def ask(function: Callable[..., Any], *arguments: Any, **named: Any) -> list[Any]:
        passed.clear()
        function(*arguments, progress=NoProgress(), **named)
        return [*passed]

    return ask


def test_arguments_of_a_simulation_are_the_fields_of_its_request(request_of: Any) -> None:
    request, _, installed = request_of(simulate.simulate, "s")
    assert request == SimulationRequest(directory=Path("s"), where=HERE_TOO)
    assert installed == ("installed", True)
    fields: dict[str, Any] = {
        "teams": 2, "days": 3, "kinds": "copycat=1", "baseline": "none", "metric": "mae",
        "per_day": 4, "target": "y", "positive": "yes", "rows": 200, "public_share": 0.5,
        "train_rows": 100, "validation_rows": 50, "notebooks": 0.25, "drift": 0.125,
        "training_drift": 0.0625, "seed": 5, "seeds": 6, "level": 0.9, "wait": 7.0,
    }  # fmt: skip
    paths = {"data": "d.csv", "test": "t.csv", "like": "b.csv"}
    plugins = PluginManager(entry_points=False)
    request, manager, installed = request_of(
        simulate.simulate, "s", ["full", "ladder"], **fields, **paths, workers=8, engine="dask",
        address="tcp://a", manager=plugins,
    )  # fmt: skip
    assert request == SimulationRequest(
        directory=Path("s"), mechanisms="full, ladder",
        where=EngineChoice("dask", "tcp://a", workers=8), **fields,
        **{name: Path(path) for name, path in paths.items()},
    )  # fmt: skip
    assert (manager, installed) == (plugins, ("installed", False))
    drawn, *_ = request_of(simulate.simulate, "s", "full", drawn=True)
    assert (drawn.drawn, drawn.mechanisms) == (True, "full")


def test_arguments_of_a_study_of_ranks_are_the_fields_of_its_request(request_of: Any) -> None:
    request, manager, folder = request_of(ranks.simulate_ranks)
    assert (request, manager) == (RanksRequest(where=HERE_TOO), None)
    assert folder.name.startswith("arena-models-")
    assert not folder.exists()
    fields: dict[str, Any] = {
        "target": "y", "positive": "yes", "metric": "mae", "tests": 20, "sets": 2, "boards": 3,
        "resamples": 40, "level": 0.9, "train_rows": 100, "validation_rows": 50,
        "population": 2_000, "search": "boosting", "seed": 5,
    }  # fmt: skip
    paths = {"data": "d.csv", "grid": "g.json", "models": "m"}
    request, manager, folder = request_of(
        ranks.simulate_ranks, 100, [4, 5], **fields, **paths, workers=8, engine="dask",
        address="tcp://a", manager="plugins",
    )  # fmt: skip
    assert request == RanksRequest(
        test_rows=(100,), competitors=(4, 5),
        where=EngineChoice("dask", "tcp://a", workers=8), **fields,
        **{name: Path(path) for name, path in paths.items()},
    )  # fmt: skip
    assert (manager, folder) == ("plugins", Path("m"))


def test_arguments_of_a_plan_are_the_fields_of_its_request(request_of: Any) -> None:
    files = {"solution": Path("s.csv"), "submissions": (Path("f"),), "metric": "mae"}
    request, _ = request_of(plan_function.plan, "s.csv", "f", "mae")[:2]
    assert request == PilotPlanRequest(**files, where=HERE_TOO)
    shared_fields: dict[str, Any] = {
        "difference": 0.5, "total_rows": 100, "days": 3, "within": 0.25, "prizes": 2, "top": 4,
        "level": 0.9, "seed": 5,
    }  # fmt: skip
    lists: dict[str, Any] = {
        "rows": (10, 20), "public_share": (0.5,), "per_day": (1, 2), "teams": (3,)
    }  # fmt: skip
    paths = {"like": "b.csv", "rehearsal": "r", "attack": "a.json"}
    of_files = {"combine": "mean", "split": "all", "stratify": True, "resamples": 40}
    columns = SolutionColumns(id="pid")
    arguments = {
        **shared_fields, **paths, "rows": [10, 20], "public_share": 0.5, "per_day": [1, 2],
        "teams": 3, "brackets": {"new": 2, "old": 3}, "metrics": ["rmse", "r2"], "workers": 8,
        "engine": "dask", "address": "tcp://a",
    }  # fmt: skip
    fields: dict[str, Any] = {
        **shared_fields, **lists, "brackets": "new=2, old=3", "metrics": "rmse, r2",
        "where": EngineChoice("dask", "tcp://a", workers=8),
        **{name: Path(path) for name, path in paths.items()},
    }  # fmt: skip
    request, manager, _ = request_of(
        plan_function.plan, "s.csv", ["f", "g"], "mae", **arguments, **of_files, columns=columns,
        manager="plugins",
    )  # fmt: skip
    assert request == PilotPlanRequest(
        solution=Path("s.csv"), submissions=(Path("f"), Path("g")), metric="mae", columns=columns,
        **of_files, **fields,
    )  # fmt: skip
    assert manager == "plugins"
    competition = object.__new__(CompetitionView)
    opened, request, _ = request_of(plan_function.plan, competition, **arguments)
    assert (opened, request) == (competition, CompetitionPlanRequest(**fields))
    with pytest.raises(UsageError):
        request_of(plan_function.plan, competition, "f")


@pytest.mark.parametrize(
    ("function", "request_type"),
    [(ranks.simulate_ranks, RanksRequest), (simulate.simulate, SimulationRequest)],
)
def test_functions_have_the_defaults_of_their_requests(function: Any, request_type: Any) -> None:
    defaults = {field.name: field.default for field in fields(request_type)}
    parameters = inspect.signature(function).parameters
    shared = parameters.keys() & defaults.keys() - {"mechanisms"}  # of which () is none
    assert len(shared) > 15
    assert {name: parameters[name].default for name in shared} == {
        name: defaults[name] for name in shared
    }
