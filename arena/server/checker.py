"""Reads participants' files as a user of its own.

This user can enter neither the competition's folder nor the records of the server.
The process listens on a Unix socket that only the scorer's user can reach. The scorer sends the
form of a submission, which has no labels, and the bytes of a file; the answer is values or faults.
A hostile file may have taken over the process that reads it: the answer is therefore never pickled
(see :mod:`arena.utils.processes.plain`), and is checked like a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import pickle
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from arena.errors import StoreError
from arena.intake.columns import SubmissionForm
from arena.intake.reader import checked, parse_limited, seconds_of, unread
from arena.intake.submission import ReadSubmission
from arena.server.marker import reachable
from arena.utils.file_errors import reason_of
from arena.utils.processes import AnswerError, Ended, decode, encode
from arena.utils.text import plural

_LOGGER = logging.getLogger("arena.server.checker")
_LENGTH = struct.Struct(">Q")
_PART = 2**20
_MOST_HEAD = 2**26
"""Bytes of the JSON of an answer, besides texts."""
_GRACE_SECONDS = 60.0
START_SECONDS = 30.0
"""Time for which the scorer tries to connect: the process may just be started again."""
_MOST_IDLE = 8
_MOST_PARTS = 2
"""Of an answer: its JSON, and one array."""


# -- messages ----------------------------------------------------------------------------------


def send_parts(sock: socket.socket, *parts: bytes) -> None:
    """Send parts, each after its length."""
    for part in parts:
        sock.sendall(_LENGTH.pack(len(part)))
        sock.sendall(part)


def _receive_exactly(sock: socket.socket, size: int) -> bytearray:
    content = bytearray()
    while len(content) < size:
        part = sock.recv(min(size - len(content), _PART))
        if not part:
            raise ConnectionResetError("The other side closed the connection.")
        content += part
    return content


def receive_message(sock: socket.socket, most: int) -> bytearray:
    """Return the next message; ValueError if it has more than ``most`` bytes."""
    (size,) = _LENGTH.unpack(_receive_exactly(sock, _LENGTH.size))
    if size > most:
        raise ValueError(f"A message of {plural(size, 'byte')} is longer than {most:,}.")
    return _receive_exactly(sock, size)


# -- the scorer's side -------------------------------------------------------------------------


class RemoteReader:
    """Lets the process at a socket read files: a :class:`~arena.intake.reader.FileReader`.

    Thread-safe: each call uses its own connection. A connection is kept for the next call.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._idle: list[tuple[socket.socket, SubmissionForm | None]] = []

    def __call__(self, path: Path, form: SubmissionForm) -> ReadSubmission:
        """Return values or faults, as :func:`~arena.intake.reader.parse_limited` does.

        Raises
        ------
        StoreError
            If no process listens at the socket.
        OSError
            If the file cannot be read.
        """
        seconds = seconds_of(form)[1]
        sock, solutions_sent = self._connection()
        ended = Ended(too_long=False, seconds=seconds)
        try:
            sock.settimeout(1.1 * seconds + _GRACE_SECONDS)
            digest = _ask(sock, path, None if solutions_sent is form else form)
            read = receive_answer(sock, form, digest)
        except TimeoutError:
            sock.close()
            return unread(Ended(too_long=True, seconds=seconds))
        except ConnectionError:
            sock.close()
            return unread(ended)
        except (AnswerError, ValueError, IndexError, MemoryError) as error:
            _LOGGER.warning("The process that reads files gave no valid answer: %s", error)
            sock.close()
            return unread(ended)
        except BaseException:
            sock.close()
            raise
        with self._lock:
            if len(self._idle) < _MOST_IDLE:
                self._idle.append((sock, form))
                return read
        sock.close()
        return read

    def close(self) -> None:
        """Close the connections that are kept."""
        with self._lock:
            for sock, _form in self._idle:
                sock.close()
            self._idle.clear()

    def _connection(self) -> tuple[socket.socket, SubmissionForm | None]:
        while True:
            with self._lock:
                if not self._idle:
                    break
                sock, form = self._idle.pop()
            if is_open(sock):
                return sock, form
            sock.close()
        until = time.monotonic() + START_SECONDS
        while True:
            sock = socket.socket(socket.AF_UNIX)
            try:
                with reachable(self._path.parent) as near:
                    sock.connect(f"{near}/{self._path.name}")
            except OSError as error:
                sock.close()
                if time.monotonic() > until:
                    raise StoreError(
                        f"The process that reads uploaded files does not answer at {self._path} "
                        f"({reason_of(error)}). Start it, with the same --data and "
                        f"--checker-user; requests wait meanwhile."
                    ) from error
                time.sleep(0.1)
            else:
                return sock, None


def is_open(sock: socket.socket) -> bool:
    """Return whether an idle connection was not closed by the other side."""
    sock.setblocking(False)
    try:
        sock.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False  # closed, or an answer to no question


def _ask(sock: socket.socket, path: Path, form: SubmissionForm | None) -> str:
    """Send a file and, if it is new, its form; return the file's sha256."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        send_parts(sock, b"" if form is None else pickle.dumps(form))
        sock.sendall(_LENGTH.pack(size))
        left = size
        while left:
            part = file.read(min(left, _PART))
            if not part:
                raise ValueError(f"{path} became shorter while it was read.")
            digest.update(part)
            sock.sendall(part)
            left -= len(part)
    return digest.hexdigest()


def receive_answer(sock: socket.socket, form: SubmissionForm, digest: str) -> ReadSubmission:
    """Return what the checker read; AnswerError if it is not an answer to this form."""
    n_parts = receive_message(sock, 1)[0]
    if n_parts > _MOST_PARTS:
        raise AnswerError(f"An answer has {plural(n_parts, 'part')}.")
    read = decode([receive_message(sock, _MOST_HEAD + form.max_memory) for _ in range(n_parts)])
    if not isinstance(read, ReadSubmission):
        raise AnswerError("An answer is no values and no faults.")
    return checked(replace(read, sha256=digest if read.sha256 else ""), form)


# -- the checker's side ------------------------------------------------------------------------


@contextlib.contextmanager
def listen(path: Path, owner: int | None = None) -> Iterator[socket.socket]:
    """Listen at a path until the block ends; with an owner, only that user can connect.

    Raises
    ------
    OSError
        If nobody can listen there.
    """
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listening:
        if owner is not None:
            os.fchmod(listening.fileno(), 0o600)  # from the first moment
        with reachable(path.parent) as near:
            listening.bind(f"{near}/{path.name}")
        if owner is not None:
            path.chmod(0o600)
            os.chown(path, owner, -1)
        listening.listen()
        try:
            yield listening
        finally:
            path.unlink(missing_ok=True)


def serve_files(listening: socket.socket) -> None:
    """Read the files of each connection until the process ends."""
    while True:
        sock, _ = listening.accept()
        threading.Thread(target=serve_checks, args=(sock,), daemon=True).start()


def serve_checks(sock: socket.socket) -> None:
    """Check the files that come over a socket until it is closed."""
    form: SubmissionForm | None = None
    with sock, contextlib.suppress(ConnectionError):
        while True:
            message = receive_message(sock, 2**40)
            if message:
                form = pickle.loads(message)  # noqa: S301 - only the scorer can connect
            if form is None:
                raise ConnectionResetError("There was no form.")
            with tempfile.NamedTemporaryFile() as file:
                (left,) = _LENGTH.unpack(_receive_exactly(sock, _LENGTH.size))
                while left:
                    part = _receive_exactly(sock, min(left, _PART))
                    file.write(part)
                    left -= len(part)
                file.flush()
                read = parse_limited(Path(file.name), form)
            _reply(sock, read)


def _reply(sock: socket.socket, read: ReadSubmission) -> None:
    parts = encode(read)
    send_parts(sock, bytes([len(parts)]), *parts)
