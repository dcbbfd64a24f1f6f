"""What a simulation is asked is refused before it starts where it cannot be answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.errors import UsageError
from arena.simulation.requests import (
    PilotPlanRequest,
    PlanRequest,
    QueuePlanRequest,
    RanksRequest,
    SimulationRequest,
)


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
    ("kind", "asked", "said"),
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
    kind: Any, asked: dict[str, Any], said: str | None
) -> None:
    if said is None:
        kind(**asked)
        return
    with pytest.raises(UsageError) as refused:
        kind(**asked)
    assert str(refused.value) == said


def test_the_sizes_of_a_study_are_every_number_of_rows_with_every_number_of_models() -> None:
    request = RanksRequest(test_rows=(20, 10), competitors=(3, 5))
    assert request.n_models == 5
    assert request.sizes == [(20, 3), (20, 5), (10, 3), (10, 5)]
