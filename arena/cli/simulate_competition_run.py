"""From the options of ``arena simulate competition`` to what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from arena.config import Settings
from arena.errors import UsageError
from arena.execution import Progress, available_workers
from arena.plugin_manager import PluginManager
from arena.simulation.competition.grounds import Grounds, grounds_of_world
from arena.simulation.competition.roster import Kind, enrol, kind_of, read_kinds
from arena.simulation.competition.run import Held, Request, hold, open_request, rehearse
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.submission import shape_for
from arena.specification import split_specifications
from arena.types import PredictionKind

__all__ = ["KINDS", "Asked", "Prepared", "carry_out", "prepare"]

KINDS = (
    "lightgbm-climber=30, copycat=9, lightgbm-seeds=7, random-search=1, boosting=1, "
    "block-flip(rows=64)=2"
)
_MECHANISM = "ladder-free(minimum_step=0.002)"
_BASELINE = "simulated baseline"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for; None: nothing in particular."""

    directory: Path
    mechanisms: str | None
    teams: int
    days: int
    seed: int
    kinds: str | None
    baseline: str
    metric: str | None
    per_day: int | None
    data: Path | None
    target: str | None
    positive: str | None
    sizes: Sizes
    workers: int


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A simulation that was found possible, before anything is trained."""

    request: Request
    manager: PluginManager
    workers: int
    notes: tuple[str, ...]


def prepare(asked: Asked) -> Prepared:
    """Read the data and try everything that can be tried without training.

    Raises
    ------
    ArenaError
        If something of it cannot be.
    """
    manager = PluginManager()
    mechanisms = split_specifications(asked.mechanisms or _MECHANISM)
    for mechanism in mechanisms:
        manager.mechanisms.resolve(mechanism)
    kinds = read_kinds(asked.kinds or KINDS, manager.competitors)
    metric = asked.metric or "accuracy"
    manager.metrics.resolve(metric)
    baseline = None if asked.baseline == "none" else kind_of(asked.baseline, manager.competitors)
    grounds = _grounds(asked, metric, manager)
    request = Request(
        asked.directory,
        grounds,
        _settings(asked, grounds, metric, manager),
        tuple(dict.fromkeys(mechanisms)),
        kinds,
        baseline,
        asked.teams,
        asked.days,
        asked.seed,
    )
    notes: list[str] = []
    if asked.kinds is None:
        request, left_out = _fitting(request, manager)
        notes += left_out
    notes += rehearse(request, manager)
    return Prepared(request, manager, asked.workers or available_workers(), tuple(notes))


def _grounds(asked: Asked, metric: str, manager: PluginManager) -> Grounds:
    """Return the data, once it is known that the metric can score models of them."""
    measure, target = manager.metrics.resolve(metric), asked.target or "y"
    if asked.data is None:
        shape_for(measure, 2)
        return grounds_of_world(synthetic_world(asked.sizes, asked.seed))
    from arena.simulation.own_data import read_world

    numeric = measure.prediction is PredictionKind.VALUE
    world = read_world(
        asked.data, target, asked.sizes, asked.seed, numeric=numeric, positive=asked.positive
    )
    shape_for(measure, world.rows.n_classes)
    return grounds_of_world(world, target)


def _settings(asked: Asked, grounds: Grounds, metric: str, manager: PluginManager) -> Settings:
    title = f"SIMULATED: {asked.teams:,} teams in {asked.days:,} days, seed {asked.seed}"
    document: dict[str, Any] = {
        "competition": {"title": title, "baseline": _BASELINE},
        "data": dict(grounds.columns),
        "metric": {"name": manager.metrics.settled(metric)},
        "limits": {"per_day": asked.per_day or 2},
    }
    return Settings.model_validate(document)


def _fitting(request: Request, manager: PluginManager) -> tuple[Request, list[str]]:
    """Leave out the kinds that nobody asked for and that cannot play here."""
    notes: list[str] = []
    kept: list[Kind] = []
    for kind in request.kinds:
        alone = replace(request, kinds=(kind,), mechanisms=request.mechanisms[:1])
        try:
            rehearse(alone, manager)
            kept.append(kind)
        except UsageError as error:
            notes.append(f"{kind.specification} is left out: {error}")
    return (replace(request, kinds=tuple(kept)), notes) if kept else (request, [])


def carry_out(prepared: Prepared, progress: Progress) -> list[Held]:
    """Hold the competition under each mechanism; the plan is said first.

    Raises
    ------
    ArenaError
        If the folder holds something else, or a metric or mechanism fails.
    """
    request = prepared.request
    venue = open_request(request)
    progress.say(_plan(prepared))
    held = []
    for mechanism in request.mechanisms:
        started = time.monotonic()
        held.append(
            hold(
                venue,
                request,
                mechanism,
                prepared.manager,
                workers=prepared.workers,
                progress=progress,
            )
        )
        progress.say(f"{mechanism}: {time.monotonic() - started:.0f} s.")
    return held


def _plan(prepared: Prepared) -> str:
    request = prepared.request
    roster = enrol(request.kinds, request.teams)
    counts = {kind.specification: 0 for kind in request.kinds}
    for one in roster:
        counts[one.kind.specification] += 1
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
    return (
        f"{request.teams:,} teams ({told}) in {request.days:,} days on {request.grounds.name}, "
        f"under {' and '.join(request.mechanisms)}; {prepared.workers} workers."
    )
