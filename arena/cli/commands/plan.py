"""Plan a competition from a pilot, a simulation, or both."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli import options
from arena.cli.commands.simulate import whole_numbers
from arena.cli.completion import complete_metric
from arena.cli.console import (
    console,
    print_document,
    say_failures,
    say_note,
)
from arena.cli.folder import Directory, Wait, open_competition
from arena.cli.reporting import ChartFolder, ReportFile, check_outputs, write_outputs
from arena.cli.tables import Column, print_table
from arena.errors import InputError, UsageError
from arena.intake import CaseColumns
from arena.types import DEFAULT_LEVEL, DEFAULT_RESAMPLES, SolutionColumns
from arena.utils.finished_tasks import resumable
from arena.utils.formatting import level_text, percent
from arena.utils.progress import ProgressDisplay
from arena.utils.text import printable

if TYPE_CHECKING:
    from arena.simulation.plan.organiser import Advice

app = typer.Typer(add_completion=False)


@app.command()
@options.solution_columns("id", "targets", "usage", "positive", "cluster", "weight", "submission")
@options.engine()
def plan(
    solution: Annotated[
        Path | None,
        typer.Argument(
            metavar="SOLUTION",
            help="A pilot's solution.  [default: the competition]",
            readable=False,
        ),
    ] = None,
    submissions: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="SUBMISSIONS",
            help="Submissions of the pilot, such as some baselines.",
            readable=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option("--metric", "-m", help="Metric of the pilot.", autocompletion=complete_metric),
    ] = None,
    lower_is_better: options.LowerIsBetter = None,
    columns: SolutionColumns = SolutionColumns(),  # noqa: B008 - frozen
    difference: Annotated[
        float | None,
        typer.Option(help="The difference to detect, in the metric's units.  [default: the lead]"),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="Numbers of private rows, separated by commas.  [default: 1/4 to 16 times the "
            "pilot's]"
        ),
    ] = None,
    split: Annotated[
        str, typer.Option(help="The pilot's rows: private, public or all.")
    ] = "private",
    resamples: Annotated[
        int, typer.Option(help="Number of bootstrap resamples.")
    ] = DEFAULT_RESAMPLES,
    stratify: options.Stratify = None,
    level: Annotated[
        float, typer.Option(help="Level of the test and of all intervals.")
    ] = DEFAULT_LEVEL,
    seed: Annotated[int, typer.Option(min=0, help="Random seed.")] = 0,
    public_share: Annotated[
        str | None,
        typer.Option(
            help="Public shares to compare, separated by commas; the first is the plan's.  "
            "[default: 0.3, compared with 0.1, 0.2 and 0.5]"
        ),
    ] = None,
    per_day: Annotated[
        str | None,
        typer.Option(
            help="Submissions per team and day to compare; the first is the plan's.  "
            "[default: 5, compared with 1, 2 and 20]"
        ),
    ] = None,
    teams: Annotated[
        str | None,
        typer.Option(
            help="Numbers of teams to compare; the first is the plan's.  "
            "[default: 50, compared with 10, 30, 100 and 300]"
        ),
    ] = None,
    days: Annotated[int, typer.Option(min=1, help="Length of the competition in days.")] = 30,
    total_rows: Annotated[
        int | None,
        typer.Option(
            min=2, help="Public and private rows.  [default: as many private ones as the pilot]"
        ),
    ] = None,
    within: Annotated[
        float,
        typer.Option(min=0, max=1, help="How much a team's submissions differ, relative to teams."),
    ] = 0.5,
    prizes: Annotated[int, typer.Option(min=1, help="Number of prize places.")] = 3,
    top: Annotated[int, typer.Option(min=1, help="k of the top k.")] = 10,
    metrics: Annotated[
        str | None,
        typer.Option(help="Other metrics to compare on the pilot, separated by commas."),
    ] = None,
    rehearsal: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Simulations by 'simulate competition --seeds': compares mechanisms; without "
            "SOLUTION its first one is the pilot.",
        ),
    ] = None,
    table: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="TABLE",
            help="A table or log as of arena rank: the number of questions for --difference, and "
            "nothing else.",
            readable=False,
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(help="With --from: the column of values, or the metric of a log."),
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="With --from: the column of tasks, as of arena rank.")
    ] = None,
    repeat: Annotated[
        str | None,
        typer.Option(help="With --from: the column that numbers repeated answers to a case."),
    ] = None,
    report: ReportFile = None,
    charts: ChartFolder = None,
    directory: Directory = None,
    wait: Wait = 0.0,
    where: options.EngineChoice = options.HERE,
    resume: options.Resume = None,
    as_json: options.AsJson = False,
) -> None:
    """Answer an organiser's questions: rows, public share, limits, mechanism, metric, teams.

    From the private rows of a stored competition, from a pilot's solution and submissions, or from
    simulated competitions. Every figure has an interval.
    """
    from arena.plugin.manager import PluginManager
    from arena.plugin.specification import split_specifications, with_parameters
    from arena.scoring.settings import BoardSettings, ScoreSettings
    from arena.simulation.competition.comparison import compare_mechanisms
    from arena.simulation.competition.seeds import read_stories
    from arena.simulation.competition.summary import summarize_seeds
    from arena.simulation.plan.pilot import Sweeps, advise, read_competition, read_pilot

    check_outputs(report, charts)
    if table:
        alone = solution is None and report is None and charts is None
        read = CaseColumns(value=value, task=task, cluster=columns.cluster, repeat=repeat)
        _plan_questions(table, read, lower_is_better, difference, level, as_json, alone)
        return
    swept = Sweeps(
        _swept(public_share, "--public-share", Sweeps.public_share),
        _swept(per_day, "--per-day", Sweeps.per_day),
        _swept(teams, "--teams", Sweeps.teams),
        () if rows is None else whole_numbers(rows, "--rows"),
    )
    others = split_specifications(metrics or "")
    compared = None
    if rehearsal is not None:
        mechanisms, stories = read_stories(rehearsal)
        compared = compare_mechanisms(mechanisms, stories, level)
        if solution is None and directory is None:
            directory = _first_competition(Path(stories[0].folder))
    with ProgressDisplay() as progress, where.open(), resumable(resume, progress):
        if solution is None:
            _refuse_of_a_solution((metric, lower_is_better, stratify), columns, split)
            with open_competition(directory, wait) as competition:
                pilot = read_competition(competition, others, seed, progress, where.workers)
                say_failures(competition.manager)
        else:
            if not submissions or metric is None:
                raise UsageError("A pilot needs submissions and --metric in addition to SOLUTION.")
            settings = ScoreSettings(
                metric=with_parameters(metric, lower_is_better=lower_is_better),
                columns=columns,
                split=split,
                board=BoardSettings(resamples, level, seed, stratify, where.workers),
            )
            manager = PluginManager()
            pilot = read_pilot(solution, submissions, settings, others, manager, progress)
            say_failures(manager)
            for note in pilot.of_scoring:
                say_note(note)
        advice = advise(
            pilot,
            swept,
            difference=difference,
            total_rows=total_rows,
            days=days,
            within=within,
            prizes=prizes,
            top=top,
            level=level,
            seed=seed,
            progress=progress,
        )
        for note in advice.notes:
            say_note(note)
    if as_json:
        found = None if compared is None else compared.to_dict()
        document = {"schema": "arena/plan/1", "metric": advice.metric, **advice.to_dict()}
        print_document({**document, "rehearsal": found})
    else:
        _print(advice)
        for text in () if compared is None else summarize_seeds(compared):
            console().print(printable(text), soft_wrap=True)
    if report is not None or charts is not None:
        from arena.report.plan import plan_report

        write_outputs(plan_report(advice, compared), report, charts)


def _refuse_of_a_solution(given: tuple[Any, ...], columns: SolutionColumns, split: str) -> None:
    """Refuse options that a stored competition would ignore."""
    if set(given) != {None} or columns != SolutionColumns() or split != "private":
        raise UsageError(
            "Without SOLUTION the pilot is a stored competition, which has its own metric, columns "
            "and rows: omit these options, or name a solution."
        )


def _plan_questions(
    table: list[Path],
    columns: CaseColumns,
    lower_is_better: bool | None,
    difference: float | None,
    level: float,
    as_json: bool,
    alone: bool,
) -> None:
    """Print how many questions show a difference between two algorithms."""
    if not alone:
        raise UsageError("--from takes a table, and no SOLUTION, --report or --charts.")
    from arena.plugin.manager import PluginManager
    from arena.scoring.rank import CaseSettings, read_cases
    from arena.simulation.plan.questions import plan_questions

    greater = None if lower_is_better is None else not lower_is_better
    settings = CaseSettings(greater_is_better=greater, columns=columns)
    read = read_cases(table, settings, PluginManager())
    for rejected in read.rejected:
        say_note(f"{printable(rejected.file)} lacks values and is left out.")
    found = plan_questions(
        read.matrix,
        read.metric,
        difference,
        greater_is_better=read.greater_is_better,
        level=level,
    )
    if as_json:
        print_document(found.to_dict())
        return
    out = console()
    out.print(
        f"A true difference of {found.difference:.3g} in the mean {printable(found.metric)} of two "
        f"algorithms is shown with a probability of {percent(found.power)} by a paired test at "
        f"{level_text(level)} on {found.needed[0].cases:,.0f} cases (median over "
        f"{found.pairs:,} pairs). The {found.cases:,} cases of the table show a difference of "
        f"{found.detectable:.3g}. With other cases for each algorithm, {found.unpaired:,.0f} would "
        f"be needed.",
        soft_wrap=True,
    )
    print_table(found.to_dict()["needed"], _QUESTIONS, out, title="Cases by answers to each case")


def _first_competition(folder: Path) -> Path:
    found = sorted(folder.glob("**/competition.toml"))
    if not found:
        raise InputError(f"{printable(str(folder))} contains no competition; simulate it again.")
    return found[0].parent


def _swept(text: str | None, option: str, usual: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values to compare, the plan's first; one value alone joins the usual ones.

    They are whole numbers if the usual ones are.
    """
    if text is None:
        return usual
    number = type(usual[0])
    try:
        values = tuple(dict.fromkeys(number(part) for part in text.split(",")))
        if not all(map(math.isfinite, values)):
            raise ValueError(text)
    except ValueError as error:
        kind = "whole numbers" if number is int else "numbers"
        raise UsageError(
            f"{option} takes {kind} separated by commas, such as {usual[1]},{usual[0]}; "
            f"not {text!r}."
        ) from error
    return (*values, *usual[1:]) if len(values) == 1 else values


def _print(advice: Advice) -> None:
    out, made, metric = console(), advice.plan, advice.metric
    for question, answer in advice.answers():
        out.print(f"{question} {printable(answer)}", soft_wrap=True)
    text = (
        f"{made.submissions:,} submissions on {made.pilot_rows:,} private rows. The standard error "
        f"of the difference of two of them is {made.standard_error:.3g} in {metric} (median over "
        f"pairs)."
    )
    if made.copies:
        text += f" Copies of other submissions, left out: {made.copies:,}."
    out.print(text, soft_wrap=True)
    document = made.to_dict()
    title = f"Other numbers of private rows ({made.level:.10g} intervals in brackets)"
    print_table(document["rows"], _columns(made.difference), out, title=title)
    out.print(
        "Best wins: probability that the truly best submission wins, under a normal and under a "
        "nonparametric prior of true scores. The truth can lie outside both; the interval does not "
        "depend on a prior. Power: of a paired test of two submissions named in advance. Winner "
        "shown: the winner is shown to be better than every other submission, which needs more "
        "rows.",
        soft_wrap=True,
    )
    needed = [{"label": "first place", **one} for one in document["best_wins_rows"]]
    needed += [
        {"label": target["label"], **one}
        for target in document["targets"]
        for one in target["needed"]
    ]
    print_table(needed, _NEEDED, out, title="Private rows for places to go to the truly best")
    if any(one["test_rows_high"] is None for one in needed):
        out.print(
            "No upper limit: the pilot cannot exclude that several submissions are equally good at "
            "the top, and then no number of rows is enough.",
            soft_wrap=True,
        )
    for sweep in advice.to_dict()["sweeps"]:
        print_table(
            sweep["designs"],
            _sweep_columns(sweep["name"]),
            out,
            title=f"Drawn competitions by {SWEEPS_IN_WORDS[sweep['name']]} (intervals in brackets)",
        )
    out.print("Assumptions:", style="bold")
    for text in advice.assumptions():
        out.print(f"- {text}", soft_wrap=True)
    out.print("For your colleagues:", style="bold")
    out.print(printable(advice.paragraph()), soft_wrap=True)


def _sweep_columns(name: str) -> tuple[Column, ...]:
    def setting(row: Any) -> str:
        return percent(row["setting"]) if name == "public_share" else f"{row['setting']:,.10g}"

    return (
        Column(SWEEPS_IN_WORDS[name], 1, setting),
        Column("best team wins", 2, _range("best_wins", _share)),
        Column("loss in true score", 3, _range("loss", lambda value: f"{value:.2g}")),
        Column("top overstated by", 4, _range("overstatement", lambda value: f"{value:.2g}")),
        Column("tau public/private", 6, _range("tau", lambda value: f"{value:.2f}")),
        Column("teams that matter", 5, _range("contenders", lambda value: f"{value:,.0f}")),
    )


def _range(name: str, show: Any) -> Any:
    def cell(row: Any) -> str:
        point = "none" if row[name] is None else show(row[name])
        return f"{point} [{show(row[f'{name}_low'])}, {show(row[f'{name}_high'])}]"

    return cell


def _share(value: float) -> str:
    return percent(value)


def _ranks(value: float) -> str:
    return f"{value:.1f}"


def _best_wins(row: Any) -> str:
    normal = "none" if row["best_wins"] is None else percent(row["best_wins"])
    ends = f"[{percent(row['best_wins_low'])}, {percent(row['best_wins_high'])}]"
    return f"{normal} / {percent(row['best_wins_nonparametric'])} {ends}"


def _columns(difference: float) -> tuple[Column, ...]:
    return (
        Column("private rows", 1, lambda row: f"{row['test_rows']:,}"),
        Column("best wins: normal / nonparametric", 2, _best_wins),
        Column("rank interval width", 3, _range("interval_width", _ranks)),
        Column("winner shown", 4, _range("winner_shown", _share)),
        Column(f"power for {difference:.3g}", 5, _range("power", _share)),
        Column("all pairs", 6, _range("power_corrected", _share)),
    )


def _rows(name: str) -> Any:
    def cell(row: Any) -> str:
        return "none" if row[name] is None else f"{row[name]:,.0f}"

    return cell


def _rows_interval(row: Any) -> str:
    high = row["test_rows_high"]
    return f"{row['test_rows_low']:,.0f} to {'no upper limit' if high is None else f'{high:,.0f}'}"


SWEEPS_IN_WORDS = {
    "public_share": "public share",
    "per_day": "submissions per team and day",
    "rows": "private rows",
    "teams": "teams",
}
_QUESTIONS = (
    Column("answers per case", 1, lambda row: f"{row['answers']:,}"),
    Column("cases", 1, lambda row: f"{math.ceil(row['cases']):,}"),
    Column("fewest of a pair", 2, lambda row: f"{math.ceil(row['cases_low']):,}"),
    Column("most of a pair", 2, lambda row: f"{math.ceil(row['cases_high']):,}"),
)
_NEEDED = (
    Column("for", 1, lambda row: str(row["label"]), left=True),
    Column("probability", 1, lambda row: percent(row["probability"])),
    Column("normal prior", 3, _rows("test_rows")),
    Column("nonparametric prior", 4, _rows("test_rows_nonparametric")),
    Column("interval", 2, _rows_interval, left=True),
)
