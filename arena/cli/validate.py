"""Report every fault of submission files; store nothing."""

from __future__ import annotations

from typing import Any

import typer

from arena.cli import options
from arena.cli.board import print_rejected
from arena.cli.console import console, print_document, say_failures
from arena.plugin_manager import PluginManager
from arena.score_result import as_json as plain_json
from arena.score_result import rejected_document
from arena.score_settings import SolutionColumns
from arena.scoring import validate as validate_files

app = typer.Typer(add_completion=False)


@app.command()
def validate(
    solution: options.SolutionFile,
    submissions: options.SubmissionFiles,
    metric: options.Metric,
    id_column: options.IdColumn = None,
    target: options.Target = None,
    usage: options.UsageColumn = "Usage",
    positive: options.Positive = None,
    cluster: options.Cluster = None,
    tasks: options.Tasks = None,
    soft_labels: options.SoftLabels = None,
    columns: options.SubmissionColumns = None,
    as_json: options.AsJson = False,
    strict: options.Strict = False,
) -> None:
    """Check submission files against a solution and report every fault; nothing is stored."""
    manager = PluginManager()
    named = SolutionColumns(
        id_column,
        options.target_names(target),
        usage,
        positive,
        cluster,
        options.target_names(columns),
        tasks,
        options.target_names(soft_labels),
    )
    accepted, rejected = validate_files(solution, submissions, metric, named, manager=manager)
    say_failures(manager)
    document: dict[str, Any] = {
        "schema": "arena/validate/1",
        "accepted": list(accepted),
        "rejected": [rejected_document(file) for file in rejected],
    }
    if as_json:
        print_document(plain_json(document))
    else:
        for file in rejected:
            print_rejected(file, console(), every_fault=True)
        console().print(f"{len(accepted):,} valid, {len(rejected):,} rejected.")
    if rejected and (strict or not accepted):
        raise typer.Exit(1)
