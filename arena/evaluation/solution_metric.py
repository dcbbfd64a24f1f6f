"""The metric of a solution: under the weights of its rows, and over all of its targets.

Most solutions have neither weights nor several targets. Their commands do not import the modules
that handle these.
"""

from __future__ import annotations

from arena.errors import UsageError
from arena.interfaces import Metric, traits_of
from arena.types import Solution, SolutionOutline


def metric_of_solution(metric: Metric, solution: Solution) -> Metric:
    """Return a metric under the row weights of a solution, averaged over its targets.

    Raises
    ------
    UsageError
        If there are row weights and the metric takes none.
    """
    return metric_of_outline(metric, solution.outline())


def metric_of_outline(metric: Metric, outline: SolutionOutline) -> Metric:
    """Return the same as :func:`metric_of_solution`, without the rows of the solution."""
    if outline.weighted:
        if not traits_of(metric).row_weights:
            raise UsageError(
                f"{metric.name} takes no row weights: omit --weight (weight in [data] of "
                f"competition.toml), or choose a metric that takes them."
            )
        from arena.evaluation.row_weights import weighted

        metric = weighted(metric)
    if outline.n_targets == 1:
        return metric
    from arena.evaluation.multi_target import mean_over_targets

    return mean_over_targets(metric, outline.n_targets)
