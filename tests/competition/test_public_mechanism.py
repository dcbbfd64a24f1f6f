"""The public mechanism of a competition: from its settings, through restarts, to another one."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.competition.view import CompetitionView
from arena.errors import InputError
from arena.store import Store, Transaction
from program import write_csv
from scenario import IDS, TRUTH, Scenario


def releases(folder: Path, epoch: int) -> list[tuple[int, str, float]]:
    with Store.open(folder / "c" / "arena.duckdb") as store:
        return [
            (release.submission, release.instance, release.release.score)
            for release in store.releases(epoch)
        ]


# -- settings ----------------------------------------------------------------------------------


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("public", "message"),
    [
        ({"mechanism": "laddder"}, "There is no mechanism 'laddder'. Did you mean 'ladder'"),
        ({"mechanism": "ladder(etta=0.1)"}, "no parameter 'etta'. Did you mean 'eta'"),
        ({"mechanism": "ladder(eta=2)"}, "above 0 and at most 1, not 2"),
        ({"mechanism": "ladder(start=baseline)"}, "name the baseline's team"),
    ],
)
def test_a_mechanism_that_cannot_be_is_refused_when_the_settings_are_read(
    scenario: Scenario, public: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        scenario.create(**public)
    assert message in str(caught.value)
    assert not scenario.folder.exists()
    scenario.create().close()
    scenario.configure(**public)
    with pytest.raises(InputError) as caught:
        scenario.reopen()
    assert message in str(caught.value)


def test_a_look_shows_another_mechanism_at_once_while_nothing_is_released(
    scenario: Scenario,
) -> None:
    scenario.create(mechanism="full").close()
    scenario.configure(mechanism="kaggle")
    with CompetitionView.open(scenario.folder) as view:
        assert view.settings.public.mechanism == "kaggle"
    with scenario.reopen() as competition:
        competition.submit(scenario.file(1), "ant")
    scenario.configure(mechanism="full")
    with CompetitionView.open(scenario.folder) as view:
        assert view.settings.public.mechanism == "kaggle"
        assert any("The board follows with the next command" in note for note in view.notes)


@pytest.mark.slow
def test_a_ladder_over_scores_without_bounds_wants_a_clip(scenario: Scenario) -> None:
    ladder = {"mechanism": "ladder"}
    with pytest.raises(InputError, match="a single release can reveal its label"):
        scenario.create(metric="log_loss", **ladder)
    assert not scenario.folder.exists()
    scenario.create(metric="log_loss(clip=0.01)", **ladder).close()
    scenario.configure(metric="log_loss", **ladder)
    with pytest.raises(InputError, match=r"ladder\(clip=2\.8\)"):
        scenario.reopen()
    scenario.configure(metric="log_loss", mechanism="ladder(clip=5)")
    scenario.reopen().close()


@pytest.mark.slow
def test_a_clip_bounds_what_a_row_can_cost(tmp_path: Path, scenario: Scenario) -> None:
    wrong = np.where(np.arange(len(IDS)) < 20, 1 - TRUTH, TRUTH)
    write_csv(tmp_path / "a.csv", ["id", "y"], list(zip(IDS, wrong * 0.98 + 0.01, strict=True)))
    with scenario.create(
        metric="log_loss", mechanism="ladder-free(clip=2, rounding=None)"
    ) as competition:
        released = competition.submit(tmp_path / "a.csv", "a").released
    # Ten of 100 public rows cost 2 and not 4.6, the others 0.01.
    assert released == pytest.approx(0.1 * 2 - 0.9 * math.log(0.99))


@pytest.mark.parametrize(
    ("scope", "refusal"),
    [("team", "for at most 7 submissions"), ("rank", "with no limit on submissions")],
)
def test_a_limit_of_submissions_is_the_budget_of_a_team_and_not_of_a_rank(
    scenario: Scenario, scope: str, refusal: str
) -> None:
    with scenario.create(mechanism="ladder", scope=scope, total=7) as competition:
        assert refusal in " ".join(competition.notes)


@pytest.mark.slow
def test_a_step_too_large_is_said_once_the_baseline_is_known(scenario: Scenario) -> None:
    with scenario.create(mechanism="ladder(eta=0.4)", baseline="base") as competition:
        assert competition.notes == ()
        competition.submit(scenario.file(1, 0.8), "base")
    with scenario.reopen() as competition:
        (note,) = competition.notes
        assert "Choose a smaller eta" in note


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0.55, 0.95), (0.95, 0.55)], ids=["rising", "falling"])
def test_the_best_of_several_baselines_decides_what_is_said_of_the_step(
    scenario: Scenario, order: tuple[float, float]
) -> None:
    with scenario.create(mechanism="ladder(eta=0.2)", baseline="base") as competition:
        for number, right in enumerate(order):
            competition.submit(scenario.file(number, right), "base")
    with scenario.reopen() as competition:  # 0.55 alone would leave room for many steps
        (note,) = competition.notes
        assert "Choose a smaller eta" in note


@pytest.mark.slow
@pytest.mark.parametrize("order", [(0.6, 0.8), (0.8, 0.6)], ids=["rising", "falling"])
def test_a_start_from_the_baseline_is_from_the_best_of_several(
    tmp_path: Path, scenario: Scenario, order: tuple[float, float]
) -> None:
    sections: Any = {"mechanism": "ladder(eta=0.01, start=baseline)", "baseline": "base"}
    with scenario.create(**sections) as competition:
        for right in order:
            competition.submit(scenario.file(1, right), "base")
        started = competition.submit(scenario.file(3, 0.5), "a").released
        best = [row["score"] for row in competition.leaderboard() if row["team"] == "base"]
    with Scenario(tmp_path / "alone").create(**sections) as competition:
        alone = competition.submit(scenario.file(1, 0.8), "base").released
    assert started == alone
    assert best == [alone]


# -- submissions -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scope", ["rank", "team"])
@pytest.mark.parametrize("mechanism", ["ladder-free", "kaggle", "thresholdout"])
def test_a_restart_between_any_two_submissions_changes_nothing(
    tmp_path: Path, scenario: Scenario, mechanism: str, scope: str
) -> None:
    public = {"mechanism": mechanism, "scope": scope}
    files = scenario.history(3)
    Scenario(tmp_path / "restarted").create(**public).close()
    for file, team in files:
        with Scenario(tmp_path / "restarted").reopen() as competition:
            competition.submit(file, team)
            board = competition.leaderboard()
    with Scenario(tmp_path / "open").create(**public) as competition:
        for file, team in files:
            competition.submit(file, team)
        assert competition.leaderboard() == board
    assert releases(tmp_path / "restarted", 1) == releases(tmp_path / "open", 1)


@pytest.mark.slow
def test_an_answer_does_not_depend_on_other_teams(tmp_path: Path, scenario: Scenario) -> None:
    public = {"mechanism": "ladder-free"}
    files = scenario.history(5)
    with Scenario(tmp_path / "all").create(**public) as competition:
        together = [competition.submit(file, team).released for file, team in files]
    for team in {team for _, team in files}:
        with Scenario(tmp_path / team).create(**public) as competition:
            alone = [
                competition.submit(file, team).released for file, sender in files if sender == team
            ]
        assert alone == [
            score for score, (_, sender) in zip(together, files, strict=True) if sender == team
        ]


@pytest.mark.slow
def test_what_could_not_be_stored_is_compared_with_nothing(
    tmp_path: Path, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    mended = np.random.default_rng(3).random(len(TRUTH)) >= 0.6
    files = []
    for name, rows in (("first", mended), ("better", mended & (np.cumsum(mended) > 6))):
        files.append(tmp_path / f"{name}.csv")
        labels = np.where(rows, 1 - TRUTH, TRUTH)
        write_csv(files[-1], ["id", "y"], list(zip(IDS, labels, strict=True)))
    with scenario.create(mechanism="ladder-free") as competition:
        competition.submit(scenario.file(1, 0.5), "a")
        with monkeypatch.context() as patched:
            patched.setattr(Transaction, "append_event", _breaks)
            with pytest.raises(OSError, match="disk"):
                competition.submit(scenario.file(2, 0.9), "a")
        first, better = (competition.submit(file, "b") for file in files)
    # Its number went to the first of team b, beside which a few rows more are significant.
    assert first.submission == 2
    assert better.released > first.released


def _breaks(*_: Any, **__: Any) -> None:
    raise OSError("The disk is full.")


@pytest.mark.slow
def test_a_start_from_the_baseline_waits_for_the_baseline(scenario: Scenario) -> None:
    with scenario.create(
        mechanism="ladder(eta=0.05, start=baseline)", baseline="base"
    ) as competition:
        with pytest.raises(InputError, match="Submit it first"):
            competition.submit(scenario.file(1, 0.9), "a")
        assert competition.submissions() == []
        base = competition.submit(scenario.file(2, 0.7), "base").released
        assert competition.submit(scenario.file(3, 0.6), "a").released == base
        assert (competition.submit(scenario.file(1, 0.9), "a").released or 0) > (base or 1)
        board = {row["team"]: row["rank"] for row in competition.leaderboard()}
        assert board == {"a": 1, "base": None}


@pytest.mark.slow
def test_the_ranks_of_a_board_are_taken_from_the_best_down(
    tmp_path: Path, scenario: Scenario
) -> None:
    uploads = [("a", 0.70), ("b", 0.74), ("c", 0.86), ("a", 0.99), ("d", 0.97), ("b", 0.60)]
    truth = TRUTH.copy()
    with scenario.create(mechanism="ladder(eta=0.1)", scope="rank", baseline="base") as competition:
        for number, (team, right) in enumerate(uploads):
            wrong = np.zeros(len(IDS), dtype=bool)
            wrong[::2][: round(100 * (1 - right))] = True  # every second row is public
            path = tmp_path / f"{number}.csv"
            write_csv(path, ["id", "y"], list(zip(IDS, truth ^ wrong, strict=True)))
            competition.submit(path, team)
        competition.submit(scenario.file(9, 0.8), "base")
        board = [(row["team"], row["rank"], row["score"]) for row in competition.leaderboard()]
    assert releases(tmp_path, 1)[:-1] == [
        (1, "rank 1", 0.7),
        (2, "rank 2", 0.7),  # no better than rank 1 by more than a step
        (3, "rank 1", 0.9),
        (4, "rank 2", 0.9),  # not shown to beat rank 1, though it is 0.99
        (5, "rank 3", 0.9),
        (6, "rank 4", 0.7),
    ]
    assert releases(tmp_path, 1)[-1][1] == "base"
    assert [team for team, rank, _ in board if rank is None] == ["base"]


# -- another mechanism -------------------------------------------------------------------------


@pytest.mark.slow
def test_another_mechanism_releases_again_and_is_recorded(
    tmp_path: Path, scenario: Scenario
) -> None:
    files = scenario.history(6)
    with scenario.create() as competition:
        first = [competition.submit(file, team) for file, team in files]
        competition.disqualify(2, "shared an account")
    scenario.configure(mechanism="ladder(eta=0.1)")
    with scenario.reopen() as competition:
        assert "released again: 5 submissions" in competition.notes[0]
        (event,) = (event for event in competition.events() if event.kind == "board rebuilt")
        released = dict(event.payload["released"])
        assert [*released] == [1, 2, 3, 4, 5, 6]
        assert released.pop(2) is None
        # The same file again is answered as it was first.
        again = competition.submit(files[5][0], files[5][1])
        assert (again.submission, again.released) == (6, first[5].released)
        board = competition.leaderboard()
        assert {row["score"] for row in board} <= set(released.values())
        new_file = competition.submit(scenario.file(99, 0.5), files[5][1])
        assert new_file.released == released[6]
        assert competition.verify_events() is None
    with scenario.reopen() as competition:
        assert not any("released again" in note for note in competition.notes)
    assert [score for *_, score in releases(tmp_path, 1)] == [answer.released for answer in first]
    assert [number for number, *_ in releases(tmp_path, 2)] == [1, 3, 4, 5, 6, 7]


@pytest.mark.slow
def test_another_mechanism_is_what_would_have_been_from_the_start(
    tmp_path: Path, scenario: Scenario
) -> None:
    files = scenario.history(4)
    ladder = {"mechanism": "ladder-free(z=0.5)", "scope": "rank"}
    with Scenario(tmp_path / "late").create() as competition:
        for file, team in files:
            competition.submit(file, team)
    Scenario(tmp_path / "late").configure(**ladder)
    Scenario(tmp_path / "late").reopen().close()
    with Scenario(tmp_path / "early").create(**ladder) as competition:
        for file, team in files:
            competition.submit(file, team)
    assert releases(tmp_path / "late", 2) == releases(tmp_path / "early", 1)
