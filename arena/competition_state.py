"""What an open competition rests on: its store, the settings in force, solution and metric."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from arena.config import Settings
from arena.epochs import adopt_settings
from arena.interfaces import Metric
from arena.ledger import Ledger
from arena.plugin_manager import PluginManager
from arena.store import Store
from arena.targets import mean_over_targets
from arena.types import Solution

__all__ = ["CompetitionState", "read_state", "resolve_metric"]


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
) -> CompetitionState:
    """Take up what a store holds, and record what changed in the settings.

    Raises
    ------
    InputError
        If the settings cannot be changed to what is wanted, or the mechanism does not suit them.
    """
    settings, notes = adopt_settings(store, manager, wanted, actor, clock())
    solution = store.solution()
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
    )


def resolve_metric(settings: Settings, solution: Solution, manager: PluginManager) -> Metric:
    """Return the metric that the settings name, as the mean over the targets of a solution."""
    single: Metric = manager.metrics.resolve(settings.metric.name)
    return mean_over_targets(single, len(solution.targets))
