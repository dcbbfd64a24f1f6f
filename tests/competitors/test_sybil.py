"""One person behind many teams, and what each defence does to it."""

from __future__ import annotations

import pytest

from arena_competitors.campaign import Curve
from attacks import run_attack


def bias(curve: Curve) -> float:
    return curve.last_bias


def board(mechanism: str, teams: int, scope: str = "team", **sizes: int) -> Curve:
    return run_attack(f"sybil(of=boosting, teams={teams})", mechanism, scope=scope, **sizes)


SIZES = {"rows": 400, "total_rows": 1200, "submissions": 70, "repeats": 10}


@pytest.fixture(scope="module")
def plain() -> dict[int, float]:
    """Provide the bias by the number of teams, with an instance for each."""
    return {teams: bias(board("ladder(eta=0.05)", teams, **SIZES)) for teams in (1, 7, 70)}


@pytest.mark.slow
def test_more_teams_read_more_off_a_ladder_for_each_team(plain: dict[int, float]) -> None:
    assert plain[1] < plain[7] < plain[70]
    assert plain[70] > plain[1] + 0.03


@pytest.mark.slow
def test_several_teams_are_one_where_there_is_an_instance_per_rank(
    plain: dict[int, float],
) -> None:
    for teams in (1, 70):
        ranked = bias(board("ladder(eta=0.05)", teams, "rank", **SIZES))
        assert ranked == pytest.approx(plain[1], abs=0.01)


@pytest.mark.slow
def test_a_baseline_start_and_a_larger_step_help(plain: dict[int, float]) -> None:
    started = bias(board("ladder(eta=0.05, start=baseline)", 70, **SIZES))
    larger = bias(board("ladder(eta=0.1)", 70, **SIZES))
    assert started < plain[70] - 0.02
    assert larger < plain[70]


@pytest.mark.slow
def test_700_submissions_against_a_ladder_of_4000_rows() -> None:
    """What the example's table has, in one place for each defence."""
    sizes = {"rows": 4000, "total_rows": 12000, "submissions": 700, "repeats": 3}
    single, seventy, all_of_them = (board("ladder(eta=0.01)", n, **sizes) for n in (1, 70, 700))
    assert bias(single) == pytest.approx(0.018, abs=0.008)
    assert bias(seventy) == pytest.approx(0.075, abs=0.015)
    assert bias(all_of_them) == pytest.approx(0.107, abs=0.015)
    assert bias(board("ladder(eta=0.01, start=baseline)", 700, **sizes)) < bias(all_of_them)
    assert bias(board("ladder(eta=0.03)", 700, **sizes)) < 0.085
    assert bias(board("ladder(eta=0.01)", 70, "rank", **sizes)) < 0.03
