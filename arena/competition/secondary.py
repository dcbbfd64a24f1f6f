"""The secondary metrics of a competition, which must score what submissions contain."""

from __future__ import annotations

from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError, UsageError
from arena.evaluation.solution_metric import metric_of_solution
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.store import Store
from arena.types import Solution


def secondary_metrics(
    settings: Settings, solution: Solution, manager: PluginManager
) -> dict[str, Metric]:
    """Return the secondary metrics by specification, averaged over the targets of a solution.

    Probabilities serve metrics of scores and of labels, too.

    Raises
    ------
    UsageError
        If a metric cannot score what submissions contain.
    """
    from arena.evaluation.combinations import served_metric  # a submission needs none

    found = {}
    for name in settings.metric.secondary:
        single = metric_of_solution(manager.metrics.resolve(name), solution)
        try:
            found[name] = served_metric(name, single, solution)
        except UsageError as error:
            raise UsageError(f"[metric] secondary: {error}") from error
    return found


def check_secondary(
    store: Store, manager: PluginManager, settings: Settings, kept: Settings
) -> None:
    """Check new secondary metrics when they are first read, and not on the last day.

    Raises
    ------
    InputError
        If a metric is unknown, or is not defined for the submissions or the labels.
    """
    if settings.metric.secondary == kept.metric.secondary:
        return
    from arena.evaluation.domain import check_truth

    solution = store.solution()
    try:
        for metric in secondary_metrics(settings, solution, manager).values():
            check_truth(metric, solution)
    except (UsageError, InputError) as error:
        raise InputError(f"{CONFIG_NAME}: {error}") from error
