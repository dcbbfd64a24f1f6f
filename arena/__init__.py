"""Run a prediction competition on your own machine.

The names below are imported on first use, so that ``import arena`` is fast. A function of a plugin
is an entry point in group ``arena.functions``, and an attribute of this package under its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.client import Client, OrganiserClient
    from arena.competition.competition import Competition
    from arena.competition.view import CompetitionView
    from arena.config import Settings
    from arena.hookspecs import hookimpl
    from arena.intake.case_table import CaseColumns
    from arena.plugin.manager import PluginManager
    from arena.scoring.estimators import from_estimators, make_scorer
    from arena.scoring.rank import rank
    from arena.scoring.result import ScoreResult
    from arena.scoring.score import score
    from arena.scoring.settings import BoardSettings, ScoreSettings
    from arena.scoring.validation import validate
    from arena.simulation.competition.simulate import simulate
    from arena.simulation.plan.plan_function import plan
    from arena.simulation.plan.questions import plan_cases
    from arena.simulation.plan.queue import plan_queue
    from arena.simulation.ranks.simulate import simulate_ranks
    from arena.types import SolutionColumns
    from arena.utils.progress import ProgressDisplay

__all__ = [
    "BoardSettings",
    "CaseColumns",
    "Client",
    "Competition",
    "CompetitionView",
    "OrganiserClient",
    "PluginManager",
    "ProgressDisplay",
    "ScoreResult",
    "ScoreSettings",
    "Settings",
    "SolutionColumns",
    "attack",
    "bayes_error",
    "from_estimators",
    "hookimpl",
    "make_scorer",
    "plan",
    "plan_cases",
    "plan_queue",
    "rank",
    "sample_maximum",
    "score",
    "simulate",
    "simulate_ranks",
    "sota",
    "validate",
]


def __getattr__(name: str) -> Any:
    value = _imported(name)
    from inspect import isfunction

    from arena.utils.python_calls import naming_arguments

    if isfunction(value):
        value = globals()[name] = naming_arguments(value)
        value.__module__ = __name__  # where pickle finds it
    return value


def _imported(name: str) -> Any:
    from arena.utils.lazy import lazy_exports

    try:
        return lazy_exports(__name__, __file__)[0](name)
    except AttributeError:
        if name.startswith("_"):
            raise
        from importlib import metadata  # 25 ms

        for point in metadata.entry_points(group="arena.functions", name=name):
            return point.load()
        raise


def __dir__() -> list[str]:
    return sorted(__all__)
