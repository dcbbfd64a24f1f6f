"""Samples of lm-evaluation-harness: ``samples_TASK_DATE.jsonl``, written with ``--log_samples``.

One file per model and task, with a line per question (and filter of the answer). The folder of the
file is named after the model; ``results_DATE.json`` beside it says which direction is better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import InputError
from arena.interfaces import CaseScores
from arena_readers.files import as_number, chosen, find, json_lines, read_json, refuse, refusing

_PATTERN = "samples_*.jsonl"
_NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl")


@dataclass(frozen=True, slots=True)
class LmEvalReader:
    """Samples of lm-evaluation-harness (EleutherAI), version 0.4."""

    name: str = "lm-eval"
    description: str = "lm-evaluation-harness: samples_*.jsonl (lm_eval --log_samples)"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, a file of samples."""
        return next(find(path, _PATTERN), None) is not None

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read the newest samples of every model and task.

        ``value`` is a metric such as ``acc_norm``, or with the filter of the answers,
        ``exact_match,strict-match``.
        """
        newest: dict[tuple[Path, str], tuple[str, Path]] = {}
        several = False
        for file in find(path, _PATTERN):
            named = _NAME.fullmatch(file.name)
            if named is None:
                continue
            key, found = (file.parent, named["task"]), (named["date"] or "", file)
            several |= key in newest
            newest[key] = max(newest.get(key, found), found)
        if not newest:
            raise refuse(path, f"there is no file {_PATTERN}")
        note = "Of several runs of a model on a task, the newest counts."
        notes = (note,) if several else ()
        for (folder, task), (date, file) in newest.items():
            yield _read(file, task, _results(folder, date), value, notes)


def _results(folder: Path, date: str) -> dict[str, Any]:
    file = folder / f"results_{date}.json"
    found = read_json(file) if file.is_file() else {}
    return found if isinstance(found, dict) else {}


@refusing
def _read(
    file: Path, task: str, results: dict[str, Any], value: str | None, notes: tuple[str, ...]
) -> CaseScores:
    metric, _, wanted_filter = (value or "").partition(",")
    cases, values = [], []
    for line in json_lines(file):
        if not isinstance(line, dict) or "doc_id" not in line:
            raise refuse(file, "a line is no sample of lm-evaluation-harness: it has no doc_id")
        metric = metric or chosen(None, line.get("metrics", []), file)
        own_filter = str(line.get("filter", "none"))
        wanted_filter = wanted_filter or own_filter
        if own_filter != wanted_filter:
            continue
        if metric not in line:
            chosen(metric, line.get("metrics", []), file)
        number = as_number(line.get(metric))
        if number is None:
            raise InputError(
                f"{file}: {metric} of question {line['doc_id']} is no number, because it is not "
                f"computed per question. Choose another metric with --value."
            )
        cases.append(str(line["doc_id"]))
        values.append(number)
    if not cases:
        raise refuse(file, f"it holds no sample with the filter {wanted_filter!r}")
    higher = results.get("higher_is_better", {}).get(task, {}).get(metric)
    return CaseScores(
        algorithms=[str(results.get("model_name") or file.parent.name)] * len(cases),
        cases=cases,
        values=np.array(values),
        tasks=[task] * len(cases),
        metric=metric,
        greater_is_better=higher if isinstance(higher, bool) else None,
        notes=notes,
        kind="questions",
    )
