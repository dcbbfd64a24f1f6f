"""The report of a simulation of ranks."""

from __future__ import annotations

from typing import Any

from arena.report.model import Board, Column, Report
from arena.simulation.ranks.charts import simulation_charts
from arena.simulation.ranks.outcome import QUANTILES
from arena.simulation.ranks.study import RankSimulation, simulation_verdict
from arena.types import Section, Table

_WIN_COLUMNS = ("test_rows", "competitors", "frequency", "low", "high", "populations")
_COVERAGE_COLUMNS = ("test_rows", "competitors", "kind", "all_ranks", "best", "each", "boards")
_NEED_COLUMNS = ("competitors", "probability", "rows", "95% from", "to")


def rank_simulation_report(result: RankSimulation) -> Report:
    """Return the report: wins, ranks, single boards, and how they were computed."""
    settings = result.settings
    return Report(
        title="How stable would the ranks be?",
        facts=(
            ("Data", result.world),
            ("Metric", result.metric),
            ("Test rows", ", ".join(f"{rows:,}" for rows in settings.test_rows)),
            ("Competitors", ", ".join(f"{count:,}" for count in settings.competitors)),
            ("Tests of each size", f"{settings.tests:,}"),
            ("Seed", str(settings.seed)),
        ),
        verdicts=(simulation_verdict(result),),
        boards=(_board(result),),
        sections=_sections(result),
    )


def _sections(result: RankSimulation) -> tuple[Section, ...]:
    document = result.to_dict()
    charts = simulation_charts(result)
    needed = [
        {
            **row,
            "rows": int(row["rows"]),
            "95% from": int(row["low"]),
            "to": "no upper limit" if row["high"] is None else int(row["high"]),
        }
        for row in document["rows_needed"]
    ]
    covered = document["coverage"]
    return (
        Section(
            "Does the best win?",
            "A test is one draw of the rows of a private leaderboard. Intervals are over tests, "
            "for these trained models.",
            (
                _table("How often the truly best wins", document["win_frequency"], _WIN_COLUMNS),
                _table("Test rows for the best to win this often", needed, _NEED_COLUMNS),
            ),
            tuple(one for one in charts if one.name == "win-frequency"),
        ),
        Section(
            "True ranks and competition ranks",
            "The true rank is the rank on the population, the competition rank the rank on a test.",
            (),
            tuple(one for one in charts if one.name.startswith(("scores-", "ranks-"))),
        ),
        Section(
            "Rank intervals of a single test",
            "Simultaneous rank intervals are meant to hold all true ranks at once. The bootstrap "
            "rank range only describes the resamples; with many close scores it often misses true "
            "ranks.",
            (_table("Share of boards", covered, _COVERAGE_COLUMNS),) if covered else (),
            tuple(one for one in charts if one.name.startswith("board-")),
        ),
    )


def _board(result: RankSimulation) -> Board:
    """Return the models of the largest competition with their ranks in tests."""
    one = max(result.ranks, key=lambda ranks: (ranks.test_rows, ranks.competitors))
    numbers = {"true rank": one.true_ranks}
    for place, share in enumerate(QUANTILES):
        numbers[f"{share:.0%} of ranks"] = one.quantiles[:, place].astype(int)
    columns = [_column(title, values.tolist()) for title, values in numbers.items()]
    team = Column("team", "a trained model", tuple(f"model {model}" for model in one.models))
    return Board(
        "ranks",
        f"{one.competitors:,} competitors in tests of {one.test_rows:,} rows",
        "By true rank, with quantiles of the ranks in the tests.",
        (columns[0], team, *columns[1:]),
    )


def _column(title: str, values: list[int]) -> Column:
    meaning = "" if title == "true rank" else "the rank in a test is this or better"
    return Column(title, meaning, tuple(f"{one:,}" for one in values), tuple(map(float, values)))


def _table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Table:
    names = tuple(column.replace("_", " ") for column in columns)
    return Table(title, names, tuple(tuple(row[column] for column in columns) for row in rows))
