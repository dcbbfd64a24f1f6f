"""The protocol between a process and its workers, over a pair of sockets and a shared file.

The limits of a worker are sent before its first request. Each request is a tuple ``(number,
function, takes_shared, shared, task, seconds, folder)``: the worker calls ``function(*shared,
*task)`` in the folder. ``shared`` is empty if the worker kept the object of the last request. The
worker sends

- ``(number, None, None, True)`` when it has received the task, and when a part of it begins: the
  time limit starts again;
- ``(number, succeeded, result or exception, reusable)`` at the end.

Requests are pickled. Answers never are, because a worker may have read a hostile file: see
:mod:`arena.utils.processes.plain`.

A message starts with two numbers of eight bytes: the length of what follows, and the number of its
parts in the shared file. Without such parts the message follows; otherwise the length of each part.
Long messages and the content of arrays are such parts: so no message is longer than a socket's
buffer, and sending one never waits for a suspended worker.
"""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from arena.utils.processes.plain import AnswerError, decode, encode

_KEPT_BYTES = 2**24
"""A shared file that is larger is emptied after each message."""
_SHORT = 2**12
"""Bytes of a message that is sent through the socket. The buffer of macOS holds twice as many."""
_HEAD = struct.Struct("!QQ")


def shared_file() -> Any:
    """Return an unbuffered file without a name, in memory if the system supports it."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("arena"), "r+b", buffering=0)
    import tempfile

    return tempfile.TemporaryFile(buffering=0)


def send(pipe: Any, file: Any, request: Any) -> None:
    """Send a request to a worker."""
    import pickle

    stream = io.BytesIO()  # pickle.dumps copies long strings of bytes several times
    pickle.Pickler(stream, protocol=5).dump(request)
    _send(pipe, file, [stream.getbuffer()])


def answer(pipe: Any, file: Any, message: Any) -> None:
    """Send an answer of a worker.

    Raises
    ------
    TypeError
        If it has a type that cannot be sent; nothing was sent.
    """
    _send(pipe, file, encode(message))


def _send(pipe: Any, file: Any, parts: Sequence[Any]) -> None:
    body = bytes(parts[0]) if len(parts) == 1 and len(parts[0]) <= _SHORT else b""
    if not body:
        file.seek(0)
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[file.write(rest) :]
        body, n_parts = struct.pack(f"!{len(parts)}Q", *map(len, parts)), len(parts)
    else:
        n_parts = 0
    pipe.sendall(_HEAD.pack(len(body), n_parts) + body)


def receive(pipe: Any, file: Any) -> Any:
    """Return the next request from the file of a socket that blocks; EOFError at its end."""
    import pickle

    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    length, n_parts = _HEAD.unpack(head)
    (content,) = _parts(pipe.read(length), n_parts, file)
    return pickle.loads(content)  # noqa: S301 - from the process that started this one


def _parts(body: bytes, n_parts: int, file: Any) -> list[Any]:
    if not n_parts:
        return [body]
    sizes = struct.unpack(f"!{n_parts}Q", body)
    if sum(sizes) > os.fstat(file.fileno()).st_size:
        raise AnswerError("A process wrote less than it announced.")
    parts = [bytearray(size) for size in sizes]
    file.seek(0)
    for part in parts:
        rest = memoryview(part)
        while rest:
            count = file.readinto(rest)
            if not count:
                raise AnswerError("A process wrote less than it announced.")
            rest = rest[count:]
    if sum(sizes) > _KEPT_BYTES:
        file.truncate(0)
    return parts


class Messages:
    """Collects the answers of a worker as they arrive, without waiting for the rest of one."""

    def __init__(self, pipe: Any, file: Any) -> None:
        self._pipe, self._file = pipe, file
        self._arrived = bytearray()

    def __iter__(self) -> Iterator[Any]:
        """Yield the answers that are complete; EOFError after the last one of a closed socket.

        Raises
        ------
        AnswerError
            If something else was sent.
        """
        start = _HEAD.size
        while True:
            try:
                received = self._pipe.recv(2**16)
            except BlockingIOError:
                return
            if not received:
                raise EOFError
            self._arrived += received
            while len(self._arrived) >= start:
                length, n_parts = _HEAD.unpack_from(self._arrived)
                if len(self._arrived) < start + length:
                    break
                body = bytes(self._arrived[start : start + length])
                del self._arrived[: start + length]
                yield decode(_parts(body, n_parts, self._file))
