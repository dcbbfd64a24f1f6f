"""Results of MTEB: one file per model and task, with a score per split and language subset.

MTEB publishes no values per document. A case is a subset of a task; the subsets of a task are one
cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arena.interfaces import CaseScores
from arena_readers.files import as_number, chosen, file_start, find, read_json, refuse, refusing

_MAIN = "main_score"


@dataclass(frozen=True, slots=True)
class MtebReader:
    """Results of MTEB from version 1.12 on."""

    name: str = "mteb"
    description: str = "MTEB: folders MODEL/REVISION of TASK.json and model_meta.json"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, a result."""
        return any(_is_result(file) for file in list(find(path, "*.json"))[:20])

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read all tasks. ``value`` is a score of every task; None: its main score."""
        files = [one for one in find(path, "*.json") if _is_result(one)]
        if not files:
            raise refuse(path, "there is no result of MTEB")
        for file in files:
            yield _read(file, value or _MAIN)


def _is_result(file: Path) -> bool:
    start = file_start(file)
    return file.name != "model_meta.json" and b'"task_name"' in start and b'"scores"' in start


@refusing
def _read(file: Path, value: str) -> CaseScores:
    result = read_json(file)
    if not isinstance(result, Mapping) or not isinstance(result.get("scores"), Mapping):
        raise refuse(file, "it is no result of MTEB")
    task = str(result["task_name"])
    cases, values = [], []
    for split, subsets in result["scores"].items():
        for subset in subsets:
            number = as_number(subset.get(value))
            if number is None:
                names = [name for name, one in subset.items() if as_number(one) is not None]
                chosen(value, names, file)
            cases.append(f"{task}/{split}/{subset.get('hf_subset', 'default')}")
            values.append(float("nan") if number is None else number)
    if not cases:
        raise refuse(file, "the result has no scores")
    return CaseScores(
        algorithms=[_model(file)] * len(cases),
        cases=cases,
        values=np.array(values),
        clusters=[task] * len(cases),
        metric=value,
        greater_is_better=True if value == _MAIN else None,
    )


def _model(file: Path) -> str:
    """Return the name in model_meta.json, else that of the folder above the revision."""
    meta: Any = {}
    beside = file.parent / "model_meta.json"
    if beside.is_file():
        meta = read_json(beside)
    return str(meta.get("name") or file.parent.parent.name)
