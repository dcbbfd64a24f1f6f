"""The number of questions for a difference, against Miller's formula and simulated tests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import stdtrit

from arena.errors import UsageError
from arena.interfaces import CaseScores
from arena.scoring.case_matrix import CaseMatrix, case_matrix
from arena.simulation.plan.questions import plan_questions
from kept import check_kept_document
from program import run_here
from schemas import check_document

OMEGA, SIGMA = 0.3, 0.5


def table(n: int, answers: int, seed: int = 0, lead: float = 0.1) -> CaseMatrix:
    """Return two algorithms whose expected difference on a case has the deviation OMEGA."""
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=n)
    expected = np.stack([shared + lead + OMEGA * rng.normal(size=n), shared])
    values = expected[..., None] + SIGMA * rng.normal(size=(2, n, answers))
    records = CaseScores(
        np.repeat(["a", "b"], n * answers),
        np.tile(np.repeat(np.arange(n), answers), 2),
        values.ravel(),
        repeats=np.tile(np.arange(answers), 2 * n),
    )
    return case_matrix(records)


@pytest.mark.slow
def test_the_questions_are_millers_for_every_number_of_answers() -> None:
    question_plan = plan_questions(table(20_000, 2), "value", 0.1)
    for needed_cases in question_plan.needed:
        variance = OMEGA**2 + 2 * SIGMA**2 / needed_cases.answers
        assert needed_cases.cases == pytest.approx(
            (1.959964 + 0.841621) ** 2 * variance / 0.01, rel=0.06
        )
    assert question_plan.unpaired > 10 * question_plan.needed[-1].cases
    assert question_plan.detectable == pytest.approx(
        2.801585 * np.sqrt((OMEGA**2 + SIGMA**2) / 20_000), rel=0.03
    )


def test_a_paired_test_on_that_many_questions_has_the_power() -> None:
    needed = round(plan_questions(table(4_000, 1), "value", 0.2).needed[0].cases)
    rng = np.random.default_rng(1)
    differences = 0.2 + rng.normal(size=(2_000, needed)) * np.sqrt(OMEGA**2 + 2 * SIGMA**2)
    errors = differences.std(axis=1, ddof=1) / np.sqrt(needed)
    power = (np.abs(differences.mean(axis=1) / errors) > 1.959964).mean()
    assert power == pytest.approx(0.8, abs=0.04)


def test_questions_on_the_same_text_count_less() -> None:
    question_table = table(400, 1)
    groups = np.repeat(np.arange(100), 4)
    copied = replace(
        question_table, values=question_table.values[:, np.arange(100).repeat(4)], clusters=groups
    )
    alone = plan_questions(replace(copied, clusters=None), "value", 0.1).needed[0].cases
    grouped = plan_questions(copied, "value", 0.1).needed[0].cases
    assert grouped == pytest.approx(4 * alone, rel=0.02)
    with pytest.raises(UsageError, match="at least two algorithms"):
        plan_questions(question_table.subset([0]), "value", 0.1)
    two = replace(question_table.subset([0, 1]), values=question_table.subset([0, 1]).values[:, :2])
    assert plan_questions(replace(two, clusters=None), "value", 0.1).needed[0].cases > 0
    single = replace(two, clusters=np.zeros(2, dtype=int))
    for few in (single, replace(two, values=two.values[:, :1])):
        with pytest.raises(UsageError) as refused:
            plan_questions(few, "value", 0.1)
        assert str(refused.value) == (
            "A plan needs at least two algorithms on at least two cases, or groups of cases."
        )
    for power in (0.0, 1.0):
        with pytest.raises(UsageError, match="between 0 and 1"):
            plan_questions(question_table, "value", 0.1, power=power)
    for difference in (0.0, float("inf")):
        with pytest.raises(UsageError, match="Give the difference to detect"):
            plan_questions(question_table, "value", difference)


def test_the_command_prints_what_its_schema_says(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["case,a,b"] + [f"{i},{x},{y}" for i, (x, y) in enumerate(rng.random((30, 2)))]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    called = run_here("plan", "--from", "t.csv", "--difference", "0.1", "--json", cwd=tmp_path)
    document: Any = json.loads(called.stdout)
    check_document(document, "plan-questions")
    assert document["cases"] == 30
    assert len(document["needed"]) == 1
    long = ["algorithm,case,value,round,area"]
    for area in "xy":
        for i, values in enumerate(rng.random((30, 4))):
            cells = zip("aabb", "1212", values, strict=True)
            long += [f"{name},{i},{value},{round},{area}" for name, round, value in cells]
    (tmp_path / "l.csv").write_text("\n".join(long) + "\n")
    columns = ("--value", "value", "--repeat", "round", "--task", "area")
    process = run_here("plan", "--from", "l.csv", "--difference", "0.1", *columns, cwd=tmp_path)
    assert "The 60 cases of the table" in process.stdout.replace("\n", " "), process.stderr
    assert "answers per case" in process.stdout


def test_neighbours_are_shown_on_as_many_cases_and_tasks_as_said() -> None:
    question_table = table(2_000, 1)
    question_plan = plan_questions(question_table, "value")
    (pair,) = question_plan.neighbours
    assert (pair.better, pair.worse, pair.shown, pair.tasks) == ("a", "b", True, None)
    assert pair.cases == pytest.approx(question_plan.needed[0].cases)
    assert pair.cases_low < pair.cases < pair.cases_high
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(400), 5)
    effects = np.stack([rng.normal(0.0, 0.5, 400)[codes], np.zeros(2_000)])
    tasks = replace(question_table, values=question_table.values + effects, tasks=codes)
    (pair,) = plan_questions(tasks, "value").neighbours
    needed = round(pair.tasks)
    spread = np.sqrt(0.5**2 + (OMEGA**2 + 2 * SIGMA**2) / 5)
    leads = pair.lead + spread * rng.normal(size=(4_000, needed))
    statistics = leads.mean(axis=1) / leads.std(axis=1, ddof=1) * np.sqrt(needed)
    power = (statistics > stdtrit(needed - 1, 0.975)).mean()
    assert power == pytest.approx(0.8, abs=0.05)
    (tied,) = plan_questions(question_table.subset([0, 0]), "value", 0.1).neighbours
    assert (tied.cases, tied.cases_high, tied.shown) == (None, None, False)


def test_what_a_plan_of_questions_says_is_kept() -> None:
    """Two algorithms that hardly differ, three on groups, and one that is tied with another."""
    question_table = table(40, 2, lead=0.4)
    grouped = replace(question_table, clusters=np.repeat(np.arange(10), 4))
    plans = {
        "plain": plan_questions(question_table, "value", 0.2),
        "grouped": plan_questions(grouped, "value", level=0.9, power=0.5),
        "tied": plan_questions(question_table.subset([0, 0]), "value", 0.1),
    }
    whole = {name: plan.to_dict() for name, plan in plans.items()}
    check_kept_document("questions", whole)
