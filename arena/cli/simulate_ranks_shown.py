"""What ``arena simulate ranks`` shows to people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from arena.cli.tables import Column, print_table
from arena.formats import percent
from arena.simulation.ranks import RankSimulation
from arena.simulation.verdict import simulation_verdict

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["print_simulation"]

_TOP = 10


def print_simulation(result: RankSimulation, out: Console) -> None:
    """Print the win frequencies, the rows needed, the coverage and the top of the true board."""
    document = result.to_dict()
    out.print(simulation_verdict(result), soft_wrap=True)
    print_table(document["win_frequency"], _WINS, out, title="How often the truly best wins")
    largest, most = max(result.settings.test_rows), max(result.settings.competitors)
    title = "Test rows that the best needs to win this often"
    print_table(document["rows_needed"], (*_ROWS, _beyond(largest)), out, title=title)
    if document["coverage"]:
        level = f"{result.settings.level:.0%}"
        print_table(
            document["coverage"],
            _COVERAGE,
            out,
            title=f"How often ranges at {level} of a single test held the true ranks",
        )
    top = [
        row
        for row in document["ranks"]
        if (row["test_rows"], row["competitors"]) == (largest, most)
    ]
    shown = min(_TOP, most)
    title = f"Ranks of the truly best {shown} in tests of {largest:,} rows, {most:,} competitors"
    print_table(top[:_TOP], _RANKS, out, title=title)


def _count(name: str) -> Any:
    return lambda row: f"{row[name]:,.0f}"


def _beyond(largest: int) -> Column:
    """Return a column that tells where rows are an extrapolation from the largest tests."""
    said = "beyond what was simulated"
    return Column("", 7, lambda row: said if row["rows"] > largest else "", left=True)


def _share(name: str) -> Any:
    return lambda row: percent(row[name])


_GRID = (
    Column("test rows", 1, _count("test_rows")),
    Column("competitors", 2, _count("competitors")),
)
_WINS = (
    *_GRID,
    Column("best wins", 3, _share("frequency")),
    Column("95 % from", 4, _share("low")),
    Column("to", 5, _share("high")),
    Column("populations", 6, _count("populations")),
)
_ROWS = (
    _GRID[1],
    Column("probability", 3, _share("probability")),
    Column("test rows", 4, lambda row: f"{row['rows']:,.0f}" if row["rows"] else "any"),
)
_COVERAGE = (
    *_GRID,
    Column("ranges", 3, lambda row: str(row["kind"]), left=True),
    Column("all at once", 4, _share("all_ranks")),
    Column("the best's", 5, _share("best")),
    Column("each", 6, _share("each")),
    Column("boards", 7, _count("boards")),
)
_RANKS = (
    Column("true rank", 1, _count("true_rank")),
    Column("model", 6, _count("model")),
    Column("5 %", 4, _count("q05")),
    Column("median", 2, _count("q50")),
    Column("90 %", 5, _count("q90")),
    Column("95 %", 3, _count("q95")),
)
