"""Reads participants' files in a worker process, so that a crash is a fault of the file.

Parquet parsers are written in C++: a damaged file can make them crash, allocate unlimited memory or
hang. The worker process has limits on memory, time and open files. It is kept for the next file
and replaced if it dies.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from arena.intake.columns import SubmissionForm
from arena.intake.submission import ReadSubmission, parse_submission, parse_table
from arena.types import Fault, PredictionKind, Solution
from arena.utils.lazy import leave_unused_out
from arena.utils.processes import AnswerError, Ended, Limits, call_limited, prepare_limited

_SECONDS = 60
"""CPU time for a small competition; 200,000 rows with two faults each took 2 s."""
_WAITING = 10.0
"""Ratio of the limits on wall-clock time and CPU time, for busy machines."""
_CELLS_PER_SECOND = 50_000
_MEMORY_STEP = 16 * 2**20
"""Memory limits are rounded up to a multiple: a process is kept for the next file with the same
limits, also if it is one of another competition."""


class FileReader(Protocol):
    """Reads files for this process, for example as another user of the system."""

    def __call__(self, path: Path, form: SubmissionForm) -> ReadSubmission:
        """Return values or faults; what it returns must be as valid as :func:`parse_limited`'s."""


_reader: FileReader | None = None


def read_by(reader: FileReader | None) -> None:
    """Let :func:`read_submission` use another reader in this whole process; None: its own."""
    global _reader  # noqa: PLW0603 - a process has one; threads share it
    _reader = reader


def read_submission(path: Path, solution: Solution, **rules: Any) -> ReadSubmission:
    r"""Read, check and align a CSV or Parquet file, or a folder or ZIP of masks, of a participant.

    For any file the result is values or faults, never an exception. The file is parsed in a worker
    process with a time limit and, on Linux, a memory limit in proportion to the solution; a file
    that crashes the process is rejected like any other faulty file. Thread-safe.

    Parameters
    ----------
    path
        CSV, Parquet, Arrow, JSON or JSON Lines, plain or compressed, recognised by content.
    solution
        Ids, columns and classes to check against. Labels are not sent to the worker process.
    rules
        ``prediction_range``, ``max_bytes``, ``modality`` and ``sendable`` of
        :class:`~arena.intake.columns.SubmissionForm`.

    Examples
    --------
    >>> import tempfile
    >>> from arena.intake import read_solution, read_submission
    >>> from arena.types import PredictionKind
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "solution.csv").write_text("id,y\na,1\nb,0\n")
    >>> _ = (folder / "team.csv").write_text("id,y\nb,0.25\na,0.75\n")
    >>> solution = read_solution(folder / "solution.csv", kind=PredictionKind.PROBABILITY)
    >>> read_submission(folder / "team.csv", solution).values
    array([[0.75],
           [0.25]])
    """
    form = _form(solution, **rules)
    return parse_limited(path, form) if _reader is None else _reader(path, form)


def parse_limited(path: Path, form: SubmissionForm) -> ReadSubmission:
    """Return the values or faults of a file of this form; see :func:`read_submission`."""
    return _in_another_process(form, parse_submission, path)


def prepare_reader(processes: int = 1) -> None:
    """Start processes for the first files; call it before this process reads any label.

    See :func:`arena.utils.processes.prepare_limited`. Without it the first file starts a process.
    """
    prepare_limited(__name__, processes)


def check_table(table: Any, source: Path | str, solution: Solution, **rules: Any) -> ReadSubmission:
    """Check and align a ``pyarrow.Table``: data in memory, or read by a plugin.

    As :func:`read_submission`, in the same other process. A plugin has read the participant's file
    in this one: the limits do not protect from what its parser does.

    Parameters
    ----------
    source
        The file that a plugin read, or the sha256 of data in memory.
    """
    return _in_another_process(_form(solution, **rules), parse_table, table, source)


@functools.lru_cache(maxsize=1)
def _form(solution: Solution, **rules: Any) -> SubmissionForm:
    """Return the same object for the same solution: it is sent to each process only once."""
    return SubmissionForm.of(solution, **rules)


@functools.cache
def set_up_process() -> None:
    """Set pyarrow up for reading, at the first task of the other process."""
    leave_unused_out()
    # What threads and other allocators reserve would count as memory of the process.
    pa.set_memory_pool(pa.system_memory_pool())
    pa.set_io_thread_count(1)
    pa.set_cpu_count(1)


def parse_apart(parse: Callable[..., ReadSubmission], *task: Any) -> ReadSubmission | str:
    """Call the parser, in the other process; return the name of an error that it does not expect.

    Such an error is a fault in arena, but it must not cost the other files of a folder.
    """
    set_up_process()
    try:
        return parse(*task)
    except Exception as error:  # noqa: BLE001 - the message may quote the file
        return type(error).__name__


def seconds_of(form: SubmissionForm) -> tuple[int, float]:
    """Return the limits on the processor time and on the time of reading one file, in seconds."""
    cells = len(form.ids) * (1 + len(form.columns))
    seconds = _SECONDS + cells // _CELLS_PER_SECOND
    seconds += int(form.modality.seconds(len(form.ids), form.sizes))
    return seconds, _WAITING * seconds


def _in_another_process(
    form: SubmissionForm, parse: Callable[..., ReadSubmission], *task: Any
) -> ReadSubmission:
    processor_seconds, seconds = seconds_of(form)
    answer: Any
    try:
        answer = call_limited(
            parse_apart,
            parse,
            *task,
            seconds=seconds,
            limits=Limits(
                math.ceil(form.max_memory / _MEMORY_STEP) * _MEMORY_STEP,
                processor_seconds=processor_seconds,
            ),
            purpose=__name__,
            shared=form,
        )
        if isinstance(answer, ReadSubmission):
            return checked(answer, form)
    except MemoryError as error:  # the process could not send its answer
        answer = type(error).__name__
    except AnswerError as error:
        logging.getLogger("arena").warning("The process that reads files was broken: %s", error)
        return unread(Ended(too_long=False, seconds=seconds))
    if isinstance(answer, str):
        logging.getLogger("arena").warning(
            "A fault in arena: reading a submission file ended with %s. The file was rejected.",
            answer,
        )
    return unread(answer)


def checked(read: ReadSubmission, form: SubmissionForm) -> ReadSubmission:
    """Return what a process read that a hostile file may have taken over.

    Raises
    ------
    AnswerError
        If no file of this form has these values or faults: compiled metrics rely on them.
    """
    try:
        is_possible = (
            all(_is_fault(fault) for fault in read.faults)
            and type(read.sha256) is str
            and type(read.crashed) is bool
            and bool(read.faults) == (read.values is None)
            and (read.values is None or _are_possible(read.values, form))
        )
    except (AttributeError, TypeError, ValueError):
        is_possible = False
    if not is_possible:
        raise AnswerError("No file of this form has these values or faults.")
    return read


def _is_fault(fault: Fault) -> bool:
    optional = (fault.id, fault.column, fault.cause)
    return (
        type(fault) is Fault
        and all(type(text) is str for text in (fault.kind, fault.message))
        and all(text is None or type(text) is str for text in optional)
        and (fault.row is None or type(fault.row) is int)
        and type(fault.count) is int
    )


def _are_possible(values: npt.NDArray[Any], form: SubmissionForm) -> bool:
    is_text = form.kind is PredictionKind.TEXT
    if values.shape != (len(form.ids), len(form.columns)):
        return False
    if values.dtype != (object if is_text else np.float64):
        return False
    if is_text:  # arena.utils.processes.plain refuses other objects
        return True
    if form.row_sets is not None:
        values = values[form.expected_rows(np.flatnonzero(~np.isnan(values).all(axis=1)))]
    if form.kind is PredictionKind.LABEL:
        classes = np.array([len(target.classes or ()) for target in form.targets])
        return bool(((values >= 0) & (values < classes) & (values == np.floor(values))).all())
    low, high = form.layout(form.names[: 1 + len(form.columns)]).bounds
    return bool((np.isfinite(values) & (values >= low) & (values <= high)).all())


def unread(why: Ended | str) -> ReadSubmission:
    """Return the fault of a file whose process ended or failed."""
    message = f"The file could not be read: {why}. Write and send it again."
    crashed = isinstance(why, Ended) and not why.too_long
    return ReadSubmission(None, (Fault("unreadable file", message),), "", crashed)
