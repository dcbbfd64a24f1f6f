"""Options that several commands share."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from arena.cli.completion import complete_mechanism, complete_metric, complete_team
from arena.errors import UsageError
from arena.types import USAGE_COLUMN, SolutionColumns
from arena.utils.requests import Choice, EngineChoice, Field, fields_of

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
Metrics = Annotated[
    list[str],
    typer.Option(
        "--metric",
        "-m",
        help="A name from 'arena metrics', name(key=value, …), kaggle:FILE.py, … Of several, the "
        "first ranks, and the others become columns, unless they are combined.",
        autocompletion=complete_metric,
    ),
]
Combine = Annotated[
    str | None,
    typer.Option(
        "--combine",
        help="How the scores by all metrics, on each task if there are tasks, become one: mean, "
        "rows (tasks by their sizes), geometric, worst or mean_rank.  [default: one score over all "
        "rows]",
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        "--weights", metavar="NAME=WEIGHT, …", help="Weights of metrics or tasks; others have 1."
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
Ranker = Annotated[
    str,
    typer.Option(
        help="The procedure of ranks; simultaneous(ties=true): of several exactly equal best "
        "submissions, all are among those that may be first."
    ),
]
FullBootstrap = Annotated[
    bool,
    typer.Option(
        "--full-bootstrap",
        help="Call a metric that can only be called as a whole on every resample, and not on about "
        "a hundred parts of the rows.",
    ),
]
Stratify = Annotated[
    bool | None,
    typer.Option(
        "--stratify/--no-stratify",
        help="Resample within classes.  [default: as the metric declares]",
    ),
]
SANDBOX = "bwrap"
"""The sandbox of programs by default."""
SandboxName = Annotated[
    str,
    typer.Option("--sandbox", help="A name from 'arena programs sandboxes', with its parameters."),
]
EnvironmentDigest = Annotated[
    str, typer.Option(help="The digest that arena programs environment printed.")
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
            str | None,
            typer.Option(
                "--id",
                help="The id column; line: rows are numbered in the order of each file.  "
                "[default: id, else the first]",
            ),
        ],
        None,
    ),
    "targets": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--target",
                help="Target columns, or patterns such as F*, separated by commas.  [default: the "
                "rest]",
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
    "classes": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--classes",
                help="The labels in their order, separated by commas, also those that no row has.  "
                "[default: those of the solution, sorted]",
            ),
        ],
        None,
    ),
    "cluster": (
        Annotated[
            str | None,
            typer.Option("--cluster", help="A column of groups that are resampled whole."),
        ],
        None,
    ),
    "time": (
        Annotated[
            str | None,
            typer.Option(
                "--time",
                help="A column of times of rows that depend on the rows before: blocks of "
                "consecutive times are resampled whole.",
            ),
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
    "no_header": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--no-header",
                metavar="NAMES",
                help="The names of the columns of a solution without a header line, separated by "
                "commas, such as id,label. Submissions may then lack it too. One name: each line "
                "is a text; with --id block each block of lines, with --id line only in "
                "submissions.",
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
    return filled(
        "columns", {name: _COLUMNS[name] for name in names or _COLUMNS}, _solution_columns
    )


def _solution_columns(**options: Any) -> SolutionColumns:
    for name, value in options.items():
        if isinstance(getattr(SolutionColumns(), name), tuple):
            options[name] = target_names(value)
    return SolutionColumns(**options)


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
    return filled("where", _ENGINE, EngineChoice)


# -- requests: the options of a command are the fields of its job's request -----------------------

_NAMES: Mapping[str, Mapping[str, Any]] = {
    "mechanisms": {"name": "--mechanism", "autocompletion": complete_mechanism},
    "metric": {"name": "--metric", "short": "-m", "autocompletion": complete_metric},
    "models": {"metavar": "FOLDER"},
    "lower_is_better": {"name": "--lower-is-better/--greater-is-better"},
    "like": {"metavar": "BOARD.csv|FOLDER"},
    "rehearsal": {"metavar": "FOLDER"},
    "attack": {"metavar": "ATTACK.json"},
    "stratify": {"name": "--stratify/--no-stratify"},
    "table": {"name": "--from", "metavar": "TABLE", "readable": False, "kind": list[Path]},
}
"""What only the command line has of a field, where its name is not enough."""

Prediction = Annotated[
    str | None,
    typer.Option(
        "--prediction",
        help="Content of a submission, for a metric that does not state it: label, probability, "
        "class_probabilities, score or value.",
    ),
]


def request(
    *requests: type,
    arguments: Mapping[str, str],
    choose: Callable[[Mapping[str, Any]], int] = lambda _: 0,
    columns: Sequence[str] = (),
    of_metric: Mapping[str, Any] = {},
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Let a command take ``request``, filled from options that are the fields of a request.

    Parameters
    ----------
    requests
        The kinds of requests, one for each job of the command. An option that was given and that
        the chosen job does not use is refused by its name.
    arguments
        Field -> metavar of an argument, which has no name.
    choose
        Returns the place of the job among ``requests``, from the options.
    columns
        The fields of :class:`SolutionColumns` that have an option, if a request has some.
    of_metric
        Options that are parameters of the metric, such as its direction.
    """
    fields: dict[str, Field] = {}
    for kind in requests:
        fields = {**fields_of(kind), **fields}
    chosen: dict[str, tuple[Any, Any]] = {}
    for name in (*arguments, *fields):
        if fields[name].kind is SolutionColumns:
            chosen |= {column: _COLUMNS[column] for column in columns}
        elif fields[name].kind is EngineChoice:
            chosen |= _ENGINE
        elif name not in chosen:
            chosen[name] = _option(fields[name], arguments.get(name), required=len(requests) == 1)
        if name == "metric":
            chosen |= {extra: (annotation, None) for extra, annotation in of_metric.items()}

    def made(context: typer.Context, **options: Any) -> Any:
        kind = requests[choose(options)]
        records: dict[str, tuple[Sequence[str], Callable[..., Any]]] = {
            "where": (tuple(_ENGINE), EngineChoice),
            "columns": (columns, _solution_columns),
        }
        used = fields_of(kind)
        values: dict[str, Any] = {}
        consumed: set[str] = set()
        for name, field in used.items():
            if name in records:
                parts, record = records[name]
                values[name] = record(**{part: options[part] for part in parts})
                consumed |= set(parts)
            else:
                values[name] = _value(field, options[name])
                consumed.add(name)
        if "metric" in used and values["metric"] is not None:
            from arena.plugin.specification import with_parameters

            extra = {name: options[name] for name in of_metric}
            values["metric"] = with_parameters(values["metric"], **extra)
            consumed |= set(of_metric)
        for name in options:
            if name not in consumed and _was_given(context, name):
                option = _spelled(name, arguments, context)
                raise UsageError(f"{kind.job} does not use {option}: omit it.")  # type: ignore[attr-defined]
        return kind(**values)

    return filled("request", chosen, made, with_context=True)


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name not in {"DEFAULT", "DEFAULT_MAP"}


def given_options(context: typer.Context, *, without: Collection[str]) -> list[str]:
    """Return the options that were given on the command line, in the order of the help.

    ``without``: the names of parameters that are left out.
    """
    texts: list[str] = []
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in without or not _was_given(context, name):
            continue
        value = context.params[name]
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, bool):
                texts.append((parameter.opts if part else parameter.secondary_opts)[0])
            else:
                texts += [parameter.opts[0], str(part)]
    return texts


def _spelled(name: str, arguments: Mapping[str, str], context: typer.Context) -> str:
    """Return an option as it is written, or an argument as the help names it."""
    if name in arguments:
        return arguments[name]
    (parameter,) = (parameter for parameter in context.command.params if parameter.name == name)
    return parameter.opts[0]


def _option(field: Field, metavar: str | None, *, required: bool) -> tuple[Any, Any]:
    """Return the annotation and the default of the option, or the argument, of a field.

    ``required``: that it is, if it has no default.
    """
    choice, special = field.choice or Choice(""), dict(_NAMES.get(field.name, {}))
    required = required and field.required
    default = None if field.required else field.default
    kind: Any = special.pop("kind", field.kind)
    if field.several and kind in (int, float):
        default = None if choice.joins or not default else ",".join(map(str, default))
        kind = str
    elif field.several:
        kind, default = list[kind], None
    if field.kind is str and default == "":
        default = None
    names = [special.pop(part) for part in ("name", "short") if part in special]
    if metavar is not None:
        special |= {"metavar": metavar, "readable": False}
        return Annotated[kind, typer.Argument(help=choice.help, **special)], (
            inspect.Parameter.empty if required else default
        )
    names = names or ([f"--{field.name.replace('_', '-')}"])
    return Annotated[kind, typer.Option(*names, help=choice.help, **special)], default


def _value(field: Field, value: Any) -> Any:
    """Return the value of a field from that of its option."""
    if value is None:
        return None if field.required else field.default
    if field.several and field.kind in (int, float):
        values = _numbers(field, value)
        joins = field.choice is not None and field.choice.joins and len(values) == 1
        return (*values, *field.default[1:]) if joins else values
    return tuple(value) if field.several else value


def _numbers(field: Field, text: str) -> tuple[Any, ...]:
    try:
        values = tuple(dict.fromkeys(field.kind(part) for part in text.split(",")))
        if not all(map(math.isfinite, values)):
            raise ValueError(text)
    except ValueError as error:
        kind = "whole numbers" if field.kind is int else "numbers"
        example = ",".join(f"{value:g}" for value in sorted(field.default[:2])) or "10,100"
        option = f"--{field.name.replace('_', '-')}"
        raise UsageError(
            f"{option} takes {kind} separated by commas, such as {example}; not {text!r}."
        ) from error
    return values


def filled(
    parameter: str,
    chosen: Mapping[str, tuple[Any, Any]],
    made: Callable[..., Any],
    *,
    with_context: bool = False,
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replace a parameter of a command by options, and fill it with the object made of them.

    Parameters
    ----------
    chosen
        Name -> the annotation and the default of an option; without a default it is required.
    with_context
        Whether ``made`` also takes the context of the command.
    """

    def with_options(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def wrapper(**options: Any) -> None:
            values = {name: options.pop(name) for name in chosen}
            if with_context:
                values["context"] = options.pop("context")
            command(**options, **{parameter: made(**values)})

        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for option in signature.parameters.values():
            if option.name != parameter:
                parameters.append(option)
                continue
            parameters += [
                inspect.Parameter(name, option.kind, annotation=kind, default=default)
                for name, (kind, default) in chosen.items()
            ]
        if with_context:
            context = inspect.Parameter("context", _KEYWORD, annotation=typer.Context)
            parameters.append(context)
        parameters.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
        parameters = [parameter.replace(kind=_KEYWORD) for parameter in parameters]
        wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": None}
        return wrapper

    return with_options


_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def check_intervals(intervals: bool, *outputs: Path | None) -> None:
    """Refuse a report or charts without intervals: they show little else."""
    if not intervals and any(outputs):
        raise UsageError("A report and its charts show intervals: omit --no-intervals for them.")


def target_names(names: list[str] | None) -> tuple[str, ...]:
    """Return names of columns, whether given one by one or split by commas.

    >>> target_names(["a,b", "c"])
    ('a', 'b', 'c')
    """
    return tuple(name.strip() for text in names or () for name in text.split(","))
