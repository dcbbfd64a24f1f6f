"""Simulate a whole competition, and compare its outcome with the truth."""

from __future__ import annotations

import typer

from arena.cli import options
from arena.cli.console import console, say_note
from arena.cli.reporting import Output, output_options, show_report
from arena.simulation.requests import SimulationRequest
from arena.utils.progress import ProgressDisplay
from arena.utils.text import plural, printable

app = typer.Typer(add_completion=False, rich_markup_mode=None)

_INTERRUPTED = 130


@app.command()
@options.request(
    SimulationRequest,
    arguments={"directory": "DIR"},
    of_metric={"lower_is_better": options.LowerIsBetter, "prediction": options.Prediction},
)
@output_options()
def competition(request: SimulationRequest, output: Output) -> None:
    """Run a competition with simulated teams, and compare its outcome with the truth.

    The teams submit files over simulated days, receive the released scores and react to them.
    Then the competition is finalized. It is stored, limited, scored and released by the code that
    runs real competitions. If interrupted, the same command continues. Several mechanisms get one
    folder each below DIR, and so does each of several seeds. One seed is one possible outcome: use
    --seeds 20 or more before you decide anything.
    """
    from arena.plugin.manager import PluginManager
    from arena.report.competition_simulation import simulation_report, truth_report
    from arena.simulation.competition.run import stored_submissions
    from arena.simulation.competition.simulate import prepare_simulation, run_simulation

    manager = PluginManager()
    prepared = prepare_simulation(request, manager)
    for note in prepared.notes:
        say_note(note)
    try:
        with ProgressDisplay() as progress:
            finished = run_simulation(prepared, manager, progress)
    except (KeyboardInterrupt, RuntimeError) as error:
        # DuckDB turns Ctrl-C into a RuntimeError.
        if not isinstance(error, KeyboardInterrupt) and "interrupted" not in str(error).lower():
            raise
        stored = f"{plural(stored_submissions(prepared), 'submission', 'are')} stored"
        if request.seeds > 1:
            stored = "The finished seeds are stored"
        say_note(
            f"Interrupted. {stored} in {printable(str(request.directory))}: the same command "
            f"continues from there."
        )
        raise typer.Exit(_INTERRUPTED) from None
    for note in dict.fromkeys(
        note for story in finished.simulation.stories for note in story.notes
    ):
        say_note(note)
    show_report(
        output,
        finished.document,
        lambda: simulation_report(finished, manager),
        None if request.seeds > 1 else lambda: truth_report(finished),
    )
    if not output.as_json:
        console().print(_where_it_is(request, str(finished.simulation.folder)), soft_wrap=True)


def _where_it_is(request: SimulationRequest, folder: str) -> str:
    if request.seeds > 1:
        return f"Each seed is stored in a folder below {printable(folder)} and marked as simulated."
    if request.drawn:
        return (
            f"The final leaderboard of each mechanism is board.csv in {printable(folder)}; the "
            f"submissions are not stored."
        )
    return (
        f"Everything is stored in {printable(folder)} and marked as simulated. arena leaderboard, "
        f"report and audit work there as in any competition."
    )
