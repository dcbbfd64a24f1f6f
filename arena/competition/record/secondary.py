"""The metrics besides the one that ranks, which must score what submissions contain too."""

from __future__ import annotations

from collections.abc import Mapping

from arena.competition.record.phases import each_phase
from arena.config import Settings, errors_name_setting
from arena.evaluation.solution_metric import metric_of_solution
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.store import Store
from arena.types import Solution

SECONDARY = "[metric] secondary"
"""The key of the secondary metrics."""


def secondary_metrics(
    settings: Settings, solution: Solution, manager: PluginManager
) -> dict[str, Metric]:
    """Return the secondary metrics by specification, averaged over the targets of a solution.

    Probabilities serve metrics of scores and of labels, too.

    Raises
    ------
    InputError
        If a metric cannot score what submissions contain.
    """
    from arena.evaluation.combinations import served_metric  # a submission needs none

    metrics = {}
    with errors_name_setting(SECONDARY):
        for name in settings.metric.secondary:
            single = metric_of_solution(manager.metrics.resolve(name), solution)
            metrics[name] = served_metric(name, single, solution.outline())
    return metrics


def check_further_metrics(settings: Settings, solution: Solution, manager: PluginManager) -> None:
    """Check the secondary metrics and those of combined boards.

    Raises
    ------
    InputError
        If a metric is unknown, or is not defined for the submissions or the labels.
    """
    from arena.evaluation.domain import check_truth

    metrics: dict[str, Mapping[str, Metric]] = {
        SECONDARY: secondary_metrics(settings, solution, manager)
    }
    if settings.board:
        from arena.competition.record.combined_boards import combined_metrics, key_of_board

        of_boards = combined_metrics(settings, solution, manager)
        metrics |= {key_of_board(name): {name: metric} for name, metric in of_boards.items()}
    for key, of_key in metrics.items():
        with errors_name_setting(key):
            for metric in of_key.values():
                check_truth(metric, solution)


def check_changed_metrics(
    store: Store, manager: PluginManager, settings: Settings, stored: Settings
) -> None:
    """Check further metrics when first read, and not on the last day; raises InputError."""
    now, before = (
        (side.metric.secondary, side.board, [phase.metric for phase in side.phase.values()])
        for side in (settings, stored)
    )
    if now == before:
        return
    for phase_settings, split in each_phase(settings, store.solution()):
        check_further_metrics(phase_settings, split, manager)
