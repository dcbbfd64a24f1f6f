"""Plan a competition from a pilot, a simulation, or both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from arena.cli import options
from arena.cli.console import say_note
from arena.cli.folder import Directory, Phase, Wait, open_competition
from arena.cli.program import prepare_readers
from arena.cli.reporting import Output, output_options, show_report
from arena.errors import InputError, UsageError
from arena.simulation.requests import (
    CasesPlanRequest,
    CompetitionPlanRequest,
    PilotPlanRequest,
    QueuePlanRequest,
)
from arena.utils.finished_tasks import resumable
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

app = typer.Typer(add_completion=False)


def _job(options: Mapping[str, Any]) -> int:
    """Return the place of the request among those of the command."""
    if options["programs"] is not None:
        return 3
    return 2 if options["table"] else int(options["solution"] is None)


@app.command()
@options.request(
    PilotPlanRequest,
    CompetitionPlanRequest,
    CasesPlanRequest,
    QueuePlanRequest,
    arguments={"solution": "SOLUTION", "submissions": "SUBMISSIONS"},
    choose=_job,
    columns=(
        "id",
        "targets",
        "usage",
        "positive",
        "classes",
        "cluster",
        "time",
        "tasks",
        "weight",
        "no_header",
        "submission",
    ),
    of_metric={"lower_is_better": options.LowerIsBetter},
)
@output_options()
def plan(
    request: PilotPlanRequest | CompetitionPlanRequest | CasesPlanRequest | QueuePlanRequest,
    output: Output,
    directory: Directory = None,
    phase: Phase = None,
    wait: Wait = 0.0,
    resume: options.Resume = None,
) -> None:
    """Answer an organiser's questions: rows, public share, limits, mechanism, metric, teams.

    From the private rows of a stored competition, from a pilot's solution and submissions, or from
    simulated competitions. Every figure has an interval. With --programs: how long programs wait.
    """
    from arena.plugin.manager import PluginManager
    from arena.report.plan import plan_report, questions_report, queue_report
    from arena.simulation.plan.pilot import plan_competition, plan_files
    from arena.simulation.plan.questions import plan_table
    from arena.simulation.plan.queue import plan_of

    if not isinstance(request, CompetitionPlanRequest) and (directory or phase or wait):
        raise UsageError(f"{request.job} does not use -C, --phase and --wait: omit them.")
    if isinstance(request, CasesPlanRequest):
        questions = plan_table(request, PluginManager())
        for note in questions.notes:
            say_note(note)
        show_report(output, questions.to_dict, lambda: questions_report(questions))
        return
    if isinstance(request, QueuePlanRequest):
        queue = plan_of(request)
        show_report(output, queue.to_dict, lambda: queue_report(queue))
        return
    with ProgressDisplay() as progress, resumable(resume, progress):
        if isinstance(request, CompetitionPlanRequest):
            if directory is None and request.rehearsal is not None:
                directory = _first_competition(request.rehearsal)
            with open_competition(directory, wait) as competition:
                advice = plan_competition(competition.in_phase(phase), request, progress)
        else:
            prepare_readers(0)
            advice = plan_files(request, PluginManager(), progress)
    show_report(output, advice.to_dict, lambda: plan_report(advice))


def _first_competition(rehearsal: Path) -> Path:
    from arena.simulation.competition.seeds import read_stories

    _, stories = read_stories(rehearsal)
    folders = sorted(Path(stories[0].folder).glob("**/competition.toml"))
    if not folders:
        folder = printable(stories[0].folder)
        raise InputError(f"{folder} contains no competition; simulate it again.")
    return folders[0].parent
