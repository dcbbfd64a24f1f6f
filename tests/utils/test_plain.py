"""Values that processes send each other without pickle: the same after, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from arena.errors import ScoringError
from arena.intake.submission import ReadSubmission
from arena.types import Fault
from arena.utils.processes import AnswerError, decode, encode

TEXTS = np.array([["a", "b\N{EURO SIGN}"], ["\ud800", ""]], dtype=object)
VALUES = [
    None,
    (1, [True, 2.5, "\ud800"], {"a": (), 3: None}, slice(1, None)),
    float("inf"),
    np.float64(0.1),
    np.bool_(True),
    b"\x00\xff",
    np.arange(6, dtype=">i2").reshape(2, 3),
    np.asfortranarray(np.eye(3)),
    np.zeros((0, 2)),
    np.array(5),
    TEXTS,
]


def read_only(values: Any) -> Any:
    values = np.array(values)
    values.flags.writeable = False
    return values


@pytest.mark.parametrize("value", VALUES, ids=range(len(VALUES)))
def test_a_value_is_the_same_after(value: Any) -> None:
    received = decode([bytearray(part) for part in encode(value)])
    np.testing.assert_equal(received, value)
    if isinstance(value, np.ndarray):
        assert received.dtype == value.dtype
        assert received.flags.writeable


def test_an_array_that_is_read_only_stays_so() -> None:
    assert not decode([bytearray(part) for part in encode(read_only([1.0]))]).flags.writeable


def test_records_tables_and_errors_are_the_same_after() -> None:
    read = ReadSubmission(None, (Fault("kind", "message", 1),), "0", crashed=True)
    received = decode(encode(read))
    assert (received.faults, received.sha256, received.crashed) == (read.faults, "0", True)
    table = pa.table({"id": ["a", None], "y": [0.5, 1.0]})
    assert decode(encode(table)).equals(table)
    scoring_error = ScoringError("for the organiser", "kind", "shown")
    scoring_error.add_note("for --verbose")
    error = decode(encode(scoring_error))
    assert (type(error), str(error)) == (ScoringError, "for the organiser")
    assert (error.kind, error.shown) == ("kind", "shown")
    assert error.__notes__ == ["for --verbose"]


def test_a_table_whose_texts_lie_beyond_its_content_is_no_answer() -> None:
    offsets = pa.py_buffer(np.array([0, 2**20, 2], dtype=np.int32))  # only the last one is right
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    with pytest.raises(AnswerError, match=r"^A process sent no valid answer \(ArrowInvalid\)\.$"):
        decode(encode(pa.table({"id": texts})))


class StrangeError(Exception):
    """Of no module that the receiver trusts."""

    def __init__(self, *, text: str) -> None:
        super().__init__(text)


@pytest.mark.parametrize("error", [StrangeError(text="no"), SystemExit("no"), KeyboardInterrupt()])
def test_of_another_error_the_message_is_sent(error: BaseException) -> None:
    error.add_note("for --verbose")
    received = decode(encode(error))
    assert type(received) is RuntimeError
    assert received.__notes__ == ["for --verbose"]
    assert str(received).startswith(type(error).__name__)


@pytest.mark.parametrize("value", [object(), {1, 2}, print, np.array([print]), [object()]])
def test_other_types_are_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="cannot be sent to another process"):
        encode(value)


@pytest.mark.parametrize(
    "tree",
    [
        {"array": ["O", [1], True]},
        {"array": ["<f8", [3], True]},
        {"array": ["<f8", [2**60], True]},
        {"texts": [[1], [7]]},
        {"texts": [[2], ["a"]]},
        {"error": ["builtins", "exec", ["1"], []]},
        {"error": ["os", "system", ["true"], []]},
        {"error": ["arena.errors", "annotations", [], []]},
        {"error": ["builtins", "ValueError", [], [7]]},
        {"arena.types.Fault": {"kind": "k"}},
        {"arena.types.Target": {"name": "y", "classes": None}},
        {"table": None},
        {"tuple": 7},
        {"a": 1, "b": 2},
        {},
    ],
)
def test_what_no_value_becomes_is_no_answer(tree: Any) -> None:
    with pytest.raises(AnswerError, match="no valid answer"):
        decode([json.dumps(tree).encode(), bytes(16)])
