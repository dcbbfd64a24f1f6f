"""Make a competition in a folder."""

from __future__ import annotations

import shlex
import unicodedata
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli import options
from arena.cli.console import console, say_failures
from arena.competition import Competition
from arena.config import CONFIG_NAME, Settings
from arena.errors import UsageError
from arena.founding import SAMPLE_NAME, soft_label_warnings
from arena.interfaces import Metric, notes_of
from arena.plugin_manager import PluginManager
from arena.text import printable
from arena.types import Usage

app = typer.Typer(add_completion=False)


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder, or one without a competition.")],
    solution: Annotated[
        Path, typer.Option(help="CSV or Parquet with the ids and the truth.", metavar="FILE")
    ],
    metric: options.Metric,
    lower_is_better: options.LowerIsBetter = None,
    id_column: options.IdColumn = None,
    target: options.Target = None,
    usage: options.UsageColumn = "Usage",
    positive: options.Positive = None,
    cluster: options.Cluster = None,
    tasks: options.Tasks = None,
    soft_labels: options.SoftLabels = None,
    columns: options.SubmissionColumns = None,
    title: Annotated[str, typer.Option(help="Shown above every board.")] = "",
    mechanism: Annotated[
        str, typer.Option(help="What the public board shows: full, kaggle(rounding=1e-5), …")
    ] = "full",
    public_share: Annotated[
        float, typer.Option(help="Rows to make public if the solution says of none; from 0 to 1.")
    ] = 0.3,
    seed: Annotated[
        int | None, typer.Option(help="Of all chance.  [default: a secret one]", min=0)
    ] = None,
) -> None:
    """Make a competition in a folder: competition.toml, the database and a sample submission.

    Limits, the deadline and the rule of the final selection are set in competition.toml.
    """
    data = {
        "id": id_column,
        "target": options.target_names(target),
        "usage": usage,
        "positive": positive,
        "submission_columns": options.target_names(columns),
        "soft_labels": options.target_names(soft_labels),
    }
    document: dict[str, dict[str, Any]] = {
        "competition": {"title": title},
        "data": {**data, "cluster": cluster, "tasks": tasks},
        "metric": {"name": metric, "lower_is_better": lower_is_better},
        "public": {"mechanism": mechanism},
    }
    settings = _settings(document)
    manager = PluginManager()
    with Competition.create(
        folder, solution, settings, public_share=public_share, seed=seed, manager=manager
    ) as competition:
        say_failures(manager)
        _say_what_was_made(folder, competition)


def _settings(document: dict[str, dict[str, Any]]) -> Settings:
    """Check what TOML could not hold, or no setting may be."""
    for section in document.values():
        for key, value in section.items():
            texts = [value] if isinstance(value, str) else value if isinstance(value, tuple) else ()
            if any(unicodedata.category(c) in {"Cc", "Cs"} for text in texts for c in text):
                raise UsageError(f"--{key} holds a control character: leave it out.")
    if not document["metric"]["name"].strip():
        raise UsageError("--metric is empty: name one from 'arena metrics'.")
    return Settings.model_validate(document)


def _say_what_was_made(folder: Path, competition: Competition) -> None:
    usage = competition.solution.usage
    counts = {part: int((usage == part).sum()) for part in Usage}
    where = shlex.quote(str(folder))
    specification = competition.settings.metric.specification
    asked: Metric = competition.manager.metrics.resolve(specification)
    lines = [
        f"A competition was made in {folder}: {counts[Usage.PUBLIC]:,} public rows, "
        f"{counts[Usage.PRIVATE]:,} private, {counts[Usage.IGNORED]:,} ignored.",
        f"Give participants {folder / SAMPLE_NAME}; limits, the deadline and the final "
        f"selection are set in {folder / CONFIG_NAME}.",
        *notes_of(asked),
        *soft_label_warnings(competition.solution),
        "To take a submission in, and to see the public board:",
        f"    arena submit {shlex.quote(str(folder / SAMPLE_NAME))} --team sample -C {where}",
        f"    arena leaderboard -C {where}",
    ]
    out = console()
    for line in lines:
        out.print(printable(line), soft_wrap=True)
