"""The process that reads files for the scorer: its answers, and what it may not answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.errors import StoreError
from arena.intake import read_solution, read_submission
from arena.intake.columns import SubmissionForm
from arena.intake.reader import parse_limited, read_by
from arena.intake.submission import ReadSubmission
from arena.server import checker
from arena.server.checker import RemoteReader, listen, serve_files
from arena.types import Fault, PredictionKind, Solution
from arena.utils.processes import encode

ROWS = 5


def solution_of(folder: Path, kind: PredictionKind) -> Solution:
    rows = [f"r{row},{'yes' if row % 2 else 'no'}" for row in range(ROWS)]
    (folder / "solution.csv").write_text("\n".join(["id,y", *rows, ""]))
    return read_solution(folder / "solution.csv", kind=kind)


def file_of(folder: Path, cells: list[str]) -> Path:
    path = folder / "mine.csv"
    path.write_text("\n".join(["id,y", *(f"r{row},{cell}" for row, cell in enumerate(cells)), ""]))
    return path


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[RemoteReader]:
    with listen(tmp_path / "race.sock") as listening:
        threading.Thread(target=serve_files, args=(listening,), daemon=True).start()
        with closing(RemoteReader(tmp_path / "race.sock")) as remote_reader:
            yield remote_reader


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("kind", "good"),
    [
        (PredictionKind.PROBABILITY, ["0.5", "0.25", "1", "0", "0.125"]),
        (PredictionKind.LABEL, ["yes", "no", "no", "yes", "yes"]),
        (PredictionKind.TEXT, ["a", "b\u20ac", "b\u20ac", "yes", "no"]),
    ],
)
def test_another_process_reads_a_file_as_this_one_does(
    reader: RemoteReader, tmp_path: Path, kind: PredictionKind, good: list[str]
) -> None:
    solution = solution_of(tmp_path, kind)
    form = SubmissionForm.of(solution)
    for cells in (good, good[:-1], [*good, "0"], good):
        path = file_of(tmp_path, cells)
        remote, here = reader(path, form), parse_limited(path, form)
        np.testing.assert_array_equal(remote.values, here.values)
        assert (remote.faults, remote.sha256, remote.crashed) == (here.faults, here.sha256, False)
        assert (remote.values is not None) == (cells is good)


def test_a_process_can_be_told_who_reads_its_files(tmp_path: Path) -> None:
    solution = solution_of(tmp_path, PredictionKind.PROBABILITY)
    path = file_of(tmp_path, ["0.5"] * ROWS)
    reads = []

    def elsewhere(file: Path, form: SubmissionForm) -> object:
        reads.append((file, form.ids.to_pylist()))
        return None

    read_by(elsewhere)  # type: ignore[arg-type]
    try:
        read_submission(path, solution)
    finally:
        read_by(None)
    assert reads == [(path, [f"r{row}" for row in range(ROWS)])]
    assert read_submission(path, solution).values is not None


def answer_of(values: Any, *faults: Any, **changes: Any) -> list[bytes]:
    parts = encode(replace(ReadSubmission(values, faults, "0"), **changes))
    return [bytes([len(parts)]), *parts]


def numbers(*values: float) -> Any:
    return np.array(values)[:, np.newaxis]


def texts(*values: Any) -> Any:
    values_array = np.empty((len(values), 1), dtype=object)
    values_array[:, 0] = values
    return values_array


HALF, FAULT = [0.5] * 4, Fault("k", "m", 1)


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (PredictionKind.PROBABILITY, [b"\x01", b"\x80\x04K\x01."]),
        (PredictionKind.PROBABILITY, [b"\x01", *encode(7)]),
        (PredictionKind.PROBABILITY, [b"\x09"]),
        (PredictionKind.PROBABILITY, answer_of(numbers(*HALF))),
        (PredictionKind.PROBABILITY, answer_of(numbers(*HALF, np.nan))),
        (PredictionKind.PROBABILITY, answer_of(numbers(*HALF, 1.5))),
        (PredictionKind.PROBABILITY, answer_of(texts(*["0.5"] * 5))),
        (PredictionKind.LABEL, answer_of(numbers(0, 1, 0, 1, 2))),
        (PredictionKind.LABEL, answer_of(numbers(0, 1, 0, 1, -1))),
        (PredictionKind.LABEL, answer_of(numbers(0, 1, 0, 1, 0.5))),
        (PredictionKind.TEXT, answer_of(texts(*["a"] * 4))),
        (PredictionKind.TEXT, answer_of(texts(*["a"] * 5), FAULT)),
        (PredictionKind.TEXT, answer_of(None)),
        (PredictionKind.TEXT, answer_of(None, replace(FAULT, row="1"))),
        (PredictionKind.TEXT, answer_of(None, replace(FAULT, message=None))),
        (PredictionKind.TEXT, answer_of(None, "a fault")),
        (PredictionKind.TEXT, answer_of(None, faults=7)),
        (PredictionKind.TEXT, []),
    ],
)
def test_an_answer_that_no_file_could_have_is_a_crash(
    tmp_path: Path, kind: PredictionKind, parts: list[bytes]
) -> None:
    solution = solution_of(tmp_path, kind)
    with listen(tmp_path / "race.sock") as listening:

        def answer() -> None:
            sock = listening.accept()[0]
            with sock:
                while not sock.recv(2**20).endswith(b"r4,0\n"):
                    pass
                checker.send_parts(sock, *parts)

        thread = threading.Thread(target=answer)
        thread.start()
        read = RemoteReader(tmp_path / "race.sock")(
            file_of(tmp_path, ["0"] * ROWS), SubmissionForm.of(solution)
        )
        thread.join()
    assert (read.values, read.crashed, read.sha256) == (None, True, "")
    assert [fault.kind for fault in read.faults] == ["unreadable file"]


def serve_one(listening: socket.socket, served: list[socket.socket]) -> None:
    served.append(listening.accept()[0])
    checker.serve_checks(served[0])


def test_requests_wait_for_a_process_that_does_not_listen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checker, "START_SECONDS", 0.0)
    form = SubmissionForm.of(solution_of(tmp_path, PredictionKind.PROBABILITY))
    path = file_of(tmp_path, ["0.5"] * ROWS)
    reader = RemoteReader(tmp_path / "race.sock")
    with pytest.raises(StoreError, match="does not answer"):
        reader(path, form)
    for _ in range(2):  # a kept connection whose other side has ended is not used again
        with listen(tmp_path / "race.sock") as listening:
            served: list[socket.socket] = []
            threading.Thread(target=serve_one, args=(listening, served), daemon=True).start()
            assert reader(path, form).values is not None
            served[0].shutdown(socket.SHUT_RDWR)
    reader.close()


def test_a_process_that_does_not_answer_in_time_is_given_up(tmp_path: Path) -> None:
    form = SubmissionForm.of(solution_of(tmp_path, PredictionKind.PROBABILITY))
    for error, words in ((TimeoutError, "took longer than"), (ConnectionError, "crashed or was")):
        near, far = socket.socketpair()
        sock: Any = Failing(near, error)
        reader = RemoteReader(tmp_path / "race.sock")
        reader._idle.append((sock, form))
        submission = reader(file_of(tmp_path, ["0.5"] * ROWS), form)
        crashed = error is ConnectionError
        assert (submission.values, submission.crashed, sock.closed) == (None, crashed, True)
        assert words in submission.faults[0].message, submission.faults
        far.close()
        near.close()


class Failing:
    """A connection that is open, over which nothing can be sent."""

    def __init__(self, sock: socket.socket, error: type[Exception]) -> None:
        self.sock, self.error, self.closed = sock, error, False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.sock, name)

    def sendall(self, part: bytes) -> None:
        raise self.error

    def close(self) -> None:
        self.closed = True


def test_an_idle_connection_is_open_while_nothing_came(tmp_path: Path) -> None:
    near, far = socket.socketpair()
    assert checker.is_open(near)
    far.send(b"x")  # an answer to no question
    assert not checker.is_open(near)
    far.close()
    near.recv(1)
    assert not checker.is_open(near)
    near.close()


def test_a_place_of_another_user_is_closed_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners: list[tuple[int, int]] = []
    modes: list[int] = []
    monkeypatch.setattr(checker.os, "chown", lambda path, *owner: owners.append(owner))
    monkeypatch.setattr(checker.os, "fchmod", lambda number, mode: modes.append(mode))
    with listen(tmp_path / "race.sock", 7):
        assert (tmp_path / "race.sock").stat().st_mode & 0o777 == 0o600
    assert (owners, modes) == ([(7, -1)], [0o600])
    assert not (tmp_path / "race.sock").exists()
