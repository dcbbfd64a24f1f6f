"""From the options of ``arena simulate competition`` to what came of it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from arena.clipping import conceivable_scores
from arena.config import Settings
from arena.errors import UsageError
from arena.execution import Progress, available_workers
from arena.intake.faults import plural
from arena.interfaces import Metric
from arena.plugin_manager import PluginManager
from arena.simulation.competition.calendar import FIRST_DAY
from arena.simulation.competition.grounds import Grounds, grounds_of_world
from arena.simulation.competition.own_competition import (
    grounds_of_solution,
    is_own_competition,
    read_own_competition,
    read_rows,
)
from arena.simulation.competition.rehearsal import rehearse
from arena.simulation.competition.roster import baseline_of, enrol, read_kinds
from arena.simulation.competition.run import Held, Request, hold, open_request
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.submission import shape_for
from arena.specification import split_specifications
from arena.types import PredictionKind

__all__ = ["KINDS", "Asked", "Prepared", "carry_out", "prepare"]

KINDS = (
    "lightgbm-climber=30, copycat=9, lightgbm-seeds=7, random-search=1, boosting=1, "
    "block-flip(rows=4, base=baseline)=2"
)
_MECHANISM = "ladder-free(minimum_step=0.002)"
_MECHANISM_OF_ANY_RANGE = "kaggle"
_NOTHING_TO_LEARN = (
    "Nobody trains here: --data FILE with rows to learn from and --test FILE with the features of "
    "the rows to predict would let teams do so."
)
_METRIC, _PER_DAY, _PUBLIC_SHARE = "accuracy", 2, 0.3
_BASELINE, _BASELINE_BY = "simulated baseline", "lightgbm-climber"


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked for; None: nothing in particular."""

    directory: Path
    mechanisms: str | None
    teams: int
    days: int
    seed: int
    kinds: str | None
    baseline: str | None
    metric: str | None
    per_day: int | None
    data: Path | None
    target: str | None
    test: Path | None
    positive: str | None
    sizes: Sizes
    public_share: float | None
    workers: int
    wait: float = 0.0


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
    named = split_specifications(asked.mechanisms or "")
    for mechanism in named:
        manager.mechanisms.resolve(mechanism)
    kinds = read_kinds(asked.kinds or KINDS, manager.competitors)
    baseline = None
    if asked.baseline != "none":
        baseline = baseline_of(asked.baseline or _BASELINE_BY, manager.competitors)
    is_own = is_own_competition(asked.directory)
    root, grounds, settings = (_of_own if is_own else _of_new)(asked, manager)
    share = _PUBLIC_SHARE if asked.public_share is None else asked.public_share
    request = Request(
        root=root,
        grounds=grounds,
        settings=settings,
        mechanisms=tuple(dict.fromkeys(named)) or (settings.public.mechanism,),
        kinds=kinds,
        baseline=baseline,
        teams=asked.teams,
        days=asked.days,
        seed=asked.seed,
        public_share=0.0 if is_own else share,
        wait=asked.wait,
    )
    request, notes = rehearse(
        request, manager, drop_kinds=asked.kinds is None, drop_baseline=asked.baseline is None
    )
    if grounds.training is None:
        notes.append(_NOTHING_TO_LEARN)
    if not (named or is_own) and settings.public.mechanism != _MECHANISM:
        notes.append(
            f"The mechanism is {settings.public.mechanism}: scores of {settings.metric.name} have "
            f"no bounded range, which {_MECHANISM} needs. Name others with --mechanism."
        )
    return Prepared(request, manager, asked.workers or available_workers(), tuple(notes))


def _of_new(asked: Asked, manager: PluginManager) -> tuple[Path, Grounds, Settings]:
    """Return a new competition, once it is known that the metric can score models of the data."""
    if (asked.data is None) != (asked.target is None):
        raise UsageError("--data and --target go together.")
    if asked.test is not None:
        raise UsageError("--test is for a DIR that holds a competition; here --data is divided.")
    metric = asked.metric or _METRIC
    found = manager.metrics.resolve(metric)
    grounds = _new_grounds(asked, found)
    is_bounded = conceivable_scores(found) is not None
    title = f"SIMULATED: {asked.teams:,} teams in {asked.days:,} days, seed {asked.seed}"
    document: dict[str, Any] = {
        "competition": {"title": title, "baseline": _BASELINE, "deadline": _end(asked)},
        "data": dict(grounds.columns),
        "metric": {"name": manager.metrics.settled(metric)},
        "public": {"mechanism": _MECHANISM if is_bounded else _MECHANISM_OF_ANY_RANGE},
        "limits": {"per_day": asked.per_day or _PER_DAY},
    }
    return asked.directory, grounds, Settings.model_validate(document)


def _end(asked: Asked) -> datetime:
    """Return a deadline that is long past, so that nobody's submission is taken in afterwards."""
    return FIRST_DAY + timedelta(days=asked.days)


def _new_grounds(asked: Asked, metric: Metric) -> Grounds:
    if asked.data is None:
        shape_for(metric, 2)
        return grounds_of_world(synthetic_world(asked.sizes, asked.seed))
    from arena.simulation.own_data import read_world

    target = asked.target or ""
    numeric = metric.prediction is PredictionKind.VALUE
    world = read_world(
        asked.data,
        target,
        asked.sizes,
        asked.seed,
        numeric=numeric,
        positive=asked.positive,
        population_option="--rows",
    )
    shape_for(metric, world.rows.n_classes)
    return grounds_of_world(world, target)


def _of_own(asked: Asked, manager: PluginManager) -> tuple[Path, Grounds, Settings]:
    """Return the competition of a folder, to be simulated in a folder of its own below it."""
    given = {
        "--metric": asked.metric,
        "--per-day": asked.per_day,
        "--positive": asked.positive,
        "--public-share": asked.public_share,
    }
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"The competition in {asked.directory} decides it: omit {option}.")
    if (asked.data is None) != (asked.test is None):
        raise UsageError(
            "--data has the rows to learn from and --test the features of the rows to predict: "
            "give both, or neither for teams that train nothing."
        )
    own = read_own_competition(asked.directory, manager)
    rows = None
    if asked.data is not None and asked.test is not None:
        target = asked.target or own.solution.targets[0].name
        most = asked.sizes.training + asked.sizes.validation
        rows = read_rows(asked.data, asked.test, target, own.solution, most, asked.seed)
        metric = manager.metrics.resolve(own.settings.metric.specification)
        shape_for(metric, rows[0].n_classes)
    grounds = grounds_of_solution(own, rows)
    document = own.settings.to_document()
    document["competition"]["title"] = f"SIMULATED: {own.title or 'a competition'}"
    document["competition"]["deadline"] = own.settings.competition.deadline or _end(asked)
    document["data"] = dict(grounds.columns)
    root = asked.directory / f"simulated-seed-{asked.seed}"
    return root, grounds, Settings.model_validate(document)


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
        f"{plural(request.teams, 'team')} ({told}) in {plural(request.days, 'day')} on "
        f"{request.grounds.name}, under {' and '.join(request.mechanisms)}; "
        f"{plural(prepared.workers, 'worker')}."
    )
