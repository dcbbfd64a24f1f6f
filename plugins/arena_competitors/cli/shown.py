"""The outcome of ``arena attack``, for people and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena.cli.console import console
from arena.cli.tables import Column, print_table
from arena.errors import InputError, UsageError
from arena.text import printable, shorten
from arena_competitors.chart import FORMATS, attack_chart, write_chart
from arena_competitors.cli.request import Outcome

__all__ = ["check_chart", "document", "draw", "print_outcome"]

_NAME_WIDTH = 48


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as JSON, valid against ``schemas/attack-1.json``."""
    battle, request = outcome.battle, outcome.battle.request
    return {
        "schema": "arena/attack/1",
        "metric": battle.metric,
        "greater_is_better": battle.example.metric.greater_is_better,
        "random_labels": battle.synthetic,
        "rows": len(battle.example.public),
        "total_rows": battle.example.n_rows,
        "classes": battle.example.n_classes,
        "submissions": request.submissions,
        "repeats": request.repeats,
        "scope": battle.campaign.scope,
        "seed": request.seed,
        "budget": request.budget,
        "within_budget": outcome.within_budget,
        "curves": [row for curve in outcome.curves for row in curve.to_rows()],
        "verdicts": [verdict.to_dict() for verdict in outcome.verdicts],
        "advice": outcome.advice,
        "notes": list(battle.notes),
    }


def print_outcome(outcome: Outcome) -> None:
    """Print how every attack ended, what each mechanism costs, and the advice."""
    battle, request = outcome.battle, outcome.battle.request
    out = console()
    better = "larger" if battle.example.metric.greater_is_better else "smaller"
    labels = "random labels" if battle.synthetic else "the competition's own labels"
    title = (
        f"{printable(battle.metric)} ({better} is better), {len(battle.example.public):,} public "
        f"of {battle.example.n_rows:,} rows, {labels}, {request.submissions:,} submissions, mean "
        f"of {request.repeats:,}, seed {request.seed}"
    )
    last = [curve.to_rows()[-1] for curve in outcome.curves]
    print_table(last, _CURVE_COLUMNS, out, title=title, most=None)
    costs = [verdict.to_dict() for verdict in outcome.verdicts]
    print_table(costs, _VERDICT_COLUMNS, out, title="What each mechanism costs", most=None)
    out.print(printable(outcome.advice), soft_wrap=True)


def _name(key: str) -> Any:
    return lambda row: shorten(row[key], _NAME_WIDTH)


def _score(key: str) -> Any:
    return lambda row: f"{row[key]:.4f}"


def _with_error(key: str) -> Any:
    def cell(row: Mapping[str, Any]) -> str:
        error = row[f"{key}_se"]
        return f"{row[key]:+.4f}" + ("" if error is None else f" ±{error:.4f}")

    return cell


def _labels(row: Mapping[str, Any]) -> str:
    return f"{row['labels_recovered']:,.1f}" if row["labels_recovered"] else ""


def _gain(row: Mapping[str, Any]) -> str:
    return "none" if row["smallest_gain"] is None else f"{row['smallest_gain']:.2g}"


_CURVE_COLUMNS = (
    Column("attack", 1, _name("setting"), left=True),
    Column("mechanism", 2, _name("mechanism"), left=True),
    Column("shown", 3, _score("released")),
    Column("same, hidden rows", 5, _score("released_fresh")),
    Column("bias at the end ±s.e.", 4, _with_error("bias")),
    Column("last, public", 7, _score("final_public")),
    Column("last, hidden", 8, _score("fresh")),
    Column("board error", 9, _score("leaderboard_error")),
    Column("labels known", 6, _labels),
)
_VERDICT_COLUMNS = (
    Column("mechanism", 1, _name("mechanism"), left=True),
    Column("largest bias on the way", 2, lambda row: f"{row['bias']:.4f}"),
    Column("by", 4, _name("worst_attack"), left=True),
    Column("smallest honest gain shown", 3, _gain),
    Column(
        "within budget",
        5,
        lambda row: {None: "", True: "yes", False: "no"}[row["within_budget"]],
        left=True,
    ),
)


def check_chart(path: Path) -> None:
    """Refuse a picture that cannot be written, before anything is played.

    Raises
    ------
    UsageError
        If its ending is no known format.
    InputError
        If there is no such folder, or it is a folder itself.
    """
    if path.suffix.lower() not in FORMATS:
        raise UsageError(f"--chart {path.name}: its ending must be one of {', '.join(FORMATS)}.")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"{path} cannot be written: name a file in a folder that exists.")


def draw(outcome: Outcome, path: Path) -> None:
    """Write the picture of the curves."""
    write_chart(attack_chart(outcome.curves, outcome.battle.metric), path)
