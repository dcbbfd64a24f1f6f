"""``codabench:BUNDLE``: the scoring program of a Codabench competition with result submissions.

The contract is that of codalab/codabench: ``competition.yaml`` names tasks, each with reference
data and a scoring program; the program's ``metadata`` holds the command that reads ``input/ref``
and ``input/res`` and writes ``scores.json`` or ``scores.txt`` to ``output``. Paths below ``/app``
in the program's Python files and placeholders such as ``$input`` are replaced by paths of a
temporary folder. Programs that run the code of participants (ingestion) are not supported.

Bundles of CodaLab 1.5 are read too: their phases are the tasks. The bundle and its parts may be
folders or ZIP archives; a part named ``program.zip`` may also be the folder ``program``.

The rows of a split are written in the form of the bundle's own reference file. With ``format=raw``
the solution and the submissions are files, folders or ZIP archives, unpacked as they are.
"""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arena.errors import InputError, ScoringError, UsageError
from arena.types import RowContext
from arena.utils.distribution import how_to_install
from arena.utils.file_errors import reason_of, unreadable
from arena_metrics.foreign.frames import Frames
from arena_metrics.foreign.kinds import WHOLE_FILES, Call, Kind, Request
from arena_metrics.foreign.lines import Lines
from arena_metrics.foreign.scratch import scratch_folder, select_value, write_json
from arena_metrics.foreign.source import Source

if TYPE_CHECKING:
    import pandas as pd

_CONFIGURATION = "competition.yaml"
_METADATA = ("metadata.yaml", "metadata")
_AUTOMATIC = "auto"
_MOST_BYTES = 2**31
_APP = re.compile(r"(?<![\w./-])/app(?=/|['\"\s]|$)")
_PLACES: Mapping[str, str] = {
    "$ingestion_program": "program",
    "$program": "program",
    "$predictions": "input/res",
    "$hidden": "input/ref",
    "$input": "input",
    "$output": "output",
    "$tmp": "output",
    "$shared": "shared",
}
"""Placeholder of a command -> the folder below ``/app``."""
_COMBINED: Mapping[str, Callable[[Sequence[float]], float]] = {
    "avg": mean,
    "sum": sum,
    "min": min,
    "max": max,
}
"""The ``computation`` of a column of a leaderboard."""
_Form: TypeAlias = tuple[str, bool, bool]
"""The separator of a file, whether it has a header, and whether it holds the ids."""


# -- the bundle ------------------------------------------------------------------------------------


def _read_yaml(path: Path) -> Any:
    try:
        yaml = importlib.import_module("yaml")
    except ImportError as error:
        raise InputError(
            f"A Codabench bundle needs PyYAML: {how_to_install('codabench')}."
        ) from error
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise unreadable(path, error) from error


@dataclass(frozen=True, slots=True)
class _Bundle:
    """A folder with a ``competition.yaml``."""

    folder: Path
    document: Mapping[str, Any]

    @classmethod
    def of(cls, place: Path) -> _Bundle:
        folder = place.parent if place.name == _CONFIGURATION else place
        if place.suffix == ".zip" and place.is_file():
            folder = _unpacked(place, scratch_folder())
        configurations = [*folder.glob(_CONFIGURATION), *sorted(folder.glob(f"*/{_CONFIGURATION}"))]
        if not configurations:
            raise InputError(f"There is no {_CONFIGURATION} in {place}: name the bundle's folder.")
        document = _read_yaml(configurations[0])
        if isinstance(document, Mapping) and not document.get("tasks"):
            document = {**document, "tasks": _phases(document.get("phases"))}
        if not isinstance(document, Mapping) or not document["tasks"]:
            raise InputError(
                f"{configurations[0]} has neither tasks nor phases with a scoring program."
            )
        return cls(configurations[0].parent, document)

    def task(self, name: str) -> Mapping[str, Any]:
        """Return a task by its index or name; without one the first."""
        tasks: list[Mapping[str, Any]] = self.document["tasks"]
        if not name:
            return tasks[0]
        for task_number, task in enumerate(tasks):
            if name in (str(task.get("index", task_number)), task.get("name")):
                return task
        task_names = ", ".join(
            f"{task.get('index', number)} ({task.get('name')})" for number, task in enumerate(tasks)
        )
        raise UsageError(
            f"The bundle {self.folder.name} has no task {name!r}. It has: {task_names}."
        )

    def place(self, task: Mapping[str, Any], part: str) -> Path:
        """Return the folder of a part of a task."""
        if not task.get(part):
            raise InputError(f"The task {task.get('name')!r} of {self.folder.name} has no {part}.")
        path = self.folder / str(task[part])
        if not path.exists() and path.suffix == ".zip":
            path = path.with_suffix("")  # repositories hold the folder that becomes the archive
        if not path.exists():
            raise InputError(f"The {part} of the bundle {self.folder.name} is not at {path}.")
        return path

    def columns(self) -> list[Mapping[str, Any]]:
        """Return the columns of the first leaderboard, in their order."""
        boards = self.document.get("leaderboards") or self.document.get("leaderboard") or [{}]
        columns = (boards[0] if isinstance(boards, list) else boards).get("columns") or []
        if isinstance(columns, Mapping):  # of CodaLab 1.5; without sort the highest is best
            columns = [
                {
                    "key": key,
                    "index": column.get("rank", 0),
                    "sorting": column.get("sort", "desc"),
                    "computation": (column.get("computed") or {}).get("operation"),
                    "of": (column.get("computed") or {}).get("fields"),
                }
                for key, column in columns.items()
            ]
        return sorted(columns, key=lambda column: column.get("index", 0))

    def sent_name(self, task: Mapping[str, Any]) -> str:
        """Return the name of the only file of a sample submission; empty if that is unknown."""
        for solution in self.document.get("solutions") or []:
            if task.get("index", 0) in (solution.get("tasks") or []) and solution.get("path"):
                place = self.folder / str(solution["path"])
                files = _files(_unpacked(place, scratch_folder()) if place.exists() else place)
                if len(files) == 1:
                    return files[0].name
        return ""


def _phases(phases: Any) -> list[Mapping[str, Any]]:
    """Return the phases of a bundle of CodaLab 1.5 as tasks."""
    if not isinstance(phases, Mapping):
        return []
    return [
        {"index": key, "name": phase.get("label", ""), **phase}
        for key, phase in phases.items()
        if isinstance(phase, Mapping) and phase.get("scoring_program")
    ]


def _unpacked(place: Path, scratch: Path) -> Path:
    """Return a folder itself, or the content of a ZIP archive in a folder below ``scratch``."""
    if place.is_dir():
        return place
    status = place.stat()
    key = f"{place.absolute()} {status.st_size} {status.st_mtime_ns}"
    folder = scratch / f"unpacked-{os.getpid()}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
    if not folder.exists():
        try:
            with zipfile.ZipFile(place) as archive:
                archive.extractall(folder)
        except (OSError, zipfile.BadZipFile) as error:
            raise InputError(f"{place} cannot be unpacked: {reason_of(error)}.") from error
    return folder


def _program_in(folder: Path) -> Path:
    """Return the folder of a program, which an archive may hold in a folder of its own."""
    inner = [file for file in folder.iterdir() if not file.name.startswith((".", "__MACOSX"))]
    return inner[0] if len(inner) == 1 and inner[0].is_dir() else folder


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder, without hidden ones and descriptions."""
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.name.startswith(".") and path.name not in _METADATA
    )


def _command(program: Path) -> str:
    for name in _METADATA:
        if (program / name).is_file():
            metadata = _read_yaml(program / name)
            if isinstance(metadata, Mapping) and metadata.get("command"):
                return str(metadata["command"])
    raise InputError(f"The scoring program {program} has no metadata with a command.")


def _find(place: Path, options: Mapping[str, Any], text: str | None) -> Source:
    bundle = _Bundle.of(place.absolute())
    place = bundle.place(bundle.task(str(options["task"])), "scoring_program")
    program = _program_in(_unpacked(place, scratch_folder()))
    _command(program)
    scripts = sorted(program.rglob("*.py"))
    if text is None:
        text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in scripts)
    return Source("main", bundle.folder, bundle.folder / _CONFIGURATION, text)


def _direction(source: Source, options: Mapping[str, Any]) -> tuple[bool | None, str]:
    column = _column(_Bundle.of(source.folder), options)
    if column is None or column.get("sorting") not in ("asc", "desc"):
        return None, ""
    return column["sorting"] == "desc", f"the sorting of the column {column['key']!r}"


def _column(bundle: _Bundle, options: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the column of the leaderboard that is the score."""
    columns = bundle.columns()
    key = options["value"]
    return next((column for column in columns if not key or column.get("key") == key), None)


# -- a call ----------------------------------------------------------------------------------------


def _run(app: Path, program: Path, command: str) -> None:
    """Run a scoring program in this process if it is a Python script, else in another one."""
    for placeholder, folder in _PLACES.items():
        command = command.replace(placeholder, str(app / folder))
    words = shlex.split(_APP.sub(str(app), command))
    python = words and Path(words[0]).name.rstrip("0123456789.") == "python"
    if not python or len(words) < 2 or not words[1].endswith(".py"):
        words = [sys.executable, *words[1:]] if python else words
        ended = subprocess.run(  # noqa: S603 - the organiser's program
            words, cwd=program, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            raise RuntimeError(f"{words[0]} ended with {ended.returncode}: {ended.stderr[-2000:]}")
        return
    script = (program / words[1]).resolve()
    before, arguments = Path.cwd(), sys.argv
    os.chdir(program)
    sys.argv = [str(script), *words[2:]]
    if str(script.parent) not in sys.path:
        sys.path.insert(0, str(script.parent))
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            raise RuntimeError(f"{script.name} ended with {error.code}") from error
    finally:
        os.chdir(before)
        sys.argv = arguments


def _scores(output: Path) -> dict[str, Any]:
    """Return the scores that a program wrote."""
    for path in sorted(output.rglob("scores.json")):
        document = json.loads(path.read_text())
        return dict(document) if isinstance(document, Mapping) else {}
    for path in sorted(output.rglob("scores.txt")):
        lines = [line.partition(":") for line in path.read_text().splitlines() if ":" in line]
        return {key.strip(): float(value) for key, _, value in lines}
    # Some programs end normally after they have refused a submission.
    why = "The scoring program wrote neither scores.json nor scores.txt."
    raise ScoringError(why, "metric failed", "The metric gave no score for this submission.")


@dataclass(frozen=True, slots=True, eq=False)
class _Score:
    request: Request
    frames: Frames | None
    cells: tuple[str, ...]
    """The files of the organiser and of the participant, if they are passed as they are."""
    folder: Path
    _lines: dict[_Form, Lines] = field(default_factory=dict)

    def __call__(self, function: Callable[..., Any], weight: npt.NDArray[Any]) -> Any:
        options = self.request.options
        bundle = _Bundle.of(self.request.source.folder)
        task = bundle.task(str(options["task"]))
        # The paths are the same in each call of a process: modules that are imported keep them.
        key = hashlib.sha256(f"{self.request.source.folder} {options['task']}".encode()).hexdigest()
        app = self.folder / f"codabench-{os.getpid()}-{key[:12]}"
        program = app / "program"
        if not program.exists():
            place = _unpacked(bundle.place(task, "scoring_program"), self.folder)
            _copy_program(_program_in(place), program, app)
        for part in ("input", "output", "shared"):
            shutil.rmtree(app / part, ignore_errors=True)
            (app / part).mkdir()
        places = app / "input" / "ref", app / "input" / "res"
        for place in places:
            place.mkdir()
        if self.frames is None:
            for place, cell in zip(places, self.cells, strict=True):
                _unpack(cell, place)
        else:
            reference = _unpacked(bundle.place(task, "reference_data"), self.folder)
            sent_name = options["submission"] or bundle.sent_name(task)
            targets, form = _form_of_files(
                reference, sent_name, options=options, frames=self.frames, places=places
            )
            if form is None:
                for frame, path in zip(self.frames.draw(weight), targets, strict=True):
                    write_json(frame, path)
            else:
                self._lines.setdefault(form, Lines(self.frames, *form)).write(weight, targets)
        function(app, program, _command(program))
        return self._value(_scores(app / "output"), _column(bundle, options))

    def _value(self, scores: Mapping[str, Any], column: Mapping[str, Any] | None) -> Any:
        name = self.request.name
        if column is None:
            return select_value(name, "value", scores, self.request.options["value"])
        combine = _COMBINED.get(str(column.get("computation")))
        if column["key"] in scores or combine is None:
            return select_value(name, "value", scores, column["key"])
        indexes = [str(index) for index in column.get("computation_indexes") or ()]
        fields = [index.strip() for index in str(column.get("of") or "").split(",")]
        keys = [
            column["key"]
            for column in _Bundle.of(self.request.source.folder).columns()
            if str(column.get("index")) in indexes or column["key"] in fields
        ]
        return combine([float(select_value(name, "value", scores, key)) for key in keys])


def _copy_program(source: Path, program: Path, app: Path) -> None:
    """Copy a program, with ``/app`` in its Python files replaced."""
    shutil.copytree(source, program)
    for path in program.rglob("*.py"):
        text = path.read_text(encoding="utf-8", errors="surrogateescape")
        path.write_text(_APP.sub(app.as_posix(), text), encoding="utf-8", errors="surrogateescape")


def _unpack(cell: str, place: Path) -> None:
    from arena.intake import file_of_cell

    name, data = file_of_cell(cell)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        (place / name).write_bytes(data)
        return
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
            text = "The ZIP archive unpacks to more than 2 GiB: send less."
            raise ScoringError(text, "file too large", text)
        archive.extractall(place)


def _form_of_files(
    reference: Path,
    sent_name: str,
    options: Mapping[str, Any],
    frames: Frames,
    places: tuple[Path, Path],
) -> tuple[tuple[Path, Path], _Form | None]:
    """Copy the reference data; return where a split and a submission go, and how they are written.

    The form is None for JSON.
    """
    files = _files(reference)
    reference_files = [file for file in files if options["reference"] in ("", file.name)]
    if len(reference_files) != 1:
        names = ", ".join(file.name for file in files)
        raise UsageError(
            f"Name the file of the reference data that holds the rows (reference=…): {names}."
        )
    shutil.copytree(reference, places[0], dirs_exist_ok=True)
    targets = (
        places[0] / reference_files[0].relative_to(reference),
        places[1] / (sent_name or reference_files[0].name),
    )
    for path in targets:
        path.parent.mkdir(parents=True, exist_ok=True)
    if options["format"] == _AUTOMATIC:
        return targets, _form_of(reference_files[0], frames.solution)
    if options["format"] == "json":
        return targets, None
    return targets, ("\t" if options["format"] == "tsv" else ",", True, True)


def _form_of(path: Path, frame: pd.DataFrame) -> _Form:
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline().strip()
    counts = {separator: first.count(separator) for separator in (",", "\t", ";", " ")}
    separator = max(counts, key=lambda count: counts[count])
    cells = [cell.strip().strip('"') for cell in first.split(separator)]
    header = bool({*map(str, frame.columns)} & {*cells})
    # Without a header only the number of cells tells: the first row may be one of another split.
    with_ids = str(frame.columns[0]) in cells if header else len(cells) == frame.shape[1]
    return separator, header, with_ids


def _prepare(
    request: Request, context: RowContext, truth: npt.NDArray[Any], prediction: npt.NDArray[Any]
) -> Call:
    folder = scratch_folder()
    if request.options["format"] == WHOLE_FILES:
        cells = str(np.asarray(truth).item()), str(np.asarray(prediction).item())
        return _Score(request, None, cells, folder)
    return _Score(request, Frames.of(context, truth, prediction), (), folder)


def _load(source: Source) -> Callable[..., Any]:  # noqa: ARG001 - the form of a loader
    return _run


CODABENCH = Kind(
    prefix="codabench",
    form="codabench:BUNDLE",
    description="a Codabench bundle's scoring program; task=, value=, format=, reference=",
    function="main",
    n_given=0,
    prepare=_prepare,
    options={
        "task": "",
        "value": "",
        "format": _AUTOMATIC,
        "reference": "",
        "submission": "",
    },
    formats=(_AUTOMATIC, "csv", "tsv", "json", WHOLE_FILES),
    direction=_direction,
    find=_find,
    load=_load,
)
