"""Evaluations of grand-challenge.org: ``metrics.json``, one per algorithm, with values per case.

evalutils writes ``case`` as metric -> number of the case -> value; the template of the platform
writes a list ``results`` with an object per case, others write an object of them. Nested values
have names with dots.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import numpy.typing as npt

from arena.errors import InputError
from arena.intake.json_file import flattened
from arena.interfaces import CaseScores
from arena.utils.file_errors import unreadable
from arena_readers.files import as_number, chosen, find, read_json, refusing

_NAMES = (
    "case",
    "case_id",
    "id",
    "name",
    "image",
    "gt_fname",
    "gt_path",
    "fname_gt",
    "path_ground_truth",
)
"""What names a case in files in use, best first."""
_ROWS = ("results", "cases", "per_case", "case_results")
"""What holds the cases in files in use."""
_FOLDERS = frozenset(("output", "outputs", "evaluation", "results"))
_MOST_BYTES = 2**27


@dataclass(frozen=True, slots=True)
class GrandChallengeReader:
    """Evaluations that a container for grand-challenge.org wrote."""

    name: str = "grand-challenge"
    description: str = "grand-challenge.org: folders ALGORITHM with metrics.json"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, an evaluation with values per case."""
        return any(_cases(read_document(file)) for file in list(_files(path))[:3])

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read all algorithms. ``value`` is a metric; None: the only one."""
        for file in _files(path):
            yield _read(file, value)


def _files(path: Path) -> Iterable[Path]:
    return find(path, "metrics.json")


def read_document(file: Path) -> Any:
    """Return the document; None for a file that is none, or too large for a guess."""
    try:
        return read_json(file) if file.stat().st_size <= _MOST_BYTES else None
    except (OSError, InputError):
        return None


def _cases(document: Any) -> list[dict[str, Any]]:
    """Return an object per case; none if the document has another form."""
    if not isinstance(document, Mapping):
        return []
    columns = document.get("case")
    if isinstance(columns, Mapping) and columns:
        if not all(isinstance(column, Mapping) for column in columns.values()):
            return []
        numbers = dict.fromkeys(position for column in columns.values() for position in column)
        return [
            {name: cells.get(case_number) for name, cells in columns.items()}
            for case_number in numbers
        ]
    for key in _ROWS:
        rows = document.get(key)
        if isinstance(rows, Mapping) and all(isinstance(row, Mapping) for row in rows.values()):
            rows = [{"case": case, **record} for case, record in rows.items()]
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows):
            return [dict(flattened(row)) for row in rows]
    return []


@refusing
def _read(file: Path, value: str | None) -> CaseScores:
    cases = _cases(read_json(file))
    if not cases:
        raise unreadable(file, "it has no values per case: no object 'case' and no list 'results'")
    names = list(dict.fromkeys(name for case in cases for name in case))
    metrics = [
        name
        for name in names
        if name not in _NAMES and any(as_number(case.get(name)) is not None for case in cases)
    ]
    if value is None and len(metrics) > 1:
        some = ", ".join(metrics)
        raise InputError(f"{file} has several values. Choose with --value: {some}.")
    metric = chosen(value, metrics, file)
    values: npt.NDArray[np.float64] = np.array(
        [np.nan if (number := as_number(case.get(metric))) is None else number for case in cases]
    )
    return CaseScores(
        algorithms=[_algorithm(file)] * len(cases),
        cases=_named(cases, file),
        values=values,
        metric=metric,
    )


def _named(cases: list[dict[str, Any]], file: Path) -> list[str]:
    """Return the names of the cases; their order may differ between algorithms."""
    for name in _NAMES:
        case_names = [case.get(name) for case in cases]
        if all(isinstance(name, str | int) for name in case_names) and len(set(case_names)) == len(
            cases
        ):
            return [PurePosixPath(str(name).replace("\\", "/")).name for name in case_names]
    raise unreadable(
        file,
        f"the cases have no names, and their order may differ between algorithms. Write one of "
        f"{', '.join(repr(name) for name in _NAMES)} for each case",
    )


def _algorithm(file: Path) -> str:
    above = [part for part in file.resolve().parts[1:-1] if part not in _FOLDERS]
    return above[-1] if above else file.stem
