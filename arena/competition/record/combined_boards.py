"""Combined private boards, ``[board.NAME]``: several metrics, tasks or phases, as one score.

Each is a finding of the private board. Its document is that of a board, ``arena/score/2``: ranks,
possible winners and the corrected best score are those of the combination. The level of
``[analysis]`` holds for each board separately.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from arena.competition.record.combined_documents import ANALYSIS_PREFIX
from arena.config import Settings, errors_name_setting
from arena.config_sections import CombinedBoardSection
from arena.errors import UsageError
from arena.evaluation.combination_parts import Combination
from arena.evaluation.combinations import combined_metric, combined_metric_of_tasks
from arena.evaluation.combined_metric import CombinedMetric
from arena.evaluation.solution_metric import metric_of_solution
from arena.plugin.manager import PluginManager
from arena.scoring.result import STANDING_COLUMNS, ScoreResult
from arena.scoring.splits import rows_of
from arena.types import Finding, Solution, Table

if TYPE_CHECKING:
    from arena.scoring.board import BoardRun  # which commands that print a board need not import


def combined_metrics(
    settings: Settings, solution: Solution, manager: PluginManager
) -> dict[str, CombinedMetric]:
    """Return the metric of each combined board of the settings, without those over phases.

    Raises
    ------
    InputError
        If there is nothing to combine, no submission serves all metrics of a board, their
        directions differ, or a weight is for something that does not exist.
    """
    metrics = {}
    for name, board in settings.board.items():
        if not board.over_phases:
            with errors_name_setting(key_of_board(name)):
                metrics[name] = _combined_metric(board, settings, solution, manager)
    return metrics


def metric_over_phases(
    board_name: str,
    board: CombinedBoardSection,
    settings: Settings,
    solution: Solution,
    manager: PluginManager,
) -> CombinedMetric:
    """Return the metric of a board over the phases that are the tasks of a solution.

    Raises
    ------
    InputError
        If the metrics of the phases have different directions, and they are not combined by ranks.
    """
    phases = solution.task_names
    names = {phase: settings.in_phase(phase).metric.specification for phase in phases}
    metrics = {
        name: metric_of_solution(manager.metrics.resolve(name), solution)
        for name in dict.fromkeys(names.values())
    }
    weights = {key: weight for key, weight in board.weights.items() if key in phases}
    combination = Combination(board.rank_by, weights)
    with errors_name_setting(key_of_board(board_name)):
        if len(metrics) > 1:
            of_phases = {phase: (name, metrics[name]) for phase, name in names.items()}
            combined = combined_metric_of_tasks(of_phases, combination, solution)
        else:
            combined = combined_metric(metrics, combination, by_task=True, solution=solution)
    return replace(combined, task_word="rounds" if board.series else "phases")


def check_boards_over_phases(
    settings: Settings, solution: Solution, manager: PluginManager
) -> None:
    """Refuse boards over phases that cannot be computed; raises as :func:`metric_over_phases`."""
    for name, board in settings.board.items():
        if board.phases:
            of_phases = replace(solution, task_names=board.phases)
            metric_over_phases(name, board, settings=settings, solution=of_phases, manager=manager)


def key_of_board(name: str) -> str:
    """Return the section of a combined board."""
    return f"[board.{name}]"


def _combined_metric(
    board: CombinedBoardSection, settings: Settings, solution: Solution, manager: PluginManager
) -> CombinedMetric:
    names = board.columns or (settings.metric.specification,)
    by_task = board.tasks and solution.tasks is not None
    if len(names) == 1 and not by_task:
        raise UsageError(
            "there is one score, so nothing to combine: name several metrics in columns, or a "
            "column of tasks in [data] tasks before the competition is created."
        )
    combination = Combination(board.rank_by, board.weights)
    if by_task:
        combination.check_names([*names, *solution.task_names])
    resolved = {name: manager.metrics.resolve(name) for name in names}
    for (name, metric), (other_name, other) in combinations(resolved.items(), 2):
        if metric == other:
            raise UsageError(f"{name} and {other_name} are the same metric: name it once.")
    metrics = {name: metric_of_solution(metric, solution) for name, metric in resolved.items()}
    return combined_metric(metrics, combination, by_task=by_task, solution=solution)


def combined_findings(
    run: BoardRun,
    settings: Settings,
    rank: Callable[[BoardRun], ScoreResult],
    reference: int | None,
) -> Iterator[Finding]:
    """Yield the combined boards of the settings.

    ``run`` is that of the main board, ``rank`` returns the board of a run, and ``reference`` is the
    submission of the first baseline.
    """
    for name, metric in combined_metrics(settings, run.solution, run.manager).items():
        provider = run.manager.metrics.plugin_of(metric.columns[0].name)
        combined = replace(run, secondary={}, provider=provider)
        yield finding_of(name, rank(relative_to(combined, metric, reference)))


def relative_to(run: BoardRun, metric: CombinedMetric, reference: int | None) -> BoardRun:
    """Return a run whose geometric means are divided by that of a submission; others stay."""
    if reference is not None and metric.combination.how == "geometric":
        rows = rows_of(run.solution, run.split)
        ((_, block),) = run.store.predictions([reference], rows=rows).blocks(1)
        metric = replace(metric, baseline=block[0])
    return replace(run, specification=metric.name, metric=metric)


ABOUT_PHASES = "about_phases"
"""The key, in the document of a board over phases, of how many there are and what is missing."""


def finding_of(name: str, board: ScoreResult) -> Finding:
    """Return a combined board as a finding of the private board."""
    columns = ["rank", "team", "score", "rank_low", "rank_high", "possible_winner"]
    columns += [key for row in board.standings[:1] for key in row if key not in STANDING_COLUMNS]
    verdicts = [
        finding.verdict for finding in board.findings if finding.analysis in ("ranks", "brackets")
    ]
    caption = " ".join([f"{name}, by the {board.metric}:", *verdicts])
    table = Table(
        f"{name}: {board.metric}",
        tuple(column.replace("_", " ") for column in columns),
        tuple(tuple(row[column] for column in columns) for row in board.standings),
    )
    return Finding(ANALYSIS_PREFIX + name, caption, board.board_document(), tables=(table,))
