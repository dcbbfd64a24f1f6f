"""The report of a simulation of ranks."""

from __future__ import annotations

from arena.report.model import Board, Column, Report
from arena.simulation.ranks.charts import simulation_charts
from arena.simulation.ranks.outcome import QUANTILES
from arena.simulation.ranks.study import FURTHEST, RankSimulation, simulation_verdict
from arena.types import Section, Table
from arena.utils.formatting import level_text, percent
from arena.utils.text import plural


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
    charts = simulation_charts(result)
    largest = max(result.settings.test_rows)
    wins = Table(
        "How often the truly best wins",
        ("test rows", "competitors", "best wins", "95% from", "to", "populations"),
        tuple(
            (
                wins.test_rows,
                wins.competitors,
                percent(wins.frequency),
                percent(wins.low),
                percent(wins.high),
                wins.populations,
            )
            for wins in result.win_frequency
        ),
    )
    needed = Table(
        "Test rows for the best to win this often",
        ("competitors", "probability", "test rows", "95% from", "to", ""),
        tuple(
            (
                needed.competitors,
                percent(needed.probability),
                _rows(needed.rows, largest) if needed.rows else "any",
                _rows(needed.low, largest),
                "no upper limit" if needed.high is None else _rows(needed.high, largest),
                "extrapolated" if needed.rows > largest else "",
            )
            for needed in result.rows_needed
        ),
    )
    covered = Table(
        f"How often ranges at {level_text(result.settings.level)} from a single test held the "
        f"true ranks",
        ("test rows", "competitors", "ranges", "all at once", "the best's", "each", "boards"),
        tuple(
            (
                held.test_rows,
                held.competitors,
                held.kind,
                percent(held.all_ranks),
                percent(held.best),
                percent(held.each),
                held.boards,
            )
            for held in result.coverage
        ),
    )
    return (
        Section(
            "Does the best win?",
            "A test is one draw of the rows of a private board. Intervals are over tests, "
            "for these trained models"
            + (
                f"; those of how often the best wins are over {plural(len(result.by_set), 'set')} "
                "of models, and include the choice of models and rows."
                if result.by_set
                else "."
            ),
            (
                wins,
                needed,
            ),
            tuple(chart for chart in charts if chart.name == "win-frequency"),
        ),
        Section(
            "True ranks and competition ranks",
            "The true rank is the rank on the population, the competition rank the rank on a test.",
            (),
            tuple(chart for chart in charts if chart.name.startswith(("scores-", "ranks-"))),
        ),
        Section(
            "Rank intervals of a single test",
            "Simultaneous rank intervals are meant to hold all true ranks at once. The bootstrap "
            "rank range only describes the resamples; with many close scores it often misses true "
            "ranks.",
            (covered,) if covered.rows else (),
            tuple(chart for chart in charts if chart.name.startswith("board-")),
        ),
    )


def _rows(count: float, largest: int) -> str:
    """Return a number of rows; not more than is worth extrapolating from the largest test."""
    most = FURTHEST * largest
    return f"over {most:,}" if count > most else f"{count:,.0f}"


def _board(result: RankSimulation) -> Board:
    """Return the models of the largest competition with their ranks in tests."""
    quantiles = max(result.ranks, key=lambda ranks: (ranks.test_rows, ranks.competitors))
    numbers = {"true rank": quantiles.true_ranks}
    for place, share in enumerate(QUANTILES):
        numbers[f"{share:.0%} of ranks"] = quantiles.quantiles[:, place].astype(int)
    columns = [_column(title, values.tolist()) for title, values in numbers.items()]
    team = Column("team", "a trained model", tuple(f"model {model}" for model in quantiles.models))
    return Board(
        "ranks",
        f"Ranks of the truly best in tests of {plural(quantiles.test_rows, 'row')}, "
        f"{plural(quantiles.competitors, 'competitor')}",
        "By true rank, with quantiles of the ranks in the tests.",
        (columns[0], team, *columns[1:]),
    )


def _column(title: str, values: list[int]) -> Column:
    meaning = "" if title == "true rank" else "the rank in a test is this or better"
    return Column(
        title, meaning, tuple(f"{value:,}" for value in values), tuple(map(float, values))
    )
