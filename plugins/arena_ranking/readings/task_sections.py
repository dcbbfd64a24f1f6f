"""What a report says of the tasks of a competition, where it has several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arena.types import Chart, Section, Table
from arena_ranking.readings.consensus import ConsensusRanking, consensus_ranking
from arena_ranking.readings.frequencies import rank_frequencies
from arena_ranking.readings.pictures import podium_chart, violins_chart
from arena_ranking.readings.podium import MOST_ON_PODIUM, podium
from arena_ranking.readings.rank_pictures import blobs_chart, task_ranks_chart
from arena_ranking.readings.tasks import TaskScores

__all__ = ["task_sections", "task_technical"]

_MOST_TASKS = 30
_MOST_COLUMNS = 8
_SHARE = "share of the tasks"


def task_sections(
    teams: Sequence[str], found: TaskScores, level: float, shown: str
) -> list[Section]:
    """Return the sections on tasks; none if fewer than two tasks have a score for every team.

    Parameters
    ----------
    teams
        t names, best first.
    found
        Their scores in each task.
    level
        The share of draws between percentiles.
    shown
        A sentence if these are not all teams, with a space before it, else empty.
    """
    if len(found.names) < 2:
        return []
    consensus = consensus_ranking(found.ranks)
    sections = [_consensus(teams, found, consensus, shown), _between(teams, found, level)]
    agreements = found.agreements(level)
    if agreements:
        names = list(agreements)[:_MOST_TASKS]
        text = (
            "How well does the order within a task agree with the orders on other draws of its "
            "rows? 1 means the same order. A task with few rows orders the teams less surely."
        )
        picture = violins_chart(
            {name: agreements[name].tau for name in names},
            {name: agreements[name].summary() for name in names},
        )
        title = "How well the order holds within each task"
        described = "The distribution of Kendall's tau, for each task."
        chart = Chart("reading-task-agreement", title, described, picture)
        sections.append(Section(title, text + _first_tasks(found), charts=(chart,)))
    return sections


def _first_tasks(found: TaskScores) -> str:
    n = len(found.names)
    return f" Only the first {_MOST_TASKS} of {n:,} tasks are shown." if n > _MOST_TASKS else ""


def _consensus(
    teams: Sequence[str], found: TaskScores, consensus: ConsensusRanking, shown: str
) -> Section:
    order = np.argsort(consensus.rank, kind="stable")
    text = (
        f"The rows belong to {len(found.names):,} tasks. The score of the board is that of all "
        "rows together, so that a task with more rows weighs more. Here every task counts the "
        "same: the teams are ranked within each task, and then by the mean of these ranks; teams "
        f"that tie take the average of the ranks between them.{shown}"
    )
    if found.left_out:
        text += (
            f" Tasks in which not every team has a score are left out: "
            f"{', '.join(found.left_out[:10])}{', …' if len(found.left_out) > 10 else ''}."
        )
    names = found.names[:_MOST_COLUMNS]
    ranks = found.ranks
    table = Table(
        "Ranks by task",
        ("team", "consensus", "mean rank", *names),
        tuple(
            (
                teams[at],
                int(consensus.rank[at]),
                float(consensus.mean_rank[at]),
                *(int(rank) for rank in ranks[at, : len(names)]),
            )
            for at in order
        ),
    )
    title = "The consensus of the tasks"
    described = "For each team the mean of its ranks over the tasks, and the best and worst."
    chart = Chart("reading-consensus", title, described, consensus.specification(teams))
    return Section(title, text, (table,), (chart,))


def _between(teams: Sequence[str], found: TaskScores, level: float) -> Section:
    ranks = found.ranks
    first = min(len(teams), MOST_ON_PODIUM)
    own = podium(found.scores[:first], greater_is_better=found.greater_is_better)
    described = "The rank of each team in each task, and how often each of the first is where."
    text = (
        "A team that is good at everything keeps its rank from task to task; a specialist does "
        "not. In the first picture each square is a team's rank in a task, the darker the better. "
        f"In the last, the first {first} teams are ranked among themselves in each task, and the "
        "bars say how often each of them takes each place."
    ) + _first_tasks(found)
    names = found.names[:_MOST_TASKS]
    squares = task_ranks_chart(teams, names, ranks[:, : len(names)])
    blobs = blobs_chart(rank_frequencies(ranks, level).rows(teams), _SHARE)
    bars = podium_chart(teams[:first], own.shares, _SHARE)
    charts = (
        Chart("reading-task-ranks", "Ranks by task", described, squares),
        Chart("reading-task-stability", "Ranks over all tasks", described, blobs),
        Chart("reading-task-podium", "The podium of the tasks", described, bars),
    )
    return Section("From task to task", text, charts=charts)


def task_technical(found: TaskScores) -> str:
    """Say how the tasks were compared, for the last part of a report."""
    counts = ", ".join(
        f"{name}: {rows:,} rows"
        for name, rows in list(zip(found.names, found.n_rows, strict=True))[:_MOST_TASKS]
    )
    drawn = [scores.shape[1] for scores in found.resampled]
    how = (
        f"rankings within tasks were compared with {min(drawn):,} to {max(drawn):,} resamples "
        "of their rows"
        if drawn and max(drawn)
        else "a metric that can only be called as a whole is not resampled within tasks"
    )
    return (
        f"Tasks ({counts}): the metric on the rows of each alone; consensus by mean average "
        f"ranks, the ranking at the smallest mean squared Euclidean distance; {how}."
    )
