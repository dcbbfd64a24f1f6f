"""Create a competition in a folder."""

from __future__ import annotations

import shlex
import shutil
import sys
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.completion import complete_mechanism
from arena.cli.console import console, say_note
from arena.cli.init_pages import PAGES_NAME, write_pages
from arena.cli.init_questions import as_command, ask
from arena.competition.competition import Competition
from arena.competition.create import SAMPLE_NOTE_NAME, soft_label_warnings
from arena.config import CONFIG_NAME, SAMPLE_NAME, Settings, read_settings
from arena.config_sections import DataSection
from arena.errors import UsageError
from arena.interfaces import Metric, modality_of, notes_of
from arena.plugin.manager import PluginManager
from arena.public_board.advice import protection_notes
from arena.scoring.columns import meaning_of_columns, usage_note
from arena.types import SolutionColumns, Usage
from arena.utils.locations import check_location
from arena.utils.text import plural, printable

app = typer.Typer(add_completion=False)

_PER_DAY = 5


@app.command()
@options.solution_columns()
def init(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="FOLDER", help="A new folder, or one without a competition."),
    ] = None,
    solution: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet with the ids and the truth.", metavar="FILE"),
    ] = None,
    metric: options.OptionalMetric = None,
    *,
    columns: SolutionColumns,
    lower_is_better: options.LowerIsBetter = None,
    title: Annotated[
        str, typer.Option(help="Title of the competition, shown on every leaderboard.")
    ] = "",
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="Mechanism of the public board; 'arena mechanisms' lists them.  [default: "
            "ladder-free, with the bounds and the noise that the metric needs]",
            autocompletion=complete_mechanism,
        ),
    ] = None,
    per_day: Annotated[
        int | None,
        typer.Option(help="Submissions per team and day; 0: not limited.  [default: 5]", min=0),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            help="The end, such as 2026-12-31T23:59:00Z; without an offset it is UTC.",
            metavar="TIME",
        ),
    ] = None,
    public_share: Annotated[
        float | None,
        typer.Option(
            help="Share of public rows, if the solution marks none.  [default: 0.3; 0 with a usage "
            "column]"
        ),
    ] = None,
    predictions: Annotated[
        str | None,
        typer.Option(
            help="Keep the predictions outside the database: in a folder, relative to FOLDER, or "
            "at s3://… or gs://….",
            metavar="FOLDER|URL",
        ),
    ] = None,
    programs: Annotated[
        Path | None,
        typer.Option(
            help="Teams submit programs, which run on the hidden inputs in this folder.",
            metavar="FOLDER",
        ),
    ] = None,
    sample_inputs: Annotated[
        Path | None,
        typer.Option(
            help="With --programs: the inputs of a trial, which participants see.",
            metavar="FOLDER",
        ),
    ] = None,
    settings_file: Annotated[
        Path | None,
        typer.Option(
            "--settings",
            metavar="FILE",
            help="Take every setting from this file, in the format of competition.toml. Without a "
            "mechanism in it, the default is that of --mechanism.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Random seed.  [default: a secret one]", min=0)
    ] = None,
) -> None:
    """Create a competition in a folder: competition.toml, database and sample submission.

    In a terminal, arena init without --solution or --metric asks for the values that it needs. All
    other settings, such as the final selection, are in competition.toml. With --settings they are
    read from a file, which is the way to create a competition with phases.
    """
    _check_inputs(programs, sample_inputs)
    inputs = None if programs is None or sample_inputs is None else (programs, sample_inputs)
    if settings_file is not None:
        given_options = (metric, mechanism, per_day, deadline, predictions, lower_is_better)
        if (
            any(value is not None for value in given_options)
            or title
            or columns != SolutionColumns()
        ):
            raise UsageError("--settings excludes other settings: write them into its file.")
        if folder is None or solution is None:
            raise UsageError("--settings needs FOLDER and --solution.")
        manager, settings = PluginManager(), read_settings(settings_file)
        protected = "mechanism" not in settings.public.model_fields_set
        _create(
            folder,
            solution,
            settings=settings,
            manager=manager,
            public_share=public_share,
            seed=seed,
            inputs=inputs,
            protected=protected,
        )
        return
    _check_predictions(predictions)
    manager = PluginManager()
    if folder is None or solution is None or metric is None:
        missing = [
            name
            for name, value in (("FOLDER", folder), ("--solution", solution), ("--metric", metric))
            if value is None
        ]
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise UsageError(f"Give {' and '.join(missing)}: see arena init --help.")
        answers = ask(
            manager,
            {
                "folder": folder,
                "solution": solution,
                "metric": metric,
                "positive": columns.positive,
                "public_share": public_share,
                "per_day": per_day,
                "deadline": deadline,
                "mechanism": mechanism,
                "predictions": predictions,
                "columns": columns,
            },
        )
        folder, solution, metric = answers["folder"], answers["solution"], answers["metric"]
        columns = replace(columns, positive=answers.get("positive"))
        public_share, per_day = answers.get("public_share"), answers["per_day"]
        deadline, mechanism = answers["deadline"], answers["mechanism"]
        command = as_command(answers, options.given_options(context, without=answers))
        say_note(f"The same without questions:\n    {command}")
    document: dict[str, dict[str, Any]] = {
        "competition": {"title": title, "deadline": _time(deadline)},
        "data": DataSection.document_of(columns),
        "metric": {"name": metric, "lower_is_better": lower_is_better},
        "public": {"mechanism": mechanism or "full"},
        "limits": {"per_day": (_PER_DAY if per_day is None else per_day) or None},
        "store": {"predictions": predictions},
        "programs": {"sandbox": "" if programs is None else options.SANDBOX},
    }
    settings, protected = _settings(document), mechanism is None
    _create(
        folder,
        solution,
        settings=settings,
        manager=manager,
        public_share=public_share,
        seed=seed,
        inputs=inputs,
        protected=protected,
    )


def _create(
    folder: Path,
    solution: Path,
    settings: Settings,
    manager: PluginManager,
    public_share: float | None,
    seed: int | None,
    inputs: tuple[Path, Path] | None,
    *,
    protected: bool,
) -> None:
    """Create the competition and say so; ``inputs``: folders of hidden inputs and of samples."""
    with Competition.create(
        folder,
        solution,
        settings,
        public_share=public_share,
        seed=seed,
        manager=manager,
        protected=protected,
    ) as competition:
        written = write_pages(competition)
        if inputs is not None:
            section = competition.settings.programs
            for source, name in zip(inputs, (section.inputs, section.sample), strict=True):
                shutil.copytree(source, folder / name)
        say_what_was_made(folder, competition)
        if (rules := competition.settings.server.rules) in written:
            say_note(
                f"The rules in {folder / rules} are a draft: complete them and delete the first "
                f"line, or delete the file."
            )
        by_dates = any(phase.each for phase in settings.phase.values())
        if (usage := competition.settings.data.usage) != settings.data.usage and not by_dates:
            say_note(usage_note(usage))


def _check_predictions(predictions: str | None) -> None:
    if predictions is None:
        return
    try:
        check_location(predictions)
    except ValueError as error:
        raise UsageError(f"--predictions: {error}.") from error


def _check_inputs(programs: Path | None, sample_inputs: Path | None) -> None:
    if (programs is None) != (sample_inputs is None):
        raise UsageError(
            "--programs and --sample-inputs need each other: a program is tried on inputs that "
            "participants see before it runs on those that they do not see."
        )
    for name, path in (("--programs", programs), ("--sample-inputs", sample_inputs)):
        if path is not None and not (path.is_dir() and any(path.iterdir())):
            raise UsageError(f"{name}: {path} is no folder with files.")


def _time(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError as error:
        message = f"--deadline is {text!r}, not a time such as 2026-12-31T23:59:00Z."
        raise UsageError(message) from error


def _settings(document: dict[str, dict[str, Any]]) -> Settings:
    """Validate values that TOML cannot represent or that no setting allows."""
    for section in document.values():
        for key, value in section.items():
            texts = [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()
            if any(unicodedata.category(c) in {"Cc", "Cs"} for text in texts for c in text):
                raise UsageError(f"--{key} contains a control character: remove it.")
    if not document["metric"]["name"].strip():
        raise UsageError("--metric is empty: name one from 'arena metrics'.")
    return Settings.model_validate(document)


def _options_of(competition: Competition) -> str:
    """Return the options without which a submission is refused: the phase and the answers."""
    board, questions = competition.in_phase(), competition.settings.question
    several = [row for row in competition.phases() if row["state"] == "open"][1:]
    parts = ["--phase", board.phase] if several else []
    for key, question in questions.items():
        if question.required and question.shown == "board":
            first = question.choices[0] if question.choices else "TEXT"
            parts += ["--answer", f"{key}={first}"]
    return "".join(f" {shlex.quote(part)}" for part in parts)


def say_what_was_made(folder: Path, competition: Competition) -> None:
    """Print rows, limits and the next steps of a new competition."""
    usage = competition.solution.usage
    counts = {part: int((usage == part).sum()) for part in Usage}
    n_pending = int(competition.solution.pending.sum())
    without_labels = f", {n_pending:,} whose labels are to arrive" if n_pending else ""
    where = shlex.quote(str(folder))
    specification = competition.settings.metric.specification
    metric: Metric = competition.manager.metrics.resolve(specification)
    set_in = f"limits, the deadline and the final selection are set in {folder / CONFIG_NAME}."
    if not modality_of(metric).has_rows:
        example = "FILE"
        lines = [
            f"Created a competition in {folder}. The metric reads whole files: there is no public "
            f"board and no sample submission.",
            f"Describe the format of a submission in {folder / SAMPLE_NOTE_NAME} and give it to "
            f"participants; {set_in}",
        ]
    else:
        example = shlex.quote(str(folder / SAMPLE_NAME))
        lines = [
            f"Created a competition in {folder}: {plural(counts[Usage.PUBLIC], 'public row')}, "
            f"{counts[Usage.PRIVATE]:,} private, {counts[Usage.IGNORED] - n_pending:,} ignored"
            f"{without_labels}.",
            f"Give participants {folder / SAMPLE_NAME} and {SAMPLE_NOTE_NAME}, which explains "
            f"its columns; {set_in}",
        ]
    board, now = competition.in_phase(), datetime.now(UTC)
    deadline = board.settings.competition.deadline
    if deadline is not None and deadline >= now:
        what = f"end of the phase {board.phase}" if board.phase else "deadline"
        lines.append(f"The {what} is {deadline:%Y-%m-%d %H:%M} UTC.")
    if competition.settings.programs.sandbox:
        example = "main.py"
        lines.append(
            f"Teams submit programs. They run on the files of "
            f"{folder / competition.settings.programs.inputs}, after a trial on "
            f"{folder / competition.settings.programs.sample}; limits and the libraries that they "
            f"may import are set under [programs]."
        )
    lines += [
        *notes_of(metric),
        *meaning_of_columns(competition.solution, metric),
        *soft_label_warnings(competition.solution),
        *protection_notes(
            board.settings,
            board.solution,
            manager=competition.manager,
            now=now,
            phase=board.phase,
            has_public_rows=bool((board.solution.usage == Usage.PUBLIC).any())
            or board.pending_labels(private=False) is not None,
        ),
        f"Describe it to participants in {folder / PAGES_NAME}, where each page becomes a tab of "
        f"arena serve; what is in {folder / 'files'} is offered for download.",
        "To submit a file, show the public board, and host it for participants:",
        f"    arena submit {example} --team sample{_options_of(competition)} -C {where}",
        f"    arena leaderboard -C {where}",
        f"    arena serve -C {where}",
    ]
    out = console()
    for line in lines:
        out.print(printable(line), soft_wrap=True)
