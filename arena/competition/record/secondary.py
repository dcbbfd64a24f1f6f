"""The metrics besides the one that ranks, which must score what submissions contain too."""

from __future__ import annotations

from arena.competition.record.phases import each_phase
from arena.config import CONFIG_NAME, Settings
from arena.errors import InputError, MetricError, UnknownNameError, UsageError
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

    metrics = {}
    for name in settings.metric.secondary:
        try:
            single = metric_of_solution(manager.metrics.resolve(name), solution)
            metrics[name] = served_metric(name, single, solution.outline())
        except (UnknownNameError, UsageError) as error:
            raise UsageError(f"[metric] secondary: {error}") from error
    return metrics


def all_further_metrics(
    settings: Settings, solution: Solution, manager: PluginManager
) -> list[Metric]:
    """Return the secondary metrics and those of combined boards; raises UsageError like both."""
    metrics: list[Metric] = list(secondary_metrics(settings, solution, manager).values())
    if settings.board:
        from arena.competition.record.combined_boards import combined_metrics

        metrics += combined_metrics(settings, solution, manager).values()
    return metrics


def check_further_metrics(
    store: Store, manager: PluginManager, settings: Settings, stored: Settings
) -> None:
    """Check secondary metrics and combined boards when first read, and not on the last day.

    Raises
    ------
    InputError
        If a metric is unknown, or is not defined for the submissions or the labels.
    """
    now, before = (
        (side.metric.secondary, side.board, [phase.metric for phase in side.phase.values()])
        for side in (settings, stored)
    )
    if now == before:
        return
    from arena.evaluation.domain import check_truth

    try:
        for phase_settings, split in each_phase(settings, store.solution()):
            for metric in all_further_metrics(phase_settings, split, manager):
                check_truth(metric, split)
    except (UsageError, InputError, MetricError) as error:
        raise InputError(f"{CONFIG_NAME}: {error}") from error
