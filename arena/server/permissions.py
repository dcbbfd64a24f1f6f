"""Who may read and write the files of a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from arena.errors import InputError
from arena.server.records.layout import Layout
from arena.server.supervisor import User


def prepare(
    layout: Layout, folders: Sequence[Path], web: User | None, checker: User | None = None
) -> None:
    """Create the folders of a server; with a user for the web process, grant its access.

    The web process owns the intake. Published files belong to the owner of the first
    competition's folder and can be read by the web process's group.

    Raises
    ------
    InputError
        If the web process could read a competition's folder, or could not reach its own files, or
        the user who reads files is not another one.
    """
    layout.create()
    if web is None:
        layout.root.chmod(0o700)
        return
    for folder in folders:
        if layout.root.is_relative_to(folder):
            raise InputError(
                f"The files of the server are in {layout.root}, inside the competition's folder, "
                f"which {web.name} must not enter: choose another folder with --data."
            )
        if folder.stat().st_mode & 0o007:
            raise InputError(
                f"Every user can enter {folder}, also {web.name}: run chmod 700 {folder} first."
            )
    if checker is not None:
        others = {0, web.uid, *(folder.stat().st_uid for folder in folders)}
        if checker.uid in others:
            raise InputError(
                f"{checker.name} must be a user of its own: not root, not {web.name} and not the "
                f"owner of a competition's folder."
            )
        layout.checker("").parent.mkdir(mode=0o711, exist_ok=True)
        layout.checker("").parent.chmod(0o711)
    owner = folders[0].stat().st_uid
    rights = {
        layout.root: (0, 0, 0o711),
        layout.intake.parent: (web.uid, web.gid, 0o2770),
        layout.uploads: (web.uid, web.gid, 0o2770),
        layout.root / "public": (owner, web.gid, 0o2750),
        layout.root / "scorer": (owner, web.gid, 0o700),
    }
    for path, (uid, gid, mode) in rights.items():
        os.chown(path, uid, gid)
        path.chmod(mode)
    for path in layout.intake.parent.glob(f"{layout.intake.name}*"):
        os.chown(path, web.uid, web.gid)
        path.chmod(0o660)
