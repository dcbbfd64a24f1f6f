"""What helps in the first hour: questions, completion, short help, and a guessed usage column."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from arena import Competition
from arena.cli.completion import complete_submission, complete_team
from arena.cli.console import console
from arena.cli.discovery import installed
from arena.cli.init_questions import as_command, ask
from arena.plugin.manager import PluginManager
from program import run_here, write_csv

ROWS = [(f"r{n}", "cat" if n % 3 else "dog", "Public" if n % 2 else "Private") for n in range(24)]


@pytest.fixture
def solution(tmp_path: Path) -> Path:
    write_csv(tmp_path / "solution.csv", ["id", "animal", "part"], ROWS)
    return tmp_path / "solution.csv"


def test_init_asks_and_prints_the_command_that_says_the_same(
    solution: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = {
        "Folder": ["c"],
        "File": ["nothing.csv", str(solution)],
        "Metric": ["auc", "roc_auc"],
        "Positive": ["cat"],
        "Submissions": [3],
        "Deadline": ["2030-01-01T00:00"],
        "Mechanism": ["shield", "kaggle"],
    }
    questions = []

    def prompt(text: str, **_: Any) -> Any:
        questions.append(text.split(maxsplit=1)[0])
        return answers[questions[-1]].pop(0)

    monkeypatch.setattr(typer, "prompt", prompt)
    values = ask(PluginManager(), {"folder": None, "metric": None})
    assert not [left for left in answers.values() if left]
    assert "Share" not in questions  # the column part says which rows are public
    errors = capsys.readouterr().err
    for sentence in (
        "There is no file nothing.csv.",
        "There is no metric 'auc'. Similar: ",
        "default: shows only clear improvements: ladder-free, with the bounds",
        "There is no mechanism 'shield'",
    ):
        assert sentence in errors
    command = shlex.split(as_command(values))
    called = run_here(*command[1:], cwd=solution.parent)
    assert called.returncode == 0, called.stderr
    assert "12 public rows, 12 private" in called.stdout
    assert "Column part holds Public and Private" in called.stderr
    with Competition.open(solution.parent / "c") as competition:
        assert competition.settings.limits.per_day == 3
        assert competition.settings.public.mechanism == "kaggle"
        assert competition.solution.targets[0].classes == ("dog", "cat")


def test_the_default_mechanism_is_left_to_init(
    solution: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typer, "prompt", lambda text, *, default, **_: default)
    values = {"folder": Path("c"), "solution": solution, "metric": "roc_auc"}
    completed = ask(PluginManager(), values)
    assert completed["mechanism"] is None
    assert "--mechanism" not in as_command(completed)


def test_init_without_a_terminal_says_what_is_missing(tmp_path: Path) -> None:
    called = run_here("init", "c", cwd=tmp_path)
    assert called.returncode == 2
    assert "Give --solution and --metric" in called.stderr


@pytest.mark.slow
def test_teams_and_submissions_are_completed(solution: Path) -> None:
    with Competition.create(solution.parent / "c", solution, metric="accuracy") as competition:
        for team, label in (("one", "cat"), ("other", "dog")):
            competition.submit({"id": [row[0] for row in ROWS], "animal": [label] * 24}, team)
    context = SimpleNamespace(params={"directory": str(solution.parent / "c"), "team": "other"})
    assert complete_team(context, "o") == ["one", "other"]
    assert complete_submission(context, "") == ["2"]
    nowhere = SimpleNamespace(params={"directory": "/nothing/here"})
    assert complete_team(nowhere, "") == []


@pytest.mark.slow
def test_select_lists_the_submissions_of_the_team(solution: Path) -> None:
    with Competition.create(solution.parent / "c", solution, metric="accuracy") as competition:
        competition.submit({"id": [row[0] for row in ROWS], "animal": ["cat"] * 24}, "one")
    called = run_here("select", "7", "--team", "one", "-C", "c", cwd=solution.parent)
    assert called.returncode == 2
    assert "is not an accepted submission of this team. It has 1." in called.stderr


def test_a_shell_completes_metrics(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("_ARENA_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "arena score --metric roc_")
    monkeypatch.setenv("COMP_CWORD", "3")
    called = run_here(cwd=tmp_path)
    assert called.stdout.split() == ["roc_auc"]


def _parameters(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    for parameter in command.params:
        yield f"{path} {parameter.name}", parameter
    if hasattr(command, "list_commands"):
        context = command.context_class(command)
        for name in command.list_commands(context):
            below = command.resolve_command(context, [name])[1]  # imports it
            yield from _parameters(below, f"{path} {name}")


@pytest.mark.slow
def test_every_team_metric_and_mechanism_is_completed() -> None:
    names = {"team", "old", "into", "metric", "mechanism", "mechanisms"}
    completed = {
        path: parameter._custom_shell_complete is not None
        for command in installed()
        for path, parameter in _parameters(command.load(), command.name)
        if path.split()[-1] in names
    }
    assert {"submit team", "team merge into", "simulate competition metric"} <= set(completed)
    without = [path for path, done in completed.items() if not done]
    # These take few names of their own.
    assert without == ["bayes-error metric", "sota max metric", "sota estimate metric"]


def test_a_wide_table_ignores_the_width_of_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert console().width == 40
    assert console(wide=True).width == 200


def test_help_has_a_short_name(tmp_path: Path) -> None:
    assert run_here("score", "-h", cwd=tmp_path).stdout.startswith("Usage: arena score")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("part", "counts"),
    [
        (["Public", "Private"] * 12, "12 public rows, 12 private"),
        (["Private"] * 24, None),
        (["Public", "train"] * 12, None),
    ],
)
def test_only_public_and_private_cells_are_a_usage_column(
    tmp_path: Path, part: list[str], counts: str | None
) -> None:
    rows = [(n, n % 5, text) for n, text in enumerate(part)]
    write_csv(tmp_path / "s.csv", ["id", "y", "part"], rows)
    called = run_here("init", "c", "--solution", "s.csv", "--metric", "rmse", cwd=tmp_path)
    if counts is None:
        assert "2 columns could be the target" in called.stderr
    else:
        assert counts in called.stdout


@pytest.mark.parametrize(
    ("team", "begun", "teams", "numbers"),
    [
        (None, "", ["ants", "bees"], ["1", "12", "2"]),
        (None, "1", [], ["1", "12"]),
        ("ants", "", ["ants", "bees"], ["1", "12"]),
        ("owls", "b", ["bees"], []),
    ],
)
def test_teams_and_accepted_submissions_are_completed_from_either_folder(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    team: str | None,
    begun: str,
    teams: list[str],
    numbers: list[str],
) -> None:
    (tmp_path / "competition.toml").touch()
    rows = [
        {"team": name, "submission": number, "status": status}
        for name, number, status in (
            ("ants", 1, "accepted"), ("bees", 2, "accepted"), ("ants", 3, "rejected"),
            ("ants", 12, "accepted"),
        )
    ]  # fmt: skip

    @contextlib.contextmanager
    def look(folder: Path) -> Iterator[Any]:
        assert folder == tmp_path
        yield SimpleNamespace(submissions=lambda: rows)

    monkeypatch.setattr("arena.competition.view.CompetitionView.open", look)
    monkeypatch.chdir(tmp_path)
    for directory in (None, str(tmp_path)):
        context = SimpleNamespace(params={"directory": directory, "team": team})
        assert complete_team(context, begun) == teams
        assert complete_submission(context, begun) == numbers
