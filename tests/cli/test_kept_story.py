"""What each command prints, from the first file of a competition to its retracted result."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from kept import check_kept, masked

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


def test_the_commands_print_what_is_kept(arena_there: Any, here: Path) -> None:
    printed = []
    for line in COMMANDS.strip().splitlines():
        called = arena_there(*shlex.split(line))
        lines = f"{called.stdout}{called.stderr}".replace(str(here), "HERE")
        printed.append(f"$ arena {line}\n{lines}[{called.returncode}]\n")
    check_kept("commands.txt", masked("\n".join(printed)))
