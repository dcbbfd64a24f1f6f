"""What ``arena simulate competition`` shows: to people, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arena.cli.tables import Column, print_table
from arena.formats import number
from arena.simulation.competition.outcome import Outcome
from arena.simulation.competition.roster import enrol
from arena.simulation.competition.run import Held, Request
from arena.simulation.competition.story import about_flags, about_intervals, story
from arena.text import printable

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["document_of", "print_outcomes"]

_TOP = 10


def document_of(request: Request, held: Sequence[Held]) -> dict[str, Any]:
    """Return the document ``arena/simulate-competition/1``."""
    roster = enrol(request.kinds, request.teams)
    metric = request.settings.metric.specification
    return {
        "schema": "arena/simulate-competition/1",
        "folder": str(request.root),
        "data": request.grounds.name,
        "metric": metric,
        "greater_is_better": held[0].outcome.greater_is_better,
        "seed": request.seed,
        "teams": request.teams,
        "days": request.days,
        "kinds": [
            {
                "competitor": kind.specification,
                "conduct": kind.conduct,
                "teams": sum(one.kind is kind for one in roster),
            }
            for kind in request.kinds
        ],
        "mechanisms": [one.outcome.to_dict() for one in held],
    }


def print_outcomes(request: Request, outcomes: Sequence[Outcome], out: Console) -> None:
    """Print what was true under each mechanism, and the mechanisms beside each other."""
    for outcome in outcomes:
        if len(outcomes) > 1:
            out.print(f"\n{printable(outcome.mechanism)}", style="bold")
        out.print(printable(story(outcome)), soft_wrap=True)
        for told in filter(None, (about_intervals(outcome), about_flags(outcome))):
            out.print(printable(told), soft_wrap=True)
        rows = outcome.to_dict()["standings"]
        title = "The private board, and what was true (by the submission that counts)"
        print_table(rows[:_TOP], _COLUMNS, out, title=title)
    if len(outcomes) > 1:
        print_table(
            [one.to_dict() for one in outcomes], _COMPARED, out, title="The same seeds under each"
        )
    out.print(
        f"Everything is in {printable(str(request.root))} and marked as simulated; arena "
        f"leaderboard, report and audit work there as in any competition.",
        soft_wrap=True,
    )


def _count(name: str) -> Callable[[Any], str]:
    return lambda row: "" if row[name] is None else f"{row[name]:,}"


def _score(name: str) -> Callable[[Any], str]:
    show = number(4)
    return lambda row: show(row[name])


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def _deserved(row: Any) -> str:
    right = sum(flag["deserved"] for flag in row["flags"])
    return f"{right:,} of {len(row['flags']):,}"


_COLUMNS = (
    Column("rank", 1, _count("rank")),
    Column("team", 2, lambda row: printable(row["team"]), left=True),
    Column("score", 4, _score("score")),
    Column("true rank", 3, _count("true_rank")),
    Column("true score", 5, _score("true_score")),
    Column("public rank", 6, _count("public_rank")),
    Column("shown", 7, _score("shown")),
    Column("sent", 8, _count("submissions")),
)
_COMPARED = (
    Column("mechanism", 1, lambda row: printable(row["mechanism"]), left=True),
    Column("best won", 2, lambda row: _yes(row["best_won"])),
    Column("cost", 4, _score("loss")),
    Column("leaderboard error", 3, _score("leaderboard_error")),
    Column("submissions", 6, _count("submissions")),
    Column("flags deserved", 5, _deserved),
)
