"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "AsJson",
    "Cluster",
    "IdColumn",
    "LowerIsBetter",
    "Metric",
    "Positive",
    "SoftLabels",
    "SolutionFile",
    "Strict",
    "SubmissionColumns",
    "SubmissionFiles",
    "Target",
    "Tasks",
    "Team",
    "UsageColumn",
    "target_names",
]

SolutionFile = Annotated[
    Path,
    typer.Argument(
        help="CSV or Parquet with the ids and the truth.", metavar="SOLUTION", readable=False
    ),
]
SubmissionFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Files, or folders of team.csv or team/anything.csv.",
        metavar="SUBMISSIONS…",
        readable=False,
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric", "-m", help="A name from 'arena metrics', name(key=value, …), kaggle:FILE.py, …"
    ),
]
LowerIsBetter = Annotated[
    bool | None,
    typer.Option(
        "--lower-is-better/--greater-is-better",
        help="Only for a metric that does not say so itself, such as kaggle:FILE.py.",
    ),
]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="The id column.  [default: id, else the first]")
]
Target = Annotated[
    list[str] | None,
    typer.Option("--target", help="Target columns, split at commas.  [default: the rest]"),
]
UsageColumn = Annotated[
    str, typer.Option("--usage", help="The column that says Public, Private or Ignored.")
]
Positive = Annotated[
    str | None,
    typer.Option("--positive", help="The positive label of two.  [default: the second, sorted]"),
]
Cluster = Annotated[
    str | None, typer.Option("--cluster", help="A column of groups that are resampled whole.")
]
Tasks = Annotated[
    str | None,
    typer.Option("--tasks", help="A column of tasks: reports rank them apart, too."),
]
SoftLabels = Annotated[
    list[str] | None,
    typer.Option(
        "--soft-labels",
        help="Columns of the solution with the probability of the positive label, or of each "
        "label, split at commas: how much better could anyone do?",
    ),
]
SubmissionColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        help="Columns of a submission, split at commas, if the metric reads others than the "
        "targets.  [default: the targets]",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if any file is rejected.")]
Team = Annotated[str, typer.Option("--team", "-t", help="The name of the team.")]


def target_names(given: list[str] | None) -> tuple[str, ...]:
    """Return names of columns, whether given one by one or split by commas.

    >>> target_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for text in given or () for name in text.split(","))
