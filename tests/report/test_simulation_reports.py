"""Which report a simulated competition gets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from arena.report import competition_simulation
from arena.report.competition_simulation import simulation_report, truth_report
from arena.report.model import Report


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the parts of a report by the arguments they are made from."""

    @contextlib.contextmanager
    def open_(folder: Path, *, manager: str) -> Iterator[str]:
        yield f"{folder} with {manager}"

    def final(competition: str, result: str) -> Report:
        return Report(
            competition, (("final", result),), verdicts=("final",), boards=(), sections=("final",)
        )  # type: ignore[arg-type]

    for name, part in {
        "Competition": SimpleNamespace(open=open_),
        "finalized_report": final,
        "seeds_report": lambda prepared, comparison: ("seeds", prepared, comparison),
        "_comparison": lambda prepared, outcomes: Report(
            "all", (), verdicts=tuple(outcomes), boards=()
        ),
        "_facts": lambda prepared: (("Rows", "5"), ("Days", "3")),
        "_board": lambda outcome, place: f"board {place} of {outcome.mechanism}",
        "summarize": lambda outcome: f"what {outcome.mechanism} did",
        "truth_section": lambda outcome, metric: f"{metric} of {outcome.mechanism}",
    }.items():
        monkeypatch.setattr(competition_simulation, name, part)


def finished(*mechanisms: str, result: str | None = "result", comparison: Any = None) -> Any:
    """Return a simulation of some mechanisms."""
    title = SimpleNamespace(competition=SimpleNamespace(title="Race"))
    runs = [
        SimpleNamespace(outcome=SimpleNamespace(mechanism=name), result=result, folder=Path(name))
        for name in mechanisms
    ]
    return SimpleNamespace(
        prepared=SimpleNamespace(settings=title, metric="mae"),
        simulation=SimpleNamespace(comparison=comparison),
        runs=tuple(runs),
    )


@pytest.mark.usefixtures("parts")
def test_a_stored_competition_has_the_report_of_a_real_one_after_the_truth() -> None:
    simulated = "Everything on this page is simulated: no person submitted anything."
    truth = Report(
        "Race",
        (("Rows", "5"), ("Days", "3"), ("Mechanism", "full")),
        verdicts=(simulated, "what full did"),
        boards=("board 0 of full",),  # type: ignore[arg-type]
        sections=("mae of full",),  # type: ignore[arg-type]
    )
    simulation = finished("full", result=None)
    assert truth_report(simulation) == simulation_report(simulation, "plugins") == truth  # type: ignore[arg-type]
    assert simulation_report(finished("full"), "plugins") == Report(  # type: ignore[arg-type]
        "full with plugins",
        (("Rows", "5"), ("final", "result")),
        verdicts=(simulated, "what full did", "final"),
        boards=(),
        sections=("mae of full", "final"),  # type: ignore[arg-type]
    )


@pytest.mark.usefixtures("parts")
def test_several_mechanisms_and_several_seeds_are_compared() -> None:
    simulation = finished("full", "ladder")
    outcomes = tuple(run.outcome for run in simulation.runs)
    assert simulation_report(simulation, "plugins").verdicts == outcomes  # type: ignore[arg-type]
    seeds = finished(comparison="comparison")
    assert simulation_report(seeds, "plugins") == ("seeds", seeds.prepared, "comparison")  # type: ignore[arg-type]
