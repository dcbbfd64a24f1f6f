"""``arena.plan``: what the command does, called from Python, also on an open competition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from arena.competition.view import CompetitionView
from arena.plugin.manager import PluginManager
from arena.simulation.plan.organiser import Advice
from arena.simulation.plan.pilot import plan_competition, plan_files
from arena.simulation.requests import (
    DAILY_LIMITS,
    PUBLIC_SHARES,
    TEAM_COUNTS,
    CompetitionPlanRequest,
    PilotPlanRequest,
)
from arena.types import DEFAULT_LEVEL, DEFAULT_RESAMPLES, SolutionColumns
from arena.utils.arguments import several
from arena.utils.parallel import Progress
from arena.utils.progress import shown
from arena.utils.requests import EngineChoice, refuse_unused


def plan(
    pilot: str | Path | CompetitionView,
    submissions: str | Path | Sequence[str | Path] = (),
    metric: str | None = None,
    *,
    combine: str | None = None,
    columns: SolutionColumns | None = None,
    split: str = "private",
    stratify: bool | None = None,
    difference: float | None = None,
    rows: int | Sequence[int] = (),
    total_rows: int | None = None,
    public_share: float | Sequence[float] = PUBLIC_SHARES,
    per_day: int | Sequence[int] = DAILY_LIMITS,
    teams: int | Sequence[int] = TEAM_COUNTS,
    like: str | Path | None = None,
    brackets: Mapping[str, int] | None = None,
    days: int = 30,
    within: float = 0.5,
    prizes: int = 3,
    top: int = 10,
    metrics: str | Sequence[str] = (),
    rehearsal: str | Path | None = None,
    attack: str | Path | None = None,
    resamples: int = DEFAULT_RESAMPLES,
    level: float = DEFAULT_LEVEL,
    seed: int = 0,
    workers: int = 0,
    engine: str = "local",
    address: str | None = None,
    manager: PluginManager | None = None,
    progress: Progress | None = None,
) -> Advice:
    """Answer an organiser's questions from a pilot: rows, public share, limits, mechanism, teams.

    Parameters
    ----------
    pilot
        The solution of a pilot, or an open competition, whose private rows and submissions are
        then the pilot.
    submissions
        Files or folders of submissions to the pilot; not with a competition.
    metric
        Such as ``"roc_auc"``; several, separated by commas, if they are combined. Not with a
        competition.
    combine
        How the scores by several metrics, or on each task, become one: ``mean``, ``geometric`` or
        ``worst``; not with a competition.
    columns
        The columns of the solution; not with a competition.
    split
        The rows of the solution that are the pilot: ``private``, ``public`` or ``all``.
    stratify
        Whether to resample within classes; None: as the metric declares.
    difference
        The difference to detect, in units of the metric; None: the lead of the best submission.
    rows
        Numbers of private rows to compare; empty: multiples of the pilot's.
    total_rows
        Public and private rows of the competition; None: as many private ones as the pilot.
    public_share, per_day, teams
        Shares of public rows, in (0, 1), submissions per team and day, and numbers of teams. The
        first of each is the plan's, all are compared; a single number compares nothing.
    like
        A past leaderboard in CSV, a folder of them, or ``"typical"``: as many teams, unless
        ``teams`` says how many, which differ and submit as its teams do.
    brackets
        Names of brackets and their numbers of teams.
    days
        Length of the competition.
    within
        How much a team's submissions differ, relative to teams, in [0, 1].
    prizes, top
        Number of prize places, and k of the top k.
    metrics
        Other metrics to compare on the pilot.
    rehearsal
        A folder of simulations with several seeds, whose comparison of mechanisms joins the plan.
    attack
        The document that ``arena attack --json`` prints, whose biases join the plan.
    resamples, level, seed
        Of the bootstrap, of all intervals, and of all random draws.
    workers, engine, address
        Processes (0: one per processor), and ``local``, ``dask`` or ``ray`` with the address of
        its cluster.
    manager
        The plugins; None: those installed.
    progress
        Receives progress reports; None: shown as :class:`~arena.ProgressDisplay` does.

    Returns
    -------
    Advice
        The answers, with intervals; :meth:`~arena.simulation.plan.organiser.Advice.answers` has
        them as sentences and ``to_dict()`` as JSON (``arena/plan/1``).

    Raises
    ------
    UsageError
        If a number is out of range, or arguments do not go together.
    InputError
        If a file cannot be read, or a ranking of the pilot has no meaning.

    Examples
    --------
    >>> advice = plan("solution.csv", ["baselines/"], "roc_auc")  # doctest: +SKIP
    >>> for question, answer in advice.answers():  # doctest: +SKIP
    ...     print(question, answer)
    """
    asked: dict[str, Any] = {
        "difference": difference,
        "rows": several(rows),
        "level": level,
        "seed": seed,
        "public_share": several(public_share),
        "per_day": several(per_day),
        "teams": several(teams),
        "like": None if like is None else Path(like),
        "brackets": ", ".join(f"{name}={count}" for name, count in (brackets or {}).items()),
        "days": days,
        "total_rows": total_rows,
        "within": within,
        "prizes": prizes,
        "top": top,
        "metrics": ", ".join(several(metrics)),
        "rehearsal": None if rehearsal is None else Path(rehearsal),
        "attack": None if attack is None else Path(attack),
        "where": EngineChoice(engine, address, workers),
    }
    of_files: dict[str, Any] = {
        "submissions": tuple(Path(path) for path in several(submissions)),
        "metric": metric,
        "combine": combine,
        "columns": columns or SolutionColumns(),
        "split": split,
        "resamples": resamples,
        "stratify": stratify,
    }
    with shown(progress) as display:
        if isinstance(pilot, CompetitionView):
            refuse_unused(CompetitionPlanRequest, PilotPlanRequest, of_files)
            return plan_competition(pilot, CompetitionPlanRequest(**asked), display)
        request = PilotPlanRequest(solution=Path(pilot), **of_files, **asked)
        return plan_files(request, manager or PluginManager(), display)
