"""The recommended mechanism for the public board of a new competition, and the notes on it."""

from __future__ import annotations

from datetime import datetime

from arena.config import CONFIG_NAME, Settings
from arena.interfaces import Metric
from arena.plugin.manager import PluginManager
from arena.public_board.clipping import baseline_clip, conceivable_scores
from arena.types import Solution

FULL_WARNING = (
    "Warning: the mechanism full shows every score at full precision. A team that sends many "
    "submissions can overfit the public rows; ladder-free protects them."
)


def with_default_mechanism(settings: Settings, manager: PluginManager) -> Settings:
    """Return the settings with the mechanism that protects their metric by default.

    That is ``ladder-free``, or ``kaggle`` where scores have no bounded range: a Ladder needs one.
    """
    metric: Metric = manager.metrics.resolve(settings.metric.specification)
    name = "kaggle" if conceivable_scores(metric) is None else "ladder-free"
    public = settings.public.model_copy(update={"mechanism": name})
    return settings.model_copy(update={"public": public})


def protection_notes(
    settings: Settings, solution: Solution, manager: PluginManager, now: datetime
) -> tuple[str, ...]:
    """Return sentences on a board, a limit or a deadline that leaves a competition unprotected."""
    notes = []
    metric: Metric = manager.metrics.resolve(settings.metric.specification)
    mechanism = settings.public.mechanism
    if mechanism == "full":
        notes.append(FULL_WARNING)
    elif mechanism == "kaggle" and conceivable_scores(metric) is None:
        bound = baseline_clip(metric, solution)
        advice = "" if bound is None else f", such as --mechanism 'ladder-free(clip={bound:g})'"
        notes.append(
            f"The public board shows every score of {settings.metric.specification}, rounded "
            f"(kaggle): this metric has no bounds, which a Ladder needs. To protect the public "
            f"rows, give the row values a bound{advice}."
        )
    limits = settings.limits
    if limits.per_day is None and limits.total is None:
        notes.append(
            f"Warning: the number of submissions is not limited. Set per_day or total under "
            f"[limits] of {CONFIG_NAME}."
        )
    deadline = settings.competition.deadline
    if deadline is not None and deadline < now:
        notes.append(
            f"Warning: the deadline {deadline:%Y-%m-%d %H:%M} UTC has passed: every submission is "
            f"refused. Set a later one under [competition] of {CONFIG_NAME}."
        )
    if deadline is None:
        notes.append(
            f"No deadline is set: submissions are taken until you set one under [competition] of "
            f"{CONFIG_NAME}."
        )
    return tuple(notes)
