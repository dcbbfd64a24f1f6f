"""Commands and public functions of the same job have the same choices."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import typer

import arena
from arena.types import SolutionColumns
from program import run_here

FUNCTIONS = {
    "score": ("score",),
    "validate": ("validate",),
    "rank": ("rank",),
    "plan": ("plan", "plan_cases", "plan_queue"),
    "simulate competition": ("simulate",),
    "simulate ranks": ("simulate_ranks",),
    "attack": ("attack",),
    "bayes-error": ("bayes_error",),
    "sota estimate": ("sota",),
    "sota max": ("sample_maximum",),
}
"""Command -> the functions that do its jobs."""
OF_COMMANDS = {
    *("as_json", "report", "charts", "chart", "table", "wide", "decimals", "unit", "strict"),
    *("resume", "wait", "feedback_chart", "title", "organiser", "date", "logo"),
}
"""What is printed and where, and what a program decides by itself."""
OF_FUNCTIONS = {
    *("manager", "progress", "row_sets", "pending_labels", "columns", "settings", "board")
}
"""Objects of Python, and what only a stored competition has: rows of phases, and labels that arrive
later. The fields of the last three are compared instead."""
SAME = {
    "board": "scores",
    "classifiers": "n_classifiers",
    "column": "columns",
    "db": "database",
    "directory": "competition",
    "file": "labels",
    "metric": "metrics",
    "rho": "rho0",
    "rows": "n_rows",
    "scheduler": "address",
    "submission": "submission_columns",
    "tables": "table",
    "targets": "target",
}
"""Option -> the parameter of a function, where the function has no parameter of that name."""
DIFFER = {
    # arena.utils.engines.open_engine around a call chooses the engine.
    "score": {"engine", "address"},
    "validate": {"workers"},  # the command has one job at a time
    "plan": {"phase"},  # the function takes a competition, such as competition.in_phase("final")
    "attack": {"engine", "address", "workers"},
    # What the labels and scores of a file, or of a stored competition, are.
    "sota estimate": {
        "competition",
        "count",
        "negatives",
        "percent",
        "positives",
        "score_column",
        "where",
    },
    # The function takes an array of success probabilities; areas under the curve are a command.
    "sota max": {
        *("at", "uniform", "theta_file", "metrics", "positives", "negatives", "repetitions"),
        *("seed", "random"),
    },
}
"""Command -> choices that only one of both has, each for the reason above it."""
SHORT = {"lower_is_better", "prediction"}
"""Options that are parameters of the metric: ``name(lower_is_better=true)``."""


def command(name: str) -> Any:
    first, *rest = name.split()
    if first == "simulate":
        app = importlib.import_module(f"arena.cli.commands.simulate_{rest[0]}").app
        return typer.main.get_command(app)
    (point,) = metadata.entry_points(group="arena.commands", name=first)
    group: Any = typer.main.get_command(point.load())
    return group.commands[rest[0]] if rest else group


def expanded(function: Any) -> set[str]:
    """Return the parameters of a function; those that are records as their fields."""
    names = set(inspect.signature(function).parameters)
    records = {"columns": SolutionColumns, "settings": None, "board": None}
    if function is arena.rank:
        records["columns"] = arena.CaseColumns
    if "columns" in names and function is not arena.bayes_error:
        fields = {field.name for field in dataclasses.fields(records["columns"])}  # type: ignore[arg-type]
        names |= {
            SAME.get(field, field) if field in ("targets", "submission") else field
            for field in fields
        }
    return names - (OF_FUNCTIONS - ({"columns"} if function is arena.bayes_error else set()))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_and_its_functions_have_the_same_choices(name: str) -> None:
    functions = [getattr(arena, function_name) for function_name in FUNCTIONS[name]]
    parameters = set().union(*map(expanded, functions))
    options = (
        {parameter.name for parameter in command(name).params}
        - (OF_COMMANDS - parameters)
        - {"help"}
    )
    options = {option if option in parameters else SAME.get(option, option) for option in options}
    paths = {"directory": "folder", "competition": "folder", "solution": "pilot"}
    options = {paths[option] if paths.get(option) in parameters else option for option in options}
    if {"pilot", "folder"} & parameters:
        options -= {"competition"}
    if "greater_is_better" in parameters or "metric" in parameters:
        options -= SHORT
        parameters -= {*SHORT, "greater_is_better"}
    if name == "plan":
        parameters -= {"soft_labels"}  # a plan does not use them
    assert options ^ parameters == DIFFER.get(name, set())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_command_and_its_functions_have_the_same_defaults(name: str) -> None:
    options = {
        SAME.get(str(click_parameter.name), click_parameter.name): click_parameter
        for click_parameter in command(name).params
    }
    for function in (getattr(arena, function_name) for function_name in FUNCTIONS[name]):
        for parameter in inspect.signature(function).parameters.values():
            option = options.get(parameter.name)
            if option is not None and type(parameter.default) in (int, float):
                assert option.default == parameter.default, (function.__name__, parameter.name)


def test_no_public_function_is_forgotten() -> None:
    others = {"from_estimators", "hookimpl", "make_scorer"}  # they make no result of their own
    public = {name for name in arena.__all__ if inspect.isroutine(getattr(arena, name))}
    assert {
        function for functions in FUNCTIONS.values() for function in functions
    } == public - others


@pytest.mark.parametrize(
    ("options", "unused"),
    [
        (("--from", "c.csv", "--teams", 10), "--teams"),
        (("--from", "c.csv", "--rehearsal", "nowhere"), "--rehearsal"),
        (("--from", "c.csv", "--metric", "mae"), "--metric"),
        (("--from", "c.csv", "--engine", "dask"), "--engine"),
        (("s.csv", "--from", "c.csv"), "SOLUTION"),
        (("s.csv", "f", "--metric", "mae", "--value", "v"), "--value"),
        (("--split", "all"), "--split"),
        (("--resamples", 10), "--resamples"),
        (("--repeat", "r"), "--repeat"),
    ],
)
def test_what_a_job_does_not_use_is_refused_by_name(
    options: tuple[Any, ...], unused: str, tmp_path: Path
) -> None:
    refused = run_here("plan", *options, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"does not use {unused}: omit it." in " ".join(refused.stderr.split())
