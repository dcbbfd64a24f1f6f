"""The paper on the Ladder, in sizes that a test can bear."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from arena.interfaces import PaperOptions
from arena.utils.parallel import NoProgress
from arena_competitors import paper
from arena_competitors.honest_competition import Honest
from attacks import manager


def test_figure_3_is_compared_with_the_authors_points_where_they_are(tmp_path: Path) -> None:
    options = PaperOptions(quick=True)
    rows, (plain,) = paper.figure_3(manager(), None, options, NoProgress(), submissions=10)
    compared = {row.published for row in rows if row.published is not None}
    assert compared == set(paper.AT_THE_END.values())
    assert not plain.specification["hconcat"][0]["layer"][1]["data"]["values"]
    for file in paper.PANELS:
        path = tmp_path / f"kaggleboosting-4000-400-5-{file}.csv"
        path.write_text('"x","y","label"\n10,0.49,"Kaggle"\n10,0.49,"Ladder"\n10,0.9,"Test"\n')
    rows, (drawn,) = paper.figure_3(manager(), tmp_path, options, NoProgress(), submissions=10)
    assert len(drawn.specification["hconcat"][0]["layer"][1]["data"]["values"]) == 3
    assert {row.agrees for row in rows if "Test" in row.quantity} == {False}
    assert {row.agrees for row in rows if "Test" not in row.quantity} == {None, True}


def test_an_honest_board_hardly_changes_under_the_ladder() -> None:
    honest = Honest(n_rows=2400, n_public=720, n_teams=30, n_submissions=150)
    boards = paper.honest_boards(manager(), honest)
    kaggle, ladder = boards["kaggle"], boards["ladder-free"]
    assert kaggle.shape == ladder.shape == (30, 2)
    assert np.median(np.abs(paper.ranks_of(kaggle[:, 1]) - paper.ranks_of(ladder[:, 1]))) <= 1
    # No score under the Ladder is above the one under rounding.
    assert (ladder[:, 0] > kaggle[:, 0] - 1 / 720).all()
    tau = next(row for row in paper.honest_table(manager(), honest) if "tau" in row.quantity)
    assert 0.8 < tau.computed <= 1


def test_table_1_and_figure_6_follow_from_the_authors_files(ladder_data: Path) -> None:
    assert [row.agrees for row in paper.table_1(ladder_data)] == [True] * 5
    rows = list(paper.figure_6(ladder_data))
    assert [row.agrees for row in rows] == [False] * 2 + [True] * 7
    assert [position for position, row in enumerate(rows, start=2) if row.computed < 0.05] == [8, 9]
    names = [chart.name for chart in paper.authors_charts(ladder_data)]
    assert names == ["figure-4-kaggle", "figure-4-ladder", "figure-5", "figure-6"]


@pytest.mark.slow
def test_the_bias_of_several_accounts() -> None:
    rows = list(paper.several_teams(manager(), 60, (1, 60), 2, 0, paper.SYBIL[:2]))
    one_team, many_teams = rows[0].computed, rows[1].computed
    assert len(rows) == 4
    assert many_teams > one_team
