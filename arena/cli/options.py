"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli.completion import complete_metric, complete_team
from arena.errors import UsageError
from arena.types import USAGE_COLUMN, SolutionColumns

if TYPE_CHECKING:
    from arena.utils.engines import Engine

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
        metavar="SUBMISSIONS",
        readable=False,
    ),
]
Metric = Annotated[
    str,
    typer.Option(
        "--metric",
        "-m",
        help="A name from 'arena metrics', name(key=value, …), kaggle:FILE.py, …",
        autocompletion=complete_metric,
    ),
]
OptionalMetric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        help="A name from 'arena metrics', name(key=value, …), kaggle:FILE.py, …",
        autocompletion=complete_metric,
    ),
]
LowerIsBetter = Annotated[
    bool | None,
    typer.Option(
        "--lower-is-better/--greater-is-better",
        help="The direction, for a metric that does not state it, such as kaggle:FILE.py.",
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive", help="The positive one of two labels.  [default: the second, sorted]"
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout.")]
Intervals = Annotated[
    bool,
    typer.Option(
        "--intervals/--no-intervals",
        help="--no-intervals: only scores and ranks, with one call of a slow metric for each file.",
    ),
]
Stratify = Annotated[
    bool | None,
    typer.Option(
        "--stratify/--no-stratify",
        help="Resample within classes.  [default: as the metric declares]",
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Exit with 1 if any file is rejected.")]
Wide = Annotated[
    bool, typer.Option("--wide", help="Print every column, also if the terminal is narrower.")
]
Decimals = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=12,
        help="Digits after the point of scores on the board and in the report.  [default: as many "
        "as their uncertainty justifies]",
    ),
]
Unit = Annotated[
    str, typer.Option(help="The unit shown after a score; % shows 100 times the score.")
]
Team = Annotated[
    str,
    typer.Option("--team", "-t", help="The name of the team.", autocompletion=complete_team),
]


_COLUMNS: dict[str, tuple[Any, Any]] = {
    "id": (
        Annotated[
            str | None, typer.Option("--id", help="The id column.  [default: id, else the first]")
        ],
        None,
    ),
    "targets": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--target", help="Target columns, separated by commas.  [default: the rest]"
            ),
        ],
        None,
    ),
    "usage": (
        Annotated[
            str,
            typer.Option("--usage", help="Column with the values Public, Private or Ignored."),
        ],
        USAGE_COLUMN,
    ),
    "positive": (
        Positive,
        None,
    ),
    "cluster": (
        Annotated[
            str | None,
            typer.Option("--cluster", help="A column of groups that are resampled whole."),
        ],
        None,
    ),
    "tasks": (
        Annotated[
            str | None,
            typer.Option("--tasks", help="A column of tasks: reports also rank each separately."),
        ],
        None,
    ),
    "weight": (
        Annotated[
            str | None,
            typer.Option(
                "--weight", help="A column of row weights: how much a row counts in the score."
            ),
        ],
        None,
    ),
    "soft_labels": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--soft-labels",
                help="Columns of the solution with the probability of the positive label, or of "
                "each label, separated by commas: they bound the best possible score.",
            ),
        ],
        None,
    ),
    "submission": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--columns",
                help="Columns of a submission, separated by commas, if they differ from "
                "the targets.  [default: the targets]",
            ),
        ],
        None,
    ),
}
"""Field of :class:`SolutionColumns` -> the annotation and the default of its option."""


def solution_columns(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take ``columns: SolutionColumns``, filled from options.

    Parameters
    ----------
    names
        The fields that have an option; none: all.
    """

    def made(**given: Any) -> SolutionColumns:
        for name, value in given.items():
            if isinstance(getattr(SolutionColumns(), name), tuple):
                given[name] = target_names(value)
        return SolutionColumns(**given)

    return _filled("columns", {name: _COLUMNS[name] for name in names or _COLUMNS}, made)


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Where the work of a command is done."""

    engine: str
    scheduler: str | None
    workers: int
    """0: as many as the engine has."""

    def open(self) -> AbstractContextManager[Engine]:
        """Connect to the engine; see :func:`arena.utils.engines.open_engine`."""
        from arena.utils.engines import open_engine

        return open_engine(self.engine, self.scheduler, self.workers)


HERE = EngineChoice("local", None, 0)
"""This machine, all of its processors."""

Resume = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        metavar="FOLDER",
        help="Keep finished calls of a slow metric, or finished repetitions, in this folder: after "
        "an interruption the same command continues from there. It holds private scores.",
    ),
]

_ENGINE: dict[str, tuple[Any, Any]] = {
    "workers": (
        Annotated[
            int,
            typer.Option(
                min=0,
                help="Workers of the engine; 0: all of them, one per processor on this machine.",
            ),
        ],
        0,
    ),
    "engine": (
        Annotated[
            str,
            typer.Option(
                help="Where to compute: local, dask or ray. The workers of a cluster receive "
                "labels and submissions."
            ),
        ],
        "local",
    ),
    "scheduler": (
        Annotated[
            str | None,
            typer.Option(
                "--scheduler",
                "--address",
                help="Address of the cluster: tcp://HOST:8786 (Dask), HOST:6379 or "
                "ray://HOST:10001 (Ray).  [default: start Ray here]",
            ),
        ],
        None,
    ),
}


def engine() -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take ``where: EngineChoice``: ``--workers``, ``--engine``, ``--scheduler``."""
    return _filled("where", _ENGINE, EngineChoice)


def _filled(
    parameter: str, chosen: Mapping[str, tuple[Any, Any]], made: Callable[..., Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a parameter of a command by options, and fill it with the object made of them.

    Parameters
    ----------
    chosen
        Name -> the annotation and the default of an option.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapper(**given: Any) -> None:
            own = {name: given.pop(name) for name in chosen}
            command(**given, **{parameter: made(**own)})

        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for one in signature.parameters.values():
            if one.name != parameter:
                parameters.append(one)
                continue
            parameters += [
                inspect.Parameter(name, one.kind, annotation=kind, default=default)
                for name, (kind, default) in chosen.items()
            ]
        wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return wrapper

    return with_options


def check_intervals(intervals: bool, *outputs: Path | None) -> None:
    """Refuse a report or charts without intervals: they show little else."""
    if not intervals and any(outputs):
        raise UsageError("A report and its charts show intervals: omit --no-intervals for them.")


def target_names(given: list[str] | None) -> tuple[str, ...]:
    """Return names of columns, whether given one by one or split by commas.

    >>> target_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for text in given or () for name in text.split(","))
