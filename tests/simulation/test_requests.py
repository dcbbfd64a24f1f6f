"""What a simulation is asked is refused before it starts where it cannot be answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from arena.errors import UsageError
from arena.simulation.requests import SimulationRequest


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
