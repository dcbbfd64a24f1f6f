"""What processes write to each other: short messages, long ones, pieces, and lies."""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.utils.processes import AnswerError
from arena.utils.processes.messages import Messages, answer, receive, send, shared_file

SHORT = 4_096
"""Bytes of the longest message that goes through the socket."""


class Pair:
    """Both ends of a worker's connection in one process."""

    def __init__(self) -> None:
        self.own, self.other = socket.socketpair()
        self.other.setblocking(False)
        self.file = shared_file()
        self.messages = Messages(self.other, self.file)

    def size(self) -> int:
        """Return the bytes of the shared file."""
        return os.fstat(self.file.fileno()).st_size

    def head(self) -> tuple[int, int]:
        """Return the head of the message that waits: the length of its rest, its parts."""
        length, parts = struct.unpack("!QQ", self.other.recv(16, socket.MSG_PEEK))
        return int(length), int(parts)


@pytest.fixture
def pair() -> Iterator[Pair]:
    pair = Pair()
    yield pair
    for end in (pair.own, pair.other, pair.file):
        end.close()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such files")
def test_what_processes_share_is_in_memory(pair: Pair) -> None:
    opened = Path(f"/proc/self/fd/{pair.file.fileno()}")
    assert str(opened.readlink()) == "/memfd:arena (deleted)"


@pytest.mark.parametrize(
    ("letters", "n_parts"),
    [(0, 0), (SHORT - 2, 0), (SHORT - 1, 1), (70_000, 1)],  # a JSON text has two quotes
)
def test_a_text_of_four_kilobytes_goes_through_the_socket(
    pair: Pair, letters: int, n_parts: int
) -> None:
    answer(pair.own, pair.file, "x" * letters)
    # Otherwise the socket has the length of each part, in eight bytes.
    assert pair.head() == (8 if n_parts else letters + 2, n_parts)
    assert pair.size() == (letters + 2 if n_parts else 0)
    assert next(iter(pair.messages)) == "x" * letters


def test_the_content_of_an_array_is_a_part_of_its_own(pair: Pair) -> None:
    array = np.arange(3.0)
    answer(pair.own, pair.file, (array, b"ab"))
    assert pair.head() == (3 * 8, 3)  # the tree, 24 bytes of the array, and 2
    found, text = next(iter(pair.messages))
    assert found.tolist() == [0.0, 1.0, 2.0]
    assert text == b"ab"


def test_answers_are_collected_as_they_arrive(pair: Pair) -> None:
    with socket.socket(fileno=os.dup(pair.own.fileno())) as own:
        assert list(pair.messages) == []  # nothing yet
        message = struct.pack("!QQ", 1, 0) + b"7"
        own.sendall(message[:10])
        assert list(pair.messages) == []
        own.sendall(message[10:] + message + message[:16])
        assert list(pair.messages) == [7, 7]
        own.sendall(b"8")
        assert list(pair.messages) == [8]
    pair.own.close()
    with pytest.raises(EOFError):
        list(pair.messages)


@pytest.mark.parametrize(("announced", "written"), [(5, 4), (1, 0)])
def test_a_message_of_which_less_was_written_is_no_answer(
    pair: Pair, announced: int, written: int
) -> None:
    pair.file.write(b"1" * written)
    pair.own.sendall(struct.pack("!QQQ", 8, 1, announced))
    with pytest.raises(AnswerError, match=r"^A process wrote less than it announced\.$"):
        list(pair.messages)


def test_an_empty_message_is_no_answer(pair: Pair) -> None:
    pair.own.sendall(struct.pack("!QQ", 0, 0))
    with pytest.raises(AnswerError):
        list(pair.messages)


@pytest.mark.parametrize(("n_bytes", "is_emptied"), [(1_000, False), (1_001, True)])
def test_a_large_file_is_emptied_after_its_message(
    pair: Pair, n_bytes: int, is_emptied: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = b'{"bytes": null}'  # is written before them
    monkeypatch.setattr("arena.utils.processes.messages._KEPT_BYTES", 1_000 + len(tree))
    answer(pair.own, pair.file, bytes(n_bytes))
    assert pair.size() == len(tree) + n_bytes
    assert len(next(iter(pair.messages))) == n_bytes
    assert pair.size() == (0 if is_emptied else len(tree) + n_bytes)


@pytest.mark.parametrize("request_", [("a", 1), ["x" * 10_000], {"array": np.arange(4)}])
def test_a_request_is_received_whole(pair: Pair, request_: Any) -> None:
    send(pair.own, pair.file, request_)
    pair.other.setblocking(True)
    with pair.other.makefile("rb") as reader:
        np.testing.assert_equal(receive(reader, pair.file), request_)
        pair.own.sendall(b"1234")
        pair.own.close()
        with pytest.raises(EOFError):
            receive(reader, pair.file)
