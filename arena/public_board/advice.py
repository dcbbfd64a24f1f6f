"""The mechanism that protects a new public board by default, and the notes on the chosen one."""

from __future__ import annotations

from datetime import datetime

import numpy as np

from arena.config import CONFIG_NAME, Settings
from arena.interfaces import HasRowValues, Metric
from arena.plugin.manager import PluginManager
from arena.plugin.specification import with_parameters
from arena.public_board.clipping import conceivable_scores, suggested_clip
from arena.public_board.mechanism import public_rows
from arena.public_board.revealed import Revealed, is_measurable, rows_revealed
from arena.types import PredictionKind, Solution

FULL_WARNING = (
    "Warning: the mechanism full shows every score at full precision. A team that sends many "
    "submissions can overfit the public rows; ladder-free protects them."
)
_MANY_TEAMS = 100
_LEAST_NOISE = 2
"""In rows: one row, or its half, does not show through it."""


def default_mechanism(metric: Metric, solution: Solution, manager: PluginManager) -> str:
    """Return the specification of the mechanism that protects a metric by default.

    That is ``ladder-free``, with bounds where scores are not bounded, and, unless every row is
    simply right or wrong, with the least noise under which one submission reveals no label of these
    public rows. Where no bounds are known it is ``kaggle``: a Ladder needs them.
    """
    bounded = conceivable_scores(metric) is not None
    if metric.prediction is PredictionKind.LABEL and isinstance(metric, HasRowValues) and bounded:
        return "ladder-free"
    clip = None if bounded else suggested_clip(metric, solution)
    if not bounded and clip is None:
        return "kaggle"
    given_clip = None if clip is None else _as_parameter(clip)
    noise, most = _LEAST_NOISE, max(_LEAST_NOISE, int(np.sqrt(public_rows(solution).sum())))
    while noise < most and not isinstance(metric, HasRowValues):
        tried = with_parameters("ladder-free", clip=given_clip, noise=noise)
        revealed = revealed_by_one(metric, tried, solution, manager, targets=1)
        if revealed is None or revealed.shown_rows == 0:
            break
        noise *= 2
    return with_parameters("ladder-free", clip=given_clip, noise=noise)


def _as_parameter(clip: tuple[float, float]) -> float | list[float]:
    low, high = (int(end) if end == int(end) else end for end in clip)
    return high if low == 0 else [low, high]


def with_default_mechanism(
    settings: Settings, solution: Solution, manager: PluginManager
) -> Settings:
    """Return the settings with the mechanism that protects their metric by default."""
    metric: Metric = manager.metrics.resolve(settings.metric.specification)
    name = default_mechanism(metric, solution, manager)
    public = settings.public.model_copy(update={"mechanism": name})
    return settings.model_copy(update={"public": public})


def revealed_by_one(
    metric: Metric,
    mechanism: str,
    solution: Solution,
    manager: PluginManager,
    *,
    targets: int | None = None,
    teams: int = 1,
) -> Revealed | None:
    """Return what one submission may reveal of the public labels; None if it is not measured.

    See :func:`~arena.public_board.revealed.rows_revealed`. Of several targets the first is tried.
    """
    rows = public_rows(solution)
    if not is_measurable(metric) or rows.sum() < 2:
        return None
    truth = solution.truth[rows].reshape(int(rows.sum()), -1)[:, 0]
    n_classes = len(solution.targets[0].classes or ())
    chosen = manager.mechanisms.resolve(mechanism)
    return rows_revealed(metric, chosen, truth, n_classes, targets=targets, teams=teams)


def too_much_revealed(settings: Settings, solution: Solution, manager: PluginManager) -> str | None:
    """Return a sentence if one submission reveals more rows than the organiser accepted.

    Where one person can register any number of teams, also if each of many teams sends it.
    """
    metric: Metric = manager.metrics.resolve(settings.metric.specification)
    accepted = settings.public.accepted_rows
    revealed = revealed_by_one(metric, settings.public.mechanism, solution, manager)
    if revealed is None:
        return None
    if revealed.shown_rows <= accepted:
        return _revealed_to_teams(settings, metric, solution, manager)
    advice = default_mechanism(metric, solution, manager)
    return (
        f"One submission may reveal the labels of {revealed.shown_rows:g} public rows "
        f"({settings.public.mechanism}, {settings.metric.specification}), and {accepted} are "
        f"accepted: choose another mechanism, such as {advice}, or accept them in [public] "
        f"accepted_rows."
    )


def _revealed_to_teams(
    settings: Settings, metric: Metric, solution: Solution, manager: PluginManager
) -> str | None:
    server, public = settings.server, settings.public
    if server.join != "open" or server.approve or server.oidc_issuer or public.scope != "team":
        return None
    revealed = revealed_by_one(
        metric, public.mechanism, solution, manager, targets=3, teams=_MANY_TEAMS
    )
    if revealed is None or revealed.shown_rows <= public.accepted_rows:
        return None
    return (
        f"Anyone can register several teams, and {_MANY_TEAMS} of them that send the same file may "
        f"reveal the labels of {revealed.shown_rows:g} public rows ({public.mechanism}, "
        f"{settings.metric.specification}), and {public.accepted_rows} are accepted: set approve "
        f'or oidc_issuer under [server], or scope = "rank" under [public], or accept them in '
        f"[public] accepted_rows."
    )


def protection_notes(
    settings: Settings,
    solution: Solution,
    manager: PluginManager,
    now: datetime,
    phase: str = "",
    *,
    has_public_rows: bool = True,
) -> tuple[str, ...]:
    """Return sentences on a board, a limit or a deadline that leaves a competition unprotected.

    ``settings`` are those of ``phase``, if the competition has phases. Labels of public rows may be
    to arrive, so that the solution does not tell whether there are such rows.
    """
    notes = []
    metric: Metric = manager.metrics.resolve(settings.metric.specification)
    mechanism = settings.public.mechanism
    if not has_public_rows:
        pass
    elif mechanism == "full":
        notes.append(FULL_WARNING)
    elif mechanism == "kaggle" and conceivable_scores(metric) is None:
        advice = default_mechanism(metric, solution, manager)
        such = "" if advice == "kaggle" else f", such as --mechanism '{advice}'"
        notes.append(
            f"The public board shows every score of {settings.metric.specification}, rounded "
            f"(kaggle): this metric has no bounds, which a Ladder needs. To protect the public "
            f"rows, give the values bounds{such}."
        )
    limits = settings.limits
    if limits.per_day is None and limits.total is None:
        notes.append(
            f"Warning: the number of submissions is not limited. Set per_day or total under "
            f"[limits] of {CONFIG_NAME}."
        )
    deadline = settings.competition.deadline
    name, section = ("end", f"[phase.{phase}]") if phase else ("deadline", "[competition]")
    to = f" to the phase {phase}" if phase else ""
    if deadline is not None and deadline < now:
        notes.append(
            f"Warning: the {name} {deadline:%Y-%m-%d %H:%M} UTC has passed: every submission{to} "
            f"is refused. Set a later one under {section} of {CONFIG_NAME}."
        )
    if deadline is None:
        notes.append(
            f"No {name} is set: submissions are taken until you set one under {section} of "
            f"{CONFIG_NAME}."
        )
    return tuple(notes)
