"""A competition whose process is killed while it scores, as by a lack of memory."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.competition.competition import Competition
from arena.hookspecs import hookimpl
from arena.plugin.manager import PluginManager
from arena.store import Transaction
from arena.types import PredictionKind
from scenario import Clock


@dataclass
class Deadly:
    """The mean prediction; a first one of ``limit`` kills the process."""

    limit: float = 1000.0
    name: str = "deadly"
    greater_is_better: bool = False
    prediction: PredictionKind = PredictionKind.VALUE

    def score(self, truth: Any, prediction: Any, weight: Any = None) -> float:
        if prediction[0] == self.limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return float(prediction.mean())


@dataclass
class Plugin:
    """Provides the metric ``deadly``."""

    limit: float = 1000.0

    @hookimpl
    def provide_metrics(self) -> list[Any]:
        return [Deadly(self.limit)]


def manager(limit: float = 1000.0) -> PluginManager:
    """Return a plugin manager with the metric ``deadly``."""
    plugin_manager = PluginManager()
    plugin_manager.register(Plugin(limit), "mine")
    return plugin_manager


def submit(folder: Path, file: Path, team: str, before_the_journal: bool) -> str:
    """Submit a file in this process, which is perhaps killed; return the status.

    With ``before_the_journal`` it is killed when everything is stored and not acknowledged.
    """
    if before_the_journal:

        def kill(*_: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

        Transaction.acknowledge = kill  # type: ignore[method-assign]
    with Competition.open(folder, manager=manager(), clock=Clock()) as competition:
        return competition.submit(file, team).status
