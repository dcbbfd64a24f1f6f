"""The mechanism that ``[public]`` of competition.toml asks for: found, checked, and its metric."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from arena.config import Settings, errors_name_setting
from arena.evaluation.solution_metric import scoring_metric
from arena.interfaces import ClipsScores, Mechanism, Metric, PublicBoard, ReviewsBoard
from arena.plugin.info import attributed_unquoted
from arena.plugin.manager import PluginManager
from arena.public_board.clipping import clip_values, conceivable_scores, suggested_clip
from arena.types import Solution, SolutionOutline, Usage


def public_rows(solution: Solution) -> npt.NDArray[np.bool_]:
    """Return the mask ``(n,)`` of the public rows."""
    mask: npt.NDArray[np.bool_] = solution.usage == np.uint8(Usage.PUBLIC)
    return mask


def find_mechanism(settings: Settings, manager: PluginManager) -> Mechanism:
    """Return the mechanism that the settings ask for.

    Raises
    ------
    InputError
        If there is none of this name, or it refuses its parameters; the message names the nearest.
    """
    with errors_name_setting("[public] mechanism"):
        return manager.mechanisms.resolve(settings.public.mechanism)


def clip_of(mechanism: Mechanism) -> tuple[float, float] | None:
    """Return the bounds into which a mechanism wants values moved; None: it wants none."""
    return mechanism.clip if isinstance(mechanism, ClipsScores) else None


def public_metric(
    settings: Settings, mechanism: Mechanism, outline: SolutionOutline, manager: PluginManager
) -> Metric:
    """Return the metric of the settings, clipped as a mechanism asks, over all targets."""
    single: Metric = manager.metrics.resolve(settings.metric.specification)
    return scoring_metric(clip_values(single, clip_of(mechanism)), outline)


def submission_budget(settings: Settings) -> int | None:
    """Return how many submissions one instance can receive; None: unlimited or unknown.

    An instance that teams share receives those of every team, however many there will be.
    """
    return settings.limits.total if settings.public.scope == "team" else None


def review_mechanism(
    settings: Settings,
    read_outline: Callable[[], SolutionOutline],
    read_solution: Callable[[], Solution],
    manager: PluginManager,
    baseline: float | None = None,
) -> list[str]:
    """Return notes on the chosen mechanism for the organiser, in sentences.

    Parameters
    ----------
    read_outline
        Called if the mechanism reviews boards.
    read_solution
        Called if the scores are not bounded, to suggest a bound. Reading the rows takes a while.
    baseline
        The public score of the baseline, if it was submitted.

    Raises
    ------
    InputError
        If the mechanism does not exist, or cannot be used with this metric or these settings.
    """
    mechanism = find_mechanism(settings, manager)
    if not isinstance(mechanism, ReviewsBoard):
        return []
    outline = read_outline()
    if outline.n_public == 0:
        return []
    with errors_name_setting("[metric] name"):
        metric = public_metric(settings, mechanism, outline, manager)
    score_range, suggested = conceivable_scores(metric), None
    if score_range is None:
        single = manager.metrics.resolve(settings.metric.specification)
        suggested = suggested_clip(single, read_solution())
    board = PublicBoard(
        metric=settings.metric.specification,
        greater_is_better=metric.greater_is_better,
        n_rows=outline.n_public,
        score_range=score_range,
        budget=submission_budget(settings),
        has_baseline=bool(settings.competition.baselines),
        baseline=baseline,
        suggested_clip=suggested,
        scope=settings.public.scope,
    )
    plugin = manager.mechanisms.plugin_of(settings.public.mechanism)
    with attributed_unquoted(plugin, "reviewing the public board"):
        return list(mechanism.review(board))
