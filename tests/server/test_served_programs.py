"""A server that runs programs: all its processes, a runner among them, and a real sandbox."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

import pytest

from arena.client import Client
from arena.competition.view import CompetitionView
from arena.server.records.layout import Layout
from competition_folder import write_solution
from program import run_here
from sent_programs import LEAKS, PREDICTS, SLEEPS, write_inputs
from serving import PATIENCE, board, running, tokens_of, until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(600),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap"),
]


def test_programs_run_while_processes_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_RUNNER", str(tmp_path / "runner"))
    write_solution(tmp_path)
    write_inputs(tmp_path)
    for name, text in (("main", PREDICTS), ("leaks", LEAKS), ("sleeps", SLEEPS)):
        (tmp_path / f"{name}.py").write_text(text)
    inputs = ("--programs", "hidden", "--sample-inputs", "sample")
    process = run_here(
        *("init", "race", "--solution", "solution.csv", "--metric", "roc_auc", *inputs),
        cwd=tmp_path,
    )
    assert process.returncode == 0, process.stderr
    folder = tmp_path / "race"
    (token,) = tokens_of(Layout(folder / "server"), "race", ["ants"])
    with running(folder) as server:
        client = Client(f"{server.url}/race", token)
        first = client.submit(tmp_path / "main.py")
        assert client.wait(first["request"], PATIENCE)["status"] == "accepted"
        until(lambda: board(server) == ["ants"], "the board has the program")
        leaked = client.wait(client.submit(tmp_path / "leaks.py")["request"], PATIENCE)
        assert [fault["kind"] for fault in leaked["faults"]] == ["output invalid"]
        assert not re.search(r"\br0\b", str(leaked))  # an id of the request may contain it
        request = client.submit(tmp_path / "sleeps.py")["request"]
        until(lambda: "hidden inputs is running" in client.request(request)["message"], "it runs")
        for role in ("web", "scorer"):
            os.kill(server.pids(role)[0], signal.SIGKILL)
        assert client.wait(request, PATIENCE)["status"] == "accepted"
        os.kill(server.pids("runner")[0], signal.SIGKILL)
        last = tmp_path / "last.py"
        last.write_text(f"{PREDICTS}\n")
        assert client.wait(client.submit(last)["request"], PATIENCE)["status"] == "accepted"
        assert "hidden" not in server.log.read_text()
    with CompetitionView.open(folder) as view:
        assert [row["status"] for row in view.submissions()] == [
            "accepted", "rejected", "accepted", "accepted",
        ]  # fmt: skip
        assert len(view.events("program received")) == 4
        assert view.waiting_programs() == []
        assert view.audit() == ()
