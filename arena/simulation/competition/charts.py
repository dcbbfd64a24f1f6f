"""The pictures of what was true: the board over time, and the ranks from public to true."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from arena.charts import Specification
from arena.charts.specification import layered, named, quantitative, whole_axis
from arena.charts.theme import BLUE, GREY, INK, ORANGE
from arena.simulation.competition.comparison import Measure, MechanismComparison
from arena.simulation.competition.folder import folder_name
from arena.simulation.competition.outcome import CompetitionOutcome
from arena.simulation.competition.true_scores import TruthKind
from arena.types import Chart
from arena.utils.formatting import level_text
from arena.utils.text import plural

_HEIGHT = 320
_MOST_LINES = 40
"""Teams in a chart of ranks."""
_CONDUCTS: Mapping[str, tuple[str, list[int]]] = {
    "honest": (BLUE, [1, 0]),
    "copies": (GREY, [6, 3]),
    "attacks": (ORANGE, [2, 2]),
}
_LINES: Mapping[str, tuple[str, list[int]]] = {
    "shown_best": (ORANGE, [1, 0]),
    "true_best": (BLUE, [6, 3]),
    "true_of_leader": (INK, [2, 2]),
}
_LABELS: Mapping[TruthKind, tuple[str, str, str]] = {
    "exact": (
        "shown at the top of the board",
        "truly best submission so far",
        "truth of the one at the top",
    ),
    "held_out": (
        "shown at the top of the board",
        "best so far on the held-out rows",
        "the one at the top on the held-out rows",
    ),
    "private": (
        "shown at the top of the board",
        "best so far on the private rows",
        "the one at the top on the private rows",
    ),
}
_STAGES = ("public board", "private board", "truth")


def _name(kind: str, mechanism: str) -> str:
    return f"{kind}-{folder_name(mechanism)}".replace("_", "-").replace(".", "-")


def over_time_chart(outcome: CompetitionOutcome, metric: str) -> Chart:
    """Draw what the top of the public board showed from day to day, and what was true."""
    labels = _LABELS[outcome.truth]
    values = [
        {"day": day.day, "score": getattr(day, field), "line": label}
        for day in outcome.days
        for field, label in zip(_LINES, labels, strict=True)
    ]
    colors, dashes = zip(*_LINES.values(), strict=True)
    legend = {"orient": "top"}
    encoding = {
        "x": _days(day.day for day in outcome.days),
        "y": _axis("score", metric),
        "color": named("line", labels, colors, legend=legend),
        "strokeDash": named("line", labels, dashes, legend=legend),
        "tooltip": [{"field": name} for name in ("line", "day", "score")],
    }
    mark = {"type": "line", "strokeWidth": 2, "interpolate": "step-after"}
    return Chart(
        _name("over-time", outcome.mechanism),
        f"The public board day by day, under {outcome.mechanism}",
        f"By day, three lines: {', '.join(labels)}.",
        layered([{"mark": mark, "encoding": encoding}], height=_HEIGHT, rows=values),
    )


def ranks_chart(outcome: CompetitionOutcome) -> Chart:
    """Draw every team's rank on the public board, on the private one, and in truth."""
    stages = _STAGES if outcome.knows_truth else _STAGES[:2]
    step = -(-len(outcome.teams) // _MOST_LINES)
    teams = outcome.teams[::step]
    which = "per team" if step == 1 else f"for one team of {step:,}"
    values = [
        {"team": team.team, "conduct": team.conduct, "stage": stage, "rank": rank}
        for team in teams
        if team.public_rank is not None
        for stage, rank in zip(
            stages, (team.public_rank, team.rank, team.true_rank)[: len(stages)], strict=True
        )
    ]
    conducts = [
        conduct for conduct in _CONDUCTS if any(row["conduct"] == conduct for row in values)
    ]
    colors, dashes = (
        [_CONDUCTS[conduct][0] for conduct in conducts],
        [_CONDUCTS[conduct][1] for conduct in conducts],
    )
    last = max(2, len(outcome.teams))
    scale = {"reverse": True, "domain": [1, last], "nice": False, "padding": 6}
    encoding: Specification = {
        "x": {
            "field": "stage",
            "type": "ordinal",
            "title": None,
            "scale": {"domain": list(stages)},
            "axis": {"labelAngle": 0, "orient": "top"},
        },
        "y": {**_axis("rank", "rank"), "axis": whole_axis(last), "scale": scale},
        "detail": {"field": "team", "type": "nominal"},
        "color": named("conduct", conducts, colors, legend={"orient": "bottom"}),
        "strokeDash": named("conduct", conducts, dashes, legend={"orient": "bottom"}),
        "tooltip": [{"field": name} for name in ("team", "stage", "rank")],
    }
    line = {"type": "line", "strokeWidth": 1.5, "opacity": 0.7, "point": {"opacity": 0.9}}
    intervals: Specification = {
        "data": {
            "values": [
                {
                    "team": team.team,
                    "conduct": team.conduct,
                    "stage": stages[1],
                    "low": team.rank_low,
                    "high": team.rank_high,
                }
                for team in teams
                if team.rank_low is not None and team.rank_high is not None
            ]
        },
        "mark": {"type": "rule", "strokeWidth": 4, "opacity": 0.25},
        "encoding": {
            "x": encoding["x"],
            "y": {**encoding["y"], "field": "low"},
            "y2": {"field": "high"},
            "xOffset": {"field": "team", "type": "nominal"},
            "color": encoding["color"],
            "tooltip": [{"field": name} for name in ("team", "low", "high")],
        },
    }
    return Chart(
        _name("ranks", outcome.mechanism),
        f"From public to private{' to true' if len(stages) == 3 else ''} ranks, under "
        f"{outcome.mechanism}",
        f"One line {which} through its ranks: {', '.join(stages)}; colour and dashes tell who is "
        f"honest, copies or attacks. Wide bars at the private board are the rank intervals "
        f"({level_text(outcome.level)}, all at once).",
        layered([{"mark": line, "encoding": encoding}, intervals], height=420, rows=values),
    )


def comparison_chart(outcomes: Sequence[CompetitionOutcome], metric: str) -> Chart:
    """Draw how far the top of the public board was from the truth, a line per mechanism."""
    names = [outcome.mechanism for outcome in outcomes]
    values = [
        {"mechanism": outcome.mechanism, "day": day.day, "error": day.error}
        for outcome in outcomes
        for day in outcome.days
    ]
    mechanism = named("mechanism", names, legend={"orient": "top"})
    what = "the truth" if outcomes[0].knows_truth else "the private rows"
    encoding: Specification = {
        "x": _days(day.day for outcome in outcomes for day in outcome.days),
        "y": _axis("error", f"leaderboard error ({metric})", zero=True),
        "color": mechanism,
        "strokeDash": mechanism,
        "tooltip": [{"field": name} for name in ("mechanism", "day", "error")],
    }
    mark = {"type": "line", "strokeWidth": 2, "interpolate": "step-after"}
    return Chart(
        "leaderboard-error",
        f"How far the top of the public board was from {what}",
        f"By day and mechanism: the largest distance so far between the score at the top of the "
        f"public board and that of the best submission in {what}.",
        layered([{"mark": mark, "encoding": encoding}], height=_HEIGHT, rows=values),
    )


def errors_by_day_chart(comparison: MechanismComparison, metric: str) -> Chart:
    """Draw the leaderboard error by day: means over the seeds, with bands of their intervals."""
    values = [
        {
            "mechanism": day.mechanism,
            "day": day.day,
            "error": day.error,
            "low": day.error if day.low is None else day.low,
            "high": day.error if day.high is None else day.high,
        }
        for day in comparison.days
    ]
    x = _days(day.day for day in comparison.days)
    y = _axis("error", f"leaderboard error ({metric})", zero=True)
    mechanism = named("mechanism", comparison.mechanisms, legend={"orient": "top"})
    line: Specification = {
        "mark": {"type": "line", "strokeWidth": 2, "point": True},
        "encoding": {
            "x": x,
            "y": y,
            "color": mechanism,
            "strokeDash": mechanism,
            "tooltip": [{"field": name} for name in ("mechanism", "day", "error")],
        },
    }
    band: Specification = {
        "mark": {"type": "area", "opacity": 0.2},
        "encoding": {
            "x": x,
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "color": mechanism,
        },
    }
    return Chart(
        "leaderboard-error-by-day",
        "Leaderboard error so far, mean over "
        f"{plural(len(comparison.stories) - len(comparison.degenerate), 'seed')}",
        "By day, one line per mechanism: the largest difference so far between the score at the "
        "top of the public board and the best true score, mean over the seeds. Bands: the "
        f"interval of the mean, {level_text(comparison.level)}.",
        layered([band, line], height=_HEIGHT, rows=values),
    )


def seeds_chart(comparison: MechanismComparison, measure: Measure) -> Chart:
    """Draw a measure of every seed under every mechanism; a line joins the values of one seed."""
    stories = [story for story in comparison.stories if not story.degenerate]
    values = [
        {"seed": story.seed, "mechanism": name, "value": measure.of(outcome)}
        for story in stories
        for name, outcome in zip(comparison.mechanisms, story.outcomes, strict=True)
        if measure.of(outcome) is not None
    ]
    encoding: Specification = {
        "x": named("mechanism", comparison.mechanisms, axis={"labelAngle": 0}),
        "y": _axis("value", measure.label),
        "detail": {"field": "seed", "type": "nominal"},
        "tooltip": [{"field": name} for name in ("seed", "mechanism", "value")],
    }
    summaries = [comparison.summary_of(name, measure.name) for name in comparison.mechanisms]
    means: Specification = {
        "data": {
            "values": [
                {
                    "mechanism": summary.mechanism,
                    "value": summary.mean,
                    "low": summary.low,
                    "high": summary.high,
                }
                for summary in summaries
                if summary is not None
            ]
        },
        "encoding": {"x": encoding["x"], "y": encoding["y"]},
        "layer": [
            {"mark": {"type": "tick", "color": ORANGE, "thickness": 3, "size": 60}},
            {
                "mark": {"type": "rule", "color": ORANGE, "strokeWidth": 3},
                "encoding": {"y": {**encoding["y"], "field": "low"}, "y2": {"field": "high"}},
            },
        ],
    }
    line = {
        "type": "line",
        "strokeWidth": 1,
        "opacity": 0.6,
        "color": BLUE,
        "point": {"color": BLUE},
    }
    return Chart(
        f"seeds-{measure.name}".replace("_", "-"),
        f"{measure.label[0].upper()}{measure.label[1:]}, by seed",
        f"A point per seed and mechanism, a line per seed, and in orange the mean with its "
        f"{level_text(comparison.level)} interval: {measure.label}.",
        layered([{"mark": line, "encoding": encoding}, means], height=_HEIGHT, rows=values),
    )


def _days(days: Iterable[int]) -> Specification:
    last = max([2, *days])
    return quantitative("day", axis=whole_axis(last), scale={"domain": [1, last], "nice": False})


def _axis(field: str, title: str, *, zero: bool = False) -> Specification:
    return quantitative(field, title, scale={"zero": zero}, axis={"format": ".4~g"})
