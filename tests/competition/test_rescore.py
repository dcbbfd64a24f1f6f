"""What changes under way: limits, mechanism, labels, metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena.competition.competition import Competition
from arena.errors import ArenaError, InputError
from small_competition import Clock, file_of, made


@pytest.mark.slow
def test_a_change_of_a_limit_is_recorded_and_counts_at_once(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, limits={"total": 1}) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
        assert competition.submit(file_of(tmp_path, 2), "one").status == "refused"
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace("total = 1", "total = 2"))
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert competition.submit(file_of(tmp_path, 2), "one").status == "accepted"
        changed = [event for event in competition.events() if event.kind == "configuration"]
        assert [event.payload["changes"] for event in changed] == [[["limits.total", 1, 2]]]
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        kinds = [event.kind for event in competition.events()]
        assert kinds.count("configuration") == 1


def test_the_mechanism_stays_once_scores_were_released(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock) as competition:
        competition.submit(file_of(tmp_path, 1), "one")
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace('"full"', '"kaggle(rounding=0.01)"'))
    with pytest.raises(InputError, match="Scores were released by the mechanism full"):
        Competition.open(tmp_path / "c", clock=clock)
    toml.write_text(toml.read_text().replace("kaggle(", "kagle("))
    with pytest.raises(ArenaError, match="Did you mean 'kaggle'"):
        Competition.open(tmp_path / "c", clock=clock)


@pytest.mark.slow
def test_corrected_labels_are_shown_first_and_then_applied(
    tmp_path: Path, solution: Path, clock: Clock
) -> None:
    with made(tmp_path, solution, clock, analysis={"resamples": 20}) as competition:
        for number, team in enumerate(["one", "two", "three"]):
            competition.submit(file_of(tmp_path, number), team)
        before = [row["team"] for row in competition.finalize().standings]
        released = competition.submissions()
        lines = solution.read_text().splitlines()
        flipped = [f"{line[:-1]}{1 - int(line[-1])}" for line in lines[1:]]
        solution.write_text("\n".join([lines[0], *reversed(flipped)]))
        changes = competition.rescore(solution)
        assert [change.team for change in changes] == before[::-1]
        assert [(change.rank_before, change.rank_after) for change in changes] == [
            (3, 1),
            (2, 2),
            (1, 3),
        ]
        assert changes[0].score_after == pytest.approx(1 - (changes[0].score_before or 0))
        assert [row["team"] for row in competition.finalize().standings] == before
        assert competition.rescore(solution, apply=True) == changes
        assert [row["team"] for row in competition.finalize().standings] == before[::-1]
        assert competition.submissions() == released
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert [row["team"] for row in competition.private_leaderboard()] == before[::-1]
        assert competition.events()[-2].kind == "rescored"
        assert competition.verify_events() is None
        assert competition.rescore() == competition.rescore()
        assert not any(change.changed for change in competition.rescore())


@pytest.mark.slow
def test_another_metric_waits_for_a_rescore(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock, analysis={"resamples": 20}) as competition:
        for number, team in enumerate(["one", "two"]):
            competition.submit(file_of(tmp_path, number), team)
        assert competition.notes == ()
    toml = tmp_path / "c" / "competition.toml"
    toml.write_text(toml.read_text().replace('"roc_auc"', '"average_precision"'))
    with Competition.open(tmp_path / "c", clock=clock) as competition:
        assert "until you run arena rescore --apply" in competition.notes[0]
        assert competition.finalize().metric == "roc_auc"
        competition.rescore(apply=True)
        assert competition.notes == ()
        assert competition.finalize().metric == "average_precision"
    toml.write_text(toml.read_text().replace('"average_precision"', '"mae"'))
    with (
        Competition.open(tmp_path / "c", clock=clock) as competition,
        pytest.raises(InputError, match="another kind of prediction"),
    ):
        competition.rescore()


def test_another_solution_is_no_correction(tmp_path: Path, solution: Path, clock: Clock) -> None:
    with made(tmp_path, solution, clock) as competition:
        text = solution.read_text()
        solution.write_text(text.replace("r59,", "r60,"))
        with pytest.raises(InputError, match="use the same ids"):
            competition.rescore(solution)
        solution.write_text(text.replace(",1", ",2"))
        with pytest.raises(InputError, match="classes"):
            competition.rescore(solution)
