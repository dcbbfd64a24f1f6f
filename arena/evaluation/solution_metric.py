"""The metric of a solution: under the weights of its rows, and over all of its targets.

Most solutions have neither weights nor several targets. Their commands do not import the modules
that handle these.
"""

from __future__ import annotations

from arena.errors import UsageError
from arena.interfaces import Metric, NeedsClasses, kinds_of, traits_of
from arena.types import Solution, SolutionOutline


def metric_of_solution(metric: Metric, solution: Solution) -> Metric:
    """Return a metric of the labels and row weights of a solution, averaged over its targets.

    Raises
    ------
    UsageError
        If there are row weights and the metric takes none, or targets have different labels and
        the metric needs them.
    """
    return metric_of_outline(metric, solution.outline())


def scoring_metric(metric: Metric, outline: SolutionOutline) -> Metric:
    """Return a metric as :func:`metric_of_outline` that scores the submissions of a solution.

    Probabilities serve a metric of labels, too.

    Raises
    ------
    UsageError
        As :func:`metric_of_solution`, or if it scores other predictions than submissions contain.
    """
    of_outline = metric_of_outline(metric, outline)
    if outline.kind in kinds_of(metric):
        return of_outline
    from arena.evaluation.combinations import served_metric

    return served_metric(metric.name, of_outline, outline, scores=False)


def metric_of_outline(metric: Metric, outline: SolutionOutline) -> Metric:
    """Return the same as :func:`metric_of_solution`, without the rows of the solution."""
    if isinstance(metric, NeedsClasses) and outline.classes[0] is not None:
        if len(set(outline.classes)) > 1:
            raise UsageError(
                f"{metric.name} needs the same labels for all targets: declare them with "
                f"--classes ([data] classes in competition.toml)."
            )
        metric = metric.for_classes(outline.classes[0])
    if outline.weighted:
        if not traits_of(metric).row_weights:
            raise UsageError(
                f"{metric.name} takes no row weights: omit --weight (weight in [data] of "
                f"competition.toml), or choose a metric that takes them."
            )
        from arena.evaluation.row_weights import weighted

        metric = weighted(metric)
    if len(outline.classes) == 1:
        return metric
    from arena.evaluation.multi_target import mean_over_targets

    return mean_over_targets(metric, len(outline.classes), gaps=outline.gaps)
