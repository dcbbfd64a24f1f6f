"""Own scorers that count each case: a score of the sums, and intervals for whole files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import ArenaError, MetricError, ScoringError
from arena.evaluation.case_counts import MetricOfCounts
from arena.intake.whole_file import cell_of_file
from arena.interfaces import CountsCases, Metric
from arena.plugin.manager import PluginManager
from arena.scoring.score import score
from arena.scoring.settings import BoardSettings, ScoreSettings
from arena.types import FloatArray, IntArray

LABELS = {
    "": "truth, sent = gold, submission",
    "(format=raw)": "truth, sent = (np.loadtxt(path) for path in (gold, submission))",
}
SCORER = """
import numpy as np

def case_statistics(gold, submission):
    {labels}
    return np.stack([truth * sent, truth + sent], axis=-1)

def combine(sums):
    return {score}
"""
RATIO = "2 * sums[..., 0] / sums[..., 1]"
FORMS = pytest.mark.parametrize("form", LABELS)
N_CASES, N_TEAMS = 60, 3
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 2, N_CASES)
SENT = np.where(RNG.random((N_TEAMS, N_CASES)) < [[0.1], [0.2], [0.3]], 1 - TRUTH, TRUTH)


def scorer(home: Path, form: str, score: str = RATIO) -> Any:
    path = home / "scorer.py"
    path.write_text(SCORER.format(labels=LABELS[form], score=score))
    return PluginManager().metrics.resolve(f"{path}:case_statistics{form}")


def given(labels: IntArray, form: str) -> Any:
    """Return what the metric gets of these labels."""
    return np.array([cell_of_file("x.txt", text(labels).encode())]) if form else labels


def text(labels: IntArray) -> str:
    return "\n".join(map(str, labels.tolist()))


def f1_resampled(weights: IntArray) -> FloatArray:
    f1: Any = PluginManager().metrics.resolve("f1")
    scores: FloatArray = f1.resample(TRUTH, SENT, weights)
    return scores


@FORMS
def test_resamples_are_scores_of_sums_of_counts(tmp_path: Path, form: str) -> None:
    metric = scorer(tmp_path, form)
    assert isinstance(metric, CountsCases)
    weights = RNG.poisson(1.0, (N_CASES, 5)).astype(np.uint8)
    counters = [metric.counter(given(TRUTH, form), given(prediction, form)) for prediction in SENT]
    counts = np.stack([pickle.loads(pickle.dumps(counter))() for counter in counters])  # noqa: S301 - ours
    resampled = MetricOfCounts(metric).resample(np.zeros(N_CASES), counts, weights)
    np.testing.assert_allclose(resampled, f1_resampled(weights), rtol=1e-12)
    once = f1_resampled(np.ones((N_CASES, 1), np.uint8))[:, 0]
    scores = [metric.score(given(TRUTH, form), given(prediction, form)) for prediction in SENT]
    np.testing.assert_allclose(scores, once, rtol=1e-12)


@pytest.mark.parametrize("returned", ["2 * sums[0] / sums[1]", "0.5", "None", "sums"])
def test_combine_must_take_many_sums_at_once(tmp_path: Path, returned: str) -> None:
    metric: Metric = scorer(tmp_path, "", returned)
    with pytest.raises(MetricError, match=r"scorer.py must return .* a score for each row of sums"):
        metric.score(TRUTH, SENT[0])


def test_counts_are_numbers_with_a_row_for_each_case(tmp_path: Path) -> None:
    path = tmp_path / "scorer.py"
    for returned in ("None", "'x'", "[['x']]", "[1, 2]", "[[]]", "[[float('nan')]]", "{}"):
        path.write_text(
            f"def case_statistics(gold, submission):\n    return {returned}\n"
            "def combine(sums):\n    return sums[..., 0]\n"
        )
        metric: Any = PluginManager().metrics.resolve(f"{path}:case_statistics")
        with pytest.raises(ScoringError) as refused:
            metric.score(TRUTH, SENT[0])
        assert str(refused.value) == (
            "scorer.py:case_statistics must return an array of finite numbers with a row for each "
            "case and a column for each count."
        )


MISBEHAVES = {
    "__import__('os')._exit(0)": "failed on sums of counts: its process crashed or was killed",
    "__import__('sys').exit(0)": "failed with SystemExit at .*scorer.py, line 9",
    "gold": "failed with NameError at .*scorer.py, line 9",
    "print('x') or sums[..., 0]": "",
}
"""What ``combine`` does -> what is said, or nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("does", MISBEHAVES)
def test_combine_runs_in_another_process(
    tmp_path: Path, does: str, capfd: pytest.CaptureFixture[str]
) -> None:
    metric = MetricOfCounts(scorer(tmp_path, "", does))
    counts, weights = np.ones((1, N_CASES, 2)), np.ones((N_CASES, 3), np.uint8)
    if message := MISBEHAVES[does]:
        with pytest.raises(MetricError, match=message):
            metric.resample(np.zeros(N_CASES), counts, weights)
    else:
        resampled = metric.resample(np.zeros(N_CASES), counts, weights)
        assert resampled.tolist() == [[N_CASES] * 3]
    assert capfd.readouterr().out == ""


def test_a_file_that_counts_needs_combine(tmp_path: Path) -> None:
    (tmp_path / "scorer.py").write_text("def case_statistics(gold, submission): ...")
    with pytest.raises(ArenaError, match="has no function 'combine', which makes a score"):
        PluginManager().metrics.resolve(f"{tmp_path / 'scorer.py'}:case_statistics")


@pytest.mark.slow
def test_whole_files_have_the_intervals_of_their_cases(tmp_path: Path) -> None:
    """As the same labels have by F1 of a table; and none if a file has other cases."""
    scorer(tmp_path, "(format=raw)")
    (tmp_path / "gold.txt").write_text(text(TRUTH))
    (tmp_path / "sent").mkdir()
    for team, prediction in zip("abc", SENT, strict=True):
        (tmp_path / "sent" / f"{team}.txt").write_text(text(prediction))
    board = BoardSettings(workers=1, resamples=150)
    settings = ScoreSettings(f"{tmp_path}/scorer.py:case_statistics(format=raw)", board=board)
    result = score(tmp_path / "gold.txt", [tmp_path / "sent"], settings)
    ids = [str(row) for row in range(N_CASES)]
    table = {"id": ids, "y": TRUTH.tolist()}
    teams = {
        team: {"id": ids, "y": prediction.tolist()}
        for team, prediction in zip("abc", SENT, strict=True)
    }
    same = score(table, teams, ScoreSettings("f1", board=board))
    columns = ("team", "score", "rank_low", "rank_high")
    assert [[row[name] for name in columns] for row in result.standings] == [
        [row[name] for name in columns] for row in same.standings
    ]
    assert any(f"the {N_CASES} cases that it counts" in note for note in result.notes)
    shorter = (
        LABELS["(format=raw)"]
        + "; n = int((sent != truth).sum()) + 9; truth, sent = truth[:n], sent[:n]"
    )
    path = tmp_path / "scorer.py"
    path.write_text(SCORER.format(labels=shorter, score=RATIO))
    result = score(tmp_path / "gold.txt", [tmp_path / "sent"], settings)
    assert len(result.standings) == N_TEAMS
    assert any("the same number of cases of each submission" in note for note in result.notes)
