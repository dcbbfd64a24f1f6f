"""The output of ``arena simulate competition --seeds``: means, spread and paired differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arena.cli.console import console, print_document, say_note
from arena.cli.reporting import write_outputs
from arena.cli.tables import Column, print_table
from arena.utils.formatting import level_text
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

if TYPE_CHECKING:
    from rich.console import Console

    from arena.cli.options import EngineChoice
    from arena.simulation.competition.comparison import Comparison
    from arena.simulation.competition.prepare import Options
    from arena.simulation.competition.run import Request

_INTERRUPTED = 130
_SECONDS_OF_A_LEFT_TASK = 600.0
"""A worker of a cluster still finishes the seed of a command that was interrupted."""


def simulate_seeds(
    options: Options,
    first: Request,
    seeds: Sequence[int],
    *,
    level: float,
    where: EngineChoice,
    report: Path | None,
    charts: Path | None,
    as_json: bool,
) -> None:
    """Run the simulation with every seed, then print and write the comparison.

    Parameters
    ----------
    first
        The request of the first seed, which was checked.
    """
    from arena.evaluation.levels import check_level
    from arena.intake.faults import plural
    from arena.simulation.competition.comparison import compare_mechanisms
    from arena.simulation.competition.seeds import run_seeds

    check_level(level)
    given = options.directory
    if where.engine != "local":  # another machine may work in another folder
        paths = {name: getattr(options, name) for name in ("directory", "data", "test", "like")}
        options = replace(
            options,
            wait=max(options.wait, _SECONDS_OF_A_LEFT_TASK),
            **{name: path.absolute() for name, path in paths.items() if path is not None},
        )
    try:
        with ProgressDisplay() as progress, where.open() as opened:
            progress.say(
                f"{len(seeds):,} seeds, {plural(first.teams, 'team')} in "
                f"{plural(first.days, 'day')} on {first.data.name}, under "
                f"{' and '.join(first.mechanisms)}; {plural(opened.workers, 'worker')} "
                f"({opened.name})."
            )
            stories = [
                replace(
                    story, folder=str(given / Path(story.folder).relative_to(options.directory))
                )
                for story in run_seeds(options, seeds, opened, progress)
            ]
            options = replace(options, directory=given)  # in messages: the same on any engine
    except KeyboardInterrupt:
        say_note(
            f"Interrupted. The finished seeds are stored in {printable(str(options.directory))}: "
            f"the same command continues from there."
        )
        raise typer.Exit(_INTERRUPTED) from None
    for note in dict.fromkeys(note for story in stories for note in story.notes):
        say_note(note)
    found = compare_mechanisms(first.mechanisms, stories, level)
    if as_json:
        print_document(_document(options, first, found))
    else:
        _print(options, first, found, console())
    if report is not None or charts is not None:
        from arena.report.seeds import seeds_report

        write_outputs(seeds_report(first, found), report, charts)


def _document(options: Options, first: Request, found: Comparison) -> dict[str, Any]:
    """Return the document ``arena/simulate-seeds/1``."""
    return {
        "schema": "arena/simulate-seeds/1",
        "folder": str(options.directory),
        "data": first.data.name,
        "metric": first.settings.metric.specification,
        "teams": first.teams,
        "days": first.days,
        "kinds": [
            {"competitor": kind.specification, "conduct": kind.conduct, "share": kind.share}
            for kind in first.kinds
        ],
        "mechanisms": list(first.mechanisms),
        **found.to_dict(),
    }


def _print(options: Options, first: Request, found: Comparison, out: Console) -> None:
    from arena.simulation.competition.summary import summarize_seeds

    for text in summarize_seeds(found):
        out.print(printable(text), soft_wrap=True)
    document = found.to_dict()
    labels = {one["name"]: one["label"] for one in document["measures"]}
    level = level_text(found.level)
    rows = [{**row, "label": labels[row["measure"]]} for row in document["summaries"]]
    several = len(first.mechanisms) > 1
    columns = _SUMMARY if several else _SUMMARY[1:]
    rows.sort(key=lambda row: list(labels).index(row["measure"]))
    print_table(rows, columns, out, title=f"Over the seeds ({level} intervals of the mean)")
    if document["differences"]:
        rows = [{**row, "label": labels[row["measure"]]} for row in document["differences"]]
        title = (
            f"Paired differences ({level} intervals and p corrected for {found.comparisons:,} "
            f"comparisons)"
        )
        print_table(rows, _DIFFERENCES, out, title=title)
    out.print(
        f"Each seed is stored in a folder below {printable(str(options.directory))} and marked as "
        f"simulated.",
        soft_wrap=True,
    )


def _figure(name: str) -> Any:
    def cell(row: Any) -> str:
        value = row[name]
        if value is None:
            return ""
        return f"{value:.{2 if value == 0 else max(2, 3 - math.floor(math.log10(abs(value))))}f}"

    return cell


def _interval(row: Any) -> str:
    if row["low"] is None:
        return "none"
    show = _figure("value")
    return f"{show({'value': row['low']})} to {show({'value': row['high']})}"


_SUMMARY = (
    Column("mechanism", 2, lambda row: printable(row["mechanism"]), left=True),
    Column("outcome", 1, lambda row: str(row["label"]), left=True),
    Column("mean", 1, _figure("mean")),
    Column("interval", 3, _interval),
    Column("sd over seeds", 4, _figure("sd")),
    Column("least", 5, _figure("least")),
    Column("most", 6, _figure("most")),
    Column("seeds", 7, lambda row: f"{row['seeds']:,}"),
)
_DIFFERENCES = (
    Column("outcome", 1, lambda row: str(row["label"]), left=True),
    Column("mechanism", 2, lambda row: printable(row["second"]), left=True),
    Column("less", 3, lambda row: printable(row["first"]), left=True),
    Column("mean", 1, _figure("mean")),
    Column("interval", 4, _interval),
    Column("p", 5, lambda row: f"{row['p']:.2g}"),
    Column("", 1, lambda row: "shown" if row["shown"] else "not shown", left=True),
)
