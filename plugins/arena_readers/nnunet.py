"""Evaluations of nnU-Net: ``summary.json``, one per model and fold, with values per case and label.

Version 2 writes ``metric_per_case``, version 1 ``results`` with ``all``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from arena.interfaces import CaseScores
from arena.utils.file_errors import unreadable
from arena_readers.files import as_number, chosen, file_start, find, read_json, refusing

_DICE = "Dice"
_ERRORS = frozenset(("FN", "FP", "n_pred", "n_ref", "TN", "TP"))
"""Counts of voxels: no scores."""
_FOLD = re.compile(r"fold_\w+|validation\w*|postprocessed|crossval_results\w*|cv_niftis\w*")
"""Folders of nnU-Net below that of a model."""


@dataclass(frozen=True, slots=True)
class NnUNetReader:
    """Evaluations of nnU-Net, versions 1 and 2."""

    name: str = "nnunet"
    description: str = "nnU-Net: folders MODEL with summary.json, one per fold"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, an evaluation."""
        return any(_is_summary(file) for file in list(find(path, "*.json"))[:20])

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read all folds of all models. ``value`` is a metric; None: Dice."""
        files = [file for file in find(path, "*.json") if _is_summary(file)]
        if not files:
            raise unreadable(path, "there is no summary.json of nnU-Net")
        for file in files:
            yield _read(file, value or _DICE)


def _is_summary(file: Path) -> bool:
    start = file_start(file)
    return file.suffix == ".json" and (
        b'"foreground_mean"' in start
        or b'"metric_per_case"' in start
        or (b'"results"' in start and b'"all"' in start and b'"reference"' in start)
    )


@refusing
def _read(file: Path, value: str) -> CaseScores:
    records = list(_records(read_json(file), file, value))
    if not records:
        raise unreadable(file, "the evaluation has no cases")
    cases, labels, values = zip(*records, strict=True)
    several = len(set(labels)) > 1
    return CaseScores(
        algorithms=[model_folder_name(file)] * len(records),
        cases=cases,
        values=np.array(values),
        tasks=[f"label {label}" for label in labels] if several else None,
        clusters=cases if several else None,
        metric=value,
        greater_is_better=True if value in (_DICE, "IoU", "Jaccard") else None,
        value_range=(0.0, 1.0) if value in (_DICE, "IoU", "Jaccard") else None,
        notes=_notes(values, value),
    )


def _notes(values: Iterable[float], value: str) -> tuple[str, ...]:
    if not np.isnan(list(values)).any():
        return ()
    return (
        f"nnU-Net writes no {value} where a label is absent from both masks; --missing 1 counts "
        f"these as right.",
    )


def _records(summary: Any, file: Path, value: str) -> Iterator[tuple[str, str, float]]:
    """Yield the case, the label and the value; NaN where nnU-Net has none."""
    for case in _cases(summary, file):
        name = case.get("reference_file", case.get("reference"))
        metrics = case.get("metrics", case)
        labels = [
            (label, values)
            for label, values in metrics.items()
            if isinstance(values, Mapping) and label != "0"
        ]
        if not isinstance(name, str) or not labels:
            raise unreadable(file, "a case has no name of its reference, or no label")
        for label, values in labels:
            if value not in values:
                chosen(value, [record for record in values if record not in _ERRORS], file)
            number = as_number(values[value])
            yield _case(name), label, float("nan") if number is None else number


def _cases(summary: Any, file: Path) -> list[Mapping[str, Any]]:
    results = summary.get("results") if isinstance(summary, Mapping) else None
    if isinstance(results, Mapping):
        cases = results.get("all")
    else:
        cases = summary.get("metric_per_case") if isinstance(summary, Mapping) else None
    if not isinstance(cases, list) or not all(isinstance(case, Mapping) for case in cases):
        raise unreadable(file, "it has no list of cases")
    return cases


def _case(reference: str) -> str:
    return PurePosixPath(reference.replace("\\", "/")).name.split(".")[0]


def model_folder_name(file: Path) -> str:
    """Return the name of the folder of the model, above those that nnU-Net makes in it."""
    above = [part for part in file.resolve().parts[1:-1] if not _FOLD.fullmatch(part)]
    return above[-1] if above else file.stem
