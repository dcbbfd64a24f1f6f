"""The paper on the Ladder, in sizes that a test can bear."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.interfaces import PaperOptions
from arena.utils.parallel import NoProgress
from arena_competitors import paper
from arena_competitors.honest_competition import Honest
from attacks import manager
from kept import check_kept_reproduction


def test_figure_3_is_compared_with_the_authors_points_where_they_are(tmp_path: Path) -> None:
    options = PaperOptions(quick=True)
    rows, (plain,) = paper.figure_3(manager(), None, options, NoProgress(), submissions=10)
    compared = {row.published for row in rows if row.published is not None}
    assert compared == set(paper.AT_THE_END.values())
    assert not plain.specification["hconcat"][0]["layer"][1]["data"]["values"]
    for file in paper.PANELS:
        path = tmp_path / f"kaggleboosting-4000-400-5-{file}.csv"
        path.write_text('"x","y","label"\n10,0.49,"Kaggle"\n10,0.49,"Ladder"\n10,0.9,"Test"\n')
    rows, (chart,) = paper.figure_3(manager(), tmp_path, options, NoProgress(), submissions=10)
    assert len(chart.specification["hconcat"][0]["layer"][1]["data"]["values"]) == 3
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


def authors_files(folder: Path) -> Path:
    """Write result files like those of the authors, and return the folder of all papers."""
    files = folder / "ladder"
    files.mkdir()
    for name in paper.PANELS:
        text = "x,y,label\n10,0.46,Kaggle\n20,0.44,Kaggle\n20,0.5,Test\n"
        (files / f"kaggleboosting-4000-400-5-{name}.csv").write_text(text, encoding="utf-8")
    kaggle = [(0.18 + place / 1_000, 0.19 + (place * 7 % 50) / 1_000) for place in range(50)]
    ladder = [(public + (place in (2, 4)) * 0.0025, private)
              for place, (public, private) in enumerate(kaggle)]  # fmt: skip
    for name, pairs in (("kaggle", kaggle), ("ladder", ladder)):
        lines = ["x,y", *(f"{public:.4f},{private:.4f}" for public, private in pairs)]
        text = "\n".join(lines)
        (files / f"top50{name}-private.csv").write_text(text, encoding="utf-8")
    raw = [0.5, 0.9, 0.03, 0.4, 0.2, 0.1, 0.006, 0.004, 0.05]
    for name, factor in (("top10pvals", 1), ("top10pvalsbon", 9)):
        lines = ["x,y", "1,NaN", *(f"{rank},{factor * p}" for rank, p in enumerate(raw, start=2))]
        (files / f"{name}.csv").write_text("\n".join(lines), encoding="utf-8")
    text = "x,y,label\n1,0.186,Kaggle\n1,0.187,Ladder\n2,0.183,Kaggle\n"
    (files / "publicscore-top50.csv").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("kind", ["published", "alone"])
def test_what_the_paper_shows_is_the_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Of a small honest competition, and of attacks whose losses are given."""
    calls: list[Any] = []

    def run_attack(_: Any, attack: str, **settings: Any) -> Any:
        calls.append([attack, settings])
        fall = 0.05 if "rounding=1e-5" in settings["mechanism"] else 0.02
        mean = {
            "released": np.array([0.5, 0.5 + fall / 2]),
            "final_public": np.array([0.5, 0.5 + fall]),
            "fresh": np.array([0.49, 0.51]),
        }
        return SimpleNamespace(
            submissions=[10, 20], mean=mean, last_bias=fall, standard_error={"bias": [0.1, fall]}
        )

    def honest(*sizes: int, **settings: int) -> Honest:
        calls.append(["honest", sizes, settings])
        return Honest(n_rows=90, n_public=30, n_teams=12, n_submissions=40, seed=settings["seed"])

    monkeypatch.setattr(paper, "run_attack", run_attack)
    monkeypatch.setattr(paper, "Honest", honest)
    monkeypatch.setattr(paper, "PluginManager", manager)
    data = authors_files(tmp_path) if kind == "published" else tmp_path
    options = PaperOptions(data=data, quick=kind == "alone", seed=3)
    reproduction = paper.LadderPaper().reproduce(options, NoProgress())
    check_kept_reproduction(f"ladder-{kind}", reproduction, asked=calls)


def test_the_attack_and_the_honest_competition_have_the_sizes_of_the_paper() -> None:
    curve = paper.run_attack(
        manager(), "boosting", mechanism="full", submissions=2, repeats=2, seed=5, scope="rank"
    )
    public, whole = 1 / 4_000, 1 / 8_000  # 12,000 rows, of which 4,000 are public
    for loss, step in ((curve.mean["released"], public), (curve.mean["fresh"], whole)):
        np.testing.assert_allclose(loss * 2 / step, np.round(loss * 2 / step), atol=1e-6)
    honest = Honest()
    sizes = honest.n_rows, honest.n_public, honest.n_teams, honest.n_submissions
    assert sizes == (12_000, 3_600, 200, 1_785)
