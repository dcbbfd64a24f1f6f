"""Finds submission files in folders and derives the team of each."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from arena.errors import InputError
from arena.interfaces.faults import clean, show
from arena.types import Fault
from arena.utils.file_errors import reason_of
from arena.utils.text import has_stacked_marks, plural

MAX_TEAM_LENGTH = 100
"""Maximum length of a team name, in characters."""

_SUFFIXES = (
    *(".csv", ".tsv", ".txt", ".parquet", ".pq", ".arrow", ".feather", ".json", ".jsonl"),
    *(".ndjson", ".gz", ".bz2", ".xz", ".zst", ".zip"),
)
_LITTER = {"thumbs.db", "desktop.ini", "__macosx", "icon\r"}
_SAMPLES = {f"sample_submission.{ending}" for ending in ("csv", "csv.gz", "parquet", "txt")}
"""What ``arena init`` writes for participants, and the forms in which others give it."""
_DOCUMENTS = {"readme", "license", "licence", "notes", "changelog", "todo"}
_DOCUMENT_SUFFIXES = {"", ".txt", ".md", ".rst", ".html", ".pdf", ".docx"}
OF_NAME = "team name"
"""The kind of fault of a file whose team name is not allowed."""
_NO_NAME = Fault(OF_NAME, "The team name is empty. Give a name with --team.")
_CONTROL = {"Cc", "Cs", "Zl", "Zp"}


@dataclass(frozen=True, slots=True)
class SubmissionFile:
    """A submission file that has not been opened yet."""

    team: str
    path: Path
    name: str
    """The path relative to the searched folder, escaped for display."""
    faults: tuple[Fault, ...] = ()
    """Why the file must not be read, or why the team name is invalid."""
    table: Any = None
    """A :class:`~arena.intake.memory.MemoryTable` for data in memory; then there is no file."""


def find_submissions(paths: Sequence[Path]) -> tuple[SubmissionFile, ...]:
    """Return every file under the paths, in the order of their names.

    In a folder, ``team.csv`` and ``team/anything.csv`` belong to ``team``; a folder directly in it
    that holds mask files only (PNG, NIfTI, ``.npy``) is one submission. Hidden files, files of
    the operating system, documents such as README.md and notes.txt, and ``sample_submission.*``
    directly in the folder are skipped. Links out of the folder are faults, and links to folders are
    not followed.

    Raises
    ------
    InputError
        If a path does not exist or cannot be listed.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("a.csv", "b-1.csv"):
    ...     (folder / name).touch()
    >>> [file.team for file in find_submissions([folder])]
    ['a', 'b-1']
    """
    submission_files: list[SubmissionFile] = []
    for path in paths:
        if not os.path.lexists(path):
            message = f"There is no file or folder {show(str(path))}: check the path."
            raise InputError(message)
        submission_files.extend(
            _in_folder(path) if path.is_dir() else [_submission(path, PurePath(path.name))]
        )
    submission_files.sort(key=lambda file: (file.name, str(file.path)))
    return tuple(submission_files)


def named_file(path: Path, team: str) -> SubmissionFile:
    """Return the submission file of a given team.

    >>> named_file(Path("folder/try 1.csv"), " Zoe ").team
    'Zoe'
    """
    name = team_name(team)
    fault = team_fault(name) if name else _NO_NAME
    shown_name = name if fault is None else clean(name, MAX_TEAM_LENGTH) or "(no name)"
    return SubmissionFile(shown_name, path, clean(path.name, 1_000), (fault,) if fault else ())


def team_name(text: str) -> str:
    """Return a team name in normal form: NFC, without surrounding spaces.

    >>> team_name(" Zoe" + chr(0x308)) == "Zo" + chr(0xEB)
    True
    """
    return unicodedata.normalize("NFC", text).strip()


def team_fault(team: str) -> Fault | None:
    """Return the fault of a team name, or None."""
    if not team:
        message = "The team name is empty: name the file after the team."
    elif len(team) > MAX_TEAM_LENGTH:
        message = (
            f"The team name has {plural(len(team), 'character')}, but at most {MAX_TEAM_LENGTH} "
            "are allowed: shorten it."
        )
    elif any(unicodedata.category(c) in _CONTROL for c in team):
        message = f"The team name {show(team)} contains control characters: remove them."
    elif has_stacked_marks(team):
        message = "The team name has letters with too many accents: use at most eight on one."
    else:
        return None
    return Fault(OF_NAME, message)


def _in_folder(folder: Path) -> Iterator[SubmissionFile]:
    inside = folder.resolve()

    def fail(error: OSError) -> None:
        message = f"The folder {show(str(error.filename))} cannot be listed ({reason_of(error)})."
        raise InputError(message) from error

    for parent, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not _is_litter(name))
        if Path(parent) == folder:
            masks = [name for name in folders if _is_of_masks(folder / name)]
            folders[:] = [name for name in folders if name not in masks]
            for name in masks:
                yield _submission(folder / name, PurePath(name), inside)
        links = [name for name in folders if Path(parent, name).is_symlink()]
        sent_names = [name for name in files if not (_is_litter(name) or _is_document(name))]
        for name in sorted(sent_names + links):
            path = Path(parent, name)
            below = path.relative_to(folder)
            if str(below).casefold() not in _SAMPLES:
                yield _submission(path, below, inside)


def _is_litter(name: str) -> bool:
    return name.startswith((".", "~$")) or name.casefold() in _LITTER


def _is_of_masks(folder: Path) -> bool:
    """Return whether a folder holds mask files only: it is one submission."""
    if folder.is_symlink():
        return False
    files = [name for _, _, names in os.walk(folder) for name in names if not _is_litter(name)]
    from arena.intake.mask_files import is_mask_file

    return bool(files) and all(map(is_mask_file, files))


def _is_document(name: str) -> bool:
    path = PurePath(name.casefold())
    return path.stem in _DOCUMENTS and path.suffix in _DOCUMENT_SUFFIXES


def _submission(path: Path, below: PurePath, inside: Path | None = None) -> SubmissionFile:
    team = team_name(below.parts[0] if len(below.parts) > 1 else file_stem(below.name))
    fault = team_fault(team)
    if inside is not None and path.is_symlink():
        fault = _link_fault(path, inside) or fault
    shown_name = team if fault is None else clean(team, MAX_TEAM_LENGTH) or "(no name)"
    faults = () if fault is None else (fault,)
    return SubmissionFile(shown_name, path, clean(below.as_posix(), 1_000), faults)


def _link_fault(path: Path, inside: Path) -> Fault | None:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):
        return Fault("link", "The file is a broken link: send the file itself.")
    if target.is_relative_to(inside) and target.is_file():
        return None
    return Fault("link", "The file is a link to outside the folder: send the file itself.")


def file_stem(name: str) -> str:
    """Return a file's name without the suffixes of data files."""
    path = PurePath(name)
    while path.suffix.casefold() in _SUFFIXES:
        path = path.with_suffix("")
    return path.name if path.name != name else path.stem
