"""Samples of lm-evaluation-harness: ``samples_TASK_DATE.jsonl``, written with ``--log_samples``.

One file per model and task, with a line per question (and filter of the answer). The folder of the
file is named after the model; ``results_DATE.json`` beside it says which direction is better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import InputError
from arena.interfaces import CaseScores
from arena.utils.file_errors import unreadable
from arena_readers.files import (
    as_number,
    chosen,
    find,
    json_lines,
    read_json,
    refusing,
    skipped,
)

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
        names = {file: _NAME.fullmatch(file.name) for file in find(path, _PATTERN)}
        newest: dict[tuple[Path, str], tuple[str, Path]] = {}
        for file, name in names.items():
            if name is not None:
                key, run = (file.parent, name["task"]), (name["date"] or "", file)
                newest[key] = max(newest.get(key, run), run)
        if not newest:
            raise unreadable(path, f"there is no file {_PATTERN}")
        read = {file for _, file in newest.values()}
        older = [file for file, name in names.items() if name is not None and file not in read]
        misnamed = [file for file, name in names.items() if name is None]
        notes = skipped(older, "older runs of a model on a task")
        notes += skipped(misnamed, "not named samples_TASK_DATE.jsonl")
        if len(tasks := list(dict.fromkeys(task for _, task in newest))) > 1:
            notes += (
                f"The questions of {len(tasks)} tasks count alike ({', '.join(tasks)}), as in a "
                "group of lm-evaluation-harness that is weighted by size; --combine mean is the "
                "mean over tasks.",
            )
        for (folder, task), (date, file) in newest.items():
            part = _read(file, task, _results(folder, date), value)
            yield replace(part, notes=(*part.notes, *notes))


def _results(folder: Path, date: str) -> dict[str, Any]:
    file = folder / f"results_{date}.json"
    results = read_json(file) if file.is_file() else {}
    return results if isinstance(results, dict) else {}


@refusing
def _read(file: Path, task: str, results: dict[str, Any], value: str | None) -> CaseScores:
    metric, _, wanted_filter = (value or "").partition(",")
    cases, values = [], []
    filters: dict[str, None] = {}
    for line in json_lines(file):
        if not isinstance(line, dict) or "doc_id" not in line:
            raise unreadable(file, "a line is no sample of lm-evaluation-harness: it has no doc_id")
        metric = metric or chosen(None, line.get("metrics", []), file)
        own_filter = str(line.get("filter", "none"))
        filters[own_filter] = None
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
        raise unreadable(file, f"it holds no sample with the filter {wanted_filter!r}")
    notes = []
    if len(filters) > 1 and "," not in (value or ""):
        notes.append(
            f"{task}: of the filters {', '.join(filters)} of the answers, {wanted_filter} counts; "
            f"--value {metric},FILTER chooses another."
        )
    reported = results.get("results", {}).get(task, {}).get(f"{metric},{wanted_filter}")
    mean = float(np.mean(values))
    if as_number(reported) is not None and not np.isclose(mean, reported, rtol=1e-9, atol=0):
        notes.append(
            f"{task}: lm-evaluation-harness reports {metric} {reported:.10g} for "
            f"{_model(file, results)}, which is not the mean of its questions, {mean:.10g}; the "
            "board shows the mean."
        )
    higher = results.get("higher_is_better", {}).get(task, {}).get(metric)
    return CaseScores(
        algorithms=[_model(file, results)] * len(cases),
        cases=cases,
        values=np.array(values),
        tasks=[task] * len(cases),
        metric=metric,
        greater_is_better=higher if isinstance(higher, bool) else None,
        notes=tuple(notes),
        kind="questions",
    )


def _model(file: Path, results: dict[str, Any]) -> str:
    return str(results.get("model_name") or file.parent.name)
