"""Copies a competition and the records of its server, also while it is served."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from arena.config import UNFINISHED_NAME
from arena.errors import InputError
from arena.server.marker import RECORDS_NOTE
from arena.server.records.layout import Layout
from arena.utils.atomic_write import atomic_folder
from arena.utils.file_errors import reason_of
from arena.utils.text import plural

BACKUP_NOTE = ".last-backup"
_TRANSIENT = {".served.json", ".served.sock", BACKUP_NOTE, RECORDS_NOTE}


def backup(folder: Path, layout: Layout, target: Path) -> int:
    """Copy a closed competition, then its queue and uploads; return the number of bytes.

    The copy is a competition's folder with the records of the server in ``server/``. The queue is
    copied last, so that it has every request that the competition has judged.

    Raises
    ------
    InputError
        If the target exists, is inside the folder, or a file cannot be copied.
    """
    if target.exists():
        raise InputError(f"{target} exists: name a new folder for each backup.")
    if target.resolve().is_relative_to(folder.resolve()):
        raise InputError(f"{target} is inside the competition's folder: choose another place.")
    records = layout.root.resolve()

    def skipped(parent: str, names: list[str]) -> set[str]:
        records_names = {name for name in names if (Path(parent) / name).resolve() == records}
        unfinished = {UNFINISHED_NAME} if Path(parent) == folder else set()
        return records_names | (_TRANSIENT & set(names)) | (unfinished & set(names))

    with atomic_folder(target, 0o700) as partial:  # closed to others while it is written
        try:
            shutil.copytree(folder, partial, ignore=skipped, dirs_exist_ok=True)
        except shutil.Error as error:  # it goes on, and lists what it could not copy
            (source, _, text), *others = error.args[0]
            number = re.match(r"\[Errno (\d+)\]", text)
            reason = (
                reason_of(OSError(int(number[1]), os.strerror(int(number[1])))) if number else text
            )
            and_others = f" and {plural(len(others), 'more file')}" if others else ""
            raise InputError(
                f"{source}{and_others} cannot be copied: {reason}. There is no copy."
            ) from error
        partial.chmod(0o700)
        if layout.intake.exists():
            copied = Layout(partial / "server")
            copied.create()
            with (
                closing(sqlite3.connect(layout.intake)) as source,
                closing(sqlite3.connect(copied.intake)) as goal,
            ):
                source.backup(goal)
            for upload in layout.uploads.iterdir():
                if not upload.suffix:  # whole
                    # A file that was only to be checked can be removed meanwhile.
                    with contextlib.suppress(FileNotFoundError):
                        shutil.copy2(upload, copied.uploads / upload.name, follow_symlinks=False)
    (folder / BACKUP_NOTE).touch()
    return sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
