"""Which answers of the process that reads a file are accepted, and how long it may take."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest

from arena.intake import reader
from arena.intake.columns import SubmissionForm
from arena.intake.reader import checked, seconds_of, unread
from arena.intake.submission import ReadSubmission, parse_submission
from arena.types import Fault, PredictionKind, Target
from arena.utils.processes import AnswerError, Ended, Limits


@pytest.mark.parametrize(
    ("n_ids", "n_columns", "of_modality", "seconds"),
    [(0, 1, 0.0, 60), (24_999, 1, 0.0, 60), (25_000, 1, 0.0, 61), (25_000, 3, 2.9, 64)],
)
def test_a_file_has_a_minute_and_a_second_for_every_50_000_cells(
    n_ids: int, n_columns: int, of_modality: float, seconds: int
) -> None:
    def seconds_of_rows(rows: int, sizes: object) -> float:
        assert (rows, sizes) == (n_ids, "sizes")
        return of_modality

    form: Any = SimpleNamespace(
        ids=range(n_ids),
        columns=range(n_columns),
        sizes="sizes",
        modality=SimpleNamespace(seconds=seconds_of_rows),
    )
    # A busy machine may take ten times as long.
    assert seconds_of(form) == (seconds, 10.0 * seconds)


FORM = SubmissionForm(
    "id",
    columns=("y", "z"),
    targets=(Target("y", ("a", "b")), Target("z", ("a", "b", "c"))),
    kind=PredictionKind.LABEL,
    ids=pa.array(["1", "2", "3"]),
)
VALUES = replace(FORM, kind=PredictionKind.VALUE, prediction_range=(-1.0, 2.0))
ROW_SETS = replace(VALUES, row_sets=np.array([0, 1, 1], dtype=np.uint8))
FAULT = Fault("kind", "A sentence.", row=1, id="1", column="y", cause="a cause")


def cells(*rows: tuple[float, float]) -> ReadSubmission:
    return ReadSubmission(np.array(rows, dtype=np.float64), (), sha256="ab", crashed=False)


@pytest.mark.parametrize(
    ("form", "submission", "is_possible"),
    [
        (FORM, cells((0, 0), (1, 2), (1, 1)), True),
        (FORM, cells((0, 0), (2, 2), (1, 1)), False),
        (FORM, cells((0, 3), (1, 2), (1, 1)), False),
        (FORM, cells((0, -1), (1, 2), (1, 1)), False),
        (FORM, cells((0, 0.5), (1, 2), (1, 1)), False),
        (FORM, cells((0, 0), (1, 2)), False),
        (VALUES, cells((-1, 2), (0.5, 0), (0, 0)), True),
        (VALUES, cells((-1.01, 2), (0.5, 0), (0, 0)), False),
        (VALUES, cells((-1, 2.01), (0.5, 0), (0, 0)), False),
        (VALUES, cells((np.nan, np.nan), (0.5, 0), (0, 0)), False),
        # Only the rows of a set may be absent, and then all of them.
        (ROW_SETS, cells((np.nan, np.nan), (0.5, 0), (0, 0)), True),
        (ROW_SETS, cells((0, 0), (np.nan, np.nan), (np.nan, np.nan)), True),
        (ROW_SETS, cells((0, 0), (0, 0), (np.nan, np.nan)), False),
        (ROW_SETS, cells((0, np.nan), (0, 0), (0, 0)), False),
        (FORM, replace(cells((0, 0), (1, 2), (1, 1)), faults=(FAULT,)), False),
        (FORM, ReadSubmission(None, (), sha256="ab", crashed=False), False),
        (FORM, ReadSubmission(None, (FAULT,), sha256="ab", crashed=False), True),
        (
            FORM,
            ReadSubmission(None, (replace(FAULT, row=None, id=None),), sha256="ab", crashed=True),
            True,
        ),
        (FORM, ReadSubmission(None, (replace(FAULT, row="1"),), sha256="ab", crashed=False), False),  # type: ignore[arg-type]
        (
            FORM,
            ReadSubmission(None, (replace(FAULT, count=1.5),), sha256="ab", crashed=False),  # type: ignore[arg-type]
            False,
        ),
        (FORM, ReadSubmission(None, (replace(FAULT, cause=7),), sha256="ab", crashed=False), False),  # type: ignore[arg-type]
        (FORM, ReadSubmission(None, (FAULT,), sha256=7, crashed=False), False),  # type: ignore[arg-type]
        (FORM, ReadSubmission(None, (FAULT,), sha256="ab", crashed=0), False),  # type: ignore[arg-type]
    ],
)
def test_an_answer_that_no_file_of_the_form_can_give_is_refused(
    form: SubmissionForm, submission: ReadSubmission, is_possible: bool
) -> None:
    if is_possible:
        assert checked(submission, form) is submission
    else:
        with pytest.raises(AnswerError):
            checked(submission, form)


def test_a_file_that_ends_its_process_is_a_fault() -> None:
    for why, reason, crashed in (
        (Ended(too_long=True, seconds=600.0), "it took longer than 600 s and was stopped", False),
        (
            Ended(too_long=False, seconds=600.0),
            "its process crashed or was killed, possibly out of memory",
            True,
        ),
        ("KeyError", "KeyError", False),
    ):
        submission = unread(why)
        (fault,) = submission.faults
        assert (submission.values, submission.sha256, submission.crashed) == (None, "", crashed)
        assert (fault.kind, fault.message) == (
            "unreadable file",
            f"The file could not be read: {reason}. Write and send it again.",
        )


def test_an_error_of_a_parser_is_a_fault_with_its_first_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    memory = "it needs more than 256 MiB of memory. Send one row per id, and fewer digits."
    for error, sentence, crashed in (
        *(
            (error, f"The file could not be read: {memory}", False)
            for error in (
                MemoryError(), OSError("std::bad_alloc"),
                pa.ArrowException("realloc: Cannot allocate memory"),
            )
        ),
        (
            ValueError("It is odd.\nMore."),
            "The file cannot be read (It is odd.): write and send it again.", False,
        ),
        (ValueError(), "The file cannot be read (ValueError): write and send it again.", False),
        (
            OSError(errno.ENOSPC, "full"),
            f"The file cannot be read ([Errno {errno.ENOSPC}] full): write and send it again.",
            True,
        ),
    ):  # fmt: skip
        monkeypatch.setattr("arena.intake.submission.read_content", Mock(side_effect=error))
        read = parse_submission(Path("a.csv"), FORM)
        (fault,) = read.faults
        assert (fault.kind, fault.message) == ("unreadable file", sentence)
        assert (read.values, read.sha256, read.crashed) == (None, "", crashed)


@pytest.mark.parametrize(
    ("answer", "reason", "crashed", "warning"),
    [
        (
            AnswerError("It lied."), "its process crashed or was killed, possibly out of memory",
            True, "The process that reads files was broken: It lied.",
        ),
        (
            ReadSubmission(None, (), sha256="ab", crashed=False),
            "its process crashed or was killed, possibly out of memory", True,
            "The process that reads files was broken: No file of this form has these values or "
            "faults.",
        ),
        (
            MemoryError(), "MemoryError", False,
            "A fault in arena: reading a submission file ended with MemoryError. The file was "
            "rejected.",
        ),
        (
            "KeyError", "KeyError", False,
            "A fault in arena: reading a submission file ended with KeyError. The file was "
            "rejected.",
        ),
        (
            Ended(too_long=True, seconds=600.0),
            "it took longer than 600 s and was stopped", False, None,
        ),
    ],
)  # fmt: skip
def test_a_process_that_cannot_read_a_file_costs_that_file(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    answer: Any,
    reason: str,
    crashed: bool,
    warning: str | None,
) -> None:
    def call(*task: Any, **options: Any) -> Any:
        assert task == (reader.parse_apart, reader.parse_submission, Path("a.csv"))
        assert (options["seconds"], options["shared"]) == (600.0, FORM)
        assert options["purpose"] == "arena.intake.reader"
        # More than 256 MiB, rounded up to a multiple of 16 MiB.
        assert options["limits"] == Limits(272 * 2**20, processor_seconds=60)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(reader, "call_limited", call)
    with caplog.at_level("WARNING", logger="arena"):
        read = reader.parse_limited(Path("a.csv"), FORM)
    (fault,) = read.faults
    assert fault.message == f"The file could not be read: {reason}. Write and send it again."
    assert read.crashed is crashed
    assert caplog.messages == ([] if warning is None else [warning])


def test_an_error_that_no_parser_expects_is_named_without_its_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def parse(*task: Any) -> ReadSubmission:
        if task == ("bad",):
            raise KeyError("a secret cell")
        return cells()

    set_up: list[int] = []
    monkeypatch.setattr(reader, "set_up_process", lambda: set_up.append(1))
    assert reader.parse_apart(parse, "bad") == "KeyError"
    assert isinstance(reader.parse_apart(parse, "good"), ReadSubmission)
    assert set_up == [1, 1]


def test_a_process_that_reads_files_has_one_thread_and_no_pandas(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(reader, "leave_unused_out", lambda: calls.append("pandas"))
    monkeypatch.setattr(pa, "system_memory_pool", lambda: "system")
    for name in ("set_memory_pool", "set_io_thread_count", "set_cpu_count"):
        monkeypatch.setattr(pa, name, lambda value, name=name: calls.append((name, value)))
    reader.set_up_process.__wrapped__()
    assert calls == [
        "pandas", ("set_memory_pool", "system"), ("set_io_thread_count", 1), ("set_cpu_count", 1)
    ]  # fmt: skip


def test_another_reader_may_read_the_files_of_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "_form", lambda solution, **rules: (solution, rules))
    monkeypatch.setattr(reader, "parse_limited", lambda *call: ("own", *call))

    def other(*call: Any) -> Any:
        return "other", *call

    solution: Any = "solution"
    path = Path("a.csv")
    try:
        for replacement, name in ((other, "other"), (None, "own")):
            reader.read_by(replacement)
            read: Any = reader.read_submission(path, solution, max_bytes=7)
            assert read == (name, path, ("solution", {"max_bytes": 7}))
    finally:
        reader.read_by(None)
