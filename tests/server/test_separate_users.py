"""A server with three users: what the web process and the process that reads files cannot do."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import bench_serve
import pytest

from checkout import python_path
from served import predictions
from serving import PATIENCE, Server, board, children, running, tokens_of, until

pytestmark = pytest.mark.slow

OWNER, WEB, CHECKER = "games", "nobody", "daemon"
"""Users of every Debian system: the owner of the competition, and of the two processes."""
TRY = """\
import json, os, socket, sys
done = []
def attempt(what, action):
    try:
        action()
    except OSError:
        return
    done.append(what)
def connect(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(path)
def memory(pid):
    with open(f"/proc/{pid}/maps") as maps:
        start = int(maps.readline().partition("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb") as file:
        file.seek(start)
        file.read(1)
for what, (kind, *rest) in json.loads(sys.argv[1]).items():
    attempt(what, lambda: {
        "list": lambda: os.listdir(*rest), "open": lambda: open(*rest, "rb").close(),
        "connect": lambda: connect(*rest), "memory": lambda: memory(*rest),
        "kill": lambda: os.kill(*rest, 0),
    }[kind]())
print(json.dumps(done))
"""


@dataclass(frozen=True)
class Separate:
    """A running server and how each user starts Python."""

    server: Server
    folder: Path
    python: str
    environment: Mapping[str, str]

    def done_by(self, user: str, attempts: Mapping[str, tuple[object, ...]]) -> set[str]:
        """Return which attempts succeed as a user."""
        answer = subprocess.run(
            [self.python, "-c", TRY, json.dumps(attempts)],
            **as_user(user), env=self.environment, capture_output=True, check=True,
        )  # fmt: skip
        return set(json.loads(answer.stdout))


def as_user(name: str) -> dict[str, object]:
    account = pwd.getpwnam(name)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": [], "cwd": "/"}


def usable_python(environment: Mapping[str, str]) -> str | None:
    """Return an interpreter with which every user can run arena."""
    for python in (sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"):
        try:
            subprocess.run(
                [python, "-c", "import arena, numpy, uvicorn"],
                **as_user(WEB), env=environment, check=True, capture_output=True,
            )  # fmt: skip
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    return None


@pytest.fixture
def separate(created: Path) -> Iterator[Separate]:
    if os.geteuid() != 0:
        pytest.skip("only root can start processes of other users")
    environment = {
        "PATH": os.environ["PATH"], "PYTHONPATH": python_path(*filter(None, sys.path)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    try:
        python = usable_python(environment)
        owner = pwd.getpwnam(OWNER)
    except KeyError:
        pytest.skip("this system has other users")
    if python is None:
        pytest.skip("other users cannot run this Python")
    with tempfile.TemporaryDirectory() as temporary:  # pytest's own is only for its user
        root = Path(temporary)
        root.chmod(0o711)
        folder = Path(shutil.copytree(created, root / "race"))
        (folder / "rules.md").unlink()
        for path in (folder, *folder.rglob("*")):
            os.chown(path, owner.pw_uid, owner.pw_gid)
        folder.chmod(0o700)
        environment |= {"NUMBA_CACHE_DIR": str(root / "numba")}
        users = ("--web-user", WEB, "--checker-user", CHECKER)
        with running(
            folder, *users, python=python, environment=environment, data=root / "data"
        ) as server:
            yield Separate(server, folder, python, environment)


def user_of(pid: int) -> str:
    return pwd.getpwuid(Path(f"/proc/{pid}").stat().st_uid).pw_name


@pytest.mark.timeout(1_500)
def test_neither_the_web_process_nor_the_reader_of_files_reaches_the_labels(
    separate: Separate,
) -> None:
    server, folder, layout = separate.server, separate.folder, separate.server.layout
    red, blue = tokens_of(layout, "race", ["red", "blue"])
    tally = bench_serve.Tally()
    bench_serve.upload(server, red, "first", predictions(1), tally)
    until(lambda: board(server) == ["red"], "a file is read by the third user")
    ((scorer,), (web,), (checker,)) = map(server.pids, ("scorer", "web", "checker"))
    assert (user_of(scorer), user_of(web), user_of(checker)) == (OWNER, WEB, CHECKER)
    assert [user_of(pid) for pid in children(checker)] == [CHECKER]
    assert children(scorer) == []

    labels: dict[str, tuple[object, ...]] = {
        "the folder": ("list", str(folder)),
        "the record": ("open", str(next(folder.glob("*.duckdb")))),
        "the control socket": ("connect", str(folder / ".served.sock")),
        "the memory": ("memory", scorer),
        "the environment": ("open", f"/proc/{scorer}/environ"),
        "the open files": ("list", f"/proc/{scorer}/fd"),
        "a signal": ("kill", scorer),
        "the notes of the scorer": ("list", str(layout.root / "scorer")),
    }
    records: dict[str, tuple[object, ...]] = {
        "the accounts": ("open", str(layout.intake)),
        "the uploads": ("list", str(layout.uploads)),
        "what is published": ("open", str(layout.public("race"))),
    }
    socket = {"the socket": ("connect", str(layout.checker("race")))}
    everything = {**labels, **records, **socket}
    assert separate.done_by("root", everything) == set(everything)  # all of them are there
    assert separate.done_by(OWNER, {**labels, **socket}) == {*labels, *socket}
    assert separate.done_by(WEB, everything) == set(records)
    assert separate.done_by(CHECKER, everything) == set()

    # Its own command starts in a folder that it may enter and not list, as setup.sh makes it.
    layout.root.chmod(0o711)
    link = [separate.python, "-m", "arena", "serve", "--part", "link", "--name", "race",
            "--data", str(layout.root), "--url", "https://race.example.org"]  # fmt: skip
    printed = subprocess.run(
        link, **as_user(WEB), env=separate.environment, capture_output=True, text=True, check=False
    )
    assert "https://race.example.org/invite/" in printed.stdout, printed.stderr

    # The reader is killed, and started again for the next file.
    os.kill(checker, signal.SIGKILL)
    bench_serve.upload(server, blue, "second", predictions(2), tally)
    until(lambda: set(board(server)) == {"red", "blue"}, "the reader is started again")
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(PATIENCE)
    assert not layout.checker("race").exists()
