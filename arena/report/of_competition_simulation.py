"""The report of a simulated competition: that of a real one, and what was true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from arena.competition import Competition
from arena.plugin_manager import PluginManager
from arena.report.model import Board, Column, Report
from arena.report.of_competition import finalized_report
from arena.simulation.competition.flags import Flag
from arena.simulation.competition.outcome import Outcome, TeamOutcome
from arena.simulation.competition.pictures import comparison_chart, over_time_chart, ranks_chart
from arena.simulation.competition.run import Held, Request
from arena.simulation.competition.story import (
    about_flags,
    about_intervals,
    about_time,
    about_winner,
    story,
)
from arena.types import Section, Table

__all__ = ["competition_simulation_report", "truth_section"]

_SIMULATED = "Everything on this page is simulated: no person sent anything."
_EXACT = (
    "The chance of every label is known in this simulation. The true score of a submission is what "
    "it would score if the labels of all its rows were drawn anew, over and over: exact, and of no "
    "use to it is whatever its team found out of the labels that were drawn."
)
_ERROR = (
    "The leaderboard error is the largest distance, over all submissions in their order, between "
    "what the top of the public board showed and the truth of the best submission so far (Blum and "
    "Hardt, 2015, Equation 3)."
)


_FLATTERED = (
    "In the table of kinds, a kind is flattered by what the public board showed of it beyond its "
    "private score."
)


def competition_simulation_report(
    request: Request, held: Sequence[Held], manager: PluginManager
) -> Report:
    """Return the report: of one mechanism the whole competition, of several their comparison."""
    metric = request.settings.metric.specification
    if len(held) > 1:
        return _comparison(request, [one.outcome for one in held], metric)
    (only,) = held
    with Competition.open(only.folder, manager=manager) as competition:
        report = finalized_report(competition, only.result)
    facts = (("Simulated", f"seed {request.seed}, {request.grounds.name}"), *report.facts)
    sections = (truth_section(only.outcome, metric), *report.sections)
    verdicts = (_SIMULATED, story(only.outcome), *report.verdicts)
    return replace(report, facts=facts, verdicts=verdicts, sections=sections)


def truth_section(outcome: Outcome, metric: str) -> Section:
    """Return what only a simulation can tell: what was true."""
    parts = (
        about_winner(outcome),
        _EXACT if outcome.truth == "exact" else "",
        f"{about_time(outcome)} {_ERROR}",
        _about_ranks(outcome),
        about_intervals(outcome),
        f"{about_flags(outcome)} {_FLATTERED}",
    )
    tables = [_kinds_table(outcome)]
    if outcome.flags:
        tables.append(_flags_table(outcome.flags))
    charts = (over_time_chart(outcome, metric), ranks_chart(outcome)) if outcome.days else ()
    title = "What was true"
    return Section(title, "\n\n".join(filter(None, parts)), tuple(tables), charts)


def _about_ranks(outcome: Outcome) -> str:
    told = {
        "public_private": "between the public board and the private one",
        "private_true": "between the private board and the truth",
        "public_true": "between the public board and the truth",
    }
    if outcome.truth == "private":
        told = {"public_private": told["public_private"]}
    known = [
        f"{outcome.agreement[key]:.2f} {where}"
        for key, where in told.items()
        if outcome.agreement[key] is not None
    ]
    if not known:
        return "There are too few teams to compare the boards."
    return (
        f"From board to board the teams change places. Of their ranks, Kendall's tau is "
        f"{', '.join(known)}; 1 would be the same order, 0 none in common."
    )


def _kinds_table(outcome: Outcome) -> Table:
    """Return how each kind of team did on average; ``flattered by``: see :func:`_flattery`."""
    by_kind: dict[str, list[TeamOutcome]] = {}
    for team in outcome.teams:
        by_kind.setdefault(team.kind, []).append(team)
    flagged = {flag.team for flag in outcome.flags}
    rows = tuple(
        (
            kind,
            own[0].conduct,
            len(own),
            sum(team.submissions for team in own),
            min(team.rank for team in own),
            _mean([team.score for team in own]),
            _mean([team.true_score for team in own]) if outcome.truth == "exact" else None,
            _flattery(own, outcome.greater_is_better),
            sum(team.team in flagged for team in own),
        )
        for kind, own in by_kind.items()
    )
    columns = (
        "kind", "conduct", "teams", "submissions", "best rank", "private score", "true score",
        "flattered by", "flagged",
    )  # fmt: skip
    return Table("How each kind of team did, on average", columns, rows)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _flattery(teams: Sequence[TeamOutcome], greater_is_better: bool) -> float | None:
    """Return by how much better the public board showed them than the private one does."""
    both = [team.shown - team.score for team in teams if team.shown is not None]
    return _mean(both) * (1 if greater_is_better else -1) if both else None


def _flags_table(flags: Sequence[Flag]) -> Table:
    rows = tuple(
        (flag.team, flag.kind, flag.check, flag.deserved, ", ".join(flag.others[:3])
         + (f" and {len(flag.others) - 3:,} more" if len(flag.others) > 3 else ""))
        for flag in flags
    )  # fmt: skip
    return Table(
        "Who was flagged, and whether it was deserved",
        ("team", "kind", "flagged as", "deserved", "together with"),
        rows,
    )


def _comparison(request: Request, outcomes: Sequence[Outcome], metric: str) -> Report:
    sections = [
        Section(
            "The mechanisms beside each other",
            f"The same teams with the same chance, days and rows: only what the public board "
            f"showed differs, and how they reacted to it. One simulation tells one story; another "
            f"--seed tells another. {_ERROR}",
            (_comparison_table(outcomes),),
            (comparison_chart(outcomes, metric),),
        )
    ]
    for outcome in outcomes:
        own = truth_section(outcome, metric)
        sections.append(replace(own, title=f"What was true under {outcome.mechanism}"))
    return Report(
        title=request.settings.competition.title,
        facts=(
            ("Simulated", f"seed {request.seed}, {request.grounds.name}"),
            ("Metric", metric),
            ("Teams", f"{request.teams:,}"),
            ("Days", f"{request.days:,}"),
            ("Mechanisms", ", ".join(request.mechanisms)),
        ),
        verdicts=(_SIMULATED, *(f"{one.mechanism}: {story(one)}" for one in outcomes)),
        boards=tuple(_board(outcome, at) for at, outcome in enumerate(outcomes)),
        sections=tuple(sections),
    )


def _comparison_table(outcomes: Sequence[Outcome]) -> Table:
    rows = tuple(
        (
            one.mechanism,
            one.best_won,
            one.loss,
            one.leaderboard_error,
            one.agreement["public_private"],
            one.agreement["private_true"],
            one.submissions,
            f"{sum(flag.deserved for flag in one.flags):,} of {len(one.flags):,}",
        )
        for one in outcomes
    )
    columns = (
        "mechanism", "best won", "cost", "leaderboard error", "tau public/private",
        "tau private/truth", "submissions", "flags deserved",
    )  # fmt: skip
    return Table("The same seeds under each mechanism", columns, rows)


def _board(outcome: Outcome, number: int) -> Board:
    known = outcome.truth == "exact"
    columns = [
        _ranks("rank", [team.rank for team in outcome.teams]),
        Column("team", "", tuple(team.team for team in outcome.teams)),
        _scores("score", [team.score for team in outcome.teams]),
        _ranks("public rank", [team.public_rank for team in outcome.teams]),
        _scores("shown", [team.shown for team in outcome.teams]),
    ]
    if known:
        columns[3:3] = [
            _ranks("true rank", [team.true_rank for team in outcome.teams]),
            _scores("true score", [team.true_score for team in outcome.teams]),
        ]
    return Board(
        f"board-{chr(ord('a') + number % 26)}",
        f"The private board under {outcome.mechanism}",
        "By the submission that counts for each team.",
        tuple(columns),
    )


def _ranks(title: str, values: Sequence[int | None]) -> Column:
    cells = tuple("" if value is None else f"{value:,}" for value in values)
    return Column(title, "", cells, tuple(None if one is None else float(one) for one in values))


def _scores(title: str, values: Sequence[float | None]) -> Column:
    cells = tuple("" if value is None else f"{value:.4f}" for value in values)
    return Column(title, "", cells, tuple(values))
