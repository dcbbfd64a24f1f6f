"""Compute the published numbers of a paper again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.errors import InputError, UsageError
from arena.interfaces import Reproduction
from arena.plugin.info import attributed
from arena.plugin.returned import checked
from arena.utils.progress import ProgressDisplay
from arena.utils.requests import HERE, EngineChoice

if TYPE_CHECKING:
    from arena.types import Chart

app = typer.Typer(add_completion=False)

_DATA = Path("..") / "shared" / "data"


@app.command()
@options.engine()
def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help="ladder, multiplicity, bayes-error, winner-stability, or a paper of another "
            "plugin.  [default: list them]",
        ),
    ] = None,
    charts: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Draw every chart as SVG and PNG into this folder."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the data published with the papers.  [default: ../shared/data, if it "
            "exists]",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Repeat simulations less often, for a first look.")
    ] = False,
    models: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Keep trained models here, and reuse them."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    where: EngineChoice = HERE,
    as_json: options.AsJson = False,
) -> None:
    """Compute the published numbers of a paper again, and compare them.

    Prints published and computed numbers, whether they agree, and the reason of a difference.
    Results that need unpublished data are listed. The exit code is 0 also if numbers disagree.
    """
    from arena.interfaces import PaperOptions
    from arena.plugin.manager import PluginManager

    manager = PluginManager()
    if paper is None and as_json:
        raise UsageError("--json needs the name of a paper.")
    if paper is None:
        for entry in manager.papers:
            console().print(f"{entry.name}: {entry.item.title}", soft_wrap=True)
        return
    chosen = manager.papers.resolve(paper)
    if data is not None and not data.is_dir():
        raise InputError(f"{data} is no folder: name the folder of published data with --data.")
    if charts is not None and charts.exists() and not charts.is_dir():
        raise UsageError(f"--charts {charts}: name a folder, not a file.")
    paper_options = PaperOptions(
        data=data or (_DATA if _DATA.is_dir() else None),
        quick=quick,
        charts=charts is not None,
        models=models,
        seed=seed,
        workers=where.workers,
        engine=where.engine,
        address=where.scheduler,
    )
    plugin = manager.papers.plugin_of(paper)
    with ProgressDisplay() as progress, attributed(plugin, f"reproducing {paper}"):
        reproduction = checked(chosen.reproduce(paper_options, progress), Reproduction)
    if charts is not None:
        charts.mkdir(parents=True, exist_ok=True)
        for chart in reproduction.charts:
            _draw(chart, charts)
    if as_json:
        document = {"schema": "arena/reproduce/1", "paper": paper, "title": chosen.title}
        print_document({**document, "seed": seed, "quick": quick, **reproduction.to_dict()})
    else:
        _print(chosen.title, reproduction, charts)


def _print(title: str, reproduction: Reproduction, charts: Path | None) -> None:
    from arena.report.terminal import print_table
    from arena.types import Table

    out = console()
    table = Table(
        title,
        ("where", "quantity", "published", "computed", "agrees", "note"),
        tuple(
            (
                figure.where,
                figure.quantity,
                *(
                    "" if value is None else f"{value:.6g}"
                    for value in (figure.published, figure.computed)
                ),
                figure.agrees,
                figure.note,
            )
            for figure in reproduction.figures
        ),
    )
    print_table(table, out, most=None)
    compared = [figure for figure in reproduction.figures if figure.agrees is not None]
    agree = sum(comparison.agrees is True for comparison in compared)
    out.print(
        f"{agree:,} of {len(compared):,} numbers agree."
        if compared
        else "No number is compared with a published one here."
    )
    for figure in reproduction.figures:
        if figure.agrees is False:
            out.print(
                f"{figure.where}, {figure.quantity}, does not agree: {figure.note}.", soft_wrap=True
            )
    for text in reproduction.missing:
        out.print(f"Missing: {text}", soft_wrap=True)
    if charts is not None:
        out.print(f"The charts ({len(reproduction.charts):,}) are in {charts}.", soft_wrap=True)


def _draw(chart: Chart, folder: Path) -> None:
    import vl_convert

    from arena.charts import themed
    from arena.charts.theme import PAGE

    # A file stands alone, without the heading and the alternative text that a report gives it.
    more = chart.description.removeprefix(chart.title).lstrip(".;,: ")
    title = {"text": chart.title, "subtitle": more, "anchor": "start", "fontSize": 12}
    specification = {"title": title, **chart.specification}
    drawn = vl_convert.vegalite_to_svg({**themed(specification), "background": PAGE})
    (folder / f"{chart.name}.svg").write_text(drawn, encoding="utf-8")
    (folder / f"{chart.name}.png").write_bytes(vl_convert.svg_to_png(drawn, scale=1.5))
