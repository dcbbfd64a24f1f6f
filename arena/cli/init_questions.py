"""The questions of ``arena init`` in a terminal, and the equivalent command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer

from arena.cli.console import say_note
from arena.errors import ArenaError, InputError
from arena.interfaces import kinds_of
from arena.plugin.manager import PluginManager
from arena.scoring.submissions import read_truth
from arena.types import SENT, PredictionKind, SolutionColumns, Usage

_MOST_LISTED = 12
_SUITABLE = "default"
"""The answer for which ``init`` chooses the parameters by the metric and the public rows."""
_MECHANISMS = {
    _SUITABLE: "shows only clear improvements: ladder-free, with the bounds and the noise that "
    "this metric needs",
    "ladder": "shows improvements by at least a fixed step",
    "kaggle": "shows every score, rounded; teams can overfit the public rows",
    "full": "shows every score at full precision; no protection",
}
"""Mechanism -> its trade-off, the recommended one first."""


def ask(manager: PluginManager, given_answers: Mapping[str, Any]) -> dict[str, Any]:
    """Return answers for the options of ``init`` that were not given.

    Parameters
    ----------
    given_answers
        ``folder``, ``solution``, ``metric``, ``positive``, ``public_share``, ``per_day``,
        ``deadline`` and ``mechanism``; None is asked for. ``predictions`` is never asked for.
    """
    answers = {name: value for name, value in given_answers.items() if value is not None}
    if "folder" not in answers:
        answers["folder"] = Path(typer.prompt("Folder of the competition", default="competition"))
    while not (answers.get("solution") and answers["solution"].is_file()):
        answers["solution"] = Path(typer.prompt("File with the ids and the truth (CSV or Parquet)"))
        if not answers["solution"].is_file():
            say_note(f"There is no file {answers['solution']}.")
    if "metric" not in answers:
        answers["metric"] = _metric(manager)
    columns = given_answers.get("columns") or SolutionColumns()
    try:
        metric = manager.metrics.resolve(answers["metric"])
        solution = read_truth(answers["solution"], metric, columns)
    except ArenaError as error:
        raise InputError(f"{error}\nThen run arena init again.") from error
    target = solution.targets[0]
    binary = target.classes is not None and len(target.classes) == 2
    if binary and "positive" not in answers and solution.kind is not PredictionKind.LABEL:
        labels = target.classes or ()
        answers["positive"] = typer.prompt(
            f"Positive label ({' or '.join(labels)})", default=labels[1], type=str
        )
    if "public_share" not in answers and not (solution.usage == Usage.PUBLIC).any():
        answers["public_share"] = typer.prompt(
            "Share of rows for the public board", default=0.3, type=float
        )
    if "per_day" not in answers:
        answers["per_day"] = typer.prompt(
            "Submissions per team and day (0: not limited)", default=5, type=int
        )
    if "deadline" not in answers:
        text = typer.prompt(
            "Deadline in UTC, such as 2026-12-31T23:59 (empty: none)",
            default="",
            show_default=False,
        )
        answers["deadline"] = text.strip() or None
    if "mechanism" not in answers:
        answers["mechanism"] = _mechanism(manager)
    return answers


def as_command(answers: Mapping[str, Any], others: Sequence[str] = ()) -> str:
    """Return the command line that gives these answers and other options.

    >>> as_command({"folder": Path("my c"), "solution": Path("s.csv"), "metric": "f1"}, ["--id=r"])
    "arena init 'my c' --solution s.csv --metric f1 --id=r"
    """
    parts = ["arena", "init", str(answers["folder"])]
    for name, value in answers.items():
        if name not in {"folder", "columns"} and value is not None:
            parts += [f"--{name.replace('_', '-')}", str(value)]
    return shlex.join([*parts, *others])


def _metric(manager: PluginManager) -> str:
    """Ask for a metric; a text that is no name lists the names that hold or resemble it."""
    names = sorted(entry.name for entry in manager.metrics)
    say_note("A metric is a name from 'arena metrics'; a part of a name lists those that hold it.")
    while True:
        text = str(typer.prompt("Metric", default="roc_auc")).strip()
        try:
            metric = manager.metrics.resolve(text)
        except ArenaError:
            matches = [name for name in names if text.lower() in name.lower()]
            matches = matches or get_close_matches(text, names, _MOST_LISTED, 0.4)
            more = f" and {len(matches) - _MOST_LISTED} more" if len(matches) > _MOST_LISTED else ""
            listed = ", ".join(matches[:_MOST_LISTED]) + more
            say_note(f"There is no metric {text!r}. " + (f"Similar: {listed}." if matches else ""))
            continue
        say_note(f"With {text} a submission holds {SENT[kinds_of(metric)[0]]}.")
        return text


def _mechanism(manager: PluginManager) -> str | None:
    """Ask for a mechanism; None: the one that suits the metric."""
    names = {entry.name for entry in manager.mechanisms}
    say_note("Mechanism of the public board:")
    for name, cost in _MECHANISMS.items():
        say_note(f"  {name}: {cost}")
    while True:
        text = str(typer.prompt("Mechanism", default=next(iter(_MECHANISMS)))).strip()
        if text == _SUITABLE:
            return None
        if text.partition("(")[0] in names:
            return text
        say_note(f"There is no mechanism {text!r}; 'arena mechanisms' lists them.")
