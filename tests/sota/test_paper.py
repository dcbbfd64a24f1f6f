"""The paper on multiplicity: what agrees, and what does not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from arena.interfaces import PaperOptions
from arena.utils.parallel import NoProgress
from arena_sota import paper
from arena_sota.paper import Multiplicity
from kept import check_kept_reproduction

DATA = Path(__file__).parents[3] / "shared" / "data"


class Drawn(SimpleNamespace):
    """Numbers for the best of some scores that tell what was asked for."""

    def interval(self) -> tuple[float, float]:
        return self.mean - 0.01, self.mean + 0.02


def boards_in(folder: Path) -> Path:
    """Write three small boards, and return their folder."""
    (folder / "kaggle-boards").mkdir()
    for name, lines in {
        "mci-prediction": ["board,score", "private,0.612", "public,0.9", "private,0.6", "private,"],
        "mlcontest": ["private_score", "0.9259", "0.8889", "0.8889"],
        "mlsp-2014-mri": ["private_score", "0.92", "0.9", "0.88"],
    }.items():
        file = folder / "kaggle-boards" / f"{name}.csv"
        file.write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_what_the_paper_shows_is_the_kept_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The printed numbers are computed; the curves are of numbers that tell their settings."""
    printed = [*paper.printed_numbers()]
    calls: list[Any] = []

    def sample_maximum(n: int, theta: Any, m: int, **settings: Any) -> Drawn:
        mean = theta if isinstance(theta, float) else float(theta.mean())
        calls.append([n, round(mean, 6), m, settings])
        probabilities = np.array([0.0, 0.0004, 0.2996, 0.5, 0.2])
        return Drawn(
            mean=mean, std=m / 1_000 + settings.get("rho0", 0.0), bias=n / 1_000,
            scores=np.linspace(0.9, 0.94, 5), probabilities=probabilities,
            cumulative=probabilities.cumsum(),
        )  # fmt: skip

    def auc_maximum(aucs: Any, *settings: Any, repetitions: int) -> Drawn:
        sizes, rng = settings[:2], settings[2]
        calls.append([aucs.min(), len(aucs), *sizes, rng.random(), repetitions])
        draws = np.linspace(0.94, 0.97, 101)
        return Drawn(mean=0.957, std=0.0045, simulation_error=1e-4, draws=draws)

    for function in (sample_maximum, auc_maximum):
        monkeypatch.setattr(paper, function.__name__, function)
    monkeypatch.setattr(paper, "printed_numbers", lambda: iter(printed))
    monkeypatch.setattr(paper, "M", 40)
    for name, data in (("alone", None), ("boards", boards_in(tmp_path))):
        calls.clear()
        options = PaperOptions(data=data, quick=data is not None, charts=data is None, seed=3)
        reproduction = Multiplicity().reproduce(options, NoProgress())
        check_kept_reproduction(f"multiplicity-{name}", reproduction, asked=calls)


@pytest.mark.slow
def test_all_but_three_printed_numbers_agree() -> None:
    data = DATA if DATA.is_dir() else None
    reproduction = Multiplicity().reproduce(PaperOptions(data=data, quick=True), NoProgress())
    wrong = {row.quantity: row for row in reproduction.figures if row.agrees is False}
    assert len(wrong) == 3
    mean = wrong["mean, b - a = 0.025"]
    assert (mean.published, round(mean.computed or 0, 4)) == (0.9129, 0.9130)
    assert wrong["standard deviation, rho0 0.6, b - a = 0.025"].published == 0.0036
    assert "does not follow" in next(row.note for name, row in wrong.items() if "85%" in name)
    assert all(row.note for row in wrong.values())
    assert sum(row.agrees is True for row in reproduction.figures) == 48
    names = {chart.name for chart in reproduction.charts}
    assert {"figure-2-pmf", "figure-3", "figure-6-cdf", "figure-10b"} <= names
    assert any("kaggle-boards" in text for text in reproduction.missing) == (data is None)
