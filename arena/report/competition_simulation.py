"""The report of a simulated competition: that of a real one, and a comparison with the truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from arena.competition.competition import Competition
from arena.plugin.manager import PluginManager
from arena.report.competition import finalized_report
from arena.report.model import Board, Column, Report
from arena.report.seeds import seeds_report
from arena.simulation.competition.charts import comparison_chart, over_time_chart, ranks_chart
from arena.simulation.competition.flags import Flag
from arena.simulation.competition.outcome import CompetitionOutcome, TeamOutcome
from arena.simulation.competition.run import PreparedSimulation
from arena.simulation.competition.simulate import FinishedSimulation
from arena.simulation.competition.summary import (
    about_flags,
    about_intervals,
    about_time,
    about_winner,
    summarize,
)
from arena.simulation.competition.true_scores import TruthKind
from arena.types import Section, Table

_SIMULATED = "Everything on this page is simulated: no person submitted anything."
_TRUTH: Mapping[TruthKind, str] = {
    "exact": (
        "This simulation knows the probability of every label. The true score of a submission is "
        "its expected score over new draws of all labels. It is exact, and knowledge of the labels "
        "that were drawn does not raise it."
    ),
    "held_out": (
        "The true score of a submission is its score on rows that count on no board. It is "
        "estimated: other rows would order teams of nearly equal scores differently."
    ),
    "private": "",
}
_ERROR = (
    "The leaderboard error is the largest difference, over all submissions in their order, between "
    "the score at the top of the public board and the true score of the best submission so "
    "far (Blum and Hardt, 2015, Equation 3)."
)

_FLATTERED = (
    'In the table of kinds, "flattered by" is how much better the public board showed the '
    "teams than their private score."
)


def simulation_report(finished: FinishedSimulation, manager: PluginManager) -> Report:
    """Return the report of simulated competitions: with several seeds, that of their comparison.

    The report of one stored competition contains that of a real one.
    """
    prepared = finished.prepared
    if finished.simulation.comparison is not None:
        return seeds_report(prepared, finished.simulation.comparison)
    report = truth_report(finished)
    if len(finished.runs) > 1 or finished.runs[0].result is None:
        return report
    (run,) = finished.runs
    with Competition.open(run.folder, manager=manager) as competition:
        final = finalized_report(competition, finished.runs[0].result)
    return replace(
        final,
        facts=(report.facts[0], *final.facts),
        verdicts=(*report.verdicts, *final.verdicts),
        sections=(*report.sections, *final.sections),
    )


def truth_report(finished: FinishedSimulation) -> Report:
    """Return the report of one seed with what only a simulation knows: the truth."""
    prepared = finished.prepared
    outcomes = [run.outcome for run in finished.runs]
    if len(outcomes) > 1:
        return _comparison(prepared, outcomes)
    (outcome,) = outcomes
    return Report(
        title=prepared.settings.competition.title,
        facts=(*_facts(prepared), ("Mechanism", outcome.mechanism)),
        verdicts=(_SIMULATED, summarize(outcome)),
        boards=(_board(outcome, 0),),
        sections=(truth_section(outcome, prepared.metric),),
    )


def truth_section(outcome: CompetitionOutcome, metric: str) -> Section:
    """Return the section on the truth, which only a simulation knows."""
    parts = (
        about_winner(outcome),
        _TRUTH[outcome.truth],
        f"{about_time(outcome)} {_ERROR}",
        _about_ranks(outcome),
        about_intervals(outcome),
        f"{about_flags(outcome)} {_FLATTERED}",
    )
    tables = [_kinds_table(outcome)]
    if outcome.flags:
        tables.append(_flags_table(outcome.flags))
    charts = (over_time_chart(outcome, metric), ranks_chart(outcome)) if outcome.days else ()
    title = "Compared with the truth"
    return Section(title, "\n\n".join(filter(None, parts)), tuple(tables), charts)


def _about_ranks(outcome: CompetitionOutcome) -> str:
    pairs = {
        "public_private": "between the public and the private board",
        "private_true": "between the private board and the true ranks",
        "public_true": "between the public board and the true ranks",
    }
    if not outcome.knows_truth:
        pairs = {"public_private": pairs["public_private"]}
    agreements = [
        f"{outcome.agreement[key]:.2f} {where}"
        for key, where in pairs.items()
        if outcome.agreement[key] is not None
    ]
    if not agreements:
        return "There are too few teams to compare the rankings."
    return (
        f"Kendall's tau of the teams' ranks (1: the same order, 0: unrelated) is "
        f"{', '.join(agreements)}."
    )


def _kinds_table(outcome: CompetitionOutcome) -> Table:
    """Return the mean results of each kind of team; ``flattered by``: see :func:`_flattery`."""
    by_kind: dict[str, list[TeamOutcome]] = {}
    for team in outcome.teams:
        by_kind.setdefault(team.kind, []).append(team)
    flagged = {flag.team for flag in outcome.flags}
    rows = tuple(
        (
            kind,
            teams_of_kind[0].conduct,
            len(teams_of_kind),
            sum(team.submissions for team in teams_of_kind),
            min(team.rank for team in teams_of_kind),
            _mean([team.score for team in teams_of_kind]),
            _mean([team.true_score for team in teams_of_kind]) if outcome.knows_truth else None,
            _flattery(teams_of_kind, outcome.greater_is_better),
            sum(team.team in flagged for team in teams_of_kind),
        )
        for kind, teams_of_kind in by_kind.items()
    )
    columns = (
        "kind", "conduct", "teams", "submissions", "best rank", "private score", "true score",
        "flattered by", "flagged",
    )  # fmt: skip
    return Table("Mean results by kind of team", columns, rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _flattery(teams: Sequence[TeamOutcome], greater_is_better: bool) -> float | None:
    """Return by how much the public board overstated their private scores, on average."""
    both = [team.shown - team.score for team in teams if team.shown is not None]
    return _mean(both) * (1 if greater_is_better else -1) if both else None


def _flags_table(flags: Sequence[Flag]) -> Table:
    rows = tuple(
        (flag.team, flag.kind, flag.check, flag.deserved, ", ".join(flag.others[:3])
         + (f" and {len(flag.others) - 3:,} more" if len(flag.others) > 3 else ""))
        for flag in flags
    )  # fmt: skip
    return Table(
        "Flagged teams",
        ("team", "kind", "flagged as", "correctly", "together with"),
        rows,
    )


def _comparison(simulation: PreparedSimulation, outcomes: Sequence[CompetitionOutcome]) -> Report:
    metric = simulation.metric
    sections = [
        Section(
            "Mechanisms compared",
            f"The same teams, days, rows and random seeds under each mechanism: only the released "
            f"scores differ, and the teams' reactions to them. One seed cannot show a difference "
            f"between mechanisms: compare them with --seeds 20 in a new folder. {_ERROR}",
            (_comparison_table(outcomes),),
            (comparison_chart(outcomes, metric),),
        )
    ]
    for outcome in outcomes:
        section = truth_section(outcome, metric)
        title = f"Compared with the truth, under {outcome.mechanism}"
        sections.append(replace(section, title=title))
    return Report(
        title=simulation.settings.competition.title,
        facts=(*_facts(simulation), ("Mechanisms", ", ".join(simulation.mechanisms))),
        verdicts=(
            _SIMULATED,
            *(f"{outcome.mechanism}: {summarize(outcome)}" for outcome in outcomes),
        ),
        boards=tuple(_board(outcome, position) for position, outcome in enumerate(outcomes)),
        sections=tuple(sections),
    )


def _facts(simulation: PreparedSimulation) -> tuple[tuple[str, str], ...]:
    return (
        ("Simulated", f"seed {simulation.request.seed}, {simulation.data.name}"),
        ("Metric", simulation.metric),
        ("Teams", f"{simulation.request.teams:,}"),
        ("Days", f"{simulation.request.days:,}"),
    )


def _comparison_table(outcomes: Sequence[CompetitionOutcome]) -> Table:
    rows = tuple(
        (
            outcome.mechanism,
            outcome.best_won,
            outcome.loss,
            outcome.leaderboard_error,
            outcome.leaderboard_error_mean,
            outcome.agreement["public_private"],
            outcome.agreement["private_true"],
            outcome.submissions,
            f"{sum(flag.deserved for flag in outcome.flags):,} of {len(outcome.flags):,}",
        )
        for outcome in outcomes
    )
    columns = (
        "mechanism", "best won", "cost", "largest leaderboard error", "mean over days",
        "tau public/private",
        "tau private/truth", "submissions", "correct flags",
    )  # fmt: skip
    return Table("The same seeds under each mechanism", columns, rows)


def _board(outcome: CompetitionOutcome, number: int) -> Board:
    knows_truth = outcome.knows_truth
    columns = [
        _ranks("rank", [team.rank for team in outcome.teams]),
        Column("team", "", tuple(team.team for team in outcome.teams)),
        _scores("score", [team.score for team in outcome.teams]),
        _ranks("public rank", [team.public_rank for team in outcome.teams]),
        _scores("released", [team.shown for team in outcome.teams]),
    ]
    if knows_truth:
        columns[3:3] = [
            _ranks("true rank", [team.true_rank for team in outcome.teams]),
            _scores("true score", [team.true_score for team in outcome.teams]),
        ]
    return Board(
        f"board-{chr(ord('a') + number % 26)}",
        f"Private board under {outcome.mechanism}",
        "By each team's final submission.",
        tuple(columns),
    )


def _ranks(title: str, values: Sequence[int | None]) -> Column:
    cells = tuple("" if value is None else f"{value:,}" for value in values)
    return Column(title, "", cells, tuple(None if rank is None else float(rank) for rank in values))


def _scores(title: str, values: Sequence[float | None]) -> Column:
    cells = tuple("" if value is None else f"{value:.4f}" for value in values)
    return Column(title, "", cells, tuple(values))
