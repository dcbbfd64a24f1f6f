"""What an export claims: read as what a stranger wrote, and held against its own record."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from arena.config import Settings
from arena.errors import InputError
from arena.finale import fingerprint
from arena.store import Event
from arena.store.events import first_broken
from arena.text import printable, shorten
from arena.types import Solution, Usage

__all__ = ["Claims", "contradictions", "read_claims", "with_usage"]

_MOST_BYTES = 2**28
"""Of one of the files; an export of 3,000 teams takes a hundredth of it."""

_FILES = frozenset(
    {
        "README.txt", "settings.json", "result.json", "private.csv", "public.csv",
        "submissions.csv", "events.jsonl", "usage.csv", "finals.json",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Claims:
    """What an export says, each part in the form that it must have."""

    settings: Settings
    result: Mapping[str, Any]
    finals: Mapping[str, list[int]]
    events: tuple[Event, ...]

    @property
    def baseline(self) -> Mapping[str, Any] | None:
        """The row of the organiser's baseline."""
        row: Mapping[str, Any] | None = self.result.get("baseline")
        return row

    @property
    def written(self) -> dict[str, list[int]]:
        """The submissions whose predictions are in the export, by team."""
        own = {self.baseline["team"]: [self.baseline["submission"]]} if self.baseline else {}
        return {**self.finals, **own}


def read_claims(folder: Path) -> Claims:
    """Read an export, which anybody may have changed.

    Raises
    ------
    InputError
        With the file and what is wrong with it.
    """
    if not folder.is_dir():
        raise InputError(f"There is no folder {printable(str(folder))}: name what export wrote.")
    links = sorted(path for path in folder.rglob("*") if path.is_symlink())
    if links:
        raise _no_export(links[0], "is a link, and an export has none")
    document = _read(folder / "settings.json", json.loads)
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise _no_export(folder / "settings.json", f"{where}: {first['msg']}") from error
    result, finals = (_read(folder / name, json.loads) for name in ("result.json", "finals.json"))
    _require(_is_result(result), folder / "result.json")
    _require(_is_finals(finals), folder / "finals.json")
    events = _read(folder / "events.jsonl", _events)
    return Claims(settings, result, finals, events)


def _no_export(path: Path, what: str) -> InputError:
    name = printable(str(path))
    return InputError(f"{name} {shorten(what, 200)}: take the export as arena wrote it.")


def _require(fulfilled: bool, path: Path) -> None:
    if not fulfilled:
        raise _no_export(path, "does not hold what an export has there")


def _read(path: Path, parse: Callable[[str], Any]) -> Any:
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise _no_export(path, f"is larger than {_MOST_BYTES // 2**20} MB")
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
        raise _no_export(path, f"cannot be read ({reason})") from error
    except (ValueError, TypeError, RecursionError) as error:
        raise _no_export(path, "is not written as an export is") from error


def _events(text: str) -> tuple[Event, ...]:
    events = tuple(Event(**json.loads(line)) for line in text.splitlines())
    kinds = (int, str, str, str, dict, str, str)
    for event in events:
        values = (getattr(event, field.name) for field in dataclasses.fields(event))
        if not all(type(value) is kind for value, kind in zip(values, kinds, strict=True)):
            raise TypeError("an event has a value of another kind")
    return events


def _is_result(value: Any) -> bool:
    """Tell whether the parts that are looked at have their form."""
    if not (isinstance(value, dict) and type(value.get("seed")) is int and value["seed"] >= 0):
        return False
    best, rows, baseline = (
        value.get(name) for name in ("best_score_corrected", "standings", "baseline")
    )
    return (
        isinstance(best, dict)
        and "estimate" in best
        and isinstance(rows, list)
        and all(isinstance(row, dict) and isinstance(row.get("team"), str) for row in rows)
        and (baseline is None or _is_baseline(baseline))
    )


def _is_baseline(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("team"), str)
        and type(value.get("submission")) is int
    )


def _is_finals(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and bool(value)
        and all(
            isinstance(own, list) and own and all(type(one) is int for one in own)
            for own in value.values()
        )
    )


def contradictions(folder: Path, claims: Claims, tables: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence on everything in which an export contradicts its own record.

    Parameters
    ----------
    tables
        The text of each CSV of the export, by name, as it follows from the rest.
    """
    broken = first_broken(claims.events)
    if broken:
        yield broken
    finalized = [one.payload for one in claims.events if one.kind == "finalized"]
    if not finalized:
        yield "events.jsonl does not record that the competition was finalized: the end is missing."
    elif finalized[-1].get("sha256") != _fingerprint(claims.result):
        yield "result.json is not the board that events.jsonl records as the final one."
    elif finalized[-1].get("finals") != claims.finals:
        yield "finals.json names other submissions than events.jsonl records."
    for name, text in tables.items():
        if _read(folder / name, _rows) != _rows(text):
            yield f"{name} is not what result.json says."
    yield from _contradictions_of_submissions(folder, claims.events)
    known = _FILES | {f"finals/{one}.csv" for own in claims.written.values() for one in own}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name not in known and name != "finals":
            yield f"{shorten(name, 100)} is no part of an export."


def _rows(text: str) -> list[dict[str, str]]:
    """Return the rows of a table, in whatever order its columns stand."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _fingerprint(result: Mapping[str, Any]) -> str:
    try:
        return fingerprint(result)
    except (ValueError, RecursionError):  # a number that JSON has not
        return ""


def _contradictions_of_submissions(folder: Path, events: tuple[Event, ...]) -> Iterator[str]:
    """Hold what the boards show of each submission against what its team was told."""
    if any(event.kind == "epoch" for event in events):
        return  # every submission was released anew
    told = {str(one.payload.get("submission")): one.payload.get("released")
            for one in events if one.kind == "submission"}  # fmt: skip
    for name, column in (("submissions.csv", "released"), ("public.csv", "score")):
        for row in _read(folder / name, _rows):
            number, shown = row.get("submission") or "", row.get(column)
            if shown and shown != str(told.get(number)):
                which = f"of submission {shorten(number, 12)} than events.jsonl"
                yield f"{name} shows another score {which}."


def with_usage(solution: Solution, folder: Path) -> Solution:
    """Return a solution with the split that an export has.

    Raises
    ------
    InputError
        If it is not of the same ids, or the file cannot be read.
    """
    path = folder / "usage.csv"
    rows = _read(path, lambda text: list(csv.reader(text.splitlines(keepends=True))))[1:]
    _require(all(len(row) == 2 and row[1].upper() in Usage.__members__ for row in rows), path)
    if [row[0] for row in rows] != solution.ids.to_pylist():
        raise InputError(
            "The ids of the solution are not those of usage.csv: it is another solution, or the "
            "export was changed."
        )
    usage = np.array([Usage[row[1].upper()] for row in rows], dtype=np.uint8)
    return dataclasses.replace(solution, usage=usage)
