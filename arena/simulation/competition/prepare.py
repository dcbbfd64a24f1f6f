"""Reads what a request names and checks that it can be simulated, before anything is trained."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np

from arena.competition.state import CompetitionState
from arena.config import Settings
from arena.errors import UsageError
from arena.interfaces import Participation
from arena.plugin.info import attributed
from arena.plugin.manager import PluginManager
from arena.plugin.specification import split_specifications
from arena.public_board.clipping import conceivable_scores
from arena.simulation.competition.calendar import FIRST_DAY, MOST_A_DAY
from arena.simulation.competition.drawn import DRAWN
from arena.simulation.competition.existing import (
    data_from_solution,
    is_own_competition,
    read_own_competition,
    read_rows,
)
from arena.simulation.competition.run import (
    PreparedSimulation,
    check_target,
    open_competition,
    published,
    sample_prediction,
)
from arena.simulation.competition.sent_programs import (
    settings_with_programs,
    why_no_program_runs,
)
from arena.simulation.competition.setup import (
    CompetitionData,
    data_from_world,
    with_drift,
    with_held_out_rows,
)
from arena.simulation.competition.teams import CompetitorKind, baseline_of, read_kinds
from arena.simulation.data import Sizes, synthetic_world
from arena.simulation.past.teams import LikePast, boards_like
from arena.simulation.ranks.submission import shape_for
from arena.simulation.requests import SimulationRequest
from arena.types import PredictionKind
from arena.utils.text import plural

KINDS = (
    "lightgbm-climber=30, copycat=9, lightgbm-seeds=7, random-search=1, boosting=1, "
    "block-flip(rows=4, base=baseline)=2"
)
DEFAULT_SIZES = Sizes(3_000, 1_000, 6_000)
_MECHANISM = "ladder-free(minimum_step=0.002)"
_MECHANISM_WITHOUT_RANGE = "kaggle"
_METRIC, _PER_DAY, _PUBLIC_SHARE = "accuracy", 2, 0.3
_BASELINE, _BASELINE_COMPETITOR = "simulated baseline", "lightgbm-climber"
_NO_TRAINING = (
    "No team trains a model: that needs --data FILE with rows to train on and --test FILE with the "
    "features of the rows to predict."
)


def prepare(
    request: SimulationRequest, manager: PluginManager, *, tried: bool = False
) -> PreparedSimulation:
    """Read the data and check everything that can be checked without training.

    Parameters
    ----------
    tried
        Whether the same request was tried with another seed: the competitions are not created for
        a trial again.

    Raises
    ------
    ArenaError
        If the simulation cannot be run as requested.
    """
    named = split_specifications(request.mechanisms or "")
    for mechanism in named:
        manager.mechanisms.resolve(mechanism)
    like = None if request.like is None else LikePast(boards_like(request.like))
    kinds = (DRAWN,) if request.drawn else read_kinds(request.kinds or KINDS, manager.competitors)
    baseline = None
    if request.baseline != "none" and not request.drawn:
        baseline = baseline_of(request.baseline or _BASELINE_COMPETITOR, manager.competitors)
    is_own = is_own_competition(request.directory)
    root, data, settings = (existing_competition if is_own else new_competition)(request, manager)
    settings, kinds, without_sandbox = with_programs(settings, kinds, manager)
    share = _PUBLIC_SHARE if request.public_share is None else request.public_share
    simulation = PreparedSimulation(
        request=request,
        root=root,
        data=data,
        settings=settings,
        mechanisms=tuple(dict.fromkeys(named)) or (settings.public.mechanism,),
        kinds=kinds,
        baseline=baseline,
        like=like,
        public_share=0.0 if is_own else share,
    )
    dropped: list[str] = []
    if not tried:
        simulation, dropped = dry_run(
            simulation,
            manager,
            drop_kinds=request.kinds is None,
            drop_baseline=request.baseline is None,
        )
    notes = [*data.notes, *without_sandbox, *dropped]
    if like is not None:
        notes += notes_on_limits(like, settings, request.days)
    if data.training is None and not request.drawn:
        notes.append(_NO_TRAINING)
    if not (named or is_own) and settings.public.mechanism != _MECHANISM:
        notes.append(
            f"The mechanism is {settings.public.mechanism}: scores of {settings.metric.name} have "
            f"no bounded range, which {_MECHANISM} needs. Choose others with --mechanism."
        )
    return replace(simulation, notes=tuple(notes))


def without_what_cannot_play(first: PreparedSimulation) -> SimulationRequest:
    """Return the request of several seeds, without the defaults that cannot play with the first."""
    request = first.request
    if request.drawn:
        return request
    kinds, baseline = request.kinds, request.baseline
    if kinds is None:
        kinds = ", ".join(f"{kind.specification}={kind.share:g}" for kind in first.kinds)
    if baseline is None:
        baseline = "none" if first.baseline is None else first.baseline.specification
    return replace(request, kinds=kinds, baseline=baseline)


def with_programs(
    settings: Settings, kinds: tuple[CompetitorKind, ...], manager: PluginManager
) -> tuple[Settings, tuple[CompetitorKind, ...], list[str]]:
    """Return settings that run programs, if a kind sends them, the kinds that can play, and notes.

    Raises
    ------
    UsageError
        If no program can run on this machine, and there is no other kind.
    """
    senders = [kind for kind in kinds if kind.sends_programs]
    if not senders:
        return settings, kinds, []
    running = settings_with_programs(settings)
    reason = why_no_program_runs(running.programs, manager)
    if reason is None:
        return running, kinds, []
    others = tuple(kind for kind in kinds if not kind.sends_programs)
    notes = [
        f"{kind.specification} is left out: this machine runs no programs. {reason}"
        for kind in senders
    ]
    if not others:
        raise UsageError(" ".join(notes))
    return settings, others, notes


def notes_on_limits(like: LikePast, settings: Settings, days: int) -> list[str]:
    """Return a note if teams of the past boards sent more than the limits allow."""
    per_day, total = settings.limits.per_day or MOST_A_DAY, settings.limits.total
    allowed = min(days * per_day, days * per_day if total is None else total)
    entries = [board.entries for board in like.boards if board.entries is not None]
    share = float(np.mean(np.concatenate(entries) > allowed)) if entries else 0.0
    if not share:
        return []
    return [
        f"{100 * share:.0f}% of the past teams sent more than the {plural(allowed, 'submission')} "
        f"that {plural(days, 'day')} with {per_day:,} a day allow; teams like them send as many as "
        "allowed."
    ]


def new_competition(
    request: SimulationRequest, manager: PluginManager
) -> tuple[Path, CompetitionData, Settings]:
    """Return folder, data and settings of a new competition on synthetic rows or on --data."""
    if (request.data is None) != (request.target is None):
        raise UsageError("--data and --target go together.")
    if request.test is not None:
        raise UsageError("--test is for a DIR that holds a competition; here --data is divided.")
    name = request.metric or _METRIC
    metric = manager.metrics.resolve(name)
    sizes, given_sizes = _sizes(request)
    if request.data is None:
        shape_for(metric, 2)
        world = synthetic_world(sizes, request.seed, request.training_drift)
        data = data_from_world(world)
    else:
        from arena.simulation.data_file import read_world

        target = request.target or ""
        world = read_world(
            request.data,
            target,
            sizes,
            request.seed,
            numeric=metric.prediction is PredictionKind.VALUE,
            positive=request.positive,
            population_option="--rows",
            given_sizes=given_sizes,
            drift=request.training_drift,
        )
        shape_for(metric, world.rows.n_classes)
        data = data_from_world(world, target)
    share = _PUBLIC_SHARE if request.public_share is None else request.public_share
    if request.drift:
        data = with_drift(data, share, request.drift, request.seed)
    if request.data is not None and not request.drawn:
        data = with_held_out_rows(data, share, request.seed)
    is_bounded = conceivable_scores(metric) is not None
    document: dict[str, Any] = {
        "competition": {
            "title": f"SIMULATED: {plural(request.teams, 'team')} in "
            f"{plural(request.days, 'day')}, "
            f"seed {request.seed}",
            "baseline": _BASELINE,
            "deadline": _deadline(request),
        },
        "data": dict(data.columns),
        "metric": {"name": manager.metrics.settled(name)},
        "public": {"mechanism": _MECHANISM if is_bounded else _MECHANISM_WITHOUT_RANGE},
        "limits": {"per_day": request.per_day or _PER_DAY},
    }
    return request.directory, data, Settings.model_validate(document)


def _sizes(request: SimulationRequest) -> tuple[Sizes, tuple[str, ...]]:
    """Return the numbers of rows, and the names of those that were given.

    A number that is given is not made smaller to fit the data.
    """
    return DEFAULT_SIZES.changed(
        training=request.train_rows, validation=request.validation_rows, population=request.rows
    )


def _deadline(request: SimulationRequest) -> Any:
    """Return a deadline that is long past, so that nothing is accepted after the simulation."""
    return FIRST_DAY + timedelta(days=request.days)


def existing_competition(
    request: SimulationRequest, manager: PluginManager
) -> tuple[Path, CompetitionData, Settings]:
    """Return data and settings of the competition in DIR, to be simulated in a folder below it."""
    decided = {
        "--metric": request.metric,
        "--per-day": request.per_day,
        "--positive": request.positive,
        "--public-share": request.public_share,
        "--drift": request.drift or None,
        "--training-drift": request.training_drift or None,
    }
    for option, value in decided.items():
        if value is not None:
            raise UsageError(f"The competition in {request.directory} decides it: omit {option}.")
    if (request.data is None) != (request.test is None):
        raise UsageError(
            "--data has the rows to train on and --test the features of the rows to predict: give "
            "both, or neither for teams that train nothing."
        )
    own_competition = read_own_competition(request.directory, manager)
    rows = None
    if request.data is not None and request.test is not None:
        target = request.target or own_competition.solution.targets[0].name
        sizes, _ = _sizes(request)
        most = sizes.training + sizes.validation
        rows = read_rows(
            request.data,
            request.test,
            target=target,
            solution=own_competition.solution,
            most=most,
            seed=request.seed,
        )
        metric = manager.metrics.resolve(own_competition.settings.metric.specification)
        shape_for(metric, rows[0].n_classes)
    data = data_from_solution(own_competition, rows)
    document = own_competition.settings.to_document()
    document["competition"]["title"] = f"SIMULATED: {own_competition.title or 'a competition'}"
    document["competition"]["deadline"] = (
        own_competition.settings.competition.deadline or _deadline(request)
    )
    document["data"] = dict(data.columns)
    root = request.directory / f"simulated-seed-{request.seed}"
    return root, data, Settings.model_validate(document)


def dry_run(
    simulation: PreparedSimulation,
    manager: PluginManager,
    *,
    drop_kinds: bool = False,
    drop_baseline: bool = False,
) -> tuple[PreparedSimulation, list[str]]:
    """Create every competition and start every kind of player in a temporary folder.

    Parameters
    ----------
    drop_kinds, drop_baseline
        Whether kinds that cannot play here, or a baseline that cannot be made, are left out with
        a note: for defaults.

    Returns
    -------
    The simulation without what was left out, and notes for the organiser, in sentences.

    Raises
    ------
    ArenaError
        If the simulation cannot be run as requested.
    """
    notes: list[str] = []
    kinds, baseline = simulation.kinds, simulation.baseline
    with tempfile.TemporaryDirectory(prefix="arena-dry-run-") as folder:
        for position, mechanism in enumerate(simulation.mechanisms):
            trial = replace(simulation, root=Path(folder) / str(position), mechanisms=(mechanism,))
            with open_competition(trial.open_folder(), trial, mechanism, manager) as (state, _):
                notes += [f"{mechanism}: {note}" for note in state.notes]
                if position == 0 and not simulation.request.drawn:
                    kinds, baseline, left_out = _fitting(
                        simulation, state, drop_kinds, drop_baseline
                    )
                    notes += left_out
    return replace(simulation, kinds=kinds, baseline=baseline), list(dict.fromkeys(notes))


def _fitting(
    simulation: PreparedSimulation, state: CompetitionState, drop_kinds: bool, drop_baseline: bool
) -> tuple[tuple[CompetitorKind, ...], CompetitorKind | None, list[str]]:
    """Return the kinds and the baseline that can play, and notes on those that cannot."""
    check_target(simulation.data, state.solution)
    part = published(simulation, state, visits=10)
    notes: list[str] = []
    baseline = simulation.baseline
    if baseline is not None and (why := refusal_of_kind(baseline, part, drop_baseline)):
        baseline = None
        notes.append(f"The public baseline is the sample submission: {why}")
    part = replace(part, baseline=sample_prediction(state))
    fitting_kinds = []
    for kind in simulation.kinds:
        if why := refusal_of_kind(kind, part, drop_kinds):
            notes.append(f"{kind.specification} is left out: {why}")
        else:
            fitting_kinds.append(kind)
    if not fitting_kinds:
        raise UsageError("None of the kinds of teams can play here: choose others with --kinds.")
    return tuple(fitting_kinds), baseline, notes


def refusal_of_kind(kind: CompetitorKind, part: Participation, tolerated: bool) -> str | None:
    """Return why a kind cannot play, if that is tolerated; otherwise raise it."""
    try:
        with attributed(kind.plugin, f"starting {kind.specification}"):
            kind.competitor.start(part, np.random.default_rng(0))
    except UsageError as error:
        if not tolerated:
            raise
        return str(error)
    return None
