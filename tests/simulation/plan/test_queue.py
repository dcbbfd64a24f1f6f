"""How long programs wait: against the formulas for the queues that have one, and by hand."""

from __future__ import annotations

from math import factorial
from pathlib import Path

import pytest

from arena.errors import UsageError
from arena.simulation.plan.queue import plan_queue
from competition_folder import document
from kept import check_kept_document
from program import run_here

DAY = 24 * 60


def erlang(load: float, machines: int) -> float:
    """Return the probability that a program waits if running times are exponential (Erlang)."""
    last = load**machines / factorial(machines) * machines / (machines - load)
    return last / (sum(load**k / factorial(k) for k in range(machines)) + last)


@pytest.mark.slow
@pytest.mark.parametrize("machines", [1, 2, 4])
@pytest.mark.parametrize("busy", [0.5, 0.8])
def test_the_waits_are_those_of_queues_with_formulas(machines: int, busy: float) -> None:
    minutes, load = 10.0, busy * machines
    programs = load * DAY / minutes
    means = [
        plan_queue(programs, minutes=minutes, machines=[machines], seed=seed).waits[0]
        for seed in range(12)
    ]
    mean = erlang(load, machines) * minutes / (machines - load)
    assert means[0].busy == pytest.approx(busy)
    assert sum(waits.mean_high or 0 for waits in means) / 12 == pytest.approx(mean, rel=0.06)
    equal = sum(waits.mean_low or 0 for waits in means) / 12
    if machines == 1:  # Pollaczek and Khinchine
        assert equal == pytest.approx(mean / 2, rel=0.06)
    assert 0.45 < equal / mean < 0.65  # Cosmetatos: a little more than half


def test_a_queue_by_hand() -> None:
    plan = plan_queue(300, minutes=8, machines=[4, 1, 2], hours=8)
    alone, two, four = plan.waits
    assert [alone.busy, two.busy] == pytest.approx([300 * 8 / DAY, 300 * 4 / DAY])
    assert (alone.mean_low, alone.at_once, four.at_once) == (None, 2_400, 600)
    assert plan.sentences()[0] == "With 1 machine the queue grows every day: use at least 2."
    # In 8 hours 300 programs come and 120 run: the last ones wait for 180 others.
    assert two.most_low == pytest.approx(0.95 * 180 * 4, rel=0.05)
    assert (two.mean_low or 0) > (four.mean_low or 0)
    with pytest.raises(UsageError, match="--minutes must be above 0"):
        plan_queue(1, minutes=0)


def test_what_a_plan_of_runs_says_is_kept() -> None:
    plans = {
        "busy": plan_queue(60, minutes=30, machines=[4, 1, 2], hours=8, seed=3),
        "idle": plan_queue(1, minutes=0.5, machines=[1], hours=24),
    }
    whole = {name: [plan.to_dict(), *plan.sentences()] for name, plan in plans.items()}
    check_kept_document("queues", whole)


@pytest.mark.slow
def test_the_command(tmp_path: Path) -> None:
    options = ("plan", "--programs", "100", "--minutes", "12", "--machines", "1,3")
    process = run_here(*options, cwd=tmp_path)
    assert process.returncode == 0, process.stderr
    assert "all of a day at once" in " ".join(process.stdout.split())
    printed = document(run_here(*options, "--json", cwd=tmp_path), "plan-queue")
    assert [waits["machines"] for waits in printed["waits"]] == [1, 3]
    refused = run_here(*options, "--top", "3", cwd=tmp_path)
    assert (refused.returncode, "A plan of runs" in refused.stderr) == (2, True)
