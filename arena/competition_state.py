"""What an open competition rests on: its store, the settings in force, solution and metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.config import Settings
from arena.epochs import adopt_settings, view_settings
from arena.errors import ArenaError
from arena.interfaces import HasSource, Metric
from arena.ledger import Ledger
from arena.plugin_manager import PluginManager
from arena.store import Store
from arena.targets import mean_over_targets
from arena.types import Solution

__all__ = ["METRIC_CODE", "CompetitionState", "metric_code", "read_state", "resolve_metric"]

METRIC_CODE = "metric_code"
"""Where the store keeps the code of a metric that stands in a file of the organiser."""


@dataclass(frozen=True, slots=True, eq=False)
class CompetitionState:
    """A reading of the store together with what it is read by; made anew after a rescore."""

    folder: Path
    store: Store
    manager: PluginManager
    clock: Callable[[], datetime]
    actor: str
    """Who is recorded as having done what happens."""
    wanted: Settings
    """``competition.toml`` as it is written."""
    settings: Settings
    """As they are in force: a wanted metric waits for a rescore."""
    notes: tuple[str, ...]
    """What a person should know of the settings."""
    solution: Solution
    metric: Metric
    seed: int
    """Secret; every chance in the competition comes from it."""
    revision: int
    """Of the scores; a rescore is a new one."""
    unrecorded: tuple[list[Any], ...] = ()
    """``[key, before, after]`` of the settings in force that are not on record: for a view."""

    @property
    def ledger(self) -> Ledger:
        """What follows from the record."""
        return Ledger(self.store, self.revision, self.settings.public.epoch)

    def record(self, kind: str, payload: Mapping[str, Any]) -> None:
        """Append an event, in a transaction of its own."""
        with self.store.transaction() as transaction:
            transaction.append_event(kind, self.actor, payload, time=self.clock())


def read_state(
    folder: Path,
    store: Store,
    manager: PluginManager,
    wanted: Settings,
    actor: str,
    clock: Callable[[], datetime],
    *,
    view: bool = False,
) -> CompetitionState:
    """Take up what a store holds, and record what changed in the settings; a view records nothing.

    The files of a metric are sought from the folder on.

    Raises
    ------
    InputError
        If the settings cannot be changed to what is wanted, or the mechanism does not suit them.
    """
    manager = manager.within(folder)
    kept = Settings.model_validate_json(store.meta("settings") or "{}").metric.specification
    code = store.meta(METRIC_CODE)
    if code is not None:
        manager.metrics.keep(kept, code)
    manager.metrics.resolve(wanted.metric.specification)
    unrecorded: tuple[list[Any], ...] = ()
    if view:
        settings, notes, unrecorded = view_settings(store, manager, wanted)
    else:
        settings, notes = adopt_settings(store, manager, wanted, actor, clock())
    solution = store.solution()
    notes += _changed_code(kept, code, manager)
    return CompetitionState(
        folder=folder,
        store=store,
        manager=manager,
        clock=clock,
        actor=actor,
        wanted=wanted,
        settings=settings,
        notes=tuple(notes),
        solution=solution,
        metric=resolve_metric(settings, solution, manager),
        seed=int(store.meta("seed") or 0),
        revision=int(store.meta("revision") or 1),
        unrecorded=unrecorded,
    )


def resolve_metric(settings: Settings, solution: Solution, manager: PluginManager) -> Metric:
    """Return the metric that the settings name, as the mean over the targets of a solution."""
    single: Metric = manager.metrics.resolve(settings.metric.specification)
    return mean_over_targets(single, len(solution.targets))


def metric_code(specification: str, manager: PluginManager) -> str | None:
    """Return the code of a metric that stands in a file of the organiser, as it is now."""
    metric: Metric = manager.metrics.resolve(specification, fresh=True)
    return metric.source_text if isinstance(metric, HasSource) else None


def _changed_code(specification: str, kept: str | None, manager: PluginManager) -> list[str]:
    """Say so if the file of the metric is not any more what the scores are by."""
    if kept is None:
        return []
    try:
        now = metric_code(specification, manager)
    except ArenaError as error:
        return [f"{error} The scores are by the code that was kept from it."]
    if now == kept:
        return []
    return [
        f"The code of {specification} has changed. The scores are by what it was until arena "
        f"rescore --apply."
    ]
