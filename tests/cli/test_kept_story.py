"""What each command prints, from the first file of a competition to its retracted result."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from kept import check_kept, masked
from program import write_csv

COMMANDS = """
submit ../files/a.csv --team a
submit ../files/b.csv --team b --json
submit ../files/d.csv --team d
import ../files
submissions
leaderboard
leaderboard --json
select --team a 1
select --team a 9
team rename c cc
submit ../files/a.csv --team cc
withdraw --team cc 5
team merge cc b
disqualify 2 --reason copied
disqualify --team a --reason "two accounts"
disqualify --undo --team a --reason mistake
bracket a student
exempt b --extra 1 --reason ill
pause --reason "wrong data"
pause --reason "wrong data"
resume
phases
rescore
winners
publish
finalize
publish
winners
winners 4 --state verified --note "trained again"
leaderboard --private
audit
replay --mechanism "kaggle(rounding=0.1)"
export ../export
verify ../export ../solution.csv
verify ../export ../files/a.csv
retract --reason "wrong labels"
leaderboard --private
backup ../copy
upgrade
report --public --out ../page.html
"""


SHORT = """
import ../files
submissions
disqualify 2 --reason copied
winners 3 --state failed --note "no code"
"""
"""Some of the commands, in the order in which a competition needs them; the others are slow."""


@pytest.mark.parametrize(
    ("name", "commands"),
    [("story", SHORT), pytest.param("commands", COMMANDS, marks=pytest.mark.slow)],
)
def test_the_commands_print_what_is_kept(
    arena_there: Any, here: Path, name: str, commands: str
) -> None:
    printed = []
    for line in commands.strip().splitlines():
        called = arena_there(*shlex.split(line))
        lines = f"{called.stdout}{called.stderr}".replace(str(here), "HERE")
        printed.append(f"$ arena {line}\n{lines}[{called.returncode}]\n")
    check_kept(f"{name}.txt", masked("\n".join(printed)))


def test_rank_prints_what_is_kept_and_strict_counts_rejected_algorithms(
    arena_here: Any, tmp_path: Path
) -> None:
    values = {"a": "0.9 0.7 0.8 0.6 0.9 0.8", "b": "0.8 0.7 0.5 0.6 0.7 0.9", "c": "0.9 0.1"}
    for name, algorithms in (("some", "abc"), ("all", "ab")):
        rows = [
            (algorithm, case, value)
            for algorithm in algorithms
            for case, value in enumerate(values[algorithm].split())
        ]
        write_csv(tmp_path / f"{name}.csv", ["algorithm", "case", "value"], rows)
    printed = []
    for line, code in (("some.csv", 0), ("some.csv --strict", 1), ("all.csv --strict --json", 0)):
        called = arena_here("rank", *line.split(), "--resamples", 20)
        assert called.returncode == code, line
        printed.append(f"$ arena rank {line}\n{called.stdout}{called.stderr}")
    check_kept("rank.txt", masked("\n".join(printed)))
