"""Every command and Python block of the README and the documentation runs unchanged."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arena import hookspecs
from arena.cli import discovery
from arena.interfaces import Metric
from arena.utils.distribution import DISTRIBUTION
from checkout import python_path
from page_blocks import WIDTH, blocks, shortened, without_numbers
from program import run_here, write_csv

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [
    README,
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts),
]
DRAWN = {"docs/gallery.md"}
"""Pages of which the commands are run when the documentation is built."""
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
NEEDS = {"docs/how-to/code-competition.md": "bwrap"}
"""Programs that a page needs; without them it is skipped."""
LONG = {"docs/tutorials/plan-and-rehearse.md"}
"""Not the README: in the order of the files its worker has the demo for the other pages, too."""
MEASURED = {"coverage", "scale", "reproductions", "simulated-boards", "compatibility"}
"""Pages, or folders of pages, that are tables of measured numbers."""
MOST_WORDS = 55_000
WORDS_OF_TWO_SCREENS = 620
"""Of an explanation, at 1,280 x 900 pixels; with a picture they are some 80 fewer."""
INSTALLS = ("pip ", "uv ", "env/bin/pip ")
"""What these commands install is what the test run uses."""
THINNED = {
    "--seeds 20": "--seeds 2",
    "--days 5 --per-day 20 --rows 2000": "--days 2 --per-day 4 --rows 1000",
}
"""What runs for minutes in the documentation -> what is run here."""


def shell_commands(page: str) -> list[str]:
    lines = [
        line
        for language, text in blocks(ROOT / page)
        if language == "bash"
        for line in text.split("\n")
    ]
    return [line for line in lines if line.strip()]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the README's first command, but for the installation; return its folder and output."""
    folder = tmp_path_factory.mktemp("newcomer")
    done = _shell("arena demo", folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


@pytest.fixture(scope="session")
def small_demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write files such as the demo's, with six teams and without training anything."""
    folder = tmp_path_factory.mktemp("small")
    rng = np.random.default_rng(0)
    digits = rng.integers(0, 10, 400)
    ids = [f"image-{row:04}" for row in range(400)]
    usage = np.where(np.arange(400) % 4 == 0, "Public", "Private")
    rows = [list(row) for row in zip(ids, digits, usage, strict=True)]
    write_csv(folder / "arena-demo" / "solution.csv", ["id", "digit", "Usage"], rows)
    # The first two files of the demo are here too: pages name submissions by their numbers.
    teams = {"1-nearest": 0.95, "11-nearest": 0.9, "tree": 0.8, "ridge": 0.9}
    for team, accuracy in {**teams, "svm-rbf-1": 0.95, "logistic": 0.9}.items():
        sent = np.where(rng.random(400) < accuracy, digits, (digits + 1) % 10)
        file = folder / "arena-demo" / "submissions" / f"{team}.csv"
        write_csv(file, ["id", "digit"], list(zip(ids, sent, strict=True)))
    return folder


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    kept = {key: os.environ[key] for key in ("NUMBA_CACHE_DIR",) if key in os.environ}
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={
            "PATH": path,
            "HOME": str(folder),
            "COLUMNS": "160",
            "PYTHONPATH": python_path(),
            **kept,
        },
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )


def test_the_two_commands_are_in_the_readme() -> None:
    commands = shell_commands("README.md")
    assert commands[0] == "pip install . && arena demo"
    assert 'pip install ".[test]" && pytest' in commands


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(name, marks=pytest.mark.long if name in LONG else ())
        for name in NAMES
        if name not in DRAWN and blocks(ROOT / name)
    ],
)
def test_a_page_runs_from_top_to_bottom(
    page: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder with the files of the demo; the Python blocks of a page share their names."""
    of_demo = page == "README.md" or any(
        language == "output" for language, _ in blocks(ROOT / page)
    )
    if of_demo:
        folder, _ = request.getfixturevalue("demo")
    else:
        folder = request.getfixturevalue("small_demo")
    if page in NEEDS and shutil.which(NEEDS[page]) is None:
        pytest.skip(f"there is no {NEEDS[page]}")
    own = shutil.copytree(folder, tmp_path / "own")
    monkeypatch.setenv("COLUMNS", WIDTH if of_demo else "160")
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    names: dict[str, object] = {}
    printed = ""
    for language, text in blocks(ROOT / page):
        if language == "output":
            assert without_numbers(text) == without_numbers(shortened(printed))
            continue
        if language == "python":
            with contextlib.chdir(own):
                exec(compile(text, page, "exec"), names)  # noqa: S102
            continue
        for command in text.splitlines():
            if not command.strip() or command.startswith(INSTALLS):
                continue
            if command == "arena demo" or command.startswith("python3 -m venv"):
                continue
            for long, short in THINNED.items():
                command = command.replace(long, short)  # noqa: PLW2901
            # The README's first command, `arena demo`, is run as a process; the others save
            # themselves the imports.
            as_process = not re.fullmatch(r"arena [^|<>;&$]*", command)
            done = (
                _shell(command, own) if as_process else run_here(*shlex.split(command)[1:], cwd=own)
            )
            assert done.returncode == 0, f"{command}\n{done.stderr}"
            said = (done.stdout + done.stderr).strip()
            assert said or ">" in command or not command.startswith("arena"), command
            printed = done.stdout or printed


@pytest.mark.slow
def test_the_readme_shows_what_the_demo_prints(demo: tuple[Path, str]) -> None:
    text = re.search(r"^```text\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.M)
    assert text is not None
    printed, documented = (
        [{word.rstrip(".") for word in line.split()} for line in output.splitlines()]
        for output in (demo[1], text[1])
    )
    assert all(any(words <= line for line in printed) for words in documented)


@pytest.mark.slow
def test_what_the_demo_says_next_runs(demo: tuple[Path, str]) -> None:
    folder, shown = demo
    suggested = re.findall(r"^ {4}(arena .*)$", shown, flags=re.MULTILINE)
    assert len(suggested) >= 4
    for command in suggested:
        done = run_here(*shlex.split(command)[1:], cwd=folder)
        assert done.returncode == 0, done.stderr


def test_the_metric_of_the_tutorial_is_one() -> None:
    first = next(
        text
        for language, text in blocks(ROOT / "docs/tutorials/write-a-metric.md")
        if language == "python"
    )
    names: dict[str, object] = {}
    exec(compile(first, "my_plugin", "exec"), names)  # noqa: S102
    (metric,) = names["provide_metrics"]()  # type: ignore[operator]
    assert isinstance(metric, Metric)
    assert metric.score(np.array([1.0, 2.0]), np.array([1.05, 3.0])) == 0.5


def test_what_is_to_be_read_does_not_grow() -> None:
    read = [page for page in PAGES if MEASURED.isdisjoint((page.stem, page.parent.name))]
    words = {
        page: len(page.read_text(encoding="utf-8").split())
        for page in (*read, ROOT / "CHANGELOG.md")
    }
    assert sum(words.values()) <= MOST_WORDS
    explanations = [words[page] for page in read if page.parent.name == "explanation"]
    assert max(explanations) <= WORDS_OF_TWO_SCREENS


def test_every_hook_is_documented() -> None:
    for name, value in vars(hookspecs).items():
        if hasattr(value, "arena_spec"):
            assert value.__doc__, name


def test_every_command_is_in_a_page() -> None:
    own = {
        command.name
        for command in discovery.installed()
        if command.distribution.split()[0] == DISTRIBUTION
    }
    commands = [command for name in NAMES for command in shell_commands(name)]
    named = set(re.findall(r"\barena ([a-z-]+)", "\n".join(commands)))
    assert own <= named


def test_every_column_of_the_board_is_explained() -> None:
    from arena.scoring.result import STANDING_COLUMNS

    table = (ROOT / "docs/reference/columns.md").read_text(encoding="utf-8")
    assert set(STANDING_COLUMNS) <= set(re.findall(r"`([a-z_]+)`", table))


def test_every_file_that_is_linked_exists() -> None:
    missing = []
    for page in NAMES:
        text = (ROOT / page).read_text(encoding="utf-8")
        links = re.findall(
            r'(?:\]\(|src=")([^)"#\s]+)',
            re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE),
        )
        here = (ROOT / page).parent
        missing += [
            (page, link)
            for link in links
            if "://" not in link and "generated" not in link and not (here / link).exists()
        ]
    assert missing == []
