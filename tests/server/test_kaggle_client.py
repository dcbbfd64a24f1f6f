"""The official kaggle client, installed from the registry, works unchanged."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from web_site import NAME, WebSite, listening

SAMPLE = b"id,y\na,0\n"
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]


@contextmanager
def served(web: WebSite, port: int) -> Iterator[int]:
    """Serve the site on a port, or a free one, with a scorer that accepts everything."""
    stop = threading.Event()

    def judge() -> None:
        while not stop.wait(0.1):
            web.scorer.judge(web.site, 0.8125)

    thread = threading.Thread(target=judge)
    with listening(web.app, port) as bound:
        thread.start()
        try:
            yield bound
        finally:
            stop.set()
            thread.join(60)


def installed(folder: Path, *packages: str) -> Path:
    """Install a client into an environment of its own; skip where no registry answers in time."""
    venv.create(folder)
    python = folder / "bin" / "python"
    command = [
        sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile",
        "--disable-pip-version-check", *packages,
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"Installing {packages[0]} takes too long here.")
    if done.returncode:
        pytest.skip(f"{packages[0]} cannot be installed here: {done.stderr[-300:]}")
    return folder / "bin" / "kaggle"


def use(kaggle: Path, home: Path, token: str, variables: dict[str, str]) -> None:
    """What a participant does who copies commands from Kaggle's documentation."""
    (home / "mine.csv").write_text("id,y\na,0.5\n")
    environment = {
        "PATH": f"{kaggle.parent}:/usr/bin:/bin", "HOME": str(home), "KAGGLE_USERNAME": "ada",
        "KAGGLE_KEY": token, "KAGGLE_CONFIG_DIR": str(home), "NO_PROXY": "*", "PYTHONUTF8": "1",
        **variables,
    }  # fmt: skip

    def run(*arguments: str, status: int = 0) -> str:
        done = subprocess.run(
            [kaggle, "competitions", *arguments], env=environment, cwd=home,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip
        assert done.returncode == status, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout if status == 0 else done.stdout + done.stderr

    assert NAME in run("list")
    assert "sample_submission.csv" in run("files", NAME)
    run("download", NAME, "-f", "sample_submission.csv", "-p", "data")
    run("download", NAME, "-p", "data")
    run("leaderboard", NAME, "--download", "-p", "board")
    assert (home / "data" / "sample_submission.csv").read_bytes() == SAMPLE
    for file in (home / "data" / f"{NAME}.zip", home / "board" / f"{NAME}.zip"):
        assert zipfile.is_zipfile(file)
    for refused in (
        run("download", NAME, "-f", "train.csv", status=1),
        run("files", "nowhere", status=1),
        run("leaderboard", "nowhere", "--show", status=1),
    ):
        assert "There is no " in refused
    output = run("submit", NAME, "-f", "mine.csv", "-m", 'first "try" ☂ 测试')
    assert "Successfully submitted" in output, output
    end = time.monotonic() + 900
    while "0.8125" not in (mine := run("submissions", NAME)):
        assert time.monotonic() < end, mine
        time.sleep(0.2)
    assert "mine.csv" in mine
    assert 'first "try" ☂ 测试' in mine
    assert "complete" in mine.lower()
    assert 'first ""try"" ☂ 测试' in run("submissions", NAME, "-v")  # as CSV
    board = run("leaderboard", NAME, "--show")
    assert "Ants" in board
    assert "0.8125" in board


@pytest.fixture
def token(web: WebSite) -> str:
    web.scorer.publish(sample=SAMPLE)
    return web.token(web.person("ada", "Ants"))


def test_the_kaggle_client_1_6(web: WebSite, token: str, tmp_path: Path) -> None:
    kaggle = installed(tmp_path / "env", "kaggle==1.6.17", "setuptools")
    with served(web, 0) as port:
        use(kaggle, tmp_path, token, {"KAGGLE_API_ENDPOINT": f"http://127.0.0.1:{port}"})


def test_the_kaggle_client_2(web: WebSite, token: str, tmp_path: Path) -> None:
    """It knows one address beside its maker's: port 80 of this machine."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(served(web, 80))
        except OSError as error:
            pytest.skip(f"Port 80 cannot be bound: {error}.")
        # Version 2.2 imports six without requiring it.
        kaggle = installed(tmp_path / "env", "kaggle>=2,<3", "six")
        use(kaggle, tmp_path, token, {"KAGGLE_API_ENVIRONMENT": "LOCALHOST"})
        # With a bearer token instead of a name and key.
        use(
            kaggle, tmp_path, "unused",
            {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "KAGGLE_API_TOKEN": token},
        )  # fmt: skip
