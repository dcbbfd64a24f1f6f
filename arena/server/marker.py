"""Marks a competition's folder while it is served, and lends it to other commands.

The scorer has the database open. Another command asks for it on a socket that only the organiser's
user can reach; the scorer finishes its group, closes the database and waits until the command ends.
Meanwhile requests are received as always and wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.errors import InputError, StoreBusyError, UsageError
from arena.server.records.layout import Layout
from arena.utils.atomic_write import atomic_write
from arena.utils.strict_json import parse_json

MARKER_NAME = ".served.json"
RECORDS_NOTE = ".server-data"
"""Where the records of the last server are, relative to the folder."""
_SOCKET_NAME = ".served.sock"
_GRANTED = b"yours"
_LOCK_SECONDS = 0.5
"""A command that looks whether a folder is served holds the lock for a moment."""


@dataclass(frozen=True, slots=True)
class ServedFolder:
    """A folder that a running server has marked."""

    url: str
    """The address of its pages."""
    data: Path
    """The folder of its queue and uploads."""


@contextlib.contextmanager
def marked(folder: Path, url: str, data: Path) -> Iterator[None]:
    """Mark a folder as served by this process until the block ends.

    Raises
    ------
    InputError
        If another process serves it.
    """
    marker = folder / MARKER_NAME
    with locked(folder) as alone:
        if not alone:
            raise InputError(f"{folder} is served already by another process.")
        try:
            atomic_write(marker, json.dumps({"url": url, "data": str(data)}).encode())
            if os.geteuid() == 0:  # the owner's commands must be able to read it
                status = folder.stat()
                os.chown(marker, status.st_uid, status.st_gid)
            yield
        finally:
            marker.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(folder: Path, *, shared: bool = False) -> Iterator[bool]:
    """Lock a folder until the block ends, and yield whether no other process has locked it.

    The lock ends with its process, however that ends. A process number in a file would not do: in a
    container, or after a restart of the machine, another process can have the same.
    """
    import fcntl

    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    until = time.monotonic() + (0.0 if shared else _LOCK_SECONDS)
    try:
        while True:
            try:
                fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    yield False
                    return
                time.sleep(0.02)
            else:
                break
        yield True
    finally:
        os.close(descriptor)


def served_folder(folder: Path) -> ServedFolder | None:
    """Return the notes of the running server of a folder, or None.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with marked(folder, "http://localhost:8000", folder / "server"):
    ...     served = served_folder(folder)
    >>> served.url, served_folder(folder)
    ('http://localhost:8000', None)
    """
    try:
        note = parse_json((folder / MARKER_NAME).read_text())
        served = ServedFolder(str(note["url"]), Path(note["data"]))
        with locked(folder, shared=True) as alone:
            return None if alone else served
    except (OSError, ValueError, KeyError, TypeError):
        return None


class Lender:
    """The scorer's side of the socket."""

    def __init__(self, listening: socket.socket) -> None:
        listening.setblocking(False)
        self._listening = listening
        self._client: socket.socket | None = None

    @property
    def asked(self) -> bool:
        """Whether a command waits for the folder."""
        if self._client is None:
            with contextlib.suppress(OSError):
                self._client, _ = self._listening.accept()
        return self._client is not None

    def lend(self) -> None:
        """Let the waiting command have the folder, and wait until it ends."""
        if self._client is None:
            return
        with self._client as client, contextlib.suppress(OSError):
            client.setblocking(True)
            client.sendall(_GRANTED)
            client.recv(1)  # until the other side closes it
        self._client = None


@contextlib.contextmanager
def lending(folder: Path) -> Iterator[Lender]:
    """Listen for commands that ask for a folder until the block ends."""
    path = folder / _SOCKET_NAME
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening, reachable(folder) as near:
        os.fchmod(listening.fileno(), 0o600)  # from the first moment, where the system does that
        listening.bind(f"{near}/{_SOCKET_NAME}")
        path.chmod(0o600)
        listening.listen()
        try:
            yield Lender(listening)
        finally:
            path.unlink(missing_ok=True)


def borrow(folder: Path, wait: float) -> socket.socket | None:
    """Ask the server of a folder to close it; it is opened again when the result is closed.

    None if no scorer listens.

    Raises
    ------
    StoreBusyError
        If the scorer does not answer in time: it is judging a submission.
    """
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(wait)
    try:
        with reachable(folder) as near:
            client.connect(f"{near}/{_SOCKET_NAME}")
    except OSError:
        client.close()
        return None
    try:
        granted = client.recv(len(_GRANTED)) == _GRANTED
    except TimeoutError:
        granted = False
    if not granted:
        client.close()
        raise StoreBusyError(
            f"This competition is served, and its scorer did not hand it over within {wait:g} s, "
            f"because it is judging submissions. Try again, or wait longer with --wait."
        )
    client.settimeout(None)
    return client


@contextlib.contextmanager
def reachable(folder: Path) -> Iterator[str]:
    """Yield a short path to a folder: the path of a socket is limited to 107 bytes."""
    descriptor = os.open(folder, getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{descriptor}" if Path("/proc/self/fd").is_dir() else str(folder)
    finally:
        os.close(descriptor)


def note_records(folder: Path, root: Path) -> None:
    """Note in a competition's folder where the accounts and the queue of its server are."""
    with contextlib.suppress(OSError):  # a folder that cannot be written is served as before
        atomic_write(folder / RECORDS_NOTE, os.path.relpath(root, folder).encode())


def records_folder(folders: Sequence[Path]) -> Path:
    """Return the folder of the records of a server of these competitions.

    That is where they were the last time, so that the order of the folders does not matter;
    otherwise ``server/`` in the first folder.

    Raises
    ------
    UsageError
        If the competitions were served with different records.
    """
    noted = {folder: _noted_records(folder) for folder in folders}
    roots = {root for root in noted.values() if root is not None}
    if len(roots) > 1:
        places = ", ".join(f"{folder}: {root}" for folder, root in noted.items() if root)
        raise UsageError(
            f"These competitions were served with different accounts and queues ({places}). Name "
            f"the folder to use with --data, or serve them apart."
        )
    return roots.pop() if roots else (folders[0] / "server").absolute()


def records_folder_of(folder: Path) -> Path:
    """Return where the records of the running or last server of a competition are, or go."""
    served = served_folder(folder)
    return served.data if served else records_folder([folder])


def _noted_records(folder: Path) -> Path | None:
    """Return the records of the last server of a competition, if they are still there."""
    noted = "server"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        noted = (folder / RECORDS_NOTE).read_text(encoding="utf-8").strip() or noted
    try:
        root = (folder / noted).resolve()
        return root if Layout(root).intake.exists() else None
    except (OSError, ValueError):
        return None
