"""Past leaderboards: how they are read, and the teams that are drawn from them."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from arena.errors import InputError
from arena.simulation.past.boards import PastBoard, read_boards
from arena.simulation.past.statistics import FinalBoard, board_statistics
from arena.simulation.past.teams import Defaults, LikePast, entry_days, typical_board
from arena.utils.tabular import as_json
from kept import check_kept_document

REAL = os.environ.get("ARENA_PAST_BOARDS")
"""A folder of real boards, which are not in the repository."""


def written(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines))
    return path


def test_a_board_with_ranks_is_ordered_best_first_and_larger_is_better(tmp_path):
    rows = ("a,5,0.9,2,0.8,1", "b,1,0.1,1,0.7,9", "c,2,0.2,3,0.9,4", "d,3,0.3,4,1.0,2")
    path = written(
        tmp_path, "loss.csv",
        "team,private_rank,private_score,public_rank,public_score,entries",
        *rows, "e,4,0.4,5,1.1,2", "f,,,6,1.2,3", "g,6,1.0,7,2,0", "h,7,1.1,8,2,inf",
    )  # fmt: skip
    (board,) = read_boards(path)
    assert board.private.tolist() == [-0.1, -0.2, -0.3, -0.4, -0.9]
    assert board.public.tolist() == [-0.7, -0.9, -1.0, -1.1, -0.8]
    assert board.entries is not None
    assert board.entries.tolist() == [9, 4, 2, 2, 1]
    assert board.paired


def test_an_empty_column_of_entries_is_no_entries(tmp_path):
    rows = [f"{number},{1 - number / 10},{1 - number / 10}," for number in range(1, 7)]
    path = written(tmp_path, "empty.csv", "private_rank,private_score,public_score,entries", *rows)
    (board,) = read_boards(path)
    assert (board.n_teams, board.entries) == (6, None)


def test_a_file_of_kaggle_has_the_times_of_last_submissions(tmp_path):
    rows = [
        f"{number},t{number},2024-01-0{number} 10:00:00,{1 - number / 10},{number}"
        for number in range(1, 7)
    ]
    path = written(
        tmp_path, "k.csv", "Rank,TeamName,LastSubmissionDate,Score,SubmissionCount", *rows
    )
    (board,) = read_boards(path)
    assert board.last is not None
    assert board.last.tolist() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
    teams = LikePast((board,)).draw(200, np.random.default_rng(0))
    assert set(np.round(teams.stops, 6)) <= {0, 0.2, 0.4, 0.6, 0.8, 1}
    assert (teams.joins <= teams.stops).all()


def test_two_lists_without_teams_give_a_board_without_pairs_and_entries(tmp_path):
    lists = [
        f"{name},{number},{1 - number / 20}"
        for name in ("public", "private")
        for number in range(1, 9)
    ]
    (board,) = read_boards(written(tmp_path, "lists.csv", "board,rank,score", *lists))
    assert not board.paired
    assert board.entries is None
    assert board.n_teams == 8
    statistics = board_statistics(FinalBoard(board.private, None, board.entries))
    assert statistics["entries of a team, median"] is None
    assert statistics["gap to the top at 25% of the ranks"] is not None


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("team,entries", "a,1"), "no column private_score"),
        (("score", "1", "2"), "at least 5 are needed"),
        (("score", *["3"] * 6), "all scores are equal"),
        ((), "no column private_score"),
    ],
)
def test_other_files_are_refused(tmp_path, lines, said):
    with pytest.raises(InputError, match=said):
        read_boards(written(tmp_path, "a.csv", *lines))
    with pytest.raises(InputError, match=f"holds no leaderboard.*{said}"):
        read_boards(tmp_path)


def test_drawn_teams_have_the_entries_and_the_ties_of_the_board():
    scores = np.concatenate([np.linspace(1, 0.9, 50), np.full(20, 0.8), np.linspace(0.7, 0, 30)])
    entries = np.concatenate([np.full(30, 40.0), np.full(50, 5.0), np.ones(20)])
    board = PastBoard("b", scores, scores**2, paired=True, entries=entries)
    teams = LikePast((board,)).draw(2_000, np.random.default_rng(1))
    assert (teams.entries == 1).mean() == pytest.approx(0.2, abs=0.03)
    assert np.median(teams.entries) == 5
    assert (teams.notebook >= 0).mean() == pytest.approx(0.2, abs=0.03)
    assert len(np.unique(teams.private_gap[teams.notebook >= 0])) == 1
    assert (teams.first_gap[teams.entries == 1] == 0).all()
    late = teams.stops == 1
    assert late.mean() == pytest.approx(Defaults().rush, abs=0.04)


def test_unpaired_scores_are_paired_with_the_default_correlation():
    teams = LikePast((typical_board(),)).draw(3_000, np.random.default_rng(0))
    board = board_statistics(
        FinalBoard(-teams.private_gap, -teams.public_gap, teams.entries.astype(float))
    )
    expected = 2 / np.pi * np.arcsin(Defaults().rank_correlation)
    assert board["tau of public and private scores"] == pytest.approx(expected, abs=0.03)


def test_entries_stay_within_days_and_limits():
    rng = np.random.default_rng(0)
    for entries, joins, stops in ((1, 0.5, 0.5), (3, 0, 1), (60, 0.9, 0.95), (500, 0.3, 0.3)):
        counts = entry_days(entries, joins, stops, 10, 4, Defaults(), rng)
        assert sum(counts) == min(entries, 40)
        assert max(counts) <= 4
    rushed = [entry_days(10, 0, 1, 10, 5, Defaults(), rng)[-1] for _ in range(300)]
    assert np.mean(rushed) > 1.7  # without a rush 1 + 8 / 10


def test_drawn_teams_and_statistics_of_boards_are_kept():
    """Six of 20 teams share a pair of scores; the last entries are spread over the days."""
    private = np.sort(np.concatenate([np.linspace(1, 0, 14) ** 2, np.full(6, 0.5)]))[::-1]
    public = np.where(private == 0.5, 0.4, private + 0.05 * np.cos(np.arange(20)))
    board = PastBoard("b", private, public, paired=True, entries=1.0 + np.arange(20) ** 2 % 7)
    boards = {
        "typical": typical_board(),
        "paired": board,
        "with times": replace(board, last=np.linspace(0, 1, 20)),
        "without pairs": replace(board, paired=False, entries=None),
    }
    document = {}
    for name, past in boards.items():
        final = FinalBoard(past.private, past.public if past.paired else None, past.entries)
        drawn = LikePast((past,)).draw(9, np.random.default_rng(0))
        document[name] = {"drawn": asdict(drawn), "statistics": board_statistics(final)}
    check_kept_document("past-teams", as_json(document))


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="ARENA_PAST_BOARDS names no folder of real boards")
def test_ranges_of_simulated_boards_hold_the_statistics_of_real_ones():
    from arena.simulation.competition.likeness import compare_with_past
    from simulated_competition import few_plugins

    boards = [board for board in read_boards(Path(str(REAL))) if board.n_teams < 400]
    likeness = compare_with_past(boards, simulated=12, rows=3_000, manager=few_plugins())
    for row in likeness.summary():
        assert row["held"] >= row["boards"] - 3, row
    held = [statistic.held for statistic in likeness.compared]
    assert np.mean(held) > 0.85


def test_a_time_without_a_zone_is_utc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    boards = []
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    for zone in ("", "+00:00"):
        times = [
            f"2025-03-{day:02}T12:00:00{zone}" for day in (5, 8, 10, 14, 20)
        ]  # DST from the 9th
        rows = [
            f"{rank},{1 - rank / 10},{position}" for rank, position in enumerate(times, start=1)
        ]
        file = tmp_path / "board.csv"
        file.write_text("\n".join(["Rank,Score,LastSubmissionDate", *rows]))
        boards += read_boards(file)
    monkeypatch.undo()
    time.tzset()
    last = [board.last for board in boards]
    assert last[0] is not None
    np.testing.assert_array_equal(*last)
