"""How the options of a command become the values of a request, at every edge."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from arena.cli.options import check_intervals, target_names
from arena.errors import UsageError
from arena.simulation.requests import CasesPlanRequest, PilotPlanRequest
from program import run_here


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Return the request that the options of ``arena plan`` become."""
    requests = []

    def keep(request, *_, **__):
        requests.append(request)
        raise typer.Exit(0)

    for name in ("pilot.plan_competition", "pilot.plan_files", "questions.plan_table"):
        monkeypatch.setattr(f"arena.simulation.plan.{name}", keep)
    monkeypatch.setattr("arena.simulation.plan.queue.plan_of", keep)

    def run(*options):
        done = run_here("plan", *options, cwd=tmp_path)
        assert done.returncode == (0 if requests else 2), done.stderr
        return requests.pop() if requests else " ".join(done.stderr.split())

    return run


def test_numbers_separated_by_commas_are_read_once_each(planned):
    cases = planned("--from", "t.csv", "--value", "v")
    assert (type(cases), list(cases.table), cases.value) == (
        CasesPlanRequest, [Path("t.csv")], "v"
    )  # fmt: skip
    request = planned("s.csv", "f", "-m", "mae", "--rows", "100,400,100", "--teams", "5")
    assert type(request) is PilotPlanRequest
    assert request.rows == (100, 400)
    # A single number of teams is compared with the default ones, without the first of them, 50.
    assert (request.metric, request.teams) == ("mae", (5, 10, 30, 100, 300))
    assert planned("s.csv", "f", "-m", "mae", "--teams", "5,7").teams == (5, 7)
    directed = planned("s.csv", "f", "-m", "mae", "--greater-is-better")
    assert directed.metric == "mae(lower_is_better=False)"


@pytest.mark.parametrize("text", ["100,", "1.5"])
def test_what_is_no_whole_number_is_refused_with_an_example(planned, text):
    error = planned("s.csv", "f", "-m", "mae", "--rows", text)
    assert "--rows takes whole numbers separated by commas, such as 10,100; not" in error
    assert error.endswith(f"not {text!r}.")


@pytest.mark.parametrize("text", ["inf", "0.1,"])
def test_what_is_no_number_is_refused_with_an_example(planned, text):
    error = planned("s.csv", "f", "-m", "mae", "--public-share", text)
    assert "--public-share takes numbers separated by commas, such as 0.1,0.3; not" in error
    assert error.endswith(f"not {text!r}.")


def test_names_of_columns_are_split_at_commas():
    assert target_names(None) == target_names([]) == ()
    assert target_names(["a , b", "c"]) == ("a", "b", "c")


def test_a_report_needs_intervals():
    check_intervals(False, None, None)
    check_intervals(True, Path("a"))
    with pytest.raises(UsageError) as refused:
        check_intervals(False, None, Path("a"))
    assert str(refused.value) == (
        "A report and its charts show intervals: omit --no-intervals for them."
    )
