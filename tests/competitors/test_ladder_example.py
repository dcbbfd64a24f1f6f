"""The example that reproduces the paper, in sizes that a test can bear."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    import importlib

    monkeypatch.syspath_prepend(str(EXAMPLES))
    for name in ("ladder_paper", "honest_competition"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("ladder_paper")


def test_figure_3_is_drawn_with_and_without_the_authors_curves(
    paper: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authors = tmp_path / "authors"
    paper.figure_3(tmp_path, authors, submissions=20, repeats=2)
    plain = (tmp_path / "figure-3.svg").read_text(encoding="utf-8")
    assert "published" not in capsys.readouterr().out
    authors.mkdir()
    for file in paper.PANELS:
        path = authors / f"kaggleboosting-4000-400-5-{file}.csv"
        path.write_text('"x","y","label"\n10,0.49,"Kaggle"\n10,0.49,"Ladder"\n10,0.5,"Test"\n')
    paper.figure_3(tmp_path, authors, submissions=20, repeats=2)
    drawn = (tmp_path / "figure-3.svg").read_text(encoding="utf-8")
    assert "published 0.4900" in capsys.readouterr().out
    assert drawn.count("<path") == plain.count("<path") + 6


def test_an_honest_board_hardly_changes_under_the_ladder(
    paper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = paper.Honest(n_rows=2400, n_public=720, n_teams=30, n_submissions=150)
    boards = paper.table_1(honest)
    kaggle, ladder = boards["kaggle"], boards["ladder-free"]
    assert len(kaggle) == len(ladder) == 30
    moved = np.abs(kaggle["private rank"] - ladder["private rank"])
    assert moved.median() <= 1
    # Under the Ladder nobody is shown better than under rounding.
    assert (ladder["public"] > kaggle["public"] - 1 / 720).all()
    assert "Kendall" in capsys.readouterr().out


def test_figure_6_is_tested_on_what_is_stored(paper: ModuleType, tmp_path: Path) -> None:
    """Against scipy's paired t test on the predictions themselves."""
    from scipy.stats import ttest_rel

    honest = paper.Honest(n_rows=600, n_public=180, n_teams=12, n_submissions=30)
    raw = paper.figure_6(tmp_path, tmp_path, honest)
    rows = honest.rows(paper.MANAGER.metrics.resolve("brier"))
    best: dict[int, tuple[float, np.ndarray]] = {}
    for team, prediction in honest.submissions():
        public = float(((prediction[:180] - rows.public_truth) ** 2).mean())
        losses = (prediction[180:] - rows.hidden_truth) ** 2
        if team not in best or public < best[team][0]:
            best[team] = (public, losses)
    first, *others = [losses for _, losses in sorted(best.values(), key=lambda one: one[0])[:10]]
    expected = [ttest_rel(first, other).pvalue for other in others]
    np.testing.assert_allclose(raw, expected, rtol=1e-8)
    assert (tmp_path / "figure-6.svg").stat().st_size > 5_000


def test_the_published_correction_is_nine_times_the_raw(
    paper: ModuleType, ladder_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paper.check_authors(ladder_data)
    assert "corrected = 9 x raw: True; significant at 0.05: [8, 9]" in capsys.readouterr().out


def test_the_table_of_several_accounts_is_printed(
    paper: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    curves = paper.sybil_table(12, (1, 12), 2, paper.SYBIL[:2])
    assert set(curves) == {("ladder(eta=0.01)", s, n) for s in ("team", "rank") for n in (1, 12)}
    assert capsys.readouterr().out.count("±") == 4
