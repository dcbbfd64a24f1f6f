"""Ten processes submit at once: each is served, or told who holds the competition."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from arena.competition import Competition
from competition_folder import write_file
from program import start_program

N_PROCESSES = 10


@pytest.mark.slow
@pytest.mark.parametrize("patience", [(), ("--wait", 60)], ids=["at once", "patient"])
def test_each_of_ten_processes_is_served_or_told_who_holds_it(
    here: Path, patience: tuple[object, ...]
) -> None:
    folder = here / "c"
    for number in range(N_PROCESSES):
        write_file(here / f"{number}.csv", number)
    processes = [
        start_program("submit", f"../{n}.csv", "-t", f"t{n}", "--json", *patience, cwd=folder)
        for n in range(N_PROCESSES)
    ]
    served = {}
    for number, process in enumerate(processes):
        stdout, stderr = process.communicate(timeout=120)
        if process.returncode == 0:
            answer = json.loads(stdout)
            assert (answer["team"], answer["status"]) == (f"t{number}", "accepted")
            served[answer["submission"]] = answer["team"]
            assert stderr == ""
            continue
        assert (process.returncode, stdout) == (1, "")
        (line,) = stderr.splitlines()
        (holder,) = re.findall(r"\(PID (\d+)\)", line)
        assert int(holder) in {other.pid for other in processes} - {process.pid}
        assert "try again, or give --wait SECONDS" in line
    assert len(served) == N_PROCESSES if patience else served
    with Competition.open(folder) as competition:
        stored = {row["submission"]: row["team"] for row in competition.submissions()}
        assert stored == served
        assert sorted(stored) == list(range(1, len(stored) + 1))
        assert competition.verify_events() is None
