"""The manifest of an import: which file was sent when, and by which team."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from arena.errors import InputError
from arena.intake.folder import OF_NAME, SubmissionFile, named_file
from arena.interfaces.faults import show, show_all
from arena.utils.file_errors import unreadable
from arena.utils.tabular import csv_problem
from arena.utils.text import delimiter_of
from arena.utils.times import in_utc

_MOST_BYTES = 200 * 2**20


def ordered_by_manifest(
    files: Sequence[SubmissionFile], manifest: Path, now: datetime
) -> tuple[tuple[SubmissionFile, datetime], ...]:
    """Return the files of a folder with their original times, the earliest first.

    Parameters
    ----------
    files
        All files that were found.
    manifest
        A CSV file with the columns ``file`` (the path within the folder), ``received`` (ISO 8601,
        without an offset in UTC) and optionally ``team``.
    now
        No time may be later.

    Raises
    ------
    InputError
        If the manifest is damaged, names a file that is not there or lacks one, or a time is
        invalid or in the future.
    """
    times: dict[str, tuple[datetime, str]] = {}
    for number, row in enumerate(_rows(manifest), start=2):
        name = (row["file"] or "").strip()
        where = f"{manifest}, row {number}"
        if name in times:
            raise InputError(f"{where}: {show(name)} is there twice.")
        times[name] = (_time(row["received"] or "", where, now), (row.get("team") or "").strip())
    file_of = {file.name: file for file in files}
    if unlisted := sorted(file_of.keys() - times.keys()):
        raise InputError(f"{manifest} does not list {show_all(unlisted)}: add them, with a time.")
    if absent := sorted(times.keys() - file_of.keys()):
        raise InputError(f"{manifest} lists {show_all(absent)}, which the folder does not have.")
    dated = []
    for name, (received, team) in times.items():
        file = file_of[name]
        if team:
            named = named_file(file.path, team)
            others = tuple(fault for fault in file.faults if fault.kind != OF_NAME)
            file = replace(named, name=file.name, faults=others or named.faults)
        dated.append((file, received))
    return tuple(sorted(dated, key=lambda file_time: (file_time[1], file_time[0].name)))


def _rows(manifest: Path) -> list[dict[str, str | None]]:
    try:
        if manifest.stat().st_size > _MOST_BYTES:
            raise InputError(f"{manifest} is larger than 200 MiB, the limit for a manifest.")
        with manifest.open(newline="", encoding="utf-8-sig") as file:
            text = file.read()
        delimiter = delimiter_of(text)
        reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        rows = list(reader)
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(manifest, error) from error
    except csv.Error as error:
        raise unreadable(manifest, csv_problem(reader.reader.line_num, error)) from error
    for name in ("file", "received"):
        if name not in (reader.fieldnames or ()):
            raise InputError(
                f"{manifest} has no column {name}: the columns are file, received and optionally "
                f"team."
            )
    return rows


def _time(text: str, where: str, now: datetime) -> datetime:
    try:
        time = in_utc(datetime.fromisoformat(text.strip()))
    except ValueError:
        raise InputError(
            f"{where}: {show(text)} is no time: write it as 2025-03-31T18:05:00Z."
        ) from None
    if time > now:
        raise InputError(f"{where}: {show(text)} is in the future.")
    return time
