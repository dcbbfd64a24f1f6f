"""The report of simulations with several seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from arena.report.model import Report
from arena.simulation.competition.charts import errors_by_day_chart, seeds_chart
from arena.simulation.competition.comparison import MEASURES, MechanismComparison
from arena.simulation.competition.summary import summarize_seeds
from arena.types import Section, Table
from arena.utils.formatting import level_text
from arena.utils.text import plural

if TYPE_CHECKING:
    from arena.simulation.competition.run import PreparedSimulation

_DRAWN = ("leaderboard_error", "leaderboard_error_mean", "loss")
_MEANING = (
    "The leaderboard error is the difference between the score at the top of the public "
    "leaderboard and the best true score submitted so far: its maximum over the submissions (Blum "
    "and Hardt, 2015, Equation 3), and its mean over the ends of the days. The loss is by how "
    "much the winner's true score is worse than the best team's."
)


def seeds_report(simulation: PreparedSimulation, comparison: MechanismComparison) -> Report:
    """Return the report on a comparison over seeds; ``simulation`` is one of them."""
    metric = simulation.metric
    seeds = [story.seed for story in comparison.stories]
    runs = Table(
        "Each simulation",
        ("seed", "mechanism", *(measure.label for measure in MEASURES), "ranking"),
        tuple(
            (
                str(story.seed),
                name,
                *(measure.of(outcome) for measure in MEASURES),
                outcome["degenerate"] or "has a meaning",
            )
            for story in comparison.stories
            for name, outcome in zip(comparison.mechanisms, story.outcomes, strict=True)
        ),
    )
    return Report(
        title=f"{len(seeds):,} simulated competitions",
        facts=(
            ("Simulated", simulation.data.name),
            ("Seeds", f"{min(seeds):,} to {max(seeds):,}"),
            ("Metric", metric),
            ("Teams", f"{simulation.request.teams:,}"),
            ("Days", f"{simulation.request.days:,}"),
            ("Mechanisms", ", ".join(comparison.mechanisms)),
        ),
        verdicts=(*summarize_seeds(comparison), "Everything on this page is simulated."),
        boards=(),
        sections=tuple(seeds_sections(comparison, metric)),
        technical=(Section("Every simulation", "", (runs,)),),
    )


def seeds_sections(comparison: MechanismComparison, metric: str) -> list[Section]:
    """Return the sections on a comparison over seeds, for this report or another."""
    level = level_text(comparison.level)
    labels = {measure.name: measure.label for measure in MEASURES}
    summaries = Table(
        f"Over the seeds ({level} intervals of the mean)",
        ("outcome", "mechanism", "mean", "low", "high", "sd over seeds", "least", "most", "seeds"),
        tuple(
            (
                labels[summary.measure],
                summary.mechanism,
                summary.mean,
                summary.low,
                summary.high,
                summary.sd,
                summary.least,
                summary.most,
                summary.seeds,
            )
            for name in labels
            for summary in comparison.summaries
            if summary.measure == name
        ),
    )
    charts = [errors_by_day_chart(comparison, metric)] if comparison.days else []
    drawn_measures = {summary.measure for summary in comparison.summaries} & set(_DRAWN)
    charts += [
        seeds_chart(comparison, measure) for measure in MEASURES if measure.name in drawn_measures
    ]
    compared = []
    if comparison.differences:
        differences = Table(
            "Paired differences",
            ("outcome", "mechanism", "less", "mean", "low", "high", "p", "difference"),
            tuple(
                (
                    labels[difference.measure],
                    difference.second,
                    difference.first,
                    difference.mean,
                    difference.low,
                    difference.high,
                    difference.p,
                    "shown" if difference.shown else "not shown",
                )
                for difference in comparison.differences
            ),
        )
        text = (
            f"The same seed gives the same rows, teams and random numbers under each mechanism, so "
            f"the differences are paired by seed. The test is a paired t test, for yes or no an "
            f"exact sign test. Intervals ({level}) and p are corrected for "
            f"{plural(comparison.comparisons, 'comparison')} (Bonferroni). "
            '"Not shown" does not mean that '
            "there is no difference."
        )
        compared = [Section("Mechanisms compared", text, (differences,))]
    return [*compared, Section("Outcomes over the seeds", _MEANING, (summaries,), tuple(charts))]
