"""Results of HELM (Stanford CRFM): ``per_instance_stats.json`` beside ``run_spec.json``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from arena.errors import InputError
from arena.interfaces import CaseScores
from arena.interfaces.faults import show_all
from arena.utils.file_errors import unreadable
from arena_readers.files import as_number, find, read_json, refusing

_FILE = "per_instance_stats.json"
_MODEL = re.compile(r"[:,]model=[^,]*")
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class HelmReader:
    """Statistics per instance of HELM runs; perturbed instances are left out."""

    name: str = "helm"
    description: str = "HELM: folders of runs with per_instance_stats.json and run_spec.json"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, statistics per instance."""
        return next(find(path, _FILE), None) is not None

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read every run. ``value`` is the name of a statistic, such as ``exact_match``.

        Trials with other training examples (``train_trial_index``) are repeats.
        """
        files = list(find(path, _FILE))
        if not files:
            raise unreadable(path, f"there is no file {_FILE}")
        for file in files:
            yield _read(file, value)


@refusing
def _read(file: Path, value: str | None) -> CaseScores:
    instances = read_json(file)
    if not isinstance(instances, list):
        raise unreadable(file, "it is no list of instances")
    model, task = _run(file)
    plain = [
        instance
        for instance in instances
        if isinstance(instance, Mapping) and not instance.get("perturbation")
    ]
    values_by_model: dict[str, dict[str, list[Any]]] = {}
    for instance in plain:
        for stat in instance.get("stats", []):
            name = stat.get("name", {})
            if not name.get("perturbation"):
                of_split = values_by_model.setdefault(str(name.get("name")), {})
                of_split.setdefault(str(name.get("split")), []).append((instance, stat))
    if value not in values_by_model:
        problem = "HELM keeps many values per instance" if value is None else f"no value {value!r}"
        raise InputError(
            f"{file}: {problem}. Choose one with --value: "
            f"{show_all(sorted(values_by_model), _SHOWN)}."
        )
    splits = values_by_model[value]
    pairs = splits.get("test") or next(iter(splits.values()))
    numbers = [as_number(stat.get("mean")) for _, stat in pairs]
    return CaseScores(
        algorithms=[model] * len(pairs),
        cases=[str(instance.get("instance_id")) for instance, _ in pairs],
        values=np.array([float("nan") if number is None else number for number in numbers]),
        tasks=[task] * len(pairs),
        repeats=[str(instance.get("train_trial_index", 0)) for instance, _ in pairs],
        metric=value,
        kind="questions",
    )


def _run(file: Path) -> tuple[str, str]:
    """Return the model and the task of a run: its name without the model."""
    beside = file.parent / "run_spec.json"
    spec = read_json(beside) if beside.is_file() else {}
    name = str(spec.get("name") or file.parent.name)
    model = str(spec.get("adapter_spec", {}).get("model") or "")
    if not model:
        named = _MODEL.search(name)
        if named is None:
            raise unreadable(file, "run_spec.json is missing, and the folder names no model=")
        model = named[0].partition("=")[2]
    return model, _MODEL.sub("", name)
