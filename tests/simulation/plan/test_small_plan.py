"""One small plan, whose figures are worked out from the pilot's answers beside it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from arena.report.model import Report
from arena.report.plan import plan_report
from arena.simulation.plan.drawn import Sweep
from arena.simulation.plan.mechanisms import Attacked
from arena.simulation.plan.metric_choice import MetricSeparation
from arena.simulation.plan.organiser import Advice
from arena.simulation.plan.plan import NeededRows
from kept import check_kept, check_kept_document, masked
from page_text import charts_of, lines_of, text_of
from program import run_here, write_csv

N = 120


def planned(folder: Path, *more: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return the document of a plan, and which rows of the pilot each submission has right."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=N)
    write_csv(folder / "solution.csv", ["id", "y"], list(enumerate(truth.tolist())))
    right = {}
    for name, share in (("a", 0.9), ("b", 0.8), ("c", 0.7)):
        right[name] = rng.random(N) < share
        labels = np.where(right[name], truth, 1 - truth)
        write_csv(folder / f"{name}.csv", ["id", "y"], list(enumerate(labels.tolist())))
    done = run_here(
        "plan", "solution.csv", "a.csv", "b.csv", "c.csv", "-m", "accuracy", "--rows", "100,400",
        "--per-day", "2", "--teams", "5", "--public-share", "0.3", "--days", 2, "--resamples", 150,
        "--json", *more, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), right


@dataclass(frozen=True)
class OnePlan:
    """What the command made of the pilot."""

    document: dict[str, Any]
    right: dict[str, np.ndarray]
    html: str
    advice: Advice


@pytest.fixture(scope="module")
def one_plan(tmp_path_factory: pytest.TempPathFactory) -> OnePlan:
    """Plan once, for the tests that only read."""
    folder, advices = tmp_path_factory.mktemp("plan"), []

    def report_of(advice: Advice) -> Report:
        advices.append(advice)
        return plan_report(advice)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("arena.report.plan.plan_report", report_of)
        document, right = planned(folder, "--report", "plan.html")
    html = (folder / "plan.html").read_text(encoding="utf-8")
    return OnePlan(document, right, html, advices[0])


def table_of(advice: Advice, title: str) -> tuple[tuple[Any, ...], ...]:
    """Return the rows of the table with a title that begins so."""
    sections = plan_report(advice).sections
    (rows,) = (
        table.rows
        for section in sections
        for table in section.tables
        if table.title.startswith(title)
    )
    return rows


def with_sweep(advice: Advice, changed: Sweep) -> Advice:
    """Return advice with another sweep in place of the one with its name."""
    others = [changed if sweep.name == changed.name else sweep for sweep in advice.sweeps]
    return replace(advice, sweeps=tuple(others))


def test_the_command_prints_what_the_formulas_give(one_plan: OnePlan) -> None:
    document, right, html = one_plan.document, one_plan.right, one_plan.html
    check_kept_document("plan", document)
    check_kept("plan.txt", masked(lines_of(html)))
    check_kept_document("plan-charts", charts_of(html))
    assert (document["pilot_rows"], document["submissions"], document["copies"]) == (N, 3, 0)

    # The standard error of a difference is that of the mean of the rows' differences.
    errors = [
        (right[first].astype(int) - right[second]).std(ddof=1) / np.sqrt(N)
        for first, second in combinations("abc", 2)
    ]
    error, difference = document["standard_error"], document["difference"]
    assert error == pytest.approx(np.median(errors), rel=0.1)
    # It shrinks with the root of the rows; a two-sided test at 5%, and at 5% / 3 of three pairs.
    for row in document["rows"]:
        lead = difference / (error * np.sqrt(N / row["test_rows"]))
        for name, tail in (("power", 0.025), ("power_corrected", 0.025 / 3)):
            critical = stats.norm.isf(tail)
            power = stats.norm.sf(critical - lead) + stats.norm.cdf(-critical - lead)
            assert row[name] == pytest.approx(power, abs=0.02)
        for name in ("power", "power_corrected", "best_wins", "interval_width", "winner_width"):
            assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
    few, many = document["rows"]
    assert few["best_wins"] < many["best_wins"]
    assert few["interval_width"] > many["interval_width"]
    for needed in document["power_rows"]:
        critical = stats.norm.isf(0.025 / 3) + stats.norm.ppf(needed["power"])
        assert needed["test_rows"] == pytest.approx(
            N * (critical * error / difference) ** 2, rel=0.05
        )

    assert len(document["answers"]) == 6
    # 30% public: 120 private rows are 70% of 171 rows; two submissions on each of two days.
    by_share = next(sweep for sweep in document["sweeps"] if sweep["name"] == "public_share")[
        "designs"
    ]
    assert {row["public_rows"] + row["private_rows"] for row in by_share} == {171}
    assert [row["public_rows"] for row in by_share if row["setting"] == 0.3] == [51]
    for sweep in document["sweeps"]:
        for design in sweep["designs"]:
            on_a_day = design["setting"] if sweep["name"] == "per_day" else 2
            assert design["submissions"] == 2 * on_a_day
            for name in ("best_wins", "tau", "contenders"):
                assert design[f"{name}_low"] <= design[name] <= design[f"{name}_high"], name
            assert design["loss"] >= 0
    by_rows = next(sweep for sweep in document["sweeps"] if sweep["name"] == "rows")["designs"]
    assert by_rows[0]["best_wins"] < by_rows[-1]["best_wins"]
    assert by_rows[0]["loss"] > by_rows[-1]["loss"]


def test_rows_are_named_only_where_their_interval_is_narrow(one_plan: OnePlan) -> None:
    """Narrow is at most ten times as wide as its lower end."""
    needed = tuple(
        NeededRows(probability, test_rows=rows, nonparametric=other, low=low, high=high)
        for probability, rows, other, low, high in (
            (0.5, 1_200.4, 900.0, 500.0, 5_000.0),
            (0.8, 1_200.4, 900.0, 500.0, 5_001.0),
            (0.9, None, 900.0, 500.0, 600.0),
            (0.95, 700.0, None, 500.0, 600.0),
            (0.99, 700.0, 900.0, 500.0, None),
        )
    )
    shown = [
        ("first place", "50.0%", "1,200", "900", "500 to 5,000"),
        ("first place", "80.0%", "", "", "500 to 5,001"),
        ("first place", "90.0%", "", "900", "500 to 600"),
        ("first place", "95.0%", "700", "", "500 to 600"),
        ("first place", "99.0%", "", "", "at least 500"),
    ]
    plan = replace(one_plan.advice.plan, best_wins_rows=needed, targets=())
    assert list(table_of(replace(one_plan.advice, plan=plan), "Private rows needed")) == shown


def test_a_plan_without_a_normal_prior_shows_the_other_one(one_plan: OnePlan) -> None:
    rows = tuple(
        replace(row, best_wins=best, best_wins_nonparametric=0.5, intervals=row.intervals | ends)
        for row, best, ends in zip(
            one_plan.advice.plan.rows,
            (0.75, None),
            ({"best_wins": (0.25, 1.0)}, {"best_wins": (0.125, 0.875)}),
            strict=True,
        )
    )
    plan = replace(one_plan.advice.plan, rows=rows, targets=(), copies=1_234)
    advice = replace(one_plan.advice, plan=plan)
    assert table_of(advice, "On other numbers of private rows") == (
        ("100", "75.0% / 50.0% [25.0%, 100.0%]"),
        ("400", "50.0% [12.5%, 87.5%]"),
    )
    (section,) = (
        part for part in plan_report(advice).sections if part.charts and part.text[:2] == "Of"
    )
    assert section.text.endswith(" Copies of other submissions, left out: 1,234.")
    lines, bands = section.charts[0].specification["layer"]
    points = [
        (row["rows"], row["probability"])
        for row in section.charts[0].specification["data"]["values"]
        if row["what"] == "the truly best wins (normal prior)"
    ]
    assert points == [(100, 0.75)]
    assert {row["what"] for row in bands["data"]["values"] if row["low"] == 0.125} == {
        "the truly best wins (normal prior)"  # as of the first number of rows, which has one
    }
    assert lines["mark"] == {"type": "line", "point": True}


def test_a_design_is_best_shown_to_be_worse_or_neither(one_plan: OnePlan) -> None:
    sweep = next(sweep for sweep in one_plan.advice.sweeps if sweep.name == "per_day")
    designs = tuple(
        replace(design, shown_worse=worse, point={**design.point, "quality": quality})
        for design, worse, quality in zip(
            sweep.designs[:3], (True, False, False), (0.1, 0.3, 0.2), strict=True
        )
    )
    advice = with_sweep(one_plan.advice, replace(sweep, designs=designs))
    rows = table_of(advice, "By submissions per team and day")
    assert [row[-1] for row in rows] == ["shown worse", "best", "not shown"]


def test_a_figure_that_does_not_vary_is_not_drawn(one_plan: OnePlan) -> None:
    sweep = next(sweep for sweep in one_plan.advice.sweeps if sweep.name == "public_share")
    first = sweep.designs[0]
    same = [replace(first, setting=design.setting) for design in sweep.designs]
    for ends, names in (
        ([first.high] * len(same), []),
        (
            [{**first.high, "overstatement": 0.5 + place} for place in range(len(same))],
            ["plan-public-share-overstatement"],
        ),
    ):
        designs = tuple(replace(design, high=high) for design, high in zip(same, ends, strict=True))
        advice = with_sweep(one_plan.advice, replace(sweep, designs=designs))
        section = next(part for part in plan_report(advice).sections if "share" in part.title)
        assert [chart.name for chart in section.charts] == names


def test_metrics_are_listed_with_the_first_as_the_best(one_plan: OnePlan) -> None:
    assert "Which metric separates best?" not in one_plan.html
    metrics = tuple(
        MetricSeparation(
            name,
            tau=0.9,
            tau_low=0.8,
            tau_high=1.0,
            difference=difference,
            p=p,
            shown_worse=is_shown,
        )
        for name, difference, p, is_shown in (
            ("accuracy", 0.0, 1.0, False),
            ("mcc", -0.1, 0.2, False),
            ("f1", -0.3, 0.01, True),
        )
    )
    assert table_of(replace(one_plan.advice, metrics=metrics), "Metrics on the pilot") == (
        ("accuracy", 0.9, 0.8, 1.0, 0.0, 1.0, "best"),
        ("mcc", 0.9, 0.8, 1.0, -0.1, 0.2, "not shown"),
        ("f1", 0.9, 0.8, 1.0, -0.3, 0.01, "shown"),
    )


@pytest.mark.slow
def test_the_report_has_what_the_command_prints(tmp_path: Path) -> None:
    document, _ = planned(tmp_path, "--report", "plan.html")
    page = " ".join(text_of((tmp_path / "plan.html").read_text(encoding="utf-8")).split())
    assert document["paragraph"] in page
    for needed in document["best_wins_rows"]:
        low, high = needed["test_rows_low"], needed["test_rows_high"]
        ends = f"at least {low:,.0f}" if high is None else f"{low:,.0f} to {high:,.0f}"
        is_known = high is not None and high <= 10 * low and needed["test_rows"] is not None
        number = f"{needed['test_rows']:,.0f} .*?" if is_known else ""
        share = f"{100 * needed['probability']:.0f}"
        assert re.search(rf"first place {share}(\.0)?% {number}{ends}", page)
    for answer in document["answers"]:
        assert answer["question"] in page
        assert answer["answer"] in page


def words_of(advice: Advice) -> list[str]:
    """Return every sentence of advice."""
    decisions = [
        f"{decision.decision}: {decision.choice}; {decision.effect} ({decision.based_on})"
        for decision in advice.decisions()
    ]
    answers = [f"{question} {answer}" for question, answer in advice.answers()]
    return [
        advice.headline(), advice.paragraph(), *answers, *decisions, *advice.assumptions()
    ]  # fmt: skip


def test_advice_is_worded_as_kept_in_every_state(one_plan: OnePlan) -> None:
    advice = one_plan.advice
    needed_rows = NeededRows(0.9, 250.0, nonparametric=260.0, low=200.0, high=300.0)
    attacked = (
        Attacked(
            advice.mechanics.mechanism,
            0.0125,
            bias_high=0.025,
            worst_attack="vote",
            smallest_gain=0.5,
            submissions=1_000,
            public_rows=51,
        ),
        Attacked(
            "full",
            0.25,
            bias_high=None,
            worst_attack="flip",
            smallest_gain=None,
            submissions=1_000,
            public_rows=51,
        ),
    )
    metrics = tuple(
        MetricSeparation(
            name, tau, tau_low=low, tau_high=0.75, difference=tau - 0.5, p=0.5, shown_worse=worse
        )
        for name, tau, low, worse in (
            ("mae", 0.5, 0.0, False), ("rmse", 0.25, -0.5, True), ("r2", 0.25, 0.125, False)
        )
    )  # fmt: skip
    known_best = replace(metrics[0], tau_low=0.125)
    limits, shares = advice.sweep("per_day"), advice.sweep("public_share")
    alike = tuple(replace(design, shown_worse=False) for design in limits.designs)
    certain = tuple(
        replace(
            design,
            shown_worse=design is not shares.best,
            low={**design.low, "best_wins": design.point["best_wins"]},
            high={**design.high, "best_wins": design.point["best_wins"]},
        )
        for design in shares.designs
    )
    states = {
        "a past board": replace(advice, like=("kaggle.csv",)),
        "typical teams": replace(advice, like=("typical",)),
        "two past boards": replace(advice, like=("a.csv", "b.csv")),
        "brackets": replace(
            advice, questions=replace(advice.questions, brackets={"new": 2.0, "old": 4.0})
        ),
        "groups": replace(advice, groups=1_200),
        "attacked": replace(advice, mechanics=replace(advice.mechanics, attacked=attacked)),
        "no known bias": replace(advice, mechanics=replace(advice.mechanics, attack_bias=None)),
        "as many submissions as rows": replace(
            advice, mechanics=replace(advice.mechanics, submissions=1_200, public_rows=1_200)
        ),
        "other metrics": replace(advice, metrics=metrics),
        "one metric": replace(advice, metrics=(known_best,)),
        "known rows": replace(advice, plan=replace(advice.plan, best_wins_rows=(needed_rows,))),
        "equal limits": with_sweep(advice, replace(limits, designs=alike)),
        "certain shares": with_sweep(advice, replace(shares, designs=certain)),
    }
    before, lines = set(words_of(advice)), []
    for name, changed in states.items():
        lines += [f"== {name}", *(text for text in words_of(changed) if text not in before)]
    check_kept("advice.txt", "\n".join(lines) + "\n")
