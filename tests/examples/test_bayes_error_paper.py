"""The example that reproduces the paper on the Bayes error, in sizes that a test can bear."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DATA = Path(__file__).parents[3] / "shared" / "data" / "soft-labels"


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    import importlib

    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module("bayes_error_paper")
    sys.modules.pop("bayes_error_paper")


@pytest.mark.slow
def test_the_figures_are_drawn_and_their_ends_printed(
    paper: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = paper.simulated(tmp_path, 3, sizes=(8, 32))
    printed = capsys.readouterr().out
    assert {path.name for path in tmp_path.glob("*.svg")} == {f"figure-{n}.svg" for n in (1, 2, 3)}
    assert all(path.with_suffix(".png").exists() for path in tmp_path.glob("*.svg"))
    assert (tmp_path / "figure-2.svg").read_text().count(">Set-up D, noise of") == 2
    assert len(found) == 4 * (2 + 3 + 3)
    assert printed.count("the truth is 9.433%") == 2 + 3 + 3
    assert "noise as the paper has it, cut off at 1" in printed


def test_rows_are_drawn_equally_of_both_classes(paper: ModuleType) -> None:
    rng = np.random.default_rng(0)
    for setup in "AD":
        soft, positive = paper.draw(setup, 500, rng)
        assert (len(soft), len(positive)) == (1_000, 500)
        np.testing.assert_array_equal(soft[:500], positive)
        assert soft[:500].mean() > 0.8
        assert soft[500:].mean() < 0.2


@pytest.mark.slow
def test_what_is_unbiased_reaches_the_truth_and_what_is_not_stays_below(
    paper: ModuleType, tmp_path: Path
) -> None:
    for one in paper.simulated(tmp_path, 40, sizes=(256,)):
        if one.estimator == paper.NAIVE:
            assert one.distance < 4
            assert one.setup == "D" or one.distance < -1
        else:
            assert abs(one.distance) < 4, one


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the real annotations are not here")
def test_the_real_annotations(
    paper: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = paper.annotations(resamples=200)
    paper.real(tmp_path, found)
    printed = capsys.readouterr().out
    assert len(found) == 1 + 5 + 7
    assert "3.478% ± 0.079%  3.529% corrected         published 3.478% ± 0.079%" in printed
    assert "0.502% ± 0.049%" in printed
    assert "8.610% ± 1.122%" in printed
    drawn = {path.name for path in tmp_path.glob("*.svg")}
    assert drawn == {"real-images.svg", "real-papers.svg"}
    assert "published" in (tmp_path / "real-images.svg").read_text()
