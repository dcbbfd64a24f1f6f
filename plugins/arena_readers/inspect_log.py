"""Logs of Inspect (UK AI Security Institute): ``.eval`` and ``.json``, one per model and task."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from arena.errors import InputError
from arena.interfaces import CaseScores
from arena.utils.file_errors import unreadable
from arena_readers.files import as_number, chosen, file_start, find, read_json, refusing

_LETTERS = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Values as Inspect's ``value_to_float`` counts them: correct, partial, incorrect, no answer."""
_ZSTD, _MOST_BYTES = 93, 2**31
_HEADER = struct.Struct("<26xHH")


@dataclass(frozen=True, slots=True)
class InspectReader:
    """Logs of Inspect, in both of its formats."""

    name: str = "inspect"
    description: str = "Inspect: .eval and .json logs"

    def recognises(self, path: Path) -> bool:
        """Return whether it is, or holds, a log."""
        if path.is_dir():
            logs = (*find(path, "*.eval"), *find(path, "*.json"))
            return any(_is_log(log) for log in logs[:20])
        return _is_log(path)

    def read(self, path: Path, value: str | None) -> Iterable[CaseScores]:
        """Read every log; of several of a model and task, the newest counts.

        ``value`` is a scorer, or ``scorer/key`` for a scorer whose value is a mapping.
        """
        files = [*find(path, "*.eval"), *find(path, "*.json")] if path.is_dir() else [path]
        newest: dict[tuple[str, str], tuple[str, Path, Any]] = {}
        notes: list[str] = []
        for file in files:
            if not _is_log(file):
                continue
            log = _log(file)
            if log is None and path.is_dir():
                notes.append(f"{file.name} has no samples and is left out.")
                continue
            if log is None:
                raise unreadable(file, "the log has no samples (--no-log-samples?)")
            about = log.get("eval", {})
            key = (str(about.get("model")), str(about.get("task")))
            created = str(about.get("created", ""))
            if key in newest:
                notes.append("Of several logs of a model and task, the newest counts.")
            if key not in newest or created > newest[key][0]:
                newest[key] = (created, file, log)
            if log.get("status") != "success":
                notes.append(
                    f"{file.name} has the status {log.get('status')!r}: it may be partial."
                )
        if not newest:
            some = "no log of Inspect has samples (--no-log-samples?)"
            raise unreadable(path, some if notes else "there is no log of Inspect")
        for (model, task), (_, file, log) in newest.items():
            yield _scores(
                file,
                model,
                task=task,
                samples=log["samples"],
                value=value,
                notes=tuple(dict.fromkeys(notes)),
            )


def _is_log(path: Path) -> bool:
    start = file_start(path)
    if path.suffix == ".eval":
        return start.startswith(b"PK")
    return path.suffix == ".json" and b'"status"' in start and b'"eval"' in start


@refusing
def _log(file: Path) -> dict[str, Any] | None:
    """Return a log with ``status``, ``eval`` and ``samples``; None if it has no samples."""
    log = _archive(file) if file.suffix == ".eval" else read_json(file)
    if not isinstance(log, dict) or not isinstance(log.get("eval"), dict):
        raise unreadable(file, "it is no log of Inspect")
    return log if isinstance(log.get("samples"), list) and log["samples"] else None


def _archive(file: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(file) as archive:
            members = {member.filename: member for member in archive.infolist()}
            if sum(member.file_size for member in members.values()) > _MOST_BYTES:
                raise unreadable(file, "it unpacks to more than 2 GiB")
            header = members.get("header.json") or members.get("_journal/start.json")
            if header is None:
                raise unreadable(file, "the archive has no header.json")
            log: dict[str, Any] = read_member(archive, header)
            if "summaries.json" in members:
                log["samples"] = read_member(archive, members["summaries.json"])
            else:
                log["samples"] = [
                    read_member(archive, member)
                    for name, member in sorted(members.items())
                    if name.startswith("samples/")
                ]
            return log
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise unreadable(file, error) from error


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """Return a document of an archive; Python 3.11 cannot unpack Zstandard (method 93) itself."""
    if info.compress_type != _ZSTD:
        return json.loads(archive.read(info))
    file = archive.fp
    assert file is not None  # noqa: S101 - the archive is open
    file.seek(info.header_offset)
    name, extra = _HEADER.unpack(file.read(_HEADER.size))
    file.seek(info.header_offset + _HEADER.size + name + extra)
    packed = pa.BufferReader(file.read(info.compress_size))
    with pa.CompressedInputStream(packed, "zstd") as stream:
        return json.loads(stream.read(info.file_size))


@refusing
def _scores(
    file: Path, model: str, task: str, samples: list[Any], value: str | None, notes: tuple[str, ...]
) -> CaseScores:
    scorer, _, key = (value or "").partition("/")
    if not scorer:
        names = [name for sample in samples for name in sample.get("scores") or {}]
        scorer = chosen(None, list(dict.fromkeys(names)), file)
    values = [_value(file, sample, scorer, key) for sample in samples]
    epochs = [str(sample.get("epoch", 1)) for sample in samples]
    return CaseScores(
        algorithms=[model] * len(samples),
        cases=[str(sample["id"]) for sample in samples],
        values=np.array(values),
        tasks=[task] * len(samples),
        repeats=epochs,
        metric=f"{scorer}/{key}" if key else scorer,
        notes=notes,
        kind="questions",
    )


def _value(file: Path, sample: Mapping[str, Any], scorer: str, key: str) -> float:
    """Return the score of a sample; NaN where there is none, as after an error."""
    scores = sample.get("scores") or {}
    if not scores or (scorer not in scores and sample.get("error")):
        return float("nan")
    if scorer not in scores:
        chosen(scorer, list(scores), f"{file}, sample {sample.get('id')},")
    value = scores[scorer].get("value")
    if isinstance(value, Mapping):
        if not key:
            names = ", ".join(f"{scorer}/{name}" for name in value)
            raise InputError(f"{file}: {scorer} has several values. Choose with --value: {names}.")
        value = value.get(key)
    if isinstance(value, str):
        text = value.strip()
        number = _LETTERS.get(text, _WORDS.get(text.lower()))
        if number is None:
            try:
                number = float(text)
            except ValueError:
                raise InputError(
                    f"{file}, sample {sample.get('id')}: the value {text[:40]!r} of {scorer} is no "
                    f"number. Choose another scorer with --value."
                ) from None
        return number
    number = as_number(value)
    return float("nan") if number is None else number
