"""Checks the options of ``arena attack``, runs the attacks and evaluates the mechanisms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import Any, get_args

import numpy as np

from arena.errors import UsageError
from arena.interfaces import Competitor, Mechanism, Metric, Scope
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.plugin.specification import split_specifications
from arena.public_board.clipping import conceivable_scores
from arena.public_board.revealed import Revealed, is_measurable, rows_revealed
from arena.utils.engines import Engine
from arena.utils.parallel import Progress
from arena.utils.representation import short_repr
from arena_competitors.advice import Verdict, advise, evaluate
from arena_competitors.campaign import Campaign, Curve
from arena_competitors.public_board import review
from arena_competitors.rows import Rows, competition_rows, synthetic_rows
from arena_competitors.smallest_gain import smallest_gain_shown

_ROWS, _TOTAL_TIMES, _CLASSES = 4_000, 3, 2
_METRIC, _MECHANISMS = "accuracy", "kaggle, ladder-free"
_WITHOUT_BOUNDS = "kaggle"
"""For scores without a bounded range, which a Ladder needs."""


@dataclass(frozen=True, slots=True)
class AttackRequest:
    """The options of the command; None for options that were not given."""

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
    """The seed of all random numbers."""
    budget: float | None


@dataclass(frozen=True, slots=True, eq=False)
class AttackStudy:
    """The checked options, with everything needed to run the attacks."""

    request: AttackRequest
    metric: str
    """As given."""
    campaign: Campaign
    example: Rows
    """The rows of the first repetition."""
    attacks: Mapping[str, Competitor]
    mechanisms: Mapping[str, Mechanism]
    synthetic: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class AttackOutcome:
    """The results of the attacks."""

    __repr__ = short_repr

    study: AttackStudy
    """The options, checked, and ``notes`` on them."""
    curves: tuple[Curve, ...]
    """For every attack and mechanism, the means by the number of submissions."""
    verdicts: tuple[Verdict, ...]
    """On every mechanism: its largest bias, and the smallest honest gain that it shows."""
    advice: str
    """Which mechanism to choose, in sentences."""

    @property
    def within_budget(self) -> bool | None:
        """Whether every bias stayed within the budget; None without one."""
        if self.study.request.budget is None:
            return None
        return all(verdict.within_budget for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, valid against ``schemas/attack-1.json``."""
        study, request = self.study, self.study.request
        return {
            "schema": "arena/attack/1",
            "metric": study.metric,
            "greater_is_better": study.example.metric.greater_is_better,
            "random_labels": study.synthetic,
            "rows": len(study.example.public),
            "total_rows": study.example.n_rows,
            "classes": study.example.n_classes,
            "submissions": request.submissions,
            "repeats": request.repeats,
            "scope": study.campaign.scope,
            "seed": request.seed,
            "budget": request.budget,
            "within_budget": self.within_budget,
            "curves": [row for curve in self.curves for row in curve.to_rows()],
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
            "advice": self.advice,
            "notes": list(study.notes),
        }


def prepare(
    request: AttackRequest,
    directory: Path | None,
    wait: float,
    manager: PluginManager | None = None,
) -> AttackStudy:
    """Resolve and check all options before anything runs.

    Without a manager the installed plugins are used.

    Raises
    ------
    ArenaError
        If something does not exist or the options do not fit together.
    """
    if request.budget is not None and not 0 <= request.budget < math.inf:
        raise UsageError(f"--budget must be a bias of 0 or more, not {request.budget:g}.")
    counts = (request.seed, request.submissions, request.repeats)
    if not all(isinstance(count, Integral) for count in counts):
        raise UsageError("The seed, the submissions and the repetitions are whole numbers.")
    if request.seed < 0:
        raise UsageError("The seed must be 0 or more.")
    if min(request.submissions, request.repeats) < 1:
        raise UsageError("At least 1 submission and 1 repetition are needed.")
    if directory is None:
        return _on_random_labels(request, PluginManager() if manager is None else manager)
    return _on_own_solution(request, directory, wait)


def _on_random_labels(request: AttackRequest, manager: PluginManager) -> AttackStudy:
    name = request.metric or _METRIC
    metric: Metric = manager.metrics.resolve(name)
    rows = _ROWS if request.rows is None else request.rows
    total = _TOTAL_TIMES * rows if request.total_rows is None else request.total_rows
    classes = _CLASSES if request.classes is None else request.classes

    make_rows = partial(synthetic_rows, metric, rows, total, classes)
    campaign = Campaign(
        make_rows,
        request.submissions,
        repeats=request.repeats,
        scope=_scope(request.scope),
        seed=request.seed,
    )
    has_bounds = conceivable_scores(metric) is not None
    mechanisms = request.mechanisms or (_MECHANISMS if has_bounds else _WITHOUT_BOUNDS)
    study = _study(
        request, name, campaign=campaign, manager=manager, mechanisms=mechanisms, synthetic=True
    )
    if has_bounds or request.mechanisms is not None:
        return study
    note = (
        f"ladder-free is left out: {name} has no bounded range. Use a bounded metric, or name "
        f"mechanisms with --mechanism."
    )
    return replace(study, notes=(note, *study.notes))


def _on_own_solution(request: AttackRequest, directory: Path, wait: float) -> AttackStudy:
    from arena.cli.folder import look_at_competition  # loads the store

    value_of = {
        "--rows": request.rows,
        "--total-rows": request.total_rows,
        "--classes": request.classes,
        "--metric": request.metric,
    }
    refused = [option for option, value in value_of.items() if value is not None]
    if refused:
        raise UsageError(f"{refused[0]} comes from the competition given by -C: omit it.")
    with look_at_competition(directory, wait) as competition:
        settings, manager = competition.settings, competition.manager
        name = settings.metric.specification
        metric: Metric = manager.metrics.resolve(name)
        rows = competition_rows(competition.solution, metric)
    scope = _scope(request.scope or settings.public.scope)
    make_rows = partial(_same, rows)
    campaign = Campaign(
        make_rows, request.submissions, repeats=request.repeats, scope=scope, seed=request.seed
    )
    mechanisms = request.mechanisms or settings.public.mechanism
    return _study(
        request, name, campaign=campaign, manager=manager, mechanisms=mechanisms, synthetic=False
    )


def _same(rows: Rows, _: np.random.Generator) -> Rows:
    return rows


def _scope(given: str | None) -> Scope:
    for scope in get_args(Scope):
        if scope == (given or "team"):
            checked_scope: Scope = scope
            return checked_scope
    raise UsageError(f"--scope must be team, rank or competition, not {given!r}.")


def _study(
    request: AttackRequest,
    metric: str,
    campaign: Campaign,
    manager: PluginManager,
    mechanisms: str,
    *,
    synthetic: bool,
) -> AttackStudy:
    mechanism_items = {
        name: manager.mechanisms.resolve(name) for name in split_specifications(mechanisms)
    }
    attacks = {
        name: manager.competitors.resolve(name) for name in split_specifications(request.attacks)
    }
    if not mechanism_items or not attacks:
        raise UsageError("Name at least one attack and one mechanism.")
    with attributed_unquoted(manager.metrics.plugin_of(metric), f"scoring {metric}"):
        example = campaign.rows(0)
        participation = example.participation(request.submissions, None)
        fitting, notes = {}, []
        for name, attack in attacks.items():
            try:
                attack.start(participation, np.random.default_rng(0))
            except UsageError as error:
                if len(attacks) == 1:
                    raise
                notes.append(f"{name} is left out: {error}")
            else:
                fitting[name] = attack
        if not fitting:
            raise UsageError(f"None of the attacks suits {metric}: {' '.join(notes)}")
        notes += [
            note
            for name, mechanism in mechanism_items.items()
            for note in review(name, mechanism, example, campaign.settings)
        ]
    return AttackStudy(
        request=request,
        metric=metric,
        campaign=campaign,
        example=example,
        attacks=fitting,
        mechanisms=mechanism_items,
        synthetic=synthetic,
        notes=tuple(notes),
    )


def run(study: AttackStudy, progress: Progress, engine: Engine | None = None) -> AttackOutcome:
    """Run every attack against every mechanism, and evaluate the mechanisms.

    The attacks run on the engine; None: on a cluster in use, else in this process.

    Raises
    ------
    ArenaError
        If an attack or a mechanism fails.
    """
    curves = study.campaign.run(study.attacks, study.mechanisms, progress, engine)
    progress.start("Testing honest gains and reading labels", len(study.mechanisms))
    gains: dict[str, float | None] = {}
    revealed: dict[str, Revealed | None] = {}
    example = study.example
    for name, mechanism in study.mechanisms.items():
        gains[name] = smallest_gain_shown(
            mechanism, example, study.campaign.settings, study.request.seed
        )
        revealed[name] = None
        if is_measurable(example.metric):
            truth, n_classes = example.public_truth, example.n_classes or 0
            revealed[name] = rows_revealed(example.metric, mechanism, truth, n_classes)
        progress.advance()
    verdicts = evaluate(curves, gains, revealed, study.request.budget)
    advice = advise(verdicts, study.request.budget)
    return AttackOutcome(study, tuple(curves), tuple(verdicts), advice)
