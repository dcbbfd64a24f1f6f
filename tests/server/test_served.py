"""A real server: processes that are killed, a folder that is lent, a copy that is served."""

from __future__ import annotations

import json
import os
import signal
from argparse import Namespace
from pathlib import Path

import bench_serve
import pytest

from arena.server.records.layout import Layout
from program import run_here
from served import predictions
from serving import PATIENCE, board, children, running, tokens_of, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_500)]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


def test_nothing_is_lost_when_processes_are_killed() -> None:
    figures = bench_serve.measure(
        Namespace(
            seconds=5.0,
            kills=2,
            uploads=4.0,
            bursts=1,
            reads=10.0,
            rows=200,
            mechanism="ladder",
            seed=1,
        )
    )
    assert figures["acknowledged"] > 0
    assert sum(figures["kills"].values()) == 2
    assert (figures["lost"], figures["twice"], figures["another_answer"], figures["audit"]) == (
        0,
        0,
        0,
        [],
    )


def test_a_course_from_the_first_upload_to_the_restored_copy(folder: Path, tmp_path: Path) -> None:
    (folder / "rules.md").unlink()
    red, blue = tokens_of(Layout(folder / "server"), "race", ["red", "blue"])
    tally = bench_serve.Tally()
    with running(folder) as server:
        bench_serve.upload(server, red, "first", predictions(1), tally)
        until(lambda: board(server) == ["red"], "the first upload is judged")
        process = run_here("leaderboard", "--wait", 600, "--json", cwd=folder)
        assert "submissions wait until this command ends" in process.stderr
        assert [row["team"] for row in json.loads(process.stdout)["standings"]] == ["red"]
        copied = run_here("backup", str(tmp_path / "copy" / "race"), "--wait", 600, cwd=folder)
        assert copied.returncode == 0, copied.stderr
        bench_serve.upload(server, blue, "second", predictions(2), tally)
        until(lambda: set(board(server)) == {"red", "blue"}, "the scorer has the folder again")
        processes = [
            pid for child in children(server.process.pid) for pid in (child, *children(child))
        ]
        os.kill(server.process.pid, signal.SIGKILL)
        until(lambda: all(map(gone, processes)), "all processes end with the supervisor")
    with running(tmp_path / "copy" / "race") as server:
        until(lambda: board(server) == ["red"], "the copy is served")
        bench_serve.upload(server, blue, "second", predictions(2), tally)
        until(lambda: set(board(server)) == {"red", "blue"}, "the copy takes uploads")
        message = server.log.with_name("out")
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(PATIENCE)
        assert "Everything that was acknowledged is stored" in message.read_text()
