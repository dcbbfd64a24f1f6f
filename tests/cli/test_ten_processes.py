"""Ten processes submit at once: each is served, or told who holds the competition."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from arena.competition.competition import Competition
from competition_folder import write_file
from program import killed_in_the_end, start_program

pytestmark = pytest.mark.slow

N_PROCESSES = 10
"""Every second one waits until it is served."""


def test_each_of_ten_processes_is_served_or_told_who_holds_it(here: Path) -> None:
    folder = here / "c"
    with contextlib.ExitStack() as ends:

        def start(number: int) -> subprocess.Popen[str]:
            file = write_file(here / f"{number}.csv", number)
            patience = ("--wait", 600) if number % 2 else ()
            arguments = ("submit", file, "-t", f"t{number}", "--json", *patience)
            return ends.enter_context(killed_in_the_end(start_program(*arguments, cwd=folder)))

        processes = [start(number) for number in range(N_PROCESSES)]
        answers = [process.communicate(timeout=900) for process in processes]
    served = {}
    for number, (process, (stdout, stderr)) in enumerate(zip(processes, answers, strict=True)):
        if process.returncode == 0:
            answer = json.loads(stdout)
            assert (answer["team"], answer["status"]) == (f"t{number}", "accepted")
            served[answer["submission"]] = answer["team"]
            assert all("Warning: the mechanism full" in line for line in stderr.splitlines())
            continue
        assert (process.returncode, stdout) == (1, "")
        (line,) = stderr.splitlines()
        assert "is open in another process" in line
        # No PID where the holder ended while DuckDB looked it up.
        for holder in re.findall(r"\(PID (\d+)\)", line):
            assert int(holder) in {other.pid for other in processes} - {process.pid}
        assert "try again, or use --wait SECONDS" in line
    assert {f"t{number}" for number in range(1, N_PROCESSES, 2)} <= set(served.values())
    with Competition.open(folder) as competition:
        stored = {row["submission"]: row["team"] for row in competition.submissions()}
        assert stored == served
        assert sorted(stored) == list(range(1, len(stored) + 1))
        assert competition.verify_events() is None
