"""Report every fault of submission files; store nothing."""

from __future__ import annotations

from typing import Any

import typer

from arena.cli import options
from arena.cli.console import console, print_document
from arena.cli.program import prepare_readers
from arena.cli.rejected_files import print_rejected
from arena.plugin.manager import PluginManager
from arena.scoring.rejected_file import rejected_document
from arena.scoring.validation import validate as validate_files
from arena.types import SolutionColumns
from arena.utils.tabular import as_json as plain_json

app = typer.Typer(add_completion=False)


@app.command()
@options.solution_columns()
def validate(
    solution: options.SolutionFile,
    submissions: options.SubmissionFiles,
    metric: options.Metric,
    columns: SolutionColumns,
    as_json: options.AsJson = False,
) -> None:
    """Check submission files against a solution and report every fault; nothing is stored.

    Exits with 1 if any file is invalid. --json lists up to 20 faults of each kind.
    """
    prepare_readers()
    manager = PluginManager()
    accepted, rejected = validate_files(solution, submissions, metric, columns, manager=manager)
    document: dict[str, Any] = {
        "schema": "arena/validate/1",
        "accepted": list(accepted),
        "rejected": [rejected_document(file) for file in rejected],
    }
    if as_json:
        print_document(plain_json(document))
    else:
        for file in rejected:
            print_rejected(file, console(), every_kind=True)
        console().print(f"{len(accepted):,} valid, {len(rejected):,} rejected.")
    if rejected:
        raise typer.Exit(1)
