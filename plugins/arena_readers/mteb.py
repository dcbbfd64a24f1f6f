"""Results of MTEB: one file per model and task, with a score per split and language subset.

MTEB publishes no values per document. A case is a task, whose value is the mean over its language
subsets, as in ``TaskResult.get_score``: the mean over the cases is MTEB's mean over tasks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arena.interfaces import CaseScores
from arena.utils.file_errors import unreadable
from arena.utils.text import plural
from arena_readers.files import (
    as_number,
    chosen,
    file_start,
    find,
    read_json,
    refusing,
    skipped,
)

_MAIN = "main_score"
_SPLIT = "test"
_META = "model_meta.json"


@dataclass(frozen=True, slots=True)
class MtebReader:
    """Results of MTEB from version 1.12 on."""

    name: str = "mteb"
    description: str = "MTEB: folders MODEL/REVISION of TASK.json and model_meta.json"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, a result."""
        return any(_is_result(file) for file in list(find(path, "*.json"))[:20])

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read all tasks.

        ``value`` is a score of every task, or with a split, ``main_score,dev``. None: the main
        score. Without a split it is ``test`` where a task has it, else the mean over its splits.
        """
        files = [file for file in find(path, "*.json") if file.name != _META]
        parts, left_out = [], []
        for file in files:
            result = _result(file)
            if result is None:
                left_out.append(file)
            else:
                parts.append(_read(file, result, value or _MAIN))
        if not parts:
            raise unreadable(path, "there is no result of MTEB of version 1.12 or later")
        notes = skipped(left_out, "no results of MTEB of version 1.12 or later")
        yield from (replace(part, notes=(*part.notes, *notes)) for part in parts)


def _is_result(file: Path) -> bool:
    start = file_start(file)
    return file.name != _META and b'"task_name"' in start and b'"scores"' in start


def _result(file: Path) -> Mapping[str, Any] | None:
    """Return the document if it is a result; a file that looks like one must be readable."""
    if not _is_result(file) and b"task_name" not in file.read_bytes():
        return None
    document = read_json(file)
    if not isinstance(document, Mapping) or "task_name" not in document or "scores" not in document:
        return None
    return document


@refusing
def _read(file: Path, result: Mapping[str, Any], value: str) -> CaseScores:
    task, scores = str(result["task_name"]), result["scores"]
    if not isinstance(scores, Mapping):
        raise unreadable(file, "it is no result of MTEB")
    score, _, split = value.partition(",")
    if split:
        chosen(split, list(scores), file)
    splits = [split] if split else [_SPLIT] if _SPLIT in scores else list(scores)
    values = []
    for subset in (subset for name in splits for subset in scores[name]):
        number = as_number(subset.get(score))
        if number is None:
            names = [name for name, value in subset.items() if as_number(value) is not None]
            chosen(score, names, file)
        values.append(float("nan") if number is None else number)
    if not values:
        raise unreadable(file, "the result has no scores")
    others = [name for name in scores if name not in splits]
    notes = [f"{task}: the mean over {plural(len(values), 'subset')}."] if len(values) > 1 else []
    if len(splits) > 1:
        notes = [f"{task}: the mean over the splits {', '.join(splits)} and their subsets."]
    if others and not split:
        notes.append(
            f"{task}: the split {_SPLIT} counts, not {', '.join(others)}; --value {score},SPLIT "
            "chooses another."
        )
    return CaseScores(
        algorithms=[_model(file)],
        cases=[task],
        values=np.array([np.mean(values)]),
        metric=value,
        greater_is_better=True if score == _MAIN else None,
        notes=tuple(notes),
    )


def _model(file: Path) -> str:
    """Return the name in model_meta.json, else that of the folder above the revision."""
    meta: Any = {}
    beside = file.parent / _META
    if beside.is_file():
        meta = read_json(beside)
    return str(meta.get("name") or file.parent.parent.name)
