"""What is asked of ``arena attack``: checked, carried out, and judged."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np

from arena.errors import UsageError
from arena.execution import Progress
from arena.interfaces import Competitor, Mechanism, Metric
from arena.plugin_info import attributed_unquoted
from arena.plugin_manager import PluginManager
from arena.scopes import Scope
from arena.specification import split_specifications
from arena_competitors.advice import Verdict, advise, judge
from arena_competitors.campaign import Campaign, Curve
from arena_competitors.honest import smallest_gain_shown
from arena_competitors.own_solution import competition_rows
from arena_competitors.public_board import review
from arena_competitors.rows import Rows, synthetic_rows

__all__ = ["Battle", "Outcome", "Request", "fight", "prepare"]

_ROWS, _TOTAL_TIMES, _CLASSES = 4_000, 3, 2
_METRIC, _MECHANISMS = "accuracy", "kaggle, ladder-free"


@dataclass(frozen=True, slots=True)
class Request:
    """The options of the command; None where one was not given."""

    attacks: str
    mechanisms: str | None
    rows: int | None
    total_rows: int | None
    submissions: int
    repeats: int
    metric: str | None
    classes: int | None
    scope: str | None
    seed: int
    budget: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Battle:
    """What is to be done."""

    request: Request
    metric: str
    """As it was asked for."""
    campaign: Campaign
    example: Rows
    """The rows of the first repetition."""
    attacks: Mapping[str, Competitor]
    mechanisms: Mapping[str, Mechanism]
    synthetic: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What came of it."""

    battle: Battle
    curves: tuple[Curve, ...]
    verdicts: tuple[Verdict, ...]
    advice: str

    @property
    def within_budget(self) -> bool | None:
        """Whether every bias stayed under the budget; None without one."""
        if self.battle.request.budget is None:
            return None
        return all(verdict.within_budget for verdict in self.verdicts)


def prepare(request: Request, directory: Path | None, wait: float) -> Battle:
    """Find everything that is asked for, before anything is played.

    Raises
    ------
    ArenaError
        If something does not exist, or does not go together.
    """
    if request.budget is not None and not 0 <= request.budget < math.inf:
        raise UsageError(f"--budget is a bias of 0 or more, not {request.budget:g}.")
    if directory is None:
        return _on_random_labels(request, PluginManager())
    return _on_own_solution(request, directory, wait)


def _on_random_labels(request: Request, manager: PluginManager) -> Battle:
    name = request.metric or _METRIC
    metric: Metric = manager.metrics.resolve(name)
    rows = _ROWS if request.rows is None else request.rows
    total = _TOTAL_TIMES * rows if request.total_rows is None else request.total_rows
    classes = _CLASSES if request.classes is None else request.classes

    def make_rows(rng: np.random.Generator) -> Rows:
        return synthetic_rows(metric, rows, total, classes, rng)

    campaign = Campaign(
        make_rows, request.submissions, request.repeats, _scope(request.scope), request.seed
    )
    asked = request.mechanisms or _MECHANISMS
    return _battle(request, name, campaign, manager, asked, synthetic=True)


def _on_own_solution(request: Request, directory: Path, wait: float) -> Battle:
    from arena.cli.folder import look_at_competition  # it loads the store, which others do not need

    given = {
        "--rows": request.rows,
        "--total-rows": request.total_rows,
        "--classes": request.classes,
        "--metric": request.metric,
    }
    refused = [option for option, value in given.items() if value is not None]
    if refused:
        raise UsageError(f"{refused[0]} comes from the competition that -C names: leave it out.")
    with look_at_competition(directory, wait) as competition:
        settings, manager = competition.settings, competition.manager
        metric: Metric = manager.metrics.resolve(settings.metric.name)
        own = competition_rows(competition.solution, metric)
    scope = _scope(request.scope or settings.public.scope)
    campaign = Campaign(lambda _: own, request.submissions, request.repeats, scope, request.seed)
    asked = request.mechanisms or settings.public.mechanism
    return _battle(request, settings.metric.name, campaign, manager, asked, synthetic=False)


def _scope(given: str | None) -> Scope:
    for scope in get_args(Scope):
        if scope == (given or "team"):
            known: Scope = scope
            return known
    raise UsageError(f"--scope is team or rank, not {given!r}.")


def _battle(
    request: Request,
    metric: str,
    campaign: Campaign,
    manager: PluginManager,
    mechanisms: str,
    *,
    synthetic: bool,
) -> Battle:
    found = {name: manager.mechanisms.resolve(name) for name in split_specifications(mechanisms)}
    attacks = {
        name: manager.competitors.resolve(name) for name in split_specifications(request.attacks)
    }
    if not found or not attacks:
        raise UsageError("Name at least one attack and one mechanism.")
    with attributed_unquoted(manager.metrics.plugin_of(metric), f"scoring {metric}"):
        example = campaign.rows(0)
        for attack in attacks.values():
            participation = example.participation(request.submissions, None)
            attack.start(participation, np.random.default_rng(0))
        notes = [
            note
            for name, mechanism in found.items()
            for note in review(name, mechanism, example, campaign.settings)
        ]
    return Battle(
        request=request,
        metric=metric,
        campaign=campaign,
        example=example,
        attacks=attacks,
        mechanisms=found,
        synthetic=synthetic,
        notes=tuple(notes),
    )


def fight(battle: Battle, progress: Progress) -> Outcome:
    """Play every attack against every mechanism, and judge the mechanisms.

    Raises
    ------
    ArenaError
        If an attack or a mechanism fails.
    """
    curves = battle.campaign.run(battle.attacks, battle.mechanisms, progress)
    progress.start("Trying honest gains", len(battle.mechanisms))
    gains = {}
    for name, mechanism in battle.mechanisms.items():
        gains[name] = smallest_gain_shown(
            mechanism, battle.example, battle.campaign.settings, battle.request.seed
        )
        progress.advance()
    verdicts = judge(curves, gains, battle.request.budget)
    advice = advise(verdicts, battle.request.budget)
    return Outcome(battle, tuple(curves), tuple(verdicts), advice)
