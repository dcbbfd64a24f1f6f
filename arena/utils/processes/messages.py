"""The protocol between a process and its workers, over a pair of sockets and a shared file.

The limits of a worker are sent before its first request. Each request is a tuple ``(number,
function, takes_shared, shared, task, seconds, folder)``: the worker calls ``function(*shared,
*task)`` in the folder. ``shared`` is empty if the worker kept the object of the last request. The
worker sends

- ``(number, None, None, True)`` when it has received the task, and when a part of it begins: the
  time limit starts again;
- ``(number, succeeded, result or exception, reusable)`` at the end.

A message starts with two numbers of eight bytes: the length of what follows, and the number of its
parts in the shared file. Without such parts the pickled message follows; otherwise the length of
each part. Long messages and the content of the arrays of an answer are such parts: so no message is
longer than a socket's buffer, and sending one never waits for a suspended worker.
"""

from __future__ import annotations

import contextlib
import io
import os
import struct
from collections.abc import Iterator
from typing import Any

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


def send(pipe: Any, file: Any, message: Any, *, without_copies: bool = False) -> None:
    """Send a message; without copies of its arrays, those that are read-only stay so."""
    import pickle

    buffers: list[pickle.PickleBuffer] = []
    apart = buffers.append if without_copies else None
    stream = io.BytesIO()  # pickle.dumps copies long strings of bytes several times
    pickle.Pickler(stream, protocol=5, buffer_callback=apart).dump(message)
    body: bytes | memoryview = stream.getbuffer()
    parts: list[memoryview] = []
    if buffers or len(body) > _SHORT:
        parts = [stream.getbuffer(), *(buffer.raw() for buffer in buffers)]
        file.seek(0)
        for part in parts:
            rest = part
            while rest:
                rest = rest[file.write(rest) :]
        body = struct.pack(f"!{len(parts)}Q", *map(len, parts))
    pipe.sendall(_HEAD.pack(len(body), len(parts)) + body)


def receive(pipe: Any, file: Any) -> Any:
    """Return the next message from the file of a socket that blocks; EOFError at its end."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        raise EOFError
    length, n_parts = _HEAD.unpack(head)
    return _message(pipe.read(length), n_parts, file)


def _message(body: bytes, n_parts: int, file: Any) -> Any:
    import pickle

    if not n_parts:
        return pickle.loads(body)  # noqa: S301 - from our own process
    sizes = struct.unpack(f"!{n_parts}Q", body)
    parts = [bytearray(size) for size in sizes]
    file.seek(0)
    for part in parts:
        rest = memoryview(part)
        while rest:
            count = file.readinto(rest)
            if not count:
                raise RuntimeError("a worker process wrote less than it announced")
            rest = rest[count:]
    if sum(sizes) > _KEPT_BYTES:
        file.truncate(0)
    return pickle.loads(parts[0], buffers=parts[1:])  # noqa: S301 - from our own process


class Messages:
    """Collects the messages of a worker as they arrive, without waiting for the rest of one."""

    def __init__(self, pipe: Any, file: Any) -> None:
        self._pipe, self._file = pipe, file
        self._arrived = bytearray()

    def __iter__(self) -> Iterator[Any]:
        """Yield the messages that are complete; EOFError after the last one of a closed socket."""
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
                yield _message(body, n_parts, self._file)


def portable(error: BaseException) -> Exception:
    """Return an exception that can be pickled and is no SystemExit or KeyboardInterrupt."""
    import pickle

    with contextlib.suppress(Exception):
        if isinstance(error, Exception) and isinstance(
            pickle.loads(pickle.dumps(error)),  # noqa: S301 - our own
            type(error),
        ):
            return error
    with contextlib.suppress(Exception):
        return RuntimeError(f"{type(error).__name__}: {error}")
    return RuntimeError(type(error).__name__)
