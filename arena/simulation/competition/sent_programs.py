"""Simulated teams that send programs: what they send, and what the programs run on.

A program has the predictions of its team with it, and writes those of the rows in ``/input``. It
takes every step that the program of a real team takes, for every kind of simulated team.
"""

from __future__ import annotations

import csv
import io
import tempfile
import zipfile
from pathlib import Path

from arena.config import Settings
from arena.config_sections import ProgramsSection
from arena.errors import ArenaError
from arena.interfaces import End
from arena.plugin.manager import PluginManager
from arena.programs.running import run_program
from arena.types import Solution

_SANDBOX = "bwrap"
_ROWS = "rows.csv"
_PROGRAM = f'''\
"""Writes the predictions of a simulated team for the rows in /input/{_ROWS}."""
import csv

with open("/program/predictions.csv", newline="") as file:
    header, *rows = csv.reader(file)
of_rows = {{row[0]: row for row in rows}}
with open("/input/{_ROWS}", newline="") as file:
    _, *names = csv.reader(file)
with open("/output/predictions.csv", "w", newline="") as file:
    csv.writer(file).writerows([header, *(of_rows[name] for name, in names if name in of_rows)])
'''
_MEMBER_TIME = (1980, 1, 1, 0, 0, 0)
"""Of the members of an archive: the same predictions are the same program."""


def program_with(predictions: bytes) -> bytes:
    """Return a ZIP archive with a program that writes these predictions, a CSV file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as members:
        for name, content in (("main.py", _PROGRAM.encode()), ("predictions.csv", predictions)):
            member = zipfile.ZipInfo(name, _MEMBER_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            members.writestr(member, content)
    return archive.getvalue()


def settings_with_programs(settings: Settings) -> Settings:
    """Return the settings of a competition that runs the programs of simulated teams.

    Its own limits of a run stay. Boards show no running times, which differ between two runs.
    """
    sandbox = settings.programs.sandbox or _SANDBOX
    limits = settings.programs.model_dump(exclude={"environment", "command", "inputs", "sample"})
    programs = ProgramsSection.model_validate({**limits, "sandbox": sandbox, "show": ()})
    return settings.model_copy(update={"programs": programs})


def write_inputs(folder: Path, programs: ProgramsSection, solution: Solution) -> None:
    """Write what programs run on: the ids of the rows, and for the trial those of none."""
    for inputs, ids in ((programs.inputs, solution.ids.to_pylist()), (programs.sample, [])):
        (folder / inputs).mkdir(parents=True, exist_ok=True)
        with (folder / inputs / _ROWS).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([[solution.id_column], *([name] for name in ids)])


def why_no_program_runs(programs: ProgramsSection, manager: PluginManager) -> str | None:
    """Return why the sandbox of a competition runs no program on this machine; None: it does."""
    with tempfile.TemporaryDirectory() as name:
        inputs, target = Path(name) / "inputs", Path(name) / "target"
        target.mkdir()
        inputs.mkdir()
        (inputs / _ROWS).write_text("id\n")
        (program := Path(name) / "program.zip").write_bytes(program_with(b"id\n"))
        try:
            outcome = run_program(
                program,
                inputs,
                target,
                command=programs.command.split(),
                environment=None,
                box=programs.box(trial=True, max_bytes=1_000),
                sandbox=manager.sandboxes.resolve(programs.sandbox),
            )
        except (ArenaError, OSError) as error:
            return str(error)
    if isinstance(outcome, tuple):
        return outcome[0].message
    return None if outcome.end is End.OK else f"A small program failed in it ({outcome.end})."
