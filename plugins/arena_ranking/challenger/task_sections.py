"""Report sections on the tasks of a competition that has several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arena.types import Chart, Section, Table, Vocabulary
from arena.utils.text import plural
from arena_ranking.challenger.consensus import ConsensusRanking, consensus_ranking
from arena_ranking.challenger.frequencies import rank_frequencies
from arena_ranking.challenger.pair_charts import podium_chart, violins_chart
from arena_ranking.challenger.podium import MOST_ON_PODIUM, podium
from arena_ranking.challenger.rank_charts import blobs_chart, task_ranks_chart
from arena_ranking.challenger.tasks import TaskScores

_MOST_TASKS = 30
_MOST_COLUMNS = 8
_SHARE = "share of the tasks"


def task_sections(
    teams: Sequence[str], task_scores: TaskScores, level: float, shown: str, words: Vocabulary
) -> list[Section]:
    """Return the sections on tasks; none if fewer than two tasks have a score for every team.

    Parameters
    ----------
    teams
        t names, best first.
    task_scores
        Their scores in each task.
    level
        The share of draws between percentiles.
    shown
        A sentence with a leading space if not all teams are shown, else empty.
    words
        The nouns for teams and rows.
    """
    if len(task_scores.names) < 2:
        return []
    consensus = consensus_ranking(task_scores.ranks)
    sections = [
        _consensus(teams, task_scores, consensus=consensus, shown=shown, words=words),
        _between(teams, task_scores, level, words),
    ]
    agreements = task_scores.agreements(level)
    if agreements:
        names = list(agreements)[:_MOST_TASKS]
        text = (
            "How well does the ranking within a task agree with the rankings on samples of its "
            f"{words.rows}? 1 means the same order. With few {words.rows}, the ranking of a task "
            "is less certain."
        )
        picture = violins_chart(
            {name: agreements[name].tau for name in names},
            {name: agreements[name].summary() for name in names},
        )
        title = "Agreement of the ranking within each task"
        described = "The distribution of Kendall's tau for each task."
        chart = Chart("reading-task-agreement", title, described, picture)
        sections.append(Section(title, text + _first_tasks(task_scores), charts=(chart,)))
    return sections


def _first_tasks(task_scores: TaskScores) -> str:
    n = len(task_scores.names)
    return (
        f" Only the first {_MOST_TASKS} of {plural(n, 'task')} are shown."
        if n > _MOST_TASKS
        else ""
    )


def _consensus(
    teams: Sequence[str],
    task_scores: TaskScores,
    consensus: ConsensusRanking,
    shown: str,
    words: Vocabulary,
) -> Section:
    order = np.argsort(consensus.rank, kind="stable")
    text = (
        f"The {words.rows} belong to {plural(len(task_scores.names), 'task')}. The score on the "
        f"board is computed on all {words.rows} together, so tasks with more {words.rows} have "
        f"more weight. Here every task has the same weight. The {words.teams} are ranked within "
        f"each task, and then by the mean of these ranks. Tied {words.teams} get the average of "
        f"their ranks.{shown}"
    )
    if task_scores.left_out:
        text += (
            f" These tasks are excluded, because not every {words.team} has a score in them: "
            f"{', '.join(task_scores.left_out[:10])}"
            f"{', …' if len(task_scores.left_out) > 10 else ''}."
        )
    names = task_scores.names[:_MOST_COLUMNS]
    ranks = task_scores.ranks
    table = Table(
        "Ranks by task",
        (words.team, "consensus", "mean rank", *names),
        tuple(
            (
                teams[position],
                int(consensus.rank[position]),
                float(consensus.mean_rank[position]),
                *(int(rank) for rank in ranks[position, : len(names)]),
            )
            for position in order
        ),
    )
    title = "Consensus of the tasks"
    described = f"The mean, best and worst rank of each {words.team} over the tasks."
    chart = Chart("reading-consensus", title, described, consensus.specification(teams))
    return Section(title, text, (table,), (chart,))


def _between(
    teams: Sequence[str], task_scores: TaskScores, level: float, words: Vocabulary
) -> Section:
    ranks = task_scores.ranks
    first = min(len(teams), MOST_ON_PODIUM)
    podium_rows = podium(
        task_scores.scores[:first], greater_is_better=task_scores.greater_is_better
    )
    described = f"The rank of each {words.team} in each task, and how often it has each rank."
    text = (
        f"{words.A_team} that is good at every task has a similar rank in each of them; a "
        f"specialist does not. In the first chart each square is the rank of {words.a_team} in a "
        f"task; darker is better. In the last chart the first {first} {words.teams} are ranked "
        f"among themselves in each task. The bars show how often each {words.team} takes each "
        "place."
    ) + _first_tasks(task_scores)
    names = task_scores.names[:_MOST_TASKS]
    squares = task_ranks_chart(teams, names, ranks[:, : len(names)])
    blobs = blobs_chart(rank_frequencies(ranks, level).rows(teams), _SHARE)
    bars = podium_chart(teams[:first], podium_rows.shares, _SHARE)
    charts = (
        Chart("reading-task-ranks", "Ranks by task", described, squares),
        Chart("reading-task-stability", "Ranks over all tasks", described, blobs),
        Chart("reading-task-podium", "The podium of the tasks", described, bars),
    )
    return Section("Ranks across tasks", text, charts=charts)


def task_technical(task_scores: TaskScores, words: Vocabulary) -> str:
    """Return how the tasks were compared, for the section on methods."""
    counts = ", ".join(
        f"{name}: {rows:,} {words.rows}"
        for name, rows in list(zip(task_scores.names, task_scores.n_rows, strict=True))[
            :_MOST_TASKS
        ]
    )
    n_drawn = [scores.shape[1] for scores in task_scores.resampled]
    how = (
        f"rankings within tasks were compared with {min(n_drawn):,} to "
        f"{plural(max(n_drawn), 'resample')} of their {words.rows}"
        if n_drawn and max(n_drawn)
        else "a metric that can only be called as a whole is not resampled within tasks"
    )
    return (
        f"Tasks ({counts}): the metric on the {words.rows} of each task; consensus by mean average "
        f"ranks, the ranking at the smallest mean squared Euclidean distance; {how}."
    )
