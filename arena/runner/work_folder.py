"""Runs for a machine without a connection to the server: a folder that is copied there and back.

::

    DIR/3/work.json            the run of submission 3, as a server would describe it
    DIR/3/program.py           or program.zip
    DIR/3/result.json          the result with its signature, written by the runner
    DIR/3/output/...           what the program wrote
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.errors import InputError
from arena.utils.atomic_write import atomic_write
from arena.utils.file_digest import file_sha256
from arena.utils.file_errors import unreadable
from arena.utils.strict_json import parse_json

_WORK, _RESULT, _OUTPUT = "work.json", "result.json", "output"


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A folder of runs: takes the place of a server for a runner."""

    folder: Path

    def lease(self, offer: Mapping[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Return the next run that has no result; None: all have one.

        Raises
        ------
        InputError
            If the folder holds no runs.
        """
        places = sorted(path.parent for path in self.folder.glob(f"*/{_WORK}"))
        if not places:
            raise InputError(
                f"{self.folder} holds no runs: write them with arena programs rerun --to FOLDER."
            )
        for place in places:
            if not (place / _RESULT).exists():
                work: dict[str, Any] = _read(place / _WORK)
                return {**work, "run": place.name}
        return None

    def beat(self, work: Mapping[str, Any]) -> None:
        """Do nothing: no other machine gets the run."""

    def program(self, work: Mapping[str, Any], path: Path) -> None:
        """Copy the program of a run to a file.

        Raises
        ------
        InputError
            If it is missing or damaged.
        """
        source = self._place(work) / f"program{path.suffix}"
        if not source.is_file() or file_sha256(source) != work["sha256"]:
            raise InputError(f"The program {source} is missing or damaged: copy it again.")
        shutil.copyfile(source, path)

    def send_result(
        self,
        work: Mapping[str, Any],
        result: Mapping[str, Any],
        signature: str,
        output: Path | None,
    ) -> None:
        """Store the result of a run, with its output."""
        place = self._place(work)
        shutil.rmtree(place / _OUTPUT, ignore_errors=True)
        if output is not None:
            (place / _OUTPUT).mkdir()
            shutil.copyfile(output, place / _OUTPUT / output.name)
        document = {"result": dict(result), "signature": signature}
        atomic_write(place / _RESULT, json.dumps(document).encode())

    def add(self, run: str, work: Mapping[str, Any], program: Path) -> None:
        """Add a run of a program."""
        place = self.folder / run
        place.mkdir(parents=True)
        shutil.copyfile(program, place / f"program{program.suffix}")
        atomic_write(place / _WORK, json.dumps(dict(work)).encode())

    def runs(self) -> list[str]:
        """Return the names of all runs."""
        names = (path.parent.name for path in self.folder.glob(f"*/{_WORK}"))
        return sorted((name for name in names if name.isdecimal()), key=int)

    def result(self, run: str) -> tuple[Mapping[str, Any], str, Path | None]:
        """Return the result of a run, its signature and its output; none of them was checked.

        Raises
        ------
        InputError
            If the run has no result.
        """
        place = self.folder / run
        if not (place / _RESULT).is_file():
            raise InputError(
                f"The run in {place} has no result: run arena runner --work on another machine, "
                f"and copy the folder back."
            )
        document = _read(place / _RESULT)
        result = document.get("result")
        outputs = sorted((place / _OUTPUT).glob("*"))
        return (
            result if isinstance(result, dict) else {},
            str(document.get("signature", "")),
            next(iter(outputs), None),
        )

    def _place(self, work: Mapping[str, Any]) -> Path:
        return self.folder / str(work["run"])


def _read(path: Path) -> dict[str, Any]:
    try:
        document = parse_json(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error
    if not isinstance(document, dict):
        raise InputError(f"{path} holds no run: copy it again.")
    return document
