"""The report of a plan: an organiser's questions, their answers, and the assumptions."""

from __future__ import annotations

import math
from dataclasses import astuple
from typing import Any

from arena.charts.specification import layered, named, quantitative
from arena.charts.theme import BLUE, ORANGE
from arena.report.model import Report
from arena.simulation.plan.drawn import FIGURES, Sweep
from arena.simulation.plan.organiser import SWEEPS, Advice
from arena.simulation.plan.plan import NeededRows, Plan, PlanRow
from arena.simulation.plan.questions import QuestionPlan
from arena.simulation.plan.queue import QueuePlan
from arena.types import Chart, Section, Table
from arena.utils.formatting import Show, level_text, percent
from arena.utils.text import plural

_NAMES = {
    "best_wins": "the truly best wins (normal prior)",
    "best_wins_nonparametric": "the truly best wins (nonparametric prior)",
    "winner_shown": "the winner is shown to be best",
    "power": "power, two submissions",
    "power_corrected": "power, all pairs",
}
_SHARES = ("winner_shown", "power", "power_corrected")
_SHOWN = ("quality", "best_wins", "loss", "overstatement", "tau", "contenders")
_TITLES = {
    "quality": "winner better than the mean by",
    "best_wins": "best team wins",
    "loss": "loss in true score",
    "overstatement": "top overstated by",
    "tau": "tau public/private",
    "contenders": "teams that matter",
}
_DRAWN = {
    "best_wins": "probability that the truly best team wins",
    "overstatement": FIGURES["overstatement"],
}


def plan_report(advice: Advice) -> Report:
    """Return the report of a plan, with a rehearsal's comparison of mechanisms if there is one."""
    plan, base = advice.plan, advice.questions.design
    answers = advice.answers()
    decisions = tuple(map(astuple, advice.decisions()))
    sections = [
        Section(
            "Your decisions",
            "",
            (
                Table(
                    "Decisions",
                    ("decision", "choice", "expected effect", "based on"),
                    decisions,
                ),
            ),
        ),
        Section("For your colleagues", advice.paragraph()),
        Section(
            "Questions and answers",
            "",
            (Table("Answers", ("question", "answer"), tuple(answers)),),
        ),
        _rows_section(plan, advice.metric),
        _about_sweeps(advice),
        *map(_sweep_section, advice.sweeps),
    ]
    if advice.metrics:
        sections.append(_metrics_section(advice))
    if advice.rehearsal is not None:
        from arena.report.seeds import seeds_sections
        from arena.simulation.competition.summary import summarize_seeds

        summary = "\n\n".join(summarize_seeds(advice.rehearsal))
        sections.append(Section("What the rehearsal shows", summary))
        sections += seeds_sections(advice.rehearsal, advice.metric)
    sections.append(Section("Assumptions", "\n\n".join(advice.assumptions())))
    return Report(
        title=f"Plan of a competition ({advice.metric})",
        facts=(
            (
                "Pilot",
                f"{plural(plan.submissions, 'submission')}, "
                f"{plural(plan.pilot_rows, 'private row')}",
            ),
            ("Rows", f"{base.private_rows:,} private, {base.public_rows:,} public"),
            ("Teams", f"{base.teams:,}"),
            (
                "Submissions",
                f"{advice.questions.per_day:,} a day, {plural(advice.questions.days, 'day')}",
            ),
            ("Level", level_text(plan.level)),
        ),
        verdicts=(advice.headline(), *advice.notes),
        boards=(),
        sections=tuple(sections),
    )


def _whole(number: float | None) -> int | None:
    return None if number is None else math.ceil(number)


def questions_report(questions: QuestionPlan) -> Report:
    """Return the report of a plan from a table: how many cases show a difference."""
    verdict = (
        f"A true difference of {questions.difference:.3g} in the mean {questions.metric} of two "
        f"algorithms is shown with a probability of {percent(questions.power)} by a paired test at "
        f"{level_text(questions.level)} on {questions.needed[0].cases:,.0f} cases (median over "
        f"{plural(questions.pairs, 'pair')}). The {plural(questions.cases, 'case')} of the table "
        f"show a difference of {questions.detectable:.3g}. With other cases for each algorithm, "
        f"{questions.unpaired:,.0f} would be needed."
    )
    table = Table(
        "Cases by answers to each case",
        ("answers per case", "cases", "fewest of a pair", "most of a pair"),
        tuple(
            (needed.answers, *map(math.ceil, (needed.cases, needed.cases_low, needed.cases_high)))
            for needed in questions.needed
        ),
    )
    neighbours = Table(
        "To show which of two neighbours in rank is better",
        ("better", "worse", "lead", "shown now", "cases", "at least", "at most", "tasks"),
        tuple(
            (
                pair.better,
                pair.worse,
                pair.lead,
                pair.shown,
                _whole(pair.cases),
                _whole(pair.cases_low),
                _whole(pair.cases_high),
                _whole(pair.tasks),
            )
            for pair in questions.neighbours
        ),
    )
    about = (
        "For a paired test of each pair alone, if the true difference is the lead on this table. "
        "The ends of its interval give the smallest and the largest number of cases; without a "
        "largest number, the difference may be 0. Tasks: the number needed if those of the table "
        "are a sample of many tasks."
    )
    return Report(
        title=f"How many cases show a difference? ({questions.metric})",
        facts=(("Cases", f"{questions.cases:,}"), ("Level", level_text(questions.level))),
        verdicts=(verdict,),
        boards=(),
        sections=(
            Section("How many cases?", "", (table,)),
            Section("Neighbours in rank", about, (neighbours,)),
        ),
    )


def queue_report(queue: QueuePlan) -> Report:
    """Return the report of how long programs wait for machines."""
    table = Table(
        "Minutes of waiting, by the number of machines",
        (
            "machines",
            "busy",
            "mean, equal times",
            "mean, varied times",
            "95%, equal times",
            "95%, varied times",
            "all of a day at once",
        ),
        tuple((waits.machines, percent(waits.busy), *astuple(waits)[2:]) for waits in queue.waits),
    )
    about = (
        f"{queue.programs:,.10g} programs a day, which come independently of each other within "
        f"{queue.hours:g} hours of the day. Each needs {queue.minutes:g} minutes of one machine on "
        f"average, and machines take them in the order in which they came. Equal times: all need "
        f"the same; varied times: as different as an exponential distribution. Empty cells: the "
        f"queue grows every day."
    )
    return Report(
        title="How long do programs wait?",
        facts=(
            ("Programs a day", f"{queue.programs:,.10g}"),
            ("Minutes of a program", f"{queue.minutes:g}"),
        ),
        verdicts=tuple(queue.sentences()),
        boards=(),
        sections=(Section("Machines", about, (table,)),),
    )


def _needed_cells(label: str, needed: NeededRows) -> tuple[Any, ...]:
    """Return the cells of a probability; the estimates are empty if the interval is too wide."""
    interval = (
        f"at least {needed.low:,.0f}"
        if needed.high is None
        else f"{needed.low:,.0f} to {needed.high:,.0f}"
    )
    points = [
        "" if value is None or not needed.is_known else f"{value:,.0f}"
        for value in (needed.test_rows, needed.nonparametric)
    ]
    return (label, percent(needed.probability), *points, interval)


def _rows_section(plan: Plan, metric: str) -> Section:
    needed = [("first place", plan.best_wins_rows)]
    needed += [(target.target.label, target.needed) for target in plan.targets]
    table = Table(
        "Private rows needed",
        ("for", "probability", "normal prior", "nonparametric prior", "interval"),
        tuple(
            _needed_cells(label, needed_rows)
            for label, rows_of_label in needed
            for needed_rows in rows_of_label
        ),
    )
    figures = Table(
        f"Other numbers of private rows ({plan.level:.10g} intervals in brackets)",
        (
            "private rows", "rank interval width", "winner shown",
            f"power for {plan.difference:.3g}", "all pairs",
        ),
        tuple(
            (
                f"{row.test_rows:,}",
                _with_interval(row, "interval_width", "{:.1f}".format),
                *(_with_interval(row, name, percent) for name in _SHARES),
            )
            for row in plan.rows
        ),
    )  # fmt: skip
    shares = Table(
        "On other numbers of private rows (probability that each goes to the truly best)",
        ("private rows", "first place", *(target.target.label for target in plan.targets)),
        tuple(
            (
                f"{row.test_rows:,}",
                _cell(row.best_wins, row.best_wins_nonparametric, *row.intervals["best_wins"]),
                *(
                    _cell(
                        share_points.normal,
                        share_points.nonparametric,
                        share_points.low,
                        share_points.high,
                    )
                    for share_points in (target.shares[position] for target in plan.targets)
                ),
            )
            for position, row in enumerate(plan.rows)
        ),
    )
    text = (
        "Of the pilot's own submissions. A probability is given under a normal and a nonparametric "
        "prior of the true scores, which the pilot does not show; the interval does not depend on "
        "a prior. Where no number is given, the pilot does not determine it: submissions may be "
        "equally good there, or nearly so. More submissions, or more rows of each, would narrow "
        "the interval. Power: of a paired test of two submissions named in advance. Winner shown: "
        "the winner is shown to be better than every other submission, which needs more rows.\n\n"
        f"{plural(plan.submissions, 'submission')} on "
        f"{plural(plan.pilot_rows, 'private row')}. The standard error "
        f"of the difference of two of them is {plan.standard_error:.3g} in {metric} (median over "
        f"pairs)."
    )
    if plan.copies:
        text += f" Copies of other submissions, left out: {plan.copies:,}."
    title = f"Private rows and certainty of the ranks ({metric})"
    return Section("How many private rows?", text, (table, shares, figures), (_chart(plan, title),))


def _with_interval(row: PlanRow, name: str, show: Show) -> str:
    low, high = row.intervals[name]
    return f"{show(getattr(row, name))} [{show(low)}, {show(high)}]"


def _cell(normal: float | None, other: float, low: float, high: float) -> str:
    points = percent(other) if normal is None else f"{percent(normal)} / {percent(other)}"
    return f"{points} [{percent(low)}, {percent(high)}]"


def _about_sweeps(advice: Advice) -> Section:
    base = advice.questions.design
    text = (
        f"Drawn competitions with {plural(base.teams, 'team')}, "
        f"{plural(base.private_rows, 'private row')}, "
        f"{plural(base.public_rows, 'public row')} and "
        f"{plural(base.submissions, 'submission')} per team, except "
        f"for the quantity that is varied. Teams that matter: the winner is one of so many truly "
        f"best teams in 95% of the competitions. The last column compares the winner's expected "
        f'true score with the best of the table; "not shown" is a difference within the '
        f"uncertainty of the pilot."
    )
    return Section("Drawn competitions", text)


def _sweep_section(sweep: Sweep) -> Section:
    show: Show = percent if sweep.name == "public_share" else "{:,.10g}".format
    settings = [show(design.setting) for design in sweep.designs]
    rows = tuple(
        (
            setting,
            f"{design.design.private_rows:,}",
            f"{design.design.public_rows:,}",
            *("{} [{}, {}]".format(*design.texts(name)) for name in _SHOWN),
            "best"
            if design is sweep.best
            else "shown worse"
            if design.shown_worse
            else "not shown",
        )
        for setting, design in zip(settings, sweep.designs, strict=True)
    )
    table = Table(
        f"By {SWEEPS[sweep.name]} (intervals in brackets)",
        (
            SWEEPS[sweep.name],
            "private",
            "public",
            *(_TITLES[name] for name in _SHOWN),
            "winner's true score",
        ),
        rows,
        importance=(1, 9, 10, 2, 4, 5, 7, 8, 6, 3),
    )
    text = "The quantity that is varied stands in the first column."
    if sweep.name == "teams":
        text += " With more teams the best of them is better; the organiser cannot choose this."
    charts = tuple(
        _sweep_chart(sweep, name, label) for name, label in _DRAWN.items() if _varies(sweep, name)
    )
    return Section(f"By {SWEEPS[sweep.name]}", text, (table,), charts)


def _varies(sweep: Sweep, name: str) -> bool:
    """Return whether a figure, or an end of its interval, differs between the designs."""
    return (
        len({(design.point[name], design.low[name], design.high[name]) for design in sweep.designs})
        > 1
    )


def _sweep_chart(sweep: Sweep, name: str, label: str) -> Chart:
    values = [
        {
            "setting": design.setting,
            "value": design.point[name],
            "low": design.low[name],
            "high": design.high[name],
        }
        for design in sweep.designs
    ]
    settings = [design.setting for design in sweep.designs]
    share = sweep.name == "public_share"
    x = quantitative(
        "setting",
        SWEEPS[sweep.name],
        scale={"type": "linear" if share else "log", "nice": False, "padding": 16},
        axis={"format": ".0%" if share else ",d", "values": settings},
    )
    y, color = quantitative("value", label, axis={"format": ".3~g"}), ORANGE
    if name == "best_wins":
        y, color = {**y, "axis": {"format": ".0%"}, "scale": {"domain": [0, 1]}}, BLUE
    band = {
        "mark": {"type": "area", "opacity": 0.2, "color": color},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}},
    }
    tooltip = [{"field": field} for field in ("setting", "value", "low", "high")]
    line = {
        "mark": {"type": "line", "point": {"color": color}, "color": color},
        "encoding": {"x": x, "y": y, "tooltip": tooltip},
    }
    return Chart(
        f"plan-{sweep.name}-{name}".replace("_", "-"),
        f"{label[0].upper()}{label[1:]}, by {SWEEPS[sweep.name]}",
        f"A line with a band of its interval: {label}, by {SWEEPS[sweep.name]}.",
        layered([band, line], height=260, rows=values),
    )


def _metrics_section(advice: Advice) -> Section:
    table = Table(
        "Metrics on the pilot",
        ("metric", "tau of two halves", "from", "to", "less than the best", "p", "difference"),
        tuple(
            (
                metric.metric,
                metric.tau,
                metric.tau_low,
                metric.tau_high,
                metric.difference,
                metric.p,
                "best" if position == 0 else "shown" if metric.shown_worse else "not shown",
            )
            for position, metric in enumerate(advice.metrics)
        ),
    )
    text = (
        "A metric separates submissions if it ranks them alike on two halves of the rows. Mean "
        "over random splits, in which groups of rows stay together. The intervals of tau hold over "
        "pilots; the test is the corrected resampled t test (Nadeau and Bengio 2003), corrected "
        "for all pairs of metrics, and finds large differences only."
    )
    return Section("Which metric separates best?", text, (table,))


def _chart(plan: Plan, title: str) -> Chart:
    values = [
        {"rows": row.test_rows, "what": label, "probability": getattr(row, name)}
        for row in plan.rows
        for name, label in _NAMES.items()
        if getattr(row, name) is not None
    ]
    x = quantitative(
        "rows",
        "private rows",
        scale={"type": "log", "nice": False, "padding": 12},
        axis={"format": ",d", "values": [row.test_rows for row in plan.rows]},
    )
    y = quantitative("probability", scale={"domain": [0, 1]})
    order = list(_NAMES.values())
    color = named("what", sort=order, legend={"orient": "top", "columns": 2})
    tooltip = [{"field": name} for name in ("what", "rows", "probability")]
    dash = {"field": "what", "type": "nominal", "sort": order, "legend": None}
    encoding = {"x": x, "y": y, "color": color, "strokeDash": dash, "tooltip": tooltip}
    lines = {"mark": {"type": "line", "point": True}, "encoding": encoding}
    # The interval of the truly best holds under either prior, and is drawn once.
    certain = "best_wins" if plan.rows[0].best_wins is not None else "best_wins_nonparametric"
    bands = [
        {
            "rows": row.test_rows,
            "what": _NAMES[certain if name == "best_wins" else name],
            "low": low,
            "high": high,
        }
        for row in plan.rows
        for name, (low, high) in row.intervals.items()
        if name in _NAMES
    ]
    band = {
        "data": {"values": bands},
        "mark": {"type": "area", "opacity": 0.12},
        "encoding": {
            "x": x,
            "y": {**y, "field": "low"},
            "y2": {"field": "high"},
            "color": color,
        },
    }
    return Chart(
        "plan",
        title,
        "Probabilities by the number of private rows: that the truly best wins, under two priors, "
        "that the winner is shown to be best, and the power of the paired test for two submissions "
        f"and corrected for all pairs. Bands: {level_text(plan.level)} intervals; that of the "
        "truly best holds under either prior.",
        layered([lines, band], height=320, rows=values),
    )
