"""A competition is protected unless its organiser says otherwise."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from arena.competition.competition import Competition
from arena.config import read_settings
from arena.types import Usage
from competition_folder import IDS, document, write_file
from program import run_here, write_csv

PROTECTED = r"ladder-free\(noise=[24]\)"
"""The noise follows from the labels of the public rows, which are drawn with a secret seed."""


def init(folder: Path, *arguments: object, metric: str = "roc_auc", usage: str = "") -> Any:
    header = ["id", "y", *(["Usage"] if usage else [])]
    rows = [(i, row % 2 if metric == "roc_auc" else row, usage) for row, i in enumerate(IDS)]
    write_csv(folder / "solution.csv", header, [row[: len(header)] for row in rows])
    called = run_here(
        "init", "c", "--solution", "solution.csv", "--metric", metric, *arguments, cwd=folder
    )
    assert called.returncode == 0, called.stderr
    return called.stdout, read_settings(folder / "c" / "competition.toml")


@pytest.mark.slow
def test_init_protects_the_public_board_by_default(tmp_path: Path) -> None:
    output, settings = init(tmp_path)
    assert re.fullmatch(PROTECTED, settings.public.mechanism)
    assert settings.limits.per_day == 5
    assert "No deadline is set" in output
    assert "column y = P(1), or any score that is larger for the positive class" in output
    assert "Warning" not in output
    for number in range(6):
        file = write_file(tmp_path / f"{number}.csv", number)
        called = run_here("submit", file, "-t", "a", "--json", "-C", "c", cwd=tmp_path)
        status = document(called, "submit", code=number == 5)["status"]
        assert status == ("refused" if number == 5 else "accepted")


def test_init_says_that_a_deadline_has_passed(tmp_path: Path) -> None:
    output, settings = init(tmp_path, "--deadline", "2020-01-01T00:00:00+02:00")
    assert re.fullmatch(PROTECTED, settings.public.mechanism)
    assert "Warning: the deadline 2019-12-31 22:00 UTC has passed" in output
    assert "No deadline" not in output


def test_init_protects_each_phase_by_its_own_metric(tmp_path: Path) -> None:
    rows = [(i, row % 2, f"{'abc'[row % 3]} public") for row, i in enumerate(IDS)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    phases = {"a": "accuracy", "b": "roc_auc", "c": ""}
    text = '[metric]\nname = "log_loss"\n' + "".join(
        f'[phase.{name}]\npublic_rows = "{name} public"\n'
        + (f'metric = "{metric}"\n' if metric else "")
        for name, metric in phases.items()
    )
    (tmp_path / "settings.toml").write_text(text, "utf-8")
    process = run_here(
        "init", "c", "--solution", "solution.csv", "--settings", "settings.toml", cwd=tmp_path
    )
    assert process.returncode == 0, process.stderr
    settings = read_settings(tmp_path / "c" / "competition.toml")
    by_phase = {name: settings.in_phase(name).public.mechanism for name in phases}
    assert by_phase["c"] == settings.public.mechanism
    assert "clip" in by_phase["c"]
    assert by_phase["a"] == "ladder-free"
    assert by_phase["b"].startswith("ladder-free(noise=")


@pytest.mark.slow
def test_init_names_the_phase_of_an_end_and_a_command_that_is_accepted(tmp_path: Path) -> None:
    rows = [(i, row % 2, ("Public", "Private")[row % 2]) for row, i in enumerate(IDS)]
    write_csv(tmp_path / "solution.csv", ["id", "y", "Usage"], rows)
    ends = {"over": ("2020-01-01", ""), "open": ("2999-01-01", "[question.method]\nrequired=true")}
    for name, (end, question) in ends.items():
        phases = "".join(f"[phase.{phase}]\nend = {end}\n" for phase in ("dev", "final"))
        text = f'[metric]\nname = "accuracy"\n{phases}{question}\n'
        (tmp_path / "settings.toml").write_text(text, "utf-8")
        process = run_here(
            "init", name, "--solution", "solution.csv", "--settings", "settings.toml", cwd=tmp_path
        )
        assert process.returncode == 0, process.stderr
        if name == "over":
            assert "the end 2020-01-01 00:00 UTC has passed" in process.stdout
            assert "Set a later one under [phase." in process.stdout
            continue
        assert "The end of the phase dev is 2999-01-01 00:00 UTC." in process.stdout
        (command,) = re.findall("^ +arena (submit .*)$", process.stdout, re.MULTILINE)
        submission = run_here(*shlex.split(command), cwd=tmp_path)
        assert (submission.returncode, "accepted" in submission.stdout) == (0, True), (
            submission.stderr
        )


def test_init_says_the_deadline_in_utc(tmp_path: Path) -> None:
    output, _ = init(tmp_path, "--deadline", "2999-01-01T20:30+02:00", "--mechanism", "full")
    assert "The deadline is 2999-01-01 18:30 UTC." in output


@pytest.mark.slow
def test_init_says_what_it_does_for_a_metric_without_bounds(tmp_path: Path) -> None:
    output, settings = init(tmp_path, "--deadline", "2999-01-01", metric="mae")
    clip = settings.public.mechanism
    assert re.fullmatch(r"ladder-free\(clip=[\d.]+, noise=2\)", clip)
    assert settings.competition.deadline == datetime(2999, 1, 1, tzinfo=UTC)
    assert "deadline is set" not in output
    again = run_here(
        "init", "d", "--solution", "solution.csv", "--metric", "mae", "--mechanism", clip,
        cwd=tmp_path,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    refused = run_here(
        "init", "e", "--solution", "solution.csv", "--metric", "mae", "--mechanism", "ladder",
        cwd=tmp_path,
    )  # fmt: skip
    # The rows are split again, so the bound differs.
    assert re.search(
        r"for example ladder\(clip=[\d.]+\): a few times what a constant prediction costs\.",
        refused.stderr,
    ), refused.stderr


def test_init_warns_of_what_is_asked_for_without_protection(tmp_path: Path) -> None:
    output, settings = init(tmp_path, "--mechanism", "full", "--per-day", 0)
    assert settings.limits.per_day is None
    assert "Warning: the mechanism full shows every score" in output
    assert "Warning: the number of submissions is not limited" in output
    wrong = run_here(
        "init", "d", "--solution", "solution.csv", "--metric", "roc_auc", "--deadline", "soon",
        cwd=tmp_path,
    )  # fmt: skip
    assert (wrong.returncode, (tmp_path / "d").exists()) == (2, False)
    assert "--deadline is 'soon', not a time such as" in wrong.stderr


@pytest.mark.few(1)
@pytest.mark.parametrize("share", [None, 0.5])
def test_a_usage_column_of_private_rows_keeps_them_private(
    tmp_path: Path, share: float | None
) -> None:
    init(tmp_path, *(["--public-share", share] if share else []), usage="Private")
    with Competition.open(tmp_path / "c") as competition:
        public = int((competition.solution.usage == Usage.PUBLIC).sum())
    assert public == round((share or 0) * len(IDS))


@pytest.mark.slow
def test_a_team_is_disqualified_and_reinstated_by_command(tmp_path: Path) -> None:
    init(tmp_path)
    file = write_file(tmp_path / "a.csv", 1)
    for command in (
        ("submit", file, "-t", "a"),
        ("disqualify", "--team", "a", "--reason", "two accounts"),
        ("disqualify", "--team", "a", "--undo", "--reason", "a mistake"),
    ):
        called = run_here(*command, "-C", "c", cwd=tmp_path)
        assert called.returncode == 0, called.stderr
    assert "The team a counts again." in called.stdout
    both = run_here("disqualify", 1, "--team", "a", "--reason", "x", "-C", "c", cwd=tmp_path)
    assert (both.returncode, "either" in both.stderr) == (2, True)


def test_mechanisms_are_listed_and_described(tmp_path: Path) -> None:
    listed = document(run_here("mechanisms", "--json", cwd=tmp_path), "mechanisms")["mechanisms"]
    assert {"full", "kaggle", "ladder", "ladder-free"} <= {
        mechanism["name"] for mechanism in listed
    }
    assert all(mechanism["description"] for mechanism in listed)
    output = run_here("mechanisms", "ladder(eta=0.02)", cwd=tmp_path)
    assert "Parameter eta = 0.02: The step" in output.stdout
    assert run_here("mechanisms", cwd=tmp_path).returncode == 0
    assert run_here("mechanisms", "laddre", cwd=tmp_path).returncode == 1


@pytest.mark.slow
def test_the_public_board_has_the_direction_that_the_organiser_states(tmp_path: Path) -> None:
    code = "def distance(y_true, y_pred):\n    return float(abs(y_true - y_pred).mean())\n"
    (tmp_path / "distance.py").write_text(code)
    metric = f"{tmp_path / 'distance.py'}:distance"
    init(tmp_path, "--lower-is-better", metric=metric)
    called = run_here("leaderboard", "--json", "-C", "c", cwd=tmp_path)
    assert document(called, "leaderboard")["greater_is_better"] is False
