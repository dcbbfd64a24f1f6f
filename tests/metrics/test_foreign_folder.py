"""A metric that lies in the folder of its competition goes where the folder goes."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from arena import Competition, PluginManager, Settings
from competition_folder import change
from program import UNPROTECTED, run_here, write_csv

pytestmark = pytest.mark.slow

ROWS = [(f"r{row}", row % 2, "Public" if row < 6 else "Private") for row in range(40)]
KAGGLE = """
def score(solution, submission, row_id_column_name):
    return {sign} float(((submission["y"] > 0.5) == solution["y"]).mean())
"""
PLAIN = "def agreement(y_true, y_pred):\n    return float((y_true == y_pred).mean())\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], ROWS)
    for number, team in enumerate(["a", "b"]):
        rows = [
            (id, label if position > number else 1 - label)
            for position, (id, label, _) in enumerate(ROWS)
        ]
        write_csv(tmp_path / f"{team}.csv", ["id", "y"], rows)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "metric.py").write_text(KAGGLE.format(sign="+"))
    (tmp_path / "c" / "mine.py").write_text(PLAIN)
    return tmp_path


def made(work: Path, metric: str) -> None:
    called = run_here(
        "init", "c", "--solution", "solution.csv", *UNPROTECTED, "--metric", metric, cwd=work
    )
    assert called.returncode == 0, called.stderr
    change(work / "c", "resamples = 1000", "resamples = 9")


@pytest.mark.parametrize(
    ("asked", "settled"),
    [
        ("kaggle:c/metric.py", "kaggle:metric.py"),
        pytest.param("c/mine.py:agreement", "mine.py:agreement", marks=pytest.mark.slow),
        pytest.param(
            "mine:agreement(folder=c)", "mine:agreement(folder='.')", marks=pytest.mark.slow
        ),
    ],
)
def test_a_folder_may_be_moved_with_its_metric(work: Path, asked: str, settled: str) -> None:
    made(work, asked)
    assert f'name = "{settled}"' in (work / "c" / "competition.toml").read_text()
    submit = partial(run_here, "submit", "--json")
    first = submit(work / "a.csv", "--team", "a", "-C", "c", cwd=work)
    assert json.loads(first.stdout)["released"] == pytest.approx(5 / 6)
    assert run_here("finalize", cwd=work / "c").returncode == 0
    (work / "elsewhere").mkdir()
    moved = (work / "c").rename(work / "elsewhere" / "d")
    looked = run_here("leaderboard", "--private", cwd=moved)
    assert (looked.returncode, looked.stderr) == (0, "")
    second = submit(work / "b.csv", "--team", "b", "-C", moved, cwd=work)
    assert json.loads(second.stdout)["released"] == pytest.approx(4 / 6)
    rescored = run_here("rescore", "--apply", "--json", "-C", moved, cwd=work)
    assert rescored.returncode == 0, rescored.stderr


def test_the_direction_that_is_taken_is_said_wherever_one_looks(work: Path) -> None:
    made(work, "kaggle:c/metric.py")
    option, assumption = "--lower-is-better", "kaggle:metric.py: assuming larger is better; pass"
    toml = (work / "c" / "competition.toml").read_text()
    assert f"[metric]\n# {assumption} {option} otherwise" in toml
    assert run_here("import", work, cwd=work / "c").returncode == 0
    finalized = run_here("finalize", "--report", "../report.html", cwd=work / "c")
    assert finalized.returncode == 0, finalized.stderr
    technical = (work / "report.html").read_text().partition("How it was computed</h2>")[2]
    assert f'{assumption} <span class="whole">{option}</span> otherwise' in technical


def test_a_manager_keeps_the_metrics_of_two_competitions_apart(work: Path) -> None:
    manager = PluginManager()
    settings = Settings.model_validate({"metric": {"name": "kaggle:metric.py"}})
    for name, sign in (("one", "+"), ("two", "-")):
        (work / name).mkdir()
        (work / name / "metric.py").write_text(KAGGLE.format(sign=sign))
    opened = [
        Competition.create(
            work / name,
            work / "solution.csv",
            settings.model_copy(
                update={"metric": settings.metric.model_copy(update={"name": f"kaggle:{path}"})}
            ),
            manager=manager,
        )
        for name in ("one", "two")
        for path in [work / name / "metric.py"]
    ]
    released = [competition.submit(work / "a.csv", "a").released for competition in opened]
    assert released == [pytest.approx(5 / 6), pytest.approx(-5 / 6)]
    assert [competition.settings.metric.name for competition in opened] == ["kaggle:metric.py"] * 2
    for competition in opened:
        competition.close()
